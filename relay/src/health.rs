//! Whether the relay can serve: what `/readyz` says.
//! Spec: §7 "HTTP", W5.11

use std::sync::atomic::{AtomicBool, Ordering};

/// The conditions that make a relay unready. Any thread may set or read them.
#[derive(Debug, Default)]
pub(crate) struct Health {
    store_closed: AtomicBool,
    store_failing: AtomicBool,
    stopping: AtomicBool,
}

impl Health {
    /// The database is not open any more, or does not answer.
    pub(crate) fn set_store_closed(&self) {
        self.store_closed.store(true, Ordering::Relaxed);
    }

    /// The last write failed, or one has committed since.
    pub(crate) fn set_store_failing(&self, failing: bool) {
        self.store_failing.store(failing, Ordering::Relaxed);
    }

    /// The relay is shutting down.
    pub(crate) fn set_stopping(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// The words of the conditions that hold, in the order of the protocol; none when the relay is ready.
    pub(crate) fn why(&self) -> Vec<&'static str> {
        [
            (&self.store_closed, "store_closed"),
            (&self.store_failing, "store_failing"),
            (&self.stopping, "stopping"),
        ]
        .into_iter()
        .filter_map(|(condition, word)| condition.load(Ordering::Relaxed).then_some(word))
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_named_in_the_order_of_the_protocol() {
        let health = Health::default();
        assert!(health.why().is_empty());
        health.set_stopping();
        health.set_store_failing(true);
        assert_eq!(health.why(), ["store_failing", "stopping"]);
        health.set_store_failing(false);
        health.set_store_closed();
        assert_eq!(health.why(), ["store_closed", "stopping"]);
        assert!(health.is_stopping());
    }
}
