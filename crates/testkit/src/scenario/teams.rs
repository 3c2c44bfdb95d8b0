//! What persons do about the team: found it, invite, join, change roles, remove, leave.

use super::{Asked, Reminder, Scenario};
use crate::world::{Party, RELAY_URL};
use messaging_daemon_engine::Tier;
use serde_json::{Value, json};

/// Where a machine stands, as far as its person knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// In no team.
    Outside,
    /// In the team.
    Member,
    /// Removed, or gone.
    Gone,
}

impl Scenario {
    pub(super) fn person_connects(&mut self, seat: usize) {
        let Some(held) = self.seats.get(seat) else { return };
        if held.client.is_some() || !self.world.is_up(Party::Daemon(seat)) {
            return;
        }
        let client = self.world.connect(seat, Tier::Admin);
        if let Some(held) = self.seats.get_mut(seat) {
            held.client = client;
        }
        self.pursue(seat);
    }

    /// A person who is in no team does what leads into one.
    pub(super) fn pursue(&mut self, seat: usize) {
        let Some(held) = self.seats.get(seat) else { return };
        let Some(client) = held.client else { return };
        if held.busy || held.standing != Standing::Outside {
            return;
        }
        let (person, label) = (held.person.clone(), held.label.clone());
        if let Some(ticket) = held.ticket.clone() {
            let params = json!({ "ticket": ticket, "label": label });
            self.request(client, "team.join", params, Asked::Join(seat));
        } else if seat == 0 {
            let params = json!({
                "relay": RELAY_URL, "team": "garden", "person": person, "label": label
            });
            self.request(client, "team.create", params, Asked::Found(seat));
        } else {
            return;
        }
        if let Some(held) = self.seats.get_mut(seat) {
            held.busy = true;
        }
    }

    pub(super) fn entered(&mut self, seat: usize, result: &Value) {
        if let Some(held) = self.seats.get_mut(seat) {
            held.busy = false;
            held.standing = Standing::Member;
            held.machine = result["device"].as_str().map(str::to_owned);
        }
    }

    pub(super) fn not_entered(&mut self, seat: usize, code: &str) {
        let Some(held) = self.seats.get_mut(seat) else { return };
        held.busy = false;
        match code {
            // The ticket is of no use any more; somebody has to invite again.
            "invite_invalid" | "expired" | "forbidden" => held.ticket = None,
            // It may be in the team already: an answer was lost.
            "invalid_state" => return self.look(seat),
            "relay_unavailable" | "rate_limited" | "internal" | "roster_conflict"
            | "daemon_unavailable" => {}
            other => {
                self.world.watch.violation(format!("founding or joining was refused: {other}"));
            }
        }
        let delay = self.dice.between(500, 5_000);
        self.remind(delay, Reminder::Pursue(seat));
    }

    /// An answer was lost: the daemon is asked how things stand.
    pub(super) fn look_again(&mut self, seat: usize) {
        if let Some(held) = self.seats.get_mut(seat) {
            held.busy = false;
        }
        self.look(seat);
    }

    fn look(&mut self, seat: usize) {
        let Some(held) = self.seats.get_mut(seat) else { return };
        // Without a connection, `pursue` asks when there is one again.
        if let Some(client) = held.client {
            held.busy = true;
            self.request(client, "daemon.status", json!({}), Asked::Look(seat));
        }
    }

    pub(super) fn looked(&mut self, seat: usize, status: &Value) {
        let Some(held) = self.seats.get_mut(seat) else { return };
        held.busy = false;
        if status["team"].is_object() && held.standing == Standing::Outside {
            held.standing = Standing::Member;
            held.machine = status["identity"]["device"].as_str().map(str::to_owned);
        }
        self.remind(1_000, Reminder::Pursue(seat));
    }

    pub(super) fn invited(&mut self, to: usize, result: &Value) {
        if let Some(held) = self.seats.get_mut(to)
            && held.standing == Standing::Outside
            && held.ticket.is_none()
        {
            held.ticket = result["ticket"].as_str().map(str::to_owned);
            let delay = self.dice.tail(300, 20_000);
            self.remind(delay, Reminder::Pursue(to));
        }
    }

    pub(super) fn removed(&mut self, target: usize) {
        if let Some(held) = self.seats.get_mut(target) {
            held.standing = Standing::Gone;
        }
    }

    /// A member does something about the team.
    pub(super) fn act_on_team(&mut self) {
        let members: Vec<usize> = (0..self.seats.len())
            .filter(|seat| {
                self.seats
                    .get(*seat)
                    .is_some_and(|held| held.standing == Standing::Member && held.client.is_some())
            })
            .collect();
        let Some(by) = self.dice.pick(&members).copied() else { return };
        let Some(client) = self.seats.get(by).and_then(|held| held.client) else { return };
        let target = self.dice.pick(&members).copied().unwrap_or(by);
        let Some(machine) = self.seats.get(target).and_then(|held| held.machine.clone()) else {
            return;
        };
        match self.dice.below(10) {
            0..4 => {
                let role = if self.dice.chance(60) { "admin" } else { "member" };
                let params = json!({ "machine": machine, "role": role });
                self.request(client, "team.role", params, Asked::TeamAct);
            }
            4 if members.len() > 2 => {
                // Whether it was an admin's to do is the daemon's to say; who is gone is known when it answers.
                self.ledger.may_be_removed(target);
                let params = json!({ "machine": machine });
                self.request(client, "team.remove", params, Asked::Remove { target });
            }
            5 => {
                let person = self.seats.get(by).map(|held| held.person.clone());
                let params = json!({ "person": person, "ttlMs": 60_000 });
                self.request(client, "team.invite", params, Asked::TeamAct);
            }
            6 => {
                let params = json!({ "inviteId": "01ARZ3NDEKTSV4RRFFQ69G5FAV" });
                self.request(client, "team.revoke", params, Asked::TeamAct);
            }
            _ => self.request(client, "team.list", json!({}), Asked::TeamAct),
        }
    }

    /// Some member invites somebody who is outside and holds no ticket, if there is anybody.
    pub(super) fn invite_somebody(&mut self) -> bool {
        let pick = |standing: Standing| {
            let seats = self.seats.iter().enumerate();
            seats
                .filter(|(_, held)| held.standing == standing)
                .map(|(number, _)| number)
                .collect::<Vec<usize>>()
        };
        let (members, mut outside) = (pick(Standing::Member), pick(Standing::Outside));
        outside.retain(|seat| self.seats.get(*seat).is_some_and(|held| held.ticket.is_none()));
        let Some(by) = self.dice.pick(&members).copied() else { return false };
        let Some(to) = self.dice.pick(&outside).copied() else { return false };
        let Some(client) = self.seats.get(by).and_then(|held| held.client) else { return false };
        let Some(person) = self.seats.get(to).map(|held| held.person.clone()) else { return false };
        self.request(client, "team.invite", json!({ "person": person }), Asked::Invite { to });
        true
    }
}
