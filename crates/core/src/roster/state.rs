//! What a chain of entries says: members, removals and invites; and who may change them.
//! Spec: §4 "Authority rules", "Invites"; W4.9 steps 7 and 8

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;

use serde_json::Value;

use super::entry::{Entry, Member, Op, Role};
use crate::code::{Code, Failure};
use crate::ids::{Label, MachineId, RosterPerson, Ulid};
use crate::invite;
use crate::keys::PublicKey;
use crate::limits::TTL_MS;
use crate::time::Ms;

/// The latest `member.rekey` of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rekey {
    /// The entry's number.
    pub seq: u64,
    /// Who signed it: the machine itself, or an admin.
    pub by: MachineId,
}

/// An invite, as its `invite.create` entry made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invite {
    /// Its id.
    pub id: Ulid,
    /// The public key of its secret, decoded.
    pub key: PublicKey,
    /// The person whose machine may join.
    pub person: RosterPerson,
    /// When it was made.
    pub created: Ms,
    /// When it ends.
    pub expires: Ms,
    /// The admin who made it.
    pub by: MachineId,
    /// Whether it was neither redeemed nor revoked. It may still have expired.
    pub open: bool,
}

/// A member and its decoded key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seat {
    pub(super) member: Member,
    pub(super) key: PublicKey,
}

/// The state after the entries so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) seats: BTreeMap<MachineId, Seat>,
    pub(super) removed: BTreeSet<MachineId>,
    pub(super) invites: BTreeMap<Ulid, Invite>,
    pub(super) rekeys: BTreeMap<MachineId, Rekey>,
    labels: BTreeSet<(RosterPerson, Label)>,
    admins: usize,
}

impl State {
    /// The state after entries that were applied once.
    pub(super) fn of(entries: &[Arc<Entry>]) -> State {
        let mut state = State::default();
        for entry in entries {
            state.take(entry, entry.admitted_key());
        }
        state
    }

    /// Judges a signed entry that extends the chain: authority, then the rules of invites.
    ///
    /// `raw` is the exact value of `entry`. Errors: `forbidden`, `invite_invalid`.
    pub(super) fn judge(&self, entry: &Entry, raw: &Value) -> Result<(), Failure> {
        let by = entry.by();
        match entry.op() {
            Op::Genesis { founder, .. } => {
                allow(*by == founder.machine, "by")?;
                allow(founder.role == Role::Admin, "role")
            }
            Op::MemberAdd { member } => {
                self.admin(by)?;
                self.admissible(member)
            }
            Op::MemberRemove { machine } => {
                let signer = self.current(by)?;
                allow(signer.role == Role::Admin || by == machine, "by")?;
                let member = self.current(machine)?;
                self.not_last_admin(member)
            }
            Op::MemberRole { machine, role } => {
                self.admin(by)?;
                let member = self.current(machine)?;
                if *role == Role::Admin { Ok(()) } else { self.not_last_admin(member) }
            }
            Op::MemberRekey { machine, .. } => {
                if by != machine {
                    self.admin(by)?;
                }
                self.current(machine).map(drop)
            }
            Op::InviteCreate { invite_id, expires, .. } => {
                self.admin(by)?;
                valid(!self.invites.contains_key(invite_id), "inviteId")?;
                let ts = entry.ts();
                valid(*expires > ts && expires.since(ts) <= TTL_MS, "expires")
            }
            Op::InviteRevoke { invite_id } => {
                self.admin(by)?;
                self.open_invite(invite_id).map(drop)
            }
            Op::InviteRedeem { invite_id, proof, member } => {
                allow(*by == member.machine, "by")?;
                self.admissible(member)?;
                let invite = self.open_invite(invite_id)?;
                valid(entry.ts() < invite.expires, "ts")?;
                valid(member.person == invite.person, "person")?;
                valid(member.role == Role::Member, "role")?;
                // The proof covers the member exactly as the entry holds it, unknown members included.
                let team = entry.team().ok_or(Failure::new(Code::InviteInvalid, "team"))?;
                let member =
                    raw.get("member").ok_or(Failure::new(Code::InviteInvalid, "member"))?;
                valid(
                    invite::redeem_is_proven(&invite.key, team, invite_id, member, proof),
                    "proof",
                )
            }
        }
    }

    /// Takes in an entry that was judged. `key` is the key that the entry admits.
    pub(super) fn take(&mut self, entry: &Entry, key: Option<PublicKey>) -> Option<Member> {
        match (entry.op(), key) {
            (
                Op::Genesis { founder: member, .. }
                | Op::MemberAdd { member }
                | Op::InviteRedeem { member, .. },
                Some(key),
            ) => {
                if let Op::InviteRedeem { invite_id, .. } = entry.op() {
                    self.close(invite_id);
                }
                self.labels.insert((member.person.clone(), member.label.clone()));
                self.count(member.role);
                self.seats.insert(member.machine, Seat { member: member.clone(), key });
                None
            }
            (Op::MemberRemove { machine }, _) => {
                let seat = self.seats.remove(machine)?;
                self.removed.insert(*machine);
                self.rekeys.remove(machine);
                self.discount(seat.member.role);
                self.labels.remove(&(seat.member.person.clone(), seat.member.label.clone()));
                Some(seat.member)
            }
            (Op::MemberRole { machine, role }, _) => {
                let seat = self.seats.get_mut(machine)?;
                let before = core::mem::replace(&mut seat.member.role, *role);
                self.discount(before);
                self.count(*role);
                None
            }
            (Op::MemberRekey { machine, enc }, _) => {
                self.seats.get_mut(machine)?.member.enc = *enc;
                self.rekeys.insert(*machine, Rekey { seq: entry.seq(), by: *entry.by() });
                None
            }
            (Op::InviteCreate { invite_id, person, expires, .. }, Some(key)) => {
                let invite = Invite {
                    id: *invite_id,
                    key,
                    person: person.clone(),
                    created: entry.ts(),
                    expires: *expires,
                    by: *entry.by(),
                    open: true,
                };
                self.invites.insert(*invite_id, invite);
                None
            }
            (Op::InviteRevoke { invite_id }, _) => {
                self.close(invite_id);
                None
            }
            // An entry that admits somebody always comes with the key it was read with.
            (
                Op::Genesis { .. }
                | Op::MemberAdd { .. }
                | Op::InviteRedeem { .. }
                | Op::InviteCreate { .. },
                None,
            ) => None,
        }
    }

    fn current(&self, machine: &MachineId) -> Result<&Member, Failure> {
        let seat = self.seats.get(machine).ok_or(Failure::new(Code::Forbidden, "machine"))?;
        Ok(&seat.member)
    }

    fn admin(&self, by: &MachineId) -> Result<(), Failure> {
        allow(self.current(by)?.role == Role::Admin, "by")
    }

    /// A removed machine never comes back, and a label names one machine of its person.
    fn admissible(&self, member: &Member) -> Result<(), Failure> {
        allow(!self.seats.contains_key(&member.machine), "machine")?;
        allow(!self.removed.contains(&member.machine), "machine")?;
        let label = (member.person.clone(), member.label.clone());
        allow(!self.labels.contains(&label), "label")
    }

    /// A team without an admin could never change again.
    fn not_last_admin(&self, member: &Member) -> Result<(), Failure> {
        allow(member.role == Role::Member || self.admins > 1, "last admin")
    }

    fn open_invite(&self, id: &Ulid) -> Result<&Invite, Failure> {
        match self.invites.get(id) {
            Some(invite) if invite.open => Ok(invite),
            _ => Err(Failure::new(Code::InviteInvalid, "inviteId")),
        }
    }

    fn close(&mut self, id: &Ulid) {
        if let Some(invite) = self.invites.get_mut(id) {
            invite.open = false;
        }
    }

    fn count(&mut self, role: Role) {
        if role == Role::Admin {
            self.admins = self.admins.saturating_add(1);
        }
    }

    fn discount(&mut self, role: Role) {
        if role == Role::Admin {
            self.admins = self.admins.saturating_sub(1);
        }
    }
}

fn allow(holds: bool, at: &'static str) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(Failure::new(Code::Forbidden, at)) }
}

fn valid(holds: bool, at: &'static str) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(Failure::new(Code::InviteInvalid, at)) }
}
