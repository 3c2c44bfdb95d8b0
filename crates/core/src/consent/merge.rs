//! Which of two copies of the grant for one subject counts.
//! Spec: §6.9 "Merging" `preferGrant`, W4.11
//!
//! Over one set of current devices the order is total, so devices that saw the same copies hold the same grant, whatever
//! came first and however often.

use core::cmp::{Ordering, Reverse};

use super::ConsentGrant;
use crate::ids::MachineId;

/// How two copies for one subject stand: [`Greater`](Ordering::Greater) when the first counts.
///
/// The later `ts`, then the larger id; a tie is one grant signed twice, and goes to the copy whose signer is `current`,
/// then to the smaller `by`, then to the smaller signature. Two copies that tie on all of these are one.
#[must_use]
pub fn prefer(
    a: &ConsentGrant,
    b: &ConsentGrant,
    current: impl Fn(&MachineId) -> bool,
) -> Ordering {
    let rank = |grant: &ConsentGrant| {
        (grant.ts, grant.id, current(&grant.by), Reverse(grant.by), Reverse(grant.sig))
    };
    rank(a).cmp(&rank(b))
}

/// The copy that counts of several for one subject; `None` of none.
#[must_use]
pub fn merge<'a, G: core::ops::Deref<Target = ConsentGrant>>(
    copies: impl IntoIterator<Item = &'a G>,
    current: impl Fn(&MachineId) -> bool,
) -> Option<&'a G> {
    copies.into_iter().reduce(|held, next| {
        if prefer(next, held, &current) == Ordering::Greater { next } else { held }
    })
}
