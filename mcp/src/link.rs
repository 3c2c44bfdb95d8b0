//! The one session of this process with the daemon: made when it is needed, and made again when it was lost.
//! Spec: §11 "MCP server", D7.1 "Session", "Daemon"

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use messaging_client::{Client, ClientError, Events, Place, Socket};
use messaging_core::code::Code;
use messaging_core::ids::{ClientKind, SessionName};
use messaging_harness::seat::{self, Seat};
use messaging_ipc::call::{EventsSubscribe, SessionRegister};
use messaging_ipc::event::Event;
use messaging_ipc::hello::Mismatch;
use messaging_ipc::methods::Method;
use messaging_ipc::params::KeyOnly;
use messaging_ipc::params::session::Register;
use messaging_ipc::scalars::{Secret, SessionKey};
use messaging_ipc::shapes::SessionTier;
use messaging_runtime::log::{Level, Logger};
use messaging_tools::link::{AgentLink, LinkError, Session};
use serde_json::Value;
use tokio::sync::{Mutex, Notify, mpsc};
use tokio::time::Instant;

use crate::replace::Waiting;

/// What the tools should know of what happens meanwhile.
#[derive(Debug)]
pub(crate) enum Heard {
    /// The session is there, perhaps after a gap.
    Connected,
    /// Something came in.
    Event(Box<Event>),
}

/// Who the session wants to be.
#[derive(Debug)]
pub(crate) struct Wish {
    pub(crate) name: SessionName,
    pub(crate) agent: ClientKind,
    pub(crate) ticket_file: Option<PathBuf>,
}

/// The link. Its key lives as long as the process, and longer in its seat.
pub(crate) struct DaemonLink {
    place: Place,
    wish: Wish,
    /// The key, unless a seat has one.
    fresh: SessionKey,
    seat: OnceLock<Option<StdMutex<Seat>>>,
    open: Mutex<Option<Open>>,
    /// Whether the host takes what it is told by itself.
    push: AtomicBool,
    waiting: Waiting,
    /// Wakes whoever waits for something to come in.
    stirred: Arc<Notify>,
    began: Instant,
    heard: mpsc::Sender<Heard>,
    log: Logger,
}

/// A connection that holds the session.
#[derive(Clone)]
struct Open {
    client: Client,
    session: Session,
}

impl Open {
    fn lives(&self) -> bool {
        !self.client.has_ended()
    }
}

/// The longest ticket file.
const TICKET_FILE_BYTES: u64 = 16_384;

impl DaemonLink {
    /// A link with a fresh key for the case that there is no seat to take. Nothing is connected yet.
    pub(crate) fn new(
        place: Place,
        wish: Wish,
        fresh: SessionKey,
        waiting: Waiting,
        heard: mpsc::Sender<Heard>,
        log: Logger,
    ) -> Self {
        Self {
            place,
            wish,
            fresh,
            seat: OnceLock::new(),
            open: Mutex::default(),
            push: AtomicBool::new(false),
            waiting,
            stirred: Arc::default(),
            began: Instant::now(),
            heard,
            log,
        }
    }

    /// The host takes what it is told by itself: senders may know.
    pub(crate) fn may_push(&self) {
        self.push.store(true, Ordering::SeqCst);
    }

    /// Whether it does.
    pub(crate) fn pushes(&self) -> bool {
        self.push.load(Ordering::SeqCst)
    }

    /// Calls that wait for a successor of this process.
    pub(crate) fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    /// The session, registered if it can be: what this process does of its own accord waits for no successor.
    pub(crate) async fn greet(&self) -> Option<Session> {
        // Whoever calls next tries again, and is told what is wrong.
        Some(self.open().await.ok()?.session)
    }

    /// The session's key. The seat is taken when a daemon is there, whose home it may be in.
    pub(crate) fn key(&self) -> SessionKey {
        let seat = self.seat.get_or_init(|| {
            let seat = Seat::take(
                &self.place,
                seat::Wish {
                    key: self.fresh.clone(),
                    agent: self.wish.agent.clone(),
                    name: self.wish.name.clone(),
                    ticket_file: self.wish.ticket_file.clone(),
                },
            );
            if seat.is_none() {
                // Hooks say nothing then; the tools are whole.
                self.log.write(Level::Info, "mcp.no_seat", &[]);
            }
            seat.map(StdMutex::new)
        });
        match seat {
            Some(seat) => lock(seat).key().clone(),
            None => self.fresh.clone(),
        }
    }

    /// The connection with the session, made if there is none.
    async fn open(&self) -> Result<Open, ClientError> {
        let mut open = self.open.lock().await;
        if let Some(open) =
            open.as_ref().filter(|open| open.lives() && open.session.address.is_some())
        {
            return Ok(open.clone());
        }
        // Before the device is set up a session has no address: it is asked for again.
        let living = open.take().filter(Open::lives);
        let made = match living {
            Some(living) => self.register(living.client).await,
            None => self.connect().await,
        };
        let made = made.inspect_err(|error| {
            let code = Value::from(error.code().as_str());
            self.log.write(Level::Info, "mcp.refused", &[("code", code)]);
        })?;
        *open = Some(made.clone());
        Ok(made)
    }

    async fn connect(&self) -> Result<Open, ClientError> {
        let (client, events) = Client::connect(&self.place, Socket::Agent).await?;
        let open = self.register(client).await?;
        tokio::spawn(hear(events, self.heard.clone(), Arc::clone(&self.stirred)));
        // A reader that is gone is the process ending.
        let _ = self.heard.send(Heard::Connected).await;
        self.log.write(Level::Info, "mcp.connected", &[]);
        Ok(open)
    }

    async fn register(&self, client: Client) -> Result<Open, ClientError> {
        let key = self.key();
        let tier = if self.pushes() { SessionTier::Push } else { SessionTier::Pull };
        let register = Register {
            key: key.clone(),
            agent: self.wish.agent.clone(),
            name: Some(self.wish.name.clone()),
            tier: Some(tier),
            state: None,
            repo: None,
            branch: None,
            doing: None,
            features: None,
            host: None,
            ticket: self.ticket()?,
        };
        let registered = client.call::<SessionRegister>(&register).await?;
        client.call::<EventsSubscribe>(&KeyOnly { key: key.clone() }).await?;
        if let Some(Some(seat)) = self.seat.get() {
            lock(seat).set_tier(tier);
        }
        let session = Session { key, name: registered.name, address: registered.address };
        Ok(Open { client, session })
    }

    /// The ticket of the host that started this process, as its file says now.
    fn ticket<const MAX: usize>(&self) -> Result<Option<Secret<MAX>>, ClientError> {
        let Some(path) = &self.wish.ticket_file else { return Ok(None) };
        let unreadable = ClientError::Unfit {
            code: Code::TicketInvalid,
            message: "the file of the session's ticket cannot be read",
        };
        match std::fs::metadata(path) {
            Ok(found) if found.is_file() && found.len() <= TICKET_FILE_BYTES => {}
            _ => return Err(unreadable),
        }
        let text = std::fs::read_to_string(path).map_err(|_| unreadable.clone())?;
        Secret::parse(text.trim()).map(Some).map_err(|_| unreadable)
    }
}

impl AgentLink for DaemonLink {
    async fn session(&self) -> Result<Session, LinkError> {
        let opened = self.open().await;
        if let Err(ClientError::Mismatch(Mismatch::Release { daemon })) = &opened {
            // Nothing of the call was done yet: a process that takes this one's place does all of it.
            self.waiting.wait(daemon).await;
        }
        opened.map(|open| open.session).map_err(|error| link_error(&error))
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    async fn quiet(&self, until: u64) {
        let until = self.began + Duration::from_millis(until);
        let _ = tokio::time::timeout_at(until, self.stirred.notified()).await;
    }

    async fn call(&self, method: Method, params: Value) -> Result<Value, LinkError> {
        let open = self.open().await.map_err(|error| link_error(&error))?;
        let result = open.client.call_raw(method.name(), Some(params.clone()), None).await;
        match result {
            Ok(value) => Ok(value),
            Err(ClientError::Unavailable(_)) if !open.lives() && may_repeat(method) => {
                // The daemon went away under the call: a new one may be there already.
                let open = self.open().await.map_err(|error| link_error(&error))?;
                let result = open.client.call_raw(method.name(), Some(params), None).await;
                result.map_err(|error| link_error(&error))
            }
            Err(error) => Err(link_error(&error)),
        }
    }
}

/// Whether a call may be made twice: it only looks, or says so by its key, or ends where it began.
fn may_repeat(method: Method) -> bool {
    method != Method::TaskUpdate
}

/// Passes events on until the connection ends.
async fn hear(mut events: Events, heard: mpsc::Sender<Heard>, stirred: Arc<Notify>) {
    while let Some(event) = events.next().await {
        stirred.notify_waiters();
        if heard.send(Heard::Event(Box::new(event))).await.is_err() {
            break;
        }
    }
}

fn lock(seat: &StdMutex<Seat>) -> MutexGuard<'_, Seat> {
    // Each change is one statement, so a panic elsewhere cannot have left half of one.
    seat.lock().unwrap_or_else(PoisonError::into_inner)
}

fn link_error(error: &ClientError) -> LinkError {
    let field = match error {
        ClientError::Refused(refused) => refused.data.as_ref().and_then(|data| data.field.clone()),
        _ => None,
    };
    LinkError { code: error.code(), message: error.message().into_owned(), field }
}
