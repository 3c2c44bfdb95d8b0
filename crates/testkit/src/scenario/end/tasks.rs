//! What must hold of tasks: what their agents are told is true, and in the end both sides say the same.
//! Spec: §6.1 `followUps`, §6.2, §6.3, §6.7, D3.15, D3.16

use super::super::Scenario;
use super::super::jobs::Job;
use super::super::ledger::{About, Fate, rank};
use super::{Chain, sent_row};
use crate::world::pieces;
use messaging_core::limits::TASK_INPUT_TIMEOUT_MS;
use messaging_store::{View, params};
use serde_json::Value;
use std::collections::BTreeMap;

/// One side's record, as its daemon keeps it.
struct Record {
    state: String,
    status: Value,
    follow_ups: Vec<String>,
    /// Each artifact's texts, the artifacts in the order in which they began.
    results: Vec<(String, Vec<String>)>,
    pieces: Vec<(String, String)>,
    chain: Value,
}

impl Scenario {
    /// An update is told once.
    pub(in crate::scenario) fn check_update(&mut self, agent: usize, event: &Value) {
        let update = &event["update"];
        if !update.is_object() || self.profile.is_away_for_long() {
            return;
        }
        let id = event["task"]["id"].as_str().unwrap_or_default();
        let what = match update["kind"].as_str() {
            Some("artifact") => format!("{}", update["artifact"]["parts"]),
            _ => format!("{}", update["status"]),
        };
        if !self.ledger.told_of(agent, format!("{id} {what}")) {
            self.world.watch.violation(format!("agent {agent} was told twice of {id}: {what}"));
        }
    }

    /// The stages that a record names of further messages are true, and go forward.
    pub(in crate::scenario) fn check_follow_ups(&mut self, agent: usize, record: &Value) {
        for said in record["followUps"].as_array().into_iter().flatten() {
            let id = said["envelopeId"].as_str().unwrap_or_default();
            let stage = said["stage"].as_str().unwrap_or_default();
            if !self.ledger.listed(id, stage) {
                self.world
                    .watch
                    .violation(format!("agent {agent}: {id} is listed as {stage} again"));
            }
            // What the relay remembers of an envelope ends with the envelope.
            if !self.is_true(id, stage) && !self.profile.is_away_for_long() {
                self.world
                    .watch
                    .violation(format!("agent {agent} is shown {stage} of {id}: untrue"));
            }
        }
    }

    /// Both sides of every task say the same, and every chain is narrower than the one it goes on from.
    pub(super) fn verify_tasks(&self, chain: &Chain, found: &mut Vec<String>) {
        for (number, job) in self.jobs.all().iter().enumerate() {
            let Some(request) = self.ledger.message(job.request) else { continue };
            let (Fate::Promised(id), Some(task)) = (&request.fate, &job.id) else { continue };
            let Some(from) = self.agents.get(request.by).map(|agent| agent.seat) else { continue };
            let Some(rows) = self.rows(from) else { continue };
            let Some(asked) = Record::read(&rows, task, "requester") else {
                found.push(format!("task {number} ({task}): its requester's record is gone"));
                continue;
            };
            self.verify_chain(number, job, &asked, found);
            let to = sent_row(&rows, id).and_then(|sent| self.seat_of(&sent.to_device));
            let Some(to) = to else { continue };
            let done = self.rows(to).and_then(|rows| Record::read(&rows, task, "executor"));
            let Some(done) = done else {
                if matches!(asked.state.as_str(), "TASK_STATE_WORKING" | "TASK_STATE_COMPLETED") {
                    found.push(format!(
                        "task {number} ({task}) is {} and nobody did it",
                        asked.state
                    ));
                }
                continue;
            };
            if let Some(fault) = job.check_results(&done.pieces) {
                found.push(format!("task {number} ({task}) at machine {to}: {fault}"));
            }
            let excused = self.profile.has_wild_clocks()
                || self.parted(chain, from)
                || self.parted(chain, to);
            if excused {
                continue;
            }
            for fault in asked.differs(&done) {
                found.push(format!("task {number} ({task}) from machine {from} to {to}: {fault}"));
            }
            self.verify_follow_ups(number, (from, to), &done, found);
        }
        self.verify_timeouts(found);
    }

    fn seat_of(&self, machine: &str) -> Option<usize> {
        self.seats.iter().position(|seat| seat.machine.as_deref() == Some(machine))
    }

    /// A chain is what its parent is, or less.
    fn verify_chain(&self, number: usize, job: &Job, asked: &Record, found: &mut Vec<String>) {
        let Some(parent) = job.parent.and_then(|parent| self.jobs.get(parent)) else { return };
        let (held, own) = (&parent.chain, &asked.chain);
        if own.is_null() {
            return;
        }
        let list = |chain: &Value, name: &str| -> Option<Vec<String>> {
            let list = chain[name].as_array()?;
            Some(list.iter().map(ToString::to_string).collect())
        };
        let count = |chain: &Value, name: &str| chain[name].as_u64().unwrap_or_default();
        let (before, after) = (list(held, "addresses"), list(own, "addresses"));
        let goes_on = before.zip(after).is_some_and(|(before, after)| {
            after.len() == before.len() + 1 && after.starts_with(&before)
        });
        let is_narrow = match (list(held, "scope"), list(own, "scope")) {
            (Some(held), Some(own)) => own.iter().all(|label| held.contains(label)),
            (Some(_), None) => false,
            (None, _) => true,
        };
        let holds = goes_on
            && is_narrow
            && count(own, "depth") == count(held, "depth") + 1
            && count(own, "depth") <= count(own, "maxDepth")
            && count(own, "maxDepth") <= count(held, "maxDepth")
            && count(own, "exp") <= count(held, "exp");
        if !holds {
            found.push(format!("task {number} is wider than its parent: {own} after {held}"));
        }
    }

    /// The executor's record holds the further messages that arrived, each once, and no others.
    fn verify_follow_ups(
        &self,
        number: usize,
        (from, to): (usize, usize),
        done: &Record,
        found: &mut Vec<String>,
    ) {
        let mut times: BTreeMap<&str, u32> = BTreeMap::new();
        for text in &done.follow_ups {
            *times.entry(text.split(' ').next().unwrap_or_default()).or_default() += 1;
        }
        for (token, count) in &times {
            if *count > 1 {
                found.push(format!("task {number} at machine {to} holds {token} {count} times"));
            }
        }
        let follow_ups = self
            .ledger
            .messages()
            .iter()
            .filter(|message| message.about == About::FollowUp(number));
        for message in follow_ups {
            let Fate::Promised(id) = &message.fate else { continue };
            let stage = self.rows(from).and_then(|rows| sent_row(&rows, id)).map(|sent| sent.stage);
            let arrived = stage.is_some_and(|stage| (2..=6).contains(&rank(&stage)));
            let holds = times.contains_key(message.token.as_str());
            // Receipts do not live longer than the envelopes that they are about.
            if arrived != holds && !(holds && self.profile.is_away_for_long()) {
                found.push(format!("task {number} at machine {to}: {} {arrived}", message.token));
            }
        }
    }

    /// Nobody waits for an answer for longer than a day.
    fn verify_timeouts(&self, found: &mut Vec<String>) {
        for machine in 0..self.seats.len() {
            let (Some(rows), Some(now)) = (self.rows(machine), self.world.wall(machine)) else {
                continue;
            };
            let before = now.minus(TASK_INPUT_TIMEOUT_MS + 3 * 60_000).as_i64();
            let sql = "SELECT id FROM tasks WHERE role = 'executor' AND touched_at < ?1
                       AND state IN ('TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_AUTH_REQUIRED')";
            let waiting = rows.rows(sql, params![before], |row| row.get::<_, String>(0));
            for id in waiting.unwrap_or_default() {
                found.push(format!("machine {machine} leaves task {id} waiting"));
            }
        }
    }
}

impl Record {
    fn read(rows: &View<'_>, task: &str, role: &str) -> Option<Self> {
        let sql = "SELECT state, status, history, artifacts, chain FROM tasks WHERE id = ?1 AND role = ?2";
        let read = |row: &messaging_store::Row<'_>| {
            let json = |text: String| serde_json::from_str::<Value>(&text).unwrap_or_default();
            let history = json(row.get(2)?);
            let said = |message: &Value| message["parts"][0]["text"].as_str().map(str::to_owned);
            let pieces = pieces(&row.get::<_, String>(3)?);
            Ok(Self {
                state: row.get(0)?,
                status: json(row.get(1)?),
                follow_ups: history.as_array().into_iter().flatten().filter_map(said).collect(),
                results: whole(&pieces),
                pieces,
                chain: json(row.get::<_, Option<String>>(4)?.unwrap_or_default()),
            })
        };
        rows.row(sql, params![task, role], read).ok().flatten()
    }

    /// What the two sides do not agree on.
    fn differs(&self, done: &Self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.status != done.status && !(self.state == SUBMITTED && done.state == SUBMITTED) {
            faults.push(format!("one side says {}, the other {}", self.status, done.status));
        }
        if self.results != done.results {
            faults.push(format!("one side holds {:?}, the other {:?}", self.results, done.results));
        }
        if self.chain != done.chain {
            faults.push(format!("one chain is {}, the other {}", self.chain, done.chain));
        }
        faults
    }
}

fn whole(pieces: &[(String, String)]) -> Vec<(String, Vec<String>)> {
    let mut results: Vec<(String, Vec<String>)> = Vec::new();
    for (artifact, text) in pieces {
        match results.iter_mut().find(|(known, _)| known == artifact) {
            Some((_, texts)) => texts.push(text.clone()),
            None => results.push((artifact.clone(), vec![text.clone()])),
        }
    }
    results
}

const SUBMITTED: &str = "TASK_STATE_SUBMITTED";
