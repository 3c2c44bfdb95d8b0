//! Whether writes reach the disk: a failing store is a state with a probe and a back-off, never a crash.
//! Spec: §7 "Store failures", W5.10, W5.11

use messaging_core::random::{self, Random};
use messaging_core::time::Mono;
use messaging_store::StoreError;

use crate::events::Event;

/// A condition under which `/readyz` says 503, in the order in which they are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unready {
    /// The database is not open, or does not answer a read.
    StoreClosed,
    /// The last write failed, and none has committed since.
    StoreFailing,
    /// The relay is shutting down.
    Stopping,
}

impl Unready {
    /// The word that `/readyz` and metrics show.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::StoreClosed => "store_closed",
            Self::StoreFailing => "store_failing",
            Self::Stopping => "stopping",
        }
    }
}

/// What is known of the store's writes.
#[derive(Debug, Default)]
pub(crate) struct Health {
    failing: Option<Failing>,
    /// A write failed in the batch that is open.
    failed: Option<StoreError>,
}

#[derive(Debug)]
struct Failing {
    retry_ms: u64,
    probe_at: Mono,
}

impl Health {
    /// A write failed.
    pub(crate) fn failed(&mut self, error: StoreError) {
        self.failed = Some(error);
    }

    pub(crate) fn is_failing(&self) -> bool {
        self.failing.is_some()
    }

    /// Whether the store is to be probed now.
    pub(crate) fn probe_is_due(&self, now: Mono) -> bool {
        self.failing.as_ref().is_some_and(|failing| failing.probe_at <= now)
    }

    pub(crate) fn deadline(&self) -> Option<Mono> {
        self.failing.as_ref().map(|failing| failing.probe_at)
    }

    /// A batch is over. `changed`: it committed a write that changed a row, which alone proves that the store works.
    pub(crate) fn settle(
        &mut self,
        changed: bool,
        now: Mono,
        rng: &mut dyn Random,
    ) -> Option<Event> {
        let failed = self.failed.take();
        if changed {
            return self.failing.take().map(|_| Event::StoreRecovered);
        }
        let error = failed?;
        let retry_ms = match &self.failing {
            None => PROBE_MIN_MS,
            Some(failing) if failing.probe_at <= now => {
                failing.retry_ms.saturating_mul(2).min(PROBE_MAX_MS)
            }
            // Between two probes, further failures say nothing new.
            Some(_) => return None,
        };
        let wait = retry_ms - random::below(rng, retry_ms / 4);
        self.failing = Some(Failing { retry_ms, probe_at: now.plus(wait) });
        Some(Event::StoreFailing { error, retry_ms: wait })
    }
}

const PROBE_MIN_MS: u64 = 1_000;
const PROBE_MAX_MS: u64 = 60_000;

#[cfg(test)]
mod tests {
    use super::*;
    use messaging_core::testing::SeededRandom;

    #[test]
    fn probes_double_to_a_minute_and_only_a_changed_row_ends_them() {
        let (mut health, mut rng) = (Health::default(), SeededRandom::new(1));
        assert_eq!(health.settle(false, Mono(0), &mut rng), None);
        let mut now = Mono(0);
        let mut bound = 1_000;
        for _ in 0..9 {
            health.failed(StoreError::Full);
            let event = health.settle(false, now, &mut rng);
            let Some(Event::StoreFailing { error: StoreError::Full, retry_ms }) = event else {
                panic!("{event:?}");
            };
            assert!(retry_ms > bound * 3 / 4 && retry_ms <= bound, "{retry_ms} of {bound}");
            health.failed(StoreError::Io);
            assert_eq!(health.settle(false, now, &mut rng), None, "told once per probe");
            assert!(!health.probe_is_due(now.plus(retry_ms - 1)));
            now = now.plus(retry_ms);
            assert!(health.probe_is_due(now));
            assert_eq!(health.settle(false, now, &mut rng), None, "an empty commit proves nothing");
            assert!(health.is_failing());
            bound = (bound * 2).min(60_000);
        }
        assert_eq!(health.settle(true, now, &mut rng), Some(Event::StoreRecovered));
        assert!(!health.is_failing());
        assert_eq!(health.settle(true, now, &mut rng), None);
    }

    #[test]
    fn one_bad_write_beside_a_good_one_is_not_a_failing_store() {
        let (mut health, mut rng) = (Health::default(), SeededRandom::new(1));
        health.failed(StoreError::Constraint);
        assert_eq!(health.settle(true, Mono(0), &mut rng), None);
        assert!(!health.is_failing());
    }
}
