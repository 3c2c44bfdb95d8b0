//! SQLite plumbing of both servers: how a store is opened, and how one turn of a machine becomes one commit.
//!
//! There is one store, SQLite, in a file or in memory: no trait hides it. This crate knows no table of the protocol; the
//! engines own their SQL.
//!
//! # Opening
//! [`Layout`] says what a store of ours looks like, [`Store::open`] opens it or refuses it unchanged.
//! # One turn
//! A [`Machine`] handles inputs inside one transaction ([`Turn`], [`Tx`]); a [`Loop`] commits once per batch and only then
//! lets the [`Effects`] out, as [`Released`].
//! # Faults
//! [`StoreError`] names what failed; a [`FaultPlan`] makes chosen writes and commits fail, for simulations.
#![forbid(unsafe_code)]

mod copy;
mod effects;
mod error;
mod fault;
mod layout;
mod log;
mod open;
mod salvage;
mod turn;
mod tx;

pub use effects::{Effects, Released};
pub use error::{OpenError, Refusal, StoreError};
pub use fault::{Fault, FaultPlan, How};
pub use layout::{Growth, Layout, SchemaAt, Step};
pub use open::Store;
pub use rusqlite::{Row, params, types};
pub use salvage::Salvaged;
pub use turn::{Batch, Commit, Loop, MAX_BATCH, Machine, Outcome, Settled, Turn};
pub use tx::{Tx, View};
