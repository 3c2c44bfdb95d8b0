//! `contacts.list`.
//! Spec: §8.2 "contacts.list", §6.9 "Contact cards", D1.7, D3.12

use std::collections::{BTreeMap, BTreeSet};

use messaging_core::consent::{Relation, card_can};
use messaging_core::ids::{PersonId, RosterPerson};
use messaging_core::peer_text::PeerText;
use messaging_core::presence::{Activity, PresenceText, Tier};
use messaging_core::time::Ms;
use messaging_ipc::line::LINE_BYTES;
use messaging_ipc::params::Nothing;
use messaging_ipc::results::session::Contacts;
use messaging_ipc::scalars::True;
use messaging_ipc::shapes::{DirectoryEntry, Reach, ReachSource, SessionState, SessionTier};
use messaging_store::StoreError;

use super::{Answer, Call, Handled};
use crate::chats;
use crate::consent::cards;
use crate::directory::{self, Known};
use crate::engine::DaemonEngine;
use crate::history;
use crate::work::Work;

/// Everyone this machine knows: agents' sessions, and what the other persons among them accept.
pub(super) fn list(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    _: &Call,
    _: Nothing,
) -> Handled<Contacts> {
    let ready = engine.ready()?;
    let mut known = directory::all(engine, work.tx)?;
    known.sort_by_cached_key(|session| (!session.own, session.address()));
    known.truncate(MAX_ENTRIES);
    let conversations = chats::conversations(work.tx, MAX_CONVERSATIONS)?;
    let written: BTreeSet<&str> = conversations
        .iter()
        .filter_map(|room| room.person.as_ref().map(PersonId::as_str))
        .collect();
    let carded = cards::persons(engine, work.tx)?;
    let carded: BTreeSet<&str> = carded.iter().map(PersonId::as_str).collect();
    let named = |person: &&RosterPerson| {
        written.contains(person.as_str()) || carded.contains(person.as_str())
    };
    let shown = known.iter().map(|session| &session.member.person);
    let with = ready.roster.members().map(|member| &member.person);
    let others: BTreeSet<&RosterPerson> =
        shown.chain(with.filter(named)).filter(|person| **person != ready.me.person).collect();
    let changes = history::last_changes(history::stays(ready.roster).values());
    let reach = others
        .into_iter()
        .map(|person| reach(engine, work, person, &changes))
        .collect::<Result<_, _>>()?;
    let entries = fitting(known.iter().map(entry));
    Ok(Answer::Now(Contacts { entries, conversations, reach }))
}

/// As many entries as one line has room for, from the first on: what others publish must not make the answer too long.
fn fitting(entries: impl Iterator<Item = DirectoryEntry>) -> Vec<DirectoryEntry> {
    let mut room = ENTRY_BYTES;
    entries
        .take_while(|entry| {
            let bytes = messaging_ipc::line::print(entry).len();
            let fits = bytes <= room;
            room = room.saturating_sub(bytes);
            fits
        })
        .collect()
}

fn entry(known: &Known<'_>) -> DirectoryEntry {
    let session = &known.session;
    let shown =
        |text: &Option<PresenceText>| text.as_ref().map(|text| PeerText::new(text.as_str()));
    DirectoryEntry {
        address: known.address(),
        person: (&known.member.person).into(),
        device: known.member.machine,
        label: known.member.label.clone(),
        agent: session.agent.clone(),
        client: session.client.clone(),
        state: match session.state {
            Activity::Idle => SessionState::Idle,
            Activity::Busy => SessionState::Busy,
        },
        tier: match session.tier {
            Tier::Push => SessionTier::Push,
            Tier::Pull => SessionTier::Pull,
        },
        since: session.since,
        online: known.online && !session.kept,
        kept: session.kept.then_some(True),
        wake: session.wake.then_some(True),
        own: known.own.then_some(True),
        repo: shown(&session.repo),
        branch: shown(&session.branch),
        doing: shown(&session.doing),
        features: known.features.iter().map(|feature| PeerText::new(feature.as_str())).collect(),
        name: None,
        handle: None,
        expect: Some(known.expect(true)),
    }
}

/// What a person says this one may send them; without a card, what somebody of the same organisation accepts by default.
pub(super) fn reach(
    engine: &DaemonEngine,
    work: &Work<'_, '_>,
    person: &RosterPerson,
    changes: &BTreeMap<RosterPerson, Ms>,
) -> Result<Reach, StoreError> {
    let now = work.wall();
    let recent = |at: &Ms| now.since(*at) < CHANGE_SHOWN_MS;
    let id = PersonId::from(person);
    let (can, source, at) = match cards::says(engine, work.tx, &id, now)? {
        Some((can, at)) => (can, ReachSource::Card, Some(at)),
        None => (card_can(Relation::Org, None, now), ReachSource::Default, None),
    };
    let devices_changed_at = changes.get(person).copied().filter(recent);
    Ok(Reach { person: id, can, source, at, devices_changed_at })
}

/// Conversations of one answer.
const MAX_CONVERSATIONS: usize = 200;
/// Entries of one answer.
const MAX_ENTRIES: usize = 2_000;
/// Bytes of the entries of one answer: a line less what stands around them.
const ENTRY_BYTES: usize = LINE_BYTES - 1_048_576;
/// How long a change of somebody's devices is shown, ms.
const CHANGE_SHOWN_MS: u64 = 7 * 24 * 60 * 60 * 1000;
