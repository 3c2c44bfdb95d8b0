//! Log lines: one JSON object each, `{ts, level, event, ...}`, to stderr or a rotated file.
//! Spec: W5.13, D3.30
//!
//! What may stand in a line is the events' business (the engines' event tables); this module only writes.

mod rotate;

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, TryLockError};

use messaging_core::time::Ms;
use serde_json::Value;

use crate::clock;
use rotate::RotatingFile;

/// How much an event matters, most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A fault of this program or its machine.
    Error,
    /// Something a person should look at.
    Warn,
    /// The course of things.
    Info,
    /// Detail for finding faults.
    Debug,
}

impl Level {
    /// Every level, most important first.
    pub const ALL: [Level; 4] = [Level::Error, Level::Warn, Level::Info, Level::Debug];

    /// The level as it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warn => "warn",
            Level::Info => "info",
            Level::Debug => "debug",
        }
    }

    /// The level of a word, `None` for any other text.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == word)
    }
}

/// Writes log lines. Clones write to the same place.
///
/// A line that cannot be written is lost: a full disk must not stop a server. Each line is one write, so the lines of
/// several threads do not mix.
#[derive(Clone)]
pub struct Logger {
    level: Level,
    is_stderr: bool,
    sink: Arc<Mutex<Box<dyn Write + Send>>>,
}

impl Logger {
    /// Lines of `level` and more important ones, to stderr.
    #[must_use]
    pub fn stderr(level: Level) -> Self {
        Self { is_stderr: true, ..Self::to(level, io::stderr()) }
    }

    /// Lines to a file of mode 0600, which is renamed to `<path>.1` when it would pass 10 MiB; five old files are kept.
    ///
    /// Errors: the file cannot be made, opened or made private.
    pub fn file(level: Level, path: &Path) -> io::Result<Self> {
        Ok(Self::to(level, RotatingFile::open(path)?))
    }

    /// Lines to any writer.
    #[must_use]
    pub fn to(level: Level, writer: impl Write + Send + 'static) -> Self {
        Self { level, is_stderr: false, sink: Arc::new(Mutex::new(Box::new(writer))) }
    }

    /// Whether lines of `level` are written.
    #[must_use]
    pub fn wants(&self, level: Level) -> bool {
        level <= self.level
    }

    /// Whether the lines go to stderr.
    #[must_use]
    pub fn is_stderr(&self) -> bool {
        self.is_stderr
    }

    /// Writes one line, stamped with the wall clock.
    pub fn write(&self, level: Level, event: &'static str, fields: &[(&'static str, Value)]) {
        if self.wants(level) {
            let line = line(clock::wall(), level, event, fields);
            // A thread that panicked while writing ended the process; a poisoned sink is still whole lines.
            let mut sink = self.sink.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let _ = sink.write_all(line.as_bytes()).and_then(|()| sink.flush());
        }
    }

    /// Writes one line unless another thread, or this one, is just writing; says whether it did.
    pub(crate) fn write_without_waiting(
        &self,
        level: Level,
        event: &'static str,
        fields: &[(&'static str, Value)],
    ) -> bool {
        let mut sink = match self.sink.try_lock() {
            Ok(sink) => sink,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        let line = line(clock::wall(), level, event, fields);
        sink.write_all(line.as_bytes()).and_then(|()| sink.flush()).is_ok()
    }
}

impl std::fmt::Debug for Logger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Logger").field("level", &self.level).finish_non_exhaustive()
    }
}

/// One line, its end included. `ts`, `level` and `event` come first, then the fields in their order.
#[must_use]
pub fn line(at: Ms, level: Level, event: &'static str, fields: &[(&'static str, Value)]) -> String {
    use std::fmt::Write as _;
    let mut line = format!(r#"{{"ts":{at},"level":"{}","event":"{event}""#, level.as_str());
    for (name, value) in fields {
        // Writing to a String cannot fail; field names are words of our own and need no escapes.
        let _ = write!(line, r#","{name}":{value}"#);
    }
    line.push_str("}\n");
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// A writer that hands every line on.
    struct Lines(mpsc::Sender<String>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(String::from_utf8(bytes.to_vec()).unwrap()).unwrap();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_is_one_json_object_with_the_fixed_members_first() {
        let text =
            line(Ms(7), Level::Warn, "conn.slow", &[("reason", "socket".into()), ("n", 3.into())]);
        assert_eq!(
            text,
            "{\"ts\":7,\"level\":\"warn\",\"event\":\"conn.slow\",\"reason\":\"socket\",\"n\":3}\n"
        );
        let odd = line(Ms(7), Level::Info, "x", &[("text", "a\"b\nc".into())]);
        assert_eq!(odd.matches('\n').count(), 1);
        assert_eq!(serde_json::from_str::<Value>(&odd).unwrap()["text"], "a\"b\nc");
    }

    #[test]
    fn only_the_wanted_levels_are_written() {
        let (sender, lines) = mpsc::channel();
        let log = Logger::to(Level::Warn, Lines(sender));
        for level in Level::ALL {
            log.write(level, "x", &[]);
        }
        drop(log);
        let levels: Vec<Value> = lines
            .iter()
            .map(|line| serde_json::from_str::<Value>(&line).unwrap()["level"].clone())
            .collect();
        assert_eq!(levels, ["error", "warn"]);
    }

    #[test]
    fn every_level_reads_back_and_nothing_else_does() {
        for level in Level::ALL {
            assert_eq!(Level::parse(level.as_str()), Some(level));
        }
        assert_eq!(Level::parse("INFO"), None);
    }
}
