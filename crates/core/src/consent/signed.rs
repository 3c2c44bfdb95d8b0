//! Signing grants and cards, and verifying those of others.
//! Spec: §6.9 `verifyConsentGrant`, `verifyContactCard`, W4.11
//!
//! | step | what                                             | refusal           |
//! |------|--------------------------------------------------|-------------------|
//! | 1    | the shape, its rules, I-JSON                     | `invalid_request` |
//! | 2    | 2 KiB of canonical text                          | `too_large`       |
//! | 3    | the realm, and the person or persons             | `invalid_request` |
//! | 4    | the signature of `by`, over the raw value        | `bad_signature`   |
//!
//! Whether `by` is a current device of the person is asked of the realm, by whoever uses the result.

use core::ops::Deref;

use serde::Serialize;
use serde_json::{Value, json};

use super::{CardCan, CardSeq, ConsentGrant, ContactCard, Levels, Subject};
use crate::code::{Code, Failure};
use crate::domain::Domain;
use crate::ids::{Hash, MachineId, PersonId, Ulid};
use crate::jcs::{self, Canonical};
use crate::keys::{PublicKey, SigningKey};
use crate::limits::{CARD_BYTES, GRANT_BYTES};
use crate::time::Ms;
use crate::version::Version;

/// A grant that its signer signed, with the value that was signed: members of later versions stay covered.
///
/// ```compile_fail
/// use messaging_core::consent::{ConsentGrant, VerifiedGrant};
/// fn believe(grant: ConsentGrant, raw: serde_json::Value) -> VerifiedGrant {
///     VerifiedGrant { grant, raw }
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct VerifiedGrant {
    grant: ConsentGrant,
    raw: Value,
}

/// A card that its signer signed, with the value that was signed.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifiedCard {
    card: ContactCard,
    raw: Value,
}

/// Verifies a grant of `person` in `realm`; the first step that fails decides the code.
///
/// Cost: one signature check. Errors: as the table above.
pub fn verify_grant(raw: Value, realm: &Hash, person: &PersonId) -> Result<VerifiedGrant, Failure> {
    let grant = ConsentGrant::read(&raw)?;
    fits(&raw, GRANT_BYTES, "grant")?;
    if grant.realm != *realm {
        return Err(Failure::invalid("grant.realm"));
    }
    if grant.person != *person {
        return Err(Failure::invalid("grant.person"));
    }
    signed(&grant.by, Domain::Grant, &raw, "grant.sig")?;
    Ok(VerifiedGrant { grant, raw })
}

/// Verifies a card of `from` for `to` in `realm`; the first step that fails decides the code.
///
/// Cost: one signature check. Errors: as the table above.
pub fn verify_card(
    raw: Value,
    realm: &Hash,
    from: &PersonId,
    to: &PersonId,
) -> Result<VerifiedCard, Failure> {
    let card = ContactCard::read(&raw)?;
    fits(&raw, CARD_BYTES, "card")?;
    if card.realm != *realm {
        return Err(Failure::invalid("card.realm"));
    }
    if card.from != *from {
        return Err(Failure::invalid("card.from"));
    }
    if card.to != *to {
        return Err(Failure::invalid("card.to"));
    }
    signed(&card.by, Domain::Card, &raw, "card.sig")?;
    Ok(VerifiedCard { card, raw })
}

/// Signs a grant, given as the object without its signature. Members of no known name are signed too.
///
/// Errors: `invalid_request` for a broken rule, or a `by` that is not this key; `too_large` over 2 KiB.
pub fn sign_grant(fields: Value, key: &SigningKey) -> Result<VerifiedGrant, Failure> {
    let raw = sign(fields, Domain::Grant, key)?;
    let grant = ConsentGrant::read(&raw)?;
    if grant.by != *key.machine() {
        return Err(Failure::invalid("grant.by"));
    }
    fits(&raw, GRANT_BYTES, "grant")?;
    Ok(VerifiedGrant { grant, raw })
}

/// Signs a card, given as the object without its signature. Members of no known name are signed too.
///
/// Errors: `invalid_request` for a broken rule, or a `by` that is not this key; `too_large` over 2 KiB.
pub fn sign_card(fields: Value, key: &SigningKey) -> Result<VerifiedCard, Failure> {
    let raw = sign(fields, Domain::Card, key)?;
    let card = ContactCard::read(&raw)?;
    if card.by != *key.machine() {
        return Err(Failure::invalid("card.by"));
    }
    fits(&raw, CARD_BYTES, "card")?;
    Ok(VerifiedCard { card, raw })
}

/// What a new grant is to say. Its signer is the key that signs it.
#[derive(Clone, Debug, Serialize)]
pub struct GrantDraft<'a> {
    /// The realm.
    pub realm: Hash,
    /// A fresh id.
    pub id: Ulid,
    /// Whose grant it is.
    pub person: &'a PersonId,
    /// Signed at: the clock, but later than the grant it replaces, so that it wins wherever both arrive.
    pub ts: Ms,
    /// Whom it is about.
    pub subject: &'a Subject,
    /// What it says; nothing is a clear.
    #[serde(flatten)]
    pub levels: Levels,
}

impl GrantDraft<'_> {
    /// Signs it.
    ///
    /// Errors: as [`sign_grant`].
    pub fn sign(&self, key: &SigningKey) -> Result<VerifiedGrant, Failure> {
        sign_grant(with_head(jcs::to_value(self)?, key), key)
    }
}

/// What a new card is to say. Its signer is the key that signs it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CardDraft<'a> {
    /// The realm.
    pub realm: Hash,
    /// Whose card it is.
    pub from: &'a PersonId,
    /// Whom it is for.
    pub to: &'a PersonId,
    /// Higher than that of every card before.
    pub seq: CardSeq,
    /// Signed at.
    pub ts: Ms,
    /// The grant it tells about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant_id: Option<Ulid>,
    /// What `to` may send.
    pub can: CardCan,
}

impl CardDraft<'_> {
    /// Signs it.
    ///
    /// Errors: as [`sign_card`].
    pub fn sign(&self, key: &SigningKey) -> Result<VerifiedCard, Failure> {
        sign_card(with_head(jcs::to_value(self)?, key), key)
    }
}

impl VerifiedGrant {
    /// A grant that this machine verified before, as its store gives it back.
    ///
    /// Errors: `invalid_request` for a value that is no grant; a store that holds one is broken.
    pub fn held(raw: Value) -> Result<Self, Failure> {
        Ok(Self { grant: ConsentGrant::read(&raw)?, raw })
    }

    /// The value that was signed.
    #[must_use]
    pub fn raw(&self) -> &Value {
        &self.raw
    }
}

impl Deref for VerifiedGrant {
    type Target = ConsentGrant;
    fn deref(&self) -> &ConsentGrant {
        &self.grant
    }
}

impl VerifiedCard {
    /// A card that this machine verified before, as its store gives it back.
    ///
    /// Errors: `invalid_request` for a value that is no card; a store that holds one is broken.
    pub fn held(raw: Value) -> Result<Self, Failure> {
        Ok(Self { card: ContactCard::read(&raw)?, raw })
    }

    /// The value that was signed.
    #[must_use]
    pub fn raw(&self) -> &Value {
        &self.raw
    }
}

impl Deref for VerifiedCard {
    type Target = ContactCard;
    fn deref(&self) -> &ContactCard {
        &self.card
    }
}

fn with_head(mut fields: Value, key: &SigningKey) -> Value {
    if let Some(members) = fields.as_object_mut() {
        members.insert("v".into(), json!(Version));
        members.insert("by".into(), json!(key.machine()));
    }
    fields
}

fn sign(mut fields: Value, domain: Domain, key: &SigningKey) -> Result<Value, Failure> {
    let sig = key.sign(domain, &jcs::canonical_without(&fields, "sig")?);
    if let Some(members) = fields.as_object_mut() {
        members.insert("sig".into(), json!(sig));
    }
    Ok(fields)
}

fn fits(raw: &Value, most: usize, at: &'static str) -> Result<Canonical, Failure> {
    let text = jcs::canonical(raw)?;
    if text.len() > most { Err(Failure::new(Code::TooLarge, at)) } else { Ok(text) }
}

fn signed(by: &MachineId, domain: Domain, raw: &Value, at: &'static str) -> Result<(), Failure> {
    if PublicKey::of(by).is_some_and(|key| key.verify_value(domain, raw)) {
        Ok(())
    } else {
        Err(Failure::new(Code::BadSignature, at))
    }
}
