//! `messaging daemon logs`.
//! Spec: D6.4, D3.30

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead as _, BufReader, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use messaging_core::code::Code;
use messaging_core::json;
use messaging_core::time::Ms;
use serde_json::{Map, Value};

use crate::context::Context;
use crate::fault::Fault;
use crate::render::{Report, stamp};
use crate::screen::{Screen, Style};

/// Show what the daemon did, from its log
///
/// The log holds events, ids and codes: never a message, a key or a ticket.
///
/// Examples:
///   messaging daemon logs
///   messaging daemon logs -f --level warn
///   messaging daemon logs -n 500 --json
///
/// See also: messaging doctor, messaging status
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Logs {
    /// Go on with what is written from now on
    #[arg(short, long)]
    follow: bool,
    /// At most this many of the last lines
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(0..=100_000))]
    lines: u64,
    /// Only lines of this level and above
    #[arg(long, value_name = "LEVEL", default_value = "debug")]
    level: Level,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

const POLL: Duration = Duration::from_millis(250);
/// The longest line that is read, bytes. The daemon writes none so long.
const LINE_BYTES: usize = 65_536;

impl Logs {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let path = context.home()?.join("logs").join("messagingd.log");
        let keep = usize::try_from(self.lines).unwrap_or(usize::MAX);
        let mut last = VecDeque::new();
        let mut tail = Tail::open(&path)?;
        while let Some(line) = tail.line()? {
            if let Some(line) = Line::parse(&line).filter(|line| line.level >= self.level) {
                last.push_back(line);
                if last.len() > keep {
                    last.pop_front();
                }
            }
        }
        for line in &last {
            if line.print(context).is_err() {
                return Ok(Report::printed());
            }
        }
        if !self.follow {
            return Ok(Report::printed());
        }
        loop {
            tokio::time::sleep(POLL).await;
            tail.reopen_if_rotated()?;
            while let Some(line) = tail.line()? {
                let line = Line::parse(&line).filter(|line| line.level >= self.level);
                if line.is_some_and(|line| line.print(context).is_err()) {
                    return Ok(Report::printed());
                }
            }
        }
    }
}

/// A log file read to its end, and further when it grows.
struct Tail {
    path: PathBuf,
    file: BufReader<File>,
    inode: u64,
    /// The start of a line whose end is not written yet.
    partial: Vec<u8>,
}

impl Tail {
    fn open(path: &Path) -> Result<Self, Fault> {
        let file = File::open(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                Fault::new(Code::NotFound, "there is no log: no daemon has run in this home")
                    .next("run `messaging daemon start`.")
            }
            _ => Fault::local("the log could not be read", "check the folder `logs` of the home."),
        })?;
        let inode = file.metadata().map_err(|_| unreadable())?.ino();
        Ok(Self { path: path.to_owned(), file: BufReader::new(file), inode, partial: Vec::new() })
    }

    /// The next whole line; `None` at the end for now.
    fn line(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        self.file.read_until(b'\n', &mut self.partial).map_err(|_| unreadable())?;
        if self.partial.last() != Some(&b'\n') {
            if self.partial.len() > LINE_BYTES {
                self.partial.clear();
            }
            return Ok(None);
        }
        Ok(Some(std::mem::take(&mut self.partial)))
    }

    fn reopen_if_rotated(&mut self) -> Result<(), Fault> {
        let now = std::fs::metadata(&self.path).map(|found| found.ino());
        match now {
            Ok(inode) if inode != self.inode => {
                *self = Self::open(&self.path)?;
                Ok(())
            }
            // Between the two steps of a rotation there is no file for a moment.
            _ => Ok(()),
        }
    }
}

fn unreadable() -> Fault {
    Fault::local("the log could not be read", "check the folder `logs` of the home.")
}

/// One line of the log.
struct Line {
    at: Ms,
    level: Level,
    event: String,
    fields: Map<String, Value>,
    whole: Value,
}

impl Line {
    /// Reads a line; `None` for one that is no log line, such as one that was cut by a crash.
    fn parse(text: &[u8]) -> Option<Self> {
        let whole = json::parse(text, LINE_BYTES).ok()?;
        let mut fields = whole.as_object()?.clone();
        let at = Ms(fields.remove("ts")?.as_u64()?);
        let level = match fields.remove("level")?.as_str()? {
            "debug" => Level::Debug,
            "info" => Level::Info,
            "warn" => Level::Warn,
            "error" => Level::Error,
            _ => return None,
        };
        let event = fields.remove("event")?.as_str()?.to_owned();
        Some(Self { at, level, event, fields, whole })
    }

    fn print(&self, context: &Context) -> std::io::Result<()> {
        context.print_event(&self.whole, &self.text(&context.screen))
    }

    fn text(&self, screen: &Screen) -> String {
        let (name, style) = match self.level {
            Level::Debug => ("debug", Style::Dim),
            Level::Info => ("info ", Style::Plain),
            Level::Warn => ("warn ", Style::Warn),
            Level::Error => ("error", Style::Bad),
        };
        let mut line = format!("{} {} {}", stamp(self.at), screen.paint(style, name), self.event);
        for (name, value) in &self.fields {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            line.push(' ');
            line += &messaging_core::peer_text::one_line(&format!("{name}={value}"), 300);
        }
        line.push('\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn a_line_is_told_in_words() {
        let line = br#"{"ts":1767225600000,"level":"warn","event":"relay.closed","code":4001,"reason":"auth"}"#;
        let text = Line::parse(line).unwrap().text(&Screen::terminal());
        assert_eq!(text, "2026-01-01T00:00:00Z warn  relay.closed code=4001 reason=auth\n");
        for bad in
            [&b"{\"ts\":1,\"lev"[..], b"", b"[]", b"{\"ts\":1,\"level\":\"x\",\"event\":\"e\"}"]
        {
            assert!(Line::parse(bad).is_none());
        }
    }

    #[test]
    fn a_growing_and_rotating_log_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, "one\ntw").unwrap();
        let mut tail = Tail::open(&path).unwrap();
        assert_eq!(tail.line().unwrap(), Some(b"one\n".to_vec()));
        assert_eq!(tail.line().unwrap(), None);
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"o\n").unwrap();
        assert_eq!(tail.line().unwrap(), Some(b"two\n".to_vec()));
        std::fs::rename(&path, folder.path().join("log.1")).unwrap();
        tail.reopen_if_rotated().unwrap();
        std::fs::write(&path, "three\n").unwrap();
        tail.reopen_if_rotated().unwrap();
        assert_eq!(tail.line().unwrap(), Some(b"three\n".to_vec()));
    }
}
