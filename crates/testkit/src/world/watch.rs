//! What must hold at every step: nothing is said that is not on disk, and a refusal changed nothing.

use super::persons::Persons;
use super::records::Records;
use crate::network::LinkId;
use messaging_core::roster::Entry;
use messaging_daemon_engine::events::{Level, LogEvent};
use messaging_relay_engine::Event as RelayEvent;
use messaging_store::{View, params};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Looks at everything that leaves a process, beside the rows that process has committed.
#[derive(Debug, Default)]
pub struct Watch {
    violations: Vec<String>,
    /// Which machine said `hello` on a connection.
    machines: BTreeMap<LinkId, String>,
    /// Entries that were handed in, by connection and request.
    appended: BTreeMap<(LinkId, String), String>,
    /// The last presence number of each machine.
    presence: BTreeMap<String, u64>,
    /// What a daemon took off the relay without keeping: (its number, the sender, the id).
    dropped: BTreeSet<(usize, String, String)>,
    records: Records,
    /// What persons say about each other, and what they write.
    pub(crate) persons: Persons,
    /// Homes are copied in this run: what a machine had kept or used may come again.
    pub copies: bool,
    /// Whether the world is making stores fail.
    pub store_faults: bool,
}

impl Watch {
    /// Notes that something did not hold.
    pub fn violation(&mut self, what: impl Into<String>) {
        let what = what.into();
        if self.violations.len() < 20 && !self.violations.contains(&what) {
            self.violations.push(what);
        }
    }

    /// What did not hold, in the order in which it was noticed.
    #[must_use]
    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    /// Whether a machine took this envelope off the relay without keeping it.
    #[must_use]
    pub fn was_dropped(&self, machine: usize, sender: &str, id: &str) -> bool {
        self.dropped.contains(&(machine, sender.to_owned(), id.to_owned()))
    }

    pub(super) fn relay_hears(&mut self, link: LinkId, text: &str) {
        let Ok(frame) = serde_json::from_str::<Value>(text) else { return };
        match word(&frame, "t") {
            "hello" => {
                self.machines.insert(link, word(&frame, "machine").to_owned());
            }
            "roster.append" => {
                if let Ok(entry) = Entry::read(&frame["entry"]) {
                    let key = (link, word(&frame, "req").to_owned());
                    self.appended.insert(key, entry.hash().as_str().to_owned());
                }
            }
            _ => {}
        }
    }

    pub(super) fn relay_says(&mut self, link: LinkId, text: &str, rows: &View<'_>) {
        let Ok(frame) = serde_json::from_str::<Value>(text) else {
            return self.violation("the relay said something that is no JSON");
        };
        match word(&frame, "t") {
            "ack" => {
                let sender = self.machines.get(&link).cloned().unwrap_or_default();
                let id = word(&frame, "id");
                if !has(rows, "SELECT 1 FROM seen WHERE sender = ?1 AND id = ?2", &[&sender, id]) {
                    self.violation(format!("the relay acked {id} before it was on disk"));
                }
            }
            "roster.ok" => {
                let req = (link, word(&frame, "req").to_owned());
                if let Some(hash) = self.appended.remove(&req)
                    && !has(rows, "SELECT 1 FROM roster WHERE hash = ?1", &[&hash])
                {
                    self.violation("the relay took an entry before it was on disk");
                }
            }
            "nack" => {
                let req = (link, word(&frame, "id").to_owned());
                if let Some(hash) = self.appended.remove(&req)
                    // A write that was reported lost may have been applied: then the answer is `internal`, not a refusal.
                    && word(&frame, "code") != "internal"
                    && word(&frame, "code") != "roster_conflict"
                    && has(rows, "SELECT 1 FROM roster WHERE hash = ?1", &[&hash])
                {
                    self.violation("the relay refused an entry and keeps it");
                }
            }
            "roster" => {
                for entry in frame["entries"].as_array().into_iter().flatten() {
                    let hash = Entry::read(entry).map(|entry| entry.hash().as_str().to_owned());
                    let kept = hash.is_ok_and(|hash| {
                        has(rows, "SELECT 1 FROM roster WHERE hash = ?1", &[&hash])
                    });
                    if !kept {
                        self.violation("the relay showed an entry that is not on disk");
                    }
                }
            }
            _ => {}
        }
    }

    pub(super) fn daemon_says(
        &mut self,
        machine: usize,
        link: LinkId,
        text: &str,
        rows: &View<'_>,
    ) {
        let Ok(frame) = serde_json::from_str::<Value>(text) else {
            return self.violation("a daemon said something that is no JSON");
        };
        match word(&frame, "t") {
            "send" => {
                let id = word(&frame["env"], "id");
                let device = word(&frame["env"]["from"], "device");
                // A removal in the same turn empties the outbox.
                let removal = format!("%\"machine\":\"{device}\",\"op\":\"member.remove\"%");
                if !has(rows, "SELECT 1 FROM outbox WHERE id = ?1", &[id])
                    && !has(rows, "SELECT 1 FROM roster WHERE entry LIKE ?1", &[&removal])
                {
                    self.violation(format!("machine {machine} sent {id} before it was on disk"));
                }
            }
            "recv.ack" => {
                let (from, id) = (word(&frame, "from"), word(&frame, "id"));
                if !has(rows, "SELECT 1 FROM seen WHERE device = ?1 AND id = ?2", &[from, id]) {
                    self.dropped.insert((machine, from.to_owned(), id.to_owned()));
                }
            }
            "presence" => {
                let env = &frame["env"];
                let device = word(&env["from"], "device").to_owned();
                let seq = env["body"]["seq"].as_u64().unwrap_or_default();
                let last = self.presence.insert(device, seq);
                if last.is_some_and(|last| last >= seq) && !self.copies {
                    self.violation(format!("machine {machine} used presence {seq} twice"));
                }
            }
            "hello" => {
                self.machines.insert(link, word(&frame, "machine").to_owned());
            }
            _ => {}
        }
    }

    pub(super) fn daemon_answers(&mut self, machine: usize, line: &str, rows: &View<'_>) {
        let Ok(answer) = serde_json::from_str::<Value>(line) else {
            return self.violation("a daemon answered with something that is no JSON");
        };
        for result in answer["result"]["results"].as_array().into_iter().flatten() {
            let id = word(result, "envelopeId");
            if !has(rows, "SELECT 1 FROM sent WHERE id = ?1", &[id])
                && !has(rows, "SELECT 1 FROM lines WHERE id = ?1", &[id])
            {
                self.violation(format!("machine {machine} promised {id} before it was on disk"));
            }
        }
        let event = &answer["params"];
        if word(event, "type") == "conv"
            && let Some(what) = self.persons.told(machine, event)
        {
            self.violation(what);
        }
        if word(event, "type") == "inbox" {
            let id = word(&event["item"], "id");
            if !has(rows, "SELECT 1 FROM inbox WHERE id = ?1", &[id]) {
                self.violation(format!("machine {machine} showed {id} before it was on disk"));
            }
        }
    }

    /// A machine runs from another home from now on: nothing is known of it.
    pub(super) fn forget(&mut self, machine: usize) {
        self.records.forget(machine);
        self.persons.forget(machine);
    }

    /// A daemon's turn has ended.
    pub(super) fn daemon_turned(&mut self, machine: usize, rows: &View<'_>) {
        for what in self.records.look(machine, rows) {
            self.violation(what);
        }
        for what in self.persons.look(machine, rows) {
            self.violation(what);
        }
    }

    pub(super) fn daemon_logs(&mut self, machine: usize, event: &LogEvent) {
        if event.level() == Level::Error && !self.store_faults && !self.copies {
            self.violation(format!("machine {machine} logs an error: {}", event.name()));
        }
    }

    pub(super) fn relay_logs(&mut self, event: &RelayEvent) {
        if event.level() == messaging_relay_engine::Level::Error && !self.store_faults {
            self.violation(format!("the relay logs an error: {}", event.name()));
        }
    }
}

fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn has(rows: &View<'_>, sql: &str, texts: &[&str]) -> bool {
    let found = match *texts {
        [one] => rows.row(sql, params![one], |_| Ok(())),
        [one, two] => rows.row(sql, params![one, two], |_| Ok(())),
        _ => Ok(None),
    };
    found.is_ok_and(|found| found.is_some())
}
