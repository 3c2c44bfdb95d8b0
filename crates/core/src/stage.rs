//! How far an envelope that was sent has come, as its sender sees it.
//! Spec: §8.4, §6.4, D3.14

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The delivery stage of an envelope that this machine sent.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Stored in the outbox.
    Accepted,
    /// Stored by the relay.
    Relayed,
    /// Stored by the recipient's machine.
    Delivered,
    /// Waits for the recipient's person.
    Held,
    /// Handed to the agent.
    HandedToAgent,
    /// Read.
    Read,
    /// Answered by a message.
    Replied,
    /// Refused, with a code. Final.
    Rejected,
    /// Its time ran out. Final.
    Expired,
}

/// What the envelope was, which decides the order of its stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Track {
    /// Mail, a task, a line: a hold comes after delivery.
    Mail,
    /// One copy of a message request: it is held first, and delivered when the person accepts it.
    Request,
}

impl Stage {
    /// Every stage.
    pub const ALL: [Stage; 9] = [
        Self::Accepted,
        Self::Relayed,
        Self::Delivered,
        Self::Held,
        Self::HandedToAgent,
        Self::Read,
        Self::Replied,
        Self::Rejected,
        Self::Expired,
    ];

    /// The name on the wire and in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Relayed => "relayed",
            Self::Delivered => "delivered",
            Self::Held => "held",
            Self::HandedToAgent => "handed_to_agent",
            Self::Read => "read",
            Self::Replied => "replied",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
        }
    }

    /// The stage of a name; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.as_str() == text)
    }

    /// Whether nothing changes the stage any more.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Rejected | Self::Expired)
    }

    /// Whether the stage moves from this one to `next`: only forward, and never out of a final stage.
    #[must_use]
    pub const fn advances_to(self, next: Self, track: Track) -> bool {
        match (self.rank(track), next.rank(track)) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(from), Some(to)) => to > from,
        }
    }

    /// The place in the order of a track; none for a final stage, which follows every other.
    #[must_use]
    pub const fn rank(self, track: Track) -> Option<u8> {
        Some(match (self, track) {
            (Self::Accepted, _) => 0,
            (Self::Relayed, _) => 1,
            (Self::Delivered, Track::Mail) | (Self::Held, Track::Request) => 2,
            (Self::Held, Track::Mail) | (Self::Delivered, Track::Request) => 3,
            (Self::HandedToAgent, _) => 4,
            (Self::Read, _) => 5,
            (Self::Replied, _) => 6,
            (Self::Rejected | Self::Expired, _) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Stage::*;
    use super::*;

    #[test]
    fn stages_only_move_forward() {
        let mail = [Accepted, Relayed, Delivered, Held, HandedToAgent, Read, Replied];
        let request = [Accepted, Relayed, Held, Delivered, HandedToAgent, Read, Replied];
        for (track, order) in [(Track::Mail, mail), (Track::Request, request)] {
            for (i, from) in order.into_iter().enumerate() {
                for (j, to) in order.into_iter().enumerate() {
                    assert_eq!(from.advances_to(to, track), j > i, "{from:?} to {to:?}");
                }
                assert!(from.advances_to(Rejected, track) && from.advances_to(Expired, track));
            }
        }
    }

    #[test]
    fn rejected_and_expired_are_final() {
        for end in [Rejected, Expired] {
            assert!(end.is_final());
            for to in Stage::ALL {
                assert!(!end.advances_to(to, Track::Mail));
                assert!(!end.advances_to(to, Track::Request));
            }
        }
    }

    #[test]
    fn names_read_back() {
        for stage in Stage::ALL {
            assert_eq!(Stage::parse(stage.as_str()), Some(stage));
            assert_eq!(serde_json::to_value(stage).unwrap(), stage.as_str());
        }
        assert_eq!(Stage::parse("sent"), None);
    }
}
