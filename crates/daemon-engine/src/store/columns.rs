//! Reads a row's columns in the order of its statement's list, each as the value it holds.

use std::str::FromStr;

use messaging_core::code::Failure;
use messaging_core::time::Ms;
use messaging_store::Row;
use messaging_store::types::Type;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::rooms::RoomKey;

/// The result of reading one column.
pub(super) type Read<T> = rusqlite::Result<T>;

/// A place in a row.
pub(super) struct Columns<'r, 's> {
    row: &'r Row<'s>,
    next: usize,
}

impl<'r, 's> Columns<'r, 's> {
    pub(super) fn of(row: &'r Row<'s>) -> Self {
        Self { row, next: 0 }
    }

    fn take<T: rusqlite::types::FromSql>(&mut self) -> Read<T> {
        let at = self.next;
        self.next += 1;
        self.row.get(at)
    }

    fn damaged(&self) -> rusqlite::Error {
        let at = self.next.saturating_sub(1);
        rusqlite::Error::InvalidColumnType(at, String::new(), Type::Text)
    }

    /// Text as it is.
    pub(super) fn text(&mut self) -> Read<String> {
        self.take()
    }

    /// Text, or none.
    pub(super) fn text_or_none(&mut self) -> Read<Option<String>> {
        self.take()
    }

    /// A value with a grammar.
    pub(super) fn value<T: FromStr>(&mut self) -> Read<T> {
        let text = self.take::<String>()?;
        text.parse().map_err(|_| self.damaged())
    }

    /// A value with a grammar, or none.
    pub(super) fn value_or_none<T: FromStr>(&mut self) -> Read<Option<T>> {
        match self.take::<Option<String>>()? {
            Some(text) => text.parse().map(Some).map_err(|_| self.damaged()),
            None => Ok(None),
        }
    }

    /// A word of ours.
    pub(super) fn word<T>(&mut self, read: impl FnOnce(&str) -> Option<T>) -> Read<T> {
        let text = self.take::<String>()?;
        read(&text).ok_or_else(|| self.damaged())
    }

    /// A word of ours, or none.
    pub(super) fn word_or_none<T>(
        &mut self,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Read<Option<T>> {
        match self.take::<Option<String>>()? {
            Some(text) => read(&text).map(Some).ok_or_else(|| self.damaged()),
            None => Ok(None),
        }
    }

    /// A room, which takes two columns.
    pub(super) fn room(&mut self) -> Read<RoomKey> {
        let (kind, id) = (self.take::<String>()?, self.take::<String>()?);
        format!("{kind}:{id}").parse().map_err(|_| self.damaged())
    }

    /// JSON of a known shape.
    pub(super) fn json<T: DeserializeOwned>(&mut self) -> Read<T> {
        let text = self.take::<String>()?;
        serde_json::from_str(&text).map_err(|_| self.damaged())
    }

    /// JSON of a known shape, or none.
    pub(super) fn json_or_none<T: DeserializeOwned>(&mut self) -> Read<Option<T>> {
        match self.take::<Option<String>>()? {
            Some(text) => serde_json::from_str(&text).map(Some).map_err(|_| self.damaged()),
            None => Ok(None),
        }
    }

    /// JSON of a known shape; none when it is damaged, or says so itself.
    pub(super) fn json_if_whole<T: DeserializeOwned>(&mut self) -> Read<Option<T>> {
        let text = self.take::<String>()?;
        Ok(serde_json::from_str(&text).ok().flatten())
    }

    /// JSON of any shape.
    pub(super) fn any_json(&mut self) -> Read<Value> {
        self.json()
    }

    /// JSON that was checked before it was kept.
    pub(super) fn held<T>(&mut self, read: impl FnOnce(Value) -> Result<T, Failure>) -> Read<T> {
        let value = self.any_json()?;
        read(value).map_err(|_| self.damaged())
    }

    /// A count; a negative number is a damaged store.
    pub(super) fn count(&mut self) -> Read<u64> {
        let number = self.take::<i64>()?;
        u64::try_from(number).map_err(|_| self.damaged())
    }

    /// A row id.
    pub(super) fn row_id(&mut self) -> Read<i64> {
        self.take()
    }

    /// A row id, or none.
    pub(super) fn row_id_or_none(&mut self) -> Read<Option<i64>> {
        self.take()
    }

    /// A switch.
    pub(super) fn flag(&mut self) -> Read<bool> {
        self.take()
    }

    /// A time.
    pub(super) fn ms(&mut self) -> Read<Ms> {
        self.count().map(Ms)
    }

    /// A time, or none.
    pub(super) fn ms_or_none(&mut self) -> Read<Option<Ms>> {
        match self.take::<Option<i64>>()? {
            Some(number) => {
                u64::try_from(number).map(|ms| Some(Ms(ms))).map_err(|_| self.damaged())
            }
            None => Ok(None),
        }
    }
}

/// A count as the store keeps it.
pub(super) fn stored(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
