//! Invites: the two proofs, and tickets as text.

use messaging_core::code::{Code, Failure};
use messaging_core::domain::Domain;
use messaging_core::ids::{Hash, MachineId, Nonce32, Sig, Ulid};
use messaging_core::invite;
use messaging_core::json;
use messaging_core::keys::PublicKey;
use messaging_core::ticket::{InviteTicket, TextForm as _};
use serde_json::json;

use super::{Op, keys};
use crate::args::{Args, Outcome};

pub(super) fn lookup(kind: &str) -> Option<Op> {
    Some(match kind {
        "redeem_proof" => redeem_proof,
        "join_proof" => join_proof,
        "join_proof_verify" => join_proof_verify,
        "ticket_encode" => ticket_encode,
        "ticket_decode" => ticket_decode,
        _ => return None,
    })
}

fn redeem_proof(args: &Args<'_>) -> Outcome {
    let team = Hash::parse(args.text("team")?)?;
    let id = Ulid::parse(args.text("inviteId")?)?;
    let member = args.value("member")?;
    let text = invite::redeem_text(&team, &id, member)?;
    Ok(json!({
        "signed": keys::signed(Domain::Invite, &text)?,
        "proof": invite::redeem_proof(&keys::seed(args)?, &team, &id, member)?,
    }))
}

fn join_proof(args: &Args<'_>) -> Outcome {
    let (relay, team) = (args.text("relay")?, Hash::parse(args.text("team")?)?);
    let id = Ulid::parse(args.text("inviteId")?)?;
    let nonce = Nonce32::parse(args.text("nonce")?)?;
    let text = invite::join_text(relay, &team, &id, &nonce)?;
    Ok(json!({
        "signed": keys::signed(Domain::InviteJoin, &text)?,
        "proof": invite::join_proof(&keys::seed(args)?, relay, &team, &id, &nonce)?,
    }))
}

/// `invite_invalid` for a proof that does not hold, whatever is wrong with it.
fn join_proof_verify(args: &Args<'_>) -> Outcome {
    let (relay, team) = (args.text("relay")?, Hash::parse(args.text("team")?)?);
    let id = Ulid::parse(args.text("inviteId")?)?;
    let nonce = Nonce32::parse(args.text("nonce")?)?;
    let key = PublicKey::of(&MachineId::parse(args.text("invitePub")?)?)
        .ok_or(Failure::new(Code::InviteInvalid, "invitePub"))?;
    match Sig::parse(args.text("proof")?) {
        Ok(proof) if invite::join_is_proven(&key, relay, &team, &id, &nonce, &proof) => {
            Ok(json!(true))
        }
        _ => Err(Code::InviteInvalid.into()),
    }
}

fn ticket_encode(args: &Args<'_>) -> Outcome {
    let ticket: InviteTicket = json::decode(args.value("ticket")?).map_err(Failure::from)?;
    Ok(json!(ticket.encode()?))
}

fn ticket_decode(args: &Args<'_>) -> Outcome {
    Ok(InviteTicket::decode_raw(args.text("text")?)?.1)
}
