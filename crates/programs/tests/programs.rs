//! The programs as a person meets them: real processes, their output and their exit status.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]

#[path = "programs/run.rs"]
mod run;

#[path = "programs/admitting.rs"]
mod admitting;
#[path = "programs/alone.rs"]
mod alone;
#[path = "programs/asking.rs"]
mod asking;
#[path = "programs/chatting.rs"]
mod chatting;
#[path = "programs/consent.rs"]
mod consent;
#[path = "programs/demo.rs"]
mod demo;
#[path = "programs/doctor.rs"]
mod doctor;
#[path = "programs/hostile.rs"]
mod hostile;
#[path = "programs/lifecycle.rs"]
mod lifecycle;
#[path = "programs/sending.rs"]
mod sending;
#[path = "programs/service.rs"]
mod service;
#[path = "programs/tasks.rs"]
mod tasks;
#[path = "programs/team.rs"]
mod team;
#[path = "programs/terminal.rs"]
mod terminal;
