//! Two live copies of one home: each takes the other's place at the relay, for ever, unless they stop fighting for it.
//! Spec: §7 (close 4004); ours: the specification names no alarm for a home that runs twice
//!
//! A replacement reaches only the link that is current here, so it always comes from another process with the same keys:
//! a link that this process gave up itself is no longer listened to. Three within ten minutes are no accident.
//!
//! Two copies that are up at different times never meet like that. What the other one said comes back all the same: a
//! presence or an envelope under this machine's signature, of a time when this process was up, that this home never sent.
//! An older one may be of this home's own past, when it was restored from a copy, and counts for nothing.

use messaging_core::time::{Mono, Ms};

/// The last times that another process took this link's place.
#[derive(Debug, Default)]
pub(super) struct Twin {
    recent: [Option<Mono>; 3],
    stands: bool,
    since: Option<Ms>,
}

impl Twin {
    /// Another process took the link's place. Returns whether a twin is at work.
    pub(super) fn replaced(&mut self, now: Mono, wall: Ms) -> bool {
        let stood = self.stands(now);
        self.note(now);
        let all = self.recent.iter().all(|at| at.is_some_and(|at| now.since(at) <= WINDOW_MS));
        self.set(stood, stood || all, wall);
        self.stands
    }

    /// Something came back that only another process with the same keys can have said: there is no doubt.
    pub(super) fn heard(&mut self, now: Mono, wall: Ms) {
        let stood = self.stands(now);
        self.note(now);
        self.set(stood, true, wall);
    }

    fn note(&mut self, now: Mono) {
        self.recent.rotate_left(1);
        let [.., last] = &mut self.recent;
        *last = Some(now);
    }

    fn set(&mut self, stood: bool, stands: bool, wall: Ms) {
        self.stands = stands;
        if !stood {
            self.since = stands.then_some(wall);
        }
    }

    /// Since when a twin is known, while it is at work.
    pub(super) fn since(&self, now: Mono) -> Option<Ms> {
        self.since.filter(|_| self.stands(now))
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
        assert!(!twin.replaced(minutes(0), Ms(0)));
        assert!(!twin.replaced(minutes(1), Ms(1)));
        assert!(!twin.replaced(minutes(11), Ms(2)), "the first is too long ago");
        assert_eq!(twin.since(minutes(11)), None);
        assert!(twin.replaced(minutes(11), Ms(3)));
        assert_eq!(twin.since(minutes(12)), Some(Ms(3)));
    }

    #[test]
    fn one_word_of_it_is_enough() {
        let mut twin = Twin::default();
        twin.heard(minutes(5), Ms(5));
        twin.heard(minutes(100), Ms(6));
        assert!(twin.stands(minutes(219)) && !twin.stands(minutes(220)));
        assert_eq!(twin.since(minutes(100)), Some(Ms(5)), "it was known before");
        twin.heard(minutes(300), Ms(7));
        assert_eq!(twin.since(minutes(300)), Some(Ms(7)));
    }

    #[test]
    fn a_twin_stands_while_it_is_met_again_and_two_hours_longer() {
        let mut twin = Twin::default();
        (0..3).for_each(|n| _ = twin.replaced(minutes(n), Ms(n)));
        assert!(twin.replaced(minutes(40), Ms(9)), "one is enough now");
        assert!(twin.stands(minutes(159)));
        assert!(!twin.stands(minutes(160)));
        assert!(!twin.replaced(minutes(200), Ms(9)), "and then it begins anew");
    }
}
