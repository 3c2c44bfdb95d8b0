//! The owner thread: the one place where the engine runs, and where its wishes leave.
//!
//! Spec: D3.2
//!
//! Connection tasks and the link put inputs at its door and wait for room; it takes what is
//! waiting, runs one turn, and hands out what the turn released. It never waits for a socket.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use messaging_core::json;
use messaging_daemon_engine::{ConnId, DaemonEngine, In, Out};
use messaging_runtime::clock::SystemClock;
use messaging_runtime::log::Logger;
use messaging_store::{Loop, MAX_BATCH, Released};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use crate::config;
use crate::home::Home;
use crate::ipc::LineQueue;
use crate::keys;
use crate::link::LinkCommand;
use crate::log;
use crate::snapshot::Snapshots;
use crate::wake::Waker;

/// The other side of a channel has ended: the daemon is stopping.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gone;

/// What arrives at the owner's door.
pub(crate) enum Arrival {
    /// Something for the engine, with the room it takes until its turn is over.
    Input { input: In, room: Option<OwnedSemaphorePermit> },
    /// A connection, with the queue to its socket.
    Opened { input: In, conn: ConnId, lines: LineQueue },
}

/// The owner's door, for everyone who brings something. What waits there is bounded in number and in memory.
#[derive(Clone)]
pub(crate) struct Inbox {
    door: mpsc::Sender<Arrival>,
    /// In units of [`UNIT`] bytes.
    room: Arc<Semaphore>,
}

impl Inbox {
    /// A door and its inner side.
    pub(crate) fn new() -> (Inbox, mpsc::Receiver<Arrival>) {
        let (door, receiver) = mpsc::channel(WAITING);
        (Inbox { door, room: Arc::new(Semaphore::new(UNITS as usize)) }, receiver)
    }

    /// The same door, not held open.
    pub(crate) fn downgrade(&self) -> WeakInbox {
        WeakInbox { door: self.door.downgrade(), room: Arc::clone(&self.room) }
    }

    /// Waits for room, then brings one input.
    pub(crate) async fn put(&self, input: In) -> Result<(), Gone> {
        let units = units_of(&input);
        let room = match units {
            0 => None,
            _ => Some(Arc::clone(&self.room).acquire_many_owned(units).await.map_err(|_| Gone)?),
        };
        self.door.send(Arrival::Input { input, room }).await.map_err(|_| Gone)
    }

    /// Waits for room, then brings a connection.
    pub(crate) async fn open(&self, input: In, conn: ConnId, lines: LineQueue) -> Result<(), Gone> {
        self.door.send(Arrival::Opened { input, conn, lines }).await.map_err(|_| Gone)
    }
}

/// The owner's door for whoever must not hold it open: once everybody else is gone, so is the door.
#[derive(Clone)]
pub(crate) struct WeakInbox {
    door: mpsc::WeakSender<Arrival>,
    room: Arc<Semaphore>,
}

impl WeakInbox {
    /// The door, while somebody holds it open.
    pub(crate) fn upgrade(&self) -> Option<Inbox> {
        Some(Inbox { door: self.door.upgrade()?, room: Arc::clone(&self.room) })
    }
}

/// How much room an input takes. One that is larger than all of it has it for itself.
fn units_of(input: &In) -> u32 {
    let bytes = match input {
        In::LinkFrame { text, .. } => text.len(),
        In::IpcRequest { request, .. } => request.params.as_ref().map_or(0, json::weight),
        _ => 0,
    };
    u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(UNITS).min(UNITS)
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
    pub(crate) waker: Waker,
    pub(crate) runtime: Handle,
    pub(crate) snapshots: Snapshots,
}

impl Owner {
    /// Runs turns until the engine has stopped. The store is closed when this returns.
    pub(crate) fn run(mut self) {
        let mut connections = BTreeMap::new();
        // Answers to this thread's own file writes come before anything that waits outside.
        let mut own = VecDeque::new();
        let mut arrived = Vec::with_capacity(MAX_BATCH);
        let mut rooms = Vec::new();
        for out in self.first.take().into_iter().flatten() {
            self.carry_out(out, &mut connections, &mut own);
        }
        loop {
            let mut inputs: Vec<In> = own.drain(..).collect();
            if inputs.is_empty() {
                match self.wait(&mut arrived) {
                    Waited::Arrived => {}
                    Waited::Deadline => inputs.push(In::Tick),
                    Waited::Gone => {
                        self.snapshots.end();
                        break;
                    }
                }
            }
            for arrival in arrived.drain(..) {
                match arrival {
                    Arrival::Input { input, room } => {
                        rooms.extend(room);
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
            rooms.clear();
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
            Out::SavePairing { token, pairing } => {
                let ok = keys::save_pairing(&self.home, &pairing).is_ok();
                own.push_back(In::Saved { token, ok });
            }
            Out::ErasePairing { token } => {
                let ok = keys::erase_pairing(&self.home).is_ok();
                own.push_back(In::Saved { token, ok });
            }
            Out::SaveConfig { token, relay, person, label } => {
                let ok = config::save_membership(&self.home, &relay, &person, &label).is_ok();
                own.push_back(In::Saved { token, ok });
            }
            Out::Wake { call, host, ids } => self.waker.begin(call, host, ids),
            Out::TakeSnapshot { token, at } => self.snapshots.take(token, at),
            Out::DropSnapshot { token } => self.snapshots.discard(token),
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
    fn finish(mut self, connections: BTreeMap<ConnId, LineQueue>) {
        self.stopping.send_replace(true);
        for lines in connections.values() {
            lines.end();
        }
        // A copy under way ends with the process, and is deleted; its thread must not wait for this one.
        self.arrivals.close();
        self.snapshots.end();
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
/// The room at the door: 64 MiB.
const UNITS: u32 = 65_536;
const UNIT: usize = 1_024;
/// What clients get to read their last answers.
const FAREWELL: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use messaging_daemon_engine::LinkId;

    use super::*;

    fn frame(bytes: usize) -> In {
        In::LinkFrame { link: LinkId(1), text: "x".repeat(bytes) }
    }

    #[tokio::test]
    async fn what_waits_at_the_door_is_bounded_in_memory() {
        let (inbox, mut arrivals) = Inbox::new();
        let mib = 1 << 20;
        for _ in 0..16 {
            assert!(inbox.put(frame(4 * mib)).now_or_never().is_some());
        }
        assert!(inbox.put(frame(1)).now_or_never().is_none(), "64 MiB wait");
        // What weighs nothing needs no room.
        assert!(inbox.put(In::Stop).now_or_never().is_some());
        drop(arrivals.recv().await);
        assert!(inbox.put(frame(4 * mib)).now_or_never().is_some());
        assert!(inbox.put(frame(1)).now_or_never().is_none());
    }

    #[tokio::test]
    async fn an_input_larger_than_the_room_waits_for_all_of_it_and_passes() {
        let (inbox, mut arrivals) = Inbox::new();
        assert!(inbox.put(frame(1)).now_or_never().is_some());
        assert!(inbox.put(frame(100 << 20)).now_or_never().is_none());
        drop(arrivals.recv().await);
        assert!(inbox.put(frame(100 << 20)).now_or_never().is_some());
    }

    #[test]
    fn a_request_is_weighed_as_it_stands_in_memory() {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"a":[{}0]}}}}"#,
            "0,".repeat(99_999)
        );
        let request = messaging_ipc::request::Request::parse(line.as_bytes()).unwrap();
        let input = In::IpcRequest { conn: ConnId(1), request };
        assert!(units_of(&input) as usize * UNIT > 10 * line.len());
    }
}
