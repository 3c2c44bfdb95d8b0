//! A scripted daemon: a private home with a socket that answers as a test says.
//! Spec: D1.1, D1.2

use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use messaging_ipc::error::{Refusal, RpcError};
use messaging_ipc::event::Event;
use messaging_ipc::hello::Hello;
use messaging_ipc::line::{LINE_BYTES, Lines};
use messaging_ipc::reply;
use messaging_ipc::request::Request;
use serde_json::Value;

/// What the scripted daemon does with one request.
#[derive(Clone, Debug)]
pub enum Step {
    /// Answers with a result.
    Result(Value),
    /// Answers with a refusal.
    Refuse(Refusal),
    /// Tells events, then answers with a result.
    Events(Vec<Event>, Value),
    /// The same, and hangs up.
    Farewell(Vec<Event>, Value),
    /// Answers with these bytes.
    Raw(Vec<u8>),
    /// Answers nothing.
    Silence,
    /// Hangs up.
    HangUp,
}

/// One call that the daemon got: the method and its parameters.
pub type Seen = (String, Value);

/// A daemon in a temporary private home. Its thread ends with the test's process.
#[derive(Debug)]
pub struct FakeDaemon {
    home: tempfile::TempDir,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl FakeDaemon {
    /// A daemon of this release.
    pub fn start(script: impl Fn(&str, &Value) -> Step + Send + Sync + 'static) -> Self {
        Self::greeting(Hello::new(std::process::id(), None).line(), script)
    }

    /// A daemon whose first bytes are these; none at all when they are empty.
    pub fn greeting(
        greeting: Vec<u8>,
        script: impl Fn(&str, &Value) -> Step + Send + Sync + 'static,
    ) -> Self {
        Self::greeting_by(move || greeting.clone(), script)
    }

    /// A daemon whose first bytes on each connection are these.
    pub fn greeting_by(
        greeting: impl Fn() -> Vec<u8> + Send + 'static,
        script: impl Fn(&str, &Value) -> Step + Send + Sync + 'static,
    ) -> Self {
        let home = private_home();
        let listener = UnixListener::bind(home.path().join("run/admin.sock"))
            .unwrap_or_else(|error| fail("bind", &error));
        let seen = Arc::default();
        let script = Arc::new(script);
        let log: Arc<Mutex<Vec<Seen>>> = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (greeting, script, log) = (greeting(), Arc::clone(&script), Arc::clone(&log));
                std::thread::spawn(move || serve(stream, &greeting, &*script, &log));
            }
        });
        Self { home, seen }
    }

    /// Its home.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Every call so far, in order.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A temporary home with a private `run/` and nothing in it.
pub fn private_home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap_or_else(|error| fail("temporary folder", &error));
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o700))
        .and_then(|()| std::fs::DirBuilder::new().mode(0o700).create(home.path().join("run")))
        .unwrap_or_else(|error| fail("private folder", &error));
    home
}

fn serve(
    mut stream: UnixStream,
    greeting: &[u8],
    script: &dyn Fn(&str, &Value) -> Step,
    log: &Mutex<Vec<Seen>>,
) {
    let mut lines = Lines::new(LINE_BYTES);
    let mut chunk = vec![0; 65_536];
    if stream.write_all(greeting).is_err() {
        return;
    }
    loop {
        while let Ok(Some(line)) = lines.next_line() {
            let mut last = false;
            let answer = match Request::parse(&line) {
                Err(bad) => reply::error_line(bad.id(), bad.error()),
                Ok(request) => {
                    let params = request.params.unwrap_or(Value::Object(serde_json::Map::new()));
                    log.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push((request.method.clone(), params.clone()));
                    let step = script(&request.method, &params);
                    last = matches!(step, Step::Farewell(..));
                    match step {
                        Step::Result(result) => reply::result_line(&request.id, &result),
                        Step::Refuse(why) => {
                            reply::error_line(Some(&request.id), RpcError::from(why))
                        }
                        Step::Events(events, result) | Step::Farewell(events, result) => {
                            let mut bytes: Vec<u8> = events.iter().flat_map(Event::line).collect();
                            bytes.extend(reply::result_line(&request.id, &result));
                            bytes
                        }
                        Step::Raw(bytes) => bytes,
                        Step::Silence => Vec::new(),
                        Step::HangUp => return,
                    }
                }
            };
            if stream.write_all(&answer).is_err() || last {
                return;
            }
        }
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => return,
            Ok(read) => lines.push(chunk.get(..read).unwrap_or_default()),
        }
    }
}

#[allow(clippy::panic, reason = "a test that has no home cannot run")]
fn fail(what: &str, error: &std::io::Error) -> ! {
    panic!("{what}: {error}")
}
