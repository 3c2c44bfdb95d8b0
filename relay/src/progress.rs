//! Bytes that left the sockets, gathered until the owner's next turn.
//! Spec: W5.5 "Pump pauses", W5.9
//!
//! Every written frame changes what a connection has buffered, which the engine must know; waking the owner for each would
//! cost more than the frame. So the connections note their bytes here, and the owner collects the notes when it runs anyway.

use std::sync::{Mutex, PoisonError};

/// The notes since the owner last looked. `C` names a connection.
#[derive(Debug)]
pub(crate) struct Progress<C> {
    written: Mutex<Vec<(C, usize)>>,
}

impl<C> Progress<C> {
    pub(crate) fn new() -> Self {
        Self { written: Mutex::new(Vec::new()) }
    }

    /// Notes that `bytes` of a connection left its socket.
    pub(crate) fn note(&self, conn: C, bytes: usize) {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).push((conn, bytes));
    }

    /// Takes the notes.
    pub(crate) fn collect(&self) -> Vec<(C, usize)> {
        std::mem::take(&mut *self.written.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
