//! One machine is away in the middle of a run: for a day, or for longer than envelopes live.

use super::{Reminder, Scenario};
use crate::world::{Crash, Party};

/// Who is away.
#[derive(Debug, Default)]
pub(super) enum Absence {
    /// Nobody was yet.
    #[default]
    Before,
    /// This machine is.
    Now(usize),
    /// Everybody is back.
    After,
}

impl Absence {
    pub(super) fn lasts(&self) -> bool {
        matches!(self, Self::Now(_))
    }

    pub(super) fn is_of(&self, party: Party) -> bool {
        matches!(self, Self::Now(machine) if party == Party::Daemon(*machine))
    }
}

impl Scenario {
    /// In the middle of a run that has an absence, it begins.
    pub(super) fn perhaps_leave(&mut self) {
        let is_time = self.acts_left <= self.profile.actions / 2;
        if self.profile.away == 0 || !is_time || !matches!(self.absence, Absence::Before) {
            return;
        }
        let Some(machine) = self.dice.index(self.seats.len()) else { return };
        self.absence = Absence::Now(machine);
        if self.dice.chance(50) {
            self.world.set_cut_off(machine, true);
        } else {
            let crash = Crash { inputs: 0, effects: 0, silent: false };
            self.world.crash(Party::Daemon(machine), crash);
        }
        self.remind(self.profile.away, Reminder::Return);
    }

    /// It is over.
    pub(super) fn return_absent(&mut self) {
        if let Absence::Now(machine) = std::mem::replace(&mut self.absence, Absence::After) {
            self.world.set_cut_off(machine, false);
            self.world.start(Party::Daemon(machine), 50);
        }
    }
}
