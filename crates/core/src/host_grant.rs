//! What a supervising host signs: grants for single calls, grants for its own, and tickets for sessions.
//! Spec: §8.11 "Action grants", "Host-scope grants", "Session tickets"; D5.5-D5.7
//!
//! On such a host every program can open the daemon's sockets, so the host's key stands for a person's consent to one
//! call: to a method, with these very parameters, within a minute.

mod ledger;
mod ticket;

use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::code::{Code, Failure};
use crate::ids::{Hash, MachineId};
use crate::jcs;
use crate::json;
use crate::jws::Jws;
use crate::keys::PublicKey;
use crate::time::Ms;

pub use ledger::GrantLedger;
pub use ticket::SessionTicket;

/// Largest key file, bytes.
const KEY_BYTES: usize = 4_096;
/// Largest grant or ticket, bytes.
const JWS_BYTES: usize = 8_192;
/// Clock difference that is tolerated, s.
const SKEW_S: u64 = 5;
/// Longest life of a method grant, s.
const METHOD_LIFE_S: u64 = 60;
/// Longest life of a host-scope grant, s.
const HOST_LIFE_S: u64 = 600;
/// Longest name of a grant, characters.
const JTI_CHARS: usize = 128;
/// Whom grants and tickets are for.
const AUDIENCE: &str = "@joe-broadhead/opencode-messaging#service";

/// A host's public action key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionKey {
    key: PublicKey,
    kid: Option<String>,
}

/// The key file: a public Ed25519 JWK and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFile {
    kty: String,
    crv: String,
    x: MachineId,
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alg: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#use: Option<String>,
}

impl ActionKey {
    /// Reads a key file.
    ///
    /// Errors: `invalid_request` for anything but a public Ed25519 JWK with a usable key, a private one included.
    pub fn read(text: &[u8]) -> Result<Self, Failure> {
        let file: KeyFile = json::decode(&json::parse(text, KEY_BYTES)?)
            .map_err(|_| Failure::invalid("action key"))?;
        if file.kty != "OKP" || file.crv != "Ed25519" {
            return Err(Failure::invalid("action key"));
        }
        Self::new(&file.x, file.kid)
    }

    /// The key of an id, and the name that headers must give it.
    ///
    /// Errors: `invalid_request` for a key that is not usable.
    pub fn new(x: &MachineId, kid: Option<String>) -> Result<Self, Failure> {
        let key = PublicKey::of(x).ok_or(Failure::invalid("action key.x"))?;
        Ok(Self { key, kid })
    }

    /// Reads a token that this key signed: its claims, when `typ` is what the header says.
    fn open<'a>(&self, text: &'a str, typ: &str) -> Option<Jws<'a>> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Header {
            alg: String,
            typ: String,
            kid: String,
        }
        let jws = Jws::read(text, JWS_BYTES)?;
        let header: Header = json::decode(&jws.header).ok()?;
        let named = self.kid.as_ref().is_none_or(|kid| *kid == header.kid);
        let good = header.alg == "EdDSA" && header.typ == typ && named;
        (good && jws.is_signed_by(&self.key)).then_some(jws)
    }

    /// Verifies a grant for a call. Whether it was spent is the [`GrantLedger`]'s question.
    ///
    /// Cost: one signature check. Errors: `grant_required` without a grant, `grant_invalid` otherwise.
    pub fn verify_grant(&self, grant: Option<&str>, call: &Call<'_>) -> Result<Grant, Failure> {
        let grant = grant.ok_or(Failure::new(Code::GrantRequired, "grant"))?;
        let invalid = |at| Failure::new(Code::GrantInvalid, at);
        let jws = self.open(grant, "jelly-act+jwt").ok_or(invalid("grant"))?;
        let claims: Claims = json::decode(&jws.claims).map_err(|_| invalid("grant.claims"))?;
        if claims.aud != AUDIENCE {
            return Err(invalid("grant.aud"));
        }
        let scope = if claims.act == HOST_ACT { GrantScope::Host } else { GrantScope::Method };
        let life = match scope {
            GrantScope::Host => HOST_LIFE_S,
            GrantScope::Method => METHOD_LIFE_S,
        };
        if !is_in_time(claims.iat, claims.exp, life, call.now) {
            return Err(invalid("grant.exp"));
        }
        let fits = match scope {
            GrantScope::Host => claims.r#in.is_none() && claims.cls.is_none() && call.in_host_scope,
            GrantScope::Method => {
                claims.act == call.method
                    && claims.cls.as_deref() == Some(call.class)
                    && claims.r#in == Some(params_digest(call.params)?)
            }
        };
        if !fits {
            return Err(invalid("grant.act"));
        }
        let jti = claims.jti;
        let printable = jti.bytes().all(|byte| (0x20..0x7f).contains(&byte));
        if jti.is_empty() || jti.len() > JTI_CHARS || !printable {
            return Err(invalid("grant.jti"));
        }
        Ok(Grant { scope, jti, exp: claims.exp, dev: claims.dev, mbr: claims.mbr })
    }
}

/// The method name that stands for the host's own scope.
const HOST_ACT: &str = "host";

/// A call that wants a grant.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The method.
    pub method: &'a str,
    /// Its action class, as grants write it.
    pub class: &'a str,
    /// Whether a host-scope grant admits it.
    pub in_host_scope: bool,
    /// The parameters as sent; absent ones count as `{}`.
    pub params: Option<&'a Value>,
    /// The clock.
    pub now: Ms,
}

/// What a grant is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GrantScope {
    /// One call.
    Method,
    /// The host's own methods, on one connection, until it ends.
    Host,
}

/// A grant that the host's key signed for a call.
#[derive(Clone, PartialEq, Eq)]
pub struct Grant {
    /// What it is for.
    pub scope: GrantScope,
    /// Its name, by which it is spent.
    pub jti: String,
    /// When it ends, Unix seconds.
    pub exp: u64,
    /// The host's device, for the log; it gives no authority.
    pub dev: Option<String>,
    /// The member of the host who acted, for the log; it gives no authority.
    pub mbr: Option<String>,
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Grant({:?})", self.scope)
    }
}

#[derive(Deserialize)]
struct Claims {
    aud: String,
    act: String,
    r#in: Option<Hash>,
    cls: Option<String>,
    iat: u64,
    exp: u64,
    jti: String,
    dev: Option<String>,
    mbr: Option<String>,
}

/// The digest of a call's parameters that a method grant names.
///
/// Errors: `invalid_request` for parameters that do not canonicalize.
pub fn params_digest(params: Option<&Value>) -> Result<Hash, Failure> {
    let text = match params {
        Some(params) => jcs::canonical(params)?,
        None => jcs::canonical(&json!({}))?,
    };
    Ok(text.hash())
}

/// A life of one second to `most`, begun and not over by a clock that may be off by five seconds.
fn is_in_time(iat: u64, exp: u64, most: u64, now: Ms) -> bool {
    let now = now.0 / 1_000;
    (1..=most).contains(&exp.saturating_sub(iat))
        && iat <= now.saturating_add(SKEW_S)
        && exp.saturating_add(SKEW_S) >= now
}

#[cfg(test)]
mod tests;
