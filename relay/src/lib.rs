//! The relay: routes sealed envelopes between the machines of teams, and keeps them until they are taken.
//! Spec: §7, W5
//!
//! What the relay decides stands in `messaging-relay-engine`; this crate is the shell around it. One thread owns the state and
//! the store, one task owns each socket, and they speak through a bounded inbox and mailboxes:
//!
//! ```text
//! serve ─ accept ─▶ door ─ HTTP, gate, upgrade ─▶ connection ─ parse, verify ─▶ inbox ─▶ ┌ owner thread ──────────┐
//!                                                     ▲                                  │ turns · commit · store │
//!                                                     └──── mailbox ◀────────────────────└────────────────────────┘
//! ```
//!
//! [`Config`] is what an operator sets, [`Relay`] a running relay, [`main`] the whole program.
#![forbid(unsafe_code)]

mod address;
mod config;
mod connection;
mod door;
mod gate;
mod health;
mod http;
mod inbox;
mod mailbox;
mod owner;
mod program;
mod progress;
mod serve;
mod start;
mod throttle;
mod websocket;

pub use address::{ClientAddress, Network, NotANetwork};
pub use config::{Config, Listen, RelayId, Timings, Wrong};
pub use messaging_relay_engine::{GenesisPolicy, RelayLimits};
pub use program::main;
pub use serve::{Broken, Relay};
pub use start::StartError;
