//! A client of a daemon's admin socket that blocks.
//! Spec: D1.1, D1.2

use std::collections::VecDeque;
use std::fmt;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{PATIENCE, Problem};

/// One connection.
#[derive(Debug)]
pub struct Ipc {
    socket: UnixStream,
    /// What was read and is no whole line yet.
    read: Vec<u8>,
    calls: u64,
    events: VecDeque<Value>,
}

/// A call's refusal, as the daemon put it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The code of §13.
    pub code: String,
    /// The failing parameter, when one is named.
    pub field: Option<String>,
}

impl Ipc {
    /// Connects to the daemon of a home and reads its hello; `None` when nobody answers.
    ///
    /// Errors: whoever answers says no hello.
    pub fn connect(home: &Path) -> Result<Option<Self>, Problem> {
        let Ok(socket) = UnixStream::connect(home.join("run/admin.sock")) else { return Ok(None) };
        let mut ipc = Self { socket, read: Vec::new(), calls: 0, events: VecDeque::new() };
        match ipc.line(PATIENCE) {
            Ok(Some(hello)) if hello["method"] == "hello" => Ok(Some(ipc)),
            Ok(_) => Err("the daemon said no hello".into()),
            // It was killed, or stops.
            Err(_) => Ok(None),
        }
    }

    /// Calls a method. The outer error means that the connection ended, and nothing is known of the call.
    ///
    /// Errors inside: the daemon refuses.
    pub fn call(
        &mut self,
        method: &str,
        params: &Value,
    ) -> Result<Result<Value, Refused>, Problem> {
        let id = self.ask(method, params)?;
        let end = Instant::now() + PATIENCE;
        while let Some(line) = self.line(end.saturating_duration_since(Instant::now()))? {
            // What was no request is answered without an id.
            if line["id"] == id || (line["id"].is_null() && line.get("error").is_some()) {
                return Ok(match line.get("result") {
                    Some(result) => Ok(result.clone()),
                    None => Err(Refused::read(&line)),
                });
            }
            self.keep(line);
        }
        Err(format!("{method} was not answered").into())
    }

    /// Sends a request without waiting for its answer.
    ///
    /// Errors: the connection ended.
    pub fn ask(&mut self, method: &str, params: &Value) -> Result<u64, Problem> {
        self.calls += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params});
        self.socket.write_all(format!("{request}\n").as_bytes())?;
        Ok(self.calls)
    }

    /// The next event, waited for as long as `patience`.
    ///
    /// Errors: the connection ended.
    pub fn event(&mut self, patience: Duration) -> Result<Option<Value>, Problem> {
        let end = Instant::now() + patience;
        while self.events.is_empty() {
            match self.line(end.saturating_duration_since(Instant::now()))? {
                Some(line) => self.keep(line),
                None => break,
            }
        }
        Ok(self.events.pop_front())
    }

    fn keep(&mut self, mut line: Value) {
        if line["method"] == "event" {
            self.events.push_back(line["params"].take());
        }
    }

    /// The next line; `None` when none comes in time.
    fn line(&mut self, patience: Duration) -> Result<Option<Value>, Problem> {
        let end = Instant::now() + patience;
        let mut chunk = [0; 65_536];
        loop {
            if let Some(at) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=at).collect();
                return Ok(Some(serde_json::from_slice(&line)?));
            }
            // A timeout of nothing would mean to wait for ever.
            let left = end.saturating_duration_since(Instant::now());
            self.socket.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
            match self.socket.read(&mut chunk) {
                Ok(0) => return Err("the daemon hung up".into()),
                Ok(read) => self.read.extend_from_slice(chunk.get(..read).unwrap_or_default()),
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    if Instant::now() >= end {
                        return Ok(None);
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Refused {
    fn read(line: &Value) -> Self {
        let data = &line["error"]["data"];
        let word = |name: &str| data[name].as_str().map(ToOwned::to_owned);
        Self { code: word("code").unwrap_or_else(|| "internal".into()), field: word("field") }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.field {
            Some(field) => write!(f, "{}: {field}", self.code),
            None => f.write_str(&self.code),
        }
    }
}

impl std::error::Error for Refused {}
