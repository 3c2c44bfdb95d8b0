//! The machines that a machine's roster has removed, read turn by turn.
//! Spec: §4 "Removal"

use messaging_store::{View, params};
use serde_json::Value;
use std::collections::BTreeSet;

/// What a machine's roster says of removals, as far as it was read.
#[derive(Debug, Default)]
pub(super) struct Removals {
    /// The entry after the last one that was read.
    next: i64,
    machines: BTreeSet<String>,
}

impl Removals {
    /// Reads the entries that came since the last time.
    pub(super) fn look(&mut self, rows: &View<'_>) {
        let newer = rows.rows(
            "SELECT seq, entry FROM roster WHERE seq >= ?1 ORDER BY seq",
            params![self.next],
            |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)),
        );
        for (seq, entry) in newer.unwrap_or_default() {
            self.next = seq + 1;
            let Ok(entry) = serde_json::from_str::<Value>(&entry) else { continue };
            if entry["op"] == "member.remove"
                && let Some(machine) = entry["machine"].as_str()
            {
                self.machines.insert(machine.to_owned());
            }
        }
    }

    /// Whether a machine was removed.
    pub(super) fn hold(&self, machine: &str) -> bool {
        self.machines.contains(machine)
    }
}
