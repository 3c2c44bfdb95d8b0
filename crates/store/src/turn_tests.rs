//! The turn loop over a small machine: commits, refusals, and every kind of failure.

use super::*;
use crate::fault::{Fault, How};
use crate::layout::{Layout, SchemaAt};
use messaging_core::testing::SeededRandom;
use messaging_core::time::Ms;
use proptest::prelude::*;
use std::collections::BTreeMap;

const LAYOUT: Layout = Layout {
    records: "meta",
    schema_at: SchemaAt::UserVersion,
    generation: 2,
    schema: 1,
    min_reader: 1,
    marks: &[],
    baseline: "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE pairs(k INTEGER PRIMARY KEY, v INTEGER NOT NULL CHECK(v < 100));",
    growth: &[],
    ignored: &[],
};

/// A map with a table behind it.
#[derive(Default)]
struct Book {
    rows: BTreeMap<i64, i64>,
    staged: Vec<(i64, i64)>,
    /// Where the present input's staged rows begin.
    mark: usize,
    batches: Vec<Outcome>,
    reload: bool,
}

#[derive(Clone, Debug)]
enum In {
    /// Writes every pair, in order; a value of 100 or more breaks the table's constraint.
    Put(Vec<(i64, i64)>),
    Alone(i64, i64),
    Ping(i64),
    /// A free input that writes all the same.
    Cheat,
    /// Writes without a savepoint; `true`: takes back what it wrote when a later write fails.
    Bare(Vec<(i64, i64)>, bool),
}

#[derive(Clone, Debug, PartialEq)]
enum Out {
    Put(i64),
    Pong(i64),
    Refused(i64, StoreError),
    /// Made by settle: how many rows the memory holds.
    Held(usize),
}

impl Machine for Book {
    type In = In;
    type Out = Out;
    type Ticket = i64;

    fn batch(input: &In) -> Batch {
        match input {
            In::Put(_) | In::Bare(..) => Batch::Shared,
            In::Alone(..) => Batch::Alone,
            In::Ping(_) | In::Cheat => Batch::Free,
        }
    }
    fn ticket(&self, input: &In) -> i64 {
        match input {
            In::Put(pairs) | In::Bare(pairs, _) => pairs[0].0,
            In::Alone(k, _) | In::Ping(k) => *k,
            In::Cheat => -1,
        }
    }
    fn guarded(input: &In) -> bool {
        !matches!(input, In::Bare(..))
    }
    fn handle(
        &mut self,
        turn: &mut Turn<'_>,
        input: In,
        out: &mut Effects<Out>,
    ) -> Result<(), StoreError> {
        self.mark = self.staged.len();
        let pairs = match input {
            In::Ping(k) => {
                out.push(Out::Pong(k));
                return Ok(());
            }
            In::Put(pairs) => pairs,
            In::Bare(pairs, takes_back) => {
                let mut written = Vec::new();
                for (k, v) in pairs {
                    if let Err(error) = turn.tx.execute("INSERT INTO pairs VALUES (?1, ?2)", (k, v))
                    {
                        if takes_back {
                            for k in written {
                                turn.tx.execute("DELETE FROM pairs WHERE k = ?1", [k])?;
                            }
                            turn.tx.undone();
                        }
                        return Err(error);
                    }
                    written.push(k);
                    self.staged.push((k, v));
                    out.push(Out::Put(k));
                }
                return Ok(());
            }
            In::Alone(k, v) => {
                assert!(self.staged.is_empty(), "an alone input sees committed memory only");
                vec![(k, v)]
            }
            In::Cheat => vec![(0, 0)],
        };
        for (k, v) in pairs {
            turn.tx.execute(
                "INSERT INTO pairs VALUES (?1, ?2) ON CONFLICT(k) DO UPDATE SET v = excluded.v",
                (k, v),
            )?;
            assert_eq!(read(&turn.tx, k), Some(v), "a transaction reads its own writes");
            self.staged.push((k, v));
            out.push(Out::Put(k));
        }
        Ok(())
    }
    fn refused(&mut self, ticket: i64, error: StoreError, _: Now, out: &mut Effects<Out>) {
        self.staged.truncate(self.mark);
        out.push(Out::Refused(ticket, error));
    }
    fn settle(&mut self, settled: &mut Settled<'_>, out: &mut Effects<Out>) {
        let staged = std::mem::take(&mut self.staged);
        self.batches.push(settled.outcome);
        match settled.outcome {
            Outcome::Committed(_) => self.rows.extend(staged),
            Outcome::Failed(_) => self.reload = true,
        }
        if self.reload {
            self.rows = all(settled.rows);
            self.reload = false;
        }
        assert_eq!(self.rows, all(settled.rows), "memory is a cache of committed rows");
        out.push(Out::Held(self.rows.len()));
    }
    fn deadline(&self) -> Option<Mono> {
        None
    }
}

fn read(view: &View<'_>, k: i64) -> Option<i64> {
    view.row("SELECT v FROM pairs WHERE k = ?1", [k], |row| row.get(0)).unwrap()
}

fn all(view: View<'_>) -> BTreeMap<i64, i64> {
    view.rows("SELECT k, v FROM pairs", (), |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .into_iter()
        .collect()
}

const NOW: Now = Now { wall: Ms(1), mono: Mono(1) };

fn book() -> Loop<Book> {
    Loop::new(Store::memory(&LAYOUT, &[]).unwrap(), Book::default(), SeededRandom::new(1))
}

fn run(book: &mut Loop<Book>, inputs: &[In]) -> Vec<Out> {
    book.turn(NOW, inputs.iter().cloned()).into_iter().collect()
}

fn put(k: i64) -> In {
    In::Put(vec![(k, k)])
}

fn committed(book: &Loop<Book>) -> Vec<u64> {
    let writes = |outcome: &Outcome| match outcome {
        Outcome::Committed(commit) => commit.writes,
        Outcome::Failed(_) => 99,
    };
    book.machine().batches.iter().map(writes).collect()
}

#[test]
fn shared_inputs_make_one_commit_and_answer_in_order() {
    let mut book = book();
    let out = run(&mut book, &[put(10), In::Ping(7), put(20)]);
    assert_eq!(out, [Out::Put(10), Out::Pong(7), Out::Put(20), Out::Held(2)]);
    assert_eq!(committed(&book), [2]);
    assert_eq!(book.steps(), 3, "two writes and one commit");
}

#[test]
fn an_alone_input_closes_the_batch_before_it_and_its_own() {
    let mut book = book();
    let out = run(&mut book, &[put(10), In::Alone(20, 1), put(30), put(40)]);
    let expected = [
        Out::Put(10),
        Out::Held(1),
        Out::Put(20),
        Out::Held(2),
        Out::Put(30),
        Out::Put(40),
        Out::Held(4),
    ];
    assert_eq!(out, expected);
    assert_eq!(committed(&book), [1, 1, 2]);
}

#[test]
fn a_batch_holds_at_most_256() {
    let mut book = book();
    let inputs: Vec<In> = (1..=600).map(|k| In::Put(vec![(k, 1)])).collect();
    run(&mut book, &inputs);
    assert_eq!(committed(&book), [256, 256, 88]);
}

#[test]
fn without_a_write_there_is_no_commit() {
    let mut book = book();
    assert_eq!(run(&mut book, &[In::Ping(1)]), [Out::Pong(1), Out::Held(0)]);
    assert_eq!(book.steps(), 0);
    assert_eq!(run(&mut book, &[]), []);
}

#[test]
fn one_bad_write_is_refused_alone_with_all_its_writes() {
    let mut book = book();
    let bad = In::Put(vec![(20, 1), (21, 2), (22, 100)]);
    let out = run(&mut book, &[put(10), bad, put(30)]);
    let expected =
        [Out::Put(10), Out::Refused(20, StoreError::Constraint), Out::Put(30), Out::Held(2)];
    assert_eq!(out, expected);
    assert_eq!(committed(&book), [2], "undone writes are not counted");
    assert_eq!(all(book.view()).keys().copied().collect::<Vec<_>>(), [10, 30]);
}

#[test]
fn without_a_savepoint_a_first_write_fails_alone_and_a_later_one_takes_the_batch() {
    let bare =
        |k, bad, takes_back| In::Bare(vec![(k, 1), (k + 1, if bad { 100 } else { 1 })], takes_back);
    let refused = |k| Out::Refused(k, StoreError::Constraint);

    let mut book = book();
    let out = run(&mut book, &[put(10), In::Bare(vec![(20, 100)], false), put(30)]);
    assert_eq!(out, [Out::Put(10), refused(20), Out::Put(30), Out::Held(2)]);

    let out = run(&mut book, &[put(40), bare(50, true, false), put(60)]);
    assert_eq!(out, [refused(40), refused(50), Out::Held(2), Out::Put(60), Out::Held(3)]);

    let out = run(&mut book, &[put(40), bare(50, true, true), bare(70, false, true)]);
    let expected = [Out::Put(40), refused(50), Out::Put(70), Out::Put(71), Out::Held(6)];
    assert_eq!(out, expected);
    assert_eq!(committed(&book).last(), Some(&3));
}

#[test]
fn a_bare_write_that_fails_on_demand_was_not_made() {
    for how in [How::Lost, How::AppliedButReportedLost] {
        let mut book = book();
        book.set_faults(FaultPlan::nth(1, how, StoreError::Io));
        let out = run(&mut book, &[put(10), In::Bare(vec![(20, 1)], false)]);
        assert_eq!(out, [Out::Put(10), Out::Refused(20, StoreError::Io), Out::Held(1)]);
    }
}

#[test]
fn a_free_input_may_not_write() {
    let mut book = book();
    let out = run(&mut book, &[put(10), In::Cheat]);
    assert_eq!(out, [Out::Put(10), Out::Refused(-1, StoreError::Other), Out::Held(1)]);
}

#[test]
fn a_failed_commit_refuses_every_input_but_the_free_ones() {
    for how in [How::Lost, How::EndsTransaction] {
        let mut book = book();
        book.set_faults(FaultPlan::nth(2, how, StoreError::Full));
        let out = run(&mut book, &[put(10), In::Ping(7), put(20)]);
        let refused = |k| Out::Refused(k, StoreError::Full);
        assert_eq!(out, [refused(10), Out::Pong(7), refused(20), Out::Held(0)]);
        assert_eq!(run(&mut book, &[put(10)]), [Out::Put(10), Out::Held(1)], "and it goes on");
    }
}

#[test]
fn a_commit_that_was_applied_but_reported_lost_is_read_again() {
    let mut book = book();
    book.set_faults(FaultPlan::nth(1, How::AppliedButReportedLost, StoreError::Io));
    let out = run(&mut book, &[put(10)]);
    assert_eq!(out, [Out::Refused(10, StoreError::Io), Out::Held(1)]);
}

#[test]
fn an_error_that_ends_the_transaction_loses_the_batch_so_far_and_no_more() {
    let mut book = book();
    book.set_faults(FaultPlan::nth(1, How::EndsTransaction, StoreError::Full));
    let out = run(&mut book, &[put(10), In::Ping(7), put(20), put(30)]);
    let refused = |k| Out::Refused(k, StoreError::Full);
    let expected =
        [refused(10), Out::Pong(7), refused(20), Out::Held(0), Out::Put(30), Out::Held(1)];
    assert_eq!(out, expected);
}

#[test]
fn an_input_refused_alone_is_not_answered_twice_when_the_commit_fails_too() {
    let mut book = book();
    let fault = Fault { from: 3, until: 4, how: How::Lost, error: StoreError::Full };
    book.set_faults(FaultPlan::nth(1, How::Lost, StoreError::Io).and(fault));
    let out = run(&mut book, &[put(10), put(20), put(30)]);
    let expected = [
        Out::Refused(10, StoreError::Full),
        Out::Refused(20, StoreError::Io),
        Out::Refused(30, StoreError::Full),
        Out::Held(0),
    ];
    assert_eq!(out, expected);
}

#[test]
fn a_full_database_is_a_state_and_not_a_crash() {
    let mut book = book();
    book.set_faults(FaultPlan::always(StoreError::Full));
    for _ in 0..3 {
        let out = run(&mut book, &[put(10)]);
        assert_eq!(out, [Out::Refused(10, StoreError::Full), Out::Held(0)]);
    }
    book.set_faults(FaultPlan::none());
    assert_eq!(run(&mut book, &[put(10)]), [Out::Put(10), Out::Held(1)]);
}

#[test]
fn a_locked_file_is_busy_and_the_next_turn_works() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("book.db");
    let store = Store::open(&path, &LAYOUT, &[]).unwrap();
    store.conn().busy_timeout(std::time::Duration::ZERO).unwrap();
    let mut book = Loop::new(store, Book::default(), SeededRandom::new(1));
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let out = run(&mut book, &[put(10), put(20)]);
    let busy = |k| Out::Refused(k, StoreError::Busy);
    assert_eq!(out, [busy(10), busy(20), Out::Held(0)]);
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(run(&mut book, &[put(10)]), [Out::Put(10), Out::Held(1)]);
    drop(book);
    let again = Store::open(&path, &LAYOUT, &[]).unwrap();
    assert_eq!(all(again.view()).len(), 1);
}

#[test]
fn a_really_full_database_is_refused_and_recovers() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("book.db"), &LAYOUT, &[]).unwrap();
    let pages: i64 = store.conn().pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    store.conn().pragma_update(None, "max_page_count", pages).unwrap();
    let mut book = Loop::new(store, Book::default(), SeededRandom::new(1));
    let many = In::Put((0..2_000).map(|k| (k, 1)).collect());
    let out = run(&mut book, &[put(5_000), many.clone(), put(5_010)]);
    assert!(out.contains(&Out::Refused(0, StoreError::Full)), "{out:?}");
    let held: Vec<i64> = all(book.view()).into_keys().collect();
    for k in [5_000, 5_010] {
        assert_eq!(
            out.contains(&Out::Put(k)),
            held.contains(&k),
            "an answer and its row go together"
        );
    }
    assert!(held.iter().all(|k| *k >= 5_000));
    book.store().conn().pragma_update(None, "max_page_count", 10_000).unwrap();
    let out = run(&mut book, &[many]);
    assert_eq!(out.len(), 2_001);
}

#[test]
fn commits_are_timed_by_a_lent_clock() {
    static TICKS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let mut book = book();
    book.set_stopwatch(|| TICKS.fetch_add(5, std::sync::atomic::Ordering::Relaxed));
    run(&mut book, &[put(10)]);
    let expected = Outcome::Committed(Commit { writes: 1, changed: 1, nanos: 5 });
    assert_eq!(book.machine().batches, [expected]);
}

fn input() -> impl Strategy<Value = In> {
    prop_oneof![
        4 => (1i64..9, prop::collection::vec((0i64..10, 0i64..110), 1..4)).prop_map(|(tens, pairs)| {
            let mut pairs: Vec<_> = pairs.into_iter().map(|(k, v)| (tens * 10 + k, v)).collect();
            pairs[0].0 = tens * 10;
            In::Put(pairs)
        }),
        1 => (1i64..9, 0i64..110).prop_map(|(tens, v)| In::Alone(tens * 10, v)),
        1 => (0i64..9).prop_map(In::Ping),
    ]
}

fn how() -> impl Strategy<Value = How> {
    prop_oneof![Just(How::Lost), Just(How::AppliedButReportedLost), Just(How::EndsTransaction)]
}

proptest! {
    /// Whatever fails, every input is answered exactly once, an input that was told "written" is on disk after a restart, and
    /// memory equals the rows (asserted in `settle`).
    #[test]
    fn nothing_is_promised_that_is_not_on_disk(
        inputs in prop::collection::vec(input(), 1..30),
        faults in prop::collection::vec((0u64..60, how()), 0..4),
    ) {
        let mut book = book();
        let mut plan = FaultPlan::none();
        for (step, how) in faults {
            plan = plan.and(Fault { from: step, until: step + 1, how, error: StoreError::Io });
        }
        book.set_faults(plan);
        let mut expected: BTreeMap<i64, i64> = BTreeMap::new();
        let mut unsure: Vec<i64> = Vec::new();
        for input in &inputs {
            // One input a turn, so that each answer belongs to a known input.
            let out = run(&mut book, std::slice::from_ref(input));
            let pairs = match input {
                In::Put(pairs) | In::Bare(pairs, _) => pairs.clone(),
                In::Alone(k, v) => vec![(*k, *v)],
                _ => vec![],
            };
            let written = out.iter().filter(|o| matches!(o, Out::Put(_))).count();
            let refused = out.iter().filter(|o| matches!(o, Out::Refused(..))).count();
            let pongs = out.iter().filter(|o| matches!(o, Out::Pong(_))).count();
            match input {
                In::Ping(_) => prop_assert_eq!((written, refused, pongs), (0, 0, 1)),
                _ if refused == 1 => {
                    prop_assert_eq!(written, 0);
                    unsure.extend(pairs.iter().map(|(k, _)| *k));
                }
                _ => {
                    prop_assert_eq!((written, refused), (pairs.len(), 0));
                    unsure.retain(|k| !pairs.iter().any(|(written, _)| written == k));
                    expected.extend(pairs);
                }
            }
        }
        let rows = all(book.into_store().view());
        for (k, v) in expected {
            prop_assert!(unsure.contains(&k) || rows.get(&k) == Some(&v));
        }
    }

    /// The same over whole batches: answers keep the order of their inputs, each input has one.
    #[test]
    fn answers_keep_the_order_of_inputs(
        inputs in prop::collection::vec((1i64..1_000).prop_map(|k| if k % 7 == 0 { In::Ping(k) } else { put(k * 10 % 990) }), 1..40),
        step in 0u64..60,
        how in how(),
    ) {
        let mut book = book();
        book.set_faults(FaultPlan::nth(step, how, StoreError::Io));
        let inputs: Vec<In> = inputs.into_iter().map(|i| match i {
            In::Put(pairs) => In::Put(vec![(pairs[0].0, 1)]),
            other => other,
        }).collect();
        let out = run(&mut book, &inputs);
        let names: Vec<i64> = out.iter().filter_map(|o| match o {
            Out::Put(k) | Out::Pong(k) | Out::Refused(k, _) => Some(*k),
            Out::Held(_) => None,
        }).collect();
        let expected: Vec<i64> = inputs.iter().map(|i| match i {
            In::Put(pairs) | In::Bare(pairs, _) => pairs[0].0,
            In::Ping(k) | In::Alone(k, _) => *k,
            In::Cheat => -1,
        }).collect();
        prop_assert_eq!(names, expected);
    }
}
