//! What fixes a directory realm: its relay's origin, its issuer, and the first key that signs its tree heads.
//! Spec: §15.8, W3 "directory RealmId"

use alloc::string::String;

use serde_json::json;

use crate::code::Failure;
use crate::ids::{Hash, MachineId};
use crate::jcs;
use crate::url;

/// The id of a directory realm. Two directories never share one, and a change of path changes nothing.
///
/// Errors: `invalid_request` for a URL that is not allowed for a relay.
pub fn directory_realm_id(
    relay_url: &str,
    issuer: &str,
    first_key: &MachineId,
) -> Result<Hash, Failure> {
    let origin = url::origin(relay_url)
        .filter(|_| url::is_allowed_relay_url(relay_url))
        .ok_or(Failure::invalid("url"))?;
    let realm = json!({"kind": "directory", "origin": origin, "issuer": issuer, "key": first_key});
    Ok(jcs::canonical(&realm)?.hash())
}

/// What a verifier must know of a realm before it can judge anything that the realm's directory serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryRealm {
    /// The realm's id.
    pub realm: Hash,
    /// The issuer, exactly as its tokens write `iss`.
    pub issuer: String,
    /// The resource that its tokens name in `aud`.
    pub resource: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::SigningKey;

    #[test]
    fn the_id_is_of_origin_issuer_and_first_key() {
        let key = *SigningKey::from_seed(&[3; 32]).machine();
        let id = |url: &str, issuer: &str, key: &MachineId| directory_realm_id(url, issuer, key);
        let realm = id("wss://relay.example/v1/connect", "https://id.example", &key).unwrap();
        assert_eq!(realm.as_str(), "msOlRpxUxmLXqdiwyKS9eTdFq9c2FMLk_0uT8An4fYo");
        assert_eq!(id("wss://Relay.Example:443", "https://id.example", &key), Ok(realm));
        let other = *SigningKey::from_seed(&[4; 32]).machine();
        assert_ne!(id("wss://relay.example", "https://id.example", &other), Ok(realm));
        assert_ne!(id("wss://relay.example", "https://id.example/", &key), Ok(realm));
        assert_ne!(id("wss://relay.example:8443", "https://id.example", &key), Ok(realm));
        assert!(id("https://relay.example", "https://id.example", &key).is_err());
    }
}
