//! Everything that can happen to the engine, and everything it can wish for.
//! Spec: §7, §8.2, D3.2

use messaging_core::ids::{Label, PersonId, RelayUrl, Ulid};
use messaging_core::time::Ms;
use messaging_ipc::request::Request;

use crate::events::LogEvent;
use crate::identity::IdentityFile;
use crate::pairing::PairingFile;
use crate::snapshot::Copied;
use crate::wake::{WakeEnd, WakeHost, WakeId};

/// A connection to one of the two local sockets. Ids are unique across both and never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnId(pub u64);

/// Which local socket a connection came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// `agent.sock`: the methods of agents.
    Agent,
    /// `admin.sock`: every method.
    Admin,
}

impl Tier {
    /// The tier's word in a log line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Admin => "admin",
        }
    }
}

/// One try at a connection to a relay. A late word about an old one cannot touch its successor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkId(pub u64);

/// Names one file write until its outcome is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SaveToken(pub u64);

/// Why a link ended or never began, in our own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkFault {
    /// The relay closed it, or the network did.
    Closed,
    /// The address's host name has no address.
    Unresolved,
    /// Nothing answered at the address.
    Refused,
    /// Nothing answered in time.
    TimedOut,
    /// An unencrypted address that is not on this machine.
    NotLoopback,
    /// The relay has no room for another connection.
    Full,
    /// The TLS handshake failed.
    Tls,
    /// This machine has no certificates by which it could know a relay.
    NoRoots,
    /// The relay's certificate is not one.
    BadCertificate,
    /// The relay's certificate is by nobody whom this machine knows.
    UnknownIssuer,
    /// The relay's certificate is for another name.
    OtherName,
    /// The relay's certificate is not valid at the time of this machine's clock.
    NotAtThisTime,
    /// A proxy is named in a way that is not understood.
    ProxyUnknown,
    /// The proxy does not answer.
    ProxySilent,
    /// The proxy wants a user and a password, or others.
    ProxyPassword,
    /// The proxy does not let this machine through.
    ProxyRefused,
    /// The upgrade to a WebSocket was refused.
    Upgrade,
    /// No frame and no answer to a ping in time.
    Silent,
    /// A frame was larger than allowed.
    FrameTooLarge,
    /// What was sent is not the WebSocket protocol, or not text.
    Protocol,
    /// The operating system refused.
    Io,
}

impl LinkFault {
    /// The words that `daemon.status` and the log show.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "the connection closed",
            Self::Unresolved => "the relay's host name was not found",
            Self::Refused => "the relay does not answer",
            Self::TimedOut => "the relay did not answer in time",
            Self::NotLoopback => "an unencrypted relay must be on this machine",
            Self::Full => "the relay is full",
            Self::Tls => "no secure connection with the relay",
            Self::NoRoots => "this machine has no certificates to know a relay by",
            Self::BadCertificate => "the relay's certificate was not accepted",
            Self::UnknownIssuer => "the relay's certificate is by nobody this machine knows",
            Self::OtherName => "the relay's certificate is for another name",
            Self::NotAtThisTime => "the relay's certificate is not valid at this machine's time",
            Self::ProxyUnknown => "the proxy's address is not understood",
            Self::ProxySilent => "the proxy does not answer",
            Self::ProxyPassword => "the proxy wants another user or password",
            Self::ProxyRefused => "the proxy did not let the connection through",
            Self::Upgrade => "the relay refused the connection",
            Self::Silent => "the relay fell silent",
            Self::FrameTooLarge => "the relay sent too large a frame",
            Self::Protocol => "the relay broke the protocol",
            Self::Io => "the connection failed",
        }
    }
}

/// Everything that can happen to the engine.
#[derive(Debug)]
pub enum In {
    /// The first input: the store is open and loaded.
    Start,
    /// A client connected; the shell has sent it the hello.
    IpcOpened {
        /// The new connection.
        conn: ConnId,
        /// Its socket.
        tier: Tier,
    },
    /// A client's request, its shape checked.
    IpcRequest {
        /// Whose it is.
        conn: ConnId,
        /// The request.
        request: Request,
    },
    /// A client is gone.
    IpcClosed {
        /// Which.
        conn: ConnId,
    },
    /// The WebSocket is open; no frame has come yet.
    LinkUp {
        /// Which link.
        link: LinkId,
    },
    /// A text frame.
    LinkFrame {
        /// Which link.
        link: LinkId,
        /// Its text.
        text: String,
    },
    /// The link is gone, or never came up.
    LinkDown {
        /// Which link.
        link: LinkId,
        /// The close code, when one was received.
        close: Option<u16>,
        /// What happened.
        why: LinkFault,
    },
    /// A file write that was wished for has ended.
    Saved {
        /// Which.
        token: SaveToken,
        /// Whether the file now says what it should, durably.
        ok: bool,
    },
    /// An attempt to wake a client has ended.
    Woken {
        /// Which.
        call: WakeId,
        /// How.
        end: WakeEnd,
    },
    /// The machine slept, or its clock was set.
    Woke,
    /// A copy of the home that was wished for is whole, or could not be made and is gone.
    Snapshotted {
        /// Which.
        token: SaveToken,
        /// The copy.
        copied: Option<Copied>,
    },
    /// The deadline passed.
    Tick,
    /// The process was asked to stop.
    Stop,
}

/// Everything the engine can wish for. The shell carries it out in order.
#[derive(Debug)]
pub enum Out {
    /// Sends a line to a client.
    IpcSend {
        /// To whom.
        conn: ConnId,
        /// The line, with its line feed.
        line: Vec<u8>,
        /// Whether it answers a request, which frees one of the connection's slots.
        answers: bool,
    },
    /// Closes a client's connection.
    IpcClose {
        /// Whose.
        conn: ConnId,
    },
    /// Opens a link. One that is still open is given up.
    Dial {
        /// The new link's name.
        link: LinkId,
        /// The full connect address.
        url: RelayUrl,
        /// The largest frame to accept, bytes.
        max_frame: usize,
    },
    /// Sends a text frame.
    LinkSend {
        /// On which link.
        link: LinkId,
        /// The frame.
        text: String,
    },
    /// Closes a link.
    LinkClose {
        /// Which.
        link: LinkId,
    },
    /// Writes `identity.json`, durably, and answers with [`In::Saved`].
    SaveIdentity {
        /// Names the write.
        token: SaveToken,
        /// The keys to write.
        identity: Box<IdentityFile>,
    },
    /// Writes `pairing.json`, durably, and answers with [`In::Saved`].
    SavePairing {
        /// Names the write.
        token: SaveToken,
        /// The keys to write, and what they wait for.
        pairing: Box<PairingFile>,
    },
    /// Erases `pairing.json`, durably, and answers with [`In::Saved`]. One that is not there is erased.
    ErasePairing {
        /// Names the act.
        token: SaveToken,
    },
    /// Writes these members of `config.json`, keeps the others, and answers with [`In::Saved`].
    SaveConfig {
        /// Names the write.
        token: SaveToken,
        /// The relay.
        relay: RelayUrl,
        /// This machine's person.
        person: PersonId,
        /// This machine's label.
        label: Label,
    },
    /// Asks a host to load a client again, within 10 s, and answers with [`In::Woken`].
    Wake {
        /// Names the attempt.
        call: WakeId,
        /// Whom to ask.
        host: WakeHost,
        /// The envelopes that wait, at most 16.
        ids: Vec<Ulid>,
    },
    /// Copies the store and the configuration into `run/snapshot`, beside the owner's work, and answers with
    /// [`In::Snapshotted`].
    TakeSnapshot {
        /// Names the copy.
        token: SaveToken,
        /// The time that its manifest names.
        at: Ms,
    },
    /// Deletes the copy, or ends one that is being made, and answers with [`In::Saved`]. One that is not there is deleted.
    DropSnapshot {
        /// Names the act.
        token: SaveToken,
    },
    /// Writes a line to the log.
    Log(LogEvent),
    /// Everything is done: close the store and leave with status 0.
    Exit,
}
