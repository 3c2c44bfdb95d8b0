//! What an export holds, and by which hashes its files are known.

use messaging_core::time::Ms;
use messaging_ipc::results::archive::Held;
use serde_json::{Value, json};

use super::folder::{File, Listed};
use crate::fault::Fault;
use crate::render::{self, stamp};

/// The list of an export.
#[derive(Clone, Debug)]
pub(super) struct Manifest {
    format: &'static str,
    at: Ms,
    machine: Option<String>,
    pub(super) with: Option<String>,
    pub(super) since: Option<Ms>,
    pub(super) messages: u64,
    /// Messages of which no text was kept.
    pub(super) without_text: u64,
    pub(super) files: Vec<Listed>,
}

impl Manifest {
    pub(super) fn new(format: &'static str, at: Ms, machine: Option<String>) -> Self {
        Self {
            format,
            at,
            machine,
            with: None,
            since: None,
            messages: 0,
            without_text: 0,
            files: Vec::new(),
        }
    }

    /// Counts one message.
    pub(super) fn count(&mut self, entry: &Held) {
        self.messages += 1;
        if let Held::Mail(mail) = entry
            && mail.message.is_none()
        {
            self.without_text += 1;
        }
    }

    /// The list as a document.
    pub(super) fn json(&self) -> Value {
        let files: Vec<Value> = self
            .files
            .iter()
            .map(|file| json!({"name": file.name, "bytes": file.bytes, "sha256": file.sha256}))
            .collect();
        let mut list = json!({
            "v": 1, "format": self.format, "at": stamp(self.at), "messages": self.messages,
            "withoutText": self.without_text, "files": files,
        });
        if let Some(machine) = &self.machine {
            list["machine"] = json!(machine);
        }
        if let Some(with) = &self.with {
            list["with"] = json!(with);
        }
        if let Some(since) = self.since {
            list["since"] = json!(stamp(since));
        }
        list
    }

    /// Writes the list into its file.
    pub(super) fn write(&self, mut file: File) -> Result<(), Fault> {
        file.write((render::json(&self.json(), true) + "\n").as_bytes())?;
        file.end().map(drop)
    }
}
