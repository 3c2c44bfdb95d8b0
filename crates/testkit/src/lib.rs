//! The World: daemons and a relay in one process under virtual time, with everything that can go wrong.
#![forbid(unsafe_code)]

pub mod agenda;
pub mod clock;
pub mod dice;
pub mod network;
