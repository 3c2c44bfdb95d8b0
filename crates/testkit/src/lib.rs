//! The World: daemons and a relay in one process under virtual time, with everything that can go wrong.
//!
//! Real engines over real stores (in memory), and around them a clock, a network, disks, clients and people that are played
//! from one seed. A run is healed at its end; then nothing may be lost, shown twice or claimed falsely, and everybody agrees
//! on who is in the team. A seed that fails, fails again: `cargo run --release --bin simulate -- --seed N --trace`.
//!
//! # What is played
//! [`agenda`] virtual time, [`clock`] clocks that are wrong, [`dice`] chance, [`network`] connections that break.
//! # The run
//! [`world`] the processes, and what must hold at every step; [`profile`] what a seed is like; [`scenario`] who does what,
//! what goes wrong, and what must hold in the end; [`life`] a machine's life, in weeks.
//! # Beside the World
//! [`programs`] the real programs as processes, [`chaos`] what holds when they are killed, [`party`] members of a team that
//! speak to a relay without a daemon.
#![forbid(unsafe_code)]

pub mod agenda;
pub mod chaos;
pub mod clock;
pub mod dice;
pub mod life;
pub mod network;
pub mod party;
pub mod profile;
pub mod programs;
pub mod scenario;
pub mod world;

/// Runs a seed, and tells every step to `trace`.
#[must_use]
pub fn run(seed: u64, trace: Option<fn(&str)>) -> scenario::Report {
    if life::Life::is_of(seed) {
        let mut life = life::Life::new(seed);
        if let Some(trace) = trace {
            life.set_trace(trace);
        }
        return life.run();
    }
    let mut scenario = scenario::Scenario::new(seed);
    if let Some(trace) = trace {
        scenario.set_trace(trace);
    }
    scenario.run()
}
