//! `config.json` as typed settings, read once at start.
//! Spec: §8.5, D3.21, D3.31
//!
//! An unknown key is named and left alone, so that a rolled-back daemon starts; a known key with a
//! wrong type or value ends the start, because a setting that is silently ignored is worse than none.

mod hosts;

use std::collections::{BTreeMap, BTreeSet};

use messaging_core::code::Failure;
use messaging_core::ids::{Label, PersonId, RelayUrl, RosterPerson, SessionName};
use messaging_core::json;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::events::{ConfigKey, Level};
use crate::wake::WakeCommand;

/// The largest `config.json`, bytes.
pub const CONFIG_BYTES: usize = 65_536;

/// Every setting, with the defaults of D3.31 in the place of absent keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The team's relay; written on joining.
    pub relay: Option<RelayUrl>,
    /// This machine's person; written on joining.
    pub person: Option<RosterPerson>,
    /// This machine's label; written on joining.
    pub label: Option<Label>,
    /// What one sender machine may hold here.
    pub quota: Quota,
    /// Which of a session's words presence tells others.
    pub share: Share,
    /// Whether a sleeping client may be woken over its host.
    pub wake_bridge: bool,
    /// What wakes the client of a session, by the session's name: the machine's person named it.
    pub wake_commands: BTreeMap<SessionName, WakeCommand>,
    /// Whether content that looks like a credential is refused.
    pub refuse_secrets: bool,
    /// How many messages agents of this machine may send on one beginning with no person's act between; `None` is no bound.
    pub causal_limit: Option<u64>,
    /// How long finished things are kept.
    pub retention: Retention,
    /// Days between encryption-key rotations; `None` turns them off.
    pub rotate_enc_days: Option<u16>,
    /// The group whose members may open the agent socket.
    pub agent_group: Option<u32>,
    /// The log level.
    pub log_level: Level,
}

/// The inbox items and bytes held from one sender machine; `None` is no cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Items.
    pub items: Option<u64>,
    /// Bytes of opened payload.
    pub bytes: Option<u64>,
}

/// The words about a session that presence carries; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The repository's name.
    pub repo: bool,
    /// The branch's name.
    pub branch: bool,
    /// What the session is doing.
    pub doing: bool,
}

/// Days before the sweep deletes finished rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Read inbox items, acknowledged notices.
    pub read_days: u16,
    /// Unread items whose session is gone.
    pub orphaned_days: u16,
    /// Settled sent rows.
    pub sent_days: u16,
    /// Whether what agents sent is kept with its record, for the person.
    pub sent_text: bool,
    /// Ended tasks.
    pub task_days: u16,
    /// Chat lines.
    pub transcript_days: u16,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            relay: None,
            person: None,
            label: None,
            quota: Quota { items: Some(1_000), bytes: Some(64 << 20) },
            share: Share::default(),
            wake_bridge: true,
            wake_commands: BTreeMap::new(),
            refuse_secrets: true,
            causal_limit: Some(200),
            retention: Retention {
                read_days: 14,
                orphaned_days: 14,
                sent_days: 30,
                sent_text: true,
                task_days: 30,
                transcript_days: 30,
            },
            rotate_enc_days: Some(7),
            agent_group: None,
            log_level: Level::Info,
        }
    }
}

impl Config {
    /// Reads the settings of a parsed `config.json` and names the keys it does not know.
    ///
    /// Errors: `invalid_request`, naming the key.
    pub fn read(value: &Value) -> Result<(Config, Vec<ConfigKey>), Failure> {
        let members = value.as_object().ok_or(Failure::invalid("not an object"))?;
        let raw: RawConfig =
            json::decode(value).map_err(|misshape| Failure::invalid(key_of(&misshape.path)))?;
        let mut unknown = Vec::new();
        name_unknown(members, "", &mut unknown);
        Ok((raw.settle()?, unknown))
    }

    /// Sets the three values that create, join and claim write, and keeps everything else of the
    /// file as it stands, keys of other releases included.
    #[must_use]
    pub fn with_membership(
        file: &Map<String, Value>,
        relay: &RelayUrl,
        person: &PersonId,
        label: &Label,
    ) -> Map<String, Value> {
        let mut file = file.clone();
        file.insert("relay".into(), relay.as_str().into());
        file.insert("person".into(), person.as_str().into());
        file.insert("label".into(), label.as_str().into());
        file
    }
}

/// Every key of D3.31, by its path. An object that is a prefix of one is walked into.
const KEYS: &[&str] = &[
    "relay",
    "person",
    "label",
    "realm",
    "deployment",
    "inbound.quota.items",
    "inbound.quota.bytes",
    "presence.share",
    "wake.bridge",
    "wake.hosts",
    "outbound.refuseSecrets",
    "outbound.causalLimit",
    "retention.readDays",
    "retention.orphanedDays",
    "retention.sentDays",
    "retention.sentText",
    "retention.taskDays",
    "retention.transcriptDays",
    "identity.store",
    "identity.prompt",
    "identity.keychain",
    "identity.rotateEncDays",
    "ipc.agentGroup",
    "log.level",
];

/// The known key that a path of declared names points at or into.
fn key_of(path: &str) -> &'static str {
    let bare = path.split('[').next().unwrap_or_default();
    KEYS.iter()
        .find(|key| **key == bare || key.starts_with(&format!("{bare}.")))
        .copied()
        .unwrap_or("a key has the wrong type")
}

fn name_unknown(members: &Map<String, Value>, prefix: &str, unknown: &mut Vec<ConfigKey>) {
    for (name, value) in members {
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        if KEYS.contains(&path.as_str()) {
            continue;
        }
        match value {
            Value::Object(inner) if KEYS.iter().any(|key| key.starts_with(&format!("{path}."))) => {
                name_unknown(inner, &path, unknown);
            }
            _ => unknown.push(ConfigKey(path)),
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawConfig {
    relay: Option<RelayUrl>,
    person: Option<RosterPerson>,
    label: Option<Label>,
    realm: Option<Map<String, Value>>,
    deployment: Option<String>,
    inbound: RawInbound,
    presence: RawPresence,
    wake: RawWake,
    outbound: RawOutbound,
    retention: RawRetention,
    identity: RawIdentity,
    ipc: RawIpc,
    log: RawLog,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawInbound {
    quota: RawQuota,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawQuota {
    items: Option<u64>,
    bytes: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawPresence {
    share: Option<Vec<String>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawWake {
    bridge: Option<bool>,
    hosts: Option<Map<String, Value>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawOutbound {
    refuse_secrets: Option<bool>,
    causal_limit: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawRetention {
    read_days: Option<u64>,
    orphaned_days: Option<u64>,
    sent_days: Option<u64>,
    sent_text: Option<bool>,
    task_days: Option<u64>,
    transcript_days: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawIdentity {
    store: Option<String>,
    // Read for their types only: they mean something with a keychain store, which this build has not.
    #[serde(rename = "prompt")]
    _prompt: Option<bool>,
    #[serde(rename = "keychain")]
    _keychain: Option<String>,
    rotate_enc_days: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawIpc {
    agent_group: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawLog {
    level: Option<String>,
}

impl RawConfig {
    fn settle(self) -> Result<Config, Failure> {
        let defaults = Config::default();
        if self.realm.is_some() && (self.relay.is_some() || self.person.is_some()) {
            return Err(Failure::invalid("realm excludes relay and person"));
        }
        if self.realm.is_some() {
            return Err(Failure::invalid("realm: this build has no directory realm"));
        }
        if self.deployment.is_some() {
            return Err(Failure::invalid("deployment: this build runs under no host"));
        }
        if self.identity.store.as_deref().is_some_and(|store| store != "file") {
            return Err(Failure::invalid("identity.store: this build has no keychain store"));
        }
        let kept = |days: Option<u64>, default, min, key| within(days, default, min, 365, key);
        Ok(Config {
            relay: self.relay,
            person: self.person,
            label: self.label,
            quota: Quota {
                items: cap(self.inbound.quota.items, 1_000, 100_000, "inbound.quota.items")?,
                bytes: cap(self.inbound.quota.bytes, 64 << 20, 1 << 40, "inbound.quota.bytes")?,
            },
            share: shared(self.presence.share.as_deref().unwrap_or_default())?,
            wake_bridge: self.wake.bridge.unwrap_or(defaults.wake_bridge),
            wake_commands: hosts::read(self.wake.hosts.as_ref())?,
            refuse_secrets: self.outbound.refuse_secrets.unwrap_or(defaults.refuse_secrets),
            causal_limit: cap(self.outbound.causal_limit, 200, 100_000, "outbound.causalLimit")?,
            retention: Retention {
                read_days: kept(self.retention.read_days, 14, 1, "retention.readDays")?,
                orphaned_days: kept(self.retention.orphaned_days, 14, 1, "retention.orphanedDays")?,
                // A sent row must outlive its envelope, which lives seven days.
                sent_days: kept(self.retention.sent_days, 30, 8, "retention.sentDays")?,
                sent_text: self.retention.sent_text.unwrap_or(defaults.retention.sent_text),
                task_days: kept(self.retention.task_days, 30, 1, "retention.taskDays")?,
                transcript_days: kept(
                    self.retention.transcript_days,
                    30,
                    1,
                    "retention.transcriptDays",
                )?,
            },
            rotate_enc_days: match self.identity.rotate_enc_days {
                Some(0) => None,
                days => Some(within(days, 7, 2, 90, "identity.rotateEncDays")?),
            },
            agent_group: match self.ipc.agent_group {
                None => None,
                Some(gid) => {
                    Some(u32::try_from(gid).map_err(|_| Failure::invalid("ipc.agentGroup"))?)
                }
            },
            log_level: match self.log.level {
                None => defaults.log_level,
                Some(word) => Level::parse(&word).ok_or(Failure::invalid("log.level"))?,
            },
        })
    }
}

fn within(
    value: Option<u64>,
    default: u16,
    min: u16,
    max: u16,
    key: &'static str,
) -> Result<u16, Failure> {
    match value {
        None => Ok(default),
        Some(value) => u16::try_from(value)
            .ok()
            .filter(|days| (min..=max).contains(days))
            .ok_or(Failure::invalid(key)),
    }
}

/// A cap whose 0 means none.
fn cap(
    value: Option<u64>,
    default: u64,
    max: u64,
    key: &'static str,
) -> Result<Option<u64>, Failure> {
    match value {
        None => Ok(Some(default)),
        Some(0) => Ok(None),
        Some(value) if value <= max => Ok(Some(value)),
        Some(_) => Err(Failure::invalid(key)),
    }
}

fn shared(words: &[String]) -> Result<Share, Failure> {
    let mut share = Share::default();
    let mut seen = BTreeSet::new();
    for word in words {
        let field = match word.as_str() {
            "repo" => &mut share.repo,
            "branch" => &mut share.branch,
            "doing" => &mut share.doing,
            _ => return Err(Failure::invalid("presence.share")),
        };
        if !seen.insert(word.as_str()) {
            return Err(Failure::invalid("presence.share"));
        }
        *field = true;
    }
    Ok(share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Result<(Config, Vec<String>), Failure> {
        Config::read(&value)
            .map(|(config, unknown)| (config, unknown.into_iter().map(|key| key.0).collect()))
    }

    #[test]
    fn an_empty_file_is_every_default() {
        assert_eq!(read(json!({})).unwrap(), (Config::default(), vec![]));
    }

    #[test]
    fn every_key_is_read() {
        let (config, unknown) = read(json!({
            "relay": "wss://relay.example/v1/connect", "person": "alice", "label": "laptop",
            "inbound": {"quota": {"items": 0, "bytes": 1024}},
            "presence": {"share": ["repo", "doing"]},
            "wake": {"bridge": false, "hosts": {"api": {"kind": "command", "argv": ["/bin/true", "-x"], "folder": "/tmp"}}},
            "outbound": {"refuseSecrets": false, "causalLimit": 0},
            "retention": {"readDays": 1, "orphanedDays": 365, "sentDays": 8, "sentText": false, "taskDays": 2, "transcriptDays": 3},
            "identity": {"store": "file", "prompt": true, "keychain": "login", "rotateEncDays": 0},
            "ipc": {"agentGroup": 1000},
            "log": {"level": "debug"},
        }))
        .unwrap();
        assert_eq!(unknown, Vec::<String>::new());
        assert_eq!(config.person.unwrap().as_str(), "alice");
        assert_eq!(config.quota, Quota { items: None, bytes: Some(1024) });
        assert_eq!(config.share, Share { repo: true, branch: false, doing: true });
        assert!(!config.wake_bridge && !config.refuse_secrets);
        let command = WakeCommand {
            argv: vec!["/bin/true".into(), "-x".into()],
            folder: Some("/tmp".into()),
        };
        assert_eq!(
            config.wake_commands.into_iter().collect::<Vec<_>>(),
            [("api".parse().unwrap(), command)]
        );
        assert_eq!(config.causal_limit, None);
        assert_eq!((config.retention.sent_days, config.retention.sent_text), (8, false));
        assert_eq!(config.rotate_enc_days, None);
        assert_eq!(config.agent_group, Some(1000));
        assert_eq!(config.log_level, Level::Debug);
    }

    #[test]
    fn unknown_keys_are_named_at_every_level_and_ignored() {
        let (config, unknown) = read(json!({
            "colour": "blue", "wake": {"bridge": false, "horn": true}, "later": {"a": {"b": 1}},
        }))
        .unwrap();
        assert!(!config.wake_bridge);
        assert_eq!(unknown, ["colour", "later", "wake.horn"]);
    }

    #[test]
    fn a_wrong_type_or_value_names_its_key() {
        let cases = [
            (json!({"relay": "http://relay.example/v1/connect"}), "relay"),
            (json!({"relay": "ws://relay.example/v1/connect"}), "relay"),
            (json!({"person": "Alice"}), "person"),
            (json!({"label": ""}), "label"),
            (json!({"label": null}), "label"),
            (json!({"inbound": {"quota": {"items": 100_001}}}), "inbound.quota.items"),
            (json!({"inbound": {"quota": {"bytes": -1}}}), "inbound.quota.bytes"),
            (json!({"presence": {"share": ["name"]}}), "presence.share"),
            (json!({"presence": {"share": ["repo", "repo"]}}), "presence.share"),
            (json!({"presence": {"share": [1]}}), "presence.share"),
            (json!({"wake": {"bridge": "no"}}), "wake.bridge"),
            (json!({"outbound": {"refuseSecrets": 0}}), "outbound.refuseSecrets"),
            (json!({"outbound": {"causalLimit": -1}}), "outbound.causalLimit"),
            (json!({"outbound": {"causalLimit": 100_001}}), "outbound.causalLimit"),
            (json!({"retention": {"readDays": 0}}), "retention.readDays"),
            (json!({"retention": {"sentDays": 7}}), "retention.sentDays"),
            (json!({"retention": {"taskDays": 366}}), "retention.taskDays"),
            (json!({"retention": {"sentText": 1}}), "retention.sentText"),
            (json!({"retention": {"readDays": 1.5}}), "retention.readDays"),
            (json!({"identity": {"rotateEncDays": 1}}), "identity.rotateEncDays"),
            (json!({"identity": {"rotateEncDays": 91}}), "identity.rotateEncDays"),
            (json!({"ipc": {"agentGroup": 4_294_967_296u64}}), "ipc.agentGroup"),
            (json!({"ipc": {"agentGroup": "staff"}}), "ipc.agentGroup"),
            (json!({"log": {"level": "loud"}}), "log.level"),
            (json!({"log": {"level": 3}}), "log.level"),
        ];
        for (value, key) in cases {
            assert_eq!(read(value.clone()).unwrap_err(), Failure::invalid(key), "{value}");
        }
        assert!(read(json!([])).is_err());
    }

    #[test]
    fn rotation_accepts_zero_and_two_to_ninety() {
        for (days, expected) in [(0, None), (2, Some(2)), (90, Some(90))] {
            let (config, _) = read(json!({"identity": {"rotateEncDays": days}})).unwrap();
            assert_eq!(config.rotate_enc_days, expected);
        }
    }

    #[test]
    fn what_this_build_has_not_is_said() {
        for value in [
            json!({"identity": {"store": "keychain"}}),
            json!({"deployment": "jelly"}),
            json!({"realm": {"kind": "directory"}}),
        ] {
            assert!(read(value).unwrap_err().at.contains("this build"));
        }
        let both = json!({"realm": {}, "relay": "wss://relay.example/v1/connect"});
        assert_eq!(read(both).unwrap_err().at, "realm excludes relay and person");
    }

    #[test]
    fn writing_the_membership_keeps_everything_else() {
        let file = json!({"later": {"x": 1}, "relay": "wss://old.example/v1/connect"});
        let written = Config::with_membership(
            file.as_object().unwrap(),
            &RelayUrl::parse("wss://relay.example/v1/connect").unwrap(),
            &PersonId::parse("bob").unwrap(),
            &Label::parse("desk").unwrap(),
        );
        assert_eq!(
            Value::Object(written),
            json!({"later": {"x": 1}, "relay": "wss://relay.example/v1/connect",
                   "person": "bob", "label": "desk"})
        );
    }
}
