//! One sitting: machines come up, agents write, connections break, and everybody goes away again.

use super::{DAY, HOUR, Life, MINUTE, Seat};
use crate::world::{Crash, Party, RELAY_URL};
use messaging_daemon_engine::Tier;
use serde_json::json;

impl Life {
    /// The team: one person, and their machines.
    pub(super) fn found(&mut self) {
        self.world.watch.copies = true;
        let machines = self.dice.between(3, 4);
        for number in 0..machines {
            self.add_seat(&format!("box-{number}"));
        }
        self.world.start(Party::Relay, 0);
        self.pass(100);
        for seat in 0..self.seats.len() {
            let days = *self.dice.pick(&[2, 2, 3, 7]).unwrap_or(&2);
            self.world.configure(seat, &json!({ "identity": { "rotateEncDays": days } }));
            self.wake(seat);
        }
        self.pass(1_000);
        let create =
            json!({ "relay": RELAY_URL, "team": "garden", "person": "alice", "label": "box-0" });
        match self.ask_at(0, "team.create", create) {
            Ok(made) => self.is_in(0, made["device"].as_str()),
            Err(code) => self.violation(format!("founding was refused: {code}")),
        }
        for seat in 1..self.seats.len() {
            self.join(seat);
        }
        // Only who is an admin can remove, and the first may be the one that is lost.
        if let Some(second) = self.seats.get(1).and_then(|held| held.machine.clone()) {
            let role = json!({ "machine": second, "role": "admin" });
            if let Err(code) = self.ask_at(0, "team.role", role) {
                self.violation(format!("a role was refused: {code}"));
            }
        }
        self.pass(MINUTE);
        self.close();
    }

    pub(super) fn add_seat(&mut self, label: &str) -> usize {
        let offset = i64::try_from(self.dice.below(8_000)).unwrap_or(0) - 4_000;
        let seat = self.world.add_machine(offset);
        let quality = crate::network::Quality { delay: 20, worst: 500 };
        self.world.network_mut().set_quality(seat, quality);
        self.seats.push(Seat {
            label: label.to_owned(),
            client: None,
            agent: None,
            machine: None,
            is_in: false,
            away_until: 0,
            copies: Vec::new(),
        });
        seat
    }

    fn is_in(&mut self, seat: usize, machine: Option<&str>) {
        if let Some(held) = self.seats.get_mut(seat) {
            held.machine = machine.map(str::to_owned);
            held.is_in = true;
        }
    }

    /// A machine joins with an invite of somebody who is up.
    pub(super) fn join(&mut self, seat: usize) {
        let host = [0, 1].into_iter().find(|host| {
            *host != seat
                && self.seats.get(*host).is_some_and(|held| held.is_in && held.client.is_some())
        });
        let label = self.seats.get(seat).map(|held| held.label.clone());
        let Some(host) = host else { return self.violation("nobody is there to invite") };
        let invite = self.ask_at(host, "team.invite", json!({ "person": "alice" }));
        let ticket = invite.as_ref().map(|invite| invite["ticket"].clone());
        let joined = ticket.map_err(Clone::clone).and_then(|ticket| {
            self.ask_at(seat, "team.join", json!({ "ticket": ticket, "label": label }))
        });
        match joined {
            Ok(joined) => self.is_in(seat, joined["device"].as_str()),
            Err(code) => self.violation(format!("machine {seat} cannot join: {code}")),
        }
    }

    /// Nobody is up for a while but the relay.
    pub(super) fn sleep(&mut self, ms: u64) {
        let some = self.dice.below(HOUR);
        self.pass(ms + some);
    }

    /// A machine's daemon comes up, and whoever uses it connects.
    pub(super) fn wake(&mut self, seat: usize) {
        self.world.start(Party::Daemon(seat), 0);
        self.pass(50);
        self.connect(seat);
    }

    fn connect(&mut self, seat: usize) {
        let needs = |held: &Option<u64>| held.is_none();
        if self.seats.get(seat).is_some_and(|held| needs(&held.client)) {
            let client = self.world.connect(seat, Tier::Admin);
            if let Some(held) = self.seats.get_mut(seat) {
                held.client = client;
            }
        }
        if self.seats.get(seat).is_some_and(|held| held.is_in && needs(&held.agent))
            && let Some(agent) = self.world.connect(seat, Tier::Agent)
        {
            if let Some(held) = self.seats.get_mut(seat) {
                held.agent = Some(agent);
            }
            let key = key_of(self.home_of(seat));
            let params = json!({ "key": key, "agent": "codex", "name": "api", "tier": "pull" });
            if let Err(code) = self.ask(agent, "session.register", params)
                && !matches!(code.as_str(), "lost" | "no_identity" | "not_member")
            {
                self.violation(format!("registering at machine {seat} was refused: {code}"));
            }
        }
    }

    /// Machines that come up in a sitting.
    fn who_comes(&mut self) -> Vec<usize> {
        let now = self.world.now();
        let mut here = Vec::new();
        for seat in 0..self.seats.len() {
            if self.gone.contains(&seat)
                || self.seats.get(seat).is_some_and(|held| held.away_until > now)
            {
                continue;
            }
            let host = seat < 2;
            if !host && self.dice.chance(12) {
                // Away for days, and now and then for longer than envelopes live.
                let days = if self.dice.chance(15) {
                    self.dice.between(8, 12)
                } else {
                    self.dice.between(1, 5)
                };
                if let Some(held) = self.seats.get_mut(seat) {
                    held.away_until = now + days * DAY;
                }
                continue;
            }
            here.push(seat);
        }
        here
    }

    /// Everybody who comes writes to everybody, for some minutes.
    pub(super) fn sit(&mut self) {
        let here = self.who_comes();
        for seat in &here {
            self.wake(*seat);
        }
        self.pass(5_000);
        for round in 0..3 {
            for seat in &here {
                self.connect(*seat);
                if self.dice.chance(60) {
                    self.write_to_somebody(*seat);
                }
            }
            if round < 2 {
                self.misfortune(&here);
            }
            self.pass(50_000);
        }
        // Nothing goes wrong any more; what is under way comes to its end.
        self.pass(2 * MINUTE);
        // Whose keys are gone is as good as away.
        let able: Vec<usize> =
            here.iter().copied().filter(|seat| self.world.has_keys(*seat)).collect();
        self.letters.sat(self.world.now(), &able);
        self.look();
        for seat in here {
            self.check_alarm(seat);
        }
        self.close();
    }

    fn misfortune(&mut self, here: &[usize]) {
        let Some(seat) = self.dice.pick(here).copied() else { return };
        match self.dice.below(10) {
            0..2 => self.world.cut(seat),
            2..4 => {
                let some = usize::try_from(self.dice.below(4)).unwrap_or(0);
                let crash = Crash { inputs: some, effects: some, silent: self.dice.chance(20) };
                let party = if self.dice.chance(25) { Party::Relay } else { Party::Daemon(seat) };
                if self.world.is_up(party) {
                    self.world.crash(party, crash);
                    self.world.start(party, 500);
                }
            }
            4 => {
                // A key is replaced by hand, whatever the schedule says.
                self.rotate(seat);
            }
            _ => {}
        }
    }

    /// The daemons end, as when their machines are closed; each home as it is then may be copied.
    pub(super) fn close(&mut self) {
        let now = self.world.now();
        for seat in 0..self.seats.len() {
            let party = Party::Daemon(seat);
            if !self.world.is_up(party) {
                continue;
            }
            self.world.crash(party, Crash { inputs: 0, effects: 0, silent: false });
        }
        // One that had something waiting ends in its next turn.
        self.closing = true;
        self.pass(20);
        self.closing = false;
        for seat in 0..self.seats.len() {
            if let Some(held) = self.seats.get_mut(seat) {
                (held.client, held.agent) = (None, None);
            }
            if self.world.is_up(Party::Daemon(seat)) {
                self.world
                    .crash(Party::Daemon(seat), Crash { inputs: 0, effects: 0, silent: false });
            }
            if let (Some(copy), Some(held)) = (self.world.copy_home(seat), self.seats.get_mut(seat))
            {
                held.copies.push((now, copy));
            }
        }
    }
}

/// The session key of a machine's agent.
pub(super) fn key_of(seat: usize) -> String {
    format!("key-of-the-agent-at-machine-{seat:04}")
}
