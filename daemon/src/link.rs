//! The WebSocket to the relay: dialled when the engine asks, one at a time, translated both ways.
//!
//! Spec: §7 "Connecting", D3.7, W2.9, W1.3
//!
//! It decides nothing but what only a socket can know: that a dial failed, that a peer fell
//! silent, that a frame is too large.

mod dial;

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use messaging_daemon_engine::{In, LinkFault, LinkId};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::owner::{Gone, Inbox};
use crate::proxy::Proxies;
use crate::tls::Trust;
use dial::dial;

/// How relays are reached from this machine.
#[derive(Clone)]
pub(crate) struct Ways {
    pub(crate) proxies: Proxies,
    pub(crate) trust: Trust,
}

/// What the engine asks of the link, in order.
#[derive(Debug)]
pub(crate) enum LinkCommand {
    /// Close what is open and dial `url`.
    Dial { link: LinkId, url: String, max_frame: usize },
    /// Send one text on `link`, if that is the one that is open.
    Send { link: LinkId, text: String },
    /// Close `link`.
    Close { link: LinkId },
}

/// Serves commands until their sender is gone. Reports wait for room at the owner's door, which
/// slows the relay down.
pub(crate) async fn serve(
    mut commands: mpsc::UnboundedReceiver<LinkCommand>,
    inbox: Inbox,
    ways: Ways,
) -> Result<(), Gone> {
    let mut next = None;
    loop {
        let command = match next.take() {
            Some(command) => command,
            None => commands.recv().await.ok_or(Gone)?,
        };
        // A send or close for a link that is not open any more has nothing to do.
        let LinkCommand::Dial { link, url, max_frame } = command else { continue };
        match (Call { link, commands: &mut commands, inbox: &inbox })
            .run(&url, max_frame, &ways)
            .await?
        {
            End::Down { close, why } => inbox.put(In::LinkDown { link, close, why }).await?,
            End::Replaced(dial) => next = Some(dial),
        }
    }
}

/// How a call ended.
enum End {
    Down {
        close: Option<u16>,
        why: LinkFault,
    },
    /// The engine dialled anew: it has already forgotten this link.
    Replaced(LinkCommand),
}

impl From<LinkFault> for End {
    fn from(why: LinkFault) -> End {
        End::Down { close: None, why }
    }
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// One dial and what follows it.
struct Call<'a> {
    link: LinkId,
    commands: &'a mut mpsc::UnboundedReceiver<LinkCommand>,
    inbox: &'a Inbox,
}

impl Call<'_> {
    async fn run(self, url: &str, max_frame: usize, ways: &Ways) -> Result<End, Gone> {
        let socket = tokio::select! {
            dialled = timeout(DIAL_TIMEOUT, dial(url, max_frame, ways)) => match dialled {
                Ok(Ok(socket)) => socket,
                Ok(Err(why)) => return Ok(why.into()),
                Err(_) => return Ok(LinkFault::TimedOut.into()),
            },
            end = wait_for_end(self.link, self.commands) => return end,
        };
        self.inbox.put(In::LinkUp { link: self.link }).await?;
        self.converse(socket).await
    }

    /// Both directions at once, so that two peers that are both writing never wait for each other; and the engine is heard
    /// while a write waits, so that a relay that reads nothing cannot hold its link.
    async fn converse(self, socket: Socket) -> Result<End, Gone> {
        let (mut sink, mut stream) = socket.split();
        let Call { link, commands, inbox } = self;
        let backlog = &Backlog::default();
        let (texts, mut to_write) = mpsc::unbounded_channel::<String>();
        let listen = async {
            loop {
                backlog.room().await;
                let message = match timeout(SILENCE, stream.next()).await {
                    Err(_) => return Ok(End::from(LinkFault::Silent)),
                    Ok(None) => return Ok(LinkFault::Closed.into()),
                    Ok(Some(Err(error))) => return Ok(fault_of(&error).into()),
                    Ok(Some(Ok(message))) => message,
                };
                match message {
                    Message::Text(text) => {
                        let text = text.as_str().to_owned();
                        inbox.put(In::LinkFrame { link, text }).await?;
                    }
                    // Answered by the library; their arrival is what counts.
                    Message::Ping(_) | Message::Pong(_) => {}
                    Message::Close(frame) => {
                        let close = frame.map(|frame| u16::from(frame.code));
                        return Ok(End::Down { close, why: LinkFault::Closed });
                    }
                    Message::Binary(_) | Message::Frame(_) => {
                        return Ok(LinkFault::Protocol.into());
                    }
                }
            }
        };
        let hear = async move {
            loop {
                match commands.recv().await.ok_or(Gone)? {
                    LinkCommand::Send { link: of, text } if of == link => {
                        backlog.add(text.len());
                        // Its reader lives as long as this does.
                        let _ = texts.send(text);
                    }
                    LinkCommand::Close { link: of } if of == link => {
                        return Ok(Heard::Close);
                    }
                    dial @ LinkCommand::Dial { .. } => return Ok(Heard::Dial(dial)),
                    LinkCommand::Send { .. } | LinkCommand::Close { .. } => {}
                }
            }
        };
        let mut write = pin!(async {
            let mut ping = interval_at(Instant::now() + PING, PING);
            ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                let (message, bytes) = tokio::select! {
                    text = to_write.recv() => match text {
                        Some(text) => {
                            let bytes = text.len();
                            (Message::text(text), Some(bytes))
                        },
                        None => break,
                    },
                    _ = ping.tick() => (Message::Ping(Bytes::new()), None),
                };
                match timeout(SILENCE, sink.send(message)).await {
                    Err(_) => return LinkFault::Silent,
                    Ok(Err(error)) => return fault_of(&error),
                    Ok(Ok(())) => bytes.into_iter().for_each(|bytes| backlog.left(bytes)),
                }
            }
            // Politeness: the relay learns that we left on purpose.
            let _ = sink.close().await;
            LinkFault::Closed
        });
        let heard: Result<Heard, Gone> = tokio::select! {
            end = listen => return end,
            why = &mut write => return Ok(why.into()),
            heard = hear => heard,
        };
        match heard? {
            Heard::Dial(dial) => Ok(End::Replaced(dial)),
            Heard::Close => {
                let _ = timeout(CLOSE_TIMEOUT, write).await;
                Ok(LinkFault::Closed.into())
            }
        }
    }
}

/// What ends a conversation from this side.
enum Heard {
    Close,
    Dial(LinkCommand),
}

/// What waits to be written. While it is too much nothing more is read: what a relay sends makes this machine answer, and
/// one that reads no answers must not fill the memory with them.
#[derive(Default)]
struct Backlog {
    bytes: AtomicUsize,
    less: Notify,
}

impl Backlog {
    fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes + TEXT_COST, Ordering::Relaxed);
    }

    fn left(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes + TEXT_COST, Ordering::Relaxed);
        self.less.notify_one();
    }

    /// Waits until little enough waits to be written.
    async fn room(&self) {
        while self.bytes.load(Ordering::Relaxed) > BACKLOG {
            self.less.notified().await;
        }
    }
}

/// While a dial is under way: its own close, or the next dial.
async fn wait_for_end(
    link: LinkId,
    commands: &mut mpsc::UnboundedReceiver<LinkCommand>,
) -> Result<End, Gone> {
    loop {
        match commands.recv().await.ok_or(Gone)? {
            LinkCommand::Close { link: of } if of == link => return Ok(LinkFault::Closed.into()),
            dial @ LinkCommand::Dial { .. } => return Ok(End::Replaced(dial)),
            LinkCommand::Send { .. } | LinkCommand::Close { .. } => {}
        }
    }
}

/// Our own word for what the library says: its texts may quote the peer.
fn fault_of(error: &Error) -> LinkFault {
    match error {
        Error::ConnectionClosed | Error::AlreadyClosed => LinkFault::Closed,
        Error::Capacity(_) => LinkFault::FrameTooLarge,
        Error::Tls(_) => LinkFault::Tls,
        Error::Io(_) => LinkFault::Io,
        _ => LinkFault::Protocol,
    }
}

/// Resolving, connecting and both handshakes together.
const DIAL_TIMEOUT: Duration = Duration::from_secs(15);
/// A link that is quiet is pinged so often; the relay's answer is a sign of life.
const PING: Duration = Duration::from_secs(20);
/// A link without a frame, a ping or an answer for so long is dead. W1.3 allows 90 s: a dead link is given up sooner.
const SILENCE: Duration = Duration::from_secs(50);
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// What may wait to be written before reading pauses, bytes: more than the window of the outbox ever holds.
const BACKLOG: usize = 72 * 1_048_576;
/// What a short text holds beside itself, about.
const TEXT_COST: usize = 64;

#[cfg(test)]
mod secure_tests;
#[cfg(test)]
mod tests;
