//! What goes wrong, and that it ends.

use super::{Reminder, Scenario};
use crate::world::{Crash, FileFault, Party};
use messaging_store::{Fault, FaultPlan, How, StoreError};

/// What is put right again.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mend {
    Join(usize),
    Store(Party),
}

impl Scenario {
    pub(super) fn misfortune(&mut self) {
        // Days without anybody's act are long enough.
        if self.healed || (self.acts_left == 0 && self.absence.lasts()) {
            return;
        }
        let p = &self.profile;
        let shares = [p.cuts, p.partitions, p.crashes, p.store_faults, p.file_faults];
        let mut roll = self.dice.below(100);
        let mut kind = shares.len();
        for (index, share) in shares.into_iter().enumerate() {
            if roll < share {
                kind = index;
                break;
            }
            roll -= share;
        }
        let Some(machine) = self.dice.index(self.seats.len()) else { return };
        match kind {
            0 => self.world.cut(machine),
            1 => self.cut_off(machine),
            2 => self.crash(),
            3 => self.store_fails(),
            4 => {
                let fault = *self
                    .dice
                    .pick(&[FileFault::Lost, FileFault::AppliedButReportedLost])
                    .unwrap_or(&FileFault::Lost);
                self.world.set_file_fault(machine, Some(fault));
            }
            _ => self.clock_jumps(),
        }
        let wait = self.dice.tail(self.profile.misfortune, self.profile.misfortune * 5);
        self.remind(wait, Reminder::Misfortune);
    }

    fn party(&mut self) -> Party {
        if self.dice.chance(30) {
            Party::Relay
        } else {
            Party::Daemon(self.dice.index(self.seats.len()).unwrap_or(0))
        }
    }

    fn cut_off(&mut self, machine: usize) {
        self.world.set_cut_off(machine, true);
        let lasts = self.dice.tail(5_000, 120_000);
        self.remind(lasts, Reminder::Heal(Mend::Join(machine)));
    }

    fn crash(&mut self) {
        let party = self.party();
        if !self.world.is_up(party) {
            return;
        }
        if self.dice.chance(10) {
            return self.world.stop(party);
        }
        let some = |dice: &mut crate::dice::Dice| usize::try_from(dice.below(6)).unwrap_or(0);
        let crash = Crash {
            inputs: some(&mut self.dice),
            effects: some(&mut self.dice),
            silent: self.dice.chance(20),
        };
        let was_up = self.world.is_up(party);
        self.world.crash(party, crash);
        if was_up && !self.world.is_up(party) {
            // It died at once, and nobody else tells.
            self.hear(crate::world::Happened::Down(party));
        }
    }

    fn store_fails(&mut self) {
        let party = self.party();
        let how = *self
            .dice
            .pick(&[How::Lost, How::AppliedButReportedLost, How::EndsTransaction])
            .unwrap_or(&How::Lost);
        let error = *self.dice.pick(&[StoreError::Full, StoreError::Io]).unwrap_or(&StoreError::Io);
        let from = self.dice.below(12);
        let (until, lasts) = if self.dice.chance(70) {
            (from + 1, 30_000)
        } else {
            (u64::MAX, self.dice.tail(2_000, 30_000))
        };
        self.world.watch.store_faults = true;
        let plan = FaultPlan::none().and(Fault { from, until, how, error });
        self.world.set_faults(party, plan);
        self.remind(lasts, Reminder::Heal(Mend::Store(party)));
    }

    /// Mostly within what two correct clocks may differ by: then everything still has to work.
    fn clock_jumps(&mut self) {
        let party = self.party();
        // The relay's clock orders the team's entries: what it took from a wrong future would bar everybody until then.
        let reach = match party {
            Party::Relay => self.profile.clock_reach.min(120_000),
            Party::Daemon(_) => self.profile.clock_reach,
        };
        let offset = self.dice.below(2 * reach).cast_signed() - reach.cast_signed();
        self.world.set_clock(party, offset);
    }

    pub(super) fn mend(&mut self, mend: Mend) {
        match mend {
            Mend::Join(machine) if self.absence.is_of(Party::Daemon(machine)) => {}
            Mend::Join(machine) => self.world.set_cut_off(machine, false),
            Mend::Store(party) => self.world.set_faults(party, FaultPlan::none()),
        }
    }

    /// From here on nothing goes wrong, and what went wrong is mended.
    pub(super) fn heal(&mut self) {
        self.healed = true;
        for machine in 0..self.seats.len() {
            self.world.set_cut_off(machine, false);
            self.world.set_faults(Party::Daemon(machine), FaultPlan::none());
            self.world.set_file_fault(machine, None);
            if self.profile.has_wild_clocks() {
                self.world.set_clock(Party::Daemon(machine), 0);
            }
            self.world.start(Party::Daemon(machine), 50);
        }
        self.world.set_faults(Party::Relay, FaultPlan::none());
        self.world.start(Party::Relay, 50);
    }
}
