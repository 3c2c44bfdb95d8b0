//! What waits to be sent on one connection: the owner puts texts in, the connection's task takes them out.
//! Spec: §7 "Limits" (bytes buffered for one socket), W5.9
//!
//! Its bound is the engine's: every byte put in is known there, every byte written is reported back ([`Progress`]), and a
//! connection over its budget is terminated.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use messaging_wire::CloseCode;
use tokio::sync::Notify;

/// One connection's outbox.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    contents: Mutex<Contents>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Contents {
    texts: VecDeque<Arc<str>>,
    /// Of all texts put in and not yet written.
    bytes: usize,
    /// Written since the owner was last told to look.
    untold: usize,
    verdict: Option<Verdict>,
}

/// What was decided about a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Its `hello` was accepted.
    Welcome,
    /// It is closed with this code, after the texts before.
    Close(CloseCode),
    /// It ends at once.
    Terminate,
}

impl Mailbox {
    /// Adds a text. Nobody is woken: the owner wakes each connection once a turn.
    pub(crate) fn put(&self, text: Arc<str>) {
        let mut contents = self.lock();
        contents.bytes = contents.bytes.saturating_add(text.len());
        contents.texts.push_back(text);
    }

    /// Sets the verdict. The last one counts, but nothing overrules an end.
    pub(crate) fn decide(&self, verdict: Verdict) {
        let mut contents = self.lock();
        match (contents.verdict, verdict) {
            (Some(Verdict::Terminate), _) | (Some(Verdict::Close(_)), Verdict::Welcome) => {}
            (_, Verdict::Terminate) => {
                contents.texts = VecDeque::new();
                contents.verdict = Some(verdict);
            }
            _ => contents.verdict = Some(verdict),
        }
    }

    /// Wakes the connection.
    pub(crate) fn wake(&self) {
        self.changed.notify_one();
    }

    /// Waits until the connection was woken since the last wait. May return too often, never too seldom.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The next text.
    pub(crate) fn take(&self) -> Option<Arc<str>> {
        let mut contents = self.lock();
        let text = contents.texts.pop_front();
        if contents.texts.is_empty() && contents.texts.capacity() > KEPT {
            // A burst's room is given back.
            contents.texts = VecDeque::new();
        }
        text
    }

    /// Counts bytes as written; says whether the owner is to look now, since deliveries may wait for them: much went since it
    /// was last told, or a little and nothing is left.
    pub(crate) fn wrote(&self, bytes: usize) -> bool {
        let mut contents = self.lock();
        contents.bytes = contents.bytes.saturating_sub(bytes);
        contents.untold = contents.untold.saturating_add(bytes);
        let most = if contents.bytes == 0 { TOLD_WHEN_EMPTY } else { TOLD };
        let tell = contents.untold >= most;
        if tell {
            contents.untold = 0;
        }
        tell
    }

    /// What was decided, when something was.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        self.lock().verdict
    }

    /// The contents change in single steps: a panic elsewhere cannot leave them half changed.
    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The owner hears of this much at once. It is well below the 1 MiB at which paused deliveries resume. Spec: W5.5
const TOLD: usize = 256 * 1024;
/// It hears of this much when nothing is left: where they resume while all sockets together hold much. Less is not worth
/// waking it for.
const TOLD_WHEN_EMPTY: usize = 16 * 1024;
/// Room for texts that an empty mailbox may keep.
const KEPT: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn texts_come_out_in_order_and_a_wake_before_the_wait_counts() {
        let mailbox = Mailbox::default();
        for n in 0..20 {
            mailbox.put(n.to_string().into());
        }
        mailbox.wake();
        mailbox.changed().await;
        let texts: Vec<_> = std::iter::from_fn(|| mailbox.take()).collect();
        assert_eq!(texts.len(), 20);
        assert_eq!((&*texts[0], &*texts[19]), ("0", "19"));
        assert!(mailbox.lock().texts.capacity() <= KEPT, "the burst's room is given back");
    }

    #[test]
    fn whoever_waits_for_a_socket_hears_when_a_quarter_is_left_however_it_drains() {
        // The two bounds at which the engine pauses deliveries.
        for high in [64 * 1024, 4 * 1024 * 1024] {
            for piece in [1_000, 5_000, 16 * 1024, 30_000, 65_536, 1 << 20] {
                let mailbox = Mailbox::default();
                mailbox.put("x".repeat(high).into());
                let (mut left, mut known, mut told) = (high, high, 0);
                while left > 0 {
                    let written = piece.min(left);
                    left -= written;
                    if mailbox.wrote(written) {
                        (known, told) = (left, told + 1);
                    }
                }
                assert!(known <= high / 4, "{high} by {piece}: {known} left at the last word");
                assert!(told <= high / TOLD + 1, "{high} by {piece}: told {told} times");
            }
        }
    }

    #[test]
    fn a_small_answer_wakes_nobody() {
        let mailbox = Mailbox::default();
        for _ in 0..10 {
            mailbox.put("x".repeat(1_000).into());
            assert!(!mailbox.wrote(1_000));
        }
    }

    #[test]
    fn an_end_is_final_and_the_hardest_one_wins() {
        let mailbox = Mailbox::default();
        assert_eq!(mailbox.verdict(), None);
        mailbox.decide(Verdict::Welcome);
        mailbox.put("last".into());
        mailbox.decide(Verdict::Close(CloseCode::Replaced));
        mailbox.decide(Verdict::Welcome);
        assert_eq!(mailbox.verdict(), Some(Verdict::Close(CloseCode::Replaced)));
        mailbox.decide(Verdict::Terminate);
        mailbox.decide(Verdict::Close(CloseCode::Stopping));
        assert_eq!(mailbox.verdict(), Some(Verdict::Terminate));
        assert_eq!(mailbox.take(), None, "nobody reads them any more");
    }
}
