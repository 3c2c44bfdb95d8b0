//! The token bucket: every budget of the protocol is one.
//! Spec: W0 "Token bucket"

use crate::time::Mono;

/// A budget of `capacity` tokens that refills continuously over a period. It starts full.
///
/// Tokens are counted in 1/period fractions, so that refilling loses nothing to rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    capacity: u64,
    period_ms: u64,
    /// Tokens times `period_ms`.
    level: u128,
    at: Mono,
}

impl TokenBucket {
    /// A full bucket of `capacity` tokens refilled over `period_ms`; both at least 1.
    #[must_use]
    pub fn new(capacity: u64, period_ms: u64, now: Mono) -> Self {
        let (capacity, period_ms) = (capacity.max(1), period_ms.max(1));
        Self { capacity, period_ms, level: Self::full(capacity, period_ms), at: now }
    }

    /// Takes `tokens`, or says how many ms until they are there (at least 1).
    ///
    /// More tokens than the bucket holds are never there: the answer is then the time until it is full.
    pub fn take(&mut self, tokens: u64, now: Mono) -> Result<(), u64> {
        self.refill(now);
        let need = u128::from(tokens).saturating_mul(u128::from(self.period_ms));
        if let Some(rest) = self.level.checked_sub(need) {
            self.level = rest;
            return Ok(());
        }
        Err(self.wait(need))
    }

    /// Milliseconds until `tokens` are there, 0 when they are now.
    #[must_use]
    pub fn wait_for(&self, tokens: u64, now: Mono) -> u64 {
        let mut later = *self;
        later.refill(now);
        let need = u128::from(tokens).saturating_mul(u128::from(self.period_ms));
        if later.level >= need { 0 } else { later.wait(need) }
    }

    /// Whether the bucket is full again, so that it may be forgotten.
    #[must_use]
    pub fn is_full(&self, now: Mono) -> bool {
        let mut later = *self;
        later.refill(now);
        later.level >= Self::full(self.capacity, self.period_ms)
    }

    fn refill(&mut self, now: Mono) {
        let gained = u128::from(now.since(self.at)).saturating_mul(u128::from(self.capacity));
        self.level =
            self.level.saturating_add(gained).min(Self::full(self.capacity, self.period_ms));
        self.at = self.at.max(now);
    }

    fn wait(&self, need: u128) -> u64 {
        let missing =
            need.min(Self::full(self.capacity, self.period_ms)).saturating_sub(self.level);
        u64::try_from(missing.div_ceil(u128::from(self.capacity))).unwrap_or(u64::MAX).max(1)
    }

    fn full(capacity: u64, period_ms: u64) -> u128 {
        u128::from(capacity).saturating_mul(u128::from(period_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn starts_full_then_refills_continuously() {
        let mut bucket = TokenBucket::new(60, 60_000, Mono(0));
        for _ in 0..60 {
            assert_eq!(bucket.take(1, Mono(0)), Ok(()));
        }
        assert_eq!(bucket.take(1, Mono(0)), Err(1_000));
        assert_eq!(bucket.take(1, Mono(999)), Err(1));
        assert_eq!(bucket.take(1, Mono(1_000)), Ok(()));
        assert!(!bucket.is_full(Mono(60_999)));
        assert!(bucket.is_full(Mono(61_000)));
    }

    proptest! {
        #[test]
        fn never_gives_more_than_capacity_plus_refill(
            steps in prop::collection::vec((0u64..5_000, 1u64..5), 1..200)
        ) {
            let mut bucket = TokenBucket::new(10, 1_000, Mono(0));
            let (mut now, mut taken) = (Mono(0), 0u64);
            for (wait, tokens) in steps {
                now = now.plus(wait);
                if bucket.take(tokens, now).is_ok() { taken += tokens; }
                prop_assert!(taken <= 10 + now.0 * 10 / 1_000);
            }
        }

        #[test]
        fn the_named_wait_is_exact(level in 0u64..10, need in 1u64..10) {
            let mut bucket = TokenBucket::new(10, 997, Mono(0));
            bucket.take(10 - level, Mono(0)).unwrap();
            if let Err(wait) = bucket.take(need, Mono(0)) {
                prop_assert!(bucket.take(need, Mono(wait - 1)).is_err() || wait == 1);
                prop_assert!(bucket.take(need, Mono(wait)).is_ok());
            }
        }
    }
}
