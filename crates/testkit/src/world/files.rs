//! A home's files, as durable as a disk makes them.

use messaging_daemon_engine::SaveToken;
use messaging_daemon_engine::config::Config;
use messaging_daemon_engine::identity::IdentityFile;
use messaging_daemon_engine::pairing::PairingFile;
use serde_json::{Map, Value};

/// How the next write of a file fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFault {
    /// Nothing is written.
    Lost,
    /// It is written, and reported as failed.
    AppliedButReportedLost,
}

/// `identity.json`, `pairing.json` and `config.json`.
#[derive(Debug, Default)]
pub struct Files {
    identity: Option<Value>,
    pairing: Option<Value>,
    config: Map<String, Value>,
    /// Writes that were asked for and have not ended, in order.
    pending: Vec<(SaveToken, Write)>,
    /// How the next write fails.
    pub fault: Option<FileFault>,
}

/// What a write leaves behind.
#[derive(Debug)]
pub(super) enum Write {
    Identity(Value),
    Pairing(Option<Value>),
    Config(Map<String, Value>),
}

impl Files {
    /// The keys, when there are any.
    #[must_use]
    pub fn identity(&self) -> Option<IdentityFile> {
        self.identity.as_ref().and_then(|value| IdentityFile::read(value).ok())
    }

    /// The keys that wait for a place, when there are any.
    #[must_use]
    pub fn pairing(&self) -> Option<PairingFile> {
        self.pairing.as_ref().and_then(|value| PairingFile::read(value).ok())
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> Config {
        let value = Value::Object(self.config.clone());
        Config::read(&value).map(|(config, _)| config).unwrap_or_default()
    }

    /// The files as they are on the disk; what is being written is not in them.
    pub(super) fn copy(&self) -> Self {
        Self {
            identity: self.identity.clone(),
            pairing: self.pairing.clone(),
            config: self.config.clone(),
            pending: Vec::new(),
            fault: None,
        }
    }

    /// Puts other keys, or none, in the place of the home's.
    pub(super) fn set_identity(&mut self, from: Option<&Self>) {
        self.identity = from.and_then(|from| from.identity.clone());
    }

    /// Sets what the configuration says of some keys.
    pub(super) fn configure(&mut self, change: &Value) {
        for (name, value) in change.as_object().into_iter().flatten() {
            self.config.insert(name.clone(), value.clone());
        }
    }

    pub(super) fn config_map(&self) -> &Map<String, Value> {
        &self.config
    }

    pub(super) fn ask(&mut self, token: SaveToken, write: Write) {
        self.pending.push((token, write));
    }

    /// The oldest write ends. Returns its token and whether it is reported as done.
    pub(super) fn end_write(&mut self) -> Option<(SaveToken, bool)> {
        if self.pending.is_empty() {
            return None;
        }
        let (token, write) = self.pending.remove(0);
        match self.fault.take() {
            None => {
                self.apply(write);
                Some((token, true))
            }
            Some(FileFault::Lost) => Some((token, false)),
            Some(FileFault::AppliedButReportedLost) => {
                self.apply(write);
                Some((token, false))
            }
        }
    }

    /// The process dies: of the writes that had not ended, the first `kept` are on the disk.
    pub(super) fn crash(&mut self, kept: usize) {
        for (index, (_, write)) in std::mem::take(&mut self.pending).into_iter().enumerate() {
            if index < kept {
                self.apply(write);
            }
        }
    }

    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    fn apply(&mut self, write: Write) {
        match write {
            Write::Identity(value) => self.identity = Some(value),
            Write::Pairing(value) => self.pairing = value,
            Write::Config(config) => self.config = config,
        }
    }
}
