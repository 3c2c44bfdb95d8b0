//! Reading and writing rows: every statement is prepared once and cached, every error is a kind.
//! Spec: §7 "Group commit"

use std::ops::Deref;

use rusqlite::{Connection, Params, Row};

use crate::error::StoreError;
use crate::fault::{FaultPlan, How};

/// A way to read rows.
#[derive(Clone, Copy)]
pub struct View<'a> {
    conn: &'a Connection,
}

impl<'a> View<'a> {
    pub(crate) fn new(conn: &'a Connection) -> Self {
        Self { conn }
    }

    pub(crate) fn conn(&self) -> &'a Connection {
        self.conn
    }

    /// The first row that `sql` gives, or none.
    pub fn row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let mut rows = statement.query(params)?;
        match rows.next()? {
            Some(row) => Ok(Some(read(row)?)),
            None => Ok(None),
        }
    }

    /// Every row that `sql` gives, in its order.
    pub fn rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut all = Vec::new();
        self.each(sql, params, |row| {
            all.push(read(row)?);
            Ok(true)
        })?;
        Ok(all)
    }

    /// Shows each row to `see` until it answers `false`.
    pub fn each(
        &self,
        sql: &str,
        params: impl Params,
        mut see: impl FnMut(&Row<'_>) -> rusqlite::Result<bool>,
    ) -> Result<(), StoreError> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let mut rows = statement.query(params)?;
        while let Some(row) = rows.next()? {
            if !see(row)? {
                break;
            }
        }
        Ok(())
    }
}

/// The open transaction of a batch, as one input sees it: what it reads holds the writes of the inputs before it.
///
/// The transaction begins with the batch's first write; each guarded input that writes has a savepoint of its own.
pub struct Tx<'a> {
    view: View<'a>,
    ledger: &'a mut Ledger,
}

impl<'a> Tx<'a> {
    pub(crate) fn new(conn: &'a Connection, ledger: &'a mut Ledger) -> Self {
        Self { view: View::new(conn), ledger }
    }

    /// Runs one writing statement and returns how many rows it changed.
    ///
    /// Errors: the kind of failure. The caller hands it on (`?`): the loop then undoes every write of this input and has the
    /// machine answer it as refused.
    pub fn execute(&mut self, sql: &str, params: impl Params) -> Result<usize, StoreError> {
        self.ledger.before_write(self.view.conn)?;
        let fault = self.ledger.step();
        if let Some((How::Lost, error)) = fault {
            return Err(error);
        }
        if let Some((How::EndsTransaction, error)) = fault {
            run(self.view.conn, "ROLLBACK")?;
            return Err(error);
        }
        if let Some((How::AppliedButReportedLost, error)) = fault
            && !self.ledger.savepoint
        {
            // Without a savepoint nothing undoes it: a statement that fails in earnest has undone itself.
            return Err(error);
        }
        let changed = self.view.conn.prepare_cached(sql)?.execute(params)?;
        if let Some((How::AppliedButReportedLost, error)) = fault {
            return Err(error);
        }
        self.ledger.wrote(changed);
        Ok(changed)
    }

    /// The caller has taken back, by other writes, all that this input wrote: should it fail now, it fails alone.
    pub fn undone(&mut self) {
        self.ledger.undone();
    }

    /// The row id of the last row inserted by [`Tx::execute`].
    #[must_use]
    pub fn last_insert_rowid(&self) -> i64 {
        self.view.conn.last_insert_rowid()
    }
}

impl<'a> Deref for Tx<'a> {
    type Target = View<'a>;

    fn deref(&self) -> &View<'a> {
        &self.view
    }
}

/// What the loop knows of its transaction.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) faults: FaultPlan,
    pub(crate) steps: u64,
    /// Writes and changed rows of the batch.
    pub(crate) writes: u64,
    pub(crate) changed: u64,
    open: bool,
    savepoint: bool,
    may_write: bool,
    guarded: bool,
    /// The batch's counters when the present input began.
    mark: (u64, u64),
}

impl Ledger {
    /// An input begins. One that is free may not write; a guarded one gets a savepoint with its first write.
    pub(crate) fn begin_input(&mut self, may_write: bool, guarded: bool) {
        self.may_write = may_write;
        self.guarded = guarded;
        self.mark = (self.writes, self.changed);
    }

    /// An input is through: its writes join the batch.
    pub(crate) fn end_input(&mut self, conn: &Connection) -> Result<(), StoreError> {
        if self.savepoint {
            run(conn, "RELEASE input")?;
            self.savepoint = false;
        }
        Ok(())
    }

    /// Undoes the writes of the present input. `false`: the transaction is gone, and with it the whole batch.
    pub(crate) fn undo_input(&mut self, conn: &Connection) -> bool {
        let wrote = self.writes > self.mark.0;
        self.undone();
        if !self.open {
            return true;
        }
        if conn.is_autocommit() || (wrote && !self.savepoint) {
            return false;
        }
        if self.savepoint {
            if run(conn, "ROLLBACK TO input").and_then(|()| run(conn, "RELEASE input")).is_err() {
                return false;
            }
            self.savepoint = false;
        }
        true
    }

    /// Nothing is left of what the present input wrote.
    fn undone(&mut self) {
        (self.writes, self.changed) = self.mark;
    }

    /// Ends the transaction. After an error nothing of the batch counts as written.
    pub(crate) fn commit(&mut self, conn: &Connection) -> Result<(), StoreError> {
        if !self.open {
            return Ok(());
        }
        let done = match self.step() {
            Some((How::Lost | How::EndsTransaction, error)) => Err(error),
            Some((How::AppliedButReportedLost, error)) => run(conn, "COMMIT").and(Err(error)),
            None => run(conn, "COMMIT"),
        };
        if done.is_err() {
            self.abandon(conn);
        }
        self.open = false;
        done
    }

    /// Gives the transaction up.
    pub(crate) fn abandon(&mut self, conn: &Connection) {
        if !conn.is_autocommit() {
            // It can only fail when there is no transaction any more, which is what is wanted.
            let _ = run(conn, "ROLLBACK");
        }
        self.open = false;
        self.savepoint = false;
    }

    /// Begins the next batch.
    pub(crate) fn reset(&mut self) {
        self.writes = 0;
        self.changed = 0;
        self.open = false;
        self.savepoint = false;
    }

    fn before_write(&mut self, conn: &Connection) -> Result<(), StoreError> {
        if !self.may_write {
            return Err(StoreError::Other);
        }
        if !self.open {
            run(conn, "BEGIN IMMEDIATE")?;
            self.open = true;
        }
        if self.guarded && !self.savepoint {
            run(conn, "SAVEPOINT input")?;
            self.savepoint = true;
        }
        Ok(())
    }

    fn step(&mut self) -> Option<(How, StoreError)> {
        let fault = self.faults.at(self.steps);
        self.steps += 1;
        fault
    }

    fn wrote(&mut self, changed: usize) {
        self.writes += 1;
        self.changed += changed as u64;
    }
}

fn run(conn: &Connection, sql: &str) -> Result<(), StoreError> {
    conn.prepare_cached(sql)?.execute(())?;
    Ok(())
}
