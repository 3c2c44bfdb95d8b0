//! A machine's life, in weeks: keys rotate, homes come back from copies, run twice, lose their keys or their place, clocks are
//! wrong, and machines are away for days. Agents write to each other all the while.
//! Spec: §4 "Encryption-key rotation", §8.9, D3.22, D3.23, D3.28
//!
//! Nobody sits at a machine for weeks: what passes between two sittings costs a run nothing, since every daemon is down
//! then. In each sitting most machines are up for some minutes, and their agents write.

mod fate;
mod letters;
mod sitting;

use crate::agenda::At;
use crate::dice::Dice;
use crate::scenario::Report;
use crate::world::{ClientId, Happened, HomeCopy, World};
use fate::Fate;
use letters::Letters;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A run under way.
pub struct Life {
    seed: u64,
    dice: Dice,
    world: World,
    seats: Vec<Seat>,
    letters: Letters,
    fate: Fate,
    requests: i64,
    /// What came for the request that is waited for.
    answer: Option<(i64, Value)>,
    /// Connections that ended.
    hung: Vec<ClientId>,
    /// Everybody is going away.
    closing: bool,
    /// Machines that nobody uses any more.
    gone: BTreeSet<usize>,
    /// Machines whose letters need not arrive now.
    disturbed: BTreeSet<usize>,
    /// The relay's clock is wrong.
    relay_wrong: bool,
}

/// A machine, and the home it runs from.
struct Seat {
    label: String,
    client: Option<ClientId>,
    agent: Option<ClientId>,
    machine: Option<String>,
    /// It is in the team, as far as is known.
    is_in: bool,
    /// Until when it is away, ms.
    away_until: At,
    /// Its home at the end of earlier sittings.
    copies: Vec<(At, HomeCopy)>,
}

const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;
const MINUTE: u64 = 60_000;

impl Life {
    /// Whether a seed is a life.
    #[must_use]
    pub fn is_of(seed: u64) -> bool {
        Dice::stream(seed, 6).chance(LIVES)
    }

    /// Sets a run up.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut dice = Dice::stream(seed, 7);
        let fate = Fate::of(&mut dice);
        Self {
            seed,
            dice,
            world: World::new(seed),
            seats: Vec::new(),
            letters: Letters::default(),
            fate,
            requests: 0,
            answer: None,
            hung: Vec::new(),
            closing: false,
            gone: BTreeSet::new(),
            disturbed: BTreeSet::new(),
            relay_wrong: false,
        }
    }

    /// Tells every step to `trace`.
    pub fn set_trace(&mut self, trace: fn(&str)) {
        trace(&format!("{:?}", self.fate));
        self.world.set_trace(trace);
    }

    /// Runs to the end, and says what did not hold.
    #[must_use]
    pub fn run(mut self) -> Report {
        self.found();
        let sittings = self.dice.between(8, 16);
        let turn = self.dice.between(3, sittings - 3);
        for number in 0..sittings {
            let gap = *self.dice.pick(&[6 * HOUR, DAY, DAY, 2 * DAY, 4 * DAY]).unwrap_or(&DAY);
            self.sleep(gap);
            if number == turn {
                self.befall();
            }
            self.sit();
            if number == turn + 2 {
                self.remedy();
            }
        }
        self.recover();
        let (promised, arrived) = self.letters.counts();
        Report {
            seed: self.seed,
            violations: self.world.watch.violations().to_vec(),
            steps: self.world.steps(),
            promised,
            arrived,
            tasks: 0,
            lines: 0,
            lasted: self.world.now(),
            fingerprint: self.world.fingerprint(),
        }
    }

    fn violation(&mut self, what: impl Into<String>) {
        let what = what.into();
        self.world.watch.violation(what);
    }

    /// Lets the world go on for a while.
    fn pass(&mut self, ms: u64) {
        let until = self.world.now() + ms;
        while let Some(happened) = self.world.next(until) {
            self.hear(happened);
        }
    }

    fn hear(&mut self, happened: Happened) {
        match happened {
            Happened::Line(_, line) => {
                let Ok(value) = serde_json::from_str::<Value>(&line) else { return };
                if let Some(id) = value["id"].as_i64() {
                    self.answer = Some((id, value));
                }
            }
            Happened::Hung(client) => {
                for seat in &mut self.seats {
                    seat.client = seat.client.filter(|held| *held != client);
                    seat.agent = seat.agent.filter(|held| *held != client);
                }
                self.hung.push(client);
            }
            // Whoever crashes in a sitting comes back in it.
            Happened::Down(party) if !self.closing => {
                let delay = self.dice.tail(300, 5_000);
                self.world.start(party, delay);
            }
            Happened::Down(_) | Happened::Up(_) | Happened::Reminder(_) | Happened::Nothing => {}
        }
    }

    /// Asks a daemon and waits for the answer.
    ///
    /// Errors: the code of a refusal; `lost` when no answer came.
    fn ask(&mut self, client: ClientId, method: &str, params: Value) -> Result<Value, String> {
        self.requests += 1;
        let id = self.requests;
        let line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.world.ask(client, format!("{line}\n").into_bytes());
        let until = self.world.now() + MINUTE;
        while let Some(happened) = self.world.next(until) {
            self.hear(happened);
            if let Some((_, value)) = self.answer.take_if(|(answered, _)| *answered == id) {
                return match value["error"]["data"]["code"].as_str() {
                    Some(code) => Err(code.to_owned()),
                    None => Ok(value["result"].clone()),
                };
            }
            if self.hung.contains(&client) {
                break;
            }
        }
        Err("lost".to_owned())
    }

    /// Asks at a machine's admin socket.
    fn ask_at(&mut self, seat: usize, method: &str, params: Value) -> Result<Value, String> {
        let client = self.seats.get(seat).and_then(|held| held.client);
        client.map_or(Err("lost".to_owned()), |client| self.ask(client, method, params))
    }
}

/// Of a hundred seeds: the ones that are lives.
const LIVES: u64 = 7;
