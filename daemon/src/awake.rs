//! Notices that the machine slept, or that its clock was set: the link that was up is as good as dead.
//!
//! Spec: §8.2 "The host's sleep", D3.7

use std::time::Duration;

use messaging_core::time::Now;
use messaging_daemon_engine::In;
use messaging_runtime::clock::SystemClock;
use tokio::time::{MissedTickBehavior, interval};

use crate::owner::{Gone, Inbox};

/// Looks at the clocks every few seconds, and tells the engine of each jump.
pub(crate) async fn watch(clock: SystemClock, inbox: Inbox) -> Result<(), Gone> {
    let mut seen = clock.now();
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        look.tick().await;
        let now = clock.now();
        if jumped(seen, now) {
            inbox.put(In::Woke).await?;
        }
        seen = now;
    }
}

/// Whether something other than time passed between two looks: the wall clock ran ahead of the other or fell behind it (a
/// sleep, a clock that was set), or nothing of this process ran at all.
fn jumped(before: Now, now: Now) -> bool {
    let passed = now.mono.since(before.mono);
    before.wall.plus(passed).distance(now.wall) > APART_MS || passed > STOPPED_MS
}

const LOOK: Duration = Duration::from_secs(5);
/// A clock that is slewed stays far below.
const APART_MS: u64 = 10_000;
/// A process that was not run for so long has missed its relay's pings.
const STOPPED_MS: u64 = 45_000;

#[cfg(test)]
mod tests {
    use super::*;
    use messaging_core::time::{Mono, Ms};

    fn at(wall: u64, mono: u64) -> Now {
        Now { wall: Ms(wall), mono: Mono(mono) }
    }

    #[test]
    fn sleep_and_clocks_that_are_set_are_told_from_time_that_passes() {
        let before = at(1_000_000_000, 50_000);
        for (now, is_jump) in [
            (at(1_000_005_000, 55_000), false),
            (at(1_000_015_000, 55_000), false),
            (at(1_000_015_001, 55_000), true),
            (at(999_995_000, 55_000), false),
            (at(999_994_999, 55_000), true),
            (at(1_000_000_000 + 8 * 3_600_000, 55_000), true),
            (at(1_000_045_000, 95_000), false),
            (at(1_000_045_001, 95_001), true),
        ] {
            assert_eq!(jumped(before, now), is_jump, "{now:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_even_clock_is_no_news() {
        let (inbox, mut arrivals) = Inbox::new();
        let watching = tokio::spawn(watch(SystemClock::start(), inbox));
        // The clocks of the system stand nearly still while those of the runtime are turned.
        for _ in 0..12 {
            tokio::time::advance(LOOK).await;
            tokio::task::yield_now().await;
        }
        assert!(matches!(arrivals.try_recv(), Err(tokio::sync::mpsc::error::TryRecvError::Empty)));
        watching.abort();
    }
}
