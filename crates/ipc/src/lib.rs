//! The daemon's method table, events and line codec.
#![forbid(unsafe_code)]
