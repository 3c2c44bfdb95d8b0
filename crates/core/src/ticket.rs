//! The texts that people carry from one machine to another: tickets and cards.
//! Spec: §4 "Invites" 2, W2.8
//!
//! Each is a prefix that names its kind, then base64url of canonical JSON, on one line.

use alloc::format;
use alloc::string::String;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::b64;
use crate::code::Failure;
use crate::ids::{
    EncKey, Hash, Label, MachineId, RelayUrl, RosterPerson, Secret32Text, TeamName, Ulid,
};
use crate::jcs;
use crate::json;
use crate::limits::TICKET_CHARS;
use crate::time::Ms;
use crate::version::Version;

/// A value that people carry as one line of text.
pub trait TextForm: Serialize + DeserializeOwned {
    /// What the text begins with, its dot included.
    const PREFIX: &'static str;

    /// The text.
    ///
    /// Errors: `invalid_request` for one past [`TICKET_CHARS`].
    fn encode(&self) -> Result<String, Failure> {
        let canonical = jcs::canonical(&jcs::to_value(self)?)?;
        let text = format!("{}{}", Self::PREFIX, b64::encode(canonical.as_bytes()));
        if text.len() > TICKET_CHARS { Err(Failure::invalid("ticket size")) } else { Ok(text) }
    }

    /// Reads a text, white space around it aside.
    ///
    /// Errors: `invalid_request`, and never a word of the text.
    fn decode(text: &str) -> Result<Self, Failure> {
        Self::decode_raw(text).map(|(value, _)| value)
    }

    /// Reads a text, and gives the exact value beside the typed one: members of later versions are
    /// only there.
    ///
    /// Errors: as [`decode`](Self::decode).
    fn decode_raw(text: &str) -> Result<(Self, Value), Failure> {
        let text = text.trim();
        if text.len() > TICKET_CHARS {
            return Err(Failure::invalid("ticket size"));
        }
        let encoded = text.strip_prefix(Self::PREFIX).ok_or(Failure::invalid("ticket prefix"))?;
        let raw = json::parse(&b64::decode(encoded)?, TICKET_CHARS)?;
        let value = json::decode(&raw).map_err(|_| Failure::invalid("ticket"))?;
        Ok((value, raw))
    }
}

/// What an invited person needs to join: where, which team, and the secret of the invite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InviteTicket {
    /// The protocol.
    pub v: Version,
    /// The relay's connect URL.
    pub relay: RelayUrl,
    /// The team, which the joiner pins.
    pub team: Hash,
    /// The invite.
    pub invite_id: Ulid,
    /// The secret of the invite, an Ed25519 seed.
    pub secret: Secret32Text,
    /// The person the invite is for.
    pub person: RosterPerson,
    /// When the invite ends.
    pub expires: Ms,
    /// The team's name, to show before joining.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<TeamName>,
}

impl TextForm for InviteTicket {
    const PREFIX: &'static str = "messaging1.";
}

/// What names a team, without a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TeamCard {
    /// The protocol.
    pub v: Version,
    /// The relay's connect URL.
    pub relay: RelayUrl,
    /// The team.
    pub team: Hash,
    /// The team's name.
    pub name: TeamName,
}

impl TextForm for TeamCard {
    const PREFIX: &'static str = "messaging-team.";
}

/// What an admin needs to add a machine: its keys, and who it says it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AdmitCard {
    /// The protocol.
    pub v: Version,
    /// The machine.
    pub machine: MachineId,
    /// The key to seal to.
    pub enc: EncKey,
    /// The person.
    pub person: RosterPerson,
    /// The machine's label.
    pub label: Label,
}

impl TextForm for AdmitCard {
    const PREFIX: &'static str = "messaging-admit.";
}
