//! What kind of a run a seed is: how many machines, how busy, and what goes wrong how often.

use crate::dice::Dice;
use messaging_core::limits::{CLOCK_SKEW_MS, TTL_MS};

/// The shape of one run. Every number follows from the seed.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Machines, the founder's included.
    pub machines: usize,
    /// Persons; with fewer persons than machines, somebody has several machines.
    pub persons: usize,
    /// What clients do in all.
    pub actions: u32,
    /// The usual time between two acts, ms.
    pub pace: u64,
    /// The usual time between two misfortunes, ms; none at all when 0.
    pub misfortune: u64,
    /// Of a hundred misfortunes: a connection breaks.
    pub cuts: u64,
    /// A machine is cut off for a while.
    pub partitions: u64,
    /// A process dies.
    pub crashes: u64,
    /// A store fails a write, or writes for a while.
    pub store_faults: u64,
    /// A file is not written.
    pub file_faults: u64,
    /// A clock is set.
    pub clock_jumps: u64,
    /// How far a machine's clock may be set off, ms. Past the protocol's skew nobody is owed an arrival.
    pub clock_reach: u64,
    /// One-way network delay, ms: usual and worst.
    pub delay: (u64, u64),
    /// Of a hundred acts: something about the team.
    pub team_acts: u64,
    /// Of a hundred messages: a large one.
    pub large: u64,
    /// Of a hundred messages: a request to do a task.
    pub tasks: u64,
    /// How long agents go on working after the last act, ms.
    pub lingers: u64,
    /// How long one machine is away in the middle of the run, ms; 0 when none is.
    pub away: u64,
    /// Three persons at seven machines, who write to each other, change channels and what they let in, and lose a machine.
    pub circle: bool,
}

impl Profile {
    /// The profile of a seed.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let mut dice = Dice::stream(seed, 3);
        let machines = usize::try_from(dice.between(2, 5)).unwrap_or(2);
        let persons = usize::try_from(dice.between(2, machines as u64)).unwrap_or(2);
        let delay = match dice.below(3) {
            0 => (1, 5),
            1 => (20, 200),
            _ => (50, 4_000),
        };
        let mut profile = Self {
            machines,
            persons,
            actions: u32::try_from(dice.between(20, 120)).unwrap_or(20),
            pace: *dice.pick(&[20, 300, 2_000]).unwrap_or(&300),
            misfortune: *dice.pick(&[400, 1_500, 6_000]).unwrap_or(&1_500),
            cuts: 0,
            partitions: 0,
            crashes: 0,
            store_faults: 0,
            file_faults: 0,
            clock_jumps: 0,
            clock_reach: 120_000,
            delay,
            team_acts: *dice.pick(&[3, 10, 25]).unwrap_or(&10),
            large: *dice.pick(&[0, 5, 20]).unwrap_or(&5),
            tasks: *dice.pick(&[0, 40, 80]).unwrap_or(&40),
            lingers: 0,
            away: 0,
            circle: false,
        };
        if profile.tasks > 0 {
            profile.lingers = *dice.pick(&[5_000, 60_000, 200_000]).unwrap_or(&60_000);
            profile.away = match dice.below(200) {
                0..2 => 8 * DAY_MS,
                2..8 => DAY_MS + 3_600_000,
                _ => 0,
            };
            if profile.away > 0 {
                // Days are long, and everybody who is there says so every minute.
                profile.machines = profile.machines.min(3);
                profile.persons = profile.persons.min(profile.machines);
            }
        }
        match dice.below(9) {
            0 => profile.misfortune = 0,
            1 => profile.cuts = 100,
            2 => (profile.cuts, profile.partitions) = (50, 50),
            3 => profile.crashes = 100,
            4 => profile.store_faults = 100,
            5 => (profile.crashes, profile.file_faults, profile.store_faults) = (50, 25, 25),
            6 => (profile.clock_jumps, profile.cuts) = (60, 40),
            7 => {
                (profile.clock_jumps, profile.crashes) = (60, 40);
                profile.clock_reach = 1_200_000;
            }
            _ => {
                (profile.cuts, profile.partitions, profile.crashes) = (25, 15, 25);
                (profile.store_faults, profile.file_faults, profile.clock_jumps) = (20, 5, 10);
            }
        }
        // By dice of its own: the other seeds stay what they are.
        let mut dice = Dice::stream(seed, 5);
        if profile.away == 0 && dice.chance(CIRCLES) {
            profile.circle = true;
            (profile.machines, profile.persons) = (7, 3);
            profile.actions = u32::try_from(dice.between(100, 220)).unwrap_or(100);
            profile.team_acts = 2;
            profile.pace = *dice.pick(&[400, 1_500, 4_000]).unwrap_or(&1_500);
            profile.large = 0;
            // A grant that is dated ahead waits for its time.
            profile.clock_reach = 120_000;
        }
        profile
    }

    /// Whether a machine is away for longer than envelopes live.
    #[must_use]
    pub fn is_away_for_long(&self) -> bool {
        self.away > TTL_MS
    }

    /// Whether clocks may be further off than the protocol puts up with.
    #[must_use]
    pub fn has_wild_clocks(&self) -> bool {
        self.clock_reach * 2 >= CLOCK_SKEW_MS
    }
}

/// Of a hundred seeds: the ones with a circle.
const CIRCLES: u64 = 9;
const DAY_MS: u64 = 24 * 3_600_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misfortunes_are_shares_of_a_hundred() {
        for seed in 0..500 {
            let p = Profile::of(seed);
            let sum =
                p.cuts + p.partitions + p.crashes + p.store_faults + p.file_faults + p.clock_jumps;
            assert!(sum == 100 || (sum == 0 && p.misfortune == 0), "{p:?}");
            let machines = if p.circle { 7..=7 } else { 2..=5 };
            assert!(machines.contains(&p.machines) && p.persons <= p.machines);
        }
    }
}
