//! Presence: the sessions that a machine tells its realm about, readable by the relay.
//! Spec: §6.5, W2.3

mod fit;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounded::{List, Str, only_true, true_schema, unset};
use crate::ids::{ClientKind, Label, SessionName};
use crate::limits::{FEATURE_CHARS, FEATURES, PRESENCE_SESSIONS, PRESENCE_TEXT};
use crate::time::Ms;

pub use fit::Draft;

/// What a machine says about its sessions. Its size, as canonical text, is at most 64 KiB.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PresencePayload {
    /// Rises with every presence of the machine; the highest counts.
    pub seq: PresenceSeq,
    /// The machine's label; a presence with another than its realm says is ignored.
    pub label: Label,
    /// Live sessions, then kept ones.
    pub sessions: List<PresenceSession, 0, PRESENCE_SESSIONS>,
    /// What the machine can do; unknown names mean nothing.
    pub features: Features,
    /// No window of the device's person is visible on it. Only a device under a host says so.
    #[serde(default, with = "only_true", skip_serializing_if = "unset")]
    #[schemars(schema_with = "true_schema")]
    pub away: bool,
}

/// Names of optional capabilities; this protocol defines [`TASKS`].
pub type Features = List<Str<1, FEATURE_CHARS>, 0, FEATURES>;

/// The feature of a machine that takes tasks.
pub const TASKS: &str = "tasks";

/// The number of a presence.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct PresenceSeq(pub u64);

/// `repo`, `branch` or `doing`: 1 to 200 UTF-16 units that an agent wrote.
pub type PresenceText = Str<1, PRESENCE_TEXT>;

/// One session of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PresenceSession {
    /// Its name.
    pub agent: SessionName,
    /// The kind of its client.
    pub client: ClientKind,
    /// Whether it is at work.
    pub state: Activity,
    /// How messages reach it.
    pub tier: Tier,
    /// When `state` began.
    pub since: Ms,
    /// The session is offline; its machine keeps its mail.
    #[serde(default, with = "only_true", skip_serializing_if = "unset")]
    #[schemars(schema_with = "true_schema")]
    pub kept: bool,
    /// Its machine would act on a wake hint now.
    #[serde(default, with = "only_true", skip_serializing_if = "unset")]
    #[schemars(schema_with = "true_schema")]
    pub wake: bool,
    /// The repository it works in, where its machine shares it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo: Option<PresenceText>,
    /// The branch, where its machine shares it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<PresenceText>,
    /// What it does, where its machine shares it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doing: Option<PresenceText>,
}

/// Whether a session is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Activity {
    /// It waits.
    Idle,
    /// It works.
    Busy,
}

/// How messages reach a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// They are put before it.
    Push,
    /// It looks for them.
    Pull,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::decode;
    use serde_json::{Value, json};

    fn session() -> Value {
        json!({"agent": "a", "client": "cli", "state": "idle", "tier": "pull", "since": 1})
    }

    fn presence(sessions: Value) -> Value {
        json!({"seq": 7, "label": "desk", "sessions": sessions, "features": ["tasks"]})
    }

    #[test]
    fn presence_keeps_its_shape() {
        let full = json!({
            "agent": "a", "client": "cli", "state": "busy", "tier": "push", "since": 1, "kept": true, "wake": true,
            "repo": "r", "branch": "b", "doing": "café \u{202e}"
        });
        for value in [presence(json!([])), presence(json!([session(), full]))] {
            let read: PresencePayload = decode(&value).unwrap();
            assert_eq!(serde_json::to_value(&read).unwrap(), value);
            assert!(!read.away);
        }
        let mut away = presence(json!([]));
        away["away"] = json!(true);
        assert!(decode::<PresencePayload>(&away).unwrap().away);
    }

    #[test]
    fn a_presence_out_of_shape_is_refused() {
        for (name, member) in [
            ("seq", json!(-1)),
            ("seq", json!(1.5)),
            ("label", json!("Desk")),
            ("sessions", json!({})),
            ("sessions", json!(std::vec![session(); 257])),
            ("features", json!("tasks")),
            ("features", json!(std::vec!["x"; 17])),
            ("features", json!([""])),
            ("away", json!(false)),
            ("away", json!(null)),
        ] {
            let mut value = presence(json!([]));
            value[name] = member;
            assert!(decode::<PresencePayload>(&value).is_err(), "{value}");
        }
        for name in ["seq", "label", "sessions", "features"] {
            let mut value = presence(json!([]));
            value.as_object_mut().unwrap().remove(name);
            assert_eq!(decode::<PresencePayload>(&value).unwrap_err().path, name);
        }
    }

    #[test]
    fn a_session_out_of_shape_is_refused() {
        for (name, member) in [
            ("agent", json!("A")),
            ("client", json!("")),
            ("state", json!("away")),
            ("tier", json!("poll")),
            ("since", json!("1")),
            ("kept", json!(false)),
            ("wake", json!(1)),
            ("repo", json!("")),
            ("doing", json!("x".repeat(201))),
            ("branch", json!(null)),
        ] {
            let mut value = session();
            value[name] = member;
            assert!(decode::<PresencePayload>(&presence(json!([value]))).is_err(), "{value}");
        }
        for name in ["agent", "client", "state", "tier", "since"] {
            let mut value = session();
            value.as_object_mut().unwrap().remove(name);
            assert!(decode::<PresenceSession>(&value).is_err(), "{name}");
        }
    }
}
