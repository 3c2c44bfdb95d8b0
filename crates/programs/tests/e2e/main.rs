//! The real programs end to end: relay, daemons and command line as processes, over real sockets, killed at will.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "every function here is part of a test"
)]

mod agents;
mod backup;
mod bodies;
mod chaos;
mod chats;
mod consent;
mod delegation;
mod harness;
mod homes;
mod hooks;
mod invites;
mod joining;
mod limits;
mod mail;
mod members;
mod pairing;
mod proxy;
mod queue;
mod rotation;
mod secrets;
mod statuses;
mod tasks;
mod upgrade;
mod wake;
