//! A channel's record, and what an operation that arrives makes of it.
//! Spec: §6.8 "Receiver rules", W4.14
//!
//! [`judge`] takes an operation as it arrived and what this machine knows, checks every rule in order, and answers what
//! changes here: nothing is to be stored when it refuses. The methods of [`ChannelRecord`] are the same rules one by
//! one, for the changes that start on this machine.
//!
//! ```text
//! let verdict = judge(&conv, &Facts { own, sender, admin, held, left, count, taken: &|name| …, admissible: &|person| … })?;
//! match verdict {
//!     Verdict::Created { record, local } => …   // store it under its local name
//!     Verdict::Invited { record, added } => …   // the new record, and who is new in it
//!     Verdict::Left { record } => …             // the sender is out
//!     Verdict::Removed { record, removed } => …
//!     Verdict::Deleted => …                     // this person is out: the channel, its lines and its cursor go
//!     Verdict::Post => …                        // a line may be filed
//! }
//! ```

use alloc::format;
use alloc::vec::Vec;

use crate::code::{Code, Failure};
use crate::conv::{ChannelConv, ChannelOp};
use crate::ids::{ChannelName, PersonId, Ulid};
use crate::limits::{CHANNEL_PERSONS, CHANNELS};

/// A channel, as one machine holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelRecord {
    /// The id, which its creator chose.
    pub id: Ulid,
    /// The channel's own name, which every envelope carries. A machine may show it under another.
    pub name: ChannelName,
    /// Who created it; perhaps not a member any more.
    pub creator: PersonId,
    /// The members, in the order in which they came.
    pub persons: Vec<PersonId>,
}

/// What a machine knows when an operation arrives.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// This machine's person.
    pub own: &'a PersonId,
    /// The verified sender's person.
    pub sender: &'a PersonId,
    /// Whether the sending machine is an admin of the team on the verified roster; never in a directory realm.
    pub admin: bool,
    /// The channel of the operation's id, when this machine holds it.
    pub held: Option<&'a ChannelRecord>,
    /// Whether this person left the id, or was removed from it, within the last [`FORGET_MS`].
    pub left: bool,
    /// How many channels this machine holds.
    pub count: usize,
    /// Whether a channel is held here under this local name.
    pub taken: &'a dyn Fn(&ChannelName) -> bool,
    /// Whether a person can be a member: in a roster realm one with a current machine, in a directory realm a hosted id.
    pub admissible: &'a dyn Fn(&PersonId) -> bool,
}

/// What an operation changes here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A channel is new on this machine.
    Created {
        /// The channel.
        record: ChannelRecord,
        /// The name under which this machine holds it.
        local: ChannelName,
    },
    /// Members joined.
    Invited {
        /// The channel afterwards.
        record: ChannelRecord,
        /// Those who were no members before; empty when two members invited the same persons.
        added: Vec<PersonId>,
    },
    /// The sender left.
    Left {
        /// The channel afterwards.
        record: ChannelRecord,
    },
    /// Members were removed.
    Removed {
        /// The channel afterwards.
        record: ChannelRecord,
        /// Who.
        removed: Vec<PersonId>,
    },
    /// This machine's person left, or was removed: the channel is deleted here.
    Deleted,
    /// A line of a member, for a member. The record stays.
    Post,
}

/// How long a channel that was left is remembered, so that a `create` under way does not bring it back, ms.
pub const FORGET_MS: u64 = crate::limits::TTL_MS + crate::limits::CLOCK_SKEW_MS;

/// Judges an operation that arrived; the first rule that fails decides the code.
///
/// Errors: `not_found` for a channel that is not held, held under another name of its own, or a person who cannot be a
/// member; `forbidden` for what the sender may not do; `invalid_request` for more than 32 members or a removal of
/// oneself; `rate_limited` for more channels than a machine holds, or a name that is taken a hundred times.
pub fn judge(conv: &ChannelConv, facts: &Facts<'_>) -> Result<Verdict, Failure> {
    let held = match &conv.op {
        ChannelOp::Create { .. } => None,
        _ => Some(
            facts
                .held
                .filter(|held| held.id == conv.id && held.name == conv.name)
                .ok_or(Failure::new(Code::NotFound, "conv.id"))?,
        ),
    };
    let named: &[PersonId] = match &conv.op {
        ChannelOp::Create { persons, .. }
        | ChannelOp::Invite { persons }
        | ChannelOp::Remove { persons } => persons,
        ChannelOp::Leave | ChannelOp::Post => &[],
    };
    if !named.iter().all(facts.admissible) {
        return Err(Failure::new(Code::NotFound, "conv.persons"));
    }
    match (&conv.op, held) {
        (ChannelOp::Create { persons, creator }, _) => {
            let record = ChannelRecord {
                id: conv.id,
                name: conv.name.clone(),
                creator: creator.clone(),
                persons: persons.to_vec(),
            };
            create(record, facts)
        }
        (ChannelOp::Invite { persons }, Some(held)) => {
            let (record, added) = held.invite(facts.sender, persons)?;
            Ok(Verdict::Invited { record, added })
        }
        (ChannelOp::Leave, Some(held)) => {
            let record = held.leave(facts.sender)?;
            Ok(if facts.sender == facts.own { Verdict::Deleted } else { Verdict::Left { record } })
        }
        (ChannelOp::Remove { persons }, Some(held)) => {
            let record = held.remove(facts.sender, facts.admin, persons)?;
            let removed = persons.to_vec();
            Ok(if removed.contains(facts.own) {
                Verdict::Deleted
            } else {
                Verdict::Removed { record, removed }
            })
        }
        (ChannelOp::Post, Some(held)) => {
            held.may_post(facts.sender)?;
            held.may_post(facts.own)?;
            Ok(Verdict::Post)
        }
        (_, None) => Err(Failure::new(Code::NotFound, "conv.id")),
    }
}

/// A channel that is new here.
fn create(record: ChannelRecord, facts: &Facts<'_>) -> Result<Verdict, Failure> {
    if facts.held.is_some() || facts.left {
        return Err(Failure::new(Code::Forbidden, "conv.id"));
    }
    if !record.has(facts.sender) || !record.has(facts.own) {
        return Err(Failure::new(Code::Forbidden, "conv.persons"));
    }
    if facts.count >= CHANNELS {
        return Err(Failure::new(Code::RateLimited, "channels"));
    }
    let local = local_name(&record.name, facts.taken)?;
    Ok(Verdict::Created { record, local })
}

/// The name under which a machine holds a channel called `name`: its own, or when a channel is held under that one, its
/// first 28 characters, a hyphen and the lowest free number of 2 to 99.
///
/// Errors: `rate_limited` when all of them are taken.
pub fn local_name(
    name: &ChannelName,
    taken: impl Fn(&ChannelName) -> bool,
) -> Result<ChannelName, Failure> {
    if !taken(name) {
        return Ok(name.clone());
    }
    // A name is ASCII: a byte is a character.
    let start = name.as_str().get(..LOCAL_NAME_CHARS).unwrap_or(name.as_str());
    (2..=99)
        .filter_map(|number| ChannelName::parse(&format!("{start}-{number}")).ok())
        .find(|local| !taken(local))
        .ok_or(Failure::new(Code::RateLimited, "conv.name"))
}

/// What is left of a name when a number follows.
const LOCAL_NAME_CHARS: usize = 28;

impl ChannelRecord {
    /// Whether a person is a member.
    #[must_use]
    pub fn has(&self, person: &PersonId) -> bool {
        self.persons.contains(person)
    }

    /// The record after `by` invites these persons, and those of them who were no members.
    ///
    /// Errors: `forbidden` when `by` is no member; `invalid_request` past 32 members.
    pub fn invite(
        &self,
        by: &PersonId,
        persons: &[PersonId],
    ) -> Result<(Self, Vec<PersonId>), Failure> {
        self.member(by)?;
        let added: Vec<PersonId> =
            persons.iter().filter(|person| !self.has(person)).cloned().collect();
        if self.persons.len().saturating_add(added.len()) > CHANNEL_PERSONS {
            return Err(Failure::invalid("conv.persons"));
        }
        let mut record = self.clone();
        record.persons.extend(added.iter().cloned());
        Ok((record, added))
    }

    /// The record after `by` leaves.
    ///
    /// Errors: `forbidden` when `by` is no member: who is out has nothing to announce here.
    pub fn leave(&self, by: &PersonId) -> Result<Self, Failure> {
        self.member(by)?;
        Ok(self.without(core::slice::from_ref(by)))
    }

    /// The record after `by`, perhaps an `admin` of the team, removes these persons.
    ///
    /// Errors: `forbidden` for somebody who is no member, or neither the creator nor an admin; `invalid_request` when
    /// they name themselves; `not_found` for a person who is no member.
    pub fn remove(
        &self,
        by: &PersonId,
        admin: bool,
        persons: &[PersonId],
    ) -> Result<Self, Failure> {
        self.member(by)?;
        if self.creator != *by && !admin {
            return Err(Failure::new(Code::Forbidden, "conv.op"));
        }
        if persons.contains(by) {
            return Err(Failure::invalid("conv.persons"));
        }
        if !persons.iter().all(|person| self.has(person)) {
            return Err(Failure::new(Code::NotFound, "conv.persons"));
        }
        Ok(self.without(persons))
    }

    /// Whether a person may post, or be posted to.
    ///
    /// Errors: `forbidden` for somebody who is no member.
    pub fn may_post(&self, person: &PersonId) -> Result<(), Failure> {
        self.member(person)
    }

    /// The record without these persons: they left, were removed, or have no machine any more.
    #[must_use]
    pub fn without(&self, gone: &[PersonId]) -> Self {
        let mut record = self.clone();
        record.persons.retain(|person| !gone.contains(person));
        record
    }

    fn member(&self, person: &PersonId) -> Result<(), Failure> {
        if self.has(person) { Ok(()) } else { Err(Failure::new(Code::Forbidden, "from.person")) }
    }
}

#[cfg(test)]
mod tests;
