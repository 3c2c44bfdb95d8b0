//! The clocks of one process: a wall clock that may be wrong and may jump, and a monotonic one that starts with it.

use crate::agenda::At;
use messaging_core::time::{Mono, Ms, Now};

/// Where every world begins, as the wall clock of a process whose clock is right: 2027-01-15.
pub const EPOCH: Ms = Ms(1_800_000_000_000);

/// The clocks of one process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    /// How far the wall clock is ahead (or behind), ms.
    offset: i64,
    /// When the process was started.
    started: At,
}

impl Clock {
    /// Clocks whose wall clock is `offset` ms ahead.
    #[must_use]
    pub const fn new(offset: i64) -> Self {
        Self { offset, started: 0 }
    }

    /// What the process reads at `at`.
    #[must_use]
    pub fn read(&self, at: At) -> Now {
        let wall = EPOCH.0.saturating_add(at).saturating_add_signed(self.offset);
        Now { wall: Ms(wall), mono: Mono(at.saturating_sub(self.started)) }
    }

    /// When a monotonic reading is reached, never before `now`.
    #[must_use]
    pub fn when(&self, mono: Mono, now: At) -> At {
        self.started.saturating_add(mono.0).max(now)
    }

    /// The wall clock is set: it is `offset` ms ahead from now on.
    pub fn set(&mut self, offset: i64) {
        self.offset = offset;
    }

    /// The process starts anew, and its monotonic clock with it.
    pub fn restart(&mut self, at: At) {
        self.started = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_moves_the_wall_alone() {
        let mut clock = Clock::new(-5);
        assert_eq!(clock.read(100), Now { wall: Ms(EPOCH.0 + 95), mono: Mono(100) });
        clock.set(1_000);
        clock.restart(90);
        assert_eq!(clock.read(100), Now { wall: Ms(EPOCH.0 + 1_100), mono: Mono(10) });
        assert_eq!(clock.when(Mono(30), 100), 120);
        assert_eq!(clock.when(Mono(3), 100), 100);
    }
}
