//! The roster: applying, replaying and signing entries, and how a head stands to a chain.

use messaging_core::code::Failure;
use messaging_core::domain::Domain;
use messaging_core::jcs;
use messaging_core::json;
use messaging_core::limits::CLOCK_SKEW_MS;
use messaging_core::roster::{HeadRelation, Invite, Live, Roster, RosterHead};
use messaging_core::time::Ms;
use serde_json::{Value, json};

use super::{Op, keys};
use crate::args::{Args, Outcome, Refusal};

pub(super) fn lookup(kind: &str) -> Option<Op> {
    Some(match kind {
        "roster_apply" => roster_apply,
        "roster_replay" => roster_replay,
        "roster_check_at" => roster_check_at,
        "roster_sign" => roster_sign,
        "head_relation" => head_relation,
        _ => return None,
    })
}

/// The roster of `entries`, which are good; none is the empty roster.
pub(super) fn roster(args: &Args<'_>) -> Result<Roster, Refusal> {
    match args.list("entries")? {
        [] => Ok(Roster::new()),
        entries => Roster::from_entries(entries).map_err(|_| Refusal::Case("entries")),
    }
}

fn roster_apply(args: &Args<'_>) -> Outcome {
    let mut roster = roster(args)?;
    let before = roster.clone();
    match roster.apply(args.value("entry")?, live(args)?) {
        Ok(_) => Ok(state(&roster)),
        Err(_) if roster != before => Err(Refusal::Case("a failed apply changed the roster")),
        Err(failure) => Err(failure.into()),
    }
}

/// The clock of a live entry: `now`, and a `skewMs` that may be absent.
fn live(args: &Args<'_>) -> Result<Option<Live>, Refusal> {
    let integer = |name: &'static str| match args.opt(name) {
        None => Ok(None),
        Some(value) => json::decode::<u64>(value).map(Some).map_err(|_| Failure::invalid(name)),
    };
    let skew_ms = integer("skewMs")?.unwrap_or(CLOCK_SKEW_MS);
    Ok(integer("now")?.map(|now| Live { now: Ms(now), skew_ms }))
}

fn roster_replay(args: &Args<'_>) -> Outcome {
    Ok(state(&Roster::from_entries(args.list("entries")?)?))
}

fn state(roster: &Roster) -> Value {
    let invites: Vec<Value> = roster.open_invites().map(|Invite { id, .. }| json!(id)).collect();
    json!({
        "team": roster.team_id(),
        "head": roster.head(),
        "members": roster.members().collect::<Vec<_>>(),
        "removed": roster.removed().collect::<Vec<_>>(),
        "openInvites": invites,
    })
}

fn roster_check_at(args: &Args<'_>) -> Outcome {
    roster(args)?.check_at(args.value("entry")?)?;
    Ok(json!(true))
}

fn roster_sign(args: &Args<'_>) -> Outcome {
    let mut entry = args.value("fields")?.clone();
    let key = keys::seed(args)?;
    let signed = keys::signed(Domain::Roster, &jcs::canonical(&entry)?)?;
    let sig = key.sign_value(Domain::Roster, &entry)?;
    entry.as_object_mut().ok_or(Refusal::Case("fields"))?.insert("sig".to_owned(), json!(sig));
    let hash = jcs::canonical(&entry)?.hash();
    Ok(json!({"signed": signed, "entry": entry, "hash": hash}))
}

fn head_relation(args: &Args<'_>) -> Outcome {
    let head: RosterHead = json::decode(args.value("head")?).map_err(|_| Refusal::Case("head"))?;
    Ok(json!(match roster(args)?.relation(&head) {
        HeadRelation::Ahead => "ahead",
        HeadRelation::Consistent => "consistent",
        HeadRelation::Diverged { .. } => "diverged",
    }))
}
