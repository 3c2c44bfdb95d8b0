//! The daemon's brain, synchronous.
#![forbid(unsafe_code)]
