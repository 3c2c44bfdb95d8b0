//! Which machine this home is: its keys, the machine its store belongs to, and what that adds up to.
//! Spec: §4, §8.9, D3.3, D3.23

use messaging_core::code::{Code, Failure};
use messaging_core::ids::MachineId;
use messaging_core::roster::{Member, Roster};

use crate::identity::IdentityFile;
use crate::pairing::PairingFile;

/// The home's keys and the machine its store names.
#[derive(Debug, Default)]
pub(crate) struct Home {
    /// The private keys, when `identity.json` holds them.
    pub(crate) keys: Option<IdentityFile>,
    /// The machine that the store belongs to; set once its keys are stored and the realm names it.
    pub(crate) machine: Option<MachineId>,
    /// Keys that wait for a place in a team, when `pairing.json` holds some.
    pub(crate) pairing: Option<PairingFile>,
}

/// What this home is to its realm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// In no team yet.
    NoTeam,
    /// In a team, and its private keys are gone. It can neither send nor open anything.
    KeysMissing,
    /// A current member.
    Member,
    /// Its verified roster shows its removal.
    Removed,
}

/// This machine as a current member, with its keys.
#[derive(Clone, Copy)]
pub(crate) struct Ready<'e> {
    pub(crate) keys: &'e IdentityFile,
    pub(crate) me: &'e Member,
    pub(crate) roster: &'e Roster,
}

impl Home {
    /// What this home is, by `roster`.
    pub(crate) fn standing(&self, roster: &Roster) -> Standing {
        let Some(machine) = &self.machine else { return Standing::NoTeam };
        if roster.head().is_none() {
            Standing::NoTeam
        } else if roster.was_removed(machine) {
            Standing::Removed
        } else if self.keys.is_none() {
            Standing::KeysMissing
        } else {
            Standing::Member
        }
    }

    /// This machine as a member that can act.
    ///
    /// Errors: `no_identity` before a team and without keys, `not_member` after a removal.
    pub(crate) fn ready<'e>(&'e self, roster: &'e Roster) -> Result<Ready<'e>, Failure> {
        let missing = Failure::new(Code::NoIdentity, "this machine is in no team");
        match self.standing(roster) {
            Standing::NoTeam => Err(missing),
            Standing::KeysMissing => {
                Err(Failure::new(Code::NoIdentity, "this machine's keys are missing"))
            }
            Standing::Removed => {
                Err(Failure::new(Code::NotMember, "this machine was removed from its team"))
            }
            Standing::Member => {
                let keys = self.keys.as_ref().ok_or(missing)?;
                let me = roster.member(keys.machine()).ok_or(missing)?;
                Ok(Ready { keys, me, roster })
            }
        }
    }

    /// Whether this home runs from an older copy: its own rekey published a key that it does not hold.
    ///
    /// A rekey by an admin is no such sign. Spec: §8.9 `restored`
    pub(crate) fn is_restored(&self, roster: &Roster) -> bool {
        let (Some(machine), Some(keys)) = (&self.machine, &self.keys) else { return false };
        match (roster.latest_rekey(machine), roster.member(machine)) {
            (Some(rekey), Some(me)) => rekey.by == *machine && !keys.holds(&me.enc),
            _ => false,
        }
    }

    /// Whether an admin replaced this machine's key, so that nothing new can be opened here.
    pub(crate) fn is_rekeyed_by_admin(&self, roster: &Roster) -> bool {
        let (Some(machine), Some(keys)) = (&self.machine, &self.keys) else { return false };
        match (roster.latest_rekey(machine), roster.member(machine)) {
            (Some(rekey), Some(me)) => rekey.by != *machine && !keys.holds(&me.enc),
            _ => false,
        }
    }
}
