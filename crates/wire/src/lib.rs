//! Relay frames as types.
#![forbid(unsafe_code)]
