//! The two local sockets: who may connect, one task per connection, lines both ways.
//!
//! Spec: §8.2, D1.1, D1.2

mod connection;
mod listener;
mod queue;

pub(crate) use listener::{Door, Shared, bind};
pub(crate) use queue::LineQueue;
