//! A connection that blocks, for a program that makes a few calls and must be gone by a certain moment.
//! Spec: §8.2 "Hello", D1.1, D1.2
//!
//! No runtime is started and nothing is ever waited for past the deadline, not even a connection to a daemon that takes
//! none because it is stopped.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use messaging_core::{jcs, json};
use messaging_ipc::call::Call;
use messaging_ipc::hello::{HELLO_BYTES, Hello, Mismatch};
use messaging_ipc::line::{LINE_BYTES, Lines};
use messaging_ipc::reply::Incoming;
use messaging_ipc::request::{Request, RequestId};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};

use crate::{ClientError, Place, Socket};

/// Bytes read at a time.
const CHUNK: usize = 16 * 1_024;

const LATE: ClientError = ClientError::Unavailable("the daemon did not answer in time");
const CLOSED: ClientError = ClientError::Unavailable("the daemon closed the connection");

/// One connection, and the moment after which it is of no use.
#[derive(Debug)]
pub struct Blocking {
    socket: UnixStream,
    lines: Lines,
    calls: i64,
    until: Instant,
}

impl Blocking {
    /// Connects to a trusted socket of this release's daemon. Every call on the connection ends by `until` too.
    ///
    /// Errors: `daemon_unavailable`, `daemon_mismatch`, `forbidden`; see [`Place::check`].
    pub fn connect(place: &Place, socket: Socket, until: Instant) -> Result<Self, ClientError> {
        let path = place.check(socket)?;
        let socket =
            dial(&path).ok_or(ClientError::Unavailable("no daemon answers on its socket"))?;
        let mut connection = Self { socket, lines: Lines::new(HELLO_BYTES), calls: 0, until };
        let hello = connection.line()?.ok_or(LATE)?;
        Hello::parse(&hello).and_then(Hello::admit).map_err(ClientError::Mismatch)?;
        let lines = std::mem::replace(&mut connection.lines, Lines::new(LINE_BYTES));
        connection.lines = lines.widened(LINE_BYTES);
        Ok(connection)
    }

    /// Calls a method of the table. Events that come meanwhile are dropped.
    ///
    /// Errors: the daemon's refusal; `daemon_unavailable` when the connection ends or its moment comes.
    pub fn call<C: Call>(&mut self, params: &C::Params) -> Result<C::Result, ClientError> {
        self.calls += 1;
        let params = jcs::to_value(params).map_err(|_| ClientError::Unreadable)?;
        let request = Request {
            id: RequestId::Number(self.calls),
            method: C::METHOD.name().to_owned(),
            params: Some(params),
            grant: None,
        };
        self.socket.set_write_timeout(Some(self.left()?)).map_err(|_| CLOSED)?;
        self.socket.write_all(&request.line()).map_err(|error| of(&error))?;
        loop {
            let line = self.line()?.ok_or(LATE)?;
            match Incoming::parse(&line) {
                Ok(Incoming::Answer { id: Some(RequestId::Number(id)), outcome })
                    if id == self.calls =>
                {
                    let result = outcome.map_err(|error| ClientError::Refused(Box::new(error)))?;
                    return json::decode(&result).map_err(|_| ClientError::Unreadable);
                }
                Ok(_) => {}
                Err(_) => return Err(ClientError::Unreadable),
            }
        }
    }

    /// What is left of the time.
    fn left(&self) -> Result<Duration, ClientError> {
        let left = self.until.saturating_duration_since(Instant::now());
        // To a socket, no time at all means for ever.
        if left < Duration::from_millis(1) { Err(LATE) } else { Ok(left) }
    }

    /// The next line; `None` when none comes in time.
    fn line(&mut self) -> Result<Option<Vec<u8>>, ClientError> {
        let mut chunk = [0; CHUNK];
        loop {
            match self.lines.next_line() {
                Ok(Some(line)) => return Ok(Some(line)),
                Ok(None) => {}
                Err(_) => return Err(ClientError::Mismatch(Mismatch::NotAHello)),
            }
            self.socket.set_read_timeout(Some(self.left()?)).map_err(|_| CLOSED)?;
            match self.socket.read(&mut chunk) {
                Ok(0) => return Err(CLOSED),
                Ok(read) => self.lines.push(chunk.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_late(&error) => return Ok(None),
                Err(_) => return Err(CLOSED),
            }
        }
    }
}

/// Connects without waiting: the queue of a daemon that is stopped fills, and then a connect that waits never ends.
fn dial(path: &Path) -> Option<UnixStream> {
    let socket: OwnedFd =
        rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).ok()?;
    let socket = UnixStream::from(socket);
    socket.set_nonblocking(true).ok()?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path).ok()?).ok()?;
    socket.set_nonblocking(false).ok()?;
    Some(socket)
}

fn is_late(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn of(error: &std::io::Error) -> ClientError {
    if is_late(error) { LATE } else { CLOSED }
}
