//! The log: the engine's events as lines of `logs/messagingd.log`.
//!
//! Spec: D3.30

use std::io;

use messaging_daemon_engine::events::{Level, LogEvent};
use messaging_runtime::log::{self as lines, Logger};

use crate::home::Home;

/// Opens the log of a home at `level`.
pub(crate) fn open(home: &Home, level: Level) -> io::Result<Logger> {
    Logger::file(line_level(level), &home.logs().join("messagingd.log"))
}

/// Writes one event.
pub(crate) fn write(log: &Logger, event: &LogEvent) {
    log.write(line_level(event.level()), event.name(), &event.fields());
}

/// Whether the event says that the engine has begun to stop.
pub(crate) fn is_stopping(event: &LogEvent) -> bool {
    matches!(event, LogEvent::DaemonStopping { .. })
}

fn line_level(level: Level) -> lines::Level {
    match level {
        Level::Error => lines::Level::Error,
        Level::Warn => lines::Level::Warn,
        Level::Info => lines::Level::Info,
        Level::Debug => lines::Level::Debug,
    }
}
