//! The relay's brain: a synchronous state machine over one store, without sockets, clocks or randomness of its own.
//! Spec: §7, W5
//!
//! A shell prepares frames in its connection tasks ([`Preparer`]), puts [`In`]s into a
//! [`Loop`](messaging_store::Loop) of one [`RelayEngine`], and carries out the [`Out`]s that the loop releases after its
//! commit.
//!
//! # Frames and links
//! `prepare` the work that needs no state, `admit` until `hello`, `route` an envelope in, `deliver` it out, `presence`.
//! # Realms
//! `realms` what routing sees; `teams` chains, appends, pages, removals. A directory will stand beside `teams`.
//! # Bounds
//! `limits` budgets, `quota` the queue's caps, `buffers` slow sockets, `purge` expiry, [`Config`] what an operator sets.
//! # Store and watch
//! `store` the only SQL, `staged` what waits for a commit, `health`, [`Event`], [`Metrics`].
#![forbid(unsafe_code)]

mod admit;
mod buffers;
mod config;
mod conns;
mod deliver;
mod engine;
mod events;
mod halt;
mod health;
mod input;
mod limits;
mod metrics;
mod prepare;
mod presence;
mod purge;
mod quota;
mod realms;
mod reply;
mod route;
mod settle;
mod staged;
mod store;
mod teams;

pub use config::{Config, GenesisPolicy, RelayLimits};
pub use engine::{RelayEngine, Ticket};
pub use events::{Event, Field, Level, Place, Slow};
pub use health::Unready;
pub use input::{ConnId, In, Out};
pub use metrics::{COMMIT_BUCKETS_NS, Gauges, Metrics};
pub use prepare::{Prepared, Preparer};
pub use store::{TEAM_RELAY, first_records};

#[cfg(test)]
mod tests;
