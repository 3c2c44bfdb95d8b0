//! The primitives below the protocol, for the examples that their standards print.

use ed25519_dalek::Signer as _;
use hkdf::Hkdf;
use messaging_core::b64;
use messaging_core::code::Code;
use messaging_core::ids::{MachineId, Sig};
use messaging_core::keys::PublicKey;
use serde_json::json;
use sha2::Sha256;

use super::Op;
use crate::args::{Args, Outcome, Refusal, hex_encode};

pub(super) fn lookup(kind: &str) -> Option<Op> {
    Some(match kind {
        "ed25519_sign" => ed25519_sign,
        "ed25519_verify" => ed25519_verify,
        "hkdf_sha256" => hkdf_sha256,
        _ => return None,
    })
}

/// A signature over bytes as they are: core always signs under a prefix.
fn ed25519_sign(args: &Args<'_>) -> Outcome {
    let key = ed25519_dalek::SigningKey::from_bytes(&args.bytes("seed")?);
    let sig = key.sign(&args.hex("message")?).to_bytes();
    let public = b64::encode(key.verifying_key().as_bytes());
    Ok(json!({"public": public, "sig": b64::encode(&sig)}))
}

fn ed25519_verify(args: &Args<'_>) -> Outcome {
    let (key, sig) = (MachineId::parse(args.text("key")?)?, Sig::parse(args.text("sig")?)?);
    let message = args.hex("message")?;
    match PublicKey::of(&key) {
        Some(key) if key.verify_bytes(&message, &sig) => Ok(json!(true)),
        _ => Err(Code::BadSignature.into()),
    }
}

fn hkdf_sha256(args: &Args<'_>) -> Outcome {
    let (ikm, salt, info) = (args.hex("ikm")?, args.hex("salt")?, args.hex("info")?);
    let size = usize::try_from(args.int("size")?).map_err(|_| Refusal::Case("size"))?;
    let mut okm = vec![0; size];
    Hkdf::<Sha256>::new(Some(&salt), &ikm)
        .expand(&info, &mut okm)
        .map_err(|_| Refusal::Case("size"))?;
    Ok(json!({"okm": hex_encode(&okm)}))
}
