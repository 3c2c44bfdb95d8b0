//! Encodings: strict JSON, canonical JSON, base64url, ULIDs and addresses.

use messaging_core::b64;
use messaging_core::code::Failure;
use messaging_core::ids::{Address, Ulid};
use messaging_core::jcs::{self, Canonical};
use messaging_core::json;
use messaging_core::time::Ms;
use serde_json::json;

use super::Op;
use crate::args::{Args, Outcome, Refusal, hex_encode};

pub(super) fn lookup(kind: &str) -> Option<Op> {
    Some(match kind {
        "canonicalize_text" => canonicalize_text,
        "parse_wire_text" => parse_wire_text,
        "base64url_decode" => base64url_decode,
        "base64url_encode" => base64url_encode,
        "ulid_make" => ulid_make,
        "ulid_time" => ulid_time,
        "address_parse" => address_parse,
        _ => return None,
    })
}

fn canonicalize_text(args: &Args<'_>) -> Outcome {
    let text = canonical_of_text(args, usize::MAX)?;
    Ok(json!({"canonical": text.as_str(), "hash": text.hash()}))
}

fn parse_wire_text(args: &Args<'_>) -> Outcome {
    let max_bytes = match args.opt_int("maxBytes")? {
        None => usize::MAX,
        Some(max) => usize::try_from(max).map_err(|_| Refusal::Case("maxBytes"))?,
    };
    let text = canonical_of_text(args, max_bytes)?;
    Ok(json!({"canonical": text.as_str()}))
}

/// The canonical form of the JSON text in `text`, or in `bytes` where no string can hold it.
fn canonical_of_text(args: &Args<'_>, max_bytes: usize) -> Result<Canonical, Refusal> {
    let bytes = match args.opt("bytes") {
        None => args.text("text")?.as_bytes().to_vec(),
        Some(_) => b64::decode(args.text("bytes")?).map_err(|_| Refusal::Case("bytes"))?,
    };
    let value = json::parse(&bytes, max_bytes)?;
    Ok(jcs::canonical(&value)?)
}

fn base64url_decode(args: &Args<'_>) -> Outcome {
    let bytes = b64::decode(args.text("text")?)?;
    match args.opt_int("size")? {
        Some(size) if usize::try_from(size) != Ok(bytes.len()) => {
            Err(Failure::invalid("size").into())
        }
        _ => Ok(json!({"hex": hex_encode(&bytes)})),
    }
}

fn base64url_encode(args: &Args<'_>) -> Outcome {
    Ok(json!({"text": b64::encode(&args.hex("hex")?)}))
}

fn ulid_make(args: &Args<'_>) -> Outcome {
    let random = args.hex("random")?.try_into().map_err(|_| Refusal::Case("random"))?;
    Ok(json!({"ulid": Ulid::try_from_parts(Ms(args.int("ms")?), random)?}))
}

fn ulid_time(args: &Args<'_>) -> Outcome {
    Ok(json!({"ms": Ulid::parse(args.text("ulid")?)?.time()}))
}

fn address_parse(args: &Args<'_>) -> Outcome {
    let address = Address::parse(args.text("text")?)?;
    let mut parts = json!({"person": address.person, "session": address.session});
    if let (Some(label), Some(parts)) = (address.label, parts.as_object_mut()) {
        parts.insert("label".to_owned(), json!(label));
    }
    Ok(parts)
}
