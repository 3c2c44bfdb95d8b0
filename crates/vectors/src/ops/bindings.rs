//! Bindings: tokens, link requests, device logs and keys statements.

use messaging_core::directory::{
    DeviceLog, DirectoryRealm, JellyKey, JellyKeyArchive, JellyToken, KeyWindow, KeysStatement,
    LinkRequest, LogRules,
};
use messaging_core::ids::{Hash, HostedPerson, MachineId};
use messaging_core::json;
use messaging_core::ticket::TextForm as _;
use messaging_core::time::Ms;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Op;
use crate::args::{Args, Outcome, Refusal};

pub(super) fn lookup(kind: &str) -> Option<Op> {
    Some(match kind {
        "jelly_token_verify" => jelly_token_verify,
        "link_decode" => link_decode,
        "link_verify" => link_verify,
        "device_log_append" => device_log_append,
        "keys_statement_verify" => keys_statement_verify,
        "keys_statement_publish" => keys_statement_publish,
        _ => return None,
    })
}

/// The argument `jellyKeys`: an archive.
fn archive(args: &Args<'_>) -> Result<JellyKeyArchive, Refusal> {
    #[derive(Deserialize)]
    struct Key {
        kid: String,
        x: MachineId,
        nbf: Option<u64>,
        #[serde(default)]
        retired_at: Option<u64>,
        #[serde(default)]
        revoked_at: Option<u64>,
    }
    let mut archive = JellyKeyArchive::default();
    for key in args.list("jellyKeys")? {
        // `null` is none here.
        let mut key = key.clone();
        if let Some(members) = key.as_object_mut() {
            members.retain(|_, value| !value.is_null());
        }
        let Key { kid, x, nbf, retired_at, revoked_at } =
            json::decode(&key).map_err(|_| Refusal::Case("jellyKeys"))?;
        let has_window = nbf.is_some() || retired_at.is_some() || revoked_at.is_some();
        let window = KeyWindow { nbf: nbf.unwrap_or(0), retired_at, revoked_at };
        archive.insert(&kid, JellyKey::new(x, has_window.then_some(window)));
    }
    Ok(archive)
}

fn jelly_token_verify(args: &Args<'_>) -> Outcome {
    let realm = DirectoryRealm {
        realm: Hash::from_bytes(&[0; 32]),
        issuer: args.text("issuer")?.to_owned(),
        resource: args.text("resource")?.to_owned(),
    };
    let device = match args.opt("device") {
        None => None,
        Some(_) => {
            Some(MachineId::parse(args.text("device")?).map_err(|_| Refusal::Case("device"))?)
        }
    };
    let token = JellyToken::decode(args.text("token")?)?;
    let now = args.opt_int("now")?.map(Ms);
    token.verify(&realm, &archive(args)?, device.as_ref(), now)?;
    Ok(token.raw_claims().clone())
}

fn told(link: &LinkRequest) -> Result<Map<String, Value>, Refusal> {
    let mut told = Map::new();
    told.insert("sas".to_owned(), json!(link.sas()?));
    Ok(told)
}

fn link_decode(args: &Args<'_>) -> Outcome {
    let link = LinkRequest::decode(args.text("text")?)?;
    let mut told = told(&link)?;
    told.insert("link".to_owned(), json!(link));
    Ok(Value::Object(told))
}

fn link_verify(args: &Args<'_>) -> Outcome {
    let realm = Hash::parse(args.text("realm")?).map_err(|_| Refusal::Case("realm"))?;
    let link = LinkRequest::read(args.value("link")?)?;
    link.verify(&realm, Ms(args.int("now")?))?;
    let mut told = told(&link)?;
    told.insert("text".to_owned(), json!(link.encode()?));
    Ok(Value::Object(told))
}

/// The argument `realm` of a log: what its entries are judged with, and whose it is.
pub(super) struct Context {
    realm: DirectoryRealm,
    keys: JellyKeyArchive,
    epoch_keys: Vec<MachineId>,
    pub(super) person: HostedPerson,
}

impl Context {
    pub(super) fn read(args: &Args<'_>) -> Result<Self, Refusal> {
        let broken = |_| Refusal::Case("realm");
        let realm = args.object("realm")?;
        Ok(Self {
            realm: DirectoryRealm {
                realm: Hash::parse(realm.text("realm")?).map_err(broken)?,
                issuer: realm.text("issuer")?.to_owned(),
                resource: realm.text("resource")?.to_owned(),
            },
            keys: archive(&realm)?,
            epoch_keys: json::decode(realm.value("epochKeys")?)
                .map_err(|_| Refusal::Case("realm"))?,
            person: HostedPerson::parse(realm.text("person")?).map_err(broken)?,
        })
    }

    pub(super) fn rules(&self) -> LogRules<'_> {
        LogRules { realm: &self.realm, keys: &self.keys, epoch_keys: &self.epoch_keys }
    }

    /// A log of entries, which are good.
    pub(super) fn log(&self, entries: &[Value]) -> Result<DeviceLog, Refusal> {
        DeviceLog::from_entries(self.person.clone(), entries, &self.rules())
            .map_err(|_| Refusal::Case("log"))
    }
}

/// The state of a log: every device ever bound, in order.
pub(super) fn state(log: &DeviceLog) -> Value {
    let successors: Map<String, Value> = log
        .devices()
        .iter()
        .filter_map(|bound| {
            let successor = log.successor(&bound.device)?;
            Some((bound.device.as_str().to_owned(), json!(successor.device)))
        })
        .collect();
    json!({
        "head": log.head(),
        "devices": log.devices(),
        "profile": log.profile(),
        "successors": successors,
    })
}

fn device_log_append(args: &Args<'_>) -> Outcome {
    let context = Context::read(args)?;
    let mut log = context.log(args.list("log")?)?;
    let before = log.clone();
    let now = args.opt_int("now")?.map(Ms);
    match log.append(args.value("entry")?, &context.rules(), now).map(drop) {
        Ok(()) => Ok(state(&log)),
        Err(_) if log != before => Err(Refusal::Case("a failed append changed the log")),
        Err(failure) => Err(failure.into()),
    }
}

fn keys_statement_verify(args: &Args<'_>) -> Outcome {
    let log = Context::read(args)?.log(args.list("log")?)?;
    let statement = KeysStatement::read(args.value("statement")?)?;
    statement.verify(&log)?;
    Ok(json!({"hash": statement.hash()?}))
}

fn keys_statement_publish(args: &Args<'_>) -> Outcome {
    let log = Context::read(args)?.log(args.list("log")?)?;
    let held = KeysStatement::read(args.value("held")?).map_err(|_| Refusal::Case("held"))?;
    let statement = KeysStatement::read(args.value("statement")?)?;
    statement.verify_newer(&log, Some(&held))?;
    Ok(json!({"hash": statement.hash()?}))
}
