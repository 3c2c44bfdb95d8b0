//! Deliveries that wait to be judged, each in its sender's order, within a bound on what they hold.
//! Spec: §8.3 "deferred", D3.8 "one envelope at a time per sender", D3.9

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use messaging_core::envelope::Glance;
use messaging_core::ids::{MachineId, Ulid};
use messaging_core::json;
use messaging_core::time::Mono;
use serde_json::Value;

use crate::budgets::Budget;

/// One delivery.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) env: Value,
    pub(super) glance: Glance,
    /// What it counts against the room while it waits.
    weight: usize,
}

impl Waiting {
    pub(super) fn new(env: Value, glance: Glance) -> Self {
        Self { env, glance, weight: 0 }
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
        if let Some(waiting) = self.admit(waiting) {
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
                if let Some(waiting) = self.admit(waiting)
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
        if let Some(waiting) = self.admit(waiting) {
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

    /// Counts a delivery in; none when it does not fit.
    fn admit(&mut self, mut waiting: Waiting) -> Option<Waiting> {
        if self.keys.len() >= MOST_WAITING {
            return None;
        }
        // Not the length of its text: a relay can send a megabyte that becomes a hundred.
        waiting.weight = json::weight(&waiting.env);
        let bytes = self.bytes.saturating_add(waiting.weight);
        if bytes > MOST_BYTES {
            return None;
        }
        self.bytes = bytes;
        self.keys.insert(waiting.key());
        Some(waiting)
    }

    fn forget(&mut self, waiting: &Waiting) {
        self.bytes = self.bytes.saturating_sub(waiting.weight);
        self.keys.remove(&waiting.key());
    }
}

/// Most bytes that may wait, about, as they stand in memory.
const MOST_BYTES: usize = 16 * 1_048_576;
/// Most deliveries that may wait.
const MOST_WAITING: usize = 1_024;

#[cfg(test)]
mod tests {
    use messaging_core::random;
    use messaging_core::testing::SeededRandom;
    use messaging_core::time::Ms;
    use serde_json::json;

    use super::*;

    fn delivery(n: u64, more: Value) -> Waiting {
        let id = random::ulid(Ms(n), &mut SeededRandom::new(n));
        let device = MachineId::from_bytes(&[3; 32]);
        let env = json!({"id": id, "from": {"device": device}, "type": "message", "more": more});
        let glance = Glance::of(&env).unwrap();
        Waiting::new(env, glance)
    }

    fn waits(room: &WaitingRoom) -> usize {
        assert_eq!(room.roster.len(), room.keys.len());
        room.roster.len()
    }

    #[test]
    fn no_more_wait_than_the_room_holds_whatever_they_are_made_of() {
        let zeros = Value::Array(vec![json!(0); 200_000]);
        let objects = Value::Array(vec![json!({"": 0}); 20_000]);
        let text = json!("x".repeat(700_000));
        for (more, come, most) in
            [(text, 40, 23), (zeros, 3, 1), (objects, 3, 1), (json!(0), 1_100, 1_024)]
        {
            let mut room = WaitingRoom::default();
            for n in 0..come {
                room.wait_for_roster(delivery(n, more.clone()));
            }
            assert_eq!(waits(&room), most);
            assert!(room.bytes <= MOST_BYTES);
            // What leaves makes room for what comes.
            drop(room.leave_roster());
            assert_eq!(room.bytes, 0);
            room.wait_for_roster(delivery(2_000, json!("x")));
            assert_eq!(waits(&room), 1);
        }
    }
}
