//! The WebSocket to the relay: dialled when the engine asks, one at a time, translated both ways.
//!
//! Spec: §7 "Connecting", D3.7, W2.9, W1.3
//!
//! It decides nothing but what only a socket can know: that a dial failed, that a peer fell
//! silent, that a frame is too large.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use messaging_daemon_engine::{In, LinkFault, LinkId};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, client_async_tls_with_config};

use crate::owner::{Gone, Inbox};
use crate::tls;

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
) -> Result<(), Gone> {
    let mut next = None;
    loop {
        let command = match next.take() {
            Some(command) => command,
            None => commands.recv().await.ok_or(Gone)?,
        };
        // A send or close for a link that is not open any more has nothing to do.
        let LinkCommand::Dial { link, url, max_frame } = command else { continue };
        match (Call { link, commands: &mut commands, inbox: &inbox }).run(&url, max_frame).await? {
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
    async fn run(self, url: &str, max_frame: usize) -> Result<End, Gone> {
        let socket = tokio::select! {
            dialled = timeout(DIAL_TIMEOUT, dial(url, max_frame)) => match dialled {
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
            while let Some(text) = to_write.recv().await {
                let bytes = text.len();
                match timeout(SILENCE, sink.send(Message::text(text))).await {
                    Err(_) => return LinkFault::Silent,
                    Ok(Err(error)) => return fault_of(&error),
                    Ok(Ok(())) => backlog.left(bytes),
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

async fn dial(url: &str, max_frame: usize) -> Result<Socket, LinkFault> {
    let request = request(url)?;
    let secure = request.uri().scheme_str() == Some("wss");
    let host = request.uri().host().ok_or(LinkFault::Protocol)?;
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let port = request.uri().port_u16().unwrap_or(if secure { 443 } else { 80 });
    let addresses: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), port))
        .await
        .map_err(|_| LinkFault::Unresolved)?
        .collect();
    // `localhost` is only a name: plain text must not leave this machine whatever it resolves to.
    if !secure && !addresses.iter().all(|address| address.ip().is_loopback()) {
        return Err(LinkFault::NotLoopback);
    }
    let stream = TcpStream::connect(addresses.as_slice()).await.map_err(|_| LinkFault::Refused)?;
    // Frames are small and awaited; Nagle would hold each back for the last one's answer.
    let _ = stream.set_nodelay(true);
    let connector = if secure { tls::connector().await? } else { tls::plain() };
    match client_async_tls_with_config(request, stream, Some(limits(max_frame)), Some(connector))
        .await
    {
        Ok((socket, _)) => Ok(socket),
        Err(Error::Http(response)) if response.status().as_u16() == 503 => Err(LinkFault::Full),
        Err(Error::Http(_)) => Err(LinkFault::Upgrade),
        Err(Error::Tls(_)) => Err(LinkFault::Tls),
        // rustls reports a certificate it does not accept as an I/O error of this kind.
        Err(Error::Io(error)) if error.kind() == std::io::ErrorKind::InvalidData => {
            Err(LinkFault::Tls)
        }
        Err(error) => Err(fault_of(&error)),
    }
}

fn request(url: &str) -> Result<Request, LinkFault> {
    let mut request = url.into_client_request().map_err(|_| LinkFault::Protocol)?;
    request.headers_mut().insert("Sec-WebSocket-Protocol", HeaderValue::from_static(SUB_PROTOCOL));
    Ok(request)
}

/// Both limits, or a message in pieces would pass.
fn limits(max_frame: usize) -> WebSocketConfig {
    WebSocketConfig::default()
        .max_frame_size(Some(max_frame))
        .max_message_size(Some(max_frame))
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(0)
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

/// The relay's sub-protocol. Spec: W2.9
const SUB_PROTOCOL: &str = "messaging.relay.v1";
/// Resolving, connecting and both handshakes together.
const DIAL_TIMEOUT: Duration = Duration::from_secs(15);
/// A link without a frame or ping for so long is dead. Spec: W1.3
const SILENCE: Duration = Duration::from_secs(90);
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// What may wait to be written before reading pauses, bytes: more than the window of the outbox ever holds.
const BACKLOG: usize = 72 * 1_048_576;
/// What a short text holds beside itself, about.
const TEXT_COST: usize = 64;
const READ_BUFFER: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::owner::Arrival;
    use futures_util::FutureExt as _;
    use tokio::net::TcpListener;
    use tokio::task::JoinHandle;
    use tokio_tungstenite::tungstenite::handshake::server::{Request as Upgrade, Response};
    use tokio_tungstenite::tungstenite::protocol::CloseFrame;
    use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

    const MAX_FRAME: usize = 1_000;

    /// A relay's side of one connection, and the link's two ends.
    struct Rig {
        listener: TcpListener,
        commands: mpsc::UnboundedSender<LinkCommand>,
        reports: mpsc::Receiver<Arrival>,
        task: JoinHandle<Result<(), Gone>>,
    }

    impl Rig {
        async fn new() -> Rig {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let (inbox, reports) = Inbox::new();
            let (commands, receiver) = mpsc::unbounded_channel();
            let task = tokio::spawn(serve(receiver, inbox));
            Rig { listener, commands, reports, task }
        }

        fn url(&self) -> String {
            format!("ws://{}/v1/connect", self.listener.local_addr().unwrap())
        }

        fn dial(&self, link: u64) {
            let dial =
                LinkCommand::Dial { link: LinkId(link), url: self.url(), max_frame: MAX_FRAME };
            self.commands.send(dial).unwrap();
        }

        async fn accept(&self) -> WebSocketStream<TcpStream> {
            let (stream, _) = self.listener.accept().await.unwrap();
            #[allow(clippy::result_large_err, reason = "the signature is the library's")]
            let choose = |upgrade: &Upgrade, mut response: Response| {
                let offered = upgrade.headers().get("Sec-WebSocket-Protocol").unwrap();
                assert_eq!(offered, SUB_PROTOCOL);
                response.headers_mut().insert("Sec-WebSocket-Protocol", offered.clone());
                Ok(response)
            };
            tokio_tungstenite::accept_hdr_async(stream, choose).await.unwrap()
        }

        async fn report(&mut self) -> In {
            match self.reports.recv().await.unwrap() {
                Arrival::Input { input, .. } => input,
                Arrival::Opened { .. } => panic!("a link opens no connection"),
            }
        }

        async fn up(&mut self, link: u64) -> WebSocketStream<TcpStream> {
            self.dial(link);
            let server = self.accept().await;
            assert!(matches!(self.report().await, In::LinkUp { link: up } if up == LinkId(link)));
            server
        }

        async fn expect_down(&mut self, link: u64, close: Option<u16>, why: LinkFault) {
            match self.report().await {
                In::LinkDown { link: down, close: code, why: fault } => {
                    assert_eq!((down, code, fault), (LinkId(link), close, why));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[tokio::test]
    async fn frames_go_both_ways_and_a_close_tells_its_code() {
        let mut rig = Rig::new().await;
        let mut server = rig.up(1).await;
        server.send(Message::text("challenge")).await.unwrap();
        match rig.report().await {
            In::LinkFrame { link: LinkId(1), text } => assert_eq!(text, "challenge"),
            other => panic!("{other:?}"),
        }
        let hello = LinkCommand::Send { link: LinkId(1), text: "hello".into() };
        rig.commands.send(hello).unwrap();
        assert_eq!(server.next().await.unwrap().unwrap(), Message::text("hello"));
        let frame = CloseFrame { code: CloseCode::from(4001), reason: "".into() };
        server.close(Some(frame)).await.unwrap();
        rig.expect_down(1, Some(4001), LinkFault::Closed).await;
    }

    #[tokio::test]
    async fn nobody_listening_and_a_plain_answer_are_told_apart() {
        let mut rig = Rig::new().await;
        let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let url = format!("ws://{gone}/v1/connect");
        rig.commands
            .send(LinkCommand::Dial { link: LinkId(1), url, max_frame: MAX_FRAME })
            .unwrap();
        rig.expect_down(1, None, LinkFault::Refused).await;

        for (status, why) in
            [("503 Service Unavailable", LinkFault::Full), ("404 Not Found", LinkFault::Upgrade)]
        {
            rig.dial(2);
            let (mut stream, _) = rig.listener.accept().await.unwrap();
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
            tokio::io::AsyncWriteExt::write_all(&mut stream, answer.as_bytes()).await.unwrap();
            rig.expect_down(2, None, why).await;
        }
    }

    #[tokio::test]
    async fn plain_text_never_leaves_the_machine() {
        assert_eq!(
            dial("ws://192.0.2.1:1/v1/connect", 10).await.err(),
            Some(LinkFault::NotLoopback)
        );
    }

    #[tokio::test]
    async fn a_relay_that_speaks_no_tls_is_told_apart() {
        let mut rig = Rig::new().await;
        let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("wss://{}/v1/connect", plain.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut stream, _) = plain.accept().await.unwrap();
            let answer = b"HTTP/1.1 400 Bad Request\r\n\r\n";
            let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, answer).await;
        });
        rig.commands
            .send(LinkCommand::Dial { link: LinkId(1), url, max_frame: MAX_FRAME })
            .unwrap();
        // A system without roots does not even connect, and says the same.
        rig.expect_down(1, None, LinkFault::Tls).await;
    }

    #[tokio::test]
    async fn the_frame_limit_is_exact() {
        for (bytes, passes) in [(MAX_FRAME, true), (MAX_FRAME + 1, false)] {
            let mut rig = Rig::new().await;
            let mut server = rig.up(1).await;
            server.send(Message::text("x".repeat(bytes))).await.unwrap();
            match rig.report().await {
                In::LinkFrame { .. } => assert!(passes, "{bytes}"),
                In::LinkDown { why, .. } => {
                    assert_eq!((passes, why), (false, LinkFault::FrameTooLarge), "{bytes}");
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[tokio::test]
    async fn a_binary_message_ends_the_link() {
        let mut rig = Rig::new().await;
        let mut server = rig.up(1).await;
        server.send(Message::binary(vec![1])).await.unwrap();
        rig.expect_down(1, None, LinkFault::Protocol).await;
    }

    #[tokio::test]
    async fn a_new_dial_takes_the_place_of_the_old_link_without_a_word_about_it() {
        let mut rig = Rig::new().await;
        let mut first = rig.up(1).await;
        let mut second = rig.up(2).await;
        assert!(!matches!(first.next().await, Some(Ok(Message::Text(_)))));
        // What is meant for the old link goes nowhere.
        for (link, text) in [(1, "old"), (2, "new")] {
            let send = LinkCommand::Send { link: LinkId(link), text: text.into() };
            rig.commands.send(send).unwrap();
        }
        assert_eq!(second.next().await.unwrap().unwrap(), Message::text("new"));
    }

    #[tokio::test]
    async fn a_close_is_polite_and_ends_a_dial_as_well() {
        let mut rig = Rig::new().await;
        let mut server = rig.up(1).await;
        rig.commands.send(LinkCommand::Close { link: LinkId(1) }).unwrap();
        assert!(matches!(server.next().await, Some(Ok(Message::Close(_)))));
        rig.expect_down(1, None, LinkFault::Closed).await;

        rig.dial(2);
        let (_mute, _) = rig.listener.accept().await.unwrap();
        rig.commands.send(LinkCommand::Close { link: LinkId(2) }).unwrap();
        rig.expect_down(2, None, LinkFault::Closed).await;
    }

    #[tokio::test]
    async fn a_relay_that_falls_silent_is_given_up() {
        let mut rig = Rig::new().await;
        let _server = rig.up(1).await;
        tokio::time::pause();
        rig.expect_down(1, None, LinkFault::Silent).await;
    }

    /// Has the link write until the socket takes nothing more, to a relay that reads nothing.
    async fn clog(rig: &mut Rig) -> WebSocketStream<TcpStream> {
        let server = rig.up(1).await;
        for _ in 0..64 {
            let send = LinkCommand::Send { link: LinkId(1), text: "x".repeat(1 << 20) };
            rig.commands.send(send).unwrap();
        }
        server
    }

    #[tokio::test]
    async fn a_relay_that_reads_nothing_holds_neither_its_link_nor_the_next() {
        let mut rig = Rig::new().await;
        let mut clogged = clog(&mut rig).await;
        // It still speaks, and is heard.
        clogged.send(Message::text("still here")).await.unwrap();
        assert!(matches!(rig.report().await, In::LinkFrame { .. }));
        rig.commands.send(LinkCommand::Close { link: LinkId(1) }).unwrap();
        tokio::time::pause();
        rig.expect_down(1, None, LinkFault::Closed).await;
        tokio::time::resume();
        drop(clogged);

        let clogged = clog(&mut rig).await;
        let _next = rig.up(2).await;
        drop(clogged);
    }

    #[tokio::test]
    async fn a_relay_that_reads_nothing_is_given_up_in_the_end() {
        let mut rig = Rig::new().await;
        let mut clogged = clog(&mut rig).await;
        tokio::time::pause();
        tokio::spawn(async move {
            // Its pings say that it is there.
            let mut ping = tokio::time::interval(SILENCE / 3);
            while clogged.send(Message::Ping(Vec::new().into())).await.is_ok() {
                ping.tick().await;
            }
        });
        rig.expect_down(1, None, LinkFault::Silent).await;
    }

    #[tokio::test]
    async fn what_a_relay_that_reads_nothing_says_is_not_taken_without_end() {
        let backlog = Backlog::default();
        backlog.add(BACKLOG - TEXT_COST);
        assert!(backlog.room().now_or_never().is_some());
        backlog.add(1);
        backlog.add(1);
        let mut room = pin!(backlog.room());
        assert!(room.as_mut().now_or_never().is_none());
        backlog.left(1);
        assert!(room.as_mut().now_or_never().is_none());
        backlog.left(1);
        room.await;
    }

    #[tokio::test]
    async fn what_was_said_before_a_close_is_written_before_it() {
        let mut rig = Rig::new().await;
        let mut server = rig.up(1).await;
        for n in 0..50 {
            rig.commands.send(LinkCommand::Send { link: LinkId(1), text: n.to_string() }).unwrap();
        }
        rig.commands.send(LinkCommand::Close { link: LinkId(1) }).unwrap();
        for n in 0..50 {
            assert_eq!(server.next().await.unwrap().unwrap(), Message::text(n.to_string()));
        }
        assert!(matches!(server.next().await, Some(Ok(Message::Close(_)))));
    }

    #[tokio::test]
    async fn a_relay_that_never_upgrades_is_given_up() {
        let mut rig = Rig::new().await;
        rig.dial(1);
        let (_mute, _) = rig.listener.accept().await.unwrap();
        tokio::time::pause();
        rig.expect_down(1, None, LinkFault::TimedOut).await;
    }

    #[tokio::test]
    async fn the_task_ends_with_its_commands() {
        let Rig { commands, task, .. } = Rig::new().await;
        drop(commands);
        assert!(task.await.unwrap().is_err());
    }
}
