//! The story itself: two persons, a team, a message that waits for its person's word, a receipt, a line, a task.
//! Spec: D6.7

use std::path::Path;
use std::time::Duration;

use messaging_client::{Client, Events};
use messaging_core::b64;
use messaging_core::code::Code;
use messaging_core::ids::{ClientKind, Label, RelayUrl, RosterPerson, SessionName, TeamName};
use messaging_core::jcs;
use messaging_core::random;
use messaging_core::stage::Stage;
use messaging_ipc::call;
use messaging_ipc::event::Event;
use messaging_ipc::params::consent::Answer;
use messaging_ipc::params::inbox::ReadItem;
use messaging_ipc::params::session::Register;
use messaging_ipc::params::{KeyOnly, Nothing, msg, team};
use messaging_ipc::results::inbox::ItemRead;
use messaging_ipc::scalars::{Count, List, Secret, SessionKey, Target};
use messaging_ipc::shapes::{InboxItem, Part, SessionState, SessionTier};
use messaging_runtime::entropy::SystemRandom;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep, timeout_at};

use super::household::Household;
use super::people;
use super::tap::{Seen, Tap};
use super::teller::Teller;
use crate::fault::Fault;
use crate::render;

/// How long one step of the story may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);
pub(super) const POLL: Duration = Duration::from_millis(50);
/// What one agent writes to the other.
const TEXT: &str = "The build is green again. Ship it? The word is heliotrope.";

/// One person's side: their daemon, and their agent's session on it.
pub(super) struct Side {
    client: Client,
    events: Events,
    key: Option<SessionKey>,
}

impl Side {
    pub(super) async fn call<C: call::Call>(&self, params: &C::Params) -> Result<C::Result, Fault> {
        Ok(self.client.call::<C>(params).await?)
    }

    /// Registers the agent and listens to what comes for it.
    async fn agent(&mut self, name: &str) -> Result<String, Fault> {
        let key = SessionKey::parse(&b64::encode(&random::bytes::<32>(&mut SystemRandom)))
            .map_err(|_| broken("a session key"))?;
        let register = Register {
            key: key.clone(),
            agent: ClientKind::parse("demo")?,
            name: Some(SessionName::parse(name)?),
            tier: Some(SessionTier::Push),
            state: Some(SessionState::Idle),
            repo: None,
            branch: None,
            doing: None,
            features: None,
            host: None,
            ticket: None,
        };
        let registered = self.call::<call::SessionRegister>(&register).await?;
        self.call::<call::EventsSubscribe>(&KeyOnly { key: key.clone() }).await?;
        self.key = Some(key);
        registered.address.map(|address| address.to_string()).ok_or_else(|| broken("an address"))
    }

    pub(super) fn key(&self) -> Result<SessionKey, Fault> {
        self.key.clone().ok_or_else(|| broken("a session"))
    }

    /// Waits for an event.
    pub(super) async fn event<T>(
        &mut self,
        what: &'static str,
        want: impl Fn(Event) -> Option<T>,
    ) -> Result<T, Fault> {
        let until = Instant::now() + PATIENCE;
        loop {
            match timeout_at(until, self.events.next()).await {
                Ok(Some(event)) => {
                    if let Some(found) = want(event) {
                        return Ok(found);
                    }
                }
                Ok(None) | Err(_) => return Err(late(what)),
            }
        }
    }
}

/// Tells the story up to the daemons' stop, and returns what was seen as one document.
pub(super) async fn tell(
    household: &mut Household,
    teller: &mut Teller<'_>,
) -> Result<Value, Fault> {
    teller.step("A relay and two daemons start, on loopback, in a folder of their own").await;
    let tap = Tap::listen()
        .await
        .map_err(|_| Fault::local("there is no free port", "try again later."))?;
    let origin = tap.origin();
    let (relay, pid) = household.relay(&origin).await?;
    let seen = tap.pass_on_to(relay);
    teller.fact("folder", household.path().display());
    teller.fact("relay", format!("{origin}, process {pid}"));
    let (client, events, pid) = household.daemon("alice").await?;
    let mut alice = Side { client, events, key: None };
    teller.fact("alice's daemon", format!("process {pid}"));
    let (client, events, pid) = household.daemon("bob").await?;
    let mut bob = Side { client, events, key: None };
    teller.fact("bob's daemon", format!("process {pid}"));

    let team = found_team(&alice, teller, &origin).await?;
    invite(&alice, &bob, teller).await?;

    teller.step("Each has an agent, and the daemons tell each other so").await;
    let from = alice.agent("web").await?;
    let to = bob.agent("api").await?;
    teller.fact("alice's agent", &from);
    teller.fact("bob's agent", &to);
    meet(&alice, &to).await?;

    teller.step("Alice's agent writes to Bob's").await;
    let target = Target::parse("bob/api").map_err(|_| broken("an address"))?;
    let parts = List::new(vec![Part::text(TEXT)])?;
    let sent = alice.call::<call::MsgSend>(&msg::Send::new(alice.key()?, target, parts)).await?;
    let sent =
        sent.results.into_iter().next().ok_or_else(|| broken("what became of the message"))?;
    teller.fact("text", TEXT);
    teller.fact("envelope", sent.envelope_id);

    teller.step("It waits: Bob has said nothing about Alice's agents yet").await;
    let allowed = people::allow(&bob, teller, Answer::Once).await?;
    let item = bob
        .event("the message", |event| match event {
            Event::Inbox { item, .. } => Some(item),
            _ => None,
        })
        .await?;
    let relay_saw = look(household.path(), teller, &seen, &item).await?;

    teller.step("Bob's agent reads it, and Alice's learns that it was read").await;
    let read = bob.call::<call::ItemRead>(&ReadItem { key: bob.key()?, id: item.id }).await?;
    let arrived = match &read {
        ItemRead::Received { message, .. } => message.text(),
        ItemRead::Sent { .. } => String::new(),
    };
    teller.fact("bob reads", &arrived);
    let stages = follow(&mut alice, &sent.envelope_id).await?;
    let names: Vec<&str> = stages.iter().map(|stage| stage.as_str()).collect();
    teller.fact("alice sees", names.join(" → "));
    if arrived != TEXT {
        return Err(broken("the text as it was written"));
    }

    let line = people::line(&alice, &bob, teller).await?;
    let task = people::task(&mut alice, &mut bob, teller).await?;

    teller.step("Everything stops").await;
    stop(&alice).await?;
    stop(&bob).await?;
    Ok(json!({
        "ok": true,
        "team": team,
        "from": from,
        "to": to,
        "envelopeId": sent.envelope_id,
        "text": arrived,
        "stages": names,
        "allowed": allowed,
        "relaySaw": relay_saw,
        "line": line,
        "task": task,
    }))
}

async fn found_team(alice: &Side, teller: &mut Teller<'_>, origin: &str) -> Result<String, Fault> {
    teller.step("Alice founds a team at the relay").await;
    let create = team::Create {
        relay: RelayUrl::parse(&format!("{origin}/v1/connect"))?,
        team: TeamName::parse("garden")?,
        person: RosterPerson::parse("alice")?,
        label: Label::parse("desk")?,
    };
    let created = alice.call::<call::TeamCreate>(&create).await?;
    teller.fact("team", format!("garden, {}", created.team));
    teller.fact("alice", format!("{}@{}, admin", created.person, created.label));
    Ok(created.team.to_string())
}

async fn invite(alice: &Side, bob: &Side, teller: &mut Teller<'_>) -> Result<(), Fault> {
    teller.step("Alice invites Bob, who joins with the ticket").await;
    let invite = team::Invite { person: RosterPerson::parse("bob")?, ttl_ms: Count::default() };
    let invited = alice.call::<call::TeamInvite>(&invite).await?;
    let ticket = invited.ticket.expose();
    let shown: String = ticket.chars().take(24).collect();
    teller.fact("ticket", format!("{shown}… ({} characters, used once)", ticket.len()));
    let ticket = Secret::parse(ticket).map_err(|_| broken("a ticket"))?;
    let joined =
        bob.call::<call::TeamJoin>(&team::Join { ticket, label: Label::parse("laptop")? }).await?;
    teller.fact("bob", format!("{}@{}, member", joined.person, joined.label));
    Ok(())
}

/// Waits until Alice's daemon has heard of Bob's agent.
async fn meet(alice: &Side, address: &str) -> Result<(), Fault> {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        let contacts = alice.call::<call::ContactsList>(&Nothing {}).await?;
        if contacts.entries.iter().any(|entry| entry.address.as_str() == address && entry.online) {
            return Ok(());
        }
        sleep(POLL).await;
    }
    Err(late("the other agent"))
}

/// Shows what the relay had in its hands, and looks for the text where it must not be.
async fn look(
    folder: &Path,
    teller: &mut Teller<'_>,
    seen: &Seen,
    item: &InboxItem,
) -> Result<Value, Fault> {
    teller.step("This is what the relay saw of it").await;
    let envelope = seen.envelope(&item.id).ok_or_else(|| late("the envelope on the wire"))?;
    let mut header: Map<String, Value> = envelope.clone();
    let body = header.remove("body").unwrap_or_default();
    let body = body.as_str().unwrap_or_default();
    for (name, value) in &header {
        teller.fact(name, shortened(&render::json(value, false)));
    }
    let start: String = body.chars().take(40).collect();
    teller.fact("body", format!("{start}… ({} characters of ciphertext)", body.len()));
    let on_wire = seen.contains(TEXT) || seen.contains("heliotrope");
    let in_store = files_contain(folder, "relay.db", b"heliotrope");
    teller.fact(
        "the text",
        match (on_wire, in_store) {
            (false, false) => {
                format!(
                    "is in none of the {} frames, and nowhere in the relay's files",
                    seen.count()
                )
            }
            _ => "WAS SEEN BY THE RELAY".to_owned(),
        },
    );
    if on_wire || in_store {
        return Err(Fault::new(Code::BadSignature, "the relay saw the text of a sealed message"));
    }
    let header = jcs::to_value(&header)?;
    Ok(
        json!({"header": header, "bodyChars": body.len(), "frames": seen.count(), "plaintext": false}),
    )
}

/// Whether a file of the folder whose name begins so holds these bytes.
fn files_contain(folder: &Path, name: &str, bytes: &[u8]) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(name))
        .filter_map(|entry| std::fs::read(entry.path()).ok())
        .any(|found| found.windows(bytes.len()).any(|window| window == bytes))
}

fn shortened(text: &str) -> String {
    messaging_core::peer_text::one_line(text, 100)
}

/// Follows the message until it was read; returns every stage in order.
async fn follow(alice: &mut Side, id: &messaging_core::ids::Ulid) -> Result<Vec<Stage>, Fault> {
    let mut stages = vec![Stage::Accepted];
    while stages.last() != Some(&Stage::Read) {
        let stage = alice
            .event("the read receipt", |event| match event {
                Event::Delivery { envelope_id, stage, .. } if envelope_id == *id => Some(stage),
                _ => None,
            })
            .await?;
        if stage.is_final() {
            return Err(broken("a delivery"));
        }
        stages.push(stage);
    }
    Ok(stages)
}

async fn stop(side: &Side) -> Result<(), Fault> {
    side.call::<call::DaemonStop>(&Nothing {}).await.map(|_| ())
}

pub(super) fn late(what: &str) -> Fault {
    Fault::new(Code::DaemonUnavailable, format!("{what} did not come in time"))
        .next("run it again with --keep, and look at the logs in the folder.")
}

pub(super) fn broken(what: &str) -> Fault {
    Fault::new(Code::Internal, format!("the demonstration did not get {what}"))
        .next("run it again with --keep, and look at the logs in the folder.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_relays_files_are_searched_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("relay.db-wal"), b"xx secret yy").unwrap();
        std::fs::write(folder.path().join("other"), b"hidden").unwrap();
        assert!(files_contain(folder.path(), "relay.db", b"secret"));
        assert!(!files_contain(folder.path(), "relay.db", b"hidden"));
    }
}
