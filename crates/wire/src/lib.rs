//! Relay frames as types: what a client and a relay say to each other, one JSON object per WebSocket text message.
//! Spec: §7, W2.9
//!
//! This crate knows shapes, not rules: who may say what, and when, is the engines' business. Envelopes and entries stay raw
//! values here, because signatures cover members that we do not know.
//!
//! - [`ClientFrame`] from a client to a relay, [`RelayFrame`] from a relay to a client; both read and print.
//! - [`text`] prints the frames whose envelope or entries are at hand as canonical text, without parsing it again.
//! - [`CloseCode`] says why a connection ends.
//!
//! The directory's frames (W2.10) will stand in a module of their own, `directory`, beside these.
#![forbid(unsafe_code)]

mod client;
mod close;
mod frame;
mod relay;
pub mod text;

pub use client::{ClientFrame, Join, Ping, RecvAck, RosterAppend, RosterSync};
pub use close::CloseCode;
pub use frame::FrameError;
pub use messaging_core::relay_auth::{Challenge, RosterHello as Hello};
pub use relay::{
    Deliver, DeliverHead, ErrorFrame, Nack, Peer, RelayFrame, RosterOk, RosterPage, Welcome,
};

/// The WebSocket sub-protocol: offered by clients, chosen when offered, not required.
pub const SUB_PROTOCOL: &str = "messaging.relay.v1";

/// The value of `proto` in a challenge.
pub const PROTO: &str = messaging_core::version::Version::TEXT;

/// The path of the one WebSocket endpoint.
pub const CONNECT_PATH: &str = "/v1/connect";
