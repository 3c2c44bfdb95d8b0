//! Machines of a team, and what each does before it sends: found, join, connect.

use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::{SinkExt as _, StreamExt as _};
use messaging_core::envelope::End;
use messaging_core::ids::{Hash, Label, PersonId, Req, RosterPerson, TeamName};
use messaging_core::keys::Identity;
use messaging_core::limits::ROSTER_FRAME_BYTES;
use messaging_core::roster::{self, Member, Op, Role, Roster};
use messaging_core::testing::SeededRandom;
use messaging_core::time::Ms;
use messaging_wire::{Challenge, ClientFrame, Hello, RelayFrame, RosterAppend};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

pub(crate) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;
pub(crate) type Problem = Box<dyn std::error::Error + Send + Sync>;

/// A member of the bench's team.
pub(crate) struct Machine {
    pub(crate) identity: Identity,
    pub(crate) member: Member,
}

impl Machine {
    pub(crate) fn new(n: usize, rng: &mut SeededRandom) -> Result<Self, Problem> {
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

    pub(crate) fn end(&self, agent: &str) -> Result<End, Problem> {
        let person = PersonId::from(&self.member.person);
        Ok(End { person, device: self.member.machine, agent: Some(agent.parse()?) })
    }
}

/// Founds the team and adds everybody.
pub(crate) async fn found(url: &str, machines: &[Machine]) -> Result<Roster, Problem> {
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
        let entry = roster.sign_next(&op, now()?, &admin.identity.signing)?;
        append(&mut socket, &mut roster, entry).await?;
    }
    Ok(roster)
}

async fn append(
    socket: &mut Socket,
    roster: &mut Roster,
    entry: serde_json::Value,
) -> Result<(), Problem> {
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

pub(crate) async fn login(url: &str, team: &Hash, machine: &Machine) -> Result<Socket, Problem> {
    let (mut socket, challenge) = dial(url).await?;
    hello(&mut socket, &challenge, team, machine).await?;
    Ok(socket)
}

pub(crate) async fn next(socket: &mut Socket) -> Result<RelayFrame, Problem> {
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

pub(crate) fn now() -> Result<Ms, Problem> {
    Ok(Ms(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis().try_into()?))
}
