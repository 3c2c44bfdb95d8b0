//! What a batch has changed in memory, or will change once it is committed.
//! Spec: §7 "Group commit"
//!
//! Counts change at once, since the next frame of the batch must see them, and are taken back when the write is undone.
//! Everything that others can see waits for the commit.

use std::sync::Arc;

use messaging_core::ids::{Hash, MachineId, Ulid};

use crate::deliver::First;
use crate::input::ConnId;
use crate::store::Party;
use crate::store::queue::{Place, Pos};

/// One staged change.
#[derive(Debug)]
pub(crate) enum Staged {
    /// An envelope joined the queue; counted already.
    Queued { recipient: Party, row: First, deliver: Arc<str> },
    /// An envelope left the queue; counted already.
    Left { recipient: Party, place: Place },
    /// An id is remembered; counted already.
    Remembered { sender: Party, id: Ulid },
    /// An id is forgotten; counted already.
    Forgotten { sender: Party, id: Ulid },
    /// A delivery is over.
    Ended { conn: ConnId, pos: Pos },
    /// An ack was paid for.
    Paid { conn: ConnId },
    /// Bytes were queued on a socket by an effect that goes with its input.
    Sent { conn: ConnId, bytes: usize },
    /// A presence is kept, to be told to the others.
    Presence { party: Party, deliver: Arc<str> },
    /// A team's chain in memory was changed in place.
    Chain { team: Hash },
    /// An entry joined a team's chain.
    Appended(Box<Appended>),
    /// Everything to and from a machine left the queue.
    Emptied { party: Party, rows: u64, bytes: u64 },
    /// What has expired was deleted.
    Purged(Purged),
}

/// What a purge deleted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purged {
    pub(crate) queue: u64,
    pub(crate) seen: u64,
    pub(crate) presence: u64,
    /// There was more than one turn should delete.
    pub(crate) again: bool,
}

/// An entry that joined a chain, and whom to tell.
#[derive(Debug)]
pub(crate) struct Appended {
    pub(crate) team: Hash,
    /// The connection that handed it in: told by `roster.ok`, not by the broadcast.
    pub(crate) author: ConnId,
    /// The answer to the author.
    pub(crate) ok: Arc<str>,
    /// The `roster` frame for everybody else.
    pub(crate) broadcast: Arc<str>,
    /// The machine that the entry removed.
    pub(crate) removed: Option<MachineId>,
}
