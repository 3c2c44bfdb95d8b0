//! The person's consent: what arrives is delivered, held or refused as they said, and how they say it.
//! Spec: §6.9, D3.10–D3.13
//!
//! [`judge`] decides for one envelope, by the grants this machine holds. [`holds`] keeps what waits for the person and
//! carries out their answer; [`grants`] is what they set; [`signers`] signs anew what a removed device of theirs had
//! said; [`sync`] tells their other devices and [`cards`] the others. [`sentences`] says what an act will mean before it is done.

pub(crate) mod answers;
pub(crate) mod cards;
pub(crate) mod grants;
pub(crate) mod holds;
mod sentences;
pub(crate) mod signers;
pub(crate) mod sync;
pub(crate) mod views;

use messaging_core::consent::{
    Arrived, ConsentGrant, Decision, EffectivePolicy, Relation, Sender, Subject, decide, relation,
};
use messaging_core::ids::{MachineId, PersonId};
use messaging_core::payload::MessagePayload;
use messaging_core::realm::RealmKind;
use messaging_core::time::Ms;
use messaging_store::{StoreError, View};

use crate::engine::DaemonEngine;
use crate::realm::is_person;
use crate::store::grants as rows;

/// What memory holds of consent.
#[derive(Debug)]
pub(crate) struct Consent {
    /// Who signed the grants, and who was sent them, has to be looked at.
    due: bool,
    /// A device of the person is gone: what the others hold may differ, and each tells the rest everything.
    parted: bool,
}

impl Default for Consent {
    fn default() -> Self {
        Self { due: true, parted: false }
    }
}

impl Consent {
    /// The verified view changed, or the link is up: [`signers::tend`] looks at everything.
    pub(crate) fn look(&mut self) {
        self.due = true;
    }

    /// A device of this very person left the team.
    pub(crate) fn parted(&mut self) {
        self.parted = true;
        self.due = true;
    }
}

/// What becomes of something that `from` sent, by what this machine holds now.
///
/// An answer, a line, a change or an ask: which one it is, the caller has found out. Cost: two reads, and one more for
/// each channel with a grant. A sender of this very person costs none.
pub(crate) fn judge(
    engine: &DaemonEngine,
    view: &View<'_>,
    from: &PersonId,
    what: &Arrived<'_>,
    now: Ms,
) -> Result<Decision, StoreError> {
    // An envelope is judged by a member only; somebody who has no person here accepts what anybody may send.
    let own = engine.own().map(|(_, person)| person);
    let (relation, policy) = match &own {
        Some(own) => policy(engine, view, own, from, now)?,
        None => {
            let relation = Relation::Stranger;
            (relation, EffectivePolicy::of(relation, None, &[], now))
        }
    };
    let receiver = own.as_ref().map_or("", |own| own.as_str());
    Ok(decide(what, &Sender { relation, policy, person: from.as_str(), receiver }))
}

/// How `from` stands to this person, and what they may send.
pub(crate) fn policy(
    engine: &DaemonEngine,
    view: &View<'_>,
    own: &PersonId,
    from: &PersonId,
    now: Ms,
) -> Result<(Relation, EffectivePolicy), StoreError> {
    if own == from {
        return Ok((Relation::Own, EffectivePolicy::of(Relation::Own, None, &[], now)));
    }
    let grant = rows::get(view, &Subject::Person(from.clone()))?;
    let grant = grant.as_deref().filter(|grant| counts(engine, own, grant));
    let channels = rows::of_channels(view, from)?;
    let channels: Vec<&ConsentGrant> =
        channels.iter().map(|grant| &**grant).filter(|grant| counts(engine, own, grant)).collect();
    let granted = grant.is_some_and(|grant| !grant.is_clear());
    let relation = relation(own, from, RealmKind::Roster, false, granted);
    Ok((relation, EffectivePolicy::of(relation, grant, &channels, now)))
}

/// Whether a grant counts: the device that signed it is a current one of the person. Spec: §6.9 "Signers"
pub(crate) fn counts(engine: &DaemonEngine, own: &PersonId, grant: &ConsentGrant) -> bool {
    is_own(engine, own, &grant.by)
}

/// Whether a machine is a current device of the person.
fn is_own(engine: &DaemonEngine, own: &PersonId, machine: &MachineId) -> bool {
    engine.realm.member(machine).is_some_and(|member| is_person(&member.person, own))
}

/// The persons that a task request's chain names, the root's first. Whether it holds is verified before anything is kept.
pub(crate) fn chain_persons(payload: &MessagePayload) -> Vec<&str> {
    let Some(chain) = &payload.delegation else { return Vec::new() };
    let root = chain.first().map(|grant| grant.from.person());
    root.into_iter().chain(chain.iter().map(|grant| grant.to.person())).collect()
}
