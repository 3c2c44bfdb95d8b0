//! An agent that writes, reads and answers, and starts again wherever its daemon's death left it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Orders, PERSONS, SESSION};
use crate::dice::Dice;
use crate::programs::{Ipc, Problem};

/// Everything that an agent knows of its own doing, and what it was told.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Which of the two persons.
    pub(super) who: usize,
    /// What was accepted, in the order of the calls.
    pub(super) sent: Vec<Sent>,
    /// The stages it was told, in order, by envelope.
    pub(super) told: BTreeMap<String, Vec<String>>,
    /// How often each incoming message was shown by an event.
    pub(super) shown: BTreeMap<String, u32>,
    /// What it asked to be marked, before the call was made.
    pub(super) read: BTreeSet<String>,
    pub(super) handed: BTreeSet<String>,
    /// The invites that it made: whether each was left open or taken back. One whose fate is not known is not here.
    pub(super) invites: BTreeMap<String, Invite>,
    /// What went wrong in a way that no death explains.
    pub(super) violations: Vec<String>,
    pub(super) hang_ups: u32,
    pub(super) lost_answers: u32,
}

/// What became of an invite, in the admin's eyes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Invite {
    Open,
    Revoked,
}

/// A message that was accepted.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) reply_to: Option<String>,
}

/// An agent at work.
pub(super) struct Agent {
    home: PathBuf,
    dice: Dice,
    ledger: Ledger,
    /// Incoming messages that nothing was decided about.
    fresh: Vec<String>,
    /// What the next messages answer.
    answers: Vec<String>,
    /// A message whose acceptance is not known yet. It is sent again, word for word.
    draft: Option<Draft>,
}

struct Draft {
    text: String,
    reply_to: Option<String>,
    /// It was sent before, and no answer came.
    again: bool,
}

/// How the one session of a person is registered. Sessions of terminals are no agents to the loop guard, which would end
/// this conversation after thirty messages.
pub(super) fn registration(who: usize) -> Value {
    let key = format!("a-key-that-outlives-its-client-{who}");
    json!({"key": key, "agent": "cli", "name": SESSION})
}

pub(super) fn key(who: usize) -> Value {
    registration(who)["key"].clone()
}

impl Agent {
    pub(super) fn new(who: usize, home: &Path, seed: u64) -> Self {
        Self {
            home: home.to_owned(),
            dice: Dice::stream(seed, 2 + u64::from(who == 1)),
            ledger: Ledger { who, ..Ledger::default() },
            fresh: Vec::new(),
            answers: Vec::new(),
            draft: None,
        }
    }

    /// Works until it has sent what it should and is told to end.
    ///
    /// Errors: its daemon refuses what it must not refuse.
    pub(super) fn work(mut self, orders: &Orders) -> Result<Ledger, Problem> {
        while !self.is_done(orders) {
            match self.connect() {
                Ok(Some(mut ipc)) => {
                    while !self.is_done(orders) {
                        if self.step(&mut ipc, orders).is_err() {
                            self.ledger.hang_ups += 1;
                            break;
                        }
                    }
                }
                // Its daemon is dead, or starts.
                Ok(None) | Err(_) => std::thread::sleep(Duration::from_millis(3)),
            }
        }
        Ok(self.ledger)
    }

    fn is_done(&self, orders: &Orders) -> bool {
        orders.abort.load(Ordering::Relaxed)
            || (orders.finish.load(Ordering::Relaxed) && !self.must_send(orders))
    }

    fn must_send(&self, orders: &Orders) -> bool {
        self.draft.is_some() || self.ledger.sent.len() < orders.to_send.load(Ordering::Relaxed)
    }

    /// Registers again, and looks at what came while nobody listened.
    fn connect(&mut self) -> Result<Option<Ipc>, Problem> {
        let Some(mut ipc) = Ipc::connect(&self.home)? else { return Ok(None) };
        let who = self.ledger.who;
        self.call(&mut ipc, "session.register", &registration(who))?;
        self.call(&mut ipc, "events.subscribe", &json!({"key": key(who)}))?;
        let page = json!({"key": key(who), "unreadOnly": true, "limit": 200});
        if let Some(found) = self.call(&mut ipc, "inbox.list", &page)? {
            for item in found["items"].as_array().into_iter().flatten() {
                if item["stage"] == "delivered" {
                    self.came(item);
                }
            }
        }
        Ok(Some(ipc))
    }

    fn came(&mut self, item: &Value) {
        let id = item["id"].as_str().unwrap_or_default().to_owned();
        let known = [&self.ledger.read, &self.ledger.handed].iter().any(|set| set.contains(&id));
        if !known && !self.fresh.contains(&id) {
            self.fresh.push(id);
        }
    }

    /// One thing after the other; an error means that the connection ended.
    fn step(&mut self, ipc: &mut Ipc, orders: &Orders) -> Result<(), Problem> {
        if self.must_send(orders) {
            self.send(ipc)?;
            if self.ledger.who == 0 && self.dice.chance(15) {
                self.govern(ipc)?;
            }
        }
        if let Some(id) = self.fresh.pop() {
            self.decide(ipc, &id)?;
        }
        while let Some(event) = ipc.event(Duration::from_millis(2))? {
            self.heard(&event);
        }
        Ok(())
    }

    fn send(&mut self, ipc: &mut Ipc) -> Result<(), Problem> {
        let number = self.ledger.sent.len();
        let (me, them) = (PERSONS[self.ledger.who].0, PERSONS[1 - self.ledger.who]);
        let mut draft = self.draft.take().unwrap_or_else(|| Draft {
            text: format!("{me} {number}"),
            reply_to: self.answers.pop(),
            again: false,
        });
        let mut params = json!({
            "key": key(self.ledger.who),
            "to": format!("{}/{SESSION}@{}", them.0, them.1),
            "parts": [{"text": draft.text}],
            "idempotencyKey": draft.text,
        });
        if let Some(id) = &draft.reply_to {
            params["replyTo"] = json!(id);
        }
        self.ledger.lost_answers += u32::from(draft.again);
        draft.again = true;
        let (text, reply_to) = (draft.text.clone(), draft.reply_to.clone());
        // Until there is an answer, this is what is sent next, whatever happens.
        self.draft = Some(draft);
        let Some(result) = self.call(ipc, "msg.send", &params)? else { return Ok(()) };
        self.draft = None;
        let id = result["results"][0]["envelopeId"].as_str().unwrap_or_default().to_owned();
        self.ledger.sent.push(Sent { id, text, reply_to });
        Ok(())
    }

    /// Reads a message, says that it has it, or leaves it.
    fn decide(&mut self, ipc: &mut Ipc, id: &str) -> Result<(), Problem> {
        let key = key(self.ledger.who);
        match self.dice.below(4) {
            0 | 1 => {
                self.ledger.read.insert(id.to_owned());
                self.call(ipc, "item.read", &json!({"key": key, "id": id}))?;
                if self.dice.chance(30) {
                    self.answers.push(id.to_owned());
                }
            }
            2 => {
                self.ledger.handed.insert(id.to_owned());
                let ack = json!({"key": key, "ids": [id], "stage": "handed_to_agent"});
                self.call(ipc, "inbox.ack", &ack)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Makes an invite, or takes one back.
    fn govern(&mut self, ipc: &mut Ipc) -> Result<(), Problem> {
        let open = self.ledger.invites.iter().find(|(_, invite)| **invite == Invite::Open);
        let open = open.map(|(id, _)| id.clone()).filter(|_| self.dice.chance(40));
        let (method, params) = match &open {
            Some(id) => ("team.revoke", json!({"inviteId": id})),
            None => ("team.invite", json!({"person": "carol"})),
        };
        // Until there is an answer, nobody knows.
        let known = open.as_ref().and_then(|id| self.ledger.invites.remove_entry(id));
        match ipc.call(method, &params)? {
            Ok(result) => {
                let made = || result["inviteId"].as_str().unwrap_or_default().to_owned();
                let fate = if open.is_some() { Invite::Revoked } else { Invite::Open };
                self.ledger.invites.insert(open.unwrap_or_else(made), fate);
            }
            // The relay is dead: the entry may have arrived all the same.
            Err(refused) if refused.code == "relay_unavailable" => {}
            Err(refused) => {
                self.ledger.invites.extend(known);
                self.ledger.violations.push(format!("{method} was refused: {refused}"));
            }
        }
        Ok(())
    }

    fn heard(&mut self, event: &Value) {
        let id = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match event["type"].as_str() {
            Some("inbox") => {
                *self.ledger.shown.entry(id(&event["item"]["id"])).or_default() += 1;
                self.came(&event["item"]);
            }
            Some("delivery") => {
                let stages = self.ledger.told.entry(id(&event["envelopeId"])).or_default();
                stages.push(id(&event["stage"]));
            }
            _ => {}
        }
    }

    /// A call that the daemon must not refuse; `None` when it does, while it stops or its store fails.
    fn call(
        &mut self,
        ipc: &mut Ipc,
        method: &str,
        params: &Value,
    ) -> Result<Option<Value>, Problem> {
        match ipc.call(method, params)? {
            Ok(result) => Ok(Some(result)),
            Err(refused) => {
                self.ledger.violations.push(format!("{method} was refused: {refused}"));
                Ok(None)
            }
        }
    }
}
