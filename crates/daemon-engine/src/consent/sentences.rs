//! The fixed sentences that say, before it is done, what an act will mean.
//! Spec: D1.8
//!
//! Names are one line, cleaned and cut: whoever chose one cannot forge a sentence with it.

use messaging_core::a2a::Timestamp;
use messaging_core::consent::{
    AgentMailLevel, AskLevel, EffectiveChat, EffectivePolicy, Levels, Subject,
};
use messaging_core::ids::{ChannelName, PersonId, SessionName};
use messaging_core::peer_text::one_line;
use messaging_core::time::Ms;
use messaging_ipc::params::consent::Answer;

/// What a grant with these levels would mean.
pub(super) fn grant(
    subject: &Subject,
    own: &PersonId,
    levels: &Levels,
    policy: &EffectivePolicy,
    channel: Option<&ChannelName>,
    now: Ms,
) -> String {
    match subject {
        Subject::Person(person) if person == own => discoverable(levels.discoverable),
        Subject::Person(person) => {
            let (who, said) = (who(person), words(policy));
            if levels.is_empty() {
                format!("For {who}: back to the defaults: {said}; trust off.")
            } else {
                format!("For {who}: {said}; trust {}.", trust(levels, policy, now))
            }
        }
        Subject::Channel(_) => {
            let name = channel.map(ChannelName::as_str).unwrap_or_default();
            let (mail, ask) = (mail(policy.agent_mail), ask(policy.ask));
            format!(
                "For members of #{name}: their agents' lines {mail}; requests to your agents {ask}."
            )
        }
    }
}

/// What an answer to somebody's asks would mean; `count` is how many it settles.
pub(super) fn asks(person: &PersonId, to: &SessionName, answer: Answer, count: usize) -> String {
    let who = who(person);
    let sentence = match answer {
        Answer::Once => format!("Deliver this request from {who} to {to} once, guarded."),
        Answer::Always => format!(
            "Deliver this request from {who}, and let {who} and their agents ask your agents from now on without asking you."
        ),
        Answer::Decline | Answer::Accept => {
            format!("Decline this request from {who}; they are told so.")
        }
        Answer::Block => format!(
            "Block {who}: decline this request and refuse everything they or their agents send you."
        ),
    };
    if count > 1 { format!("{sentence} This answers {count} requests.") } else { sentence }
}

/// What dismissing a suggestion would mean.
pub(super) fn suggestion(agent: &SessionName, email: &str) -> String {
    let email = one_line(email, EMAIL_UNITS);
    format!("Dismiss {agent}'s suggestion to contact {email}; nothing is sent.")
}

/// What the person is told about trust that is about to end.
pub(super) fn trust_ends(until: Ms) -> String {
    format!("Trust you gave this person ends on {}; renew it or let it lapse.", day(until))
}

fn discoverable(found: Option<bool>) -> String {
    let sentence = if found.unwrap_or(true) {
        "People outside your organisation can find you by your exact email"
    } else {
        "People outside your organisation cannot find you by your email"
    };
    format!("{sentence} once you are in a hosted realm.")
}

fn words(policy: &EffectivePolicy) -> String {
    let chat = match policy.chat {
        EffectiveChat::Open => "open",
        EffectiveChat::Muted => "muted",
        EffectiveChat::Blocked => "blocked",
        EffectiveChat::RequestRequired => "refused until you accept them",
    };
    let (mail, ask) = match policy.chat {
        // A block refuses everything, whatever else is set.
        EffectiveChat::Blocked => (mail(AgentMailLevel::Blocked), ask(AskLevel::No)),
        _ => (mail(policy.agent_mail), ask(policy.ask)),
    };
    format!("lines {chat}; their agents' lines {mail}; requests to your agents {ask}")
}

fn mail(level: AgentMailLevel) -> &'static str {
    match level {
        AgentMailLevel::Open => "open",
        AgentMailLevel::Blocked => "blocked",
    }
}

fn ask(level: AskLevel) -> &'static str {
    match level {
        AskLevel::Open => "run at once",
        AskLevel::Request => "ask you first",
        AskLevel::No => "refused",
    }
}

fn trust(levels: &Levels, policy: &EffectivePolicy, now: Ms) -> String {
    let counts = policy.chat != EffectiveChat::Blocked;
    match levels.trusted_until.filter(|until| counts && *until > now) {
        Some(until) => format!("until {}", day(until)),
        None => "off".to_owned(),
    }
}

/// A day in UTC, as `2026-01-31`.
fn day(at: Ms) -> String {
    let text = Timestamp::of(at).to_string();
    text.split('T').next().unwrap_or_default().to_owned()
}

fn who(person: &PersonId) -> String {
    one_line(person.as_str(), WHO_UNITS)
}

/// The most of a name, UTF-16 units.
const WHO_UNITS: usize = 80;
/// The most of an email, UTF-16 units.
const EMAIL_UNITS: usize = 100;
