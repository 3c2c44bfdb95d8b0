//! What the person takes from others: the decision about one envelope that arrived.
//! Spec: §6.9, D3.10
//!
//! No grants are kept yet, so what holds is the default for everybody: in a team, lines and channels are open.

use messaging_core::consent::{Arrived, Decision, EffectivePolicy, Sender, decide, relation};
use messaging_core::ids::PersonId;
use messaging_core::realm::RealmKind;
use messaging_core::time::Ms;

/// Decides about what `sender` sent to `own`.
pub(crate) fn judge(own: &PersonId, sender: &PersonId, what: &Arrived<'_>, now: Ms) -> Decision {
    let relation = relation(own, sender, RealmKind::Roster, false, false);
    let policy = EffectivePolicy::of(relation, None, &[], now);
    decide(what, &Sender { relation, policy, person: sender.as_str(), receiver: own.as_str() })
}
