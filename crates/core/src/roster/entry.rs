//! One entry of the roster: its typed view beside the exact value that was signed.
//! Spec: §4, W2.7

use alloc::string::String;
use core::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::code::{Code, Failure};
use crate::domain::Domain;
use crate::ids::{EncKey, Hash, Label, MachineId, RosterPerson, Sig, TeamName, Ulid};
use crate::jcs::{self, Canonical};
use crate::json;
use crate::keys::PublicKey;
use crate::limits;
use crate::time::Ms;
use crate::version::Version;

/// What a member may do: an admin decides who is a member, a member decides about itself.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Adds, removes, re-roles and invites.
    Admin,
    /// Removes and rekeys itself only.
    Member,
}

/// A machine of the team, as the roster keeps it: exactly these five facts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Member {
    /// The machine, named by its signing key.
    pub machine: MachineId,
    /// The key to seal to.
    pub enc: EncKey,
    /// The person the machine belongs to.
    pub person: RosterPerson,
    /// What the machine may decide.
    pub role: Role,
    /// The machine's name among the machines of its person.
    pub label: Label,
}

/// A place in the chain: the `seq` of an entry and the hash of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RosterHead {
    /// The entry's number; the genesis is 0.
    pub seq: u64,
    /// The entry's hash, its signature included.
    pub hash: Hash,
}

/// What an entry does. It serializes as the members it adds to an entry, `op` among them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "op", rename_all_fields = "camelCase")]
pub enum Op {
    /// Starts a team with its first admin.
    #[serde(rename = "genesis")]
    Genesis {
        /// The team's name.
        name: TeamName,
        /// The first member, an admin.
        founder: Member,
    },
    /// Adds a machine.
    #[serde(rename = "member.add")]
    MemberAdd {
        /// The new member.
        member: Member,
    },
    /// Removes a machine, for ever.
    #[serde(rename = "member.remove")]
    MemberRemove {
        /// The machine that goes.
        machine: MachineId,
    },
    /// Changes a machine's role.
    #[serde(rename = "member.role")]
    MemberRole {
        /// The machine.
        machine: MachineId,
        /// Its new role.
        role: Role,
    },
    /// Replaces the key to seal to, and nothing else.
    #[serde(rename = "member.rekey")]
    MemberRekey {
        /// The machine.
        machine: MachineId,
        /// Its new key.
        enc: EncKey,
    },
    /// Opens an invite.
    #[serde(rename = "invite.create")]
    InviteCreate {
        /// The invite; never used before.
        invite_id: Ulid,
        /// The public key of the invite's secret.
        invite_pub: MachineId,
        /// The person whose machine may join.
        person: RosterPerson,
        /// When the invite ends.
        expires: Ms,
    },
    /// Takes an open invite back.
    #[serde(rename = "invite.revoke")]
    InviteRevoke {
        /// The invite.
        invite_id: Ulid,
    },
    /// Joins by an open invite.
    #[serde(rename = "invite.redeem")]
    InviteRedeem {
        /// The invite.
        invite_id: Ulid,
        /// The proof that the joiner holds the invite's secret.
        proof: Sig,
        /// The machine that joins.
        member: Member,
    },
}

impl Op {
    /// The name of the operation, as in the entry.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Op::Genesis { .. } => "genesis",
            Op::MemberAdd { .. } => "member.add",
            Op::MemberRemove { .. } => "member.remove",
            Op::MemberRole { .. } => "member.role",
            Op::MemberRekey { .. } => "member.rekey",
            Op::InviteCreate { .. } => "invite.create",
            Op::InviteRevoke { .. } => "invite.revoke",
            Op::InviteRedeem { .. } => "invite.redeem",
        }
    }

    /// The member it admits, if it admits one.
    #[must_use]
    pub fn admits(&self) -> Option<&Member> {
        match self {
            Op::Genesis { founder: member, .. }
            | Op::MemberAdd { member }
            | Op::InviteRedeem { member, .. } => Some(member),
            Op::MemberRemove { .. }
            | Op::MemberRole { .. }
            | Op::MemberRekey { .. }
            | Op::InviteCreate { .. }
            | Op::InviteRevoke { .. } => None,
        }
    }

    /// The signing key it admits: a member's, or an invite's. It must be usable. Spec: §3
    fn key(&self) -> Option<&MachineId> {
        match self {
            Op::InviteCreate { invite_pub, .. } => Some(invite_pub),
            _ => self.admits().map(|member| &member.machine),
        }
    }

    /// Reads the members of the operation called `name`.
    fn read(name: &str, raw: &Value) -> Result<Op, Failure> {
        Ok(match name {
            "genesis" => {
                let Genesis { name, founder } = json::decode(raw)?;
                Op::Genesis { name, founder }
            }
            "member.add" => {
                let MemberAdd { member } = json::decode(raw)?;
                Op::MemberAdd { member }
            }
            "member.remove" => {
                let MemberRemove { machine } = json::decode(raw)?;
                Op::MemberRemove { machine }
            }
            "member.role" => {
                let MemberRole { machine, role } = json::decode(raw)?;
                Op::MemberRole { machine, role }
            }
            "member.rekey" => {
                let MemberRekey { machine, enc } = json::decode(raw)?;
                Op::MemberRekey { machine, enc }
            }
            "invite.create" => {
                let InviteCreate { invite_id, invite_pub, person, expires } = json::decode(raw)?;
                Op::InviteCreate { invite_id, invite_pub, person, expires }
            }
            "invite.revoke" => {
                let InviteRevoke { invite_id } = json::decode(raw)?;
                Op::InviteRevoke { invite_id }
            }
            "invite.redeem" => {
                let InviteRedeem { invite_id, proof, member } = json::decode(raw)?;
                Op::InviteRedeem { invite_id, proof, member }
            }
            _ => return Err(Failure::invalid("op")),
        })
    }
}

/// An entry that has the right shape and size and admits only usable keys. Nothing is said yet
/// about its signature, its place or its authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    seq: u64,
    prev: Option<Hash>,
    team: Option<Hash>,
    ts: Ms,
    by: MachineId,
    sig: Sig,
    op: Op,
    canonical: Canonical,
    hash: Hash,
}

impl Entry {
    /// Its number in the chain.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The hash of the entry before it; none for a genesis.
    #[must_use]
    pub fn prev(&self) -> Option<&Hash> {
        self.prev.as_ref()
    }

    /// The team it names; none for a genesis, which is the team.
    #[must_use]
    pub fn team(&self) -> Option<&Hash> {
        self.team.as_ref()
    }

    /// When its author says it was signed.
    #[must_use]
    pub fn ts(&self) -> Ms {
        self.ts
    }

    /// The machine that signed it.
    #[must_use]
    pub fn by(&self) -> &MachineId {
        &self.by
    }

    /// What it does.
    #[must_use]
    pub fn op(&self) -> &Op {
        &self.op
    }

    /// The whole entry in canonical form, unknown members included.
    #[must_use]
    pub fn canonical(&self) -> &Canonical {
        &self.canonical
    }

    /// The hash of the whole entry, its signature included.
    #[must_use]
    pub fn hash(&self) -> &Hash {
        &self.hash
    }

    /// Its place in the chain.
    #[must_use]
    pub fn head(&self) -> RosterHead {
        RosterHead { seq: self.seq, hash: self.hash }
    }

    /// Reads an entry: shape, size, and the keys it would admit. Spec: W4.9 step 2
    ///
    /// Errors: `invalid_request` for another shape, a value that is not I-JSON or a key that is
    /// not usable; `too_large` over [`ROSTER_ENTRY_BYTES`](limits::ROSTER_ENTRY_BYTES).
    pub fn read(raw: &Value) -> Result<Entry, Failure> {
        Reading::new(raw).map(|reading| reading.entry)
    }

    /// The key that the entry admits, decoded.
    pub(super) fn admitted_key(&self) -> Option<PublicKey> {
        self.op.key().and_then(PublicKey::of)
    }
}

/// An entry as it was just read: beside it, what judging it once needs.
pub(super) struct Reading<'a> {
    pub(super) entry: Entry,
    /// The key that the entry admits, decoded.
    pub(super) key: Option<PublicKey>,
    /// The exact value.
    pub(super) raw: &'a Value,
    sig_at: Range<usize>,
}

impl<'a> Reading<'a> {
    /// As [`Entry::read`].
    pub(super) fn new(raw: &'a Value) -> Result<Self, Failure> {
        let Base { op, seq, team, ts, by, sig, .. } = json::decode(raw)?;
        let op = Op::read(&op, raw)?;
        let prev = read_prev(raw)?;
        let is_genesis = matches!(op, Op::Genesis { .. });
        if is_genesis != (seq == 0) {
            return Err(Failure::invalid("seq"));
        }
        if is_genesis != prev.is_none() {
            return Err(Failure::invalid("prev"));
        }
        if is_genesis != team.is_none() {
            return Err(Failure::invalid("team"));
        }
        let members = raw.as_object().ok_or(Failure::invalid("entry"))?;
        let (canonical, [sig_at]) = jcs::canonical_spans(members, ["sig"])?;
        if canonical.len() > limits::ROSTER_ENTRY_BYTES {
            return Err(Failure::new(Code::TooLarge, "entry"));
        }
        let hash = canonical.hash();
        let entry = Entry { seq, prev, team, ts, by, sig, op, canonical, hash };
        let key = entry.admitted_key();
        if key.is_none() && entry.op.key().is_some() {
            return Err(Failure::invalid("key"));
        }
        Ok(Self { entry, key, raw, sig_at })
    }

    /// Whether `key` signed the entry.
    pub(super) fn is_signed_by(&self, key: &PublicKey) -> bool {
        // `ts` and `v` follow `sig`, so the cut is the canonical form of the rest.
        let signed = self.entry.canonical.cut(core::slice::from_ref(&self.sig_at));
        key.verify(Domain::Roster, &signed, &self.entry.sig)
    }
}

/// `prev` is always there: `null`, or a hash.
fn read_prev(raw: &Value) -> Result<Option<Hash>, Failure> {
    let missing = Failure::invalid("prev");
    match raw.get("prev").ok_or(missing)? {
        Value::Null => Ok(None),
        Value::String(text) => Hash::parse(text).map(Some).map_err(|_| missing),
        _ => Err(missing),
    }
}

/// The members of every entry, less `prev`.
#[derive(Deserialize)]
struct Base {
    #[serde(rename = "v")]
    _v: Version,
    op: String,
    seq: u64,
    team: Option<Hash>,
    ts: Ms,
    by: MachineId,
    sig: Sig,
}

#[derive(Deserialize)]
struct Genesis {
    name: TeamName,
    founder: Member,
}

#[derive(Deserialize)]
struct MemberAdd {
    member: Member,
}

#[derive(Deserialize)]
struct MemberRemove {
    machine: MachineId,
}

#[derive(Deserialize)]
struct MemberRole {
    machine: MachineId,
    role: Role,
}

#[derive(Deserialize)]
struct MemberRekey {
    machine: MachineId,
    enc: EncKey,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InviteCreate {
    invite_id: Ulid,
    invite_pub: MachineId,
    person: RosterPerson,
    expires: Ms,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InviteRevoke {
    invite_id: Ulid,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InviteRedeem {
    invite_id: Ulid,
    proof: Sig,
    member: Member,
}
