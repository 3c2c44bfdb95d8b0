//! Deliveries that wait to be judged, each in its sender's order, within a bound on what they hold.
//! Spec: §8.3 "deferred", D3.8 "one envelope at a time per sender", D3.9

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use messaging_core::envelope::Glance;
use messaging_core::ids::{MachineId, Ulid};
use messaging_core::time::Mono;
use serde_json::Value;

use crate::budgets::Budget;

/// One delivery.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) env: Value,
    pub(super) glance: Glance,
    bytes: usize,
}

impl Waiting {
    pub(super) fn new(env: Value, glance: Glance) -> Self {
        let body = env.get("body").and_then(Value::as_str).map_or(0, str::len);
        Self { env, glance, bytes: body.saturating_add(HEADER_COST) }
    }

    fn key(&self) -> Key {
        (self.glance.device, self.glance.id)
    }

    /// Which queue it belongs to by what it claims. It is judged in full when it leaves.
    fn budget(&self) -> Option<(MachineId, Budget)> {
        let device = self.glance.device?;
        let to_agent = self.env.get("to").is_some_and(|to| to.get("agent").is_some());
        let budget = match self.env.get("type").and_then(Value::as_str) {
            Some("message") if !to_agent => Budget::Chat,
            Some("receipt" | "task.status" | "task.artifact") => Budget::Answers,
            Some("presence") => Budget::Presence,
            _ => Budget::Mail,
        };
        Some((device, budget))
    }
}

type Key = (Option<MachineId>, Ulid);

/// Where they wait.
#[derive(Debug, Default)]
pub(super) struct WaitingRoom {
    /// For the roster, in order of arrival.
    roster: VecDeque<Waiting>,
    /// For a budget, in order of arrival, with when it has room.
    budgets: BTreeMap<(MachineId, Budget), Line>,
    keys: BTreeSet<Key>,
    bytes: usize,
}

#[derive(Debug)]
struct Line {
    until: Mono,
    list: VecDeque<Waiting>,
}

impl WaitingRoom {
    /// Whether this very envelope waits here already.
    pub(super) fn holds(&self, waiting: &Waiting) -> bool {
        self.keys.contains(&waiting.key())
    }

    /// Whether an earlier envelope of the same sender waits for the roster.
    pub(super) fn must_queue_behind_roster(&self, waiting: &Waiting) -> bool {
        self.roster.iter().any(|other| other.glance.device == waiting.glance.device)
    }

    /// Keeps a delivery until the roster has more. One that does not fit is let go.
    pub(super) fn wait_for_roster(&mut self, waiting: Waiting) {
        if self.admit(&waiting) {
            self.roster.push_back(waiting);
        }
    }

    /// Everything that waited for the roster, in order.
    pub(super) fn leave_roster(&mut self) -> VecDeque<Waiting> {
        let list = std::mem::take(&mut self.roster);
        list.iter().for_each(|waiting| self.forget(waiting));
        list
    }

    /// Puts a delivery behind others of its sender that wait for the same budget; gives it back when none do.
    pub(super) fn queue_behind_budget(&mut self, waiting: Waiting) -> Option<Waiting> {
        match waiting.budget() {
            Some(key) if self.budgets.contains_key(&key) => {
                if self.admit(&waiting)
                    && let Some(line) = self.budgets.get_mut(&key)
                {
                    line.list.push_back(waiting);
                }
                None
            }
            _ => Some(waiting),
        }
    }

    /// Keeps a delivery, ahead of later ones of its sender, until its budget has room.
    pub(super) fn wait_for_budget(&mut self, waiting: Waiting, budget: Budget, until: Mono) {
        let Some(device) = waiting.glance.device else { return };
        if self.admit(&waiting) {
            let line = self
                .budgets
                .entry((device, budget))
                .or_insert_with(|| Line { until, list: VecDeque::new() });
            line.until = until;
            line.list.push_front(waiting);
        }
    }

    /// The first delivery whose budget may have room by now.
    pub(super) fn leave_budget(&mut self, now: Mono) -> Option<Waiting> {
        let key = self.budgets.iter().find(|(_, line)| line.until <= now).map(|(key, _)| *key)?;
        let line = self.budgets.get_mut(&key)?;
        let waiting = line.list.pop_front();
        if line.list.is_empty() {
            self.budgets.remove(&key);
        }
        if let Some(waiting) = &waiting {
            self.forget(waiting);
        }
        waiting
    }

    /// When the next budget may have room.
    pub(super) fn next_at(&self) -> Option<Mono> {
        self.budgets.values().map(|line| line.until).min()
    }

    /// Lets everything go.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    fn admit(&mut self, waiting: &Waiting) -> bool {
        let bytes = self.bytes.saturating_add(waiting.bytes);
        let fits = bytes <= MOST_BYTES && self.keys.len() < MOST_WAITING;
        if fits {
            self.bytes = bytes;
            self.keys.insert(waiting.key());
        }
        fits
    }

    fn forget(&mut self, waiting: &Waiting) {
        self.bytes = self.bytes.saturating_sub(waiting.bytes);
        self.keys.remove(&waiting.key());
    }
}

/// What one delivery holds beside its body, about.
const HEADER_COST: usize = 2_048;
/// Most bytes that may wait.
const MOST_BYTES: usize = 16 * 1_048_576;
/// Most deliveries that may wait.
const MOST_WAITING: usize = 1_024;
