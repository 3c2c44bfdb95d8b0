//! How two persons stand, and what one accepts from the other.
//! Spec: §6.9 "Relations", "Effective policy", W4.12, W4.13

use serde::Serialize;

use super::{AgentMailLevel, AskLevel, ChatLevel, ConsentGrant};
use crate::ids::PersonId;
use crate::realm::RealmKind;
use crate::time::Ms;

/// How a sender stands to the receiver's person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Relation {
    /// The person themselves: their devices and agents.
    #[serde(rename = "self")]
    Own,
    /// Of one team, or one organisation.
    Org,
    /// Of another organisation, and granted something.
    Contact,
    /// Anyone else.
    Stranger,
}

/// How `sender` stands to `own`.
///
/// `same_org` is what the directory verified of both; `granted` whether a grant that counts says anything about the
/// sender. Neither matters in a roster realm, where everybody is of the team.
#[must_use]
pub fn relation(
    own: &PersonId,
    sender: &PersonId,
    kind: RealmKind,
    same_org: bool,
    granted: bool,
) -> Relation {
    match kind {
        _ if own == sender => Relation::Own,
        RealmKind::Roster => Relation::Org,
        RealmKind::Directory if same_org => Relation::Org,
        RealmKind::Directory if granted => Relation::Contact,
        RealmKind::Directory => Relation::Stranger,
    }
}

/// What a person accepts from a sender at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectivePolicy {
    /// Lines of the sender.
    pub chat: EffectiveChat,
    /// Lines of the sender's agents.
    pub agent_mail: AgentMailLevel,
    /// Mail and tasks to the person's agents.
    pub ask: AskLevel,
    /// Whether asks run unattended.
    pub trusted: bool,
    /// Whether no grant says anything about the sender's agents' lines.
    pub agent_mail_by_default: bool,
    /// Whether no grant says anything about asks.
    pub ask_by_default: bool,
}

/// How lines are taken, when a stranger has to ask first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectiveChat {
    /// Shown.
    Open,
    /// Filed without a sound.
    Muted,
    /// Refused, with everything else.
    Blocked,
    /// Refused until a message request was accepted.
    RequestRequired,
}

impl From<ChatLevel> for EffectiveChat {
    fn from(level: ChatLevel) -> Self {
        match level {
            ChatLevel::Open => Self::Open,
            ChatLevel::Muted => Self::Muted,
            ChatLevel::Blocked => Self::Blocked,
        }
    }
}

impl EffectivePolicy {
    /// The policy for a sender of this relation.
    ///
    /// `grant` is the grant about the sender, `channels` those of the channels they are in here; each one counts, that
    /// is, its signer is current. The sender's own grant goes first, then the most permissive channel, then the default;
    /// lines and trust are the sender's own grant's alone.
    #[must_use]
    pub fn of(
        relation: Relation,
        grant: Option<&ConsentGrant>,
        channels: &[&ConsentGrant],
        now: Ms,
    ) -> Self {
        let agent_mail = grant
            .and_then(|grant| grant.agent_mail)
            .or_else(|| channels.iter().filter_map(|grant| grant.agent_mail).max_by_key(open_mail));
        let ask = grant
            .and_then(|grant| grant.ask)
            .or_else(|| channels.iter().filter_map(|grant| grant.ask).max_by_key(open_ask));
        let default = Defaults::of(relation);
        Self {
            chat: grant.and_then(|grant| grant.chat).map_or(default.chat, EffectiveChat::from),
            agent_mail: agent_mail.unwrap_or(default.agent_mail),
            ask: ask.unwrap_or(default.ask),
            trusted: grant.is_some_and(|grant| grant.trusts_until(now).is_some()),
            agent_mail_by_default: agent_mail.is_none(),
            ask_by_default: ask.is_none(),
        }
    }
}

/// What holds where no grant says otherwise.
struct Defaults {
    chat: EffectiveChat,
    agent_mail: AgentMailLevel,
    ask: AskLevel,
}

impl Defaults {
    const fn of(relation: Relation) -> Self {
        let (chat, agent_mail, ask) = match relation {
            Relation::Own => (EffectiveChat::Open, AgentMailLevel::Open, AskLevel::Open),
            Relation::Org => (EffectiveChat::Open, AgentMailLevel::Open, AskLevel::Request),
            Relation::Contact => (EffectiveChat::Open, AgentMailLevel::Blocked, AskLevel::No),
            Relation::Stranger => {
                (EffectiveChat::RequestRequired, AgentMailLevel::Blocked, AskLevel::No)
            }
        };
        Self { chat, agent_mail, ask }
    }
}

/// How much a level lets in.
fn open_mail(level: &AgentMailLevel) -> u8 {
    match level {
        AgentMailLevel::Blocked => 0,
        AgentMailLevel::Open => 1,
    }
}

/// How much a level lets in.
fn open_ask(level: &AskLevel) -> u8 {
    match level {
        AskLevel::No => 0,
        AskLevel::Request => 1,
        AskLevel::Open => 2,
    }
}
