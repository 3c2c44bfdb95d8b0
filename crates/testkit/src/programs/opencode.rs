//! An OpenCode service as the wake bridge meets it: registered in a file, listening on this machine, and never surprised.
//! Spec: §8.6

use std::collections::VecDeque;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde_json::{Value, json};

use super::Problem;

/// A service that runs in this process. Its threads end with the process.
#[derive(Debug)]
pub struct OpenCode {
    state: PathBuf,
    port: u16,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    asked: Vec<WakeCall>,
    next: VecDeque<Answer>,
}

/// A request that came, as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WakeCall {
    /// The first line.
    pub line: String,
    /// The value of `authorization`.
    pub authorization: Option<String>,
    /// The body.
    pub body: Value,
}

/// What the service does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It answers with a status, and a body that has no end.
    Status(u16),
    /// It sends its caller to the root of another service.
    Redirect(u16),
    /// It hangs up in the middle of its answer.
    HangsUp,
}

impl OpenCode {
    /// Starts a service whose registration is below `state`, as this process.
    ///
    /// Errors: what the system says.
    pub fn start(state: &Path, password: Option<&str>) -> Result<Self, Problem> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let inner = Arc::new(Mutex::new(Inner::default()));
        let shared = Arc::clone(&inner);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                thread::spawn(move || serve(client, &shared));
            }
        });
        let service = Self { state: state.to_owned(), port, inner };
        let mut registration =
            json!({"pid": std::process::id(), "url": format!("http://127.0.0.1:{port}")});
        if let (Some(password), Some(members)) = (password, registration.as_object_mut()) {
            members.insert("password".into(), password.into());
        }
        service.register(&registration)?;
        Ok(service)
    }

    /// Writes a registration.
    ///
    /// Errors: what the system says.
    pub fn register(&self, registration: &Value) -> Result<(), Problem> {
        let folder = self.state.join("opencode");
        fs::create_dir_all(&folder)?;
        let file = folder.join("service.json");
        fs::write(&file, registration.to_string())?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
        Ok(())
    }

    /// Its port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The host that a session of this service registers with.
    #[must_use]
    pub fn host(&self, session: &str) -> Value {
        let pid = std::process::id();
        json!({"kind": "opencode", "location": "/home/bob/shop", "sessionID": session, "pid": pid})
    }

    /// What it does with the next requests; with every later one it is content (204).
    pub fn answer(&self, answers: impl IntoIterator<Item = Answer>) {
        lock(&self.inner).next.extend(answers);
    }

    /// Every request that came.
    #[must_use]
    pub fn calls(&self) -> Vec<WakeCall> {
        lock(&self.inner).asked.clone()
    }
}

fn lock(inner: &Mutex<Inner>) -> MutexGuard<'_, Inner> {
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(mut client: TcpStream, inner: &Mutex<Inner>) -> Option<()> {
    let call = read(&mut client)?;
    let answer = {
        let mut inner = lock(inner);
        inner.asked.push(call);
        inner.next.pop_front()
    };
    let head = match answer {
        None => "HTTP/1.1 204 Content\r\n\r\n".to_owned(),
        Some(Answer::Status(status)) => {
            format!("HTTP/1.1 {status} Status\r\ncontent-length: 9000000000\r\n\r\n")
        }
        Some(Answer::Redirect(port)) => {
            format!(
                "HTTP/1.1 307 There\r\nlocation: http://127.0.0.1:{port}/\r\ncontent-length: 0\r\n\r\n"
            )
        }
        Some(Answer::HangsUp) => "HTTP/1.1 200 OK\r\ncontent-".to_owned(),
    };
    client.write_all(head.as_bytes()).ok()?;
    if let Some(Answer::Status(_)) = answer {
        while client.write_all(&[b'x'; 4_096]).is_ok() {}
    }
    Some(())
}

fn read(client: &mut TcpStream) -> Option<WakeCall> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        client.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).ok()?;
    let header = |name: &str| {
        head.lines().find_map(|line| {
            let (known, value) = line.split_once(": ")?;
            known.eq_ignore_ascii_case(name).then(|| value.to_owned())
        })
    };
    let mut body = vec![0; header("content-length")?.parse().ok()?];
    client.read_exact(&mut body).ok()?;
    Some(WakeCall {
        line: head.lines().next()?.to_owned(),
        authorization: header("authorization"),
        body: serde_json::from_slice(&body).ok()?,
    })
}
