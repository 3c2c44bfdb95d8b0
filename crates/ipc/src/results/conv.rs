//! What `conv.*`, `search`, `person.send` and `channel.*` return.
//! Spec: D1.7 rows 12, 13, 21–24, 45–48

use messaging_core::ids::Ulid;
use messaging_core::time::Ms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scalars::{Conversation, Room};
use crate::shapes::{ChatLine, ConvEntry, ConversationView};

/// One page of a conversation, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ConvPage {
    /// Lines of a direct conversation or a channel.
    Lines {
        /// The conversation.
        conversation: Room,
        /// The lines.
        lines: Vec<ChatLine>,
        /// Whether more follow in the direction read.
        more: bool,
    },
    /// What a session exchanged with another agent.
    Agent {
        /// The conversation.
        conversation: Conversation,
        /// The entries.
        entries: Vec<ConvEntry>,
        /// Whether more follow in the direction read.
        more: bool,
    },
}

/// The lines found, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hits {
    /// The lines.
    pub hits: Vec<ChatLine>,
    /// Whether more were found.
    pub more: bool,
}

/// The conversations, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conversations {
    /// The conversations.
    pub conversations: Vec<ConversationView>,
}

/// The read state of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadState {
    /// The newest line read.
    pub read_up_to: u64,
    /// Lines not read.
    pub unread: u64,
}

/// Where a subscription begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConvSubscribed {
    /// The newest number at the call.
    pub seq: u64,
    /// Whether the replay could not be complete, and was left out.
    pub gap: bool,
}

/// The line as it was filed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LineSent {
    /// Its id.
    pub id: Ulid,
    /// Where.
    pub conversation: Room,
    /// Its number here.
    pub seq: u64,
    /// When.
    pub at: Ms,
}

/// A channel after a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelChanged {
    /// The channel.
    pub channel: ConversationView,
}
