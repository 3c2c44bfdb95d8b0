//! The daemon: the shell around the engine, begun with the home, its lock and its privacy.
#![forbid(unsafe_code)]
pub mod exit;
pub mod home;
pub mod lock;
mod os;
