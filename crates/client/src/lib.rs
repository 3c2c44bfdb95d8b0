//! Dials the daemon's sockets.
#![forbid(unsafe_code)]
