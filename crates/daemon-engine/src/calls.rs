//! Which calls were taken and are not answered for good: an answer whose turn was lost is none.
//! Spec: §8.2, D1.3 `internal`

use std::collections::BTreeSet;

use messaging_ipc::request::RequestId;

use crate::input::ConnId;

/// A call: whose it is, and what its client calls it.
pub(crate) type CallKey = (ConnId, RequestId);

/// Every call that its client may still wait for.
///
/// A call is *open* until the turn that answers it has handled its input without a failure; it is *answered* until that
/// turn is committed, and forgotten then.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    open: BTreeSet<CallKey>,
    answered: BTreeSet<CallKey>,
}

impl Calls {
    /// A client asked.
    pub(crate) fn taken(&mut self, key: CallKey) {
        self.open.insert(key);
    }

    /// Its client is gone.
    pub(crate) fn closed(&mut self, conn: ConnId) {
        self.open.retain(|(held, _)| *held != conn);
        self.answered.retain(|(held, _)| *held != conn);
    }

    /// Answers were wished for, by an input that was handled.
    pub(crate) fn answered(&mut self, keys: Vec<CallKey>) {
        for key in keys {
            if self.open.remove(&key) {
                self.answered.insert(key);
            }
        }
    }

    /// The call's own input failed. Whether it still has to be told.
    pub(crate) fn failed(&mut self, key: &CallKey) -> bool {
        self.open.remove(key) | self.answered.remove(key)
    }

    /// An input failed: the open calls that nothing works on any more.
    pub(crate) fn orphans(&mut self, works_on: impl Fn(&CallKey) -> bool) -> Vec<CallKey> {
        let (kept, lost) = std::mem::take(&mut self.open).into_iter().partition(works_on);
        self.open = kept;
        lost.into_iter().collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The batch is on disk, and so are its answers.
    pub(crate) fn committed(&mut self) {
        self.answered.clear();
    }

    /// The batch is lost, and its answers with it.
    pub(crate) fn lost(&mut self) -> Vec<CallKey> {
        std::mem::take(&mut self.answered).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(conn: u64, id: i64) -> CallKey {
        (ConnId(conn), RequestId::Number(id))
    }

    #[test]
    fn an_answer_counts_once_its_turn_is_committed() {
        let mut calls = Calls::default();
        calls.taken(key(1, 1));
        calls.answered(vec![key(1, 1)]);
        calls.committed();
        assert!(!calls.failed(&key(1, 1)));
        assert_eq!(calls.lost(), []);
    }

    #[test]
    fn an_answer_of_a_lost_batch_is_owed_again() {
        let mut calls = Calls::default();
        calls.taken(key(1, 1));
        calls.taken(key(1, 2));
        calls.answered(vec![key(1, 1), key(1, 2)]);
        assert!(calls.failed(&key(1, 2)));
        assert_eq!(calls.lost(), [key(1, 1)]);
        assert_eq!(calls.lost(), []);
    }

    #[test]
    fn a_call_that_nothing_works_on_is_an_orphan() {
        let mut calls = Calls::default();
        calls.taken(key(1, 1));
        calls.taken(key(1, 2));
        calls.taken(key(2, 1));
        calls.closed(ConnId(2));
        assert_eq!(calls.orphans(|held| *held == key(1, 2)), [key(1, 1)]);
        assert_eq!(calls.orphans(|_| true), []);
    }
}
