//! Opening a sealed body with this device's keys.
//! Spec: §5 step 9, W4.6

use serde_json::Value;
use zeroize::Zeroizing;

use super::cipher;
use crate::b64;
use crate::code::{Code, Failure};
use crate::envelope::{Checked, Sealed};
use crate::json;
use crate::keys::EncSecret;
use crate::limits::PLAINTEXT_BYTES;
use crate::meaning::{self, Ends, Meaning};
use crate::payload::Payload;
use crate::verify::Verified;

/// What a sealed envelope said: its payload, of the right shape and, for a message, with a meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct Opened {
    /// The payload.
    pub payload: Payload,
    /// The payload as it was sealed, unknown members included.
    pub raw: Value,
    /// Which of the keys opened it, the current one being 0.
    pub key: usize,
}

impl Opened {
    /// What a message means; `None` for another type. `checked` is the envelope this was opened from.
    #[must_use]
    pub fn meaning<'a>(&'a self, checked: &'a Checked) -> Option<Meaning<'a>> {
        match (&self.payload, checked.envelope().sealed()) {
            (Payload::Message(message), Some(sealed)) => {
                meaning::check(ends(checked, sealed), message, &self.raw).ok()
            }
            _ => None,
        }
    }
}

impl Verified<'_> {
    /// Opens the body with this device's private keys: the current one, then replaced ones, the newest first.
    ///
    /// Cost: one X25519 a key tried, then linear in the body. Errors: `bad_signature` when no key opens it, whatever the
    /// reason; `too_large` for a payload over [`PLAINTEXT_BYTES`]; `invalid_request` for a payload that is not strict
    /// JSON, not of its type's shape, or a message that breaks the rules of its meaning, and for presence, which has
    /// nothing to open.
    pub fn open(&self, keys: &[&EncSecret]) -> Result<Opened, Failure> {
        open(self.checked(), keys)
    }
}

pub(super) fn open(checked: &Checked, keys: &[&EncSecret]) -> Result<Opened, Failure> {
    let sealed = checked.envelope().sealed().ok_or(Failure::invalid("enc"))?;
    let (plaintext, key) = decrypt(checked, sealed, keys)?;
    if plaintext.len() > PLAINTEXT_BYTES {
        return Err(Failure::new(Code::TooLarge, "body"));
    }
    let raw = json::parse(&plaintext, PLAINTEXT_BYTES)?;
    let payload = Payload::read(sealed.kind, &raw)?;
    if let Payload::Message(message) = &payload {
        meaning::check(ends(checked, sealed), message, &raw)?;
    }
    Ok(Opened { payload, raw, key })
}

fn ends<'a>(checked: &'a Checked, sealed: &'a Sealed) -> Ends<'a> {
    Ends { from: &checked.envelope().from, to: &sealed.to, class: sealed.class }
}

fn decrypt(
    checked: &Checked,
    sealed: &Sealed,
    keys: &[&EncSecret],
) -> Result<(Zeroizing<alloc::vec::Vec<u8>>, usize), Failure> {
    // One opaque refusal for every failure of the seal: which it was helps only an attacker.
    let failure = Failure::new(Code::BadSignature, "body");
    let mut buffer = Zeroizing::new(b64::decode(checked.sealed_body().ok_or(failure)?)?);
    let header = checked.header_text();
    let nonce = sealed.nonce.to_bytes();
    for (index, own) in keys.iter().enumerate() {
        let opens = cipher::opening_key(own, &sealed.epk)
            .is_some_and(|key| cipher::decrypt(&key, &nonce, header.as_bytes(), &mut buffer));
        if opens {
            return Ok((buffer, index));
        }
    }
    Err(failure)
}
