//! Sliding windows: so many events within any stretch of time, counted exactly and in bounded memory.
//! Spec: D3.9
//!
//! A token bucket lets a burst through again as soon as it has refilled; a window does not: in no stretch of its length
//! do more events happen than it allows.

use alloc::collections::{BTreeMap, VecDeque};

use crate::time::Mono;

/// At most so many events within any stretch of a length. It starts empty and keeps the times of what it counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    most: usize,
    span_ms: u64,
    times: VecDeque<Mono>,
}

impl Window {
    /// A window of at most `most` events in `span_ms` milliseconds; both at least 1.
    #[must_use]
    pub fn new(most: usize, span_ms: u64) -> Self {
        Self { most: most.max(1), span_ms: span_ms.max(1), times: VecDeque::new() }
    }

    /// Milliseconds until one more event fits, 0 when it does now.
    #[must_use]
    pub fn wait(&self, now: Mono) -> u64 {
        // The event that must have left before another may come.
        match self.times.len().checked_sub(self.most).and_then(|at| self.times.get(at)) {
            Some(time) => time.plus(self.span_ms).since(now),
            None => 0,
        }
    }

    /// Counts one event, or says how many ms until it fits (at least 1) and counts nothing.
    pub fn take(&mut self, now: Mono) -> Result<(), u64> {
        match self.wait(now) {
            0 => {
                self.forget(now);
                // A reading that lags behind the last one counts as that one: the times stay in order.
                let at = self.times.back().map_or(now, |last| now.max(*last));
                self.times.push_back(at);
                Ok(())
            }
            wait => Err(wait),
        }
    }

    /// Whether nothing that it counted still matters, so that it may be forgotten.
    #[must_use]
    pub fn is_idle(&self, now: Mono) -> bool {
        self.times.back().is_none_or(|last| last.plus(self.span_ms) <= now)
    }

    fn forget(&mut self, now: Mono) {
        while self.times.front().is_some_and(|first| first.plus(self.span_ms) <= now) {
            self.times.pop_front();
        }
    }
}

/// One window for each key, all of the same measure. Keys that fell idle are forgotten as others are counted.
#[derive(Clone, Debug)]
pub struct Windows<K> {
    most: usize,
    span_ms: u64,
    by_key: BTreeMap<K, Window>,
    /// When idle keys are looked for again.
    sweep_at: Mono,
}

impl<K: Ord> Windows<K> {
    /// Windows of at most `most` events in `span_ms` milliseconds a key; both at least 1.
    #[must_use]
    pub fn new(most: usize, span_ms: u64) -> Self {
        let (most, span_ms) = (most.max(1), span_ms.max(1));
        Self { most, span_ms, by_key: BTreeMap::new(), sweep_at: Mono(0) }
    }

    /// Milliseconds until one more event of `key` fits, 0 when it does now.
    #[must_use]
    pub fn wait(&self, key: &K, now: Mono) -> u64 {
        self.by_key.get(key).map_or(0, |window| window.wait(now))
    }

    /// Counts one event of `key`, or says how many ms until it fits (at least 1) and counts nothing.
    ///
    /// Memory: a key is kept for at most two spans after its last event.
    pub fn take(&mut self, key: K, now: Mono) -> Result<(), u64> {
        if self.sweep_at <= now {
            self.by_key.retain(|_, window| !window.is_idle(now));
            self.sweep_at = now.plus(self.span_ms);
        }
        let (most, span_ms) = (self.most, self.span_ms);
        self.by_key.entry(key).or_insert_with(|| Window::new(most, span_ms)).take(now)
    }

    /// How many keys are kept.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.by_key.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    #[test]
    fn the_oldest_leaves_before_another_comes() {
        let mut window = Window::new(2, 100);
        assert_eq!(window.take(Mono(10)), Ok(()));
        assert_eq!(window.take(Mono(40)), Ok(()));
        assert_eq!(window.take(Mono(40)), Err(70));
        assert_eq!(window.take(Mono(109)), Err(1));
        assert_eq!(window.take(Mono(110)), Ok(()));
        assert_eq!(window.wait(Mono(110)), 30, "the one at 40 is next");
        assert!(!window.is_idle(Mono(209)) && window.is_idle(Mono(210)));
    }

    #[test]
    fn a_clock_that_lags_opens_nothing() {
        let mut window = Window::new(2, 100);
        window.take(Mono(50)).unwrap();
        window.take(Mono(20)).unwrap();
        assert_eq!(window.take(Mono(149)), Err(1));
        assert_eq!(window.take(Mono(150)), Ok(()));
    }

    #[test]
    fn keys_have_windows_of_their_own_and_are_forgotten() {
        let mut windows = Windows::new(1, 100);
        for key in 0..1_000 {
            windows.take(key, Mono(0)).unwrap();
        }
        assert_eq!(windows.take(7, Mono(99)), Err(1));
        assert_eq!((windows.wait(&7, Mono(99)), windows.wait(&1_000, Mono(99))), (1, 0));
        assert_eq!(windows.keys(), 1_000);
        windows.take(7, Mono(100)).unwrap();
        assert_eq!(windows.keys(), 1);
    }

    proptest! {
        /// Against the plain definition: an event fits when fewer than `most` lie less than a span back.
        #[test]
        fn it_counts_as_the_definition_does(
            most in 1..6_usize,
            span in 1..50_u64,
            steps in prop::collection::vec(0..30_u64, 1..200),
        ) {
            let mut window = Window::new(most, span);
            let (mut now, mut taken) = (Mono(0), Vec::<Mono>::new());
            for step in steps {
                now = now.plus(step);
                let recent = taken.iter().filter(|time| now.since(**time) < span).count();
                let wait = window.wait(now);
                match window.take(now) {
                    Ok(()) => {
                        prop_assert!(recent < most && wait == 0);
                        taken.push(now);
                    }
                    Err(refused) => {
                        prop_assert!(recent >= most && refused == wait && wait > 0);
                        // The named wait is exact.
                        prop_assert_eq!(window.wait(now.plus(wait)), 0);
                        prop_assert!(window.wait(now.plus(wait - 1)) > 0);
                    }
                }
                prop_assert!(window.times.len() <= most);
            }
        }

        #[test]
        fn no_stretch_holds_more_than_it_may(
            steps in prop::collection::vec((0..4_u8, 0..20_u64), 1..300),
        ) {
            let mut windows = Windows::new(3, 60);
            let (mut now, mut taken) = (Mono(0), Vec::<(u8, Mono)>::new());
            for (key, step) in steps {
                now = now.plus(step);
                if windows.take(key, now).is_ok() {
                    taken.push((key, now));
                    let of_key = taken.iter().filter(|(k, time)| *k == key && now.since(*time) < 60);
                    prop_assert!(of_key.count() <= 3);
                }
            }
            prop_assert!(windows.keys() <= 4);
        }
    }
}
