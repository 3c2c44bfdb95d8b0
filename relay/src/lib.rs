//! The relay.
#![forbid(unsafe_code)]
