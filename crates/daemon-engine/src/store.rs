//! The daemon's tables: every SQL statement of this crate stands here, one file per table.
//! Spec: §8.8, D3.29
//!
//! A row type holds what its table's text columns mean; a text that is none of our values reads as a damaged store.
//! JSON columns hold wire JSON.

pub(crate) mod ancestry;
pub(crate) mod archive;
pub(crate) mod cards;
pub(crate) mod channels;
mod columns;
pub(crate) mod copies;
pub(crate) mod dealings;
pub(crate) mod evidence;
pub(crate) mod grants;
pub(crate) mod held;
pub(crate) mod idempotency;
pub(crate) mod inbox;
pub(crate) mod kv;
pub(crate) mod lines;
pub(crate) mod notices;
pub(crate) mod outbox;
pub(crate) mod presence;
pub(crate) mod rooms;
pub(crate) mod roster;
mod schema;
pub(crate) mod seen;
pub(crate) mod sent;
pub(crate) mod sent_text;
pub(crate) mod sessions;
pub(crate) mod suggestions;
pub(crate) mod sweep;
pub(crate) mod tasks;

pub use schema::LAYOUT;
