//! Pure values and verdicts of the protocol `messaging/1`.
//!
//! This crate knows nothing of files, sockets, clocks, threads or randomness sources: bytes, a clock
//! reading and random bytes go in; a value or a named refusal comes out. It is `no_std`, so the
//! compiler keeps the world outside.
//!
//! # Encodings
//! [`json`] strict wire JSON and the typed step, [`jcs`] canonical bytes, [`b64`] base64.
//! # Values
//! [`ids`] names and keys as text, [`version`] the protocol's name, [`url`] relay addresses, [`bounded`] texts and lists
//! of a longest length, [`time`] clock readings, [`bucket`] budgets, [`limits`] every constant, [`code`] refusals.
//! # Keys
//! [`domain`] signing prefixes, [`keys`] signatures and key agreement, [`random`] lent randomness.
//! # Trust
//! [`realm`] who is who, [`roster`] the team's chain, [`invite`], [`ticket`] and [`relay_auth`] the ways in.
//! [`directory`] the other kind of realm: persons of an issuer, their devices, and the proofs of both; [`jws`] the
//! issuer's tokens as texts.
//! # Messages
//! [`envelope`] the unit that travels, [`seal`] and [`verify`] its two ends, [`payload`], [`conv`] and [`meaning`] what it
//! holds, [`receipt`] and [`stage`] how far it came, [`presence`] who is there, [`channel`] who is in it, [`a2a`] and
//! [`task`] work, [`delegation`] and [`consent`] who may ask for it.
//! # Hosts
//! [`host_grant`] what a supervising host signs for a call or a session.
//! # Guards
//! [`secrets`] credentials that must not leave, [`loop_guard`] agents that answer each other without end, [`window`] the
//! count behind it.
//! # For readers elsewhere
//! [`schema`] JSON Schemas, [`peer_text`] other people's words, safe to show.
#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod a2a;
pub mod asked;
pub mod b64;
pub mod bounded;
pub mod bucket;
pub mod channel;
pub mod code;
pub mod consent;
pub mod conv;
pub mod delegation;
pub mod directory;
pub mod domain;
pub mod envelope;
pub mod host_grant;
pub mod ids;
pub mod invite;
pub mod jcs;
pub mod json;
pub mod jws;
pub mod keys;
pub mod limits;
pub mod loop_guard;
pub mod meaning;
pub mod payload;
pub mod peer_text;
pub mod presence;
pub mod random;
pub mod realm;
pub mod receipt;
pub mod relay_auth;
pub mod roster;
pub mod rotation;
pub mod schema;
pub mod seal;
pub mod secrets;
pub mod stage;
pub mod task;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod ticket;
pub mod time;
pub mod url;
pub mod verify;
pub mod version;
pub mod window;
