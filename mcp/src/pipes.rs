//! The two streams to the host, and what passes between them and the server: whole lines, each known to the journal.
//! Spec: D7.1 "Transport"
//!
//! The server reads and writes a pipe inside the process. So this process can stop listening at the end of a line, with
//! everything that it read and that was not answered in hand, and be replaced.

use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::os::unix::net::UnixStream as StdStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::OFlags;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
    DuplexStream, ReadHalf, WriteHalf,
};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::{Mutex as Turn, Notify};

use crate::journal::Journal;

/// Bytes that wait inside the process.
const INSIDE: usize = 64 * 1_024;

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Standard input; and whether a read of it can be called off without losing what it read.
pub(crate) fn input() -> (Reader, bool) {
    let stdin = std::io::stdin();
    let file = stdin.as_fd().try_clone_to_owned().map(std::fs::File::from);
    let kind =
        file.as_ref().ok().and_then(|file| file.metadata().ok()).map(|found| found.file_type());
    if kind.is_some_and(|kind| kind.is_fifo())
        && let Some(reader) =
            reopened(0, false).and_then(|file| pipe::Receiver::from_file(file).ok())
    {
        return (Box::new(reader), true);
    }
    if kind.is_some_and(|kind| kind.is_socket())
        && let Some(socket) = file.ok().and_then(socket)
    {
        return (Box::new(socket), true);
    }
    (Box::new(tokio::io::stdin()), false)
}

/// Standard output.
pub(crate) fn output() -> Writer {
    let stdout = std::io::stdout();
    let file = stdout.as_fd().try_clone_to_owned().map(std::fs::File::from);
    let kind =
        file.as_ref().ok().and_then(|file| file.metadata().ok()).map(|found| found.file_type());
    if kind.is_some_and(|kind| kind.is_fifo())
        && let Some(writer) = reopened(1, true).and_then(|file| pipe::Sender::from_file(file).ok())
    {
        return Box::new(writer);
    }
    if kind.is_some_and(|kind| kind.is_socket())
        && let Some(socket) = file.ok().and_then(socket)
    {
        return Box::new(socket);
    }
    Box::new(tokio::io::stdout())
}

/// A pipe opened once more, so that it blocks nobody else or not as they like.
fn reopened(number: u8, write: bool) -> Option<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.read(!write).write(write);
    options.custom_flags(i32::try_from(OFlags::NONBLOCK.bits()).ok()?);
    options.open(format!("/proc/self/fd/{number}")).ok()
}

fn socket(file: std::fs::File) -> Option<UnixStream> {
    let socket = StdStream::from(std::os::fd::OwnedFd::from(file));
    socket.set_nonblocking(true).ok()?;
    UnixStream::from_std(socket).ok()
}

/// What the two directions share.
pub(crate) struct Pipes {
    journal: Mutex<Journal>,
    /// Held while a line is written to the host.
    writing: Turn<()>,
    pause: Notify,
}

/// The server's end of the pipe inside the process.
pub(crate) type Inside = (ReadHalf<DuplexStream>, WriteHalf<DuplexStream>);

/// The directions as tasks: the first ends with what it read and did not pass on.
pub(crate) struct Running {
    pub(crate) listening: tokio::task::JoinHandle<Paused>,
    pub(crate) telling: tokio::task::JoinHandle<()>,
}

/// A direction that stopped to listen at the end of a line.
pub(crate) struct Paused {
    reader: Reader,
    to: WriteHalf<DuplexStream>,
    /// What was read of the next line.
    pub(crate) rest: Vec<u8>,
    /// Whether the host ended its input.
    pub(crate) ended: bool,
}

impl Pipes {
    /// Pipes that begin with a predecessor's journal, if there was one.
    pub(crate) fn new(answered: Option<serde_json::Value>) -> Arc<Self> {
        let journal = Mutex::new(Journal { answered, ..Journal::default() });
        Arc::new(Self { journal, writing: Turn::default(), pause: Notify::new() })
    }

    pub(crate) fn journal(&self) -> MutexGuard<'_, Journal> {
        // Each change is whole before the lock is given back.
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts both directions. `first` is what the server hears before anything else.
    pub(crate) fn run(
        self: &Arc<Self>,
        reader: Reader,
        writer: Writer,
        first: Vec<u8>,
    ) -> (Inside, Running) {
        let (server, ours) = tokio::io::duplex(INSIDE);
        let (from, to) = tokio::io::split(ours);
        let paused = Paused { reader, to, rest: first, ended: false };
        let listening = self.listen(paused);
        let telling = tokio::spawn(tell(Arc::clone(self), from, writer));
        (tokio::io::split(server), Running { listening, telling })
    }

    /// Listens, or goes on to.
    pub(crate) fn listen(self: &Arc<Self>, paused: Paused) -> tokio::task::JoinHandle<Paused> {
        tokio::spawn(listen(Arc::clone(self), paused))
    }

    /// Asks the one that listens to stop at the end of a line.
    pub(crate) fn pause(&self) {
        self.pause.notify_one();
    }

    /// Waits until no line is half written; none is begun while the answer is held.
    pub(crate) async fn between_lines(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.writing.lock().await
    }
}

async fn listen(pipes: Arc<Pipes>, mut paused: Paused) -> Paused {
    let mut chunk = vec![0; INSIDE];
    loop {
        while let Some(end) = paused.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = paused.rest.drain(..=end).collect();
            pipes.journal().heard(&line);
            if paused.to.write_all(&line).await.is_err() {
                return paused;
            }
        }
        if paused.ended {
            // A last line without its end is a line to the server.
            let rest = std::mem::take(&mut paused.rest);
            let _ = paused.to.write_all(&rest).await;
            let _ = paused.to.shutdown().await;
            return paused;
        }
        tokio::select! {
            biased;
            () = pipes.pause.notified() => return paused,
            read = paused.reader.read(&mut chunk) => match read {
                Ok(0) | Err(_) => paused.ended = true,
                Ok(read) => paused.rest.extend_from_slice(chunk.get(..read).unwrap_or_default()),
            },
        }
    }
}

async fn tell(pipes: Arc<Pipes>, from: ReadHalf<DuplexStream>, mut writer: Writer) {
    let mut lines = BufReader::new(from);
    let mut line = Vec::new();
    loop {
        line.clear();
        match lines.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if !pipes.journal().is_for_host(&line) {
            continue;
        }
        let _turn = pipes.writing.lock().await;
        if writer.write_all(&line).await.is_err() || writer.flush().await.is_err() {
            return;
        }
        pipes.journal().told(&line);
    }
}
