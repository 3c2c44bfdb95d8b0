//! Sealing without the checks, and with its inner values shown: for vectors and tests only.

use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Map, Value};

use super::{Opened, SealRequest, SealedEnvelope, check, cipher, finish, header};
use crate::code::Failure;
use crate::envelope::Checked;
use crate::ids::{EncKey, Nonce12};
use crate::jcs::{self, Canonical};
use crate::keys::{EncSecret, SigningKey};

/// The values inside one seal.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The associated data: the canonical header.
    pub aad: Canonical,
    /// The canonical payload.
    pub plaintext: Canonical,
    /// The key of the cipher.
    pub key: [u8; 32],
}

/// The values inside the seal of this request.
///
/// Errors: as [`seal`](super::seal).
pub fn trace(
    request: &SealRequest<'_>,
    ephemeral: [u8; 32],
    nonce: [u8; 12],
) -> Result<Trace, Failure> {
    let class = check(request)?;
    let ephemeral = EncSecret::from_bytes(ephemeral);
    let header = header(request, class, *ephemeral.public(), Nonce12::from_bytes(&nonce))?;
    Ok(Trace {
        aad: jcs::canonical(&Value::Object(header))?,
        plaintext: jcs::canonical(request.payload)?,
        key: *cipher::sealing_key(&ephemeral, &request.recipient)?,
    })
}

/// Seals any bytes under any header: nothing is checked but that the header has `class` and `to`.
///
/// `epk` and `nonce` are added to the header. Errors: `invalid_request`.
pub fn seal_bytes(
    mut header: Map<String, Value>,
    plaintext: Vec<u8>,
    recipient: &EncKey,
    identity: &SigningKey,
    ephemeral: [u8; 32],
    nonce: [u8; 12],
) -> Result<SealedEnvelope, Failure> {
    let ephemeral = EncSecret::from_bytes(ephemeral);
    super::insert(&mut header, "epk", ephemeral.public())?;
    super::insert(&mut header, "nonce", &Nonce12::from_bytes(&nonce))?;
    let key = cipher::sealing_key(&ephemeral, recipient)?;
    finish(header, identity, |aad| cipher::encrypt(&key, &nonce, aad.as_bytes(), plaintext))
}

/// Opens an envelope that nobody verified.
///
/// Errors: as [`Verified::open`](crate::verify::Verified::open), which is what a receiver calls.
pub fn open_unverified(checked: &Checked, keys: &[&EncSecret]) -> Result<Opened, Failure> {
    super::open::open(checked, keys)
}
