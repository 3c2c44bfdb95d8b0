//! `people.*`: the persons of the team, their devices, and how those changed lately.
//! Spec: §8.2 "A person's devices changed", D1.7 rows 25 and 26

use std::collections::BTreeSet;

use messaging_core::code::Code;
use messaging_core::consent::Subject;
use messaging_core::ids::{PersonId, RosterPerson};
use messaging_core::time::Ms;
use messaging_ipc::params::people::{OnePerson, PeopleQuery, Search};
use messaging_ipc::results::people::{People, PersonDetail};
use messaging_ipc::scalars::True;
use messaging_ipc::shapes::{ChangeKind, DeviceChangeView, GrantView, Person, Relation, Vouch};
use messaging_store::StoreError;

use super::{Answer, Call, Handled, contacts, device};
use crate::consent::{counts, views};
use crate::engine::DaemonEngine;
use crate::history::{self, Stay};
use crate::realm::is_person;
use crate::store::{grants, presence};
use crate::work::{Halt, Work};

/// Persons of the team whose name begins so. Nobody in a team has an email.
pub(super) fn search(
    engine: &mut DaemonEngine,
    _: &mut Work<'_, '_>,
    _: &Call,
    params: Search,
) -> Handled<People> {
    let ready = engine.ready()?;
    let PeopleQuery::Name(query) = &params.query else {
        return Ok(Answer::Now(People { persons: Vec::new(), more: false }));
    };
    // Names of persons are lower case.
    let start = query.as_str().to_lowercase();
    let persons: BTreeSet<&RosterPerson> = ready
        .roster
        .members()
        .map(|member| &member.person)
        .filter(|person| person.as_str().starts_with(&start))
        .collect();
    let limit = params.limit.as_usize();
    let more = persons.len() > limit;
    let found = persons.into_iter().take(limit).map(|found| person(engine, found)).collect();
    Ok(Answer::Now(People { persons: found, more }))
}

/// One person of the team.
pub(super) fn get(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    _: &Call,
    params: OnePerson,
) -> Handled<PersonDetail> {
    let ready = engine.ready()?;
    let found = ready.roster.members().find(|member| is_person(&member.person, &params.person));
    let unknown = || Halt::refused(Code::NotFound, "the team has no such person");
    let found = found.ok_or_else(unknown)?.person.clone();
    let own = found == ready.me.person;
    let mut stays: Vec<Stay> =
        history::stays(ready.roster).into_values().filter(|stay| stay.person == found).collect();
    stays.sort_by_key(|stay| (stay.since, stay.machine));
    let (now, mut devices) = (work.wall(), Vec::new());
    for stay in stays.iter().filter(|stay| stay.removed.is_none()) {
        let mut view = device::view(engine, stay);
        view.away =
            presence::is_away(work.tx, &stay.machine, now.minus(ONLINE_MS))?.then_some(True);
        devices.push(view);
    }
    let last = history::last_changes(&stays);
    let detail = PersonDetail {
        person: person(engine, &found),
        devices,
        reach: (!own).then(|| contacts::reach(engine, work, &found, &last)).transpose()?,
        grant: granted(engine, work, &PersonId::from(&found))?,
        device_changes: (!own).then(|| changes(&stays, now)),
    };
    Ok(Answer::Now(detail))
}

/// The grant about a person that counts.
fn granted(
    engine: &DaemonEngine,
    work: &Work<'_, '_>,
    person: &PersonId,
) -> Result<Option<GrantView>, StoreError> {
    let Some((_, own)) = engine.own() else { return Ok(None) };
    let held = grants::get(work.tx, &Subject::Person(person.clone()))?;
    let held = held.filter(|grant| counts(engine, &own, grant));
    held.map(|grant| views::grant(work.tx, &grant)).transpose()
}

fn person(engine: &DaemonEngine, found: &RosterPerson) -> Person {
    let id = PersonId::from(found);
    let own = engine.own().is_some_and(|(_, own)| own == id);
    let online = engine.realm.machines_of(&id).any(|member| engine.is_online(&member.machine));
    Person {
        person: id,
        name: None,
        handle: None,
        email: None,
        org: None,
        relation: if own { Relation::Own } else { Relation::Org },
        online: Some(online),
    }
}

/// How a person's devices changed lately, newest first, as the roster tells it.
fn changes(stays: &[Stay], now: Ms) -> Vec<DeviceChangeView> {
    let view = |stay: &Stay, change, at| DeviceChangeView {
        change,
        device: stay.machine,
        label: stay.label.clone(),
        kind: None,
        vouch: Vouch::Roster,
        via: None,
        approver: None,
        at,
    };
    let mut changes: Vec<DeviceChangeView> = Vec::new();
    for stay in stays {
        if !stay.founder {
            changes.push(view(stay, ChangeKind::Added, stay.since));
        }
        if let Some((at, _)) = stay.removed {
            changes.push(view(stay, ChangeKind::Removed, at));
        }
    }
    changes.retain(|change| now.since(change.at) < CHANGES_SHOWN_MS);
    // Of one moment, what was removed is the later.
    changes.sort_by_key(|change| (change.at, change.change == ChangeKind::Removed));
    changes.reverse();
    changes.truncate(MAX_CHANGES);
    changes
}

/// How long a change is shown, ms.
const CHANGES_SHOWN_MS: u64 = 7 * 24 * 60 * 60 * 1000;
/// How long a presence says something about now, ms.
const ONLINE_MS: u64 = 150_000;
/// Most changes of one answer.
const MAX_CHANGES: usize = 10;
