//! The system's clocks as the protocol reads them.
//! Spec: W0 "Time"

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use messaging_core::time::{Mono, Ms, Now};

/// Reads both clocks. Clones share the start of the monotonic one, so their readings compare.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// A clock whose monotonic reading starts at 0 now.
    #[must_use]
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Both readings. A wall clock before 1970 reads 0.
    #[must_use]
    pub fn now(&self) -> Now {
        Now { wall: wall(), mono: Mono(whole_ms(self.start.elapsed())) }
    }

    /// How long from now until the monotonic clock reads `deadline`; zero when it is past.
    #[must_use]
    pub fn until(&self, deadline: Mono) -> Duration {
        Duration::from_millis(deadline.0).saturating_sub(self.start.elapsed())
    }
}

/// The wall clock, Unix milliseconds.
#[must_use]
pub fn wall() -> Ms {
    Ms(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, whole_ms)).plus(ahead())
}

/// How far ahead of the system a debug build reads the wall clock, ms: a test of the real programs lets days pass so. What
/// ships has no such thing.
#[cfg(debug_assertions)]
fn ahead() -> u64 {
    static AHEAD: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *AHEAD.get_or_init(|| {
        let said = std::env::var("MESSAGING_DEBUG_AHEAD_MS").ok();
        said.and_then(|ms| ms.parse().ok()).unwrap_or(0)
    })
}

#[cfg(not(debug_assertions))]
const fn ahead() -> u64 {
    0
}

fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_never_goes_back_and_deadlines_are_measured_on_it() {
        let clock = SystemClock::start();
        let (first, second) = (clock.now(), clock.now());
        assert!(second.mono >= first.mono);
        assert!(second.wall > Ms(1_700_000_000_000));
        assert_eq!(clock.until(Mono(0)), Duration::ZERO);
        let wait = clock.until(first.mono.plus(60_000));
        assert!(wait > Duration::from_secs(30) && wait <= Duration::from_secs(60));
    }
}
