//! How fast lines go out and agents' lines come in.
//! Spec: §8.2 "Pacing", §6.9, D3.6, D3.9
//!
//! Everything for the persons of one machine stays below that machine's budget, with room for clocks that run apart. What
//! agents write to people is bounded at both ends, since nobody should have to trust the other one for it. All of it is
//! memory: a restart starts again.

use std::collections::BTreeMap;

use messaging_core::bucket::TokenBucket;
use messaging_core::ids::{MachineId, PersonId};
use messaging_core::limits::{A2H_PER_DAY, A2H_PER_HOUR};
use messaging_core::time::Mono;
use messaging_core::window::Windows;

/// The paces.
#[derive(Debug)]
pub(crate) struct Pace {
    machines: BTreeMap<MachineId, TokenBucket>,
    /// Lines of this machine's agents, by the person they go to.
    agents_out: Agents,
    /// Lines of others' agents, by the person whose they are.
    agents_in: Agents,
}

#[derive(Debug)]
struct Agents {
    hour: Windows<PersonId>,
    day: Windows<PersonId>,
}

impl Default for Pace {
    fn default() -> Self {
        Self { machines: BTreeMap::new(), agents_out: Agents::new(), agents_in: Agents::new() }
    }
}

impl Pace {
    /// How long until one more envelope may go to each of these machines, ms; 0 for now.
    pub(crate) fn wait<'m>(
        &self,
        machines: impl IntoIterator<Item = &'m MachineId>,
        now: Mono,
    ) -> u64 {
        let wait = |machine| self.machines.get(machine).map_or(0, |bucket| bucket.wait_for(1, now));
        machines.into_iter().map(wait).max().unwrap_or(0)
    }

    /// Counts one envelope to a machine.
    pub(crate) fn count(&mut self, machine: MachineId, now: Mono) {
        let fresh = || TokenBucket::new(PER_MACHINE_A_MINUTE, MINUTE_MS, now);
        // The wait was asked for; what goes out all the same leaves the bucket empty.
        let _ = self.machines.entry(machine).or_insert_with(fresh).take(1, now);
    }

    /// How long until this machine's agents may write to each of these persons, ms; 0 for now.
    pub(crate) fn agents_wait<'p>(
        &self,
        persons: impl IntoIterator<Item = &'p PersonId>,
        now: Mono,
    ) -> u64 {
        persons.into_iter().map(|person| self.agents_out.wait(person, now)).max().unwrap_or(0)
    }

    /// Counts a line of this machine's agents to a person.
    pub(crate) fn count_agents(&mut self, person: &PersonId, now: Mono) {
        self.agents_out.count(person, now);
    }

    /// Counts a line of another person's agents. Returns whether it may be filed.
    pub(crate) fn take_agents(&mut self, person: &PersonId, now: Mono) -> bool {
        let fits = self.agents_in.wait(person, now) == 0;
        if fits {
            self.agents_in.count(person, now);
        }
        fits
    }

    /// Forgets machines to which the whole pace is free again.
    pub(crate) fn forget_full(&mut self, now: Mono) {
        self.machines.retain(|_, bucket| !bucket.is_full(now));
    }
}

impl Agents {
    fn new() -> Self {
        let windows =
            |most: u64, span_ms| Windows::new(usize::try_from(most).unwrap_or(1), span_ms);
        Self { hour: windows(A2H_PER_HOUR, HOUR_MS), day: windows(A2H_PER_DAY, 24 * HOUR_MS) }
    }

    fn wait(&self, person: &PersonId, now: Mono) -> u64 {
        self.hour.wait(person, now).max(self.day.wait(person, now))
    }

    fn count(&mut self, person: &PersonId, now: Mono) {
        // Both were asked; neither refuses.
        let _ = self.hour.take(person.clone(), now);
        let _ = self.day.take(person.clone(), now);
    }
}

/// Ten below what a machine takes from another.
const PER_MACHINE_A_MINUTE: u64 = 50;
const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifty_a_minute_go_to_one_machine_and_others_are_not_counted() {
        let mut pace = Pace::default();
        let (one, other) = (MachineId::from_bytes(&[1; 32]), MachineId::from_bytes(&[2; 32]));
        for _ in 0..50 {
            assert_eq!(pace.wait([&one, &other], Mono(0)), 0);
            pace.count(one, Mono(0));
        }
        assert_eq!(pace.wait([&one], Mono(0)), 1_200);
        assert_eq!(pace.wait([&other], Mono(0)), 0);
        assert_eq!(pace.wait([&other, &one], Mono(200)), 1_000, "the slowest decides");
        assert_eq!(pace.wait([&one], Mono(1_200)), 0);
        pace.forget_full(Mono(61_000));
        assert!(pace.machines.is_empty());
    }

    #[test]
    fn agents_write_thirty_lines_an_hour_and_a_hundred_a_day_to_one_person() {
        let mut pace = Pace::default();
        let bob = PersonId::parse("bob").unwrap();
        let mut now = Mono(0);
        let mut written = 0;
        for _ in 0..4 {
            for _ in 0..40 {
                if pace.take_agents(&bob, now) {
                    written += 1;
                }
            }
            now = now.plus(HOUR_MS);
        }
        assert_eq!(written, 100);
        assert!(!pace.take_agents(&bob, now), "the day is full");
        assert!(pace.take_agents(&bob, Mono(24 * HOUR_MS)));
        assert!(pace.take_agents(&PersonId::parse("carol").unwrap(), now));
    }
}
