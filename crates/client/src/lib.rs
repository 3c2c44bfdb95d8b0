//! A client of the daemon: it trusts a socket or does not, reads the hello, and makes typed calls.
//!
//! This crate knows nothing of what the calls mean, of terminals or of environment variables. It never reconnects:
//! a connection that ended stays ended, and its caller decides.
//!
//! - [`place`] where the sockets are, and whether they can be trusted.
//! - [`Client`] one connection; [`Events`] what it is told.
//! - [`blocking`] one that blocks, for a program that must be quick.
//! - [`ClientError`] everything that can go wrong, each with its code.
#![forbid(unsafe_code)]

pub mod blocking;
mod connection;
mod error;
pub mod place;
#[cfg(feature = "testing")]
pub mod testing;

pub use connection::{Client, Events, hello};
pub use error::ClientError;
pub use place::{Place, Socket};
