//! What agents do: register, write, take and read what arrives, answer, go away and come back.

use super::ledger::About;
use super::teams::Standing;
use super::{Asked, Reminder, Scenario};
use crate::world::{ClientId, Party};
use messaging_core::limits::PLAINTEXT_BYTES;
use messaging_daemon_engine::Tier;
use serde_json::{Value, json};

/// One agent's client.
#[derive(Debug)]
pub(super) struct Agent {
    /// The machine it runs on.
    pub(super) seat: usize,
    /// The name that its daemon gave it.
    pub(super) name: Option<String>,
    key: String,
    wanted: &'static str,
    pull: bool,
    client: Option<ClientId>,
    registered: bool,
    /// It went away for good.
    over: bool,
    /// Messages whose answer was lost: asked again with the same idempotency key.
    again: Vec<usize>,
}

impl Agent {
    /// Whether it wants to be connected.
    pub(super) fn wants_in(&self) -> bool {
        !self.over && self.client.is_none()
    }

    /// Its connection and its key, while it is registered.
    pub(super) fn line(&self) -> Option<(ClientId, String)> {
        self.client.filter(|_| self.registered).map(|client| (client, self.key.clone()))
    }
}

impl Scenario {
    pub(super) fn act_as_agent(&mut self) {
        if self.agents.len() < self.seats.len() || (self.dice.chance(5) && self.agents.len() < 12) {
            return self.new_agent();
        }
        let here: Vec<usize> = (0..self.agents.len())
            .filter(|agent| {
                self.agents.get(*agent).is_some_and(|held| {
                    held.registered
                        && self
                            .seats
                            .get(held.seat)
                            .is_some_and(|seat| seat.standing != Standing::Outside)
                })
            })
            .collect();
        let Some(agent) = self.dice.pick(&here).copied() else { return };
        match self.dice.below(100) {
            0..4 => self.agent_leaves(agent),
            4..6 => self.agent_unregisters(agent),
            6..9 => self.send_to_nobody(agent),
            9..11 => self.send_too_much(agent),
            _ => {
                let to = self.dice.index(self.agents.len()).unwrap_or(agent);
                if self.dice.chance(self.profile.tasks) {
                    self.ask_for_task(agent, to);
                } else {
                    self.send(agent, to, None);
                }
            }
        }
    }

    fn new_agent(&mut self) {
        const NAMES: [&str; 3] = ["api", "web", "ops"];
        let seat = self.agents.len() % self.seats.len();
        let number = self.agents.len();
        self.agents.push(Agent {
            seat,
            name: None,
            key: format!("key-of-agent-{number:04}-{:016x}", self.dice.roll()),
            wanted: NAMES.get(number / self.seats.len() % NAMES.len()).copied().unwrap_or("api"),
            pull: self.dice.chance(50),
            client: None,
            registered: false,
            over: false,
            again: Vec::new(),
        });
        self.agent_connects(number);
    }

    pub(super) fn agent_connects(&mut self, agent: usize) {
        let Some(held) = self.agents.get(agent) else { return };
        if !held.wants_in() || !self.world.is_up(Party::Daemon(held.seat)) {
            return;
        }
        let Some(client) = self.world.connect(held.seat, Tier::Agent) else { return };
        let tier = if held.pull { "pull" } else { "push" };
        let params = json!({
            "key": held.key, "agent": "codex", "name": held.wanted, "tier": tier
        });
        if let Some(held) = self.agents.get_mut(agent) {
            held.client = Some(client);
            held.registered = false;
        }
        self.request(client, "session.register", params, Asked::Register(agent));
    }

    pub(super) fn agent_registered(&mut self, client: ClientId, agent: usize, result: &Value) {
        let Some(held) = self.agents.get_mut(agent) else { return };
        if held.client != Some(client) {
            return;
        }
        held.registered = true;
        held.name = result["name"].as_str().map(str::to_owned);
        let (key, again) = (held.key.clone(), std::mem::take(&mut held.again));
        self.request(client, "events.subscribe", json!({ "key": key }), Asked::Subscribe(agent));
        let params = json!({ "key": key, "unreadOnly": true, "limit": 200 });
        self.request(client, "inbox.list", params, Asked::List(agent));
        self.request(client, "task.list", json!({ "key": key, "limit": 100 }), Asked::Tasks(agent));
        for message in again {
            self.send_again(agent, message);
        }
    }

    pub(super) fn agent_refused(&mut self, client: ClientId, agent: usize, code: &str) {
        if !matches!(code, "internal" | "daemon_unavailable" | "not_found") {
            self.world.watch.violation(format!("registering was refused: {code}"));
        }
        if let Some(held) = self.agents.get_mut(agent)
            && held.client == Some(client)
        {
            held.client = None;
            held.registered = false;
            self.world.leave(client);
            self.hung(client);
            self.remind(1_000, Reminder::Connect(agent));
        }
    }

    pub(super) fn agent_hung(&mut self, client: ClientId) {
        for agent in 0..self.agents.len() {
            let Some(held) = self.agents.get_mut(agent) else { continue };
            if held.client == Some(client) {
                held.client = None;
                held.registered = false;
                let delay = self.dice.tail(30, 2_000);
                self.remind(delay, Reminder::Connect(agent));
            }
        }
    }

    /// It goes away, perhaps in the middle of something, and comes back later.
    fn agent_leaves(&mut self, agent: usize) {
        let Some(held) = self.agents.get_mut(agent) else { return };
        let Some(client) = held.client.take() else { return };
        held.registered = false;
        self.world.leave(client);
        self.hung(client);
        let delay = self.dice.tail(500, 60_000);
        self.remind(delay, Reminder::Connect(agent));
    }

    /// It ends its session in good order; the session is kept, and whoever registers the name next takes it over.
    fn agent_unregisters(&mut self, agent: usize) {
        let Some(held) = self.agents.get_mut(agent) else { return };
        let Some(client) = held.client.take() else { return };
        held.registered = false;
        held.over = true;
        let key = held.key.clone();
        self.request(client, "session.unregister", json!({ "key": key }), Asked::TeamAct);
        self.world.leave(client);
        // It does not wait for the answer.
        self.hung(client);
    }

    /// Where an agent can be written to, in one of the two forms.
    pub(super) fn address_of(&mut self, agent: usize) -> Option<String> {
        let held = self.agents.get(agent)?;
        let seat = self.seats.get(held.seat)?;
        let name = held.name.as_ref()?;
        let with_label = self.dice.chance(80);
        Some(if with_label {
            format!("{}/{name}@{}", seat.person, seat.label)
        } else {
            format!("{}/{name}", seat.person)
        })
    }

    fn send(&mut self, agent: usize, to: usize, reply_to: Option<String>) {
        let Some(address) = self.address_of(to) else { return };
        let size = if self.dice.chance(self.profile.large) {
            self.dice.between(1_000, 200_000)
        } else {
            self.dice.below(200)
        };
        let text = "x".repeat(usize::try_from(size).unwrap_or(0));
        self.send_text(agent, Some(to), address, &text, reply_to);
    }

    fn send_to_nobody(&mut self, agent: usize) {
        let addresses = ["alice/nobody", "nobody/api", "alice/api@nowhere"];
        let address = self.dice.pick(&addresses).copied().unwrap_or("nobody/api");
        self.send_text(agent, None, address.to_owned(), "", None);
    }

    fn send_too_much(&mut self, agent: usize) {
        let Some(address) = self.address_of(agent) else { return };
        let text = "x".repeat(PLAINTEXT_BYTES);
        self.send_text(agent, None, address, &text, None);
    }

    fn send_text(
        &mut self,
        agent: usize,
        to: Option<usize>,
        address: String,
        text: &str,
        reply_to: Option<String>,
    ) {
        let message = self.ledger.new_message(agent, to, reply_to, address);
        self.ask_send(agent, message, text);
    }

    pub(super) fn ask_send(&mut self, agent: usize, message: usize, text: &str) {
        let Some(held) = self.agents.get(agent) else { return };
        let (Some(client), Some(sent)) = (held.client, self.ledger.message(message)) else {
            return;
        };
        let token = sent.token.clone();
        let mut params = json!({
            "key": held.key,
            "to": sent.address,
            "parts": [{ "text": format!("{token} {text}") }],
            "idempotencyKey": token,
        });
        if let Some(id) = &sent.reply_to {
            params["replyTo"] = json!(id);
        }
        match sent.about {
            About::Mail => {}
            About::Request(job) => self.add_to_request(job, &mut params),
            About::FollowUp(job) => {
                params["taskId"] = json!(self.jobs.get(job).and_then(|job| job.id.as_ref()));
            }
        }
        if let Some(sent) = self.ledger.message_mut(message) {
            sent.tries += 1;
            sent.text = text.to_owned();
        }
        self.request(client, "msg.send", params, Asked::Send(message));
    }

    /// The answer was lost: the client asks once more, or gives up.
    pub(super) fn send_unanswered(&mut self, message: usize) {
        let Some(agent) = self.ledger.message(message).map(|sent| sent.by) else { return };
        if self.dice.chance(80)
            && let Some(held) = self.agents.get_mut(agent)
        {
            held.again.push(message);
        }
    }

    fn send_again(&mut self, agent: usize, message: usize) {
        let Some(sent) = self.ledger.message(message) else { return };
        let text = sent.text.clone();
        self.ask_send(agent, message, &text);
    }

    pub(super) fn send_refused(&mut self, message: usize, code: &str) {
        self.ledger.refused(message, code, &mut self.world.watch);
    }

    pub(super) fn inbox_listed(&mut self, agent: usize, result: &Value) {
        let mut ids = Vec::new();
        for item in result["items"].as_array().into_iter().flatten() {
            let id = item["id"].as_str().unwrap_or_default().to_owned();
            if ids.contains(&id) {
                self.world.watch.violation(format!("an inbox lists {id} twice"));
            }
            self.plan_for(agent, &id);
            ids.push(id);
        }
    }

    pub(super) fn event(&mut self, client: ClientId, event: &Value) {
        let agent = self.agents.iter().position(|held| held.client == Some(client));
        match event["type"].as_str() {
            Some("inbox") => {
                let Some(agent) = agent else { return };
                let Some(seat) = self.agents.get(agent).map(|held| held.seat) else { return };
                let id = event["item"]["id"].as_str().unwrap_or_default().to_owned();
                self.ledger.shown(seat, &id, &mut self.world.watch);
                self.plan_for(agent, &id);
            }
            Some("delivery") => {
                let Some(seat) = agent.and_then(|agent| self.agents.get(agent)).map(|a| a.seat)
                else {
                    return;
                };
                self.check_stage(seat, event);
            }
            Some("task") => {
                if let Some(agent) = agent {
                    self.task_event(agent, event);
                }
            }
            _ => {}
        }
    }

    /// What an agent will do about an item.
    fn plan_for(&mut self, agent: usize, id: &str) {
        if self.dice.chance(70) {
            let delay = self.dice.tail(50, 3_000);
            self.remind(delay, Reminder::Take(agent, id.to_owned()));
        }
        if self.dice.chance(60) {
            let delay = self.dice.tail(100, 8_000);
            self.remind(delay, Reminder::Read(agent, id.to_owned()));
        }
    }

    pub(super) fn take_item(&mut self, agent: usize, id: String) {
        let Some(held) = self.agents.get(agent) else { return };
        let (Some(client), true) = (held.client, held.registered) else { return };
        self.ledger.may_take(&id);
        let params = json!({ "key": held.key, "ids": [id], "stage": "handed_to_agent" });
        self.request(client, "inbox.ack", params, Asked::Take(id));
    }

    pub(super) fn read_item(&mut self, agent: usize, id: String) {
        let Some(held) = self.agents.get(agent) else { return };
        let (Some(client), true) = (held.client, held.registered) else { return };
        self.ledger.may_read(&id);
        let params = json!({ "key": held.key, "id": id });
        self.request(client, "item.read", params, Asked::Read(agent, id));
    }

    pub(super) fn item_was_read(&mut self, agent: usize, id: &str) {
        if self.healed || !self.dice.chance(30) {
            return;
        }
        if let Some(to) = self.ledger.sender_of(id) {
            self.send(agent, to, Some(id.to_owned()));
        }
    }
}
