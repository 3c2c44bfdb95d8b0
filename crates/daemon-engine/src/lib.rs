//! The daemon's brain, synchronous: what arrives goes in, what is to be done comes out.
//!
//! The engine knows nothing of sockets, files, threads, clocks or randomness sources: they are lent, or asked for by a wish
//! and answered by an input. A whole daemon runs inside a test as a [`Loop`](messaging_store::Loop) over a store in memory.
//!
//! # The machine
//! [`DaemonEngine`] is started from a store and a [`Boot`]; [`In`] and [`Out`] list everything that can happen and be wished.
//! # The link to the relay
//! `link` (the conversation), `realm` (the roster and its alarms), `appends` (entries of this machine), `inbound` (what
//! arrives, in §5's order), `outbound` and `outbox` (what is said), `receipts` and `stages` (how far things came), `tasks`
//! (work between agents, each side's record), `ancestry` (how much one beginning may set off), `consent` (what the person
//! lets in), `presence`.
//! # The clients
//! `chats` (the person's lines and channels), `consent` (what the person takes), `notices` (what they are told), `ipc` and
//! `subscriptions` (connections, keys, events), `handlers` (one file per noun), `flows` (calls that wait), `sessions`,
//! `wake` (a client that is away), `directory` (addresses), `dealings` and `archive` (what agents exchanged), `views` (rows as clients see them).
//! # The home
//! [`config`], [`identity`], [`pairing`], `home` (which machine this is), `rotation` (its encryption key over time), `lifecycle`, `timers`, `snapshot` (a copy for a backup), [`repair`] (what was saved of a damaged store), `trouble` (a failing store), `status`.
//! # The record
//! `store` is the only SQL, [`events`] every line of the log.
#![forbid(unsafe_code)]

mod ancestry;
mod appends;
mod archive;
mod budgets;
mod calls;
mod chats;
pub mod config;
mod consent;
mod dealings;
mod directory;
mod engine;
pub mod events;
mod flows;
mod handlers;
mod history;
mod home;
pub mod identity;
mod inbound;
mod input;
mod ipc;
mod lifecycle;
mod link;
mod notices;
mod outbound;
mod outbox;
pub mod pairing;
mod presence;
mod realm;
mod receipts;
pub mod repair;
mod rotation;
mod sessions;
mod snapshot;
mod stages;
mod status;
mod store;
mod subscriptions;
mod tasks;
#[cfg(test)]
mod tests;
mod timers;
mod trouble;
mod views;
pub mod wake;
mod work;

pub use engine::{Boot, DaemonEngine, StartError, Ticket};
pub use handlers::{LATER, PARTLY};
pub use input::{ConnId, In, LinkFault, LinkId, Out, SaveToken, Tier};
pub use link::{Cause, TWIN, cause_of};
pub use snapshot::Copied;
pub use store::LAYOUT;
