//! The daemon: one process per home that owns the keys, the store, the relay link and the two
//! local sockets, and decides nothing: the decisions are the engine's.
//!
//! # Starting
//! [`run_as_program`] is `messagingd`; [`Daemon::start`] is the same start inside another process.
//! [`home`] and [`lock`] prove that the home is ours, [`exit`] says why a start ended.
//! # Running
//! `owner` runs the engine on one thread; `ipc` serves the sockets, `link` the relay (by `tls`, and past a
//! `proxy`); both only translate. `wake` calls clients that are away, `awake` notices that the machine slept. `environment`, `config`, `keys` and `log` are what it reads, `os` the door to the system.
#![forbid(unsafe_code)]

mod args;
mod awake;
mod config;
mod daemon;
mod environment;
pub mod exit;
pub mod home;
mod ipc;
mod keys;
mod link;
pub mod lock;
mod log;
mod os;
mod owner;
mod program;
mod proxy;
mod repair;
mod snapshot;
mod tls;
mod wake;

pub use daemon::{Daemon, Options, STOP_GRACE};
pub use environment::Environment;
pub use program::{command, run_as_program};
pub use proxy::Proxies;
