//! The relay end to end: real sockets, a real store, a client that is not ours.
//!
//! Nothing here waits for a clock: every wait is for a frame, a close or an answer, and a wait that lasts half a minute fails.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod connecting;
mod harness;
mod http;
mod limits;
mod mail;
mod program;
mod stopping;
mod teams;
