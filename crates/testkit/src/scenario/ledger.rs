//! What clients were promised, and what may be claimed of it.

use crate::world::Watch;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// One message that a client asked its daemon to send.
#[derive(Clone, Debug)]
pub(super) struct Message {
    /// What its text begins with; no other message's does.
    pub(super) token: String,
    /// The agent that wrote it.
    pub(super) by: usize,
    /// The agent it is meant for; none for one that cannot arrive.
    pub(super) to: Option<usize>,
    pub(super) address: String,
    pub(super) reply_to: Option<String>,
    pub(super) about: About,
    /// A long text, kept to ask again with.
    pub(super) text: String,
    /// How often it was asked for.
    pub(super) tries: u32,
    pub(super) fate: Fate,
}

/// What a message has to do with a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// Nothing.
    Mail,
    /// It asks for this one.
    Request(usize),
    /// It goes on with this one.
    FollowUp(usize),
}

/// What its client knows of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It was asked for, and not answered yet, or the answer was lost.
    Open,
    /// The daemon took it, under this envelope id.
    Promised(String),
    /// The daemon refused it: nothing of it may exist.
    Refused,
    /// The daemon said `internal`: it may exist.
    Doubtful,
}

/// Everything that was asked and promised in a run.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    messages: Vec<Message>,
    by_envelope: BTreeMap<String, usize>,
    /// Items that a client was shown by an event.
    shown: BTreeSet<(usize, String)>,
    /// Items that a client may have taken, took, may have read.
    may_take: BTreeSet<String>,
    took: BTreeSet<String>,
    may_read: BTreeSet<String>,
    /// The last stage that was told of an envelope.
    told: BTreeMap<String, usize>,
    /// The last stage under which a task's record listed one.
    listed: BTreeMap<String, usize>,
    /// Updates of tasks that agents were told of.
    updates: BTreeSet<(usize, String)>,
    /// Machines that somebody tried to remove.
    may_be_removed: BTreeSet<usize>,
    arrived: usize,
    /// Messages that their daemons took and refused in one: a chain that would widen, or the guard of a
    /// session of the same machine.
    refused: BTreeSet<String>,
}

/// Stages in order; the two final ones stand apart.
pub(super) const ORDER: [&str; 7] =
    ["accepted", "relayed", "delivered", "held", "handed_to_agent", "read", "replied"];

/// The rank of a stage; the final ones come after every other.
pub(super) fn rank(stage: &str) -> usize {
    ORDER.iter().position(|name| *name == stage).unwrap_or(ORDER.len())
}

impl Ledger {
    pub(super) fn new_message(
        &mut self,
        by: usize,
        to: Option<usize>,
        reply_to: Option<String>,
        address: String,
    ) -> usize {
        let token = format!("m{:05}", self.messages.len());
        let text = String::new();
        self.messages.push(Message {
            token,
            by,
            to,
            address,
            reply_to,
            about: About::Mail,
            text,
            tries: 0,
            fate: Fate::Open,
        });
        self.messages.len() - 1
    }

    pub(super) fn messages(&self) -> &[Message] {
        &self.messages
    }

    pub(super) fn message(&self, index: usize) -> Option<&Message> {
        self.messages.get(index)
    }

    pub(super) fn message_mut(&mut self, index: usize) -> Option<&mut Message> {
        self.messages.get_mut(index)
    }

    pub(super) fn of_envelope(&self, id: &str) -> Option<&Message> {
        self.by_envelope.get(id).and_then(|index| self.messages.get(*index))
    }

    pub(super) fn sender_of(&self, id: &str) -> Option<usize> {
        self.of_envelope(id).map(|message| message.by)
    }

    pub(super) fn promised(&mut self, index: usize, result: &Value, watch: &mut Watch) {
        let Some(message) = self.messages.get_mut(index) else { return };
        let id = result["results"][0]["envelopeId"].as_str().unwrap_or_default().to_owned();
        if message.to.is_none() && result["results"][0]["stage"] != "rejected" {
            // An address that nobody has may be taken for delivery when it names a machine; its daemon answers then.
            if !message.address.contains('@') {
                watch.violation(format!("{} was accepted for nobody", message.token));
            }
        }
        if let Fate::Promised(held) = &message.fate
            && *held != id
        {
            watch.violation(format!("{} was promised under two ids", message.token));
        }
        if result["results"][0]["stage"] == "rejected" {
            self.refused.insert(id.clone());
        }
        message.fate = Fate::Promised(id.clone());
        self.by_envelope.insert(id, index);
    }

    pub(super) fn refused(&mut self, index: usize, code: &str, watch: &mut Watch) {
        let Some(message) = self.messages.get_mut(index) else { return };
        match code {
            "internal" => message.fate = Fate::Doubtful,
            "daemon_unavailable" | "not_found" | "no_identity" | "not_member" | "rate_limited"
            | "unknown_session" | "no_recipients" | "ambiguous_address" | "too_large" => {
                // Asked before and not answered: that first try may have been taken.
                if message.fate == Fate::Open && message.tries == 1 {
                    message.fate = Fate::Refused;
                }
            }
            // A task may have ended meanwhile.
            "invalid_state" if message.about != About::Mail => message.fate = Fate::Refused,
            other => watch.violation(format!("{} was refused: {other}", message.token)),
        }
    }

    pub(super) fn shown(&mut self, seat: usize, id: &str, watch: &mut Watch) {
        if !self.shown.insert((seat, id.to_owned())) {
            watch.violation(format!("machine {seat} showed {id} twice"));
        }
    }

    pub(super) fn may_take(&mut self, id: &str) {
        self.may_take.insert(id.to_owned());
    }

    pub(super) fn took(&mut self, id: &str) {
        self.took.insert(id.to_owned());
    }

    pub(super) fn may_read(&mut self, id: &str) {
        self.may_read.insert(id.to_owned());
    }

    pub(super) fn was_perhaps_taken(&self, id: &str) -> bool {
        self.may_take.contains(id)
    }

    pub(super) fn was_perhaps_read(&self, id: &str) -> bool {
        self.may_read.contains(id)
    }

    pub(super) fn may_be_removed(&mut self, seat: usize) {
        self.may_be_removed.insert(seat);
    }

    pub(super) fn was_perhaps_removed(&self, seat: usize) -> bool {
        self.may_be_removed.contains(&seat)
    }

    /// Whether a reply to `id` was asked for.
    pub(super) fn has_reply(&self, id: &str) -> bool {
        self.messages.iter().any(|message| message.reply_to.as_deref() == Some(id))
    }

    /// Notes the stage that was told of an envelope; `false` when an earlier one stood higher.
    pub(super) fn told(&mut self, id: &str, stage: &str) -> bool {
        let rank = rank(stage);
        match self.told.insert(id.to_owned(), rank) {
            Some(before) => before < rank,
            None => true,
        }
    }

    /// Notes the stage under which a record lists an envelope; `false` when an earlier one stood higher.
    pub(super) fn listed(&mut self, id: &str, stage: &str) -> bool {
        let rank = rank(stage);
        self.listed.insert(id.to_owned(), rank).is_none_or(|before| before <= rank)
    }

    /// Notes that an agent was told of an update; `false` when it was before.
    pub(super) fn told_of(&mut self, agent: usize, update: String) -> bool {
        self.updates.insert((agent, update))
    }

    pub(super) fn arrived(&mut self) {
        self.arrived += 1;
    }

    pub(super) fn counts(&self) -> (usize, usize) {
        (self.by_envelope.len() - self.refused.len(), self.arrived)
    }
}
