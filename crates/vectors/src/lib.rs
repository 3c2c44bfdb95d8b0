//! Test vectors of the protocol messaging/1: reads them, runs them against core, and writes our own.
//!
//! A vector file is JSON: a list of cases, each with a kind of operation, its arguments and the
//! result or the code it must give. [`check`] runs every file of a folder, [`ops`] knows the
//! kinds, [`write`](mod@write) makes the files of `spec-vectors/`.

pub mod args;
pub mod check;
pub mod file;
pub mod ops;
pub mod write;
