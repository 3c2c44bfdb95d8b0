//! What must hold, after every turn, of what a person says about others and of the transcript: a restriction goes only when
//! something later is said, what a removed machine let in ends, numbers are used once, and cursors go forward.
//! Spec: §6.8 "Order and read state", §6.9 "Merging", "Signers", D3.13, D3.20

use messaging_store::{View, params};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

use super::removals::Removals;

/// What each machine had kept at the end of its last turn, and everything that was ever said.
#[derive(Debug, Default)]
pub(crate) struct Persons {
    machines: BTreeMap<usize, Kept>,
    said: BTreeMap<(String, String), BTreeMap<Place, Said>>,
    /// Persons say and write something in this run.
    pub(crate) are_there: bool,
}

/// A grant's place in the order of merging: its time and its id.
pub(crate) type Place = (u64, String);

/// One thing that a person said about a subject.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    /// The machine that signed it first.
    pub(crate) origin: Option<String>,
    /// Its levels, as that machine signed them.
    pub(crate) levels: Map<String, Value>,
    /// The machines that ever held it, by number.
    pub(crate) holders: BTreeSet<usize>,
}

/// A grant, as a machine keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    raw: String,
    person: String,
    pub(crate) place: Place,
    pub(crate) by: String,
    resigned: bool,
    pub(crate) levels: Map<String, Value>,
}

#[derive(Debug, Default)]
struct Kept {
    own: Option<String>,
    grants: BTreeMap<String, Grant>,
    cursors: BTreeMap<String, i64>,
    seq: i64,
    changes: BTreeMap<String, i64>,
    /// Which line a number of a change was told about; nothing for a channel that went.
    told: BTreeMap<u64, String>,
    removed: Removals,
}

impl Persons {
    /// Nothing is known of a machine any more.
    pub(super) fn forget(&mut self, machine: usize) {
        self.machines.remove(&machine);
    }

    /// Looks at what a machine has committed, and says what does not hold.
    pub(super) fn look(&mut self, machine: usize, rows: &View<'_>) -> Vec<String> {
        if !self.are_there {
            return Vec::new();
        }
        let kept = self.machines.entry(machine).or_default();
        let mut found = Vec::new();
        kept.look_at_roster(rows);
        let grants = Grant::all(rows);
        kept.look_at_lines(rows, &grants, &mut found);
        kept.look_at_cursors(rows, &mut found);
        if kept.grants != grants {
            kept.look_at_grants(rows, &grants, &mut found);
            for (subject, grant) in &grants {
                let about = (grant.person.clone(), subject.clone());
                let said = self.said.entry(about).or_default().entry(grant.place.clone());
                let said = said.or_default();
                said.holders.insert(machine);
                if !grant.resigned && said.origin.is_none() {
                    said.origin = Some(grant.by.clone());
                    said.levels = grant.levels.clone();
                }
            }
            kept.grants = grants;
        }
        // What came and lapsed in one turn was held all the same.
        for (subject, place) in lapsed(rows) {
            for ((_, about), said) in &mut self.said {
                if let Some(said) = said.get_mut(&place).filter(|_| *about == subject) {
                    said.holders.insert(machine);
                }
            }
        }
        found.into_iter().map(|what| format!("machine {machine}: {what}")).collect()
    }

    /// A client is told of a change: its number is of this change alone.
    pub(super) fn told(&mut self, machine: usize, event: &Value) -> Option<String> {
        let kept = self.machines.entry(machine).or_default();
        let seq = event["seq"].as_u64()?;
        let line = event["id"].as_str().unwrap_or_default().to_owned();
        let before = kept.told.entry(seq).or_insert_with(|| line.clone());
        (*before != line).then(|| format!("machine {machine} told number {seq} of two changes"))
    }

    /// Everything that was ever said, by person and subject.
    pub(crate) fn said(&self) -> impl Iterator<Item = (&(String, String), &BTreeMap<Place, Said>)> {
        self.said.iter()
    }
}

impl Kept {
    /// Every line and every change takes the next number, and whoever is blocked has no line filed.
    fn look_at_lines(
        &mut self,
        rows: &View<'_>,
        grants: &BTreeMap<String, Grant>,
        found: &mut Vec<String>,
    ) {
        let seq = number(rows, "SELECT CAST(value AS INTEGER) FROM kv WHERE key = 'chat.seq'");
        if seq < self.seq {
            found.push(format!("the chat's number went back from {} to {seq}", self.seq));
        }
        if seq == self.seq {
            return;
        }
        let changed = rows.rows(
            "SELECT id, seq, change_seq, direction, person, notice FROM lines WHERE change_seq > ?1",
            params![self.seq],
            |row| {
                let line = (row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?);
                let is_in = row.get::<_, String>(3)? == "in" && !row.get::<_, bool>(5)?;
                Ok((line, is_in.then_some(row.get::<_, String>(4)?)))
            },
        );
        let mut used = BTreeSet::new();
        for ((id, place, change), from) in changed.unwrap_or_default() {
            if change > seq
                || !used.insert(change)
                || (place != change && place > self.seq && !used.insert(place))
            {
                found.push(format!("line {id} has number {place} and {change} of {seq}"));
            }
            let is_new = match self.changes.insert(id.clone(), place) {
                Some(before) if before != place => {
                    found.push(format!("line {id} moved from {before} to {place}"));
                    false
                }
                Some(_) => false,
                None => true,
            };
            if is_new && place <= self.seq {
                found.push(format!("line {id} was filed under {place}, which was used"));
            }
            let Some(from) = from.filter(|_| is_new) else { continue };
            let subject = format!("person:{from}");
            let blocks = |grants: &BTreeMap<String, Grant>| {
                grants
                    .get(&subject)
                    .is_some_and(|grant| grant.levels.get("chat") == Some(&"blocked".into()))
            };
            if blocks(&self.grants) && blocks(grants) {
                found.push(format!("line {id} of {from}, who is blocked, was filed"));
            }
        }
        self.seq = seq;
    }

    fn look_at_cursors(&mut self, rows: &View<'_>, found: &mut Vec<String>) {
        let cursors: BTreeMap<String, i64> = rows
            .rows("SELECT room, up_to FROM read_cursors", (), |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
            })
            .unwrap_or_default()
            .into_iter()
            .collect();
        for (room, up_to) in &cursors {
            if self.cursors.get(room).is_some_and(|before| before > up_to) || *up_to > self.seq {
                found.push(format!("the cursor of {room} is {up_to} of {}", self.seq));
            }
        }
        for room in self.cursors.keys().filter(|room| !cursors.contains_key(*room)) {
            let id = room.strip_prefix("channel:").unwrap_or_default();
            let held = rows.row("SELECT 1 FROM channels WHERE id = ?1", params![id], |_| Ok(()));
            if id.is_empty() || !held.is_ok_and(|held| held.is_none()) {
                found.push(format!("the cursor of {room} is gone, and the room is not"));
            }
        }
        self.cursors = cursors;
    }

    fn look_at_grants(
        &self,
        rows: &View<'_>,
        grants: &BTreeMap<String, Grant>,
        found: &mut Vec<String>,
    ) {
        for (subject, before) in &self.grants {
            let Some(after) = grants.get(subject) else {
                if !restricting(&before.levels).is_empty() {
                    found.push(format!("what was kept out of {subject} lapsed"));
                }
                self.look_at_review(rows, subject, before, found);
                continue;
            };
            if after.place < before.place {
                found.push(format!("what is said of {subject} went back"));
            }
            if after.place == before.place && after.levels != before.levels {
                if after.levels != restricting(&before.levels) {
                    found.push(format!("{subject}: {:?} became {:?}", before.levels, after.levels));
                }
                self.look_at_review(rows, subject, before, found);
            }
        }
        let is_in = self.own.as_ref().is_some_and(|own| !self.removed.hold(own));
        for (subject, grant) in grants.iter().filter(|_| is_in) {
            if self.removed.hold(&grant.by) {
                found.push(format!("{subject} is said by a machine that was removed"));
            }
        }
    }

    /// What a removed machine let in waits for the person.
    fn look_at_review(
        &self,
        rows: &View<'_>,
        subject: &str,
        before: &Grant,
        found: &mut Vec<String>,
    ) {
        let sql = "SELECT levels FROM grant_review WHERE subject = ?1";
        let waits = rows.row(sql, params![subject], |row| row.get::<_, String>(0)).ok().flatten();
        let waits: Value =
            waits.and_then(|waits| serde_json::from_str(&waits).ok()).unwrap_or_default();
        let place = place(&waits);
        let was_removed = self.removed.hold(&before.by);
        // What was replaced before it lapsed is not what waits.
        if place < before.place {
            found.push(format!("{subject}: {:?} lapsed and does not wait", before.levels));
        }
        if was_removed && place == before.place {
            let missing = before
                .levels
                .iter()
                .filter(|(name, _)| !restricting(&before.levels).contains_key(*name))
                .any(|(name, level)| waits.get(name) != Some(level));
            if missing {
                found.push(format!("{subject}: of {:?} only {waits} waits", before.levels));
            }
        }
    }

    fn look_at_roster(&mut self, rows: &View<'_>) {
        if self.own.is_none() {
            let sql = "SELECT value FROM kv WHERE key = 'identity.machine'";
            self.own = rows.row(sql, (), |row| row.get(0)).ok().flatten();
        }
        self.removed.look(rows);
    }
}

impl Grant {
    /// The grants that a machine keeps, by subject.
    pub(crate) fn all(rows: &View<'_>) -> BTreeMap<String, Self> {
        let grants = rows.rows("SELECT subject, grant FROM grants", (), |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        });
        let grants = grants.unwrap_or_default().into_iter();
        grants.filter_map(|(subject, raw)| Some((subject, Self::read(raw)?))).collect()
    }

    fn read(raw: String) -> Option<Self> {
        let value: Value = serde_json::from_str(&raw).ok()?;
        let grant = value.as_object()?;
        let levels = grant.iter().filter(|(name, _)| LEVELS.contains(&name.as_str()));
        Some(Self {
            person: grant.get("person")?.as_str()?.to_owned(),
            place: (grant.get("ts")?.as_u64()?, grant.get("id")?.as_str()?.to_owned()),
            by: grant.get("by")?.as_str()?.to_owned(),
            resigned: grant.contains_key("resignedAt"),
            levels: levels.map(|(name, level)| (name.clone(), level.clone())).collect(),
            raw,
        })
    }
}

/// The levels that outlive the machine that set them.
pub(crate) fn restricting(levels: &Map<String, Value>) -> Map<String, Value> {
    let keeps = |name: &str, level: &Value| match name {
        "chat" => matches!(level.as_str(), Some("blocked" | "muted")),
        "agentMail" => level == "blocked",
        "ask" => level == "no",
        "discoverable" => *level == Value::Bool(false),
        _ => false,
    };
    let kept = levels.iter().filter(|(name, level)| keeps(name, level));
    kept.map(|(name, level)| (name.clone(), level.clone())).collect()
}

/// The last grant about each subject that lapsed here.
fn lapsed(rows: &View<'_>) -> Vec<(String, Place)> {
    rows.rows("SELECT subject, levels FROM grant_review", (), |row| {
        let said: Value = serde_json::from_str(&row.get::<_, String>(1)?).unwrap_or_default();
        Ok((row.get::<_, String>(0)?, place(&said)))
    })
    .unwrap_or_default()
}

fn place(said: &Value) -> Place {
    let id = said["id"].as_str().unwrap_or_default();
    (said["ts"].as_u64().unwrap_or_default(), id.to_owned())
}

fn number(rows: &View<'_>, sql: &str) -> i64 {
    rows.row(sql, (), |row| row.get(0)).ok().flatten().unwrap_or(0)
}

const LEVELS: [&str; 5] = ["chat", "agentMail", "ask", "trustedUntil", "discoverable"];

#[cfg(test)]
mod tests {
    use super::*;
    use messaging_daemon_engine::LAYOUT;
    use messaging_store::Store;
    use serde_json::json;

    fn said(ts: u64, levels: Value) -> BTreeMap<String, Grant> {
        let mut grant = json!({ "person": "alice", "ts": ts, "id": "g", "by": "m" });
        for (name, level) in levels.as_object().unwrap() {
            grant[name] = level.clone();
        }
        [("person:bob".to_owned(), Grant::read(grant.to_string()).unwrap())].into()
    }

    fn faults(before: BTreeMap<String, Grant>, after: &BTreeMap<String, Grant>) -> usize {
        let store = Store::memory(&LAYOUT, &[]).unwrap();
        let kept = Kept { grants: before, ..Kept::default() };
        let mut found = Vec::new();
        kept.look_at_grants(&store.view(), after, &mut found);
        found.len()
    }

    #[test]
    fn a_block_ends_only_when_something_later_is_said() {
        let blocks = || said(5, json!({ "chat": "blocked" }));
        assert_eq!(faults(blocks(), &blocks()), 0);
        assert_eq!(faults(blocks(), &said(6, json!({ "chat": "open" }))), 0);
        assert!(faults(blocks(), &BTreeMap::new()) > 0);
        assert!(faults(blocks(), &said(5, json!({ "chat": "open" }))) > 0);
        assert!(faults(blocks(), &said(4, json!({ "chat": "blocked" }))) > 0);
    }

    #[test]
    fn what_lapses_without_waiting_for_the_person_is_found() {
        let both = || said(5, json!({ "chat": "blocked", "ask": "open" }));
        assert!(faults(both(), &said(5, json!({ "chat": "blocked" }))) > 0);
        assert!(faults(said(5, json!({ "ask": "open" })), &BTreeMap::new()) > 0);
    }

    #[test]
    fn a_number_is_told_of_one_change() {
        let mut persons = Persons::default();
        let event = |seq: u64, id: &str| json!({ "seq": seq, "id": id });
        assert_eq!(persons.told(0, &event(1, "a")), None);
        assert_eq!(persons.told(0, &event(1, "a")), None);
        assert_eq!(persons.told(1, &event(1, "b")), None);
        assert!(persons.told(0, &event(1, "b")).is_some());
    }
}
