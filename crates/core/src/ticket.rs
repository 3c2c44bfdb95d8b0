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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;
    use serde_json::json;

    fn ticket() -> InviteTicket {
        InviteTicket {
            v: Version,
            relay: "wss://relay.example/v1/connect".parse().unwrap(),
            team: Hash::from_bytes(&[1; 32]),
            invite_id: "01HF7YAT00ZZZZZZZZZZZZZZZZ".parse().unwrap(),
            secret: Secret32Text::from_bytes(&[4; 32]),
            person: "bob".parse().unwrap(),
            expires: Ms(1_700_000_000_000),
            name: Some("Größe".parse().unwrap()),
        }
    }

    fn text_of(prefix: &str, value: &Value) -> String {
        format!("{prefix}{}", b64::encode(value.to_string().as_bytes()))
    }

    #[track_caller]
    fn refused<T: TextForm + core::fmt::Debug>(text: &str) {
        let failure = T::decode(text).unwrap_err();
        assert_eq!(failure.code, crate::code::Code::InvalidRequest, "{text}");
    }

    #[test]
    fn every_kind_goes_both_ways() {
        let team = TeamCard {
            v: Version,
            relay: "ws://127.0.0.1:8080/v1/connect".parse().unwrap(),
            team: Hash::from_bytes(&[1; 32]),
            name: "demo".parse().unwrap(),
        };
        let admit = AdmitCard {
            v: Version,
            machine: MachineId::from_bytes(&[2; 32]),
            enc: EncKey::from_bytes(&[3; 32]),
            person: "bob".parse().unwrap(),
            label: "desk".parse().unwrap(),
        };
        let texts = [ticket().encode().unwrap(), team.encode().unwrap(), admit.encode().unwrap()];
        assert_eq!(InviteTicket::decode(&texts[0]), Ok(ticket()));
        assert_eq!(TeamCard::decode(&texts[1]), Ok(team));
        assert_eq!(AdmitCard::decode(&texts[2]), Ok(admit));
        let prefixes = ["messaging1.", "messaging-team.", "messaging-admit."];
        for (text, prefix) in texts.iter().zip(prefixes) {
            let json = b64::decode(text.strip_prefix(prefix).unwrap()).unwrap();
            let value = json::parse(&json, 4_096).unwrap();
            assert_eq!(jcs::canonical(&value).unwrap().as_bytes(), json, "canonical on one line");
        }
        refused::<InviteTicket>(&texts[1]);
        refused::<TeamCard>(&texts[2]);
        refused::<AdmitCard>(&texts[0]);
    }

    #[test]
    fn white_space_around_and_other_spellings_inside_are_fine() {
        let text = ticket().encode().unwrap();
        assert_eq!(InviteTicket::decode(&format!(" \r\n{text}\t\n")), Ok(ticket()));
        let mut value = json!(ticket());
        value["later"] = json!([1]);
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        let text = format!("messaging1.{}", b64::encode(pretty.as_bytes()));
        assert_eq!(InviteTicket::decode_raw(&text), Ok((ticket(), value)));
    }

    #[test]
    fn a_text_that_is_not_whole_is_refused() {
        let text = ticket().encode().unwrap();
        for bad in [
            "",
            "messaging1.",
            &text.replace("messaging1.", "MESSAGING1."),
            &text.replace("messaging1.", "messaging1"),
            &text.replace("messaging1.", ""),
            &format!("{text}="),
            &format!("{text} x"),
            &text[..text.len() - 4],
            &format!("messaging1.{}", b64::encode(b"not json")),
            &format!("messaging1.{}", b64::encode(b"{\"v\":1,\"v\":1}")),
            &format!("messaging1.{}", "A".repeat(4_096)),
        ] {
            refused::<InviteTicket>(bad);
        }
        let long = TeamCard {
            v: Version,
            relay: format!("wss://relay.example/{}", "a".repeat(490)).parse().unwrap(),
            team: Hash::from_bytes(&[1; 32]),
            name: "x".repeat(64).parse().unwrap(),
        };
        assert!(long.encode().unwrap().len() < TICKET_CHARS, "every card fits");
    }

    #[test]
    fn every_member_is_required_and_typed() {
        let whole = json!(ticket());
        for name in ["v", "relay", "team", "inviteId", "secret", "person", "expires"] {
            let mut less = whole.clone();
            less.as_object_mut().unwrap().remove(name);
            refused::<InviteTicket>(&text_of(InviteTicket::PREFIX, &less));
            let mut other = whole.clone();
            other[name] = json!(null);
            refused::<InviteTicket>(&text_of(InviteTicket::PREFIX, &other));
        }
        for (name, wrong) in [
            ("v", json!("messaging/2")),
            ("relay", json!("ws://relay.example/v1/connect")),
            ("relay", json!("wss://user@relay.example/v1/connect")),
            ("relay", json!("https://relay.example/v1/connect")),
            ("secret", json!("AAAA")),
            ("person", json!("p_aaaaaaaaaaaaaaaaaaaaaaaaaa")),
            ("expires", json!(-1)),
            ("name", json!(null)),
            ("name", json!("")),
            ("name", json!("x".repeat(65))),
        ] {
            let mut other = whole.clone();
            other[name] = wrong;
            refused::<InviteTicket>(&text_of(InviteTicket::PREFIX, &other));
        }
        let mut unnamed = whole;
        unnamed.as_object_mut().unwrap().remove("name");
        let text = text_of(InviteTicket::PREFIX, &unnamed);
        assert_eq!(InviteTicket::decode(&text).unwrap().name, None);
    }

    #[test]
    fn a_ticket_does_not_print_its_secret() {
        assert!(!format!("{:?}", ticket()).contains(ticket().secret.as_str()));
        assert_eq!(ticket().relay.to_string(), "wss://relay.example/v1/connect");
    }
}
