//! When a host is told of new items by itself: several at once, not too often, and only while that way is open.
//! Spec: §11 "Clients", D3.18
//!
//! A host that takes channels of its servers (`claude/channel`, a preview of Claude Code) puts what they send in front of its
//! model, also while it is idle. Nothing is acknowledged for it: the host does not say whether it took something. What the
//! model then reads with the tools, or what a hook sees in its prompt, counts.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use messaging_core::ids::Ulid;
use rmcp::model::InitializeRequestParams;
use tokio::time::Instant;

/// The capability, and the method's end.
pub(crate) const CHANNEL: &str = "claude/channel";
/// The notification.
pub(crate) const METHOD: &str = "notifications/claude/channel";
/// How long the first item waits for others.
const GATHER: Duration = Duration::from_secs(1);
/// So many times a host is woken within this time.
const WAKES: usize = 10;
const WITHIN: Duration = Duration::from_secs(600);
/// Items that are kept in mind; whatever is more waits in the inbox.
const MOST: usize = 200;

/// Whether a host takes channels: it says so, or it is the one that does.
pub(crate) fn is_taken_by(host: &InitializeRequestParams) -> bool {
    let says = host.capabilities.experimental.as_ref();
    says.is_some_and(|known| known.contains_key(CHANNEL)) || host.client_info.name == "claude-code"
}

/// Items that wait to be told, and when the host was woken.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    items: BTreeSet<Ulid>,
    since: Option<Instant>,
    woken: VecDeque<Instant>,
}

impl Gathering {
    /// Takes a new item.
    pub(crate) fn add(&mut self, item: Ulid, now: Instant) {
        if self.items.len() < MOST {
            self.items.insert(item);
            self.since.get_or_insert(now);
        }
    }

    /// When the items are to be told; `None` when there are none.
    pub(crate) fn due(&self) -> Option<Instant> {
        let gathered = self.since? + GATHER;
        let room = match self.woken.front() {
            Some(first) if self.woken.len() >= WAKES => *first + WITHIN,
            _ => gathered,
        };
        Some(gathered.max(room))
    }

    /// Gives the items when they are due.
    pub(crate) fn take(&mut self, now: Instant) -> Option<BTreeSet<Ulid>> {
        if self.due()? > now {
            return None;
        }
        self.since = None;
        Some(std::mem::take(&mut self.items))
    }

    /// The host was woken. Items that somebody saw meanwhile cost nothing.
    pub(crate) fn woke(&mut self, now: Instant) {
        if self.woken.len() >= WAKES {
            self.woken.pop_front();
        }
        self.woken.push_back(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u32) -> Ulid {
        Ulid::parse(&format!("01ARZ3NDEKTSV4RR{n:010}")).unwrap()
    }

    #[test]
    fn items_are_told_together_and_not_at_once() {
        let start = Instant::now();
        let mut gathering = Gathering::default();
        assert_eq!(gathering.due(), None);
        gathering.add(id(1), start);
        gathering.add(id(2), start + GATHER / 2);
        gathering.add(id(1), start + GATHER / 2);
        assert_eq!(gathering.take(start + GATHER / 2), None);
        assert_eq!(gathering.take(start + GATHER), Some([id(1), id(2)].into()));
        assert_eq!(gathering.take(start + 2 * GATHER), None);
    }

    #[test]
    fn a_host_is_woken_so_often_and_what_comes_later_waits_for_room() {
        let start = Instant::now();
        let mut gathering = Gathering::default();
        for n in 0..10 {
            let now = start + 2 * GATHER * n;
            gathering.add(id(n), now);
            assert!(gathering.take(now + GATHER).is_some(), "{n}");
            gathering.woke(now + GATHER);
        }
        let now = start + 20 * GATHER;
        gathering.add(id(10), now);
        assert_eq!(gathering.take(now + GATHER), None);
        gathering.add(id(11), now + GATHER);
        let room = start + GATHER + WITHIN;
        assert_eq!(gathering.due(), Some(room));
        assert_eq!(gathering.take(room), Some([id(10), id(11)].into()));
    }

    #[test]
    fn what_was_seen_meanwhile_costs_nothing_and_the_rest_is_bounded() {
        let start = Instant::now();
        let mut gathering = Gathering::default();
        for n in 0..1_000 {
            gathering.add(id(n), start);
        }
        assert_eq!(gathering.take(start + GATHER).unwrap().len(), MOST);
        for n in 0..100 {
            gathering.add(id(n), start);
            assert!(gathering.take(start + GATHER).is_some());
        }
    }
}
