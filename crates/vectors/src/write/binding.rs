//! Bindings: tokens, link requests, a person's device log, and keys statements.

mod log;
mod tokens;

use messaging_core::code::Code::{BindingInvalid, Expired, InvalidRequest};
use messaging_core::directory::testing::{ISSUER, RESOURCE, Realm, device, key};
use messaging_core::directory::{
    DeviceKind, KeysSeq, LinkDraft, LinkRequest, LogSeq, StatementDraft,
};
use messaging_core::ids::{EncKey, Hash, Label};
use messaging_core::limits::{CLOCK_SKEW_MS, LINK_TTL_MS};
use messaging_core::ticket::TextForm as _;
use serde_json::{Value, json};

use super::book::{Book, WriteError, Writing, made};

pub(super) fn book() -> Result<Book, WriteError> {
    let mut book = Book::new(
        "Tokens that bind devices, link requests, a person's device log, and keys statements \
         (sections 15.2 to 15.4).",
    );
    for number in [1, 2, 3, 4] {
        book.signing_key(&format!("device {number}"), &key(number));
    }
    tokens::write(&mut book)?;
    links(&mut book)?;
    log::write(&mut book)?;
    statements(&mut book)?;
    Ok(book)
}

/// The archive of the realm's one issuer key.
pub(super) fn archive(realm: &Realm) -> Value {
    json!([{"kid": "k1", "x": realm.issuer.public(), "nbf": 0, "retired_at": null}])
}

/// What the logs of an account are judged with.
pub(super) fn context(realm: &Realm, account: &str) -> Value {
    json!({
        "realm": realm.id(), "person": realm.person(account), "issuer": ISSUER,
        "resource": RESOURCE, "jellyKeys": archive(realm), "epochKeys": [realm.epoch_key()],
    })
}

/// The entries of an account's log up to number `last`.
pub(super) fn entries(realm: &Realm, account: &str, last: u64) -> Result<Vec<Value>, WriteError> {
    let log = realm.state_of(account).log;
    let held = log.entries().iter().filter(|logged| logged.entry.seq() <= LogSeq(last));
    held.map(|logged| made("an entry", logged.entry.to_value())).collect()
}

fn links(book: &mut Book) -> Writing {
    let realm = Realm::new();
    let label = made("a label", Label::parse("phone"))?;
    let draft = LinkDraft {
        realm: realm.id(),
        enc: EncKey::from_bytes(&[7; 32]),
        label: &label,
        kind: DeviceKind::Other,
        nonce: [8; 16],
        ts: realm.clock,
    };
    let link: LinkRequest = made("a request", draft.sign(&key(4)))?;
    let text = made("a text", link.encode())?;
    book.pins("a link request as a text", "link_decode", json!({"text": text}))?;
    for (name, bad) in [
        ("no text", String::new()),
        ("another prefix", text.replace("messaging-link", "messaging-invite")),
        ("half a text", text.chars().take(100).collect()),
    ] {
        let name = format!("a link request: {name}");
        book.refuses(name, "link_decode", json!({"text": bad}), InvalidRequest)?;
    }
    let at = |now| json!({"link": link, "realm": realm.id(), "now": now});
    let ts = realm.clock;
    book.pins("a link request at its last moment", "link_verify", at(ts.plus(LINK_TTL_MS)))?;
    book.pins("a link request from ahead", "link_verify", at(ts.minus(CLOCK_SKEW_MS)))?;
    for (name, now) in
        [("over", ts.plus(LINK_TTL_MS + 1)), ("too far ahead", ts.minus(CLOCK_SKEW_MS + 1))]
    {
        book.refuses(format!("a link request that is {name}"), "link_verify", at(now), Expired)?;
    }
    for (member, value) in [
        ("enc", json!(EncKey::from_bytes(&[9; 32]))),
        ("label", json!("other")),
        ("device", json!(device(1))),
    ] {
        let mut lie = at(ts);
        lie["link"][member] = value;
        let name = format!("a link request with another {member}");
        book.refuses(name, "link_verify", lie, BindingInvalid)?;
    }
    book.pins("the fingerprint of a key", "key_fingerprint", json!({"key": device(4)}))
}

fn statements(book: &mut Book) -> Writing {
    let mut realm = Realm::new();
    realm.bind("ada", 1);
    realm.bind("ada", 2);
    realm.replace("ada", 2, 1);
    let person = realm.person("ada");
    let draft = StatementDraft {
        realm: realm.id(),
        person: &person,
        enc: EncKey::from_bytes(&[1; 32]),
        seq: KeysSeq(4),
        ts: realm.clock,
    };
    let good = made("a statement", draft.sign(&key(1)))?;
    let input = |statement: &Value| -> Result<Value, WriteError> {
        let log = entries(&realm, "ada", u64::MAX)?;
        Ok(json!({"realm": context(&realm, "ada"), "log": log, "statement": statement}))
    };
    book.pins("a keys statement", "keys_statement_verify", input(&json!(good))?)?;
    let removed = made("a statement", draft.sign(&key(2)))?;
    let stranger = made("a statement", draft.sign(&key(3)))?;
    for (name, statement) in [("a removed device", removed), ("a stranger", stranger)] {
        let name = format!("a keys statement of {name}");
        book.refuses(name, "keys_statement_verify", input(&json!(statement))?, BindingInvalid)?;
    }
    for (member, value, code) in [
        ("realm", json!(Hash::from_bytes(&[1; 32])), BindingInvalid),
        ("seq", json!(5), BindingInvalid),
        ("seq", json!(4.5), InvalidRequest),
        ("enc", json!(null), InvalidRequest),
        ("more", json!(1), InvalidRequest),
    ] {
        let mut lie = json!(good);
        lie[member] = value.clone();
        let name = format!("a keys statement with {member} {value:.8}");
        book.refuses(name, "keys_statement_verify", input(&lie)?, code)?;
    }
    for (held, code) in [(3, None), (4, Some(InvalidRequest)), (9, Some(InvalidRequest))] {
        let draft = StatementDraft { seq: KeysSeq(held), ..draft.clone() };
        let mut ask = input(&json!(good))?;
        ask["held"] = json!(made("a statement", draft.sign(&key(1)))?);
        let name = format!("publish number 4 after {held}");
        match code {
            None => book.pins(name, "keys_statement_publish", ask)?,
            Some(code) => book.refuses(name, "keys_statement_publish", ask, code)?,
        }
    }
    Ok(())
}
