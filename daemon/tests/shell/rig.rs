//! A daemon in this process and clients that speak to it line by line.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use messaging_daemon::exit::StartError;
use messaging_daemon::{Daemon, Environment, Options};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How long a test waits for what must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A running daemon.
pub(crate) struct Rig {
    runtime: Runtime,
    folder: TempDir,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<()>>,
}

/// A fresh folder and the path of a home in it.
pub(crate) fn fresh_home() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    (folder, home)
}

pub(crate) fn options(home: &Path) -> Options {
    Options { home: home.to_path_buf(), log_level: None, environment: Environment::default() }
}

/// Starts a daemon only to see why it does not start.
pub(crate) fn refusal(home: &Path) -> StartError {
    let runtime = Runtime::new().unwrap();
    let _inside = runtime.enter();
    Daemon::start(&options(home)).err().expect("the start must fail")
}

impl Rig {
    pub(crate) fn start() -> Rig {
        let (folder, _) = fresh_home();
        Rig::start_in(folder)
    }

    /// Starts a daemon on the home in `folder`.
    pub(crate) fn start_in(folder: TempDir) -> Rig {
        let runtime = Runtime::new().unwrap();
        let mut rig = Rig { runtime, folder, stop: None, running: None };
        rig.launch();
        rig
    }

    /// Starts the daemon again on the same home.
    pub(crate) fn launch(&mut self) {
        let _inside = self.runtime.enter();
        let daemon = Daemon::start(&options(&self.home())).unwrap();
        let (stop, stopped) = oneshot::channel();
        self.stop = Some(stop);
        self.running = Some(self.runtime.spawn(daemon.run(async move {
            // A rig that is dropped stops its daemon as well.
            let _ = stopped.await;
        })));
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn admin(&self) -> Client {
        Client::connect(&self.home().join("run/admin.sock")).expect("a hello")
    }

    pub(crate) fn agent(&self) -> Client {
        Client::connect(&self.home().join("run/agent.sock")).expect("a hello")
    }

    /// Asks the daemon to stop, as a signal would, and waits for its end.
    pub(crate) fn stop(&mut self) {
        drop(self.stop.take());
        self.wait();
    }

    /// Waits for the daemon's end.
    pub(crate) fn wait(&mut self) {
        let running = self.running.take().unwrap();
        // The timer must be made inside the runtime.
        let ended = self.runtime.block_on(async { tokio::time::timeout(PATIENCE, running).await });
        ended.expect("the daemon never stopped").unwrap();
    }
}

/// A client.
pub(crate) struct Client {
    pub(crate) lines: BufReader<UnixStream>,
    pub(crate) hello: Value,
    calls: u64,
}

impl Client {
    /// Connects and reads the hello; `None` when the daemon hangs up before it.
    pub(crate) fn connect(socket: &Path) -> Option<Client> {
        let stream = UnixStream::connect(socket).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut client = Client { lines: BufReader::new(stream), hello: Value::Null, calls: 0 };
        client.hello = client.read()?;
        Some(client)
    }

    /// The next line; `None` at the end.
    pub(crate) fn read(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.lines.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap()),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => None,
            Err(error) => panic!("the daemon says nothing: {error}"),
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.lines.get_mut().write_all(bytes).unwrap();
    }

    /// Sends a request without waiting for its answer.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.calls += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params});
        self.write(format!("{request}\n").as_bytes());
        self.calls
    }

    /// Sends a request and gives its result, or its error's code.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        let id = self.ask(method, params);
        loop {
            let answer = self.read().expect("an answer");
            if answer["id"] == id {
                return match answer.get("result") {
                    Some(result) => Ok(result.clone()),
                    None => Err(answer["error"]["data"]["code"].as_str().unwrap().to_owned()),
                };
            }
        }
    }

    /// Reads to the end of the connection.
    pub(crate) fn drain(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        // A reset after the last line is an end like any other.
        let _ = self.lines.read_to_end(&mut rest);
        rest
    }
}
