//! The queue between the owner and one connection: bounded in bytes, and cut when a client stops
//! reading.
//!
//! Spec: D1.1 "Backlog"

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use messaging_ipc::line::BACKLOG_BYTES;
use tokio::sync::{mpsc, oneshot};

/// What waits to be written to a connection.
pub(super) enum Outgoing {
    /// A line with its line feed; `answers` when it is the answer to a request.
    Line { line: Vec<u8>, answers: bool },
    /// Write what came before, then close.
    End,
}

/// The owner's end. Dropping it cuts the connection at once, whatever is still queued.
pub(crate) struct LineQueue {
    lines: mpsc::UnboundedSender<Outgoing>,
    waiting: Arc<AtomicUsize>,
    _cut: oneshot::Sender<()>,
}

/// The connection's end.
pub(super) struct Lines {
    lines: mpsc::UnboundedReceiver<Outgoing>,
    waiting: Arc<AtomicUsize>,
}

/// Resolves when the owner has dropped its end.
pub(super) type Cut = oneshot::Receiver<()>;

pub(super) fn queue() -> (LineQueue, Lines, Echo, Cut) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    let (cut, cut_off) = oneshot::channel();
    let lines = Lines { lines: receiver, waiting: Arc::clone(&waiting) };
    let echo = Echo { lines: sender.clone(), waiting: Arc::clone(&waiting) };
    (LineQueue { lines: sender, waiting, _cut: cut }, lines, echo, cut_off)
}

impl LineQueue {
    /// Queues one line. `false` when the client has fallen too far behind: the caller then drops
    /// the queue, which cuts the connection.
    pub(crate) fn push(&self, line: Vec<u8>, answers: bool) -> bool {
        let bytes = line.len();
        let before = self.waiting.fetch_add(bytes, Ordering::Relaxed);
        // A task that has ended takes nothing more; its goodbye is on the way to the owner.
        let _ = self.lines.send(Outgoing::Line { line, answers });
        before + bytes <= BACKLOG_BYTES
    }

    /// Closes the connection after what is queued.
    pub(crate) fn end(&self) {
        let _ = self.lines.send(Outgoing::End);
    }

    /// Waits until the connection's task has ended.
    pub(crate) async fn written(self) {
        self.lines.closed().await;
    }
}

/// The connection task's own way into its queue, for what never reaches the owner.
#[derive(Clone)]
pub(super) struct Echo {
    lines: mpsc::UnboundedSender<Outgoing>,
    waiting: Arc<AtomicUsize>,
}

impl Echo {
    /// Answers a line that is no request. At most one for each free slot can wait.
    pub(super) fn answer(&self, line: Vec<u8>) {
        self.waiting.fetch_add(line.len(), Ordering::Relaxed);
        let _ = self.lines.send(Outgoing::Line { line, answers: true });
    }

    /// Closes the connection after what is queued.
    pub(super) fn end(&self) {
        let _ = self.lines.send(Outgoing::End);
    }
}

impl Lines {
    /// The next thing to write, or `None` when the owner is gone.
    pub(super) async fn next(&mut self) -> Option<Outgoing> {
        self.lines.recv().await
    }

    /// Says that `bytes` of lines have left.
    pub(super) fn left(&self, bytes: usize) {
        self.waiting.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backlog_is_counted_in_bytes() {
        let (queue, lines, _echo, _cut) = queue();
        assert!(queue.push(vec![b'x'; BACKLOG_BYTES], true));
        assert!(!queue.push(vec![b'\n'], false));
        lines.left(2);
        assert!(queue.push(vec![b'\n'], false));
    }

    #[tokio::test]
    async fn dropping_the_queue_cuts_even_with_lines_waiting() {
        let (queue, _lines, _echo, cut) = queue();
        assert!(queue.push(b"waiting\n".to_vec(), true));
        drop(queue);
        assert!(cut.await.is_err());
    }
}
