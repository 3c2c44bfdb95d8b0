//! The daemon as a process: starting one, stopping the one that runs, and which pid that is.
//! Spec: D6.4 `daemon start`, D6.5

mod lock;
mod start;
mod stop;

pub(crate) use lock::locked_pid;
pub(crate) use start::{Started, repair, start};
pub(crate) use stop::{Stopped, stop};
