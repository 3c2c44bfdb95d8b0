//! What the engine does while its store fails: it forgets what it is unsure of, rests, and tries again.
//! Spec: §7 "Store failures" (the relay's rules, followed here)

use messaging_core::time::Mono;
use messaging_store::StoreError;

/// The store's health as the engine saw it.
#[derive(Debug, Default)]
pub(crate) struct Trouble {
    /// Memory may differ from the store.
    stale: bool,
    /// Something in the store cannot be read. That does not mend itself.
    damaged: bool,
    failing: Option<Failing>,
}

#[derive(Clone, Copy, Debug)]
struct Failing {
    wait_ms: u64,
    until: Mono,
}

impl Trouble {
    /// A write failed. Returns whether it is the first of a row.
    pub(crate) fn failed(&mut self, error: StoreError, now: Mono) -> bool {
        self.stale = true;
        self.damaged |= error == StoreError::Corrupt;
        let first = self.failing.is_none();
        let due = self.failing.is_none_or(|failing| failing.until <= now);
        if due {
            let wait_ms = self.failing.map_or(FIRST_WAIT_MS, |failing| {
                failing.wait_ms.saturating_mul(2).min(MOST_WAIT_MS)
            });
            self.failing = Some(Failing { wait_ms, until: now.plus(wait_ms) });
        }
        first
    }

    /// Whether something in the store cannot be read.
    pub(crate) fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// A commit's outcome is unknown.
    pub(crate) fn doubt(&mut self) {
        self.stale = true;
    }

    /// Whether memory has to be read again.
    pub(crate) fn is_stale(&self) -> bool {
        self.stale
    }

    /// Memory was read again.
    pub(crate) fn reloaded(&mut self) {
        self.stale = false;
    }

    /// A write is on disk. Returns whether the store had failed before.
    pub(crate) fn recovered(&mut self) -> bool {
        self.failing.take().is_some()
    }

    /// Whether timers may write.
    pub(crate) fn may_try(&self, now: Mono) -> bool {
        self.failing.is_none_or(|failing| failing.until <= now)
    }

    /// When timers may write again.
    pub(crate) fn rest_until(&self) -> Mono {
        self.failing.map_or(Mono(0), |failing| failing.until)
    }

    /// When the link may be dialled again.
    pub(crate) fn next_try(&self, now: Mono) -> Mono {
        self.rest_until().max(now)
    }
}

const FIRST_WAIT_MS: u64 = 1_000;
/// Room that was made is found well within a minute.
const MOST_WAIT_MS: u64 = 30_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rests_longer_each_time_and_not_for_each_failure_of_one_moment() {
        let mut trouble = Trouble::default();
        assert!(trouble.may_try(Mono(0)));
        assert!(trouble.failed(StoreError::Io, Mono(0)));
        assert!(!trouble.failed(StoreError::Io, Mono(0)));
        assert!(!trouble.may_try(Mono(999)));
        assert!(trouble.may_try(Mono(1_000)));
        assert!(!trouble.failed(StoreError::Io, Mono(1_000)));
        assert_eq!(trouble.rest_until(), Mono(3_000));
        assert!(trouble.recovered());
        assert!(!trouble.recovered());
        assert!(trouble.may_try(Mono(1_001)));
    }

    #[test]
    fn the_rest_is_bounded() {
        let mut trouble = Trouble::default();
        let mut now = Mono(0);
        for _ in 0..20 {
            trouble.failed(StoreError::Corrupt, now);
            assert!(trouble.rest_until().since(now) <= MOST_WAIT_MS);
            now = trouble.rest_until();
        }
        assert_eq!(trouble.failing.map(|failing| failing.wait_ms), Some(MOST_WAIT_MS));
    }
}
