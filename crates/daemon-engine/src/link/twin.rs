//! Two live copies of one home: each takes the other's place at the relay, for ever, unless they stop fighting for it.
//! Spec: §7 (close 4004); ours: the specification names no alarm for a home that runs twice
//!
//! A replacement reaches only the link that is current here, so it always comes from another process with the same keys:
//! a link that this process gave up itself is no longer listened to. Three within ten minutes are no accident.

use messaging_core::time::Mono;

/// The last times that another process took this link's place.
#[derive(Debug, Default)]
pub(super) struct Twin {
    recent: [Option<Mono>; 3],
    stands: bool,
}

impl Twin {
    /// Another process took the link's place. Returns whether a twin is at work.
    pub(super) fn replaced(&mut self, now: Mono) -> bool {
        let stood = self.stands(now);
        self.recent.rotate_left(1);
        let [.., last] = &mut self.recent;
        *last = Some(now);
        self.stands =
            stood || self.recent.iter().all(|at| at.is_some_and(|at| now.since(at) <= WINDOW_MS));
        self.stands
    }

    /// Whether a twin was at work lately.
    pub(super) fn stands(&self, now: Mono) -> bool {
        let [.., last] = self.recent;
        self.stands && last.is_some_and(|at| now.since(at) < OVER_MS)
    }
}

/// What is said while a twin is at work.
pub const TWIN: &str = "another copy of this home is running with the same keys";
/// The shortest time between two tries while a twin is at work; as much again is added by chance.
pub(super) const TWIN_WAIT_MS: u64 = 20 * 60_000;
/// Three replacements within this time are a twin's.
const WINDOW_MS: u64 = 10 * 60_000;
/// Without a further one for this long, which several tries fit into, the twin is gone.
const OVER_MS: u64 = 2 * 3_600_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn minutes(n: u64) -> Mono {
        Mono(n * 60_000)
    }

    #[test]
    fn three_replacements_within_ten_minutes_are_a_twin_and_two_are_none() {
        let mut twin = Twin::default();
        assert!(!twin.replaced(minutes(0)));
        assert!(!twin.replaced(minutes(1)));
        assert!(!twin.replaced(minutes(11)), "the first is too long ago");
        assert!(twin.replaced(minutes(11)));
    }

    #[test]
    fn a_twin_stands_while_it_is_met_again_and_two_hours_longer() {
        let mut twin = Twin::default();
        (0..3).for_each(|n| _ = twin.replaced(minutes(n)));
        assert!(twin.replaced(minutes(40)), "one is enough now");
        assert!(twin.stands(minutes(159)));
        assert!(!twin.stands(minutes(160)));
        assert!(!twin.replaced(minutes(200)), "and then it begins anew");
    }
}
