//! A team to test with: machines named by a number, one second between entries.

use alloc::vec::Vec;

use serde_json::Value;

use crate::code::{Code, Failure};
use crate::ids::{EncKey, MachineId, Secret32Text, Ulid};
use crate::invite;
use crate::keys::{Identity, SigningKey};
use crate::roster::{Applied, Member, Op, Role, Roster, sign_genesis};
use crate::testing::SeededRandom;
use crate::ticket::InviteTicket;
use crate::time::Ms;
use crate::version::Version;

/// When the genesis was signed.
pub(super) const START: Ms = Ms(1_700_000_000_000);

/// The admin who founds the team.
pub(super) const ALICE: u8 = 1;

/// The identity of machine `n`.
pub(super) fn identity(n: u8) -> Identity {
    Identity::from_secrets([n; 32], [n.wrapping_add(100); 32])
}

/// The id of machine `n`.
pub(super) fn id(n: u8) -> MachineId {
    *identity(n).machine()
}

/// Machine `n` as a member, `person/label`.
pub(super) fn member(n: u8, person: &str, label: &str) -> Member {
    Member {
        machine: id(n),
        enc: *identity(n).enc.public(),
        person: person.parse().unwrap(),
        role: Role::Member,
        label: label.parse().unwrap(),
    }
}

pub(super) fn admin(n: u8, person: &str, label: &str) -> Member {
    Member { role: Role::Admin, ..member(n, person, label) }
}

pub(super) fn add(member: &Member) -> Op {
    Op::MemberAdd { member: member.clone() }
}

pub(super) fn remove(n: u8) -> Op {
    Op::MemberRemove { machine: id(n) }
}

pub(super) fn role(n: u8, role: Role) -> Op {
    Op::MemberRole { machine: id(n), role }
}

pub(super) fn rekey(n: u8, byte: u8) -> Op {
    Op::MemberRekey { machine: id(n), enc: EncKey::from_bytes(&[byte; 32]) }
}

/// A growing team, founded by [`ALICE`].
#[derive(Clone)]
pub(super) struct Team {
    pub(super) roster: Roster,
    /// The time of the next entry.
    pub(super) now: Ms,
    rng: SeededRandom,
}

impl Team {
    /// Alice alone.
    pub(super) fn new() -> Self {
        let genesis = genesis(&admin(ALICE, "alice", "laptop"), ALICE);
        let roster = Roster::from_entries([&genesis]).unwrap();
        Self { roster, now: START.plus(1_000), rng: SeededRandom::new(1) }
    }

    /// Alice, and these members.
    pub(super) fn with(members: &[Member]) -> Self {
        let mut team = Self::new();
        for member in members {
            team.put(ALICE, &add(member));
        }
        team
    }

    /// The next entry, signed by machine `by`.
    pub(super) fn entry(&self, by: u8, op: &Op) -> Value {
        self.roster.sign_next(op, self.now, &identity(by).signing).unwrap()
    }

    /// Applies the next entry, which must be good.
    pub(super) fn put(&mut self, by: u8, op: &Op) -> Applied {
        let entry = self.entry(by, op);
        let applied = self.roster.apply(&entry, None).unwrap();
        self.now = self.now.plus(1_000);
        applied
    }

    /// Tries the next entry; a refusal must leave the roster as it was.
    pub(super) fn attempt(&mut self, by: u8, op: &Op) -> Result<(), Failure> {
        let entry = self.entry(by, op);
        self.attempt_raw(&entry)
    }

    /// As [`attempt`](Self::attempt), for an entry in hand.
    pub(super) fn attempt_raw(&mut self, entry: &Value) -> Result<(), Failure> {
        let before = self.roster.clone();
        let result = self.roster.apply(entry, None);
        if result.is_err() {
            assert_eq!(self.roster, before, "a failed apply changed the roster");
        }
        result.map(drop)
    }

    /// The next entry must be refused so.
    #[track_caller]
    pub(super) fn refuses(&mut self, by: u8, op: &Op, code: Code) {
        assert_eq!(self.attempt(by, op).map_err(|failure| failure.code), Err(code), "{op:?}");
    }

    /// Opens an invite for `person`, of seven days, and gives its ticket.
    pub(super) fn invite(&mut self, person: &str) -> InviteTicket {
        let person = person.parse().unwrap();
        let ttl_ms = crate::limits::TTL_MS;
        let new = invite::create(&person, ttl_ms, self.now, &mut self.rng).unwrap();
        self.put(ALICE, &new.op);
        self.ticket(person.as_str(), new.id, new.secret, new.expires)
    }

    pub(super) fn ticket(
        &self,
        person: &str,
        invite_id: Ulid,
        secret: Secret32Text,
        expires: Ms,
    ) -> InviteTicket {
        InviteTicket {
            v: Version,
            relay: "wss://relay.example/v1/connect".parse().unwrap(),
            team: *self.roster.team_id().unwrap(),
            invite_id,
            secret,
            person: person.parse().unwrap(),
            expires,
            name: None,
        }
    }

    /// The operation by which machine `n` uses a ticket.
    pub(super) fn redeem(&self, ticket: &InviteTicket, n: u8, label: &str) -> Op {
        let team = self.roster.team_id().unwrap();
        ticket.redeem(team, &identity(n), &label.parse().unwrap()).unwrap()
    }

    /// The names of the current members, `person/label`, sorted.
    pub(super) fn names(&self) -> Vec<alloc::string::String> {
        let mut names: Vec<_> = self
            .roster
            .members()
            .map(|member| alloc::format!("{}/{}", member.person, member.label))
            .collect();
        names.sort();
        names
    }
}

/// A genesis with this founder, signed by machine `by`.
pub(super) fn genesis(founder: &Member, by: u8) -> Value {
    sign_genesis(&"demo".parse().unwrap(), founder, START, &identity(by).signing).unwrap()
}

/// `fields` signed by machine `by`, whatever they say.
pub(super) fn signed(mut fields: Value, by: u8) -> Value {
    let key: SigningKey = identity(by).signing;
    fields.as_object_mut().unwrap().remove("sig");
    let sig = key.sign_value(crate::domain::Domain::Roster, &fields).unwrap();
    fields["sig"] = serde_json::json!(sig);
    fields
}

/// `entry` with one member changed, signed again by machine `by`.
pub(super) fn changed(entry: &Value, member: &str, value: Value, by: u8) -> Value {
    let mut entry = entry.clone();
    entry[member] = value;
    signed(entry, by)
}
