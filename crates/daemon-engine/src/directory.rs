//! Every agent session this machine knows, which one an address names, and when it will see a message.
//! Spec: §3 "Resolution", §8.2 "expect", D3.4, D3.18
//!
//! Own sessions come from the store, those of other machines from their latest presence, whether they are connected or
//! not. Both are seen through what presence would tell.

use messaging_core::code::Code;
use messaging_core::ids::{Address, MachineId, PersonId, SessionAddress};
use messaging_core::presence::{Activity, PresenceSession, Tier};
use messaging_core::roster::Member;
use messaging_ipc::shapes::Expect;
use messaging_store::{StoreError, View};

use crate::engine::DaemonEngine;
use crate::outbound::Target;
use crate::presence;
use crate::realm::is_person;
use crate::store::presence::{self as rows, PresenceRow};
use crate::store::sessions;
use crate::work::{Halt, Step};

/// A session of a current member, as its machine tells it.
#[derive(Clone, Debug)]
pub(crate) struct Known<'e> {
    pub(crate) member: &'e Member,
    pub(crate) session: PresenceSession,
    pub(crate) features: Vec<String>,
    /// Whether it is a session of this machine.
    pub(crate) own: bool,
    /// Whether its machine is connected; this machine always is.
    pub(crate) online: bool,
}

/// Where an address leads.
#[derive(Clone, Debug)]
pub(crate) struct Found<'e> {
    pub(crate) target: Target,
    /// The session, when a presence lists it. A machine answers for the others itself.
    pub(crate) known: Option<Known<'e>>,
}

impl Known<'_> {
    /// Its full address.
    pub(crate) fn address(&self) -> SessionAddress {
        let person = PersonId::from(&self.member.person);
        SessionAddress::new(&person, &self.session.agent, &self.member.label)
    }

    /// When it will likely see a message that asks for a wake (`hint`) or not: the first rule that fits.
    pub(crate) fn expect(&self, hint: bool) -> Expect {
        let wakes = self.session.wake && hint;
        if !self.online {
            Expect::Offline
        } else if self.session.kept {
            if wakes { Expect::Wake } else { Expect::Kept }
        } else if self.session.tier == Tier::Pull {
            Expect::OnRead
        } else if self.session.state == Activity::Busy {
            Expect::NextTurn
        } else if wakes {
            Expect::Wake
        } else {
            Expect::NextPrompt
        }
    }
}

impl DaemonEngine {
    /// Whether `machine` is this one.
    pub(crate) fn is_me(&self, machine: &MachineId) -> bool {
        self.home.machine.as_ref() == Some(machine)
    }

    /// Whether a machine is connected, as far as is known here.
    pub(crate) fn is_online(&self, machine: &MachineId) -> bool {
        if self.is_me(machine) { self.link.is_ready() } else { self.realm.is_online(machine) }
    }

    /// Whether this home runs from an older copy.
    pub(crate) fn is_restored(&self) -> bool {
        self.home.is_restored(self.realm.roster())
    }
}

/// Every session known here: own ones first, in presence order, then the others by machine.
pub(crate) fn all<'e>(
    engine: &'e DaemonEngine,
    view: &View<'_>,
) -> Result<Vec<Known<'e>>, StoreError> {
    let mut known = own(engine, view)?;
    for row in rows::all(view)? {
        known.extend(listed(engine, row));
    }
    Ok(known)
}

fn of_person<'e>(
    engine: &'e DaemonEngine,
    view: &View<'_>,
    person: &PersonId,
) -> Result<Vec<Known<'e>>, StoreError> {
    let mut known = own(engine, view)?;
    known.retain(|session| is_person(&session.member.person, person));
    for row in rows::of_person(view, person)? {
        known.extend(listed(engine, row));
    }
    Ok(known)
}

fn own<'e>(engine: &'e DaemonEngine, view: &View<'_>) -> Result<Vec<Known<'e>>, StoreError> {
    let Ok(ready) = engine.ready() else { return Ok(Vec::new()) };
    let seen = |row: sessions::SessionRow| Known {
        member: ready.me,
        features: row.features.clone(),
        session: presence::published(&engine.config, row),
        own: true,
        online: true,
    };
    Ok(sessions::open(view)?.into_iter().map(seen).collect())
}

/// The sessions of a stored presence, while its machine is a member of that person.
fn listed(engine: &DaemonEngine, row: PresenceRow) -> Vec<Known<'_>> {
    let Some(member) = engine.realm.member(&row.device) else { return Vec::new() };
    if !is_person(&member.person, &row.person) || engine.is_me(&row.device) {
        return Vec::new();
    }
    let online = engine.realm.is_online(&row.device);
    let features: Vec<String> =
        row.body.features.iter().map(|feature| feature.as_str().to_owned()).collect();
    let seen = |session: PresenceSession| Known {
        member,
        session,
        features: features.clone(),
        own: false,
        online,
    };
    row.body.sessions.into_vec().into_iter().map(seen).collect()
}

/// The one session that an address names.
///
/// Errors: `ambiguous_address`, `unknown_session`, `no_recipients`.
pub(crate) fn resolve<'e>(
    engine: &'e DaemonEngine,
    view: &View<'_>,
    address: &Address,
) -> Step<Found<'e>> {
    let mut matches = of_person(engine, view, &address.person)?;
    matches.retain(|known| {
        known.session.agent == address.session
            && address.label.as_ref().is_none_or(|label| known.member.label == *label)
    });
    // A machine that lists a name twice has one such session all the same.
    matches.dedup_by_key(|known| known.member.machine);
    if matches.len() > 1 {
        let words = "the address fits sessions on several machines; add @label";
        return Err(Halt::refused(Code::AmbiguousAddress, words));
    }
    if let Some(known) = matches.pop() {
        let target = Target::of(known.member, Some(known.session.agent.clone()));
        return Ok(Found { target, known: Some(known) });
    }
    let unknown =
        Halt::refused(Code::UnknownSession, "no machine of that person has such an agent");
    match &address.label {
        Some(label) => match engine.realm.machine_of(&address.person, label) {
            // This machine knows its own sessions: it need not ask itself.
            Some(member) if engine.is_me(&member.machine) => Err(unknown),
            Some(member) => {
                let target = Target::of(member, Some(address.session.clone()));
                Ok(Found { target, known: None })
            }
            None => Err(nobody()),
        },
        None if engine.realm.machines_of(&address.person).next().is_some() => Err(unknown),
        None => Err(nobody()),
    }
}

/// The session at a known place, when a presence lists it.
pub(crate) fn listed_at<'e>(
    engine: &'e DaemonEngine,
    view: &View<'_>,
    to: &Target,
) -> Result<Option<Known<'e>>, StoreError> {
    let mut known = of_person(engine, view, &to.person)?;
    known.retain(|known| {
        known.member.machine == to.device && Some(&known.session.agent) == to.agent.as_ref()
    });
    Ok(known.pop())
}

fn nobody() -> Halt {
    Halt::refused(Code::NoRecipients, "the address names no current machine of the team")
}
