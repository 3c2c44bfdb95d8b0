//! The contract between the daemon and its clients: one method table, and the lines they exchange.
//!
//! This crate knows nothing of sockets, files or clocks.
//!
//! # The table
//! [`methods`] one row for each of the 77 methods; [`call`] the same as types.
//! # What travels
//! [`params`], [`results`], [`shapes`], [`scalars`], [`event`], [`hello`], [`error`].
//! # How it travels
//! [`mod@line`] framing, [`request`] what a client sends, [`reply`] what a daemon sends.
//! # For readers elsewhere
//! [`schema`] JSON Schemas of all of it.
#![forbid(unsafe_code)]

pub mod call;
pub mod error;
pub mod event;
pub mod hello;
pub mod line;
pub mod methods;
pub mod params;
pub mod reply;
pub mod request;
pub mod results;
pub mod scalars;
pub mod schema;
pub mod shapes;
