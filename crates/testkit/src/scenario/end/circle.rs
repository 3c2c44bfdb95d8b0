//! What must hold of persons in the end: their machines agree, nothing that was refused is anywhere, and a channel that is
//! changed step by step is the same for everybody.
//! Spec: §6.8 "Receiver rules", "Delivery", §6.9 "Merging", "Signers", W4.14, D3.19

use super::super::circle::Fate;
use super::super::{PERSONS, Scenario};
use super::{Asked, Chain, texts};
use crate::world::{Grant, restricting};
use messaging_store::params;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The channel that nobody changes but one after the other.
const CALM: &str = "calm";

/// Who each person takes for a member of the calm channel; nobody while they are not in it.
type Views = BTreeMap<String, BTreeSet<String>>;

impl Scenario {
    /// What must hold of grants, lines and channels.
    pub(super) fn verify_persons(&self, chain: &Chain, found: &mut Vec<String>) {
        if self.profile.circle {
            self.verify_grants(chain, found);
            self.verify_lines(found);
            self.verify_channels(chain, found);
        }
    }

    /// The machines of each person that are in the team.
    fn machines(&self, chain: &Chain) -> BTreeMap<String, Vec<usize>> {
        let mut machines: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (number, seat) in self.seats.iter().enumerate() {
            if chain.is_member(seat.machine.as_deref()) {
                machines.entry(seat.person.clone()).or_default().push(number);
            }
        }
        machines
    }

    fn grants(&self, seat: usize) -> BTreeMap<String, Grant> {
        self.rows(seat).map(|rows| Grant::all(&rows)).unwrap_or_default()
    }

    /// A person's machines hold the same grants: the last that was said, and of what a removed machine said what restricts.
    fn verify_grants(&self, chain: &Chain, found: &mut Vec<String>) {
        let machines = self.machines(chain);
        for (person, seats) in &machines {
            let Some(first) = seats.first().copied() else { continue };
            let grants = self.grants(first);
            for other in seats.iter().skip(1) {
                let others = self.grants(*other);
                if grants != others {
                    found.push(format!(
                        "{person}'s machines {first} and {other} differ: {grants:?} and {others:?}"
                    ));
                }
            }
            for (subject, grant) in &grants {
                if !chain.is_member(Some(&grant.by)) {
                    found.push(format!("{person}: {subject} is said by nobody of theirs"));
                }
            }
        }
        for ((person, subject), said) in self.world.watch.persons.said() {
            let Some(seats) = machines.get(person) else { continue };
            let Some(first) = seats.first().copied() else { continue };
            let held = self.grants(first).remove(subject);
            for (place, said) in said {
                let is_lost = said.origin.as_ref().is_some_and(|by| !chain.is_member(Some(by)));
                let survives = held.as_ref().filter(|held| held.place == *place);
                if is_lost && survives.is_some_and(|held| held.levels != restricting(&held.levels))
                {
                    found.push(format!("{person}: {subject} is let in by a removed machine"));
                }
            }
            let known = |said: &&crate::world::Said| {
                said.holders.iter().any(|seat| seats.contains(seat)) && said.origin.is_some()
            };
            let Some((place, last)) = said.iter().rev().find(|(_, said)| known(said)) else {
                continue;
            };
            let is_lost = !chain.is_member(last.origin.as_deref());
            let stays = if is_lost { restricting(&last.levels) } else { last.levels.clone() };
            let holds = held.as_ref().filter(|held| held.place == *place);
            let is_fair = match holds {
                Some(held) => held.levels == stays,
                // Nothing is left of it; what it replaced may keep out again, and lets in nothing.
                None => {
                    let older = held.as_ref();
                    is_lost
                        && stays.is_empty()
                        && older.is_none_or(|held| held.levels == restricting(&held.levels))
                }
            };
            if !is_fair {
                found.push(format!(
                    "{person}: {subject} should be {stays:?} of {place:?}, and is {held:?}"
                ));
            }
        }
    }

    /// What was refused is filed nowhere, and what was confirmed is filed.
    fn verify_lines(&self, found: &mut Vec<String>) {
        for line in self.circle.lines().iter().filter(|line| line.fate == Fate::Refused) {
            for seat in 0..self.seats.len() {
                if self.line_at(seat, &line.token).is_some() {
                    found.push(format!("machine {seat} shows {}, which was refused", line.token));
                }
            }
        }
        for line in self.circle.lines() {
            let Fate::Promised(id) = &line.fate else { continue };
            let Some(rows) = self.rows(line.by) else { continue };
            let sql =
                "SELECT c.device, c.state, coalesce(c.code, ''), l.room_kind FROM line_copies AS c
                       JOIN lines AS l ON l.id = c.line_id WHERE c.line_id = ?1";
            let copies = rows.rows(sql, params![id], |row| {
                Ok((
                    row.get::<_, String>(0)?,
                    row.get::<_, String>(1)?,
                    row.get::<_, String>(2)?,
                    row.get::<_, String>(3)?,
                ))
            });
            for (device, state, code, kind) in copies.unwrap_or_default() {
                let Some(to) = self.seats.iter().position(|s| s.machine.as_ref() == Some(&device))
                else {
                    continue;
                };
                let is_there = self.line_at(to, &line.token).is_some();
                // Who left may have filed it before; who is out of a channel has nothing of it.
                if state == "rejected" && code != "not_member" && is_there {
                    found
                        .push(format!("machine {to} filed {}, and refused it: {code}", line.token));
                }
                if state == "delivered" && !is_there && kind == "dm" {
                    found.push(format!("machine {to} lost {}", line.token));
                }
            }
        }
    }

    /// Wherever a channel is held, it is the same channel, of persons who can be in one, this machine's among them.
    fn verify_channels(&self, chain: &Chain, found: &mut Vec<String>) {
        let machines = self.machines(chain);
        let mut known: BTreeMap<String, (String, String)> = BTreeMap::new();
        for seat in machines.values().flatten().copied() {
            let Some(rows) = self.rows(seat) else { continue };
            let channels =
                rows.rows("SELECT id, name, creator, persons FROM channels", (), |row| {
                    let names = (row.get::<_, String>(1)?, row.get::<_, String>(2)?);
                    Ok((row.get::<_, String>(0)?, names, row.get::<_, String>(3)?))
                });
            let left: BTreeSet<String> =
                texts(&rows, "SELECT id FROM channels_left").into_iter().collect();
            for (id, names, persons) in channels.unwrap_or_default() {
                let persons: Vec<String> = serde_json::from_str(&persons).unwrap_or_default();
                if *known.entry(id.clone()).or_insert_with(|| names.clone()) != names {
                    found.push(format!("machine {seat} holds {id} as another channel"));
                }
                let own = self.seats.get(seat).map(|held| held.person.clone()).unwrap_or_default();
                if !persons.contains(&own) {
                    found.push(format!("machine {seat} holds {id}, and its person is not in it"));
                }
                let distinct: BTreeSet<&String> = persons.iter().collect();
                if distinct.len() != persons.len() {
                    found.push(format!("machine {seat} holds {id} with somebody twice"));
                }
                if let Some(gone) = persons.iter().find(|person| !machines.contains_key(*person)) {
                    found.push(format!("machine {seat} holds {id} with {gone}, who is gone"));
                }
                if left.contains(&id) {
                    found.push(format!("machine {seat} holds {id}, which it left"));
                }
            }
        }
    }

    /// When everything has settled the persons sit together: one channel, one change at a time. Everybody who does not block
    /// who changes it comes to the same, and every line goes where it should.
    pub(in crate::scenario) fn sit_together(&mut self) {
        if !self.profile.circle {
            return;
        }
        let machines = self.machines(&self.chain());
        let present: Vec<String> = PERSONS
            .iter()
            .map(|name| (*name).to_owned())
            .filter(|name| machines.contains_key(name))
            .collect();
        let [founder, second, rest @ ..] = &present[..] else { return };
        let third = rest.first().unwrap_or(second);
        let mut views = Views::new();
        let steps: [(&String, Step<'_>); 9] = [
            (founder, Step::Create(second)),
            (second, Step::Post),
            (founder, Step::Invite(third)),
            (third, Step::Post),
            (founder, Step::Remove(second)),
            (third, Step::Post),
            (founder, Step::Post),
            (third, Step::Leave),
            (founder, Step::Post),
        ];
        for (by, step) in steps {
            let blocks = self.blocked(&machines, by);
            let Some(seat) = self.seat_with_client(&machines, by) else { continue };
            let before = views.clone();
            if !step.apply(by, &mut views, &blocks) {
                continue;
            }
            let token = self.take_step(seat, &step);
            self.rest(10_000);
            self.compare(&machines, &views, &format!("{by} {step:?}"));
            if let Some(token) = token {
                let readers = readers(by, &before, &blocks);
                self.compare_line(&machines, (seat, by), &token, &before, &readers);
            }
        }
    }

    fn seat_with_client(
        &mut self,
        machines: &BTreeMap<String, Vec<usize>>,
        person: &str,
    ) -> Option<usize> {
        let seats: Vec<usize> = machines
            .get(person)?
            .iter()
            .copied()
            .filter(|seat| self.seats.get(*seat).is_some_and(|held| held.client.is_some()))
            .collect();
        self.dice.pick(&seats).copied()
    }

    /// Who blocks this person.
    fn blocked(&self, machines: &BTreeMap<String, Vec<usize>>, by: &str) -> BTreeSet<String> {
        let blocks = |seat: usize| {
            self.grants(seat)
                .get(&format!("person:{by}"))
                .is_some_and(|grant| grant.levels.get("chat") == Some(&json!("blocked")))
        };
        let persons =
            machines.iter().filter(|(_, seats)| seats.first().is_some_and(|seat| blocks(*seat)));
        persons.map(|(person, _)| person.clone()).collect()
    }

    fn take_step(&mut self, seat: usize, step: &Step<'_>) -> Option<String> {
        let (method, params) = match step {
            Step::Create(person) => {
                ("channel.create", json!({ "name": CALM, "persons": [person] }))
            }
            Step::Invite(person) => {
                ("channel.invite", json!({ "name": CALM, "persons": [person] }))
            }
            Step::Remove(person) => {
                ("channel.remove", json!({ "name": CALM, "persons": [person] }))
            }
            Step::Leave => ("channel.leave", json!({ "name": CALM })),
            Step::Post => return Some(self.write(seat, &format!("channel:{CALM}"))),
        };
        self.ask_at(seat, method, params, Asked::Said);
        None
    }

    /// Every machine holds the calm channel as its person should see it.
    fn compare(&mut self, machines: &BTreeMap<String, Vec<usize>>, views: &Views, step: &str) {
        let mut found = Vec::new();
        for (person, seats) in machines {
            for seat in seats {
                let Some(rows) = self.rows(*seat) else { continue };
                let held = texts(&rows, "SELECT persons FROM channels WHERE name = 'calm'");
                let held: Vec<Value> =
                    held.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
                let held: Vec<BTreeSet<String>> = held
                    .iter()
                    .map(|persons| {
                        let names = persons.as_array().into_iter().flatten();
                        names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
                    })
                    .collect();
                let expected: Vec<BTreeSet<String>> =
                    views.get(person).cloned().into_iter().collect();
                if held != expected {
                    found.push(format!(
                        "after {step}, machine {seat} of {person} sees {held:?} and should see {expected:?}"
                    ));
                }
            }
        }
        for what in found {
            self.world.watch.violation(what);
        }
    }

    /// A line is filed by everybody who should read it and by nobody else, and its writer knows.
    fn compare_line(
        &mut self,
        machines: &BTreeMap<String, Vec<usize>>,
        (seat, by): (usize, &str),
        token: &str,
        views: &Views,
        readers: &BTreeSet<String>,
    ) {
        let mut found = Vec::new();
        for (person, seats) in machines {
            for other in seats {
                let is_there = self.line_at(*other, token).is_some();
                if is_there != readers.contains(person) {
                    found.push(format!(
                        "machine {other} of {person}: {token} of {by} is there: {is_there}"
                    ));
                }
            }
        }
        let members = views.get(by).cloned().unwrap_or_default();
        let expected = if members.len() < 2 {
            // Nobody is there to whom it could come.
            None
        } else if members.is_subset(readers) {
            Some("delivered")
        } else {
            Some("refused")
        };
        let state = self.line_at(seat, token).flatten();
        if state.as_deref() != expected {
            found.push(format!("{token} of {by} is {state:?}, and should be {expected:?}"));
        }
        for what in found {
            self.world.watch.violation(what);
        }
    }
}

/// One thing that somebody does with the calm channel.
#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Create(&'a String),
    Invite(&'a String),
    Remove(&'a String),
    Leave,
    Post,
}

impl Step<'_> {
    /// What everybody sees afterwards; `false` when this person cannot do it.
    fn apply(&self, by: &String, views: &mut Views, blocks: &BTreeSet<String>) -> bool {
        if let Step::Create(other) = self {
            let members: BTreeSet<String> = [by.clone(), (*other).clone()].into();
            for person in members.iter().filter(|person| !blocks.contains(*person)) {
                views.insert(person.clone(), members.clone());
            }
            return true;
        }
        let Some(members) = views.get(by).cloned() else { return false };
        // Members who hear of a change: they do not block who makes it, and take them for a member.
        let hears = |person: &&String| {
            *person == by
                || (!blocks.contains(*person)
                    && views.get(*person).is_some_and(|members| members.contains(by)))
        };
        let hear: Vec<&String> = members.iter().filter(hears).collect();
        match self {
            Step::Create(_) | Step::Post => {}
            Step::Invite(other) => {
                if members.contains(*other) {
                    return false;
                }
                let mut whole = members.clone();
                whole.insert((*other).clone());
                for person in hear {
                    views.entry(person.clone()).or_default().insert((*other).clone());
                }
                if !blocks.contains(*other) && !views.contains_key(*other) {
                    views.insert((*other).clone(), whole);
                }
            }
            Step::Remove(other) => {
                if !members.contains(*other) {
                    return false;
                }
                for person in hear {
                    let view = views.entry(person.clone()).or_default();
                    if person == *other {
                        views.remove(person);
                    } else {
                        view.remove(*other);
                    }
                }
            }
            Step::Leave => {
                for person in hear {
                    if person == by {
                        views.remove(person);
                    } else {
                        views.entry(person.clone()).or_default().remove(by);
                    }
                }
            }
        }
        true
    }
}

/// Who files a line of this person.
fn readers(by: &str, views: &Views, blocks: &BTreeSet<String>) -> BTreeSet<String> {
    let Some(members) = views.get(by) else { return BTreeSet::new() };
    let reads = |person: &&String| {
        *person == by
            || (!blocks.contains(*person)
                && views.get(*person).is_some_and(|members| members.contains(by)))
    };
    members.iter().filter(reads).cloned().collect()
}
