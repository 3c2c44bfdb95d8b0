//! Other people's words as a model may see them: fenced, or raw where their grammar makes them harmless.
//! Spec: §11 "Model-visible text", "Authors", D7.2 "Never fenced"

use messaging_core::ids::{PersonId, SessionAddress};
use messaging_core::peer_text::{FenceKind, PeerText, fence, neutral};
use messaging_core::random::Random;
use messaging_ipc::shapes::{ConsentClass, DelegationSummary, PeerRef};
use serde_json::{Map, Value, json};

use crate::Tools;
use crate::link::{AgentLink, Session};

/// Whose words a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    /// The other side's: fenced.
    Peer,
    /// This session's, its person's or its daemon's: cleaned.
    Ours,
}

impl Author {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Peer => "peer",
            Self::Ours => "ours",
        }
    }
}

/// Who a fence says wrote what is in it.
pub(crate) fn from_of(peer: &PeerRef) -> &str {
    peer.address.as_ref().map_or(peer.person.as_str(), SessionAddress::as_str)
}

/// How a request from this peer runs here, for what the daemon recorded no decision on.
pub(crate) fn consent_of(
    session: &Session,
    person: &PersonId,
    recorded: Option<ConsentClass>,
) -> Value {
    let own = session.person().as_ref() == Some(person);
    let class = recorded.unwrap_or(if own { ConsentClass::Own } else { ConsentClass::Trusted });
    json!(class)
}

/// Adds a member when there is one.
pub(crate) fn put(to: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        to.insert(name.to_owned(), value.into());
    }
}

impl<L: AgentLink, R: Random + Send> Tools<L, R> {
    /// A text by its author: fenced, or cleaned when it is ours.
    pub(crate) fn text(&self, text: &str, author: Author, from: &str, kind: FenceKind) -> String {
        match author {
            Author::Peer => self.fenced(text, from, kind),
            Author::Ours => neutral(text),
        }
    }

    pub(crate) fn fenced(&self, text: &str, from: &str, kind: FenceKind) -> String {
        fence(text, from, kind, &mut *self.rng())
    }

    /// An A2A id of a peer: raw in the safe alphabet, else fenced.
    pub(crate) fn a2a_id(&self, id: &PeerText, from: &str) -> String {
        self.a2a_id_text(id.as_untrusted(), from)
    }

    /// As [`a2a_id`](Self::a2a_id).
    pub(crate) fn a2a_id_text(&self, text: &str, from: &str) -> String {
        let safe = (1..=128).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._:~-".contains(&b));
        if safe { text.to_owned() } else { self.fenced(text, from, FenceKind::Name) }
    }

    /// `{address?, person, label, agent?}` of the other end.
    pub(crate) fn peer(&self, peer: &PeerRef) -> Value {
        let mut shown = Map::new();
        put(&mut shown, "address", peer.address.as_ref().map(SessionAddress::as_str));
        shown.insert("person".into(), peer.person.as_str().into());
        shown.insert("label".into(), peer.label.as_str().into());
        let agent = peer.agent.as_ref();
        put(
            &mut shown,
            "agent",
            agent.map(|name| self.fenced(name.as_str(), from_of(peer), FenceKind::Name)),
        );
        Value::Object(shown)
    }

    /// Who asked whom, when there is more to it than one asker.
    pub(crate) fn chain(&self, chain: Option<&DelegationSummary>, from: &str) -> Option<String> {
        let chain = chain.filter(|chain| chain.depth > 1 || chain.scope.is_some())?;
        let addresses: Vec<&str> = chain.addresses.iter().map(SessionAddress::as_str).collect();
        let mut text = addresses.join(", ");
        if let Some(scope) = &chain.scope {
            let labels: Vec<&str> = scope.iter().map(|label| label.as_str()).collect();
            text.push_str(&format!("; scope: {}", labels.join(", ")));
        }
        Some(self.fenced(&text, from, FenceKind::Chain))
    }
}
