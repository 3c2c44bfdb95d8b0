//! One connection to the daemon: the hello, calls that run side by side, and events.
//! Spec: §8.2 "Hello", D1.1, D1.2
//!
//! Two tasks own the socket: one writes whole lines, one reads them. So a caller that gives up waiting leaves no half
//! line behind, and an answer finds its caller by its id.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use messaging_core::code::Code;
use messaging_core::jcs;
use messaging_core::json;
use messaging_ipc::call::Call;
use messaging_ipc::event::Event;
use messaging_ipc::hello::{HELLO_BYTES, Hello, Mismatch};
use messaging_ipc::line::{IN_FLIGHT, LINE_BYTES, Lines};
use messaging_ipc::reply::Incoming;
use messaging_ipc::request::{Request, RequestId};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::{ClientError, Place, Socket};

/// How long connecting and the hello may take together.
const HELLO_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a call may take, unless its caller says otherwise.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Events that may wait for their reader. Past that the connection ends: the reader subscribes again from its cursor.
const EVENTS: usize = 1_024;
/// Bytes read at a time.
const CHUNK: usize = 64 * 1_024;

type Outcome = Result<Value, ClientError>;
type Pending = Arc<Mutex<Waiting>>;

/// One connection. Clones share it; it ends when the last is dropped.
#[derive(Clone, Debug)]
pub struct Client {
    hello: Hello,
    requests: mpsc::Sender<Vec<u8>>,
    pending: Pending,
    timeout: Duration,
}

/// The events of one connection, in order.
#[derive(Debug)]
pub struct Events {
    events: mpsc::Receiver<Event>,
}

impl Events {
    /// The next event; `None` once the connection has ended.
    pub async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }
}

/// The calls that wait for their answers.
#[derive(Debug, Default)]
struct Waiting {
    last: i64,
    calls: BTreeMap<i64, oneshot::Sender<Outcome>>,
    ended: bool,
}

/// Reads the hello of whatever daemon answers on a trusted socket, of any release, and hangs up.
///
/// Errors: as [`Client::connect`], but another release is no error.
pub async fn hello(place: &Place, socket: Socket) -> Result<Hello, ClientError> {
    open(place, socket).await.map(|(hello, _, _)| hello)
}

impl Client {
    /// Connects to a trusted socket of this release's daemon. Nothing is sent before its hello was read.
    ///
    /// Errors: `daemon_unavailable`, `daemon_mismatch`, `forbidden`; see [`Place::check`].
    pub async fn connect(place: &Place, socket: Socket) -> Result<(Self, Events), ClientError> {
        let (hello, stream, lines) = open(place, socket).await?;
        let hello = hello.admit().map_err(ClientError::Mismatch)?;
        let (read, write) = stream.into_split();
        let (requests, outgoing) = mpsc::channel(IN_FLIGHT);
        let (told, events) = mpsc::channel(EVENTS);
        let pending = Pending::default();
        let reader = tokio::spawn(read_all(read, lines, Arc::clone(&pending), told));
        let waiting = Arc::clone(&pending);
        tokio::spawn(async move {
            // The last client is gone, or the daemon takes nothing more: no answer comes to anybody who still waits.
            write_all(write, outgoing).await;
            reader.abort();
            end(&waiting);
        });
        Ok((Self { hello, requests, pending, timeout: CALL_TIMEOUT }, Events { events }))
    }

    /// The same connection, with calls that may take this long.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Whether the connection is over, so that every further call fails.
    pub fn has_ended(&self) -> bool {
        lock(&self.pending).ended
    }

    /// Which daemon this is.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Calls a method of the table.
    ///
    /// Errors: the daemon's refusal; `daemon_unavailable` when the connection ends or the answer takes too long;
    /// `too_large` for a request longer than a line.
    pub async fn call<C: Call>(&self, params: &C::Params) -> Result<C::Result, ClientError> {
        let params = jcs::to_value(params).map_err(|_| ClientError::Unreadable)?;
        let result = self.call_raw(C::METHOD.name(), Some(params), None).await?;
        json::decode(&result).map_err(|_| ClientError::Unreadable)
    }

    /// Calls a method by its name, with parameters as they are and, under a host, its grant.
    ///
    /// Errors: as [`Client::call`].
    pub async fn call_raw(
        &self,
        method: &str,
        params: Option<Value>,
        grant: Option<String>,
    ) -> Result<Value, ClientError> {
        let (answer, answered) = oneshot::channel();
        let id = {
            let mut waiting = lock(&self.pending);
            if waiting.ended {
                return Err(CLOSED);
            }
            waiting.last += 1;
            let id = waiting.last;
            waiting.calls.insert(id, answer);
            id
        };
        let _forget = Forget { pending: &self.pending, id };
        let grant = grant.map(Value::String);
        let request =
            Request { id: RequestId::Number(id), method: method.to_owned(), params, grant };
        let line = request.line();
        if line.len() > LINE_BYTES + 1 {
            return Err(ClientError::Unfit {
                code: Code::TooLarge,
                message: "the request is longer than 4 MiB",
            });
        }
        let exchange = async {
            self.requests.send(line).await.map_err(|_| CLOSED)?;
            answered.await.map_err(|_| CLOSED)?
        };
        timeout(self.timeout, exchange)
            .await
            .unwrap_or(Err(ClientError::Unavailable("the daemon did not answer in time")))
    }
}

/// Spec: D6.6
const CLOSED_TO_US: &str =
    "this program may not open the daemon's socket; a sandbox or the socket's mode is in the way";
const CLOSED: ClientError = ClientError::Unavailable("the daemon closed the connection");

/// Forgets a call whose caller went away, so that a late answer is dropped.
struct Forget<'a> {
    pending: &'a Pending,
    id: i64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        lock(self.pending).calls.remove(&self.id);
    }
}

fn lock(pending: &Pending) -> std::sync::MutexGuard<'_, Waiting> {
    // The map is whole between any two statements, so a panic elsewhere cannot have left it broken.
    pending.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn open(place: &Place, socket: Socket) -> Result<(Hello, UnixStream, Lines), ClientError> {
    let path = place.check(socket)?;
    let greet = async {
        let mut stream = UnixStream::connect(&path).await.map_err(|error| match error.kind() {
            // Somebody may be there: whoever cannot reach them must not take their place.
            std::io::ErrorKind::PermissionDenied => ClientError::Untrusted(CLOSED_TO_US),
            _ => ClientError::Unavailable("no daemon answers on its socket"),
        })?;
        let mut lines = Lines::new(HELLO_BYTES);
        let mut chunk = vec![0; HELLO_BYTES];
        loop {
            match lines.next_line() {
                Ok(Some(line)) => {
                    let hello = Hello::parse(&line).map_err(ClientError::Mismatch)?;
                    return Ok((hello, stream, lines));
                }
                Ok(None) => {}
                Err(_) => return Err(ClientError::Mismatch(Mismatch::NotAHello)),
            }
            match stream.read(&mut chunk).await {
                Ok(0) | Err(_) => {
                    return Err(ClientError::Unavailable(
                        "the daemon hung up before it said hello",
                    ));
                }
                Ok(read) => lines.push(chunk.get(..read).unwrap_or_default()),
            }
        }
    };
    timeout(HELLO_TIMEOUT, greet).await.unwrap_or(Err(ClientError::Mismatch(Mismatch::NotAHello)))
}

async fn write_all(mut socket: OwnedWriteHalf, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if socket.write_all(&line).await.is_err() {
            break;
        }
    }
}

async fn read_all(
    mut socket: OwnedReadHalf,
    lines: Lines,
    pending: Pending,
    events: mpsc::Sender<Event>,
) {
    let mut lines = lines.widened(LINE_BYTES);
    let mut chunk = vec![0; CHUNK];
    'connection: loop {
        loop {
            match lines.next_line() {
                Ok(None) => break,
                Ok(Some(line)) => {
                    if !deliver(&line, &pending, &events) {
                        break 'connection;
                    }
                }
                Err(_) => break 'connection,
            }
        }
        match socket.read(&mut chunk).await {
            Ok(0) | Err(_) => break,
            Ok(read) => lines.push(chunk.get(..read).unwrap_or_default()),
        }
    }
    end(&pending);
}

/// The connection is over.
fn end(pending: &Pending) {
    let mut waiting = lock(pending);
    waiting.ended = true;
    // Dropping the senders tells every caller that no answer comes.
    waiting.calls.clear();
}

/// Hands a line to whom it is for; false when the connection has lost its meaning.
fn deliver(line: &[u8], pending: &Pending, events: &mpsc::Sender<Event>) -> bool {
    match Incoming::parse(line) {
        Ok(Incoming::Answer { id: Some(RequestId::Number(id)), outcome }) => {
            if let Some(caller) = lock(pending).calls.remove(&id) {
                // A caller that stopped waiting is no fault.
                let _ = caller.send(outcome.map_err(|error| ClientError::Refused(Box::new(error))));
            }
            true
        }
        Ok(Incoming::Event(event)) => {
            !matches!(events.try_send(*event), Err(mpsc::error::TrySendError::Full(_)))
        }
        Ok(Incoming::Answer { .. } | Incoming::Other) => true,
        Err(_) => false,
    }
}
