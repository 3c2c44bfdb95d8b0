//! What persons say about each other: they let the others' agents ask theirs, and answer what waited for that.

use super::{Asked, PERSONS, Reminder, Scenario};
use messaging_core::ids::Ulid;
use serde_json::{Value, json};

/// How often a person looks at what there is to say and to answer, ms.
const ROUND: u64 = 10_000;

impl Scenario {
    /// The person at a machine says what is left to say, and looks at what waits.
    pub(super) fn consents(&mut self, seat: usize) {
        let delay = self.dice.tail(ROUND, 2 * ROUND);
        self.remind(delay, Reminder::Consent(seat));
        let Some(held) = self.seats.get(seat) else { return };
        let Some(client) = held.client else { return };
        let own = held.person.clone();
        let left: Vec<&str> = PERSONS
            .into_iter()
            .take(self.profile.persons)
            // In a circle they say what they like, and not the same each time.
            .filter(|_| !self.profile.circle)
            .filter(|person| *person != own && !held.welcomed.iter().any(|said| said == person))
            .collect();
        for person in left {
            let open = json!({ "subject": { "person": person }, "ask": "open" });
            let asked = Asked::Welcome { seat, person: person.to_owned() };
            self.request(client, "grant.set", open, asked);
        }
        self.request(client, "request.list", json!({}), Asked::Requests(seat));
    }

    pub(super) fn welcomed(&mut self, seat: usize, person: String) {
        if let Some(held) = self.seats.get_mut(seat) {
            held.welcomed.push(person);
        }
    }

    /// What waited is let in, one by one or all at once; in a circle it is also declined.
    pub(super) fn requests_listed(&mut self, seat: usize, result: &Value) {
        let Some(client) = self.seats.get(seat).and_then(|held| held.client) else { return };
        let requests = result["requests"].as_array().cloned().unwrap_or_default();
        let all = self.dice.chance(30);
        for request in requests.iter().take(if all { 1 } else { requests.len() }) {
            let Some(id) = request["id"].as_str().and_then(|id| Ulid::parse(id).ok()) else {
                self.world.watch.violation("a request without an id".to_owned());
                continue;
            };
            let answer = if self.profile.circle && !self.healed {
                const ANSWERS: [&str; 6] =
                    ["once", "once", "always", "decline", "decline", "block"];
                self.dice.pick(&ANSWERS).copied().unwrap_or("once")
            } else {
                "once"
            };
            let params = json!({ "id": id, "answer": answer, "all": all });
            self.request(client, "request.answer", params, Asked::Answered);
        }
    }
}
