//! What will happen, in virtual time.

use std::collections::BTreeMap;

/// Milliseconds since the world began.
pub type At = u64;

/// Events in the order of their time; those of one millisecond in the order in which they were entered.
#[derive(Debug)]
pub struct Agenda<E> {
    now: At,
    entered: u64,
    events: BTreeMap<(At, u64), E>,
}

impl<E> Agenda<E> {
    /// An empty agenda at time 0.
    #[must_use]
    pub const fn new() -> Self {
        Self { now: 0, entered: 0, events: BTreeMap::new() }
    }

    /// The present.
    #[must_use]
    pub const fn now(&self) -> At {
        self.now
    }

    /// Enters an event; one in the past happens next.
    pub fn at(&mut self, at: At, event: E) {
        self.events.insert((at.max(self.now), self.entered), event);
        self.entered += 1;
    }

    /// Enters an event `delay` ms from now.
    pub fn after(&mut self, delay: u64, event: E) {
        self.at(self.now.saturating_add(delay), event);
    }

    /// Goes on to the next event that happens by `until`; without one, time stops there.
    pub fn next(&mut self, until: At) -> Option<E> {
        match self.events.first_entry() {
            Some(first) if first.key().0 <= until => {
                self.now = first.key().0;
                Some(first.remove())
            }
            _ => {
                self.now = self.now.max(until);
                None
            }
        }
    }

    /// The events that wait, in order.
    pub fn waiting(&self) -> impl Iterator<Item = &E> {
        self.events.values()
    }
}

impl<E> Default for Agenda<E> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_only_goes_forward() {
        let mut agenda = Agenda::new();
        agenda.at(20, 'c');
        agenda.at(10, 'a');
        agenda.at(10, 'b');
        assert_eq!((agenda.next(15), agenda.now()), (Some('a'), 10));
        agenda.at(3, 'x');
        assert_eq!((agenda.next(15), agenda.now()), (Some('b'), 10));
        assert_eq!((agenda.next(15), agenda.now()), (Some('x'), 10));
        assert_eq!((agenda.next(15), agenda.now()), (None, 15));
        assert_eq!((agenda.next(99), agenda.now()), (Some('c'), 20));
        assert_eq!((agenda.next(99), agenda.now()), (None, 99));
    }
}
