//! `messaging_contacts`: who can be written to, and how.
//! Spec: §11 "contacts", D7.3

use std::collections::BTreeMap;

use messaging_core::b64;
use messaging_core::code::Code;
use messaging_core::ids::PersonId;
use messaging_core::peer_text::{FenceKind, PeerText};
use messaging_core::random::Random;
use messaging_ipc::call::{ContactsList, DaemonStatus};
use messaging_ipc::params::Nothing;
use messaging_ipc::results::session::Contacts as Listed;
use messaging_ipc::scalars::Room as Chat;
use messaging_ipc::shapes::{
    Ask, ConversationView, DirectoryEntry, Reach, ReachSource, RealmKind, RelayState,
};
use serde_json::{Map, Value, json};

use crate::Tools;
use crate::arguments::Contacts;
use crate::fault::ToolError;
use crate::link::{AgentLink, Session};
use crate::room::Room;
use crate::shown::put;

/// One person with their agents.
#[derive(Default)]
struct Found<'a> {
    agents: Vec<&'a DirectoryEntry>,
    reach: Option<&'a Reach>,
}

/// A place in the list: own person first, then by person, then by address; a person's own row has none.
type Row = (bool, String, String);

fn cursor(row: &Row) -> String {
    b64::encode(format!("{}\n{}\n{}", u8::from(row.0), row.1, row.2).as_bytes())
}

fn place(cursor: &str) -> Result<Row, ToolError> {
    let wrong = || ToolError::field("cursor", "is not one that this tool gave");
    let text = b64::decode(cursor).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let text = text.ok_or_else(wrong)?;
    let mut rows = text.split('\n').map(str::to_owned);
    match (rows.next().as_deref(), rows.next(), rows.next(), rows.next()) {
        (Some(other @ ("0" | "1")), Some(person), Some(address), None) => {
            Ok((other == "1", person, address))
        }
        _ => Err(wrong()),
    }
}

impl<L: AgentLink, R: Random + Send> Tools<L, R> {
    pub(crate) async fn contacts(
        &self,
        session: &Session,
        asked: Contacts,
    ) -> Result<Value, ToolError> {
        let after = asked.cursor.as_ref().map(|cursor| place(cursor)).transpose()?;
        let listed = self.ask::<ContactsList>(&Nothing {}).await?;
        let status = self.ask::<DaemonStatus>(&Nothing {}).await?;
        let no_identity = || ToolError::new(Code::NoIdentity, "this device has no identity yet");
        let address = session.address.as_ref().ok_or_else(no_identity)?;
        let own = session.person().ok_or_else(no_identity)?;
        let org = if status.realm.kind == RealmKind::Roster { "same" } else { "none" };
        let relay =
            if status.relay.state == RelayState::Connected { "connected" } else { "offline" };

        let mut room = Room::new(self.budget());
        let channels = self.channel_list(&listed.conversations, &mut room);
        let persons = by_person(&listed, &own);
        let mut shown: Vec<(&PersonId, Value, Vec<Value>)> = Vec::new();
        let mut last = after.clone();
        let mut more = false;
        for (row, person, found, entry) in rows(&persons, &own, &asked) {
            if after.as_ref().is_some_and(|after| row <= *after) {
                continue;
            }
            if shown.last().is_none_or(|(before, ..)| *before != person) {
                let head = self.person(person, found, org, &own);
                if shown.len() >= asked.limit.as_usize() || !room.take(&head) {
                    more = true;
                    break;
                }
                shown.push((person, head, Vec::new()));
            }
            if let Some(entry) = entry {
                let agent = self.agent(entry, found);
                if !room.take(&agent) {
                    more = true;
                    break;
                }
                if let Some((.., agents)) = shown.last_mut() {
                    agents.push(agent);
                }
            }
            last = Some(row);
        }
        let persons: Vec<Value> =
            shown.into_iter().map(|(_, head, agents)| with_agents(head, agents)).collect();
        let mut answer = Map::new();
        answer.insert(
            "me".into(),
            json!({
                "address": address.as_str(), "person": address.person(),
                "agent": address.session(), "label": address.label(), "relay": relay,
            }),
        );
        answer.insert("persons".into(), persons.into());
        answer.insert("channels".into(), channels.into());
        answer.insert("more".into(), more.into());
        put(&mut answer, "cursor", last.filter(|_| more).map(|row| cursor(&row)));
        Ok(Value::Object(answer))
    }

    fn person(&self, person: &PersonId, found: &Found<'_>, org: &str, own: &PersonId) -> Value {
        let mut shown = Map::new();
        shown.insert("person".into(), person.as_str().into());
        let name = found.agents.iter().find_map(|entry| entry.name.as_ref());
        put(
            &mut shown,
            "name",
            name.map(|name| self.short(name, person.as_str(), FenceKind::Name)),
        );
        shown.insert("org".into(), org.into());
        let online = found.agents.iter().any(|entry| entry.online);
        shown.insert("presence".into(), presence(online).into());
        let can = self.can(found.reach, person == own);
        shown.insert("can".into(), can);
        put(
            &mut shown,
            "devicesChangedAt",
            found.reach.and_then(|reach| reach.devices_changed_at).map(|at| at.0),
        );
        Value::Object(shown)
    }

    fn can(&self, reach: Option<&Reach>, own: bool) -> Value {
        let mut can = Map::new();
        let chats = self.options().persons && !own;
        can.insert("chat".into(), (chats && reach.is_none_or(|reach| reach.can.chat)).into());
        can.insert("agentMail".into(), reach.is_none_or(|reach| reach.can.agent_mail).into());
        can.insert("ask".into(), json!(ask_of(reach)));
        put(
            &mut can,
            "trustedUntil",
            reach.and_then(|reach| reach.can.trusted_until).map(|at| at.0),
        );
        let signed = reach.is_some_and(|reach| reach.source == ReachSource::Card);
        can.insert("source".into(), if signed { "card" } else { "default" }.into());
        put(&mut can, "card", reach.filter(|_| signed).and_then(|reach| reach.at).map(|at| at.0));
        Value::Object(can)
    }

    fn agent(&self, entry: &DirectoryEntry, found: &Found<'_>) -> Value {
        let from = entry.address.as_str();
        let mut shown = Map::new();
        shown.insert("address".into(), from.into());
        let name = self.fenced(entry.agent.as_str(), from, FenceKind::Name);
        shown.insert("agent".into(), name.into());
        shown.insert("label".into(), entry.label.as_str().into());
        shown.insert("client".into(), entry.client.as_str().into());
        let state = if entry.kept.is_some() { json!("kept") } else { json!(entry.state) };
        shown.insert("state".into(), state);
        shown.insert("presence".into(), presence(entry.online).into());
        put(&mut shown, "expect", entry.expect.map(|expect| json!(expect)));
        let mut can = self.can(found.reach, false);
        if let Some(can) = can.as_object_mut() {
            can.insert("chat".into(), false.into());
            for member in ["source", "card"] {
                can.remove(member);
            }
            if !takes_tasks(entry) {
                can.insert("ask".into(), "no".into());
            }
        }
        shown.insert("can".into(), can);
        for (member, text) in
            [("repo", &entry.repo), ("branch", &entry.branch), ("doing", &entry.doing)]
        {
            let text = text.as_ref().filter(|text| !text.is_empty());
            put(&mut shown, member, text.map(|text| self.short(text, from, FenceKind::Presence)));
        }
        Value::Object(shown)
    }

    fn channel_list(&self, conversations: &[ConversationView], room: &mut Room) -> Vec<Value> {
        let mut shown = Vec::new();
        for view in conversations {
            let Chat::Channel(local) = &view.conversation else { continue };
            if !self.options().channels.contains(local) {
                continue;
            }
            let mut channel = Map::new();
            channel.insert("channel".into(), format!("#{local}").into());
            let name = view.name.as_ref().filter(|name| *name != local);
            put(
                &mut channel,
                "name",
                name.map(|name| self.fenced(name.as_str(), "unknown", FenceKind::Name)),
            );
            channel.insert("unread".into(), view.unread.into());
            channel.insert("can".into(), "default".into());
            channel.insert("presence".into(), "unknown".into());
            let channel = Value::Object(channel);
            if room.take(&channel) {
                shown.push(channel);
            }
        }
        shown
    }

    /// A text of a presence, which its daemon bounds, on one line.
    fn short(&self, text: &PeerText, from: &str, kind: FenceKind) -> String {
        self.fenced(messaging_core::json::utf16_cut(text.as_untrusted(), 200), from, kind)
    }
}

fn by_person<'a>(listed: &'a Listed, own: &PersonId) -> BTreeMap<PersonId, Found<'a>> {
    let mut persons: BTreeMap<PersonId, Found<'a>> = BTreeMap::new();
    persons.entry(own.clone()).or_default();
    for entry in &listed.entries {
        persons.entry(entry.person.clone()).or_default().agents.push(entry);
    }
    for reach in &listed.reach {
        persons.entry(reach.person.clone()).or_default().reach = Some(reach);
    }
    for view in &listed.conversations {
        if let Chat::Dm(person) = &view.conversation {
            persons.entry(person.clone()).or_default();
        }
    }
    for found in persons.values_mut() {
        found.agents.sort_by(|a, b| a.address.cmp(&b.address));
    }
    persons
}

/// Every row that the call asks for, in order.
fn rows<'a>(
    persons: &'a BTreeMap<PersonId, Found<'a>>,
    own: &PersonId,
    asked: &Contacts,
) -> Vec<(Row, &'a PersonId, &'a Found<'a>, Option<&'a DirectoryEntry>)> {
    let wanted = asked.query.as_ref().map(|query| query.to_lowercase()).unwrap_or_default();
    let holds = |text: &str| text.to_lowercase().contains(&wanted);
    let mut rows = Vec::new();
    for (person, found) in persons {
        if asked.can.is_some() && ask_of(found.reach) == Ask::No {
            continue;
        }
        let whole = holds(person.as_str())
            || found
                .agents
                .iter()
                .any(|entry| entry.name.as_ref().is_some_and(|name| holds(name.as_untrusted())));
        if whole && asked.can.is_none() {
            rows.push(((person != own, person.to_string(), String::new()), person, found, None));
        }
        for entry in &found.agents {
            let doing = entry.doing.as_ref().is_some_and(|doing| holds(doing.as_untrusted()));
            if (whole || doing || holds(entry.address.as_str()))
                && (asked.can.is_none() || takes_tasks(entry))
            {
                let row = (person != own, person.to_string(), entry.address.to_string());
                rows.push((row, person, found, Some(*entry)));
            }
        }
    }
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    rows
}

fn with_agents(head: Value, agents: Vec<Value>) -> Value {
    let mut head = head;
    if let Some(members) = head.as_object_mut() {
        members.insert("agents".into(), agents.into());
    }
    head
}

const fn presence(online: bool) -> &'static str {
    if online { "online" } else { "offline" }
}

/// What a person's agents do with a request; open when nothing says otherwise.
fn ask_of(reach: Option<&Reach>) -> Ask {
    reach.map_or(Ask::Open, |reach| reach.can.ask)
}

/// A terminal takes no task.
fn takes_tasks(entry: &DirectoryEntry) -> bool {
    entry.client.as_str() != "cli"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_read_back() {
        let row = (true, "bob".to_owned(), "bob/api@laptop".to_owned());
        assert_eq!(place(&cursor(&row)), Ok(row));
        assert!(place("xx").is_err());
        assert!(place(&b64::encode(b"1\na")).is_err());
    }
}
