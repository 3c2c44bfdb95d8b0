//! A house: one relay, any number of machines with their daemons, and the command line of each.

use std::fmt::Debug;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use messaging_testkit::programs::{Daemon, Ipc, PATIENCE, Process, Refused, Relay, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The executable that can be every program.
pub(crate) fn executable() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_messaging"))
}

/// A private folder whose path leaves room for the sockets below it.
pub(crate) fn short_folder() -> TempDir {
    let usual = std::env::temp_dir();
    let base = if usual.as_os_str().len() <= 40 { usual } else { PathBuf::from("/tmp") };
    tempfile::Builder::new().prefix("m-").tempdir_in(base).unwrap()
}

/// Looks until there is something to see.
#[track_caller]
pub(crate) fn wait<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    until(what, PATIENCE, || Ok(look())).unwrap()
}

/// A folder with a relay, in which machines live.
pub(crate) struct House {
    pub(crate) relay: Relay,
    folder: TempDir,
}

impl House {
    /// A relay that any team may be founded at.
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    /// A relay with further flags.
    pub(crate) fn with(flags: &[&str]) -> Self {
        let folder = short_folder();
        let relay = Relay::start(executable(), &folder.path().join("relay.db"), flags).unwrap();
        Self { relay, folder }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A machine in no team, its daemon running.
    pub(crate) fn machine(&self, name: &str) -> Machine {
        Machine::at(&self.folder.path().join(name))
    }

    /// A machine that founds a team here.
    pub(crate) fn founder(&self, person: &str, label: &str) -> Machine {
        let machine = self.machine(&format!("{person}-{label}"));
        let url = self.relay.url();
        let create = ["team", "create", "--relay", &url, "--name", "garden", "--person", person];
        machine.ok(&[&create[..], &["--label", label]].concat());
        machine
    }

    /// A machine that joins a team by an invite, and whose person has said nothing about the others, nor they about them.
    pub(crate) fn stranger(&self, admin: &Machine, person: &str, label: &str) -> Machine {
        let machine = self.machine(&format!("{person}-{label}"));
        let ticket = admin.ok(&["team", "invite", person]);
        assert_eq!(machine.join(&ticket, label).status, 0);
        machine
    }

    /// The same, and everybody lets the others' agents ask theirs.
    pub(crate) fn guest(&self, admin: &Machine, person: &str, label: &str) -> Machine {
        let machine = self.stranger(admin, person, label);
        admin.welcome(person);
        machine.welcome_all();
        machine
    }

    /// Two persons in one team.
    pub(crate) fn two(&self) -> (Machine, Machine) {
        let alice = self.founder("alice", "laptop");
        let bob = self.guest(&alice, "bob", "desk");
        (alice, bob)
    }
}

/// A machine: its home, and the daemon while it runs.
pub(crate) struct Machine {
    home: PathBuf,
    daemon: Option<Daemon>,
}

impl Machine {
    /// Starts the daemon of a home.
    pub(crate) fn at(home: &Path) -> Self {
        let daemon = Some(Daemon::start(executable(), home).unwrap());
        Self { home: home.to_owned(), daemon }
    }

    /// The same, with variables in the daemon's environment.
    pub(crate) fn with(home: &Path, variables: &[(&'static str, String)]) -> Self {
        let mut machine = Self::at(home);
        machine.daemon().set_variables(variables);
        machine.stop();
        machine.start();
        machine
    }

    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    pub(crate) fn daemon(&mut self) -> &mut Daemon {
        self.daemon.as_mut().expect("the daemon runs")
    }

    pub(crate) fn stop(&mut self) {
        self.daemon().stop().unwrap();
    }

    pub(crate) fn kill(&mut self) {
        self.daemon().kill().unwrap();
    }

    pub(crate) fn start(&mut self) {
        self.daemon().start_again().unwrap();
    }

    /// Runs `messaging` on this home.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.fed(b"", args)
    }

    /// The same, with bytes on standard input.
    pub(crate) fn fed(&self, stdin: &[u8], args: &[&str]) -> Ran {
        run(command(&self.home, args), stdin)
    }

    /// What a command that succeeds prints.
    #[track_caller]
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!(ran.status, 0, "{args:?}: {ran:?}");
        ran.stdout
    }

    /// What a command that succeeds prints with `--json`.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let text = self.ok(&[args, &["--json"]].concat());
        assert_eq!(text.lines().count(), 1, "one document on one line: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// The status and the code of a command that fails.
    #[track_caller]
    pub(crate) fn fails(&self, args: &[&str]) -> (i32, String) {
        self.run(args).failure()
    }

    pub(crate) fn join(&self, ticket: &str, label: &str) -> Ran {
        self.fed(ticket.as_bytes(), &["team", "join", "--label", label])
    }

    pub(crate) fn ipc(&self) -> Ipc {
        Ipc::connect(&self.home).unwrap().expect("the daemon answers")
    }

    /// One call on the daemon's admin socket that succeeds.
    #[track_caller]
    pub(crate) fn call(&self, method: &str, params: Value) -> Value {
        self.ipc()
            .call(method, &params)
            .unwrap()
            .unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// Lets a person's agents ask this person's, once this machine knows them. Nobody needs leave to ask their own.
    pub(crate) fn welcome(&self, person: &str) {
        let mut ipc = self.ipc();
        let open = json!({"subject": {"person": person}, "ask": "open"});
        wait(person, || match ipc.call("grant.set", &open).unwrap() {
            Ok(_) => Some(()),
            Err(refused) if refused.code == "invalid_request" => Some(()),
            Err(_) => None,
        });
    }

    /// Lets everybody's agents ask this person's.
    pub(crate) fn welcome_all(&self) {
        let list = self.call("team.list", json!({}));
        for member in list["members"].as_array().unwrap() {
            self.welcome(member["person"].as_str().unwrap());
        }
    }

    /// Waits until the daemon is connected to its relay. It is told that it may be: how long it would wait by itself is
    /// another question.
    pub(crate) fn connected(&self) {
        let mut ipc = self.ipc();
        ipc.call("daemon.woke", &json!({})).unwrap().unwrap();
        wait("a link to the relay", || {
            let health = ipc.call("daemon.health", &json!({})).unwrap().unwrap();
            (health["relay"] == "connected").then_some(())
        });
    }

    /// Waits until this machine knows an agent by its address.
    pub(crate) fn knows(&self, address: &str) -> Value {
        let mut ipc = self.ipc();
        wait(address, || {
            let found = ipc.call("contacts.list", &json!({})).unwrap().unwrap();
            found["entries"].as_array()?.iter().find(|entry| entry["address"] == address).cloned()
        })
    }

    /// Waits until the roster here has a property.
    pub(crate) fn roster(&self, what: &str, look: impl Fn(&Value) -> bool) -> Value {
        let mut ipc = self.ipc();
        wait(what, || {
            let list = ipc.call("team.list", &json!({})).unwrap().unwrap();
            look(&list).then_some(list)
        })
    }

    /// A session of this machine that listens.
    pub(crate) fn agent(&self, name: &str) -> Agent {
        self.agent_of_kind("codex", name)
    }

    /// A session that may send as much as it likes: the loop guard is for agents.
    pub(crate) fn terminal(&self, name: &str) -> Agent {
        self.agent_of_kind("cli", name)
    }

    fn agent_of_kind(&self, kind: &str, name: &str) -> Agent {
        self.registered(json!({"agent": kind, "name": name}))
    }

    /// A session that registers with these words.
    pub(crate) fn registered(&self, mut register: Value) -> Agent {
        let name = register["name"].as_str().unwrap().to_owned();
        let key = format!("the-key-of-the-session-{name}");
        let mut ipc = self.ipc();
        register["key"] = json!(key);
        let registered = ipc.call("session.register", &register).unwrap().unwrap();
        assert_eq!(registered["name"], name);
        let mut agent = Agent { ipc, key };
        agent.call("events.subscribe", json!({}));
        agent
    }

    /// How far a message of the terminal's mailbox has come.
    pub(crate) fn stages(&self, id: &str) -> Vec<String> {
        stages(&self.json(&["read", id]))
    }
}

/// A session on a connection of its own.
pub(crate) struct Agent {
    pub(crate) ipc: Ipc,
    key: String,
}

impl Agent {
    /// A call of this session.
    pub(crate) fn try_call(&mut self, method: &str, mut params: Value) -> Result<Value, Refused> {
        params["key"] = json!(self.key);
        self.ipc.call(method, &params).unwrap()
    }

    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.try_call(method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    pub(crate) fn try_send(&mut self, to: &str, text: &str) -> Result<Value, Refused> {
        let sent = self.try_call("msg.send", json!({"to": to, "parts": [{"text": text}]}))?;
        Ok(sent["results"][0].clone())
    }

    /// Sends a text and gives its envelope's id.
    #[track_caller]
    pub(crate) fn send(&mut self, to: &str, text: &str) -> String {
        let sent = self.try_send(to, text).unwrap_or_else(|error| panic!("{to}: {error}"));
        sent["envelopeId"].as_str().unwrap().to_owned()
    }

    /// The next event of a type, others skipped.
    #[track_caller]
    pub(crate) fn event(&mut self, kind: &str) -> Value {
        loop {
            let event = self.ipc.event(PATIENCE).unwrap();
            let event = event.unwrap_or_else(|| panic!("no {kind} event came"));
            if event["type"] == kind {
                return event;
            }
        }
    }

    /// Events that are there already, or come within a moment.
    pub(crate) fn events_left(&mut self) -> Vec<Value> {
        std::iter::from_fn(|| self.ipc.event(Duration::from_millis(20)).unwrap()).collect()
    }

    /// Waits until a message that this session sent is at a stage, and gives all that it went through.
    #[track_caller]
    pub(crate) fn reaches(&mut self, id: &str, stage: &str) -> Vec<String> {
        wait(&format!("{id} at {stage}"), || {
            let stages = stages(&self.call("item.read", json!({"id": id})));
            (stages.last().unwrap() == stage).then_some(stages)
        })
    }

    /// The texts of the inbox, in the order of arrival. Up to 200.
    pub(crate) fn texts(&mut self) -> Vec<String> {
        let page = self.call("inbox.list", json!({"limit": 200}));
        let text = |item: &Value| item["preview"].as_str().unwrap().to_owned();
        page["items"].as_array().unwrap().iter().rev().map(text).collect()
    }

    /// Waits until so many messages are there.
    #[track_caller]
    pub(crate) fn holds(&mut self, count: usize) -> Vec<String> {
        wait(&format!("{count} messages"), || {
            let texts = self.texts();
            (texts.len() >= count).then_some(texts)
        })
    }
}

/// The stages of a sent item, the first one first.
pub(crate) fn stages(sent: &Value) -> Vec<String> {
    assert_eq!(sent["kind"], "sent");
    let stage = |step: &Value| step["stage"].as_str().unwrap().to_owned();
    sent["history"].as_array().unwrap().iter().map(stage).collect()
}

/// A command of `messaging` on a home, which sees nothing else of this machine.
pub(crate) fn command(home: &Path, args: &[&str]) -> Command {
    let mut command = Process::command(executable(), "messaging");
    command.arg("--home").arg(home).args(args).env("HOME", home).env("NO_COLOR", "1");
    command
}

/// Runs a command, fed with bytes.
pub(crate) fn run(mut command: Command, stdin: &[u8]) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        // A command that needs no input may be gone before it is fed.
        scope.spawn(move || {
            let _ = input.write_all(stdin);
        });
        child.wait_with_output().unwrap()
    });
    Ran::of(output)
}

/// What a command said and how it ended.
pub(crate) struct Ran {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) status: i32,
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self {
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            status: output.status.code().unwrap_or(-1),
        }
    }

    /// The status and the code of a failure: the code comes first, and one next step last.
    #[track_caller]
    pub(crate) fn failure(&self) -> (i32, String) {
        assert_ne!(self.status, 0, "{self:?}");
        let lines: Vec<&str> = self.stderr.lines().collect();
        let [first, next] = lines[..] else { panic!("not two lines: {self:?}") };
        assert!(next.starts_with("Next: "), "{self:?}");
        let (code, _) = first.split_once(": ").unwrap_or_else(|| panic!("no code: {self:?}"));
        (self.status, code.to_owned())
    }
}

impl Debug for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "status {}\n{}[stderr]\n{}", self.status, self.stdout, self.stderr)
    }
}

/// A command that follows something with `--json`, while it runs.
pub(crate) struct Following {
    child: Child,
    told: mpsc::Receiver<Value>,
}

impl Following {
    pub(crate) fn of(machine: &Machine, args: &[&str]) -> Self {
        let mut command = command(machine.home(), &[args, &["--json"]].concat());
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = tell.send(serde_json::from_str(&line).unwrap());
            }
        });
        Self { child, told }
    }

    /// The next thing that is told and has a property.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, mut look: impl FnMut(&Value) -> bool) -> Value {
        loop {
            let told = self.told.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no {what}"));
            if look(&told) {
                return told;
            }
        }
    }

    /// Ends it as Ctrl-C does, and gives its status.
    pub(crate) fn interrupt(&mut self) -> Option<i32> {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::INT).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A failure as [`Ran::failure`] gives it.
pub(crate) fn failure(status: i32, code: &str) -> (i32, String) {
    (status, code.to_owned())
}
