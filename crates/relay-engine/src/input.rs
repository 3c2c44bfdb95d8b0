//! What can happen to the relay's brain, and what it can wish for.
//! Spec: W5.3, W5.9

use std::net::IpAddr;
use std::sync::Arc;

use messaging_core::ids::Nonce32;
use messaging_wire::CloseCode;

use crate::events::Event;
use crate::health::Unready;
use crate::prepare::Prepared;

/// One connection, for its whole life. A number is never used again, so a late goodbye cannot meet a successor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u64);

/// What happens.
#[derive(Debug)]
pub enum In {
    /// A WebSocket stands. The answer is its challenge.
    Opened {
        /// The connection.
        conn: ConnId,
        /// The client's address as limits count it: an IPv4 address, or an IPv6 /64 network.
        address: IpAddr,
        /// 32 fresh random bytes, the same that its [`Preparer`](crate::Preparer) was given.
        nonce: Nonce32,
    },
    /// A text message came, in the order of its connection.
    Frame {
        /// The connection.
        conn: ConnId,
        /// Its size, bytes.
        bytes: usize,
        /// What it says.
        frame: Prepared,
    },
    /// Bytes of [`Out::Send`] left the connection's queue for the kernel.
    ///
    /// Reported when 256 KiB went unreported, or 16 KiB and the queue is empty: the brain counts what it sends itself, and
    /// needs no report of each frame.
    Drained {
        /// The connection.
        conn: ConnId,
        /// Bytes since the last report.
        bytes: usize,
    },
    /// The connection is gone, whoever ended it, and with it what waited on its socket.
    Closed {
        /// The connection.
        conn: ConnId,
    },
    /// The time of [`deadline`](messaging_store::Machine::deadline) has come; harmless at any other time.
    Tick,
    /// The relay stops: every connection is closed, and nothing is taken any more.
    Stop,
}

/// What is wished for, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Out {
    /// Queue a text message. The brain bounds what it queues ([`In::Drained`]).
    Send {
        /// The connection.
        conn: ConnId,
        /// The message.
        text: Arc<str>,
    },
    /// The connection said a valid `hello`: its messages may be as large as `LIMITS.frameBytes` from now on, and it gives its
    /// place at the gate back. Comes before its `welcome`.
    Admitted {
        /// The connection.
        conn: ConnId,
    },
    /// Close with a code, after what is queued. No text follows, but the close may take too long for the budget of all sockets
    /// and become a [`Out::Terminate`]. [`In::Closed`] tells when it is through.
    Close {
        /// The connection.
        conn: ConnId,
        /// Why.
        code: CloseCode,
    },
    /// Drop the socket at once, with what is queued. Nothing more is said of the connection.
    Terminate {
        /// The connection.
        conn: ConnId,
    },
    /// What `/readyz` says changed: the conditions that fail now.
    Ready(Vec<Unready>),
    /// Something for the log.
    Log(Event),
}
