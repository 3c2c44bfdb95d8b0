//! The end of a run: everything settles, and then everything adds up.

mod circle;
mod tasks;

use super::ledger::{About, Fate, Message, rank};
use super::teams::Standing;
use super::{Asked, Reminder, Scenario};
use crate::world::World;
use messaging_core::roster::Roster;
use messaging_store::{View, params};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// How long a healed world may take until nothing is under way any more, ms.
const LONGEST_SETTLING: u64 = 60 * 60_000;
/// How often it is looked at, ms.
const LOOK: u64 = 5_000;

/// What a sender's record says of an envelope.
struct SentRow {
    to_device: String,
    stage: String,
    code: Option<String>,
    history: String,
}

impl Scenario {
    /// Lets the world go on until nothing is under way.
    pub(super) fn settle(&mut self) {
        for agent in 0..self.agents.len() {
            self.remind(500, Reminder::Connect(agent));
        }
        for seat in 0..self.seats.len() {
            self.remind(500, Reminder::Open(seat));
            self.remind(2_000, Reminder::Pursue(seat));
        }
        // Nobody hears of a healing: a backoff of 30 s and a silence of 90 s may have to pass first.
        self.rest(2 * 60_000);
    }

    /// Lets the world go on for `first` ms, and then until nothing is under way.
    pub(super) fn rest(&mut self, first: u64) {
        let end = self.world.now() + LONGEST_SETTLING;
        let mut look = self.world.now() + first;
        while self.world.now() < end {
            while let Some(happened) = self.world.next(look) {
                self.hear(happened);
            }
            if self.world.now() < look {
                return;
            }
            if self.what_is_under_way().is_empty() {
                return;
            }
            look += LOOK;
        }
        for what in self.what_is_under_way() {
            self.world.watch.violation(format!("does not settle: {what}"));
        }
    }

    fn what_is_under_way(&self) -> Vec<String> {
        let mut open = Vec::new();
        let chain = self.chain();
        if let Some(rows) = self.world.relay().rows() {
            let waiting =
                rows.rows("SELECT sender, recipient, id FROM queue ORDER BY pos", (), |row| {
                    Ok((
                        row.get::<_, String>(0)?,
                        row.get::<_, String>(1)?,
                        row.get::<_, String>(2)?,
                    ))
                });
            for (sender, recipient, id) in waiting.unwrap_or_default() {
                let (from, to) = (self.who(&chain, &sender), self.who(&chain, &recipient));
                open.push(format!("{id} waits at the relay, from {from} to {to}"));
            }
        }
        for (number, seat) in self.seats.iter().enumerate() {
            if seat.busy {
                open.push(format!("machine {number} is founding or joining"));
            }
            if !chain.is_member(seat.machine.as_deref()) {
                continue;
            }
            let Some(rows) = self.rows(number) else { continue };
            let waiting = count(&rows, "SELECT count(*) FROM outbox");
            if waiting > 0 {
                open.push(format!("{waiting} envelopes in the outbox of machine {number}"));
            }
            let held = count(&rows, "SELECT count(*) FROM held");
            if held > 0 {
                open.push(format!("{held} requests wait for the person at machine {number}"));
            }
            if head(&rows, "SELECT hash FROM roster ORDER BY seq DESC LIMIT 1") != chain.head {
                open.push(format!("machine {number} has another head than the relay"));
            }
        }
        if !self.asked.is_empty() {
            open.push(format!("{} requests without an answer", self.asked.len()));
        }
        open
    }

    /// A machine in words.
    fn who(&self, chain: &Chain, machine: &str) -> String {
        let number = self.seats.iter().position(|seat| seat.machine.as_deref() == Some(machine));
        let number = number.map_or("unknown".to_owned(), |number| number.to_string());
        let member = if chain.is_member(Some(machine)) { "" } else { ", no member" };
        format!("machine {number}{member}")
    }

    /// A stage that is told is never behind an earlier one, and never ahead of what happened.
    pub(super) fn check_stage(&mut self, seat: usize, event: &Value) {
        let id = event["envelopeId"].as_str().unwrap_or_default();
        let stage = event["stage"].as_str().unwrap_or_default();
        if !self.ledger.told(id, stage) {
            self.world.watch.violation(format!("{id} went back to {stage}"));
        }
        if !self.is_true(id, stage) {
            self.world.watch.violation(format!("machine {seat} was told {stage} of {id}: untrue"));
        }
    }

    /// Whether an envelope came as far as somebody says.
    fn is_true(&self, id: &str, stage: &str) -> bool {
        match stage {
            "accepted" | "rejected" | "expired" => true,
            "relayed" => self
                .world
                .relay()
                .rows()
                .is_some_and(|rows| has(&rows, "SELECT 1 FROM seen WHERE id = ?1", id)),
            "delivered" => self.world.daemons().iter().any(|daemon| {
                daemon
                    .rows()
                    .is_some_and(|rows| has(&rows, "SELECT 1 FROM inbox WHERE id = ?1", id))
            }),
            "held" => self.world.daemons().iter().any(|daemon| {
                daemon.rows().is_some_and(|rows| {
                    has(&rows, "SELECT 1 FROM held WHERE id = ?1", id)
                        || has(&rows, "SELECT 1 FROM seen WHERE id = ?1", id)
                })
            }),
            "handed_to_agent" => self.ledger.was_perhaps_taken(id),
            "read" => self.ledger.was_perhaps_read(id),
            "replied" => self.ledger.has_reply(id),
            _ => false,
        }
    }

    /// What must hold when everything has settled.
    pub(super) fn verify(&mut self) {
        let chain = self.chain();
        let mut found = Vec::new();
        self.verify_rosters(&chain, &mut found);
        let arrived = self.verify_messages(&chain, &mut found);
        self.verify_tasks(&chain, &mut found);
        self.verify_inboxes(&mut found);
        self.verify_persons(&chain, &mut found);
        for _ in 0..arrived {
            self.ledger.arrived();
        }
        for violation in found {
            self.world.watch.violation(violation);
        }
    }

    /// Everybody who is in the team holds the relay's chain, and whoever is not holds a beginning of it.
    fn verify_rosters(&self, chain: &Chain, found: &mut Vec<String>) {
        if let Some(fault) = &chain.fault {
            found.push(format!("the relay's chain does not verify: {fault}"));
        }
        for (number, seat) in self.seats.iter().enumerate() {
            let Some(rows) = self.rows(number) else { continue };
            let held = texts(&rows, "SELECT hash FROM roster ORDER BY seq");
            if chain.hashes.get(..held.len()) != Some(&held[..]) {
                found.push(format!("machine {number} holds another chain than the relay"));
            }
            if has(&rows, "SELECT 1 FROM kv WHERE key = ?1", "divergence") {
                found.push(format!("machine {number} accuses an honest relay"));
            }
            let keys = self.world.daemons().get(number).and_then(|daemon| daemon.files.identity());
            let machine = keys.as_ref().map(|keys| keys.machine().as_str());
            if chain.is_member(machine) && seat.standing == Standing::Outside {
                found.push(format!("machine {number} is a member and does not know it"));
            }
        }
        let is_somebodys = |member: &str| {
            self.world.daemons().iter().any(|daemon| {
                daemon.files.identity().is_some_and(|keys| keys.machine().as_str() == member)
            })
        };
        for ghost in chain.members.iter().filter(|member| !is_somebodys(member)) {
            found.push(format!("{ghost} is a member, and nobody has its keys"));
        }
    }

    /// Every promise was kept, or ended with a code.
    fn verify_messages(&self, chain: &Chain, found: &mut Vec<String>) -> usize {
        let mut arrived = 0;
        for message in self.ledger.messages() {
            let Fate::Promised(id) = &message.fate else { continue };
            let Some(from) = self.agents.get(message.by).map(|agent| agent.seat) else { continue };
            let Some(rows) = self.rows(from) else { continue };
            let Some(sent) = sent_row(&rows, id) else {
                found.push(format!("{} ({id}): its record is gone", message.token));
                continue;
            };
            let to = self
                .seats
                .iter()
                .position(|seat| seat.machine.as_deref() == Some(sent.to_device.as_str()));
            let item = to.and_then(|to| self.rows(to)).and_then(|rows| item_stage(&rows, id));
            arrived += usize::from(item.is_some());
            let excused = self.profile.has_wild_clocks()
                || self.parted(chain, from)
                || to.is_none_or(|to| self.parted(chain, to));
            if !in_order(&sent.history) {
                found.push(format!("{} ({id}): its stages are {}", message.token, sent.history));
            }
            // Receipts do not live longer than the envelopes that they are about.
            let unheard = excused || self.profile.is_away_for_long();
            // A task that was called off while it waited for the person never comes to the agent.
            let called_off = sent.stage == "held"
                && self.rows(from).is_some_and(|rows| has(&rows, CALLED_OFF, id));
            let excused = excused || called_off;
            if let Some(fault) = check(message, &sent, item.as_deref(), excused, unheard) {
                found.push(format!(
                    "{} ({id}) from machine {from} to {to:?}: {fault}; history {}",
                    message.token, sent.history
                ));
            }
        }
        arrived
    }

    /// Whether somebody left or was made to leave: what was under way then may be lost.
    fn parted(&self, chain: &Chain, seat: usize) -> bool {
        let machine = self.seats.get(seat).and_then(|seat| seat.machine.as_deref());
        self.ledger.was_perhaps_removed(seat) || !chain.is_member(machine)
    }

    /// No inbox holds a message twice, nor one that was refused.
    fn verify_inboxes(&self, found: &mut Vec<String>) {
        let refused: BTreeSet<&str> = self
            .ledger
            .messages()
            .iter()
            .filter(|message| message.fate == Fate::Refused)
            .map(|message| message.token.as_str())
            .collect();
        for number in 0..self.seats.len() {
            let Some(rows) = self.rows(number) else { continue };
            let mut seen: BTreeMap<String, u32> = BTreeMap::new();
            for preview in texts(&rows, "SELECT preview FROM inbox") {
                let token = preview.split(' ').next().unwrap_or_default().to_owned();
                if refused.contains(token.as_str()) {
                    found.push(format!("machine {number} shows {token}, which was refused"));
                }
                *seen.entry(token).or_default() += 1;
            }
            for (token, times) in seen {
                if times > 1 {
                    found.push(format!("machine {number} holds {token} {times} times"));
                }
            }
        }
    }

    fn rows(&self, seat: usize) -> Option<View<'_>> {
        self.world.daemons().get(seat).and_then(|daemon| daemon.rows())
    }

    /// The team's chain, as the relay holds it: the team that the founder is in.
    fn chain(&self) -> Chain {
        let team =
            self.rows(0).and_then(|rows| head(&rows, "SELECT hash FROM roster WHERE seq = 0"));
        Chain::read(&self.world, team.as_deref())
    }
}

/// What is wrong with one promise, if anything is.
fn check(
    message: &Message,
    sent: &SentRow,
    item: Option<&str>,
    excused: bool,
    unheard: bool,
) -> Option<String> {
    let ended = matches!(sent.stage.as_str(), "rejected" | "expired");
    match (item, ended) {
        (Some(_), true) if !unheard => {
            Some(format!("arrived, and its sender reads {}", sent.stage))
        }
        (Some(item), false) if !unheard && rank(&sent.stage) < rank(item) => {
            Some(format!("is {item}, and its sender reads {}", sent.stage))
        }
        (None, false) if !excused => Some(format!("lost; its sender reads {}", sent.stage)),
        (None, true) => {
            let code = sent.code.as_deref().unwrap_or_default();
            let fair = matches!(
                code,
                "unknown_session"
                    | "rate_limited"
                    | "loop_guard"
                    | "not_member"
                    | "expired"
                    | "refused"
                    | "declined"
            );
            let fair_of_tasks = matches!(code, "forbidden" | "invalid_state" | "not_found");
            let fair = fair || (message.about != About::Mail && fair_of_tasks);
            let told = sent.stage == "expired" || fair;
            (!told && !excused).then(|| format!("rejected with {code} to {}", message.address))
        }
        _ => None,
    }
}

/// Finds the record of a request whose task was called off.
const CALLED_OFF: &str = "SELECT 1 FROM tasks WHERE request_id = ?1 AND role = 'requester' AND state = 'TASK_STATE_CANCELED'";

/// Whether a record's stages only ever went forward.
fn in_order(history: &str) -> bool {
    let stages: Vec<Value> = serde_json::from_str(history).unwrap_or_default();
    let ranks: Vec<usize> =
        stages.iter().map(|entry| rank(entry["stage"].as_str().unwrap_or_default())).collect();
    !ranks.is_empty() && ranks.windows(2).all(|pair| pair.first() < pair.last())
}

/// The team's chain at the relay.
#[derive(Default)]
struct Chain {
    hashes: Vec<String>,
    head: Option<String>,
    members: BTreeSet<String>,
    fault: Option<String>,
}

impl Chain {
    fn read(world: &World, team: Option<&str>) -> Self {
        let (Some(rows), Some(team)) = (world.relay().rows(), team) else { return Self::default() };
        let read = |sql: &str| {
            rows.rows(sql, params![team], |row| row.get::<_, String>(0)).unwrap_or_default()
        };
        let hashes = read("SELECT hash FROM roster WHERE team = ?1 ORDER BY seq");
        let entries = read("SELECT entry FROM roster WHERE team = ?1 ORDER BY seq");
        let entries: Vec<Value> =
            entries.iter().filter_map(|entry| serde_json::from_str(entry).ok()).collect();
        let mut chain = Self { head: hashes.last().cloned(), hashes, ..Self::default() };
        if entries.is_empty() {
            return chain;
        }
        match Roster::from_entries(&entries) {
            Ok(roster) => {
                chain.members =
                    roster.members().map(|member| member.machine.as_str().to_owned()).collect();
            }
            Err(failure) => chain.fault = Some(failure.to_string()),
        }
        chain
    }

    fn is_member(&self, machine: Option<&str>) -> bool {
        machine.is_some_and(|machine| self.members.contains(machine))
    }
}

fn sent_row(rows: &View<'_>, id: &str) -> Option<SentRow> {
    let sql = "SELECT to_device, stage, code, history FROM sent WHERE id = ?1";
    let read = |row: &messaging_store::Row<'_>| {
        Ok(SentRow {
            to_device: row.get(0)?,
            stage: row.get(1)?,
            code: row.get(2)?,
            history: row.get(3)?,
        })
    };
    rows.row(sql, params![id], read).ok().flatten()
}

fn item_stage(rows: &View<'_>, id: &str) -> Option<String> {
    rows.row("SELECT stage FROM inbox WHERE id = ?1", params![id], |row| row.get(0)).ok().flatten()
}

fn count(rows: &View<'_>, sql: &str) -> i64 {
    rows.row(sql, (), |row| row.get(0)).ok().flatten().unwrap_or(0)
}

fn head(rows: &View<'_>, sql: &str) -> Option<String> {
    rows.row(sql, (), |row| row.get(0)).ok().flatten()
}

fn texts(rows: &View<'_>, sql: &str) -> Vec<String> {
    rows.rows(sql, (), |row| row.get(0)).unwrap_or_default()
}

fn has(rows: &View<'_>, sql: &str, id: &str) -> bool {
    rows.row(sql, params![id], |_| Ok(())).is_ok_and(|found| found.is_some())
}
