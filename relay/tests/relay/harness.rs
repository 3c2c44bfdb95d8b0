//! A relay in this process, clients on sockets, and machines that sign.

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::{SinkExt as _, StreamExt as _};
use messaging_core::code::Code;
use messaging_core::envelope::{End, SealedType};
use messaging_core::ids::{Hash, Label, MachineId, Req, RosterPerson, TeamName, Ulid};
use messaging_core::invite;
use messaging_core::keys::Identity;
use messaging_core::random;
use messaging_core::realm::Anchor;
use messaging_core::roster::{self, Live, Member, Op, Role, Roster};
use messaging_core::seal::{SealRequest, seal};
use messaging_core::ticket::InviteTicket;
use messaging_core::time::Ms;
use messaging_relay::{Broken, Config, GenesisPolicy, Relay};
use messaging_runtime::entropy::SystemRandom;
use messaging_runtime::log::{Level, Logger};
use messaging_wire::{Challenge, ClientFrame, CloseCode, Hello, RelayFrame, RosterAppend};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// Long enough for any machine; a test that needs it has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for something that must come.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what).await.expect("what was waited for came")
}

pub(crate) fn now() -> Ms {
    Ms(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis().try_into().unwrap())
}

/// A running relay. Dropping it ends it without ceremony.
pub(crate) struct TestRelay {
    pub(crate) address: SocketAddr,
    pub(crate) id: String,
    pub(crate) db: PathBuf,
    folder: TempDir,
    stop: oneshot::Sender<()>,
    served: JoinHandle<Result<(), Broken>>,
    lines: mpsc::Receiver<String>,
}

impl TestRelay {
    /// A relay where anybody may found a team.
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(adjust: impl FnOnce(&mut Config)) -> Self {
        Self::on(TempDir::new().unwrap(), adjust).await
    }

    async fn on(folder: TempDir, adjust: impl FnOnce(&mut Config)) -> Self {
        let db = folder.path().join("relay.db");
        let mut config = Config::loopback(db.clone());
        config.genesis = GenesisPolicy::Any;
        adjust(&mut config);
        let (sender, lines) = mpsc::channel();
        let log = Logger::to(Level::Debug, Lines(sender));
        let relay = Relay::start(config, log).await.unwrap();
        let (address, id) = (relay.address(), relay.relay_id().to_owned());
        let (stop, stopped) = oneshot::channel::<()>();
        let served = tokio::spawn(relay.serve(async move {
            let _ = stopped.await;
        }));
        Self { address, id, db, folder, stop, served, lines }
    }

    /// Asks the relay to stop.
    pub(crate) fn ask_to_stop(self) -> Stopping {
        self.stop.send(()).unwrap();
        Stopping { folder: self.folder, served: self.served, lines: self.lines }
    }

    /// The same store, served again. Its clients must be gone: a stop waits for them.
    pub(crate) async fn restart(self) -> Self {
        let (folder, _) = self.ask_to_stop().ended().await;
        Self::on(folder, |_| {}).await
    }

    /// The next line of the log with this event.
    pub(crate) fn event(&self, event: &str) -> Value {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).expect("the event is logged");
            let line: Value = serde_json::from_str(&line).unwrap();
            if line["event"] == event {
                return line;
            }
        }
    }
}

/// A relay that was asked to stop.
pub(crate) struct Stopping {
    folder: TempDir,
    served: JoinHandle<Result<(), Broken>>,
    lines: mpsc::Receiver<String>,
}

impl Stopping {
    /// Its folder and its log, once it has stopped.
    pub(crate) async fn ended(self) -> (TempDir, Vec<Value>) {
        soon(self.served).await.unwrap().unwrap();
        let lines = self.lines.try_iter().map(|line| serde_json::from_str(&line).unwrap());
        (self.folder, lines.collect())
    }
}

/// Hands every log line on.
struct Lines(mpsc::Sender<String>);

impl std::io::Write for Lines {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let _ = self.0.send(String::from_utf8(line.to_vec()).unwrap());
        Ok(line.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// One request over a fresh socket: status, head and body.
pub(crate) async fn http(address: SocketAddr, request: &str) -> (u16, String, String) {
    let mut socket = TcpStream::connect(address).await.unwrap();
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let mut chunk = [0; 4096];
    // An upgraded socket stays open: the head is enough then.
    while let Ok(n @ 1..) = soon(socket.read(&mut chunk)).await {
        answer.extend_from_slice(&chunk[..n]);
        if answer.starts_with(b"HTTP/1.1 101") {
            break;
        }
    }
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_lowercase(), body.to_owned())
}

/// A plain `GET`, connection closed after it.
pub(crate) async fn get(address: SocketAddr, path: &str) -> (u16, String, String) {
    http(address, &format!("GET {path} HTTP/1.1\r\nhost: relay\r\nconnection: close\r\n\r\n")).await
}

/// A client on a WebSocket.
pub(crate) struct Client {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Client {
    /// Dials; the status when the relay refuses the upgrade.
    pub(crate) async fn try_dial(address: SocketAddr) -> Result<Self, u16> {
        match soon(connect_async(format!("ws://{address}/v1/connect"))).await {
            Ok((socket, _)) => Ok(Self { socket }),
            Err(Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// Dials and reads the challenge.
    pub(crate) async fn dial(relay: &TestRelay) -> (Self, Challenge) {
        let mut client = Self::try_dial(relay.address).await.unwrap();
        match client.next().await {
            RelayFrame::Challenge(challenge) => (client, challenge),
            other => panic!("{other:?}"),
        }
    }

    /// Connects as a machine of a team and reads the welcome.
    pub(crate) async fn login(relay: &TestRelay, team: &Hash, identity: &Identity) -> Self {
        let (mut client, challenge) = Self::dial(relay).await;
        client.hello(&challenge, team, identity).await;
        match client.next().await {
            RelayFrame::Welcome(_) => client,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn hello(&mut self, challenge: &Challenge, team: &Hash, identity: &Identity) {
        let hello = Hello::sign(challenge, team, now(), &identity.signing).unwrap();
        self.send(&ClientFrame::Hello(hello)).await;
    }

    pub(crate) async fn send(&mut self, frame: &ClientFrame) {
        self.send_text(frame.print()).await;
    }

    pub(crate) async fn send_text(&mut self, text: impl Into<String>) {
        self.message(Message::text(text.into())).await;
    }

    pub(crate) async fn message(&mut self, message: Message) {
        soon(self.socket.send(message)).await.unwrap();
    }

    /// Sends what may find the socket closed already.
    pub(crate) async fn try_message(&mut self, message: Message) {
        let _ = soon(self.socket.send(message)).await;
    }

    /// Sends a text unless the socket is closed.
    pub(crate) async fn try_send_text(&mut self, text: &str) -> Result<(), Error> {
        self.socket.send(Message::text(text)).await
    }

    /// The next message of any kind; `None` when the socket ended.
    pub(crate) async fn next_message(&mut self) -> Option<Message> {
        soon(self.socket.next()).await.and_then(Result::ok)
    }

    /// The next frame.
    pub(crate) async fn next(&mut self) -> RelayFrame {
        loop {
            match self.next_message().await {
                Some(Message::Text(text)) => {
                    return RelayFrame::parse(text.as_bytes(), 8 << 20).unwrap();
                }
                Some(Message::Ping(_) | Message::Pong(_)) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// The next frame, and after it the close: the code of both.
    pub(crate) async fn refused(&mut self) -> (Code, Option<u16>) {
        let code = match self.next().await {
            RelayFrame::Error(error) => error.code,
            other => panic!("{other:?}"),
        };
        (code, self.close_code().await)
    }

    /// The close code, frames before it skipped; `None` when the socket ended without one.
    pub(crate) async fn close_code(&mut self) -> Option<u16> {
        loop {
            match self.next_message().await {
                Some(Message::Close(frame)) => return frame.map(|frame| frame.code.into()),
                Some(_) => {}
                None => return None,
            }
        }
    }

    /// Sends an entry and reads the answer.
    pub(crate) async fn append(&mut self, entry: &Value) -> RelayFrame {
        let req = Req::parse("append").unwrap();
        self.send(&ClientFrame::RosterAppend(RosterAppend { req, entry: entry.clone() })).await;
        self.next().await
    }

    /// A ping and its pong: everything sent before has been dealt with.
    pub(crate) async fn settle(&mut self) {
        self.send_text(r#"{"t":"ping","id":"settle"}"#).await;
        loop {
            if let RelayFrame::Pong(_) = self.next().await {
                return;
            }
        }
    }
}

/// A machine of a person.
pub(crate) struct Machine {
    pub(crate) identity: Identity,
    pub(crate) person: RosterPerson,
    pub(crate) label: Label,
}

impl Machine {
    pub(crate) fn new(person: &str, label: &str) -> Self {
        Self {
            identity: Identity::generate(&mut SystemRandom),
            person: RosterPerson::parse(person).unwrap(),
            label: Label::parse(label).unwrap(),
        }
    }

    pub(crate) fn id(&self) -> MachineId {
        *self.identity.machine()
    }

    pub(crate) fn member(&self, role: Role) -> Member {
        Member {
            machine: self.id(),
            enc: *self.identity.enc.public(),
            person: self.person.clone(),
            role,
            label: self.label.clone(),
        }
    }

    fn end(&self, agent: Option<&str>) -> End {
        End {
            person: (&self.person).into(),
            device: self.id(),
            agent: agent.map(|name| name.parse().unwrap()),
        }
    }
}

/// A team as its admin knows it.
pub(crate) struct Team {
    pub(crate) id: Hash,
    pub(crate) roster: Roster,
    pub(crate) admin: Machine,
}

impl Team {
    /// Founds a team at a relay.
    pub(crate) async fn found(relay: &TestRelay) -> Self {
        let admin = Machine::new("alice", "laptop");
        let entry = Self::genesis(&admin);
        let (mut client, _) = Client::dial(relay).await;
        match client.append(&entry).await {
            RelayFrame::RosterOk(ok) => assert_eq!(ok.head.seq, 0),
            other => panic!("{other:?}"),
        }
        let mut roster = Roster::new();
        roster.apply(&entry, None).unwrap();
        Self { id: *roster.team_id().unwrap(), roster, admin }
    }

    pub(crate) fn genesis(admin: &Machine) -> Value {
        let name = TeamName::parse("Team").unwrap();
        roster::sign_genesis(&name, &admin.member(Role::Admin), now(), &admin.identity.signing)
            .unwrap()
    }

    /// The next entry, signed by the admin; it counts once it is applied.
    pub(crate) fn entry(&self, op: &Op) -> Value {
        self.roster.sign_next(op, now(), &self.admin.identity.signing).unwrap()
    }

    pub(crate) fn apply(&mut self, entry: &Value) {
        self.roster.apply(entry, Some(Live::append(now()))).unwrap();
    }

    /// Appends an entry through the admin's link.
    pub(crate) async fn append(&mut self, admin: &mut Client, op: &Op) -> Value {
        let entry = self.entry(op);
        match admin.append(&entry).await {
            RelayFrame::RosterOk(ok) => {
                self.apply(&entry);
                assert_eq!(Some(ok.head), self.roster.head());
            }
            other => panic!("{other:?}"),
        }
        entry
    }

    pub(crate) async fn add(&mut self, admin: &mut Client, machine: &Machine) -> Value {
        self.append(admin, &Op::MemberAdd { member: machine.member(Role::Member) }).await
    }

    /// Opens an invite and returns its ticket.
    pub(crate) async fn invite(
        &mut self,
        relay: &TestRelay,
        admin: &mut Client,
        person: &str,
    ) -> InviteTicket {
        let person = RosterPerson::parse(person).unwrap();
        let new = invite::create(&person, 60_000, now(), &mut SystemRandom).unwrap();
        self.append(admin, &new.op).await;
        let ticket = json!({
            "v": "messaging/1", "relay": format!("{}/v1/connect", relay.id), "team": self.id, "inviteId": new.id,
            "secret": new.secret, "person": person, "expires": new.expires,
        });
        serde_json::from_value(ticket).unwrap()
    }

    /// Mail from one machine to another.
    pub(crate) fn mail(&self, from: &Machine, to: &Machine, text: &str) -> (Ulid, Value) {
        self.mail_as(random::ulid(now(), &mut SystemRandom), from, to, text)
    }

    pub(crate) fn mail_as(
        &self,
        id: Ulid,
        from: &Machine,
        to: &Machine,
        text: &str,
    ) -> (Ulid, Value) {
        let head = self.roster.head().unwrap();
        let payload = json!({"kind": "message", "message": {
            "messageId": id, "contextId": id, "role": "ROLE_USER", "parts": [{"text": text}],
        }});
        let ts = now();
        let sealed = seal(
            &SealRequest {
                id,
                kind: SealedType::Message,
                realm: self.id,
                from: &from.end(Some("writer")),
                to: &to.end(Some("reader")),
                ts,
                exp: ts.plus(3_600_000),
                anchor: Anchor::Roster { seq: head.seq, hash: head.hash },
                reply_to: None,
                payload: &payload,
                recipient: *to.identity.enc.public(),
                identity: &from.identity.signing,
            },
            random::bytes(&mut SystemRandom),
            random::bytes(&mut SystemRandom),
        )
        .unwrap();
        (id, sealed.envelope)
    }
}

/// The admin online, and one more member online.
pub(crate) async fn two_members(relay: &TestRelay) -> (Team, Client, Machine, Client) {
    let mut team = Team::found(relay).await;
    let mut admin = Client::login(relay, &team.id, &team.admin.identity).await;
    let bob = Machine::new("bob", "desk");
    team.add(&mut admin, &bob).await;
    let link = Client::login(relay, &team.id, &bob.identity).await;
    match admin.next().await {
        RelayFrame::Peer(peer) => assert_eq!((peer.machine, peer.online), (bob.id(), true)),
        other => panic!("{other:?}"),
    }
    (team, admin, bob, link)
}

pub(crate) fn code_of(code: CloseCode) -> Option<u16> {
    Some(code.number())
}
