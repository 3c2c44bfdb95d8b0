//! Keys and signatures: usable keys, derivation, signing and verifying under a prefix.

use messaging_core::b64;
use messaging_core::code::{Code, Failure};
use messaging_core::domain::Domain;
use messaging_core::ids::{EncKey, MachineId, Sig};
use messaging_core::jcs;
use messaging_core::keys::{EncSecret, Identity, PublicKey, SigningKey, fingerprint, signed_text};
use serde_json::json;

use super::Op;
use crate::args::{Args, Outcome, Refusal};

pub(super) fn lookup(kind: &str) -> Option<Op> {
    Some(match kind {
        "sign_value" => sign_value,
        "verify_value" => verify_value,
        "usable_key" => usable_key,
        "signing_key" => signing_key,
        "encryption_key" => encryption_key,
        "key_exchange" => key_exchange,
        "import_identity" => import_identity,
        "key_fingerprint" => key_fingerprint,
        _ => return None,
    })
}

/// The signing key of the argument `seed`.
pub(super) fn seed(args: &Args<'_>) -> Result<SigningKey, Refusal> {
    Ok(SigningKey::from_seed(&args.bytes("seed")?))
}

/// What a signature under `domain` covers, as the text it is.
pub(super) fn signed(domain: Domain, text: &jcs::Canonical) -> Result<String, Refusal> {
    String::from_utf8(signed_text(domain, text)).map_err(|_| Refusal::Code(Code::Internal))
}

fn domain(args: &Args<'_>) -> Result<Option<Domain>, Refusal> {
    let prefix = args.text("prefix")?;
    Ok(Domain::ALL.iter().copied().find(|domain| domain.prefix() == prefix))
}

fn sign_value(args: &Args<'_>) -> Outcome {
    let (key, value) = (seed(args)?, args.value("value")?);
    let domain = domain(args)?.ok_or(Refusal::Case("prefix"))?;
    let text = jcs::canonical(value)?;
    Ok(json!({
        "public": key.machine(),
        "signed": signed(domain, &text)?,
        "sig": key.sign_value(domain, value)?,
    }))
}

/// `bad_signature` whatever is wrong: with the key, the prefix, the value or the signature.
fn verify_value(args: &Args<'_>) -> Outcome {
    let (key, value, sig) = (args.text("key")?, args.value("value")?, args.text("sig")?);
    let holds = || -> Option<bool> {
        let domain = domain(args).ok()??;
        let key = PublicKey::of(&MachineId::parse(key).ok()?)?;
        Some(key.verify(domain, &jcs::canonical(value).ok()?, &Sig::parse(sig).ok()?))
    };
    if holds() == Some(true) { Ok(json!(true)) } else { Err(Code::BadSignature.into()) }
}

fn usable_key(args: &Args<'_>) -> Outcome {
    let id = MachineId::parse(args.text("key")?)?;
    match PublicKey::of(&id) {
        Some(key) if key.id() == id => Ok(json!(true)),
        _ => Err(Failure::invalid("key").into()),
    }
}

fn signing_key(args: &Args<'_>) -> Outcome {
    Ok(json!({"public": seed(args)?.machine()}))
}

fn encryption_key(args: &Args<'_>) -> Outcome {
    Ok(json!({"public": EncSecret::from_bytes(args.bytes("private")?).public()}))
}

fn key_exchange(args: &Args<'_>) -> Outcome {
    let public = EncKey::parse(args.text("public")?)?;
    let shared = EncSecret::from_bytes(args.bytes("private")?)
        .agree(&public)
        .ok_or(Failure::invalid("public"))?;
    Ok(json!({"shared": b64::encode(shared.as_ref())}))
}

fn import_identity(args: &Args<'_>) -> Outcome {
    let file = args.object("identity")?;
    let identity = Identity::import(
        &MachineId::parse(file.text("machine")?)?,
        &EncKey::parse(file.text("enc")?)?,
        b64::decode_array(file.text("signingKey")?)?,
        b64::decode_array(file.text("encKey")?)?,
    )?;
    Ok(json!({"machine": identity.machine(), "enc": identity.enc.public()}))
}

fn key_fingerprint(args: &Args<'_>) -> Outcome {
    Ok(json!(fingerprint(&MachineId::parse(args.text("key")?)?)))
}
