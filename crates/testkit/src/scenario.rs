//! One run: people and agents who use the daemons of a world while things go wrong, and what they may rely on.
//!
//! The acts are chosen as the run goes, by dice that follow from the seed: what clients see decides what they can do next,
//! and the same seed sees the same.

mod absence;
mod agents;
mod chaos;
mod circle;
mod consent;
mod end;
mod jobs;
mod ledger;
mod tasks;
mod teams;

use crate::agenda::At;
use crate::dice::Dice;
use crate::profile::Profile;
use crate::world::{ClientId, Happened, Party, World};
use jobs::Jobs;
use ledger::Ledger;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The seed, which makes the run again.
    pub seed: u64,
    /// What did not hold.
    pub violations: Vec<String>,
    /// Events handled.
    pub steps: u64,
    /// Messages that were promised to their senders.
    pub promised: usize,
    /// Of those, the ones that reached an inbox.
    pub arrived: usize,
    /// Tasks that were asked for.
    pub tasks: usize,
    /// Lines that daemons took from persons and their agents.
    pub lines: usize,
    /// How long the run took, in its own time, ms.
    pub lasted: At,
    /// The same for two runs of the seed.
    pub fingerprint: u64,
}

/// A run under way.
pub struct Scenario {
    seed: u64,
    profile: Profile,
    dice: Dice,
    world: World,
    seats: Vec<Seat>,
    agents: Vec<agents::Agent>,
    ledger: Ledger,
    jobs: Jobs,
    absence: absence::Absence,
    circle: circle::Circle,
    /// Requests that wait for their answer.
    asked: BTreeMap<(ClientId, i64), Asked>,
    requests: i64,
    /// Acts that clients may still do.
    acts_left: u32,
    /// When somebody last did.
    last_act: At,
    /// Nothing goes wrong any more.
    healed: bool,
    /// Reminders that are out.
    reminders: BTreeMap<u64, Reminder>,
    reminded: u64,
}

/// One machine and the person at it.
#[derive(Debug)]
struct Seat {
    person: String,
    label: String,
    /// The person's connection to the admin socket.
    client: Option<ClientId>,
    standing: teams::Standing,
    /// This machine's id, once it has one.
    machine: Option<String>,
    /// A ticket that was handed to this person.
    ticket: Option<String>,
    /// A founding, joining or looking is under way.
    busy: bool,
    /// Whose agents this person lets ask theirs, as said on this machine.
    welcomed: Vec<String>,
}

/// What a request was for.
#[derive(Clone, Debug)]
enum Asked {
    Register(usize),
    Subscribe(usize),
    List(usize),
    Tasks(usize),
    Send(usize),
    Report {
        agent: usize,
        job: usize,
        piece: Option<usize>,
    },
    Cancel,
    Take(String),
    Read(usize, String),
    Found(usize),
    Look(usize),
    Invite {
        to: usize,
    },
    Join(usize),
    Remove {
        target: usize,
    },
    TeamAct,
    Welcome {
        seat: usize,
        person: String,
    },
    Requests(usize),
    Answered,
    /// A line that a person or an agent wrote.
    Line(usize),
    /// Something about grants, channels and cursors.
    Said,
}

/// What somebody wants to be reminded of.
#[derive(Clone, Debug)]
enum Reminder {
    Act,
    Misfortune,
    Connect(usize),
    Open(usize),
    Pursue(usize),
    Take(usize, String),
    Read(usize, String),
    Work(usize, usize),
    Answer(usize, usize),
    Cancel(usize, usize),
    Return,
    Heal(chaos::Mend),
    Consent(usize),
    Lose(usize),
    Part(usize),
    Say(usize),
}

impl Scenario {
    /// Sets a run up.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let profile = Profile::of(seed);
        let mut scenario = Self {
            seed,
            dice: Dice::stream(seed, 4),
            world: World::new(seed),
            seats: Vec::new(),
            agents: Vec::new(),
            ledger: Ledger::default(),
            jobs: Jobs::default(),
            absence: absence::Absence::default(),
            circle: circle::Circle::default(),
            asked: BTreeMap::new(),
            requests: 0,
            acts_left: profile.actions,
            last_act: 0,
            healed: false,
            reminders: BTreeMap::new(),
            reminded: 0,
            profile,
        };
        scenario.world.watch.persons.are_there = scenario.profile.circle;
        scenario.set_up();
        scenario
    }

    /// Tells every step to `trace`.
    pub fn set_trace(&mut self, trace: fn(&str)) {
        trace(&format!("{:?}", self.profile));
        self.world.set_trace(trace);
    }

    /// Runs to the end, and says what did not hold.
    #[must_use]
    pub fn run(mut self) -> Report {
        let end = LONGEST_RUN + self.profile.away;
        while self.goes_on() && self.world.now() < end {
            match self.world.next(end) {
                Some(happened) => self.hear(happened),
                None => break,
            }
        }
        self.heal();
        self.settle();
        self.sit_together();
        self.verify();
        let (promised, arrived) = self.ledger.counts();
        Report {
            seed: self.seed,
            violations: self.world.watch.violations().to_vec(),
            steps: self.world.steps(),
            promised,
            arrived,
            tasks: self.jobs.all().iter().filter(|job| job.id.is_some()).count(),
            lines: self.circle.taken_lines(),
            lasted: self.world.now(),
            fingerprint: self.world.fingerprint(),
        }
    }

    /// Whether somebody still acts, is away, or works on what was asked.
    fn goes_on(&self) -> bool {
        self.acts_left > 0
            || self.absence.lasts()
            || self.world.now() < self.last_act.saturating_add(self.profile.lingers)
    }

    fn set_up(&mut self) {
        for number in 0..self.profile.machines {
            // A few seconds apart, as clocks are.
            let offset = i64::try_from(self.dice.below(8_000)).unwrap_or(0) - 4_000;
            let machine = self.world.add_machine(offset);
            let (delay, worst) = self.profile.delay;
            let quality = crate::network::Quality { delay, worst };
            self.world.network_mut().set_quality(machine, quality);
            let person = PERSONS.get(number % self.profile.persons).copied().unwrap_or("alice");
            self.seats.push(Seat {
                person: person.to_owned(),
                label: format!("box-{number}"),
                client: None,
                standing: teams::Standing::Outside,
                machine: None,
                ticket: None,
                busy: false,
                welcomed: Vec::new(),
            });
            self.remind(2_000, Reminder::Consent(number));
            let delay = self.dice.below(500);
            self.world.start(Party::Daemon(machine), delay);
        }
        self.world.start(Party::Relay, 0);
        self.remind(1_000, Reminder::Act);
        if self.profile.misfortune > 0 {
            self.remind(3_000, Reminder::Misfortune);
        }
    }

    fn hear(&mut self, happened: Happened) {
        match happened {
            Happened::Up(Party::Daemon(seat)) => self.daemon_is_up(seat),
            Happened::Down(party) if self.absence.is_of(party) => {}
            Happened::Down(party) => {
                if !self.healed {
                    let delay = self.dice.tail(300, 20_000);
                    self.world.start(party, delay);
                } else {
                    self.world.start(party, 100);
                }
            }
            Happened::Line(client, line) => self.line(client, &line),
            Happened::Hung(client) => self.hung(client),
            Happened::Reminder(number) => {
                if let Some(reminder) = self.reminders.remove(&number) {
                    self.reminded_of(reminder);
                }
            }
            Happened::Up(Party::Relay) | Happened::Nothing => {}
        }
    }

    fn reminded_of(&mut self, reminder: Reminder) {
        match reminder {
            Reminder::Act => self.act(),
            Reminder::Misfortune => self.misfortune(),
            Reminder::Connect(agent) => self.agent_connects(agent),
            Reminder::Open(seat) => self.person_connects(seat),
            Reminder::Pursue(seat) => self.pursue(seat),
            Reminder::Take(agent, id) => self.take_item(agent, id),
            Reminder::Read(agent, id) => self.read_item(agent, id),
            Reminder::Work(agent, job) => self.work_on(agent, job),
            Reminder::Answer(agent, job) => self.answer(agent, job),
            Reminder::Cancel(agent, job) => self.give_up(agent, job),
            Reminder::Return => self.return_absent(),
            Reminder::Heal(mend) => self.mend(mend),
            Reminder::Consent(seat) => self.consents(seat),
            Reminder::Lose(seat) => self.lose(seat),
            Reminder::Part(seat) => self.part(seat),
            Reminder::Say(seat) => self.say_at(seat),
        }
    }

    fn remind(&mut self, delay: u64, reminder: Reminder) {
        self.reminded += 1;
        self.reminders.insert(self.reminded, reminder);
        self.world.remind(delay, self.reminded);
    }

    /// Somebody does something.
    fn act(&mut self) {
        if self.healed || self.acts_left == 0 {
            return;
        }
        self.acts_left -= 1;
        self.last_act = self.world.now();
        self.perhaps_leave();
        if self.dice.chance(30) && self.invite_somebody() {
            // Nothing else comes to pass before people are in.
        } else if self.profile.circle && self.dice.chance(75) {
            self.act_in_circle();
        } else if self.dice.chance(self.profile.team_acts) {
            self.act_on_team();
        } else {
            self.act_as_agent();
        }
        let wait = self.dice.tail(self.profile.pace, self.profile.pace * 4);
        self.remind(wait, Reminder::Act);
    }

    fn daemon_is_up(&mut self, seat: usize) {
        let delay = self.dice.tail(20, 1_500);
        self.remind(delay, Reminder::Open(seat));
        for agent in 0..self.agents.len() {
            if self.agents.get(agent).is_some_and(|held| held.seat == seat && held.wants_in()) {
                let delay = self.dice.tail(30, 2_000);
                self.remind(delay, Reminder::Connect(agent));
            }
        }
    }

    fn request(&mut self, client: ClientId, method: &str, params: Value, asked: Asked) {
        self.requests += 1;
        let id = self.requests;
        let line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.asked.insert((client, id), asked);
        self.world.ask(client, format!("{line}\n").into_bytes());
    }

    fn line(&mut self, client: ClientId, line: &str) {
        let Ok(value) = serde_json::from_str::<Value>(line) else { return };
        if value["method"] == "event" {
            return self.event(client, &value["params"]);
        }
        let Some(id) = value["id"].as_i64() else { return };
        let Some(asked) = self.asked.remove(&(client, id)) else { return };
        match value["error"]["data"]["code"].as_str() {
            Some(code) => self.refused(client, asked, code),
            None => self.answered(client, asked, &value["result"]),
        }
    }

    /// A connection is gone, and with it the answers to what was asked on it.
    fn hung(&mut self, client: ClientId) {
        for seat in &mut self.seats {
            if seat.client == Some(client) {
                seat.client = None;
            }
        }
        self.agent_hung(client);
        let open: Vec<(ClientId, i64)> =
            self.asked.range((client, 0)..=(client, i64::MAX)).map(|(key, _)| *key).collect();
        for key in open {
            if let Some(asked) = self.asked.remove(&key) {
                self.unanswered(asked);
            }
        }
    }

    fn answered(&mut self, client: ClientId, asked: Asked, result: &Value) {
        match asked {
            Asked::Register(agent) => self.agent_registered(client, agent, result),
            Asked::List(agent) => self.inbox_listed(agent, result),
            Asked::Tasks(agent) => self.tasks_listed(agent, result),
            Asked::Send(message) => {
                self.ledger.promised(message, result, &mut self.world.watch);
                self.asked_for_task(message, result);
            }
            Asked::Report { agent, job, piece } => self.reported(agent, job, piece, result),
            Asked::Take(id) => self.ledger.took(&id),
            Asked::Read(agent, id) => self.item_was_read(agent, &id),
            Asked::Found(seat) | Asked::Join(seat) => self.entered(seat, result),
            Asked::Look(seat) => self.looked(seat, result),
            Asked::Invite { to } => self.invited(to, result),
            Asked::Remove { target } => self.removed(target),
            Asked::Welcome { seat, person } => self.welcomed(seat, person),
            Asked::Requests(seat) => self.requests_listed(seat, result),
            Asked::Line(line) => self.circle.taken(line, result),
            Asked::Subscribe(_)
            | Asked::Cancel
            | Asked::TeamAct
            | Asked::Answered
            | Asked::Said => {}
        }
    }

    fn refused(&mut self, client: ClientId, asked: Asked, code: &str) {
        match asked {
            Asked::Register(agent)
            | Asked::Subscribe(agent)
            | Asked::List(agent)
            | Asked::Tasks(agent) => {
                self.agent_refused(client, agent, code);
            }
            Asked::Send(message) => self.send_refused(message, code),
            Asked::Report { agent, job, piece } => self.report_refused(agent, job, piece, code),
            Asked::Cancel => {
                let codes =
                    ["internal", "not_found", "not_member", "invalid_state", "daemon_unavailable"];
                if !codes.contains(&code) {
                    self.world.watch.violation(format!("a cancel was refused: {code}"));
                }
            }
            Asked::Found(seat) | Asked::Join(seat) => self.not_entered(seat, code),
            Asked::Look(seat) => self.look_again(seat),
            Asked::Take(..) | Asked::Read(..) => {
                if !matches!(code, "internal" | "not_found" | "daemon_unavailable") {
                    self.world.watch.violation(format!("an inbox call was refused: {code}"));
                }
            }
            Asked::Line(line) => self.circle.refused(line, code, &mut self.world.watch),
            Asked::Invite { .. }
            | Asked::Remove { .. }
            | Asked::TeamAct
            | Asked::Welcome { .. }
            | Asked::Requests(_)
            | Asked::Answered
            | Asked::Said => {}
        }
    }

    fn unanswered(&mut self, asked: Asked) {
        match asked {
            Asked::Send(message) => self.send_unanswered(message),
            Asked::Found(seat) | Asked::Join(seat) | Asked::Look(seat) => self.look_again(seat),
            _ => {}
        }
    }
}

/// Who there may be.
const PERSONS: [&str; 5] = ["alice", "bob", "carol", "dave", "erin"];
/// The longest that a run goes on before it is healed, ms.
const LONGEST_RUN: At = 30 * 60_000;
