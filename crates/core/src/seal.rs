//! Sealing: a payload becomes an envelope that one device can open; and opening it there.
//! Spec: §5 "Sealing", "Presence"; W3, W4.5, W4.6
//!
//! The same request, ephemeral secret and nonce give the same envelope: randomness is an argument, fresh each time.

mod cipher;
mod open;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

use alloc::string::String;

use serde_json::{Map, Value};

use crate::b64;
use crate::code::{Code, Failure};
use crate::conv::Conv;
use crate::domain::Domain;
use crate::envelope::{Checked, Class, Encoding, End, EnvelopeType, SealedType, check_ends};
use crate::ids::{EncKey, Hash, Nonce12, Sig, Ulid};
use crate::jcs::{self, Canonical};
use crate::keys::{EncSecret, SigningKey};
use crate::limits::{PLAINTEXT_BYTES, PRESENCE_BYTES, TTL_MS};
use crate::meaning::{self, Ends};
use crate::payload::Payload;
use crate::presence::PresencePayload;
use crate::realm::Anchor;
use crate::time::Ms;
use crate::version::Version;

pub use open::Opened;

/// Everything that a sealed envelope is made of, but for its randomness.
#[derive(Clone, Debug)]
pub struct SealRequest<'a> {
    /// Its id.
    pub id: Ulid,
    /// Its type.
    pub kind: SealedType,
    /// The realm.
    pub realm: Hash,
    /// Who sends it; the device is the identity's.
    pub from: &'a End,
    /// The device it is for.
    pub to: &'a End,
    /// When it is sent.
    pub ts: Ms,
    /// Until when it is of use; senders take `ts` + [`TTL_MS`] unless less was asked for.
    pub exp: Ms,
    /// What the sender has seen of the realm.
    pub anchor: Anchor,
    /// The envelope it answers or belongs to.
    pub reply_to: Option<Ulid>,
    /// What it says.
    pub payload: &'a Value,
    /// The key of the device it is for.
    pub recipient: EncKey,
    /// Who signs.
    pub identity: &'a SigningKey,
}

/// An envelope of this machine, ready to be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct SealedEnvelope {
    /// The envelope.
    pub envelope: Value,
    /// Its canonical text.
    pub text: Canonical,
}

impl SealedEnvelope {
    /// The envelope as a recipient on this machine takes it.
    ///
    /// Errors: none for an envelope that was sealed here.
    pub fn into_checked(self) -> Result<Checked, Failure> {
        Checked::read(self.envelope)
    }
}

/// Seals a payload.
///
/// `ephemeral` and `nonce` are fresh random bytes, never used twice. The class follows from the ends and the payload.
///
/// Cost: two X25519 and one signature, then linear in the payload. Errors: `invalid_request` for a payload, ends or times
/// that break a rule, another identity than the sender's, or a recipient key of low order; `too_large` for a payload over
/// [`PLAINTEXT_BYTES`].
pub fn seal(
    request: &SealRequest<'_>,
    ephemeral: [u8; 32],
    nonce: [u8; 12],
) -> Result<SealedEnvelope, Failure> {
    let class = check(request)?;
    let plaintext = jcs::canonical(request.payload)?;
    if plaintext.len() > PLAINTEXT_BYTES {
        return Err(Failure::new(Code::TooLarge, "payload"));
    }
    let ephemeral = EncSecret::from_bytes(ephemeral);
    let header = header(request, class, *ephemeral.public(), Nonce12::from_bytes(&nonce))?;
    let key = cipher::sealing_key(&ephemeral, &request.recipient)?;
    finish(header, request.identity, |aad| {
        cipher::encrypt(&key, &nonce, aad.as_bytes(), plaintext.into_string().into_bytes())
    })
}

/// Signs this machine's presence. It is not sealed: the relay reads it.
///
/// Errors: `invalid_request` for times or an identity that break a rule; `too_large` over [`PRESENCE_BYTES`].
pub fn presence(
    request: &PresenceRequest<'_>,
    identity: &SigningKey,
) -> Result<SealedEnvelope, Failure> {
    check_times(request.ts, request.exp)?;
    if request.from.device != *identity.machine() || request.from.agent.is_some() {
        return Err(Failure::invalid("from"));
    }
    let body = jcs::to_value(request.payload)?;
    if jcs::canonical(&body)?.len() > PRESENCE_BYTES {
        return Err(Failure::new(Code::TooLarge, "body"));
    }
    let mut members =
        common(request.id, request.realm, request.from, request.ts, request.exp, &request.anchor)?;
    insert(&mut members, "type", &EnvelopeType::Presence)?;
    members.insert("to".into(), serde_json::json!({ "team": true }));
    insert(&mut members, "enc", &Encoding::Plain)?;
    members.insert("body".into(), body);
    let mut envelope = Value::Object(members);
    let sig = identity.sign_value(Domain::Envelope, &envelope)?;
    if let Some(members) = envelope.as_object_mut() {
        insert(members, "sig", &sig)?;
    }
    let text = jcs::canonical(&envelope)?;
    Ok(SealedEnvelope { envelope, text })
}

/// Everything that a presence envelope is made of.
#[derive(Clone, Debug)]
pub struct PresenceRequest<'a> {
    /// Its id.
    pub id: Ulid,
    /// The realm.
    pub realm: Hash,
    /// Who sends it, no agent.
    pub from: &'a End,
    /// When it is sent.
    pub ts: Ms,
    /// Until when it is of use.
    pub exp: Ms,
    /// What the sender has seen of the realm.
    pub anchor: Anchor,
    /// What it says; see [`Draft::fit`](crate::presence::Draft::fit).
    pub payload: &'a PresencePayload,
}

/// W4.5 steps 1 and 3: everything but the sizes and the keys.
fn check(request: &SealRequest<'_>) -> Result<Class, Failure> {
    let SealRequest { kind, from, to, reply_to, identity, .. } = request;
    let payload = Payload::read(*kind, request.payload)?;
    let message = match &payload {
        Payload::Message(message) => Some(message),
        _ => None,
    };
    let class = if from.person == to.person {
        Class::Own
    } else if message.is_some_and(|message| matches!(message.conv, Some(Conv::Request {}))) {
        Class::Request
    } else {
        Class::Contact
    };
    check_ends(*kind, from, to, class, reply_to.as_ref())?;
    if let Some(message) = message {
        meaning::check(Ends { from, to, class }, message, request.payload)?;
    }
    check_times(request.ts, request.exp)?;
    if from.device == *identity.machine() {
        Ok(class)
    } else {
        Err(Failure::invalid("from.device"))
    }
}

fn check_times(ts: Ms, exp: Ms) -> Result<(), Failure> {
    if ts <= exp && exp.since(ts) <= TTL_MS { Ok(()) } else { Err(Failure::invalid("exp")) }
}

/// The members of a sealed envelope less `body` and `sig`.
fn header(
    request: &SealRequest<'_>,
    class: Class,
    epk: EncKey,
    nonce: Nonce12,
) -> Result<Map<String, Value>, Failure> {
    let SealRequest { id, kind, realm, from, to, ts, exp, anchor, reply_to, .. } = request;
    let mut members = common(*id, *realm, from, *ts, *exp, anchor)?;
    insert(&mut members, "type", &EnvelopeType::from(*kind))?;
    insert(&mut members, "to", to)?;
    insert(&mut members, "class", &class)?;
    if let Some(reply_to) = reply_to {
        insert(&mut members, "replyTo", reply_to)?;
    }
    insert(&mut members, "enc", &Encoding::Sealed)?;
    insert(&mut members, "epk", &epk)?;
    insert(&mut members, "nonce", &nonce)?;
    Ok(members)
}

fn common(
    id: Ulid,
    realm: Hash,
    from: &End,
    ts: Ms,
    exp: Ms,
    anchor: &Anchor,
) -> Result<Map<String, Value>, Failure> {
    let mut members = Map::new();
    insert(&mut members, "v", &Version)?;
    insert(&mut members, "id", &id)?;
    insert(&mut members, "realm", &realm)?;
    insert(&mut members, "from", from)?;
    insert(&mut members, "ts", &ts)?;
    insert(&mut members, "exp", &exp)?;
    insert(&mut members, "anchor", anchor)?;
    Ok(members)
}

fn insert(
    members: &mut Map<String, Value>,
    name: &str,
    member: &impl serde::Serialize,
) -> Result<(), Failure> {
    members.insert(name.into(), jcs::to_value(member)?);
    Ok(())
}

/// Encrypts with the header as associated data, and signs.
///
/// The header is canonicalized once; the signed text and the whole are that text with a member put in. In the order of
/// the names, `body` stands right before `class` and `sig` right before `to`.
fn finish(
    mut header: Map<String, Value>,
    identity: &SigningKey,
    encrypt: impl FnOnce(&Canonical) -> Result<alloc::vec::Vec<u8>, Failure>,
) -> Result<SealedEnvelope, Failure> {
    let (aad, [class, to]) = jcs::canonical_spans(&header, ["class", "to"])?;
    let body = b64::encode(&encrypt(&aad)?);
    let body_member = member("body", &body);
    let signed = put(aad.as_str(), class.start, &body_member);
    let at = to.start.saturating_add(body_member.len());
    let signed = Canonical::assembled(signed);
    let sig: Sig = identity.sign(Domain::Envelope, &signed);
    let text = put(signed.as_str(), at, &member("sig", sig.as_str()));
    header.insert("body".into(), Value::String(body));
    insert(&mut header, "sig", &sig)?;
    Ok(SealedEnvelope { envelope: Value::Object(header), text: Canonical::assembled(text) })
}

/// A member of base64url text, which needs no escapes, with the comma that follows it.
fn member(name: &str, text: &str) -> String {
    let mut out = String::with_capacity(text.len().saturating_add(16));
    for piece in ["\"", name, "\":\"", text, "\","] {
        out.push_str(piece);
    }
    out
}

fn put(text: &str, at: usize, member: &str) -> String {
    let mut out = String::with_capacity(text.len().saturating_add(member.len()));
    out.push_str(text.get(..at).unwrap_or_default());
    out.push_str(member);
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests;
