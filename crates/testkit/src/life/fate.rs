//! What befalls one machine in the middle of its life, what must hold then, and the remedy.
//! Spec: §4, §8.9, D3.22, D3.23

use super::{DAY, HOUR, Life, MINUTE};
use crate::dice::Dice;
use crate::world::Party;
use serde_json::{Value, json};

/// What befalls a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Nothing but the calendar.
    Nothing,
    /// An admin removes it.
    Removal,
    /// Its home comes back from a copy.
    Restore,
    /// Its keys alone come back from a copy.
    OldKeys,
    /// Its keys are gone.
    NoKeys,
    /// Its home runs twice.
    Twin,
    /// Its clock is wrong, or the relay's.
    Clock { relay: bool, by: i64 },
    /// An admin replaces its key.
    AdminRekey,
}

/// What befalls whom, and what it was before.
pub(super) struct Fate {
    kind: Kind,
    victim: usize,
    twin: Option<usize>,
}

impl std::fmt::Debug for Fate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} at machine {}", self.kind, self.victim)
    }
}

impl Fate {
    pub(super) fn of(dice: &mut Dice) -> Self {
        let kind = match dice.below(12) {
            0 => Kind::Nothing,
            1 => Kind::Removal,
            2..5 => Kind::Restore,
            5 => Kind::OldKeys,
            6 => Kind::NoKeys,
            7..9 => Kind::Twin,
            9..11 => {
                const BY: [u64; 5] = [5 * MINUTE, HOUR, DAY, 30 * DAY, 365 * DAY];
                let by = dice.pick(&BY).copied().unwrap_or(HOUR).cast_signed();
                Kind::Clock { relay: dice.chance(35), by: if dice.chance(50) { by } else { -by } }
            }
            _ => Kind::AdminRekey,
        };
        Self { kind, victim: 2, twin: None }
    }
}

impl Life {
    /// Which machine's home a seat runs from: a twin's is the other's.
    pub(super) fn home_of(&self, seat: usize) -> usize {
        if self.fate.twin == Some(seat) { self.fate.victim } else { seat }
    }

    /// It happens, while nobody is up.
    pub(super) fn befall(&mut self) {
        let victim = self.fate.victim;
        match self.fate.kind {
            Kind::Nothing => {}
            Kind::Removal => self.remove(victim),
            Kind::Restore => {
                let copies = self.seats.get(victim).map_or(0, |held| held.copies.len());
                let index = self.dice.index(copies).unwrap_or(0);
                let copy = self
                    .seats
                    .get_mut(victim)
                    .filter(|_| copies > 0)
                    .map(|held| held.copies.remove(index));
                if let Some((_, copy)) = copy {
                    self.world.put_home(victim, &copy);
                    self.letters.excuse(Some(victim));
                }
            }
            Kind::OldKeys => {
                let copies = self.seats.get(victim).map_or(0, |held| held.copies.len());
                let index = self.dice.index(copies).unwrap_or(0);
                if let Some((_, copy)) =
                    self.seats.get(victim).and_then(|held| held.copies.get(index))
                {
                    self.world.put_keys(victim, Some(copy));
                }
                self.letters.excuse(Some(victim));
            }
            Kind::NoKeys => self.world.put_keys(victim, None),
            Kind::Twin => self.double(victim),
            Kind::Clock { relay, by } => {
                let party = if relay { Party::Relay } else { Party::Daemon(victim) };
                self.world.set_clock(party, by);
                self.letters.excuse(Some(victim).filter(|_| !relay));
                self.relay_wrong = relay;
                if !relay {
                    self.disturbed.insert(victim);
                }
            }
            Kind::AdminRekey => {
                self.with_host(|life, host| {
                    let machine = life.seats.get(victim).and_then(|held| held.machine.clone());
                    if let Err(code) =
                        life.ask_at(host, "team.rekey", json!({ "machine": machine }))
                    {
                        life.violation(format!("an admin's rekey was refused: {code}"));
                    }
                });
                self.letters.excuse(Some(victim));
                self.disturbed.insert(victim);
            }
        }
        self.see_alarm(victim);
    }

    /// Whose home raises an alarm is owed nothing.
    fn see_alarm(&mut self, seat: usize) {
        let machine =
            self.seats.get(seat).and_then(|held| held.machine.clone()).unwrap_or_default();
        if self.world.alarm_of(seat, &machine) == Some("restored") {
            self.letters.excuse(Some(seat));
            self.disturbed.insert(seat);
        }
    }

    /// An admin's machine comes up for as long as it takes to do something.
    fn with_host(&mut self, act: impl FnOnce(&mut Self, usize)) {
        self.wake(0);
        self.pass(MINUTE);
        act(self, 0);
        self.pass(MINUTE);
        self.close();
    }

    fn remove(&mut self, seat: usize) {
        self.letters.excuse(Some(seat));
        self.disturbed.insert(seat);
        self.with_host(|life, host| {
            let machine = life.seats.get(seat).and_then(|held| held.machine.clone());
            if let Err(code) = life.ask_at(host, "team.remove", json!({ "machine": machine })) {
                life.violation(format!("a removal was refused: {code}"));
            }
        });
        if let Some(held) = self.seats.get_mut(seat) {
            held.is_in = false;
        }
    }

    /// A second copy of a home runs beside it for some hours: the two do not fight for ever, and nothing is lost.
    fn double(&mut self, victim: usize) {
        let label = self.seats.get(victim).map(|held| held.label.clone()).unwrap_or_default();
        let machine = self.seats.get(victim).and_then(|held| held.machine.clone());
        let twin = self.add_seat(&label);
        let Some(copy) = self.world.copy_home(victim) else { return };
        self.world.put_home(twin, &copy);
        if let Some(held) = self.seats.get_mut(twin) {
            (held.machine, held.is_in) = (machine, true);
        }
        self.fate.twin = Some(twin);
        let dials = |life: &Self| -> u32 {
            let daemons = life.world.daemons();
            [victim, twin].iter().filter_map(|at| daemons.get(*at)).map(|daemon| daemon.dials).sum()
        };
        let before = dials(self);
        let here = [0, 1, victim, twin];
        for seat in here {
            self.wake(seat);
        }
        self.pass(20_000);
        for round in 0..12 {
            for seat in here {
                self.wake(seat);
                if self.dice.chance(40) {
                    self.write_to_somebody(seat);
                }
            }
            self.pass(15 * MINUTE);
            if round == 1 {
                self.check_twin(victim, twin);
            }
        }
        self.look();
        // One try in twenty minutes for each, and the war before.
        let dialled = dials(self) - before;
        if dialled > 40 {
            self.violation(format!("two copies of a home dialled {dialled} times in three hours"));
        }
        // The remedy: one of them ends for good.
        self.close();
        self.gone.insert(twin);
        self.letters.excuse(Some(twin));
        // What one of the two took off the relay and had no time to tell about, the other may have refused.
        self.letters.excuse(Some(victim));
    }

    fn check_twin(&mut self, victim: usize, twin: usize) {
        let mut said = Vec::new();
        for seat in [victim, twin] {
            let status = self.ask_at(seat, "daemon.status", json!({})).unwrap_or_default();
            said.push(status["relay"]["lastError"].as_str().unwrap_or_default().to_owned());
        }
        if !said.iter().any(|said| said == messaging_daemon_engine::TWIN) {
            self.violation(format!("neither of two copies of a home says so: {said:?}"));
        }
    }

    /// A sitting later the person does what the alarm asks for.
    pub(super) fn remedy(&mut self) {
        let victim = self.fate.victim;
        match self.fate.kind {
            Kind::Nothing | Kind::Removal | Kind::Restore | Kind::OldKeys | Kind::Twin => {}
            Kind::NoKeys => {
                let seat = self.seats.get(victim);
                let kept = seat.and_then(|held| {
                    held.copies.iter().rev().find(|(_, copy)| copy.has_keys()).map(|(_, copy)| copy)
                });
                self.world.put_keys(victim, kept);
            }
            Kind::Clock { relay, .. } => {
                let party = if relay { Party::Relay } else { Party::Daemon(victim) };
                self.world.set_clock(party, 0);
                self.letters.excuse(Some(victim).filter(|_| !relay));
                self.relay_wrong = false;
                self.disturbed.remove(&victim);
            }
            Kind::AdminRekey => {
                self.wake(victim);
                self.pass(MINUTE);
                self.rotate_now(victim);
                self.pass(MINUTE);
                self.close();
                self.letters.excuse(Some(victim));
                self.disturbed.remove(&victim);
            }
        }
        let machine =
            self.seats.get(victim).and_then(|held| held.machine.clone()).unwrap_or_default();
        let is_out = self.seats.get(victim).is_some_and(|held| !held.is_in);
        if is_out || self.world.alarm_of(victim, &machine) == Some("restored") {
            self.replace(victim);
        }
    }

    /// The machine gets new keys and a new place; the old one goes.
    fn replace(&mut self, seat: usize) {
        if self.seats.get(seat).is_some_and(|held| held.is_in) {
            self.remove(seat);
        }
        self.gone.insert(seat);
        let new = self.add_seat("box-new");
        self.wake(0);
        self.wake(new);
        self.pass(MINUTE);
        self.join(new);
        self.pass(MINUTE);
        self.close();
    }

    /// A key is replaced by hand: a home with an alarm refuses.
    pub(super) fn rotate(&mut self, seat: usize) {
        let machine =
            self.seats.get(seat).and_then(|held| held.machine.clone()).unwrap_or_default();
        let alarm = self.world.alarm_of(seat, &machine);
        let asked = self.ask_at(seat, "identity.rotateEnc", json!({}));
        match (asked, alarm) {
            (Ok(_), Some(alarm)) => {
                self.violation(format!("machine {seat} replaced its key, and is {alarm}"));
            }
            (Err(code), None) => {
                let fair = [
                    "lost",
                    "internal",
                    "relay_unavailable",
                    "roster_conflict",
                    "invalid_state",
                    "not_member",
                    "rate_limited",
                    "no_identity",
                    "expired",
                ];
                if !fair.contains(&code.as_str()) {
                    self.violation(format!(
                        "replacing the key of machine {seat} was refused: {code}"
                    ));
                }
            }
            (Ok(_), None) | (Err(_), Some(_)) => {}
        }
    }

    fn rotate_now(&mut self, seat: usize) {
        for _ in 0..3 {
            match self.ask_at(seat, "identity.rotateEnc", json!({})) {
                Ok(_) => return,
                Err(code) if matches!(code.as_str(), "relay_unavailable" | "roster_conflict") => {
                    self.pass(2 * MINUTE);
                }
                Err(code) => {
                    return self
                        .violation(format!("machine {seat} cannot replace its key: {code}"));
                }
            }
        }
        self.violation(format!("machine {seat} cannot replace its key"));
    }

    /// What a machine says about itself is so, once it is connected.
    pub(super) fn check_alarm(&mut self, seat: usize) {
        let Some(held) = self.seats.get(seat).filter(|held| held.is_in) else { return };
        let machine = held.machine.clone().unwrap_or_default();
        let Ok(status) = self.ask_at(seat, "daemon.status", json!({})) else { return };
        let expected = self.world.alarm_of(seat, &machine);
        let is_up = status["relay"]["state"] == "connected" || expected == Some("keys_missing");
        if is_up && status["alarm"] != expected.map_or(Value::Null, Value::from) {
            self.violation(format!("machine {seat} says {}, and is {expected:?}", status["alarm"]));
        }
        if expected == Some("restored") {
            let invite = self.ask_at(seat, "team.invite", json!({ "person": "alice" }));
            if invite.is_ok() {
                self.violation(format!("machine {seat} runs from an older copy, and invites"));
            }
            self.letters.excuse(Some(seat));
            self.disturbed.insert(seat);
        }
    }

    /// Everything is well again: whoever is in the team hears from everybody else.
    pub(super) fn recover(&mut self) {
        self.look();
        self.verify_letters();
        let here: Vec<usize> = (0..self.seats.len())
            .filter(|seat| {
                !self.gone.contains(seat) && self.seats.get(*seat).is_some_and(|held| held.is_in)
            })
            .collect();
        for seat in &here {
            self.wake(*seat);
        }
        self.pass(3 * MINUTE);
        // Whoever was away for long may only now see that it runs from an older copy.
        let is_well = |life: &Self, seat: usize| {
            let machine = life.seats.get(seat).and_then(|held| held.machine.clone());
            life.world.alarm_of(seat, &machine.unwrap_or_default()).is_none()
        };
        let here: Vec<usize> = here.into_iter().filter(|seat| is_well(self, *seat)).collect();
        let mut open = Vec::new();
        for from in &here {
            self.wake(*from);
            for to in here.iter().filter(|to| *to != from) {
                let token = format!("w{:05}", self.requests);
                if self.write(*from, *to) {
                    open.push((token, *from, *to));
                } else {
                    self.violation(format!("in the end machine {from} cannot write to {to}"));
                }
            }
        }
        self.pass(4 * MINUTE);
        self.look();
        for (token, from, to) in open {
            if !self.letters.has(&token) {
                self.violation(format!("in the end {token} from machine {from} to {to} is lost"));
            }
        }
        for seat in here {
            self.check_alarm(seat);
        }
    }
}
