//! Why a relay did not start, and what to do about it.
//! Spec: W5.1 "Exit"

use std::fmt;
use std::io::ErrorKind;

use messaging_store::{OpenError, StoreError};

/// A start that was refused. Nothing keeps running, and the store is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartError {
    /// The address cannot be listened on.
    Listen(ErrorKind),
    /// The relay has no public origin, and is not on loopback.
    NoRelayId,
    /// The store did not open.
    Store(OpenError),
    /// What the store holds could not be read.
    Load(StoreError),
    /// The system gave no thread.
    Thread(ErrorKind),
}

impl StartError {
    /// What failed, as logs show it.
    #[must_use]
    pub fn place(&self) -> &'static str {
        match self {
            Self::Listen(_) => "listen",
            Self::NoRelayId => "relay-id",
            Self::Store(_) => "store",
            Self::Load(_) => "load",
            Self::Thread(_) => "thread",
        }
    }

    /// The error's name, as logs show it.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Listen(kind) | Self::Thread(kind) => kind.to_string(),
            Self::NoRelayId => "missing".to_owned(),
            Self::Store(OpenError::Refused(refusal)) => refusal.name().to_owned(),
            Self::Store(OpenError::Failed(error)) | Self::Load(error) => error.name().to_owned(),
        }
    }

    /// What a person can do next.
    #[must_use]
    pub fn next(&self) -> &'static str {
        match self {
            Self::Listen(ErrorKind::AddrInUse) => {
                "stop the program that listens there, or choose another address with --listen"
            }
            Self::Listen(ErrorKind::PermissionDenied) => {
                "choose a port of 1024 or above with --listen"
            }
            Self::Listen(_) => "give an address of this machine with --listen",
            Self::NoRelayId => {
                "name the public origin with --relay-id, such as wss://relay.example"
            }
            Self::Store(OpenError::Refused(_)) => {
                "move the file, with its -wal and -shm, aside, or name another with --db"
            }
            Self::Store(OpenError::Failed(_)) => {
                "check that the file of --db and its folder can be written"
            }
            Self::Load(_) => "restore the file of --db from a copy",
            Self::Thread(_) => "allow this user more threads",
        }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen(kind) => write!(f, "cannot listen: {kind}"),
            Self::NoRelayId => f.write_str("the relay has no public origin"),
            Self::Store(error) => error.fmt(f),
            Self::Load(error) => write!(f, "cannot read the store: {error}"),
            Self::Thread(kind) => write!(f, "cannot start a thread: {kind}"),
        }
    }
}

impl std::error::Error for StartError {}
