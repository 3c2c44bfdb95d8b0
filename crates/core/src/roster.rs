//! The roster: who is in a team, as an append-only chain of signed entries.
//! Spec: §4, W2.7, W4.9
//!
//! A team's first entry is its *genesis*, and the hash of it is the team's id. Every later entry
//! names the team, the number after its predecessor's, and the predecessor's hash, so that one
//! head commits to everything before it:
//!
//! ```text
//! genesis (seq 0) ◀─prev─ invite.create (1) ◀─prev─ invite.redeem (2) ◀─prev─ …
//!    └ hash = team id
//! ```
//!
//! A [`Roster`] is the verified chain and what it says. [`Roster::apply`] is the only way in, for
//! entries of an append, a broadcast, a page or a store alike; one that fails changes nothing.
//!
//! Signatures and hashes cover the exact value that was signed, members of later versions
//! included; such members never become state.

mod entry;
mod sign;
mod state;
#[cfg(test)]
mod tests;

use alloc::sync::Arc;
use alloc::vec::Vec;

use serde_json::Value;

use crate::code::{Code, Failure};
use crate::ids::{Hash, MachineId, TeamName, Ulid};
use crate::keys::PublicKey;
use crate::limits::{CLOCK_SKEW_MS, ROSTER_PAGE_ENTRIES};
use crate::time::Ms;

pub use entry::{Entry, Member, Op, Role, RosterHead};
pub use sign::{sign_entry, sign_genesis};
pub use state::{Invite, Rekey};

use entry::Reading;
use state::State;

/// A team's verified entries, and the state they give.
///
/// An empty roster is a team that does not exist yet: it takes a genesis. A clone costs one count
/// per entry and one copy of the members; to try something, clone, apply, and swap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roster {
    chain: Vec<Arc<Entry>>,
    state: State,
}

/// The clock that a live entry is held against. Spec: §4 "Live entries"
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Live {
    /// The wall clock now.
    pub now: Ms,
    /// How far the entry's time may be from it, ms.
    pub skew_ms: u64,
}

impl Live {
    /// An append, as the relay takes it: within the clock skew.
    #[must_use]
    pub fn append(now: Ms) -> Self {
        Self { now, skew_ms: CLOCK_SKEW_MS }
    }

    /// A broadcast, as a daemon takes it: within twice the clock skew, since the relay judged the
    /// entry by a clock of its own.
    #[must_use]
    pub fn broadcast(now: Ms) -> Self {
        Self { now, skew_ms: 2 * CLOCK_SKEW_MS }
    }
}

/// What an entry did when it was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The entry, now the head.
    pub entry: Arc<Entry>,
    /// The member it removed, as it was.
    pub removed: Option<Member>,
}

/// How a head stands to a chain. Spec: §5 "Roster head check"
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadRelation {
    /// Its number is past this chain's head: there are entries we have not seen.
    Ahead,
    /// It is an entry of this chain, the head or an older one.
    Consistent,
    /// This chain has another entry at its number.
    Diverged {
        /// The hash of that entry.
        ours: Hash,
    },
}

/// How a valid entry stands to the chain it was checked against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryStanding {
    /// The chain holds this very entry.
    Held,
    /// It would extend the chain.
    Next,
    /// The chain holds another valid entry at its number: a proof that the history was forked.
    Fork,
}

impl Roster {
    /// The roster of a team that does not exist yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Verifies a whole chain, from its genesis.
    ///
    /// Cost: one signature check an entry. Errors: those of the first entry that fails, and
    /// `invalid_request` when the first one is no genesis or there is none.
    pub fn from_entries<'a>(entries: impl IntoIterator<Item = &'a Value>) -> Result<Self, Failure> {
        let mut roster = Self::new();
        for raw in entries {
            // An empty roster would call a later entry a conflict; a replay has no other history.
            if roster.chain.is_empty() && Entry::read(raw)?.seq() != 0 {
                return Err(Failure::invalid("genesis"));
            }
            roster.apply(raw, None)?;
        }
        if roster.chain.is_empty() {
            return Err(Failure::invalid("genesis"));
        }
        Ok(roster)
    }

    /// Verifies an entry and takes it in as the new head. One that fails changes nothing.
    ///
    /// Entries that arrive live are held against the clock; stored and fetched ones (`live` is
    /// `None`) are bounded by the chain alone.
    ///
    /// Errors, in this order: `invalid_request` (shape, or a key that is not usable), `too_large`,
    /// `roster_conflict` (does not extend the head), `invalid_request` (another team, or a time
    /// before the head's by more than the clock skew), `expired` (live only), `bad_signature`,
    /// `forbidden`, `invite_invalid`.
    pub fn apply(&mut self, raw: &Value, live: Option<Live>) -> Result<Applied, Failure> {
        let reading = Reading::new(raw)?;
        judge(&self.state, self.chain.last().map(Arc::as_ref), self.team_id(), &reading, live)?;
        let removed = self.state.take(&reading.entry, reading.key);
        let entry = Arc::new(reading.entry);
        self.chain.push(Arc::clone(&entry));
        Ok(Applied { entry, removed })
    }

    /// Checks an entry against the state before its own number, without taking it in.
    ///
    /// A valid entry that differs from the stored one proves a fork; one that fails is junk.
    /// Cost: below the head, the chain up to there is folded again (without its signatures).
    ///
    /// Errors: `roster_conflict` for an entry more than one past the head and for a genesis that
    /// is not this team's; otherwise those of [`apply`](Self::apply).
    pub fn check_at(&self, raw: &Value) -> Result<EntryStanding, Failure> {
        let reading = Reading::new(raw)?;
        let entry = &reading.entry;
        let conflict = Failure::new(Code::RosterConflict, "seq");
        let at = usize::try_from(entry.seq()).map_err(|_| conflict)?;
        let held = self.chain.get(at);
        if at == 0 {
            return match held {
                Some(genesis) if genesis.hash() == entry.hash() => Ok(EntryStanding::Held),
                _ => Err(conflict),
            };
        }
        let before = self.chain.get(..at).ok_or(conflict)?;
        let past;
        let state = if held.is_none() {
            &self.state
        } else {
            past = State::of(before);
            &past
        };
        judge(state, before.last().map(Arc::as_ref), self.team_id(), &reading, None)?;
        Ok(match held {
            None => EntryStanding::Next,
            Some(held) if held.hash() == entry.hash() => EntryStanding::Held,
            Some(_) => EntryStanding::Fork,
        })
    }

    /// The team's id: the hash of its genesis.
    #[must_use]
    pub fn team_id(&self) -> Option<&Hash> {
        self.chain.first().map(|genesis| genesis.hash())
    }

    /// The team's name.
    #[must_use]
    pub fn name(&self) -> Option<&TeamName> {
        match self.chain.first()?.op() {
            Op::Genesis { name, .. } => Some(name),
            _ => None,
        }
    }

    /// The newest entry's place.
    #[must_use]
    pub fn head(&self) -> Option<RosterHead> {
        self.chain.last().map(|entry| entry.head())
    }

    /// How a head that somebody committed to stands to this chain.
    #[must_use]
    pub fn relation(&self, head: &RosterHead) -> HeadRelation {
        let held = usize::try_from(head.seq).ok().and_then(|seq| self.chain.get(seq));
        match held {
            None => HeadRelation::Ahead,
            Some(entry) if *entry.hash() == head.hash => HeadRelation::Consistent,
            Some(entry) => HeadRelation::Diverged { ours: *entry.hash() },
        }
    }

    /// Every entry, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[Arc<Entry>] {
        &self.chain
    }

    /// The entries after number `after`, or all of them.
    #[must_use]
    pub fn entries_after(&self, after: Option<u64>) -> &[Arc<Entry>] {
        let start = match after {
            None => 0,
            Some(seq) => usize::try_from(seq).unwrap_or(usize::MAX).saturating_add(1),
        };
        self.chain.get(start..).unwrap_or_default()
    }

    /// The first page of the entries after number `after`, and whether there are more.
    ///
    /// Spec: §7 "Paging"
    #[must_use]
    pub fn page_after(&self, after: Option<u64>) -> (&[Arc<Entry>], bool) {
        let rest = self.entries_after(after);
        match rest.split_at_checked(ROSTER_PAGE_ENTRIES) {
            Some((page, more)) => (page, !more.is_empty()),
            None => (rest, false),
        }
    }

    /// The current members, in the order of their ids.
    pub fn members(&self) -> impl ExactSizeIterator<Item = &Member> {
        self.state.seats.values().map(|seat| &seat.member)
    }

    /// A current member.
    #[must_use]
    pub fn member(&self, machine: &MachineId) -> Option<&Member> {
        self.state.seats.get(machine).map(|seat| &seat.member)
    }

    /// A current member's key, decoded once when it was admitted.
    #[must_use]
    pub fn public_key(&self, machine: &MachineId) -> Option<&PublicKey> {
        self.state.seats.get(machine).map(|seat| &seat.key)
    }

    /// Whether the machine was a member once and can never be one again.
    #[must_use]
    pub fn was_removed(&self, machine: &MachineId) -> bool {
        self.state.removed.contains(machine)
    }

    /// The removed machines, in the order of their ids.
    pub fn removed(&self) -> impl ExactSizeIterator<Item = &MachineId> {
        self.state.removed.iter()
    }

    /// An invite, open or not.
    #[must_use]
    pub fn invite(&self, id: &Ulid) -> Option<&Invite> {
        self.state.invites.get(id)
    }

    /// The invites that were neither redeemed nor revoked, in the order of their ids. The time of
    /// one may have passed.
    pub fn open_invites(&self) -> impl Iterator<Item = &Invite> {
        self.state.invites.values().filter(|invite| invite.open)
    }

    /// The latest `member.rekey` of a current member.
    #[must_use]
    pub fn latest_rekey(&self, machine: &MachineId) -> Option<&Rekey> {
        self.state.rekeys.get(machine)
    }
}

/// Judges an entry of the right shape against the chain that `last` ends. Spec: W4.9 steps 3 to 8
fn judge(
    state: &State,
    last: Option<&Entry>,
    team: Option<&Hash>,
    reading: &Reading<'_>,
    live: Option<Live>,
) -> Result<(), Failure> {
    let entry = &reading.entry;
    let conflict = |at| Failure::new(Code::RosterConflict, at);
    match last {
        None if entry.seq() != 0 => return Err(conflict("seq")),
        None => {}
        Some(last) => {
            if last.seq().checked_add(1) != Some(entry.seq()) {
                return Err(conflict("seq"));
            }
            if entry.prev() != Some(last.hash()) {
                return Err(conflict("prev"));
            }
            if entry.team() != team {
                return Err(Failure::invalid("team"));
            }
            if entry.ts() < last.ts().minus(CLOCK_SKEW_MS) {
                return Err(Failure::invalid("ts"));
            }
        }
    }
    if let Some(Live { now, skew_ms }) = live
        && entry.ts().distance(now) > skew_ms
    {
        return Err(Failure::new(Code::Expired, "ts"));
    }
    // A current member's key is at hand; another one is decoded.
    let key = match state.seats.get(entry.by()) {
        Some(seat) => Some(seat.key),
        None => PublicKey::of(entry.by()),
    };
    if !key.is_some_and(|key| reading.is_signed_by(&key)) {
        return Err(Failure::new(Code::BadSignature, "sig"));
    }
    state.judge(entry, reading.raw)
}
