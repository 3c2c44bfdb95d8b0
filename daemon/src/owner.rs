//! The owner thread: the one place where the engine runs, and where its wishes leave.
//!
//! Spec: D3.2
//!
//! Connection tasks and the link put inputs at its door and wait for room; it takes what is
//! waiting, runs one turn, and hands out what the turn released. It never waits for a socket.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use messaging_daemon_engine::{ConnId, DaemonEngine, In, Out};
use messaging_runtime::clock::SystemClock;
use messaging_runtime::log::Logger;
use messaging_store::{Loop, MAX_BATCH, Released};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};

use crate::config;
use crate::home::Home;
use crate::ipc::LineQueue;
use crate::keys;
use crate::link::LinkCommand;
use crate::log;

/// The other side of a channel has ended: the daemon is stopping.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gone;

/// What arrives at the owner's door.
pub(crate) enum Arrival {
    /// Something for the engine.
    Input(In),
    /// A connection, with the queue to its socket.
    Opened { input: In, conn: ConnId, lines: LineQueue },
}

/// The owner's door, for everyone who brings something.
#[derive(Clone)]
pub(crate) struct Inbox(mpsc::Sender<Arrival>);

impl Inbox {
    /// A door and its inner side.
    pub(crate) fn new() -> (Inbox, mpsc::Receiver<Arrival>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (Inbox(sender), receiver)
    }

    /// Waits for room, then brings one input.
    pub(crate) async fn put(&self, input: In) -> Result<(), Gone> {
        self.0.send(Arrival::Input(input)).await.map_err(|_| Gone)
    }

    /// Waits for room, then brings a connection.
    pub(crate) async fn open(&self, input: In, conn: ConnId, lines: LineQueue) -> Result<(), Gone> {
        self.0.send(Arrival::Opened { input, conn, lines }).await.map_err(|_| Gone)
    }
}

/// Everything the owner thread owns.
pub(crate) struct Owner {
    pub(crate) engine: Loop<DaemonEngine>,
    /// What the engine wished for when it started.
    pub(crate) first: Option<Released<Out>>,
    pub(crate) arrivals: mpsc::Receiver<Arrival>,
    pub(crate) link: mpsc::UnboundedSender<LinkCommand>,
    pub(crate) stopping: watch::Sender<bool>,
    pub(crate) clock: SystemClock,
    pub(crate) home: Home,
    pub(crate) log: Logger,
    pub(crate) runtime: Handle,
}

impl Owner {
    /// Runs turns until the engine has stopped. The store is closed when this returns.
    pub(crate) fn run(mut self) {
        let mut connections = BTreeMap::new();
        // Answers to this thread's own file writes come before anything that waits outside.
        let mut own = VecDeque::new();
        let mut arrived = Vec::with_capacity(MAX_BATCH);
        for out in self.first.take().into_iter().flatten() {
            self.carry_out(out, &mut connections, &mut own);
        }
        loop {
            let mut inputs: Vec<In> = own.drain(..).collect();
            if inputs.is_empty() {
                match self.wait(&mut arrived) {
                    Waited::Arrived => {}
                    Waited::Deadline => inputs.push(In::Tick),
                    Waited::Gone => break,
                }
            }
            for arrival in arrived.drain(..) {
                match arrival {
                    Arrival::Input(input) => {
                        if let In::IpcClosed { conn } = &input {
                            connections.remove(conn);
                        }
                        inputs.push(input);
                    }
                    Arrival::Opened { input, conn, lines } => {
                        connections.insert(conn, lines);
                        inputs.push(input);
                    }
                }
            }
            for out in self.engine.turn(self.clock.now(), inputs) {
                if let Out::Exit = out {
                    self.finish(connections);
                    return;
                }
                self.carry_out(out, &mut connections, &mut own);
            }
        }
    }

    /// Waits for arrivals until the engine's deadline, and takes all that fit one batch.
    fn wait(&mut self, arrived: &mut Vec<Arrival>) -> Waited {
        let arrivals = &mut self.arrivals;
        let receive = arrivals.recv_many(arrived, MAX_BATCH);
        let taken = match self.engine.deadline() {
            None => Some(self.runtime.block_on(receive)),
            Some(deadline) => {
                let left = self.clock.until(deadline);
                // The timer must be made inside the runtime.
                self.runtime.block_on(async { tokio::time::timeout(left, receive).await.ok() })
            }
        };
        match taken {
            None => Waited::Deadline,
            Some(0) => Waited::Gone,
            Some(_) => Waited::Arrived,
        }
    }

    fn carry_out(
        &mut self,
        out: Out,
        connections: &mut BTreeMap<ConnId, LineQueue>,
        own: &mut VecDeque<In>,
    ) {
        match out {
            Out::IpcSend { conn, line, answers } => {
                // A client that does not read is cut off; it resubscribes when it is back.
                if connections.get(&conn).is_some_and(|lines| !lines.push(line, answers)) {
                    connections.remove(&conn);
                }
            }
            Out::IpcClose { conn } => {
                if let Some(lines) = connections.get(&conn) {
                    lines.end();
                }
            }
            Out::Dial { link, url, max_frame } => {
                let url = url.as_str().to_owned();
                self.to_link(LinkCommand::Dial { link, url, max_frame });
            }
            Out::LinkSend { link, text } => self.to_link(LinkCommand::Send { link, text }),
            Out::LinkClose { link } => self.to_link(LinkCommand::Close { link }),
            Out::SaveIdentity { token, identity } => {
                let ok = keys::save(&self.home, &identity).is_ok();
                own.push_back(In::Saved { token, ok });
            }
            Out::SaveConfig { token, relay, person, label } => {
                let ok = config::save_membership(&self.home, &relay, &person, &label).is_ok();
                own.push_back(In::Saved { token, ok });
            }
            Out::Log(event) => {
                log::write(&self.log, &event);
                if log::is_stopping(&event) {
                    self.stopping.send_replace(true);
                }
            }
            Out::Exit => {}
        }
    }

    fn to_link(&self, command: LinkCommand) {
        // A link task that is gone ended with the process.
        let _ = self.link.send(command);
    }

    /// The last act: what was answered leaves, and the store is closed whole.
    fn finish(self, connections: BTreeMap<ConnId, LineQueue>) {
        self.stopping.send_replace(true);
        for lines in connections.values() {
            lines.end();
        }
        let store = self.engine.into_store();
        // A log that is not folded in is folded in at the next start.
        let _ = store.checkpoint();
        drop(store);
        self.runtime.block_on(async {
            let written = async {
                for lines in connections.into_values() {
                    lines.written().await;
                }
            };
            // A client that does not read its last answer does not hold the stop up.
            let _ = tokio::time::timeout(FAREWELL, written).await;
        });
    }
}

enum Waited {
    Arrived,
    Deadline,
    Gone,
}

/// Inputs that may wait at the door; whoever brings the next one waits for room.
const WAITING: usize = 1024;
/// What clients get to read their last answers.
const FAREWELL: Duration = Duration::from_secs(1);
