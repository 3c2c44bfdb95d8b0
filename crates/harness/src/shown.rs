//! What the hooks of one session showed, in two steps: offered when it was printed, and handed over when the next event
//! proves that the harness went on.
//! Spec: §11 "After-tool delivery"

use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::path::Path;

use messaging_core::ids::Ulid;
use messaging_core::time::Ms;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::folder;

/// What is remembered between two hooks of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Shown {
    /// The harness's id of the conversation that the session is in.
    pub conversation: Option<String>,
    /// Whether the conversation was told what the tools are.
    pub introduced: bool,
    /// Items that were printed, and nothing more is known of them.
    pub offered: Vec<Ulid>,
    /// When they were.
    pub offered_at: u64,
    /// Up to when changes of tasks were shown and taken.
    pub tasks: Option<Ms>,
    /// Up to when they were printed.
    pub tasks_offered: Option<Ms>,
    /// How often a stop was held since the person last wrote.
    pub holds: u32,
}

impl Shown {
    /// A conversation begins in which nothing was shown yet: what was only offered waits again.
    pub fn begin(&mut self, conversation: &str, now: Ms) {
        *self = Self {
            conversation: Some(conversation.to_owned()),
            tasks: self.tasks.or(Some(now)),
            ..Self::default()
        };
    }

    /// Takes what an event proves: a hook that began at `started`, after the last print, was called by a harness that had
    /// gone on. The items are to be acknowledged. `None` when the print was later: the two ran side by side.
    pub fn confirm(&mut self, started: u64) -> Option<Vec<Ulid>> {
        if started < self.offered_at {
            return None;
        }
        self.tasks = self.tasks_offered.take().or(self.tasks);
        Some(std::mem::take(&mut self.offered))
    }
}

/// The file of a session's [`Shown`], locked for this process.
#[derive(Debug)]
pub struct Held {
    file: File,
    /// What it says.
    pub shown: Shown,
}

impl Held {
    /// Opens and locks the file, which is made if need be; `None` when another hook of the session has it.
    #[must_use]
    pub fn open(path: &Path) -> Option<Self> {
        let mut file = folder::open(path, true)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        let shown = parse(folder::read_open(&mut file));
        Some(Self { file, shown })
    }

    /// Writes it down.
    pub fn save(&mut self) -> std::io::Result<()> {
        let text = serde_json::to_vec(&self.shown)?;
        self.file.rewind()?;
        self.file.set_len(0)?;
        self.file.write_all(&text)
    }
}

/// What a file says, without a lock.
#[must_use]
pub fn look(path: &Path) -> Shown {
    parse(folder::read(path))
}

/// A file that was cut off in the middle of a write says nothing: then things are shown again.
fn parse(text: Option<String>) -> Shown {
    text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u32) -> Ulid {
        Ulid::parse(&format!("01ARZ3NDEKTSV4RR{n:010}")).unwrap()
    }

    #[test]
    fn an_offer_counts_with_the_next_event_and_not_with_one_beside_it() {
        let mut shown = Shown { offered: vec![id(1)], offered_at: 100, ..Shown::default() };
        assert_eq!(shown.confirm(99), None);
        assert_eq!(shown.confirm(100), Some(vec![id(1)]));
        assert_eq!(shown.confirm(101), Some(vec![]));
    }

    #[test]
    fn a_conversation_that_begins_takes_nothing_as_shown() {
        let mut shown = Shown {
            offered: vec![id(1)],
            introduced: true,
            tasks: Some(Ms(5)),
            tasks_offered: Some(Ms(9)),
            holds: 2,
            ..Shown::default()
        };
        shown.begin("c", Ms(50));
        let fresh =
            Shown { conversation: Some("c".into()), tasks: Some(Ms(5)), ..Shown::default() };
        assert_eq!(shown, fresh);
    }

    #[test]
    fn one_hook_has_the_file_and_what_was_cut_off_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.shown");
        let mut held = Held::open(&path).unwrap();
        assert!(Held::open(&path).is_none());
        held.shown.begin("conversation", Ms(1));
        held.save().unwrap();
        held.shown.begin("c", Ms(1));
        held.save().unwrap();
        drop(held);
        assert_eq!(Held::open(&path).unwrap().shown.conversation.as_deref(), Some("c"));
        std::fs::write(&path, "{\"conversation\":\"c").unwrap();
        assert_eq!(look(&path), Shown::default());
    }
}
