//! An envelope whose shape holds, together with the exact value that arrived.
//! Spec: §5 step 1, W4.1, W4.4 step 2

use core::ops::Range;

use serde_json::Value;

use super::{Content, Envelope, Shape};
use crate::code::Failure;
use crate::domain::Domain;
use crate::ids::{Hash, Sig};
use crate::jcs::{self, Canonical};
use crate::json;
use crate::keys::PublicKey;

/// An envelope from outside: parsed, I-JSON, of the right shape, its header in agreement with itself.
///
/// It was canonicalized once; what is signed and what the seal authenticates are cut out of that text. Nothing here was
/// believed yet: only [`Verified`](crate::verify::Verified) was.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    envelope: Envelope,
    sig: Sig,
    raw: Value,
    text: Canonical,
    body: Range<usize>,
    sig_span: Range<usize>,
}

impl Checked {
    /// Checks a parsed envelope. The size of its frame is the caller's matter.
    ///
    /// Cost: one walk for the shape and one for the canonical text. Errors: `invalid_request`.
    pub fn read(raw: Value) -> Result<Self, Failure> {
        let members = raw.as_object().ok_or(Failure::invalid("envelope"))?;
        let (envelope, sig) = json::decode::<Shape>(&raw)?.check()?;
        let (text, [body, sig_span]) = jcs::canonical_spans(members, ["body", "sig"])?;
        Ok(Self { envelope, sig, raw, text, body, sig_span })
    }

    /// The header and what it says of the body.
    #[must_use]
    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// The value as it arrived, unknown members included.
    #[must_use]
    pub fn raw(&self) -> &Value {
        &self.raw
    }

    /// The value as it arrived.
    #[must_use]
    pub fn into_raw(self) -> Value {
        self.raw
    }

    /// Its canonical text: what a relay stores and sends on.
    #[must_use]
    pub fn text(&self) -> &Canonical {
        &self.text
    }

    /// The hash by which a resend is told from another envelope of the same id. Spec: W3 "resend identity"
    #[must_use]
    pub fn digest(&self) -> Hash {
        self.text.hash()
    }

    /// The canonical text that the signature covers: everything but `sig`.
    #[must_use]
    pub fn signed_text(&self) -> Canonical {
        self.text.cut(core::slice::from_ref(&self.sig_span))
    }

    /// The canonical text that the seal authenticates: everything but `body` and `sig`.
    #[must_use]
    pub fn header_text(&self) -> Canonical {
        // "body" sorts before "sig", and "v" after both: the spans are in order and a member follows each.
        self.text.cut(&[self.body.clone(), self.sig_span.clone()])
    }

    /// The size of the header, bytes of JCS.
    #[must_use]
    pub fn header_bytes(&self) -> usize {
        // Each of the two members goes with one comma.
        let cut = self.body.len().saturating_add(self.sig_span.len()).saturating_add(2);
        self.text.len().saturating_sub(cut)
    }

    /// The size of the body: characters of base64url, or bytes of JCS for presence.
    #[must_use]
    pub fn body_len(&self) -> usize {
        match &self.envelope.content {
            Content::Sealed(_) => self.sealed_body().map_or(0, str::len),
            Content::Presence(_) => self.body.len().saturating_sub("\"body\":".len()),
        }
    }

    /// The sealed body, base64url; `None` for presence.
    #[must_use]
    pub fn sealed_body(&self) -> Option<&str> {
        self.raw.get("body").and_then(Value::as_str)
    }

    /// The signature.
    #[must_use]
    pub fn sig(&self) -> &Sig {
        &self.sig
    }

    /// Whether the signature verifies under `key`.
    ///
    /// It needs nothing but the envelope, so many can be judged at once; the verdict is then handed to
    /// [`verify`](crate::verify::verify), which gives it its place in the order. Cost: one strict Ed25519 verification.
    #[must_use]
    pub fn signature_verdict(&self, key: &PublicKey) -> bool {
        key.verify(Domain::Envelope, &self.signed_text(), &self.sig)
    }
}
