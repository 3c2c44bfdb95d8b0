//! The daemon from outside: real homes, real sockets, real processes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "every function here is part of a test"
)]

mod shell {
    mod damage;
    mod home;
    mod limits;
    mod privacy;
    mod process;
    pub(crate) mod rig;
    mod snapshot;
    mod sockets;
    mod stores;
}
