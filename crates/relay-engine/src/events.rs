//! Everything the relay's brain tells the log: fixed words and numbers, never text that a peer chose.
//! Spec: §7 "Store failures", "Limits"; W5.13

use messaging_core::code::Code;
use messaging_store::StoreError;
use messaging_wire::CloseCode;

/// One line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Something failed inside, and was caught.
    Internal {
        /// Where.
        place: Place,
        /// The error's name.
        error: StoreError,
    },
    /// Writes fail; the store is probed.
    StoreFailing {
        /// The error's name.
        error: StoreError,
        /// Until the next probe, ms.
        retry_ms: u64,
    },
    /// A write was committed again.
    StoreRecovered,
    /// A socket was dropped for falling behind.
    ConnSlow {
        /// Which bound it, or all together, had passed.
        reason: Slow,
    },
    /// The whole queue is at its cap.
    QueueFull,
    /// A `hello` was accepted.
    ConnAuth,
    /// The relay closed a connection.
    ConnClosed {
        /// With this code.
        code: CloseCode,
    },
    /// A `hello` was refused.
    AuthRefused {
        /// With this code.
        code: Code,
    },
}

/// Where something failed inside. The vocabulary of `relay_internal_errors_total{where}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Handling a frame.
    Frame,
    /// Deleting what has expired.
    Purge,
    /// Probing the store.
    Probe,
    /// Reading what to deliver.
    Delivery,
}

/// Why a socket was dropped. The vocabulary of `relay_slow_terminations_total{reason}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slow {
    /// Too much waited for this socket.
    Socket,
    /// Too much waited for all sockets together.
    Budget,
}

/// How loudly an event is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A bug, or a failing store.
    Error,
    /// An operator may want to act.
    Warn,
    /// Rare and normal.
    Info,
    /// Each connection's comings and goings.
    Debug,
}

/// A value of an event: it cannot hold text from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// A word of a fixed vocabulary.
    Word(&'static str),
    /// A number.
    Number(u64),
}

impl Place {
    /// The word that logs and metrics show.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Frame => "frame",
            Self::Purge => "purge",
            Self::Probe => "probe",
            Self::Delivery => "delivery",
        }
    }
}

impl Slow {
    /// The word that logs and metrics show.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Socket => "socket",
            Self::Budget => "budget",
        }
    }
}

impl Event {
    /// The event's name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Internal { .. } => "relay.internal",
            Self::StoreFailing { .. } => "store.failing",
            Self::StoreRecovered => "store.recovered",
            Self::ConnSlow { .. } => "conn.slow",
            Self::QueueFull => "queue.full",
            Self::ConnAuth => "conn.auth",
            Self::ConnClosed { .. } => "conn.closed",
            Self::AuthRefused { .. } => "auth.refused",
        }
    }

    /// How loudly it is told.
    #[must_use]
    pub const fn level(&self) -> Level {
        match self {
            Self::Internal { .. } | Self::StoreFailing { .. } => Level::Error,
            Self::ConnSlow { .. } | Self::QueueFull => Level::Warn,
            Self::StoreRecovered | Self::AuthRefused { .. } => Level::Info,
            Self::ConnAuth | Self::ConnClosed { .. } => Level::Debug,
        }
    }

    /// Its values, in order.
    #[must_use]
    pub fn fields(&self) -> Vec<(&'static str, Field)> {
        match self {
            Self::Internal { place, error } => {
                vec![("where", Field::Word(place.name())), ("error", Field::Word(error.name()))]
            }
            Self::StoreFailing { error, retry_ms } => {
                vec![("error", Field::Word(error.name())), ("retryMs", Field::Number(*retry_ms))]
            }
            Self::ConnSlow { reason } => vec![("reason", Field::Word(reason.name()))],
            Self::ConnClosed { code } => vec![("code", Field::Number(code.number().into()))],
            Self::AuthRefused { code } => vec![("code", Field::Word(code.as_str()))],
            Self::StoreRecovered | Self::QueueFull | Self::ConnAuth => vec![],
        }
    }
}
