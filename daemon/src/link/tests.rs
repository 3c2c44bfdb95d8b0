//! The link against a relay's side that does what a test likes.

use super::dial::SUB_PROTOCOL;
use super::*;
use crate::owner::Arrival;
use futures_util::FutureExt as _;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::handshake::server::{Request as Upgrade, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

pub(super) const MAX_FRAME: usize = 1_000;

/// A relay's side of one connection, and the link's two ends.
pub(super) struct Rig {
    listener: TcpListener,
    pub(super) commands: mpsc::UnboundedSender<LinkCommand>,
    reports: mpsc::Receiver<Arrival>,
    task: JoinHandle<Result<(), Gone>>,
}

impl Rig {
    async fn new() -> Rig {
        Rig::with(Ways { proxies: Proxies::default(), trust: Trust::default() }).await
    }

    pub(super) async fn with(ways: Ways) -> Rig {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (inbox, reports) = Inbox::new();
        let (commands, receiver) = mpsc::unbounded_channel();
        let task = tokio::spawn(serve(receiver, inbox, ways));
        Rig { listener, commands, reports, task }
    }

    fn url(&self) -> String {
        format!("ws://{}/v1/connect", self.listener.local_addr().unwrap())
    }

    fn dial(&self, link: u64) {
        let dial = LinkCommand::Dial { link: LinkId(link), url: self.url(), max_frame: MAX_FRAME };
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

    pub(super) async fn report(&mut self) -> In {
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

    pub(super) async fn expect_down(&mut self, link: u64, close: Option<u16>, why: LinkFault) {
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
    rig.commands.send(LinkCommand::Dial { link: LinkId(1), url, max_frame: MAX_FRAME }).unwrap();
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
    let ways = Ways { proxies: Proxies::default(), trust: Trust::default() };
    assert_eq!(
        dial("ws://192.0.2.1:1/v1/connect", 10, &ways).await.err(),
        Some(LinkFault::NotLoopback)
    );
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
async fn a_quiet_relay_that_answers_pings_keeps_its_link_and_a_dead_one_is_found_within_a_minute() {
    let mut rig = Rig::new().await;
    let mut server = rig.up(1).await;
    tokio::time::pause();
    let began = Instant::now();
    let (last_words, mut told) = tokio::sync::oneshot::channel::<()>();
    let alive = tokio::spawn(async move {
        // Whoever reads answers pings; then it reads no more.
        loop {
            tokio::select! {
                _ = &mut told => return server,
                message = server.next() => assert!(matches!(message, Some(Ok(Message::Ping(_))))),
            }
        }
    });
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    last_words.send(()).unwrap();
    let _held = alive.await.unwrap();
    rig.expect_down(1, None, LinkFault::Silent).await;
    let lasted = began.elapsed() - Duration::from_secs(3_600);
    assert!(lasted <= Duration::from_secs(60), "{lasted:?}");
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
