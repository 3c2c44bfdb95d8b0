//! A binding token: the account service's word that a device is an account's.
//! Spec: §15.2, W2.12, W4.15
//!
//! | step | what                                              | refusal           |
//! |------|---------------------------------------------------|-------------------|
//! | 1    | three segments, the header, the claims' shape     | `binding_invalid` |
//! | 2    | the key named by `kid`, and its window over `iat` | `binding_invalid`, `jelly_unavailable` |
//! | 3    | the signature                                     | `binding_invalid` |
//! | 4    | issuer and resource, exactly                      | `binding_invalid` |
//! | 5    | at most 900 s of life; live: not over, not ahead  | `binding_invalid` |
//! | 6    | a host or a sign-in, and the key it binds         | `binding_invalid` |
//!
//! A token is never printed: whoever holds a live one can bind a device with it.

use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{DirectoryRealm, JellyKeys, person};
use crate::bounded::Str;
use crate::code::{Code, Failure};
use crate::ids::{AccountId, Email, HostId, HostedPerson, MachineId};
use crate::json;
use crate::jws::Jws;
use crate::keys::PublicKey;
use crate::limits::{CLOCK_SKEW_MS, JELLY_IAT_AHEAD_MS, JELLY_TOKEN_LIFE_S, LOG_ENTRY_BYTES};
use crate::time::Ms;

/// A token that has the right shape. Nothing is said yet about its key, its signature or its time.
#[derive(Clone)]
pub struct JellyToken<'a> {
    jws: Jws<'a>,
    kid: String,
    claims: Claims,
}

/// What a token says. Claims of a later contract are not kept.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// The issuer.
    pub iss: String,
    /// The resource it is for.
    pub aud: String,
    /// The account.
    pub sub: AccountId,
    /// The account's address, which the issuer verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<Email>,
    #[serde(skip_serializing_if = "Option::is_none")]
    email_verified: Option<bool>,
    /// The account's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Str<1, 200>>,
    /// The host that asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hst: Option<HostId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    src: Option<Source>,
    /// Issued at, Unix seconds.
    pub iat: u64,
    /// Ends at, Unix seconds.
    pub exp: u64,
    /// The token's own name.
    pub jti: Str<1, 200>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cnf: Option<Confirmation>,
}

/// How a token came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MintedBy<'a> {
    /// A host asked for it.
    Host(&'a HostId),
    /// A person approved a code in a browser: it vouches for one act.
    SignIn,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Source {
    #[serde(rename = "device")]
    Device,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Confirmation {
    jwk: Jwk,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Jwk {
    kty: KeyType,
    crv: Curve,
    x: MachineId,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum KeyType {
    #[serde(rename = "OKP")]
    Okp,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Curve {
    Ed25519,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    alg: String,
    typ: String,
    kid: String,
}

fn invalid(at: &'static str) -> Failure {
    Failure::new(Code::BindingInvalid, at)
}

impl<'a> JellyToken<'a> {
    /// Reads a token: step 1.
    ///
    /// Errors: `binding_invalid`.
    pub fn decode(text: &'a str) -> Result<Self, Failure> {
        let jws = Jws::read(text, LOG_ENTRY_BYTES).ok_or(invalid("token"))?;
        let header: Header = json::decode(&jws.header).map_err(|_| invalid("token.header"))?;
        if header.alg != "EdDSA" || header.typ != "jelly-resource+jwt" {
            return Err(invalid("token.header"));
        }
        let printable = header.kid.bytes().all(|byte| byte.is_ascii_graphic());
        if header.kid.is_empty() || header.kid.len() > KID_CHARS || !printable {
            return Err(invalid("token.kid"));
        }
        let claims: Claims = json::decode(&jws.claims).map_err(|_| invalid("token.claims"))?;
        if claims.email_verified != claims.email.is_some().then_some(true) {
            return Err(invalid("token.email_verified"));
        }
        Ok(Self { jws, kid: header.kid, claims })
    }

    /// The name of the key that it says signed it.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// Every claim, those of a later contract included, unverified.
    #[must_use]
    pub fn raw_claims(&self) -> &Value {
        &self.jws.claims
    }

    /// What it claims, unverified.
    #[must_use]
    pub fn claims(&self) -> &Claims {
        &self.claims
    }

    /// Verifies it: steps 2 to 6. With `device`, it must be bound to that key; with `now`, it must be live.
    ///
    /// Cost: one signature check. Errors: as the table of this module.
    pub fn verify(
        &self,
        realm: &DirectoryRealm,
        keys: &dyn JellyKeys,
        device: Option<&MachineId>,
        now: Option<Ms>,
    ) -> Result<&Claims, Failure> {
        let claims = &self.claims;
        let key = keys.key(&self.kid)?;
        let key = key.at(claims.iat).ok_or(invalid("token.kid"))?;
        if !self.jws.is_signed_by(key) {
            return Err(invalid("token.sig"));
        }
        if claims.iss != realm.issuer {
            return Err(invalid("token.iss"));
        }
        if claims.aud != realm.resource {
            return Err(invalid("token.aud"));
        }
        claims.check_time(now)?;
        claims.check_binding(device)?;
        Ok(claims)
    }
}

impl Claims {
    /// The person it names.
    ///
    /// Errors: none for claims that were read.
    pub fn person(&self) -> Result<HostedPerson, Failure> {
        person::of_account(&self.iss, &self.sub)
    }

    /// How it came to be; `None` for a token that says both or neither, which verifies nowhere.
    #[must_use]
    pub fn minted_by(&self) -> Option<MintedBy<'_>> {
        match (&self.hst, self.src) {
            (Some(host), None) => Some(MintedBy::Host(host)),
            (None, Some(Source::Device)) => Some(MintedBy::SignIn),
            _ => None,
        }
    }

    /// The key that it binds, if it binds one.
    #[must_use]
    pub fn device(&self) -> Option<&MachineId> {
        self.cnf.as_ref().map(|cnf| &cnf.jwk.x)
    }

    /// The issue as a time.
    #[must_use]
    pub fn issued(&self) -> Ms {
        Ms(self.iat.saturating_mul(1_000))
    }

    /// The end as a time.
    #[must_use]
    pub fn ends(&self) -> Ms {
        Ms(self.exp.saturating_mul(1_000))
    }

    /// Whether an entry written at `ts` carries it in its time: freshness at the append. Spec: §15.3 rule 6
    #[must_use]
    pub fn is_fresh_at(&self, ts: Ms) -> bool {
        self.issued().minus(CLOCK_SKEW_MS) <= ts && ts <= self.ends().plus(CLOCK_SKEW_MS)
    }

    fn check_time(&self, now: Option<Ms>) -> Result<(), Failure> {
        if !(1..=JELLY_TOKEN_LIFE_S).contains(&self.exp.saturating_sub(self.iat)) {
            return Err(invalid("token.exp"));
        }
        match now {
            Some(now) if self.ends() <= now => Err(invalid("token.exp")),
            Some(now) if self.issued() > now.plus(JELLY_IAT_AHEAD_MS) => Err(invalid("token.iat")),
            _ => Ok(()),
        }
    }

    fn check_binding(&self, device: Option<&MachineId>) -> Result<(), Failure> {
        let minted = self.minted_by().ok_or(invalid("token.hst"))?;
        let bound = self.device();
        if bound.is_some_and(|key| PublicKey::of(key).is_none()) {
            return Err(invalid("token.cnf"));
        }
        if (minted == MintedBy::SignIn && bound.is_none()) || (device.is_some() && device != bound)
        {
            return Err(invalid("token.cnf"));
        }
        Ok(())
    }
}

/// Longest name of a key, characters.
const KID_CHARS: usize = 200;

impl fmt::Debug for JellyToken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JellyToken")
    }
}

impl fmt::Debug for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Claims")
    }
}

#[cfg(test)]
mod tests;
