//! Two persons' real daemons and their real relay, killed without warning while their agents write to each other.
//! Spec: §7 "Store failures", §8.4, D3.5, D3.7, D3.8
//!
//! In every round some processes get `kill -9` at a random moment and start again. In the end, whatever was accepted stands
//! in its recipient's inbox once, was shown at most once, and every stage that a sender was told is true. The moments are the
//! operating system's: a seed repeats who is killed and what is written, not the run.

mod agent;
pub mod life;
mod verdict;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::dice::Dice;
pub use crate::programs::Problem;
use crate::programs::{Daemon, Ipc, PATIENCE, Relay, until};
use agent::Agent;
use verdict::Side;

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The executable that can be all programs.
    pub executable: PathBuf,
    /// An empty folder with a short path.
    pub folder: PathBuf,
    /// How often something is killed.
    pub rounds: u32,
    /// Whom, and what is written in between.
    pub seed: u64,
}

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How often each was killed: the relay, the first daemon, the second.
    pub kills: [u32; 3],
    /// Messages that were accepted.
    pub accepted: usize,
    /// Of those, how many were read, and how many answered.
    pub read: usize,
    /// Messages that answered another.
    pub replied: usize,
    /// Invites whose fate was told to the admin.
    pub invites: usize,
    /// Connections that ended under an agent.
    pub hang_ups: u32,
    /// Calls whose answer was lost, and that were made again.
    pub lost_answers: u32,
    /// What did not hold.
    pub violations: Vec<String>,
    /// How long it took.
    pub took: Duration,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [relay, first, second] = self.kills;
        write!(
            f,
            "{} kills (relay {relay}, daemons {first} and {second}), {} messages accepted, {} read, {} answers, {} invites, \
             {} broken connections, {} lost answers, {:.1} s; {} violations",
            relay + first + second,
            self.accepted,
            self.read,
            self.replied,
            self.invites,
            self.hang_ups,
            self.lost_answers,
            self.took.as_secs_f64(),
            self.violations.len()
        )
    }
}

/// Runs a plan. `tell` is told of every round.
///
/// Errors: something could not be started, or nothing came of it in time; a program that ended by itself. What did not hold
/// is in the report.
pub fn run(plan: &Plan, mut tell: impl FnMut(&str)) -> Result<Report, Problem> {
    let began = Instant::now();
    let mut house = House::found(plan)?;
    let mut dice = Dice::stream(plan.seed, 1);
    let orders = [Orders::default(), Orders::default()];
    let mut kills = [0; 3];
    let (killed, ledgers) = thread::scope(|scope| {
        let agents: Vec<_> = (0..2)
            .zip(&orders)
            .map(|(who, orders)| {
                let agent = Agent::new(who, house.daemons[who].home(), plan.seed);
                scope.spawn(move || agent.work(orders))
            })
            .collect();
        let killed = (0..plan.rounds).try_for_each(|round| {
            let victims = house.round(&mut dice, &orders)?;
            for (count, victim) in kills.iter_mut().zip(victims) {
                *count += u32::from(victim);
            }
            tell(&format!("round {}: {}", round + 1, named(victims)));
            Ok::<_, Problem>(())
        });
        // The agents stop even after a failure: the scope waits for them.
        for order in &orders {
            order.stop(killed.is_err());
        }
        let ledgers: Vec<_> = agents.into_iter().map(thread::ScopedJoinHandle::join).collect();
        (killed, ledgers)
    });
    killed?;
    let mut sides = Vec::new();
    for (ledger, daemon) in ledgers.into_iter().zip(&house.daemons) {
        let ledger = ledger.map_err(|_| "an agent panicked")??;
        sides.push(Side::new(ledger, daemon.ipc()?)?);
    }
    tell("everything is up; what was accepted has to arrive");
    let mut report = verdict::settle(sides)?;
    for daemon in &mut house.daemons {
        daemon.stop()?;
    }
    house.relay.stop()?;
    report.kills = kills;
    report.took = began.elapsed();
    Ok(report)
}

/// What an agent is told while it works.
#[derive(Debug, Default)]
struct Orders {
    /// How many messages it is to send in all, so far.
    to_send: AtomicUsize,
    /// It is to end when they are sent.
    finish: AtomicBool,
    /// It is to end now.
    abort: AtomicBool,
}

impl Orders {
    fn send(&self, more: usize) {
        self.to_send.fetch_add(more, Ordering::Relaxed);
    }

    fn stop(&self, at_once: bool) {
        self.abort.store(at_once, Ordering::Relaxed);
        self.finish.store(true, Ordering::Relaxed);
    }
}

/// The three processes.
struct House {
    relay: Relay,
    daemons: [Daemon; 2],
}

/// The persons, and the label of each one's machine.
const PERSONS: [(&str, &str); 2] = [("alice", "laptop"), ("bob", "desk")];
/// The one session of each.
const SESSION: &str = "api";

impl House {
    /// Starts everything, and makes a team of the two machines.
    fn found(plan: &Plan) -> Result<Self, Problem> {
        let Plan { executable, folder, .. } = plan;
        let relay = Relay::start(executable, &folder.join("relay.db"), &[])?;
        let daemon = |name| Daemon::start(executable, &folder.join(name));
        let daemons = [daemon("a")?, daemon("b")?];
        let [alice, bob] = [daemons[0].ipc()?, daemons[1].ipc()?].map(Caller);
        let [(founder, laptop), (guest, desk)] = PERSONS;
        alice.call(
            "team.create",
            &json!({"relay": relay.url(), "team": "chaos", "person": founder, "label": laptop}),
        )?;
        let invited = Caller(daemons[0].ipc()?).call("team.invite", &json!({"person": guest}))?;
        bob.call("team.join", &json!({"ticket": invited["ticket"], "label": desk}))?;
        // Nobody asks first whether these two may write to each other.
        for (daemon, other) in daemons.iter().zip([guest, founder]) {
            let mut ipc = daemon.ipc()?;
            let open = json!({"subject": {"person": other}, "ask": "open"});
            until("the other person", PATIENCE, || {
                Ok(ipc.call("grant.set", &open)?.is_ok().then_some(()))
            })?;
        }
        for (who, daemon) in daemons.iter().enumerate() {
            Caller(daemon.ipc()?).call("session.register", &agent::registration(who))?;
        }
        Ok(Self { relay, daemons })
    }

    /// Lets the agents write, kills at a random moment, and starts again what was killed.
    fn round(&mut self, dice: &mut Dice, orders: &[Orders; 2]) -> Result<[bool; 3], Problem> {
        // Half of the moments are in calm weather, the others while the last round is still being mended.
        if dice.chance(50) {
            self.wait_for_links()?;
        }
        for order in orders {
            order.send(usize::try_from(dice.between(1, 3))?);
        }
        // No wait for anything: the moment itself is drawn.
        thread::sleep(Duration::from_micros(dice.below(120_000)));
        let victims = victims(dice);
        let [relay, first, second] = victims;
        if relay {
            self.relay.kill()?;
        }
        for (daemon, _) in self.daemons.iter_mut().zip([first, second]).filter(|(_, is)| *is) {
            daemon.kill()?;
        }
        // Whoever is left writes on, to somebody who is not there.
        thread::sleep(Duration::from_micros(dice.below(100_000)));
        for (daemon, _) in self.daemons.iter_mut().zip([first, second]).filter(|(_, is)| *is) {
            daemon.start_again()?;
        }
        if relay {
            self.relay.start_again()?;
            self.wake()?;
        }
        Ok(victims)
    }

    /// Tells the daemons that the relay may be there again: how long they would wait by themselves is not the question.
    fn wake(&self) -> Result<(), Problem> {
        for daemon in &self.daemons {
            Caller(daemon.ipc()?).call("daemon.woke", &json!({}))?;
        }
        Ok(())
    }

    fn wait_for_links(&self) -> Result<(), Problem> {
        for daemon in &self.daemons {
            let mut ipc = daemon.ipc()?;
            until("a link to the relay", PATIENCE, || {
                let health = ipc.call("daemon.health", &json!({}))??;
                Ok((health["relay"] == "connected").then_some(()))
            })?;
        }
        Ok(())
    }
}

/// Who is killed: the relay, the first daemon, the second. Mostly one of them.
fn victims(dice: &mut Dice) -> [bool; 3] {
    match dice.below(10) {
        0..=2 => [true, false, false],
        3..=5 => [false, true, false],
        6..=7 => [false, false, true],
        8 => [false, true, true],
        _ => [true, true, true],
    }
}

fn named(victims: [bool; 3]) -> String {
    let names: Vec<_> = ["relay", PERSONS[0].0, PERSONS[1].0]
        .into_iter()
        .zip(victims)
        .filter_map(|(name, is)| is.then_some(name))
        .collect();
    format!("killed {}", names.join(", "))
}

/// One call on a connection of its own.
struct Caller(Ipc);

impl Caller {
    fn call(mut self, method: &str, params: &Value) -> Result<Value, Problem> {
        Ok(self.0.call(method, params)?.map_err(|refused| format!("{method}: {refused}"))?)
    }
}

/// A folder for a run: private, and with a path that leaves room for a socket's.
///
/// Errors: what the system says.
pub fn folder() -> Result<tempfile::TempDir, Problem> {
    let usual = std::env::temp_dir();
    let base = if usual.as_os_str().len() <= 40 { usual.as_path() } else { Path::new("/tmp") };
    Ok(tempfile::Builder::new().prefix("chaos-").tempdir_in(base)?)
}
