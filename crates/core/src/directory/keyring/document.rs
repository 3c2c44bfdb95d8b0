//! The two documents of keys, as the account service serves them.
//! Spec: W2.12 `jwks.json`, `jwks-history.json`
//!
//! Members of no known name are ignored, and so are keys of another kind. A document in which an Ed25519 key cannot be
//! read, or two have one name, is no such document: half of one would turn a fault of the service into a refusal of a
//! person.

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::string::String;

use serde_json::Value;

use super::super::jelly_keys::KeyWindow;
use crate::ids::MachineId;
use crate::json;

/// Largest document, bytes.
const DOCUMENT_BYTES: usize = 262_144;

pub(super) fn key_set(text: &[u8]) -> Option<BTreeMap<String, MachineId>> {
    read(text, x)
}

pub(super) fn history(text: &[u8]) -> Option<BTreeMap<String, (MachineId, KeyWindow)>> {
    read(text, |key| {
        let window = KeyWindow {
            nbf: json::decode(key.get("nbf")?).ok()?,
            retired_at: seconds(key.get("retired_at")?)?,
            revoked_at: key.get("revoked_at").map_or(Some(None), seconds)?,
        };
        Some((x(key)?, window))
    })
}

fn read<T>(text: &[u8], of: impl Fn(&Value) -> Option<T>) -> Option<BTreeMap<String, T>> {
    let document = json::parse(text, DOCUMENT_BYTES).ok()?;
    let mut keys = BTreeMap::new();
    for key in document.get("keys")?.as_array()? {
        let is = |name: &str, value: &str| key.get(name).and_then(Value::as_str) == Some(value);
        if !is("kty", "OKP") || !is("crv", "Ed25519") {
            continue;
        }
        let kid = key.get("kid")?.as_str()?.to_owned();
        if keys.insert(kid, of(key)?).is_some() {
            return None;
        }
    }
    Some(keys)
}

fn x(key: &Value) -> Option<MachineId> {
    MachineId::parse(key.get("x")?.as_str()?).ok()
}

/// A time that may be `null`, which is none.
fn seconds(value: &Value) -> Option<Option<u64>> {
    if value.is_null() { Some(None) } else { json::decode(value).ok().map(Some) }
}
