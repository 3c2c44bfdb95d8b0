//! Checks and writes test vectors.
#![forbid(unsafe_code)]
