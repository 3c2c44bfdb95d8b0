//! What becomes of an envelope that arrived: deliver, hold, or refuse with a code.
//! Spec: §6.9 "Evaluation", W4.13, R3
//!
//! | what                                 | outcome                                                                |
//! |--------------------------------------|------------------------------------------------------------------------|
//! | anything of the own person           | deliver `self`                                                         |
//! | an answer to the person's traffic    | deliver, `trusted` under trust and the chain rule, else `guarded`      |
//! | anything else of a blocked person    | refuse `refused`                                                       |
//! | a message request                    | of a stranger: hold; else as the person's line                         |
//! | the person's line                    | by `chat`: deliver, deliver silently, refuse `request_required`        |
//! | an agent's line                      | by `agentMail`: deliver, refuse                                        |
//! | a channel's change                   | deliver; of a stranger refuse `request_required`                       |
//! | an ask                               | by `ask`: deliver, hold, refuse                                        |

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AgentMailLevel, AskLevel, EffectiveChat, EffectivePolicy, Relation};
use crate::code::Code;

/// What arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived<'a> {
    /// An answer to what this person or their agents sent: a receipt, a word on a task, a reply, a follow-up.
    ///
    /// A line, a change or a request never is one, whatever it replies to.
    Answer {
        /// The persons of a task request's chain; nobody for anything else.
        chain: &'a [&'a str],
    },
    /// A direct line, or a post in a channel.
    Line {
        /// Whether an agent wrote it.
        agent: bool,
    },
    /// A change of a channel.
    Change,
    /// Mail or a task for one of the person's agents.
    Ask {
        /// The persons of its chain; nobody, or the sender alone, for mail.
        chain: &'a [&'a str],
    },
    /// A message request. A roster realm refuses it before this.
    Request,
}

/// Who sent it to whom, and what the receiver accepts from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sender<'a> {
    /// How the sender stands to the receiver.
    pub relation: Relation,
    /// What the receiver accepts from them.
    pub policy: EffectivePolicy,
    /// The sender's person.
    pub person: &'a str,
    /// The receiver's person.
    pub receiver: &'a str,
}

/// How far a delivered item may be acted on. It is the receiver's own word, never the peer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConsentClass {
    /// From the person's own agents.
    #[serde(rename = "self")]
    Own,
    /// Delivered, to be answered with care.
    Guarded,
    /// From someone the person trusts.
    Trusted,
}

impl ConsentClass {
    /// Its name, as it is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Own => "self",
            Self::Guarded => "guarded",
            Self::Trusted => "trusted",
        }
    }

    /// The class of a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Own, Self::Guarded, Self::Trusted].into_iter().find(|class| class.as_str() == name)
    }
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is delivered.
    Deliver {
        /// As what.
        class: ConsentClass,
        /// Without a sound.
        silent: bool,
    },
    /// It waits for the person.
    Hold,
    /// It is refused with this code.
    Refuse(Code),
}

/// Decides. There is an answer for everything.
#[must_use]
pub fn decide(what: &Arrived<'_>, sender: &Sender<'_>) -> Decision {
    let policy = &sender.policy;
    if sender.relation == Relation::Own {
        return loud(ConsentClass::Own);
    }
    if let Arrived::Answer { chain } = what {
        return loud(sender.class(chain));
    }
    if policy.chat == EffectiveChat::Blocked {
        return Decision::Refuse(Code::Refused);
    }
    match what {
        Arrived::Request if sender.relation == Relation::Stranger => Decision::Hold,
        Arrived::Request | Arrived::Line { agent: false } => match policy.chat {
            EffectiveChat::RequestRequired => Decision::Refuse(Code::RequestRequired),
            _ => sender.guarded(),
        },
        Arrived::Line { agent: true } => match policy.agent_mail {
            AgentMailLevel::Open => sender.guarded(),
            AgentMailLevel::Blocked => {
                let first = sender.relation == Relation::Stranger && policy.agent_mail_by_default;
                Decision::Refuse(if first { Code::RequestRequired } else { Code::Refused })
            }
        },
        Arrived::Change if sender.relation == Relation::Stranger => {
            Decision::Refuse(Code::RequestRequired)
        }
        Arrived::Change => loud(ConsentClass::Guarded),
        Arrived::Ask { chain } | Arrived::Answer { chain } => match policy.ask {
            AskLevel::Open => loud(sender.class(chain)),
            AskLevel::Request => Decision::Hold,
            AskLevel::No => {
                let outside = matches!(sender.relation, Relation::Contact | Relation::Stranger);
                let first = outside && policy.ask_by_default;
                Decision::Refuse(if first { Code::RequestRequired } else { Code::Refused })
            }
        },
    }
}

impl Sender<'_> {
    /// Trust holds only while every person who passed the request on is the sender or the receiver: a third person's
    /// request is not laundered by somebody who is trusted.
    fn class(&self, chain: &[&str]) -> ConsentClass {
        let between = chain.iter().all(|person| *person == self.person || *person == self.receiver);
        if self.policy.trusted && between { ConsentClass::Trusted } else { ConsentClass::Guarded }
    }

    /// A line that is delivered, silently from somebody who is muted.
    fn guarded(&self) -> Decision {
        Decision::Deliver {
            class: ConsentClass::Guarded,
            silent: self.policy.chat == EffectiveChat::Muted,
        }
    }
}

fn loud(class: ConsentClass) -> Decision {
    Decision::Deliver { class, silent: false }
}
