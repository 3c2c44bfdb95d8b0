//! Person views, person heads and successions.

use std::collections::BTreeMap;

use messaging_core::directory::{
    At, CommittedPerson, EpochProof, KeptHeads, KeysStatement, PersonHead, PersonState, PersonView,
    TreeHead, VerifiedPerson, check_succession, verify_person_head, verify_person_view,
};
use serde_json::{Value, json};

use super::Op;
use super::bindings::{Context, state};
use crate::args::{Args, Outcome, Refusal};

pub(super) fn lookup(kind: &str) -> Option<Op> {
    Some(match kind {
        "person_view_verify" => person_view_verify,
        "person_head_verify" => person_head_verify,
        "person_succession" => person_succession,
        _ => return None,
    })
}

/// What a client holds: `{log, keys}`, either of which may be absent, or `{erased: true}`.
fn held(context: &Context, held: &Args<'_>) -> Result<PersonState, Refusal> {
    if held.flag("erased")? {
        return Ok(PersonState::Erased);
    }
    let log = context.log(if held.opt("log").is_some() { held.list("log")? } else { &[] })?;
    let mut keys = BTreeMap::new();
    for raw in if held.opt("keys").is_some() { held.list("keys")? } else { &[] } {
        let statement = KeysStatement::read(raw).map_err(|_| Refusal::Case("keys"))?;
        statement.verify(&log).map_err(|_| Refusal::Case("keys"))?;
        keys.insert(statement.device, statement);
    }
    Ok(PersonState::Live(Box::new(VerifiedPerson { log, keys })))
}

fn at(args: &Args<'_>) -> Result<(TreeHead, EpochProof), Refusal> {
    let sth = TreeHead::read(args.value("sth")?).map_err(|_| Refusal::Case("sth"))?;
    Ok((sth, EpochProof::read(args.value("head")?)?))
}

fn person_view_verify(args: &Args<'_>) -> Outcome {
    let context = Context::read(args)?;
    let held = match args.opt("held") {
        None => None,
        Some(_) => Some(held(&context, &args.object("held")?)?),
    };
    let (sth, head) = at(args)?;
    let view = PersonView::read(args.value("view")?)?;
    let kept = KeptHeads::new();
    let at = At { sth: &sth, head: &head, kept: &kept };
    let rules = context.rules();
    let verified = verify_person_view(&view, &context.person, at, held.as_ref(), &rules)
        .map_err(|refused| Refusal::from(refused.failure))?;
    Ok(match verified {
        PersonState::Erased => json!({"erased": true}),
        PersonState::Live(person) => {
            let keys: Vec<&KeysStatement> = person.keys.values().collect();
            json!({"log": state(&person.log), "keys": keys})
        }
    })
}

fn person_head_verify(args: &Args<'_>) -> Outcome {
    let (sth, head) = at(args)?;
    let person = PersonHead::read(args.value("personHead")?)?;
    let kept = KeptHeads::new();
    verify_person_head(&person, At { sth: &sth, head: &head, kept: &kept })?;
    Ok(match &person.committed {
        CommittedPerson::Live { value } => json!(value),
        CommittedPerson::Erased { .. } | CommittedPerson::Absent {} => Value::Null,
    })
}

fn person_succession(args: &Args<'_>) -> Outcome {
    let context = Context::read(args)?;
    let earlier = held(&context, &args.object("earlier")?)?;
    let later = held(&context, &args.object("later")?)?;
    check_succession(&earlier, &later).map_err(|refused| Refusal::from(refused.failure))?;
    Ok(json!(true))
}
