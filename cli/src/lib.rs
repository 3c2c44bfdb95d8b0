//! The command line, `messaging`: what a person types, and what they see.
//!
//! It decides nothing about messages: every command is calls on the daemon's socket, and words around them.
//!
//! # The program
//! [`main`] runs it; `args` has its flags, `commands` one file for each command, whose doc comment is its help;
//! `usage` says what was not understood.
//! # What a command is lent
//! `context` settings, the terminal, the daemon; `environment` every variable; `mailbox` the terminal's own session;
//! `control` the daemon as a process; `setup` the files of coding harnesses; `address` and `body` what is sent where.
//! # What is shown
//! `render` tables, facts, times, JSON; `screen` the terminal; `prompt` and `progress` what stands on stderr; `fault`,
//! `remedy`, `exit` what is said and returned when something fails; `reference` the pages made from the help.
#![forbid(unsafe_code)]

mod address;
mod args;
mod body;
mod commands;
mod complete;
mod context;
mod control;
mod demo;
mod environment;
mod exit;
mod fault;
mod mailbox;
mod pager;
mod program;
mod progress;
mod prompt;
mod reference;
mod remedy;
mod render;
mod screen;
mod setup;
mod usage;

pub use program::{Siblings, main};
