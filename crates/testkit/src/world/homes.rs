//! Homes that are copied and put back, and whether a home may publish a key.
//! Spec: §8.9, D3.22, D3.23

use super::{Files, World};
use messaging_core::ids::{EncKey, MachineId};
use messaging_core::roster::Roster;
use messaging_daemon_engine::LAYOUT;
use messaging_store::Store;
use serde_json::Value;

/// A home as it was at some moment.
pub struct HomeCopy {
    disk: Store,
    files: Files,
}

impl HomeCopy {
    /// Whether it holds keys.
    #[must_use]
    pub fn has_keys(&self) -> bool {
        self.files.identity().is_some()
    }
}

impl World {
    /// A copy of a machine's home, as its disk has it.
    #[must_use]
    pub fn copy_home(&self, machine: usize) -> Option<HomeCopy> {
        let daemon = self.daemons.get(machine)?;
        let disk = Store::copy_of(&daemon.rows()?, &LAYOUT).ok()?;
        Some(HomeCopy { disk, files: daemon.files.copy() })
    }

    /// Puts a copy in the place of a home whose daemon is down. Returns whether it was.
    pub fn put_home(&mut self, machine: usize, copy: &HomeCopy) -> bool {
        let disk = Store::copy_of(&copy.disk.view(), &LAYOUT).ok();
        let Some(daemon) = self.daemons.get_mut(machine).filter(|daemon| !daemon.is_up()) else {
            return false;
        };
        daemon.disk = disk;
        daemon.files = copy.files.copy();
        self.watch.forget(machine);
        true
    }

    /// Puts the keys of a copy, or none at all, in the place of a home's whose daemon is down.
    pub fn put_keys(&mut self, machine: usize, copy: Option<&HomeCopy>) {
        if let Some(daemon) = self.daemons.get_mut(machine) {
            daemon.files.set_identity(copy.map(|copy| &copy.files));
        }
    }

    /// Whether a machine's home holds keys.
    #[must_use]
    pub fn has_keys(&self, machine: usize) -> bool {
        self.daemons.get(machine).is_some_and(|daemon| daemon.files.identity().is_some())
    }

    /// Sets what a machine's `config.json` says of some keys.
    pub fn configure(&mut self, machine: usize, change: &Value) {
        if let Some(daemon) = self.daemons.get_mut(machine) {
            daemon.files.configure(change);
        }
    }

    /// The alarm that must stand at a machine of the team, by the relay's roster and the keys in its home.
    #[must_use]
    pub fn alarm_of(&self, machine: usize, member: &str) -> Option<&'static str> {
        let Some(keys) = self.daemons.get(machine)?.files.identity() else {
            return Some("keys_missing");
        };
        let named = self.named_key(member)?;
        (named.is_own && !keys.holds(&named.enc)).then_some("restored")
    }

    /// No key is published by a home that lacks one that it published before.
    pub(super) fn check_key(&mut self, machine: usize, text: &str) {
        if !text.contains("\"member.rekey\"") {
            return;
        }
        let Ok(frame) = serde_json::from_str::<Value>(text) else { return };
        let entry = &frame["entry"];
        let member = entry["machine"].as_str().unwrap_or_default();
        // An entry that follows another one than the last is refused.
        let follows = entry["prev"].as_str() == self.relay_head().as_deref();
        let is_own = entry["by"].as_str() == Some(member);
        if frame["t"] == "roster.append"
            && is_own
            && follows
            && let Some(alarm) = self.alarm_of(machine, member)
        {
            self.watch.violation(format!("machine {machine} publishes a key, and is {alarm}"));
        }
    }

    fn relay_head(&self) -> Option<String> {
        let rows = self.relay.rows()?;
        rows.row("SELECT hash FROM roster ORDER BY seq DESC LIMIT 1", (), |row| row.get(0))
            .ok()
            .flatten()
    }

    /// The key that the team's roster names for a member.
    fn named_key(&self, member: &str) -> Option<Named> {
        let rows = self.relay.rows()?;
        let entries: Vec<String> =
            rows.rows("SELECT entry FROM roster ORDER BY seq", (), |row| row.get(0)).ok()?;
        let entries: Vec<Value> =
            entries.iter().filter_map(|entry| serde_json::from_str(entry).ok()).collect();
        let roster = Roster::from_entries(&entries).ok()?;
        let member = MachineId::parse(member).ok()?;
        let is_own = roster.latest_rekey(&member).is_some_and(|rekey| rekey.by == member);
        Some(Named { enc: roster.member(&member)?.enc, is_own })
    }
}

/// A member's key, and whether the member itself published it in the place of an earlier one.
struct Named {
    enc: EncKey,
    is_own: bool,
}
