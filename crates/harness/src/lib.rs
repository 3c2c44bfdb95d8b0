//! What the programs of one coding harness share.
//!
//! A harness starts an MCP server for an agent and runs hooks at moments of the agent's work. Both are this person's programs
//! and act for one agent, so both act as one session with the daemon.
//!
//! - [`seat`] the session's key, written by the server for the hooks; [`process`] who belongs to which harness, [`folder`]
//!   where it is written.
//! - [`hook`] what is said at a moment of the agent's work; [`input`] how each harness puts it, [`note`] the words, [`shown`]
//!   what was shown and what is known to have been taken.
#![forbid(unsafe_code)]

pub mod folder;
pub mod hook;
pub mod input;
pub mod note;
pub mod process;
pub mod seat;
pub mod shown;
#[cfg(test)]
mod testing;
