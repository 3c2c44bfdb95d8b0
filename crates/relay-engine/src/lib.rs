//! The relay's brain, synchronous.
#![forbid(unsafe_code)]
