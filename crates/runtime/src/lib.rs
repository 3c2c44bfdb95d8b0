//! What every process does once.
#![forbid(unsafe_code)]
