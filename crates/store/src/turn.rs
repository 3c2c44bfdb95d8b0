//! One turn: inputs in, one transaction, one commit, and only then what was promised.
//! Spec: §7 "Group commit", "Store failures"

use messaging_core::random::Random;
use messaging_core::time::{Mono, Now};

use crate::effects::{Effects, Released};
use crate::error::StoreError;
use crate::fault::FaultPlan;
use crate::open::Store;
use crate::tx::{Ledger, Tx, View};

/// The most inputs that one transaction holds.
pub const MAX_BATCH: usize = 256;

/// How an input joins the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batch {
    /// Writes nothing and promises nothing that rests on a write of the same batch. Its memory changes and effects stand even
    /// if the commit fails; the effects keep their place in the order.
    Free,
    /// Joins the open transaction, and must read from it or from staged memory.
    Shared,
    /// Commits what is open first, then runs and commits on its own, so it sees committed memory only.
    Alone,
}

/// A synchronous state machine over a store: inputs in, rows and effects out. It asks for nothing: time, randomness and rows
/// are lent.
///
/// Its memory is a cache of committed rows. What an input changes there because of a write is *staged*, and applied by
/// [`settle`](Machine::settle).
pub trait Machine {
    /// What can happen to it.
    type In;
    /// What it can wish for.
    type Out;
    /// What is kept of an input, to answer it when its writes fail.
    type Ticket;

    /// How an input joins a batch.
    fn batch(input: &Self::In) -> Batch;

    /// Whether the input's writes are undone together when one of them fails, by a savepoint around them.
    ///
    /// A savepoint copies every page that the input touches. Without one, an input whose first write fails is still refused
    /// alone, since a statement undoes itself; one that fails after a write of its own takes the batch with it, unless it
    /// took the write back ([`Tx::undone`]). A full disk or an I/O error ends the whole transaction either way.
    fn guarded(_input: &Self::In) -> bool {
        true
    }

    /// What [`refused`](Machine::refused) will need to answer this input.
    fn ticket(&self, input: &Self::In) -> Self::Ticket;

    /// Handles one input. A refusal is an effect; only a failed read or write is an `Err`, and then every write and effect of
    /// this input is undone.
    fn handle(
        &mut self,
        turn: &mut Turn<'_>,
        input: Self::In,
        out: &mut Effects<Self::Out>,
    ) -> Result<(), StoreError>;

    /// An input whose writes are undone: drop what it staged and answer it.
    ///
    /// Called once: right after `handle` failed, or when the whole batch is lost, in order, for each of its inputs that is
    /// not free and had not been refused alone.
    fn refused(
        &mut self,
        ticket: Self::Ticket,
        error: StoreError,
        now: Now,
        out: &mut Effects<Self::Out>,
    );

    /// The batch is over: apply what was staged, or drop it.
    ///
    /// Effects made here are released with the batch's. After a failure the machine also forgets every cached row that the
    /// batch touched and reads it again: a commit that reports failure may have been applied.
    fn settle(&mut self, settled: &mut Settled<'_>, out: &mut Effects<Self::Out>);

    /// When the machine wants its tick, if nothing else happens before.
    fn deadline(&self) -> Option<Mono>;
}

/// What a machine is lent while it handles one input.
pub struct Turn<'a> {
    /// The clocks, read once for the whole turn.
    pub now: Now,
    /// Randomness.
    pub rng: &'a mut dyn Random,
    /// The rows, and the open transaction.
    pub tx: Tx<'a>,
}

/// What a machine is lent when its batch is over.
pub struct Settled<'a> {
    /// The clocks of the turn.
    pub now: Now,
    /// Randomness.
    pub rng: &'a mut dyn Random,
    /// The committed rows.
    pub rows: View<'a>,
    /// Whether the batch counts.
    pub outcome: Outcome,
}

/// How a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its writes, if any, are on disk.
    Committed(Commit),
    /// None of its writes counts.
    Failed(StoreError),
}

/// What a commit held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// Writing statements; 0 means that nothing was written and nothing synced.
    pub writes: u64,
    /// Rows that they changed.
    pub changed: u64,
    /// Time in the commit, ns; 0 without a stopwatch ([`Loop::set_stopwatch`]).
    pub nanos: u64,
}

/// Drives one machine over one store. It owns both, so nobody takes a lock.
pub struct Loop<M> {
    machine: M,
    store: Store,
    rng: Box<dyn Random + Send>,
    ledger: Ledger,
    stopwatch: Option<fn() -> u64>,
}

impl<M: Machine> Loop<M> {
    /// A loop over an open store, and a machine that was loaded from it.
    pub fn new(store: Store, machine: M, rng: impl Random + Send + 'static) -> Self {
        Self { machine, store, rng: Box::new(rng), ledger: Ledger::default(), stopwatch: None }
    }

    /// Takes inputs in order, batch by batch, and returns what they led to, in order, once it is durable.
    ///
    /// A batch holds at most [`MAX_BATCH`] inputs. Cost: one sync for each batch that wrote.
    pub fn turn(&mut self, now: Now, inputs: impl IntoIterator<Item = M::In>) -> Released<M::Out> {
        let mut out = Effects::new();
        let mut batch = Open { start: 0, inputs: Vec::new() };
        for input in inputs {
            let how = M::batch(&input);
            if (how == Batch::Alone && !batch.inputs.is_empty()) || batch.inputs.len() >= MAX_BATCH
            {
                self.close(now, &mut batch, &mut out);
            }
            let lost = self.take(now, how, input, &mut batch, &mut out);
            if let Some(error) = lost {
                self.lose(now, error, &mut batch, &mut out);
            } else if how == Batch::Alone {
                self.close(now, &mut batch, &mut out);
            }
        }
        if !batch.inputs.is_empty() {
            self.close(now, &mut batch, &mut out);
        }
        out.release()
    }

    /// When the machine wants its tick.
    pub fn deadline(&self) -> Option<Mono> {
        self.machine.deadline()
    }

    /// The machine.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// The machine, for what needs no transaction (settings, counters).
    pub fn machine_mut(&mut self) -> &mut M {
        &mut self.machine
    }

    /// The committed rows.
    pub fn view(&self) -> View<'_> {
        self.store.view()
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Makes chosen writes and commits fail from now on. Steps count from 0 again.
    pub fn set_faults(&mut self, faults: FaultPlan) {
        self.ledger.faults = faults;
        self.ledger.steps = 0;
    }

    /// Write statements and commits since the fault plan was set, or since the start.
    pub fn steps(&self) -> u64 {
        self.ledger.steps
    }

    /// Lends a monotonic clock, ns, with which commits are timed ([`Commit::nanos`]).
    pub fn set_stopwatch(&mut self, stopwatch: fn() -> u64) {
        self.stopwatch = Some(stopwatch);
    }

    /// Ends the loop. The store is as the last commit left it: dropping the machine here is a crash between two turns.
    pub fn into_store(self) -> Store {
        self.store
    }

    /// Handles one input. `Some` when the batch's transaction ended with an error.
    fn take(
        &mut self,
        now: Now,
        how: Batch,
        input: M::In,
        batch: &mut Open<M::Ticket>,
        out: &mut Effects<M::Out>,
    ) -> Option<StoreError> {
        let ticket = self.machine.ticket(&input);
        let start = out.len();
        self.ledger.begin_input(how != Batch::Free, M::guarded(&input));
        let conn = self.store.conn();
        let mut turn = Turn { now, rng: &mut *self.rng, tx: Tx::new(conn, &mut self.ledger) };
        let result = self.machine.handle(&mut turn, input, out);
        let result = result.and_then(|()| self.ledger.end_input(self.store.conn()));
        let Err(error) = result else {
            batch.inputs.push(Input { ticket: Some(ticket), how, effects: out.len() - start });
            return None;
        };
        out.truncate(start);
        if !self.ledger.undo_input(self.store.conn()) {
            batch.inputs.push(Input { ticket: Some(ticket), how: Batch::Shared, effects: 0 });
            return Some(error);
        }
        self.machine.refused(ticket, error, now, out);
        // Its answer stands whatever becomes of the batch.
        batch.inputs.push(Input { ticket: None, how: Batch::Free, effects: out.len() - start });
        None
    }

    /// Commits the batch and settles it.
    fn close(&mut self, now: Now, batch: &mut Open<M::Ticket>, out: &mut Effects<M::Out>) {
        let before = self.stopwatch.map(|watch| watch());
        if let Err(error) = self.ledger.commit(self.store.conn()) {
            self.lose(now, error, batch, out);
            return;
        }
        let nanos = match (before, self.stopwatch) {
            (Some(before), Some(watch)) if self.ledger.writes > 0 => watch().saturating_sub(before),
            _ => 0,
        };
        let commit = Commit { writes: self.ledger.writes, changed: self.ledger.changed, nanos };
        self.settle(now, Outcome::Committed(commit), batch, out);
    }

    /// The batch is lost: each of its inputs is refused, in order, and what was free stays.
    fn lose(
        &mut self,
        now: Now,
        error: StoreError,
        batch: &mut Open<M::Ticket>,
        out: &mut Effects<M::Out>,
    ) {
        self.ledger.abandon(self.store.conn());
        let mut held = out.split_off(batch.start).into_iter();
        for input in batch.inputs.drain(..) {
            let effects = held.by_ref().take(input.effects);
            match input.ticket {
                Some(ticket) if input.how != Batch::Free => {
                    effects.for_each(drop);
                    self.machine.refused(ticket, error, now, out);
                }
                _ => out.extend(effects),
            }
        }
        self.settle(now, Outcome::Failed(error), batch, out);
    }

    fn settle(
        &mut self,
        now: Now,
        outcome: Outcome,
        batch: &mut Open<M::Ticket>,
        out: &mut Effects<M::Out>,
    ) {
        self.ledger.reset();
        let mut settled =
            Settled { now, rng: &mut *self.rng, rows: View::new(self.store.conn()), outcome };
        self.machine.settle(&mut settled, out);
        batch.inputs.clear();
        batch.start = out.len();
    }
}

/// The batch that is open: where its effects begin, and its inputs.
struct Open<T> {
    start: usize,
    inputs: Vec<Input<T>>,
}

struct Input<T> {
    ticket: Option<T>,
    how: Batch,
    /// How many effects it made.
    effects: usize,
}

#[cfg(test)]
#[path = "turn_tests.rs"]
mod tests;
