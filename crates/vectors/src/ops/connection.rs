//! Connections: relay URLs, `hello` of both forms, and the proof for a read of the directory.

use messaging_core::code::{Code, Failure};
use messaging_core::domain::Domain;
use messaging_core::ids::{Hash, HostedPerson, Nonce32};
use messaging_core::json;
use messaging_core::relay_auth::{Challenge, DirReadProof, Hello, HostedHello, RosterHello};
use messaging_core::time::Ms;
use messaging_core::url;
use serde_json::json;

use super::{Op, keys};
use crate::args::{Args, Outcome, Refusal};

pub(super) fn lookup(kind: &str) -> Option<Op> {
    Some(match kind {
        "url_origin" => url_origin,
        "relay_url_allowed" => relay_url_allowed,
        "roster_hello_sign" => roster_hello_sign,
        "roster_hello_verify" => roster_hello_verify,
        "hosted_hello_sign" => hosted_hello_sign,
        "hosted_hello_verify" => hosted_hello_verify,
        "dir_read_sign" => dir_read_sign,
        "dir_read_verify" => dir_read_verify,
        _ => return None,
    })
}

fn url_origin(args: &Args<'_>) -> Outcome {
    let origin = url::origin(args.text("url")?).ok_or(Failure::invalid("url"))?;
    Ok(json!(origin))
}

fn relay_url_allowed(args: &Args<'_>) -> Outcome {
    if url::is_allowed_relay_url(args.text("url")?) {
        Ok(json!(true))
    } else {
        Err(Code::InvalidRequest.into())
    }
}

fn challenge(args: &Args<'_>) -> Result<Challenge, Refusal> {
    let nonce = Nonce32::parse(args.text("nonce")?).map_err(|_| Refusal::Case("nonce"))?;
    Ok(Challenge { relay: args.text("relay")?.to_owned(), nonce })
}

fn roster_hello_sign(args: &Args<'_>) -> Outcome {
    let (challenge, key) = (challenge(args)?, keys::seed(args)?);
    let (team, ts) = (Hash::parse(args.text("team")?)?, Ms(args.int("ts")?));
    let hello = RosterHello::sign(&challenge, &team, ts, &key)?;
    let text = RosterHello::text(&challenge, &team, key.machine(), ts)?;
    Ok(json!({"signed": keys::signed(Domain::RelayAuth, &text)?, "sig": hello.sig}))
}

fn hosted_hello_sign(args: &Args<'_>) -> Outcome {
    let (challenge, key) = (challenge(args)?, keys::seed(args)?);
    let (realm, ts) = (Hash::parse(args.text("realm")?)?, Ms(args.int("ts")?));
    let person = HostedPerson::parse(args.text("person")?)?;
    let hello = HostedHello::sign(&challenge, &realm, &person, ts, &key)?;
    let text = HostedHello::text(&challenge, &realm, &person, key.machine(), ts)?;
    Ok(json!({"signed": keys::signed(Domain::RelayAuth, &text)?, "sig": hello.sig}))
}

fn roster_hello_verify(args: &Args<'_>) -> Outcome {
    let hello = Hello::read(args.value("hello")?)?;
    match hello {
        Hello::Roster(_) => verify(&hello, args),
        Hello::Hosted(_) => Err(Code::InvalidRequest.into()),
    }
}

fn hosted_hello_verify(args: &Args<'_>) -> Outcome {
    let hello = Hello::read(args.value("hello")?)?;
    match hello {
        Hello::Hosted(_) => verify(&hello, args),
        Hello::Roster(_) => Err(Code::InvalidRequest.into()),
    }
}

fn verify(hello: &Hello, args: &Args<'_>) -> Outcome {
    hello.verify(&challenge(args)?, Ms(args.int("now")?))?;
    Ok(json!(true))
}

fn dir_read_sign(args: &Args<'_>) -> Outcome {
    let (challenge, key) = (challenge(args)?, keys::seed(args)?);
    let realm = Hash::parse(args.text("realm")?)?;
    let proof = DirReadProof::sign(&challenge, &realm, &key)?;
    let text = DirReadProof::text(&challenge, &realm, key.machine())?;
    Ok(json!({"signed": keys::signed(Domain::DirRead, &text)?, "sig": proof.sig}))
}

fn dir_read_verify(args: &Args<'_>) -> Outcome {
    let proof: DirReadProof = json::decode(args.value("proof")?).map_err(Failure::from)?;
    proof.verify(&challenge(args)?, &Hash::parse(args.text("realm")?)?)?;
    Ok(json!(true))
}
