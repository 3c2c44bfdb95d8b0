//! An issuer double: signs tokens with a fixed key, for tests, vectors and simulations.
//! Spec: §9 `signJellyToken`, §15.2

use alloc::format;
use alloc::string::String;

use ed25519_dalek::Signer as _;
use serde_json::{Value, json};

use super::super::{DirectoryRealm, JellyKey, JellyKeyArchive, KeyWindow, person_id};
use crate::b64;
use crate::ids::{Hash, HostedPerson, MachineId};
use crate::time::Ms;

/// An account service that signs whatever it is asked to.
#[derive(Clone, Debug)]
pub struct Issuer {
    seed: [u8; 32],
    kid: &'static str,
}

/// The issuer, as tokens write it.
pub const ISSUER: &str = "https://id.example";
/// The resource that tokens are for.
pub const RESOURCE: &str = "https://messaging.example";

impl Issuer {
    /// The issuer of a seed and the name of its key.
    #[must_use]
    pub fn new(seed: [u8; 32], kid: &'static str) -> Self {
        Self { seed, kid }
    }

    /// Its public key.
    #[must_use]
    pub fn public(&self) -> MachineId {
        let key = ed25519_dalek::SigningKey::from_bytes(&self.seed);
        MachineId::from_bytes(key.verifying_key().as_bytes())
    }

    /// An archive of its key, in use since the epoch.
    #[must_use]
    pub fn archive(&self) -> JellyKeyArchive {
        let key = JellyKey::new(self.public(), Some(KeyWindow::default()));
        JellyKeyArchive::new([(String::from(self.kid), key)])
    }

    /// Signs claims under its header.
    #[must_use]
    pub fn sign(&self, claims: &Value) -> String {
        self.sign_with(
            &json!({"alg": "EdDSA", "typ": "jelly-resource+jwt", "kid": self.kid}),
            claims,
        )
    }

    /// Signs claims under any header.
    #[must_use]
    pub fn sign_with(&self, header: &Value, claims: &Value) -> String {
        let segment = |value: &Value| b64::encode(format!("{value}").as_bytes());
        let signed = format!("{}.{}", segment(header), segment(claims));
        let key = ed25519_dalek::SigningKey::from_bytes(&self.seed);
        format!("{signed}.{}", b64::encode(&key.sign(signed.as_bytes()).to_bytes()))
    }

    /// A host's token for a device, issued at `at` and good for 900 s.
    #[must_use]
    pub fn host_token(&self, account: &str, device: &MachineId, at: Ms) -> String {
        self.sign(&host_claims(account, device, at))
    }

    /// A browser sign-in's token for a device, issued at `at` and good for 900 s.
    #[must_use]
    pub fn sign_in_token(&self, account: &str, device: &MachineId, at: Ms, jti: &str) -> String {
        let mut claims = host_claims(account, device, at);
        if let Some(claims) = claims.as_object_mut() {
            claims.remove("hst");
            claims.insert("src".into(), json!("device"));
            claims.insert("jti".into(), json!(jti));
        }
        self.sign(&claims)
    }
}

/// The claims of a host's token.
#[must_use]
pub fn host_claims(account: &str, device: &MachineId, at: Ms) -> Value {
    let iat = at.0 / 1_000;
    json!({
        "iss": ISSUER, "aud": RESOURCE, "sub": format!("acc_{account}"),
        "email": format!("{account}@example.org"), "email_verified": true, "name": account,
        "hst": "hst_1", "iat": iat, "exp": iat.saturating_add(900), "jti": format!("{account}-{at}"),
        "cnf": {"jwk": {"kty": "OKP", "crv": "Ed25519", "x": device}},
    })
}

/// A realm of this issuer.
#[must_use]
pub fn realm(id: Hash) -> DirectoryRealm {
    DirectoryRealm { realm: id, issuer: ISSUER.into(), resource: RESOURCE.into() }
}

/// The person of an account, which is named without its prefix.
///
/// # Panics
/// For a name that is no account's.
#[must_use]
pub fn person(account: &str) -> HostedPerson {
    person_id(ISSUER, &format!("acc_{account}")).expect("an account")
}
