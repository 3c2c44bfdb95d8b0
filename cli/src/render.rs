//! Results as text: tables, facts, times, JSON.
//! Spec: D6.1

mod facts;
mod json;
mod table;
mod text;
mod time;

pub(crate) use facts::Facts;
pub(crate) use json::json;
pub(crate) use table::{Cell, Table};
pub(crate) use text::{behind, cut, line, width};
pub(crate) use time::{Clock, date, instant, stamp, until, when};

use messaging_core::jcs;
use serde::Serialize;
use serde_json::Value;

use crate::exit::Exit;

/// What a command found: one JSON document, and the same for a person.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    /// The document that `--json` prints.
    pub(crate) json: Value,
    /// What is printed otherwise, line feeds included. Peer text in it is made safe already.
    pub(crate) text: String,
    /// A line for stderr, for people only.
    pub(crate) note: Option<String>,
    /// How the program ends.
    pub(crate) exit: Exit,
}

impl Report {
    /// A report of something done.
    pub(crate) fn new(json: Value, text: impl Into<String>) -> Self {
        Self { json, text: text.into(), note: None, exit: Exit::Done }
    }

    /// A report of a method's result.
    pub(crate) fn of(result: &impl Serialize, text: impl Into<String>) -> Self {
        // A result came from JSON, so it can become JSON again.
        Self::new(jcs::to_value(result).unwrap_or_default(), text)
    }

    /// The same report with a line for stderr.
    pub(crate) fn noting(self, note: impl Into<String>) -> Self {
        Self { note: Some(note.into()), ..self }
    }

    /// The person was asked and said no.
    pub(crate) fn declined() -> Self {
        Self {
            exit: Exit::Failed,
            ..Self::new(serde_json::json!({"done": false}), "Nothing was done.\n")
        }
    }

    /// Nothing to print: the command printed as it went.
    pub(crate) fn printed() -> Self {
        Self::new(Value::Null, "")
    }
}
