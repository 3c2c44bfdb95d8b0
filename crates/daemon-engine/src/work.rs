//! What every function of the engine is lent: the turn, and a place for its wishes.

use messaging_core::code::{Code, Failure};
use messaging_core::ids::Ulid;
use messaging_core::random::{self, Random};
use messaging_core::time::{Mono, Ms, Now};
use messaging_ipc::error::Refusal;
use messaging_store::{Effects, StoreError, Turn, Tx};

use crate::calls::CallKey;
use crate::events::LogEvent;
use crate::input::Out;

/// One input's turn.
pub(crate) struct Work<'w, 't> {
    /// The clocks, read once.
    pub(crate) now: Now,
    /// Randomness.
    pub(crate) rng: &'w mut dyn Random,
    /// The rows.
    pub(crate) tx: &'w mut Tx<'t>,
    out: &'w mut Effects<Out>,
    answered: Vec<CallKey>,
}

impl<'w, 't> Work<'w, 't> {
    pub(crate) fn new(turn: &'w mut Turn<'t>, out: &'w mut Effects<Out>) -> Self {
        Self { now: turn.now, rng: turn.rng, tx: &mut turn.tx, out, answered: Vec::new() }
    }

    /// The wall clock.
    pub(crate) fn wall(&self) -> Ms {
        self.now.wall
    }

    /// The clock of timers.
    pub(crate) fn mono(&self) -> Mono {
        self.now.mono
    }

    /// Wishes for something once this turn is on disk.
    pub(crate) fn wish(&mut self, out: Out) {
        self.out.push(out);
    }

    /// Answers a call once this turn is on disk.
    pub(crate) fn answer(&mut self, (conn, id): CallKey, line: Vec<u8>) {
        self.out.push(Out::IpcSend { conn, line, answers: true });
        self.answered.push((conn, id));
    }

    /// The calls that were answered in this turn.
    pub(crate) fn into_answered(self) -> Vec<CallKey> {
        self.answered
    }

    /// Writes a log line once this turn is on disk.
    pub(crate) fn log(&mut self, event: LogEvent) {
        self.out.push(Out::Log(event));
    }

    /// A fresh id of this moment.
    pub(crate) fn ulid(&mut self) -> Ulid {
        random::ulid(self.now.wall, self.rng)
    }
}

/// Why a step stopped: a refusal that the caller is told, or a store failure that undoes the whole input.
///
/// A refusal undoes nothing, so a step checks everything before its first write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// Nothing was done; the caller is told.
    Refused(Refusal),
    /// A read or write failed.
    Store(StoreError),
}

/// The outcome of a step.
pub(crate) type Step<T> = Result<T, Halt>;

impl From<Failure> for Halt {
    fn from(failure: Failure) -> Self {
        Self::Refused(failure.into())
    }
}

impl From<Refusal> for Halt {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Halt {
    /// A refusal with `code` at `at`.
    pub(crate) fn refused(code: Code, at: &'static str) -> Self {
        Self::Refused(Refusal::new(code, at))
    }
}

/// Keeps a store failure a failure, and hands a refusal over as a value.
pub(crate) fn judged<T>(step: Step<T>) -> Result<Result<T, Refusal>, StoreError> {
    match step {
        Ok(value) => Ok(Ok(value)),
        Err(Halt::Refused(refusal)) => Ok(Err(refusal)),
        Err(Halt::Store(error)) => Err(error),
    }
}
