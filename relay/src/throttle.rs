//! A log line that a stranger can cause is written at most once a second.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Lets one event a second through. The rest is the same news.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    last: Mutex<Option<Instant>>,
}

const PAUSE: Duration = Duration::from_secs(1);

impl Throttle {
    /// Whether an event at `now` passes.
    pub(crate) fn passes(&self, now: Instant) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let passes = last.is_none_or(|last| now.saturating_duration_since(last) >= PAUSE);
        if passes {
            *last = Some(now);
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_event_a_second_passes() {
        let (throttle, start) = (Throttle::default(), Instant::now());
        assert!(throttle.passes(start));
        assert!(!throttle.passes(start));
        assert!(!throttle.passes(start + Duration::from_millis(999)));
        assert!(throttle.passes(start + PAUSE));
        assert!(!throttle.passes(start + PAUSE));
    }
}
