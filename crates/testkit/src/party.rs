//! Machines of a team that speak to a relay by themselves, over real sockets and without a daemon.
//! Spec: §7 "Connecting", W5.3

use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::{SinkExt as _, StreamExt as _};
use messaging_core::envelope::{End, SealedType};
use messaging_core::ids::{Hash, Label, PersonId, Req, RosterPerson, TeamName, Ulid};
use messaging_core::keys::Identity;
use messaging_core::limits::ROSTER_FRAME_BYTES;
use messaging_core::random::{self, Random};
use messaging_core::realm::Anchor;
use messaging_core::roster::{self, Member, Op, Role, Roster};
use messaging_core::seal::{SealRequest, seal};
use messaging_core::testing::SeededRandom;
use messaging_core::time::Ms;
use messaging_wire::{Challenge, ClientFrame, Hello, RelayFrame, RosterAppend, text};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

/// A connection to a relay.
pub type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Why a party broke up.
pub type Problem = Box<dyn std::error::Error + Send + Sync>;

/// A member of a team, with its keys.
#[derive(Debug)]
pub struct Machine {
    /// The keys.
    pub identity: Identity,
    /// What the roster says of it.
    pub member: Member,
}

impl Machine {
    /// The machine of the person `p<n>`; the first one is an admin.
    ///
    /// Errors: none for a number of less than 31 digits.
    pub fn new(n: usize, rng: &mut SeededRandom) -> Result<Self, Problem> {
        let identity = Identity::generate(rng);
        let member = Member {
            machine: *identity.machine(),
            enc: *identity.enc.public(),
            person: RosterPerson::parse(&format!("p{n}"))?,
            role: if n == 0 { Role::Admin } else { Role::Member },
            label: Label::parse("m")?,
        };
        Ok(Self { identity, member })
    }
}

/// Founds a team and adds everybody; the first machine is the admin.
///
/// Errors: the relay refuses, or the connection breaks.
pub async fn found(url: &str, machines: &[Machine]) -> Result<Roster, Problem> {
    let admin = machines.first().ok_or("no machine")?;
    let mut roster = Roster::new();
    let (mut socket, challenge) = dial(url).await?;
    let genesis = roster::sign_genesis(
        &TeamName::parse("Bench")?,
        &admin.member,
        now()?,
        &admin.identity.signing,
    )?;
    append(&mut socket, &mut roster, genesis).await?;
    let team = *roster.team_id().ok_or("no team")?;
    hello(&mut socket, &challenge, &team, admin).await?;
    for machine in machines.iter().skip(1) {
        let op = Op::MemberAdd { member: machine.member.clone() };
        append_op(&mut socket, &mut roster, admin, &op).await?;
    }
    Ok(roster)
}

/// Appends what an admin wants, signed for the roster's head, and applies it.
///
/// Errors: the relay refuses, or the connection breaks.
pub async fn append_op(
    socket: &mut Socket,
    roster: &mut Roster,
    admin: &Machine,
    op: &Op,
) -> Result<(), Problem> {
    let entry = roster.sign_next(op, now()?, &admin.identity.signing)?;
    append(socket, roster, entry).await
}

async fn append(socket: &mut Socket, roster: &mut Roster, entry: Value) -> Result<(), Problem> {
    roster.apply(&entry, None)?;
    let frame = ClientFrame::RosterAppend(RosterAppend { req: Req::parse("append")?, entry });
    socket.send(Message::text(frame.print())).await?;
    match next(socket).await? {
        RelayFrame::RosterOk(_) => Ok(()),
        other => Err(format!("an entry was answered with {}", other.t()).into()),
    }
}

async fn dial(url: &str) -> Result<(Socket, Challenge), Problem> {
    let small = WebSocketConfig::default().read_buffer_size(16 * 1024);
    let (mut socket, _) = connect_async_with_config(url, Some(small), true).await?;
    match next(&mut socket).await? {
        RelayFrame::Challenge(challenge) => Ok((socket, challenge)),
        other => Err(format!("the first frame is {}", other.t()).into()),
    }
}

async fn hello(
    socket: &mut Socket,
    challenge: &Challenge,
    team: &Hash,
    machine: &Machine,
) -> Result<(), Problem> {
    let hello = Hello::sign(challenge, team, now()?, &machine.identity.signing)?;
    socket.send(Message::text(ClientFrame::Hello(hello).print())).await?;
    match next(socket).await? {
        RelayFrame::Welcome(_) => Ok(()),
        other => Err(format!("a hello was answered with {}", other.t()).into()),
    }
}

/// Connects as a member.
///
/// Errors: the relay refuses, or the connection breaks.
pub async fn login(url: &str, team: &Hash, machine: &Machine) -> Result<Socket, Problem> {
    let (mut socket, challenge) = dial(url).await?;
    hello(&mut socket, &challenge, team, machine).await?;
    Ok(socket)
}

/// The relay's next frame.
///
/// Errors: it hangs up, or sends what is no frame.
pub async fn next(socket: &mut Socket) -> Result<RelayFrame, Problem> {
    loop {
        match socket.next().await.ok_or("the relay hung up")?? {
            Message::Text(text) => {
                return Ok(RelayFrame::parse(text.as_bytes(), ROSTER_FRAME_BYTES)?);
            }
            Message::Close(_) => return Err("the relay closed".into()),
            _ => {}
        }
    }
}

/// Mail from a machine to an agent of a member: its id, and the `send` frame, sealed and signed.
///
/// Errors: the text is longer than a message may be.
pub fn mail(
    roster: &Roster,
    from: &Machine,
    to: (&Member, &str),
    text: &str,
    rng: &mut impl Random,
) -> Result<(Ulid, String), Problem> {
    let head = roster.head().ok_or("no head")?;
    let end = |member: &Member, agent: &str| -> Result<End, Problem> {
        let person = PersonId::from(&member.person);
        Ok(End { person, device: member.machine, agent: Some(agent.parse()?) })
    };
    let ts = now()?;
    let id = random::ulid(ts, rng);
    let payload = json!({"kind": "message", "message": {
        "messageId": id, "contextId": id, "role": "ROLE_USER", "parts": [{"text": text}],
    }});
    let sealed = seal(
        &SealRequest {
            id,
            kind: SealedType::Message,
            realm: *roster.team_id().ok_or("no team")?,
            from: &end(&from.member, "writer")?,
            to: &end(to.0, to.1)?,
            ts,
            exp: ts.plus(3_600_000),
            anchor: Anchor::Roster { seq: head.seq, hash: head.hash },
            reply_to: None,
            payload: &payload,
            recipient: to.0.enc,
            identity: &from.identity.signing,
        },
        random::bytes(rng),
        random::bytes(rng),
    )?;
    Ok((id, text::send(sealed.text.as_str())))
}

/// The time.
///
/// Errors: a clock before 1970.
pub fn now() -> Result<Ms, Problem> {
    Ok(Ms(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis().try_into()?))
}
