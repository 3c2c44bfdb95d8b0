//! Consent: grants signed, verified, merged and signed anew, the policy they make, what it decides; and contact cards.

use std::collections::BTreeSet;

use messaging_core::code::Failure;
use messaging_core::consent::{
    Arrived, ConsentGrant, Decision, EffectivePolicy, Relation, Sender, VerifiedGrant, card_can,
    decide, merge, resign, sign_card, sign_grant, verify_card, verify_grant,
};
use messaging_core::domain::Domain;
use messaging_core::ids::{Hash, MachineId, PersonId};
use messaging_core::jcs;
use messaging_core::json;
use messaging_core::time::Ms;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Op, keys};
use crate::args::{Args, Outcome, Refusal};

pub(super) fn lookup(kind: &str) -> Option<Op> {
    Some(match kind {
        "grant_sign" => grant_sign,
        "grant_verify" => grant_verify,
        "grant_merge" => grant_merge,
        "grant_resign" => grant_resign,
        "consent_effective" => consent_effective,
        "consent_decide" => consent_decide,
        "card_sign" => card_sign,
        "card_verify" => card_verify,
        "card_can" => can,
        _ => return None,
    })
}

/// An argument that is not under test.
fn given<T: DeserializeOwned>(args: &Args<'_>, name: &'static str) -> Result<T, Refusal> {
    json::decode(args.value(name)?).map_err(|_| Refusal::Case(name))
}

fn now(args: &Args<'_>) -> Result<Ms, Refusal> {
    Ok(Ms(args.int("now")?))
}

fn grant_sign(args: &Args<'_>) -> Outcome {
    let grant = sign_grant(args.value("fields")?.clone(), &keys::seed(args)?)?;
    let text = jcs::canonical_without(grant.raw(), "sig")?;
    Ok(json!({"signed": keys::signed(Domain::Grant, &text)?, "grant": grant.raw()}))
}

fn grant_verify(args: &Args<'_>) -> Outcome {
    let (realm, person): (Hash, PersonId) = (given(args, "realm")?, given(args, "person")?);
    let grant = verify_grant(args.value("grant")?.clone(), &realm, &person)?;
    Ok(grant.raw().clone())
}

fn grant_merge(args: &Args<'_>) -> Outcome {
    let current: BTreeSet<MachineId> = given(args, "currentDevices")?;
    let copies = args.list("copies")?.iter().map(|raw| VerifiedGrant::held(raw.clone()));
    let copies = copies.collect::<Result<Vec<_>, Failure>>()?;
    let counts = merge(&copies, |by| current.contains(by)).ok_or(Refusal::Case("copies"))?;
    Ok(counts.raw().clone())
}

fn grant_resign(args: &Args<'_>) -> Outcome {
    let grant = VerifiedGrant::held(args.value("grant")?.clone())?;
    let again = resign(&grant, &keys::seed(args)?, now(args)?, args.flag("all")?)?;
    Ok(again.grant.map_or(Value::Null, |grant| grant.raw().clone()))
}

/// The arguments that both policy kinds share.
struct Policy {
    relation: Relation,
    grant: Option<ConsentGrant>,
    channels: Vec<ConsentGrant>,
    now: Ms,
}

impl Policy {
    fn read(args: &Args<'_>) -> Result<Self, Refusal> {
        let relation = match args.text("relation")? {
            "self" => Relation::Own,
            "org" => Relation::Org,
            "contact" => Relation::Contact,
            "stranger" => Relation::Stranger,
            _ => return Err(Refusal::Case("relation")),
        };
        // What counts is not under test here: a grant that does not read is the fault of the case.
        let read =
            |name| move |raw: &Value| ConsentGrant::read(raw).map_err(|_| Refusal::Case(name));
        let grant = args.opt("grant").map(read("grant")).transpose()?;
        let channels = match args.opt("channelGrants") {
            None => Vec::new(),
            Some(_) => {
                let list = args.list("channelGrants")?.iter();
                list.map(read("channelGrants")).collect::<Result<_, _>>()?
            }
        };
        Ok(Self { relation, grant, channels, now: now(args)? })
    }

    fn effective(&self) -> EffectivePolicy {
        let channels: Vec<&ConsentGrant> = self.channels.iter().collect();
        EffectivePolicy::of(self.relation, self.grant.as_ref(), &channels, self.now)
    }
}

fn consent_effective(args: &Args<'_>) -> Outcome {
    let policy = Policy::read(args)?.effective();
    Ok(json!({
        "chat": policy.chat, "agentMail": policy.agent_mail, "ask": policy.ask, "trusted": policy.trusted
    }))
}

fn consent_decide(args: &Args<'_>) -> Outcome {
    let policy = Policy::read(args)?;
    let (person, receiver): (PersonId, PersonId) =
        (given(args, "sender")?, given(args, "receiver")?);
    let what = args.object("what")?;
    let chain: Vec<PersonId> = match what.opt("chain") {
        None => Vec::new(),
        Some(_) => given(&what, "chain")?,
    };
    let chain: Vec<&str> = chain.iter().map(PersonId::as_str).collect();
    let what = match what.text("kind")? {
        "answer" => Arrived::Answer { chain: &chain },
        "line" => Arrived::Line { agent: what.flag("agent")? },
        "change" => Arrived::Change,
        "ask" => Arrived::Ask { chain: &chain },
        "request" => Arrived::Request,
        _ => return Err(Refusal::Case("what")),
    };
    let sender = Sender {
        relation: policy.relation,
        policy: policy.effective(),
        person: person.as_str(),
        receiver: receiver.as_str(),
    };
    Ok(match decide(&what, &sender) {
        Decision::Deliver { class, silent: false } => json!({"deliver": class}),
        Decision::Deliver { class, silent: true } => json!({"deliver": class, "silent": true}),
        Decision::Hold => json!({"hold": true}),
        Decision::Refuse(code) => json!({"refuse": code}),
    })
}

fn card_sign(args: &Args<'_>) -> Outcome {
    let card = sign_card(args.value("fields")?.clone(), &keys::seed(args)?)?;
    let text = jcs::canonical_without(card.raw(), "sig")?;
    Ok(json!({"signed": keys::signed(Domain::Card, &text)?, "card": card.raw()}))
}

fn card_verify(args: &Args<'_>) -> Outcome {
    let realm: Hash = given(args, "realm")?;
    let (from, to): (PersonId, PersonId) = (given(args, "sender")?, given(args, "receiver")?);
    let card = verify_card(args.value("card")?.clone(), &realm, &from, &to)?;
    Ok(card.raw().clone())
}

fn can(args: &Args<'_>) -> Outcome {
    let policy = Policy::read(args)?;
    Ok(json!(card_can(policy.relation, policy.grant.as_ref(), policy.now)))
}
