//! What every process of the stack does once: clocks, randomness, log lines, signals, and an honest end after a panic.
//! Spec: W5.1, D3.30
//!
//! Shells use this crate, engines do not: an engine is lent time and randomness and never asks for them.
//!
//! [`clock`] reads time, [`entropy`] random bytes, [`log`] writes JSON lines, [`fatal`] ends the process when it can no
//! longer trust itself, [`stop`] hears that it should end, [`files`] asks for room for sockets.
#![forbid(unsafe_code)]

pub mod clock;
pub mod entropy;
pub mod fatal;
pub mod files;
pub mod log;
pub mod stop;
