//! The log: every event the daemon can write is a row here, with its level and its fields.
//! Spec: D3.30, §12 "Logs"
//!
//! A field's type must be [`LogSafe`], so text that a peer or a caller chose cannot reach a log line:
//! counts, codes, ids that the protocol makes, names of this machine's own sessions, and fixed words only.

use messaging_core::code::Code;
use messaging_core::ids::{ClientKind, MachineId, SessionName, Ulid};
use serde_json::Value;

/// How loud an event is. A configured level shows itself and everything louder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A defect of this program, or a state it cannot leave by itself.
    Error,
    /// Something a person may want to act on.
    Warn,
    /// The normal course.
    Info,
    /// One line per envelope or call.
    Debug,
}

impl Level {
    /// The level named `text`; none for another word.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "error" => Some(Self::Error),
            "warn" => Some(Self::Warn),
            "info" => Some(Self::Info),
            "debug" => Some(Self::Debug),
            _ => None,
        }
    }

    /// The level's word in a log line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

/// A value that may stand in a log line.
pub trait LogSafe {
    /// The value as it is written.
    fn logged(&self) -> Value;
}

impl LogSafe for u64 {
    fn logged(&self) -> Value {
        Value::from(*self)
    }
}

impl LogSafe for u32 {
    fn logged(&self) -> Value {
        Value::from(*self)
    }
}

impl LogSafe for &'static str {
    fn logged(&self) -> Value {
        Value::from(*self)
    }
}

impl LogSafe for Code {
    fn logged(&self) -> Value {
        Value::from(self.as_str())
    }
}

macro_rules! log_safe_text {
    ($($type:ty),*) => {$(
        impl LogSafe for $type {
            fn logged(&self) -> Value {
                Value::from(self.as_str())
            }
        }
    )*};
}

log_safe_text!(MachineId, Ulid, SessionName, ClientKind);

/// The name of a key of the person's own configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigKey(pub(crate) String);

impl LogSafe for ConfigKey {
    fn logged(&self) -> Value {
        Value::from(self.0.as_str())
    }
}

impl<T: LogSafe> LogSafe for Option<T> {
    fn logged(&self) -> Value {
        self.as_ref().map_or(Value::Null, LogSafe::logged)
    }
}

macro_rules! log_events {
    ($($(#[doc = $doc:literal])* $variant:ident $name:literal $level:ident { $($field:ident: $type:ty),* $(,)? })*) => {
        /// One line of the log, before its time is put to it.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum LogEvent {
            $(
                $(#[doc = $doc])*
                $variant {
                    $(
                        #[doc = concat!("The line's `", stringify!($field), "`.")]
                        $field: $type,
                    )*
                },
            )*
        }

        impl LogEvent {
            /// Every event's name with its level, in table order.
            pub const TABLE: &'static [(&'static str, Level)] = &[$(($name, Level::$level),)*];

            /// The event's name, as logged.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $name,)*
                }
            }

            /// How loud it is.
            #[must_use]
            pub const fn level(&self) -> Level {
                match self {
                    $(Self::$variant { .. } => Level::$level,)*
                }
            }

            /// Its fields by name, in their order. An absent one is left out.
            #[must_use]
            pub fn fields(&self) -> Vec<(&'static str, Value)> {
                match self {
                    $(
                        Self::$variant { $($field),* } => {
                            let fields: Vec<(&'static str, Value)> = vec![$(
                                (
                                    stringify!($field).trim_start_matches("r#"),
                                    LogSafe::logged($field),
                                ),
                            )*];
                            fields.into_iter().filter(|(_, value)| !value.is_null()).collect()
                        }
                    )*
                }
            }
        }
    };
}

log_events! {
    /// The engine has its store, identity and realm.
    DaemonStart "daemon.start" Info { version: &'static str, pid: u32 }
    /// The engine serves.
    DaemonRunning "daemon.running" Info { ms: u64 }
    /// The machine slept, or its clock was set.
    DaemonWoke "daemon.woke" Info {}
    /// A stop was asked for.
    DaemonStopping "daemon.stopping" Info {}
    /// Everything is closed.
    DaemonStopped "daemon.stopped" Info { ms: u64 }
    /// Others may put things beside the home.
    HomeParentWritable "home.parent_writable" Warn {}
    /// A key of `config.json` that this release does not know.
    ConfigUnknownKey "config.unknown_key" Warn { key: ConfigKey }
    /// The store opened.
    StoreOpened "store.opened" Info { schema: u64 }
    /// A write failed; the word is the store's own.
    StoreFailing "store.failing" Error { error: &'static str }
    /// A write went through again.
    StoreRecovered "store.recovered" Info {}
    /// The store's log is very large, because somebody has been reading from it for long.
    StoreLogLarge "store.log_large" Warn { bytes: u64 }
    /// A connection opened.
    IpcOpen "ipc.open" Debug { conn: u64, tier: &'static str }
    /// A connection closed.
    IpcClose "ipc.close" Debug { conn: u64 }
    /// A connection was refused.
    IpcRefused "ipc.refused" Warn { reason: &'static str }
    /// A call was answered with an error; `method` is a known one, else `?`.
    IpcError "ipc.error" Info { method: &'static str, code: Code }
    /// A session registered for the first time.
    SessionRegistered "session.registered" Info { name: SessionName, agent: ClientKind }
    /// A session lost its last connection, or said goodbye.
    SessionKept "session.kept" Info { name: SessionName, agent: ClientKind }
    /// A new key took a kept name over.
    SessionTakenOver "session.taken_over" Info { name: SessionName, agent: ClientKind }
    /// A kept session reached its end.
    SessionExpired "session.expired" Info { name: SessionName, agent: ClientKind }
    /// The link is being opened; `attempt` counts from 1 since the last welcome.
    RelayConnecting "relay.connecting" Debug { attempt: u32 }
    /// The relay took the hello; `head` is its roster's last sequence number.
    RelayWelcome "relay.welcome" Info { head: u64 }
    /// The link closed.
    RelayClosed "relay.closed" Info { code: Option<u32> }
    /// The link or the relay did something worth telling; the word is ours.
    RelayError "relay.error" Warn { reason: &'static str }
    /// A roster entry was applied.
    RosterApplied "roster.applied" Info { seq: u64, op: &'static str }
    /// A roster entry was refused.
    RosterRefused "roster.refused" Warn { seq: u64, code: Code }
    /// Two valid entries of one sequence number.
    RosterFork "roster.fork" Error { seq: u64 }
    /// A member was shown another chain than this machine.
    RosterDiverged "roster.diverged" Error { seq: u64, device: MachineId }
    /// An envelope waits for its budget.
    InboundDeferred "inbound.deferred" Debug { device: MachineId, r#type: &'static str }
    /// An envelope was dropped without an answer.
    InboundDropped "inbound.dropped" Info { device: Option<MachineId>, r#type: &'static str, code: Code }
    /// An envelope was answered with a rejection.
    InboundRejected "inbound.rejected" Info { device: MachineId, r#type: &'static str, code: Code }
    /// An ask waits for the person's answer.
    InboundHeld "inbound.held" Info { device: MachineId }
    /// An ask that waits cannot be shown to the person: what is kept of it is damaged.
    HeldDamaged "held.damaged" Error { device: MachineId }
    /// A grant from another device of the person was not taken.
    GrantSkipped "grant.skipped" Warn { device: MachineId, code: Code }
    /// Another person's card was not kept.
    CardSkipped "card.skipped" Debug { device: MachineId, code: Code }
    /// Grants of a removed device were signed anew; `lapsed` counts those of which a part waits for the person.
    GrantsResigned "grant.resigned" Info { kept: u64, lapsed: u64 }
    /// A sent envelope ended without being relayed.
    OutboxFinal "outbox.final" Info { id: Ulid, code: Code }
    /// A sent envelope expired in the outbox.
    OutboxExpired "outbox.expired" Info { id: Ulid }
    /// A call held something that looks like a credential.
    SecretRefused "secret.refused" Warn { method: &'static str, kind: &'static str }
    /// An agent's message was refused: too many go back to one root, and no person acted since.
    LoopRefused "loop.refused" Warn { session: SessionName, root: Ulid }
    /// This machine has a new encryption key.
    RotateDone "rotate.done" Info {}
    /// A new encryption key was not published, or a replaced one not erased; the word is ours.
    RotateFailed "rotate.failed" Warn { reason: &'static str }
    /// A host, or a command, was asked to wake a client; `ids` counts what waits for it.
    WakeCall "wake.call" Info { outcome: &'static str, ids: u64 }
    /// A copy of the home is held for whoever asked.
    SnapshotHeld "snapshot.held" Info { files: u64, bytes: u64 }
    /// The copy of the home is let go.
    SnapshotReleased "snapshot.released" Info {}
    /// A retention sweep deleted rows.
    SweepDone "sweep.done" Debug { rows: u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_dotted() {
        let mut names: Vec<&str> = LogEvent::TABLE.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(names.iter().all(|name| name.contains('.')));
    }

    #[test]
    fn an_absent_field_is_left_out() {
        let event = LogEvent::RelayClosed { code: None };
        assert_eq!(event.name(), "relay.closed");
        assert_eq!(event.level(), Level::Info);
        assert!(event.fields().is_empty());
        let event = LogEvent::RosterRefused { seq: 7, code: Code::Expired };
        assert_eq!(event.fields(), [("seq", 7.into()), ("code", "expired".into())]);
    }

    #[test]
    fn raw_identifiers_are_written_without_their_mark() {
        let device = MachineId::parse("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA").unwrap();
        let event = LogEvent::InboundDeferred { device, r#type: "message" };
        assert_eq!(event.fields().last(), Some(&("type", Value::from("message"))));
    }

    #[test]
    fn levels_are_ordered_loudest_first() {
        assert!(Level::Error < Level::Debug);
        assert_eq!(Level::parse("warn"), Some(Level::Warn));
        assert_eq!(Level::parse("WARN"), None);
    }
}
