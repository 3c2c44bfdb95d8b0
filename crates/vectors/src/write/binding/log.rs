//! A device log that saw every kind of entry, and what must not extend it.

use messaging_core::code::Code::{self, BindingInvalid, InvalidRequest, LogConflict};
use messaging_core::directory::testing::Realm;
use messaging_core::directory::{Authority, DeviceKind, LogOp, UnbindReason};
use messaging_core::ids::Hash;
use serde_json::{Value, json};

use super::super::book::{Book, WriteError, Writing, made};
use super::{context, entries};

const KIND: &str = "device_log_append";

fn unbind(reason: UnbindReason) -> LogOp {
    LogOp::Unbind { reason }
}

/// Ada binds a laptop, approves a phone and renames it, binds a server and replaces the laptop by it; the phone
/// removes itself, and the account is deleted.
fn story() -> Realm {
    let mut realm = Realm::new();
    realm.bind("ada", 1);
    realm.link("ada", 2, 1);
    let token = realm.token("ada", 2);
    let label = "phone".parse().ok();
    realm.append("ada", &LogOp::Attest { label, kind: Some(DeviceKind::Other) }, 2, token, 2);
    realm.bind("ada", 3);
    realm.replace("ada", 1, 3);
    realm.append("ada", &unbind(UnbindReason::Itself), 2, Authority::Itself, 2);
    realm.append("ada", &unbind(UnbindReason::AccountDeleted), 3, Authority::Service, 200);
    realm
}

pub(super) fn write(book: &mut Book) -> Writing {
    let realm = story();
    let context_of = book.share("ada's context", context(&realm, "ada"));
    let all = entries(&realm, "ada", u64::MAX)?;
    for (number, entry) in all.iter().enumerate() {
        let before: Vec<&Value> = all.iter().take(number).collect();
        let op = entry["op"].as_str().unwrap_or_default();
        let mut ask = json!({"realm": context_of, "log": before, "entry": entry});
        book.pins(format!("entry {number}, {op}"), KIND, ask.clone())?;
        ask["now"] = entry["ts"].clone();
        book.pins(format!("entry {number}, {op}, live"), KIND, ask.clone())?;
        ask["now"] = json!(entry["ts"].as_u64().unwrap_or_default() + 300_001);
        let name = format!("entry {number}, {op}, live and late");
        book.refuses(name, KIND, ask, Code::Expired)?;
    }
    changed(book, &context_of, &all)?;
    forbidden(book, &context_of)
}

/// One member changed: all are signed.
fn changed(book: &mut Book, context_of: &Value, all: &[Value]) -> Writing {
    let none = Hash::from_bytes(&[0; 32]);
    for (number, entry) in all.iter().enumerate().skip(1) {
        let before: Vec<&Value> = all.iter().take(number).collect();
        for (member, value, code) in [
            ("seq", json!(number + 1), LogConflict),
            ("prev", json!(none), LogConflict),
            ("prev", json!(null), InvalidRequest),
            ("realm", json!(none), BindingInvalid),
            ("ts", json!(entry["ts"].as_u64().unwrap_or_default() + 1), BindingInvalid),
            ("sig", json!("A".repeat(86)), BindingInvalid),
            ("v", json!("messaging/2"), InvalidRequest),
            ("more", json!(1), InvalidRequest),
        ] {
            let mut lie = entry.clone();
            lie[member] = value.clone();
            let name = format!("entry {number} with {member} {value:.8}");
            let ask = json!({"realm": context_of, "log": before, "entry": lie});
            book.refuses(name, KIND, ask, code)?;
        }
    }
    Ok(())
}

/// Well signed, and not for its signer to do. The second device was approved by link.
fn forbidden(book: &mut Book, context_of: &Value) -> Writing {
    let mut realm = Realm::new();
    realm.bind("ada", 1);
    realm.link("ada", 2, 1);
    realm.bind("ada", 3);
    let label = made("a label", "desk".parse())?;
    let bind = LogOp::Bind { label, kind: DeviceKind::Laptop };
    let attest = LogOp::Attest { label: None, kind: None };
    let log = entries(&realm, "ada", u64::MAX)?;
    let mut refuse =
        |name: &str, op: &LogOp, about: u8, by: u8, authority| -> Result<(), WriteError> {
            let entry = made("an entry", realm.entry("ada", op, about, authority, by).to_value())?;
            let ask = json!({"realm": context_of, "log": log, "entry": entry});
            book.refuses(name, KIND, ask, BindingInvalid)
        };
    let token = |device| realm.token("ada", device);
    let lost = unbind(UnbindReason::Lost);
    refuse("a second bind", &bind, 1, 1, token(1))?;
    refuse("a bind for another", &bind, 4, 1, token(4))?;
    refuse("a bind with another's token", &bind, 4, 4, token(1))?;
    refuse("a bind of another account", &bind, 4, 4, realm.token("ben", 4))?;
    refuse("a bind by itself", &bind, 4, 4, Authority::Itself)?;
    refuse("an attest for another", &attest, 2, 1, token(1))?;
    refuse("an attest of a stranger", &attest, 4, 4, token(4))?;
    refuse("a removal by a device approved by link", &lost, 1, 2, token(2))?;
    refuse("a removal without a token", &lost, 2, 1, Authority::Itself)?;
    refuse("a loss of oneself", &lost, 1, 1, token(1))?;
    refuse("a departure by another", &unbind(UnbindReason::Itself), 2, 1, Authority::Itself)?;
    let deleted = unbind(UnbindReason::AccountDeleted);
    refuse("a deletion by a device", &deleted, 1, 3, Authority::Service)?;
    refuse("a deletion by another service", &deleted, 1, 201, Authority::Service)
}
