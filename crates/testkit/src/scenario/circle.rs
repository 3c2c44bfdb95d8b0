//! Three persons at seven machines: what they say about each other, their channels and lines, and the machine they lose.
//!
//! They act at several machines at once and while these are cut off from each other, so that grants, changes of one channel
//! and answers to what waits meet.

use super::chaos::Mend;
use super::teams::Standing;
use super::{Asked, PERSONS, Reminder, Scenario};
use crate::world::Watch;
use messaging_store::params;
use serde_json::{Value, json};

/// What was written and what became of it, and which machine is lost.
#[derive(Debug, Default)]
pub(super) struct Circle {
    lines: Vec<Line>,
    /// The one machine was chosen.
    chosen: bool,
    /// It answers no person any more.
    lost: Option<usize>,
}

/// One line that a client asked its daemon to send.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// What its text begins with; no other line's does.
    pub(super) token: String,
    /// The machine it was written at.
    pub(super) by: usize,
    pub(super) fate: Fate,
}

/// What its client knows of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The answer did not come, or was `internal`: it may exist.
    Open,
    /// The daemon took it, under this id.
    Promised(String),
    /// The daemon refused it: nothing of it may exist.
    Refused,
}

impl Circle {
    pub(super) fn lines(&self) -> &[Line] {
        &self.lines
    }

    fn add(&mut self, by: usize) -> (usize, String) {
        let token = format!("l{:05}", self.lines.len());
        self.lines.push(Line { token: token.clone(), by, fate: Fate::Open });
        (self.lines.len() - 1, token)
    }

    pub(super) fn taken(&mut self, line: usize, result: &Value) {
        let id = result["id"].as_str().or_else(|| result["results"][0]["messageId"].as_str());
        if let (Some(line), Some(id)) = (self.lines.get_mut(line), id) {
            line.fate = Fate::Promised(id.to_owned());
        }
    }

    pub(super) fn refused(&mut self, line: usize, code: &str, watch: &mut Watch) {
        let Some(line) = self.lines.get_mut(line) else { return };
        match code {
            "internal" => {}
            "daemon_unavailable" | "not_found" | "no_identity" | "not_member" | "rate_limited"
            | "no_recipients" => line.fate = Fate::Refused,
            other => watch.violation(format!("{} was refused: {other}", line.token)),
        }
    }

    /// How many lines their daemons took.
    pub(super) fn taken_lines(&self) -> usize {
        self.lines.iter().filter(|line| matches!(line.fate, Fate::Promised(_))).count()
    }
}

impl Scenario {
    /// Somebody says, changes or writes something, or several do at once.
    pub(super) fn act_in_circle(&mut self) {
        self.perhaps_lose();
        let here = self.seats_here();
        let Some(by) = self.dice.pick(&here).copied() else { return };
        match self.dice.below(100) {
            0..18 => self.say_at(by),
            18..28 => self.say_apart(by),
            28..36 => self.found_channel(by),
            36..50 => self.change_channel(by),
            50..58 => self.change_at_once(by),
            58..80 => self.write_line(by),
            80..86 => self.agent_writes(by),
            86..92 => self.read_on(by),
            92..95 => self.follow(by),
            _ => self.answer_at_once(by),
        }
    }

    /// Machines in the team whose person is at them.
    fn seats_here(&self) -> Vec<usize> {
        let is_here = |seat: &usize| {
            self.seats
                .get(*seat)
                .is_some_and(|held| held.standing == Standing::Member && held.client.is_some())
        };
        (0..self.seats.len()).filter(is_here).collect()
    }

    fn person_of(&self, seat: usize) -> String {
        self.seats.get(seat).map(|held| held.person.clone()).unwrap_or_default()
    }

    /// The machines of the person at `seat` where they are.
    fn own_seats(&self, seat: usize) -> Vec<usize> {
        let person = self.person_of(seat);
        self.seats_here().into_iter().filter(|other| self.person_of(*other) == person).collect()
    }

    fn somebody_else(&mut self, seat: usize) -> &'static str {
        let own = self.person_of(seat);
        let others: Vec<&'static str> =
            PERSONS.into_iter().take(self.profile.persons).filter(|other| *other != own).collect();
        self.dice.pick(&others).copied().unwrap_or("alice")
    }

    pub(super) fn ask_at(&mut self, seat: usize, method: &str, params: Value, asked: Asked) {
        if let Some(client) = self.seats.get(seat).and_then(|held| held.client) {
            self.request(client, method, params, asked);
        }
    }

    /// A person says what somebody, or the members of a channel, may send.
    pub(super) fn say_at(&mut self, seat: usize) {
        let channels = self.channels_of(seat);
        let channel = self.dice.pick(&channels).cloned().filter(|_| self.dice.chance(20));
        let is_person = channel.is_none();
        let mut params = match channel {
            Some((_, name)) => json!({ "subject": { "channel": name } }),
            None => json!({ "subject": { "person": self.somebody_else(seat) } }),
        };
        if is_person && self.dice.chance(60) {
            let chat = self.dice.pick(&["open", "open", "muted", "blocked"]).copied();
            params["chat"] = json!(chat);
        }
        if self.dice.chance(40) {
            params["agentMail"] = json!(self.dice.pick(&["open", "open", "blocked"]).copied());
        }
        if self.dice.chance(60) {
            let ask = self.dice.pick(&["open", "open", "request", "no"]).copied();
            params["ask"] = json!(ask);
            if is_person && ask == Some("open") && self.dice.chance(40) {
                params["trust"] = json!(true);
            }
        }
        self.ask_at(seat, "grant.set", params, Asked::Said);
    }

    /// A person says different things at their machines while these do not hear each other.
    fn say_apart(&mut self, seat: usize) {
        let seats = self.own_seats(seat);
        for seat in &seats {
            if self.profile.misfortune > 0 && self.dice.chance(60) {
                self.world.set_cut_off(*seat, true);
                let lasts = self.dice.tail(5_000, 60_000);
                self.remind(lasts, Reminder::Heal(Mend::Join(*seat)));
            }
        }
        for seat in seats {
            for _ in 0..self.dice.between(1, 2) {
                self.say_at(seat);
            }
        }
    }

    /// The channels that a machine holds: their ids and local names.
    pub(super) fn channels_of(&self, seat: usize) -> Vec<(String, String)> {
        let Some(rows) = self.world.daemons().get(seat).and_then(|daemon| daemon.rows()) else {
            return Vec::new();
        };
        rows.rows("SELECT id, local_name FROM channels ORDER BY id", (), |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        })
        .unwrap_or_default()
    }

    fn found_channel(&mut self, seat: usize) {
        let name = self.dice.pick(&["eng", "ops", "all"]).copied().unwrap_or("eng");
        let own = self.person_of(seat);
        let persons: Vec<&str> = PERSONS
            .into_iter()
            .take(self.profile.persons)
            .filter(|person| *person != own && self.dice.chance(60))
            .collect();
        let params = json!({ "name": name, "persons": persons });
        self.ask_at(seat, "channel.create", params, Asked::Said);
    }

    fn change_channel(&mut self, seat: usize) {
        let channels = self.channels_of(seat);
        let Some((_, name)) = self.dice.pick(&channels).cloned() else {
            return self.found_channel(seat);
        };
        self.change(seat, &name);
    }

    fn change(&mut self, seat: usize, name: &str) {
        let person = self.somebody_else(seat);
        let members = json!({ "name": name, "persons": [person] });
        let (method, params) = match self.dice.below(100) {
            0..55 => ("channel.invite", members),
            55..85 => ("channel.remove", members),
            _ => ("channel.leave", json!({ "name": name })),
        };
        self.ask_at(seat, method, params, Asked::Said);
    }

    /// Several machines change one channel at the same moment.
    fn change_at_once(&mut self, seat: usize) {
        let channels = self.channels_of(seat);
        let Some((id, _)) = self.dice.pick(&channels).cloned() else {
            return self.found_channel(seat);
        };
        for seat in self.seats_here() {
            let held = self.channels_of(seat).into_iter().find(|(other, _)| *other == id);
            if let Some((_, name)) = held.filter(|_| self.dice.chance(50)) {
                self.change(seat, &name);
            }
        }
    }

    fn room_for(&mut self, seat: usize) -> String {
        let channels = self.channels_of(seat);
        match self.dice.pick(&channels).cloned() {
            Some((_, name)) if self.dice.chance(60) => format!("channel:{name}"),
            _ if self.dice.chance(10) => format!("dm:{}", self.person_of(seat)),
            _ => format!("dm:{}", self.somebody_else(seat)),
        }
    }

    fn write_line(&mut self, seat: usize) {
        let room = self.room_for(seat);
        self.write(seat, &room);
    }

    /// The person at a machine writes a line; its token tells it from every other.
    pub(super) fn write(&mut self, seat: usize, room: &str) -> String {
        let (line, token) = self.circle.add(seat);
        let params =
            json!({ "conversation": room, "text": format!("{token} hello"), "clientId": token });
        self.ask_at(seat, "person.send", params, Asked::Line(line));
        token
    }

    /// An agent writes to a person, or into a channel.
    fn agent_writes(&mut self, seat: usize) {
        let room = self.room_for(seat);
        let to = match room.split_once(':') {
            Some(("channel", name)) => format!("#{name}"),
            Some((_, person)) => person.to_owned(),
            None => return,
        };
        let agent = self.agents.iter().find(|agent| agent.seat == seat);
        let Some((client, key)) = agent.and_then(super::agents::Agent::line) else { return };
        let (line, token) = self.circle.add(seat);
        let params = json!({
            "key": key, "to": to, "parts": [{ "text": format!("{token} hello") }], "idempotencyKey": token,
        });
        self.request(client, "msg.send", params, Asked::Line(line));
    }

    /// A person reads on in a room, or says that they had read less.
    fn read_on(&mut self, seat: usize) {
        let room = self.room_for(seat);
        let up_to = self.dice.below(60);
        let params = json!({ "conversation": room, "upTo": up_to });
        self.ask_at(seat, "conv.markRead", params, Asked::Said);
    }

    /// A person is told of every change from now on, and of those they may have missed.
    fn follow(&mut self, seat: usize) {
        let params =
            if self.dice.chance(50) { json!({}) } else { json!({ "since": self.dice.below(40) }) };
        self.ask_at(seat, "conv.subscribe", params, Asked::Said);
    }

    /// A person looks at what waits on all of their machines, and answers on each as it comes to their mind.
    fn answer_at_once(&mut self, seat: usize) {
        for seat in self.own_seats(seat) {
            self.ask_at(seat, "request.list", json!({}), Asked::Requests(seat));
        }
    }

    /// In the middle of a run somebody loses a machine: it says a few more things, and then it is removed.
    fn perhaps_lose(&mut self) {
        if self.circle.chosen || self.acts_left > self.profile.actions / 2 {
            return;
        }
        let spare = |least: usize| -> Vec<usize> {
            let is_spare = |seat: &usize| *seat != 0 && self.own_seats(*seat).len() >= least;
            self.seats_here().into_iter().filter(is_spare).collect()
        };
        // Where two are left, one may hear of it and the other not.
        let spare = if spare(3).is_empty() { spare(2) } else { spare(3) };
        let Some(seat) = self.dice.pick(&spare).copied() else { return };
        self.circle.chosen = true;
        let others: Vec<usize> =
            self.own_seats(seat).into_iter().filter(|other| *other != seat).collect();
        // The others say something first; then one of them hears nothing any more.
        for other in &others {
            self.say_at(*other);
        }
        let away = self.dice.pick(&others).copied();
        if let Some(away) = away.filter(|_| self.profile.misfortune > 0 && self.dice.chance(60)) {
            self.remind(2_000, Reminder::Part(away));
        }
        for turn in 0..self.dice.between(1, 4) {
            self.remind(3_000 + 1_000 * turn, Reminder::Say(seat));
        }
        let delay = 6_000 + self.dice.tail(2_000, 20_000);
        self.remind(delay, Reminder::Lose(seat));
    }

    /// A machine is cut off, for long enough to miss what the others say.
    pub(super) fn part(&mut self, seat: usize) {
        if !self.healed {
            self.world.set_cut_off(seat, true);
            let lasts = self.dice.between(30_000, 90_000);
            self.remind(lasts, Reminder::Heal(Mend::Join(seat)));
        }
    }

    /// The machine is removed, perhaps while its person says something elsewhere, or while others do not hear of it.
    pub(super) fn lose(&mut self, seat: usize) {
        let machine = self.seats.get(seat).and_then(|held| held.machine.clone());
        let others: Vec<usize> =
            self.own_seats(seat).into_iter().filter(|other| *other != seat).collect();
        if self.healed || others.is_empty() || self.circle.lost.is_some() {
            return;
        }
        if self.dice.chance(40) {
            self.say_apart(seat);
        }
        let by =
            if self.dice.chance(70) { 0 } else { self.dice.pick(&others).copied().unwrap_or(0) };
        let client = self.seats.get(by).and_then(|held| held.client);
        let (Some(machine), Some(client)) = (machine, client) else {
            return self.remind(2_000, Reminder::Lose(seat));
        };
        self.circle.lost = Some(seat);
        self.ledger.may_be_removed(seat);
        let params = json!({ "machine": machine });
        self.request(client, "team.remove", params, Asked::Remove { target: seat });
    }

    /// Whether a machine holds a line whose text begins with a token, and the state that it shows.
    pub(super) fn line_at(&self, seat: usize, token: &str) -> Option<Option<String>> {
        let rows = self.world.daemons().get(seat).and_then(|daemon| daemon.rows())?;
        let sql = "SELECT state FROM lines WHERE text LIKE ?1 AND notice = 0";
        let state = rows.row(sql, params![format!("{token} %")], |row| row.get(0));
        state.ok().flatten()
    }
}
