//! One connection: hello first, then requests in and lines out, until either side ends it.
//!
//! Spec: §8.2 "Hello", D1.1, D1.2

use std::pin::pin;
use std::time::Duration;

use messaging_daemon_engine::{ConnId, In, Tier};
use messaging_ipc::error::Refusal;
use messaging_ipc::line::{IN_FLIGHT, LINE_BYTES, Lines as LineReader};
use messaging_ipc::reply::error_line;
use messaging_ipc::request::Request;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::queue::{Echo, Lines, Outgoing, queue};
use crate::owner::{Gone, Inbox};

/// Serves one connection to its end. The owner hears of it only after the hello is written.
pub(super) async fn serve(
    stream: UnixStream,
    conn: ConnId,
    tier: Tier,
    hello: &[u8],
    inbox: &Inbox,
) {
    let (read, mut write) = stream.into_split();
    match timeout(HELLO_TIMEOUT, write.write_all(hello)).await {
        Ok(Ok(())) => {}
        Ok(Err(_)) | Err(_) => return,
    }
    let (queue, lines, echo, cut) = queue();
    if inbox.open(In::IpcOpened { conn, tier }, conn, queue).await.is_err() {
        return;
    }
    tokio::select! {
        biased;
        _ = cut => {}
        () = talk(read, write, lines, &echo, conn, inbox) => {}
    }
    // An owner that is gone has no use for goodbyes.
    let _ = inbox.put(In::IpcClosed { conn }).await;
}

async fn talk(
    mut read: OwnedReadHalf,
    write: OwnedWriteHalf,
    lines: Lines,
    echo: &Echo,
    conn: ConnId,
    inbox: &Inbox,
) {
    let slots = Semaphore::new(IN_FLIGHT);
    let mut speak = pin!(speak(write, lines, &slots));
    let ended = tokio::select! {
        () = &mut speak => return,
        ended = listen(&mut read, &slots, echo, conn, inbox) => ended,
    };
    match ended {
        Ok(Ended::Closed) => {
            // The client said all it had to say; what is under way is still answered.
            let answered = async {
                let _ = slots.acquire_many(ALL_SLOTS).await;
            };
            let _ = timeout(LAST_ANSWERS, async {
                tokio::select! {
                    () = &mut speak => {}
                    () = answered => {}
                }
            })
            .await;
        }
        Ok(Ended::TooLong) => {
            echo.answer(error_line(None, Refusal::LineTooLong.into()));
            echo.end();
            // Reading on lets the client come to the answer: it is still busy writing.
            let _ = timeout(LINGER, async {
                speak.await;
                discard(&mut read).await;
            })
            .await;
        }
        Err(Gone) => {
            // The owner says goodbye through the queue.
            let _ = timeout(LINGER, speak).await;
        }
    }
}

enum Ended {
    Closed,
    TooLong,
}

/// Reads requests and brings them to the owner, while slots are free. What is no request at all
/// is answered here.
async fn listen(
    read: &mut OwnedReadHalf,
    slots: &Semaphore,
    echo: &Echo,
    conn: ConnId,
    inbox: &Inbox,
) -> Result<Ended, Gone> {
    let mut lines = LineReader::new(LINE_BYTES);
    let mut chunk = vec![0; CHUNK];
    loop {
        // A slot is given back when the answer has been written.
        let Ok(slot) = slots.acquire().await else { return Ok(Ended::Closed) };
        let line = loop {
            match lines.next_line() {
                Ok(Some(line)) => break line,
                Ok(None) => {}
                Err(_) => return Ok(Ended::TooLong),
            }
            match read.read(&mut chunk).await {
                Ok(0) | Err(_) => return Ok(Ended::Closed),
                Ok(bytes) => lines.push(chunk.get(..bytes).unwrap_or_default()),
            }
        };
        slot.forget();
        match Request::parse(&line) {
            Ok(request) => inbox.put(In::IpcRequest { conn, request }).await?,
            Err(bad) => echo.answer(error_line(bad.id(), bad.error())),
        }
    }
}

/// Writes lines until the end is queued or the client is gone.
async fn speak(mut write: OwnedWriteHalf, mut lines: Lines, slots: &Semaphore) {
    while let Some(Outgoing::Line { line, answers }) = lines.next().await {
        if write.write_all(&line).await.is_err() {
            return;
        }
        lines.left(line.len());
        if answers {
            slots.add_permits(1);
        }
    }
    let _ = write.shutdown().await;
}

async fn discard(read: &mut OwnedReadHalf) {
    let mut waste = vec![0; CHUNK];
    while read.read(&mut waste).await.is_ok_and(|bytes| bytes > 0) {}
}

/// Every slot of a connection free again.
const ALL_SLOTS: u32 = 64;
const _: () = assert!(ALL_SLOTS as usize == IN_FLIGHT);
const HELLO_TIMEOUT: Duration = Duration::from_secs(3);
/// What a client that has closed its side gets for the answers under way.
const LAST_ANSWERS: Duration = Duration::from_secs(2);
const LINGER: Duration = Duration::from_secs(1);
const CHUNK: usize = 16 * 1024;
