//! Merging: whatever came, in whatever order, the same copy counts.
//! Spec: §6.9 "Merging"

use core::cmp::Ordering;
use std::collections::BTreeSet;
use std::vec::Vec;

use proptest::prelude::*;
use serde_json::json;

use super::fixture::{ID, NOW, any_levels, device, grant, person, realm};
use crate::consent::{ConsentGrant, GrantDraft, Subject, VerifiedGrant, merge, prefer, resign};
use crate::ids::{MachineId, Ulid};
use crate::time::Ms;

/// Four devices of Bob.
fn machines() -> [MachineId; 4] {
    [1, 2, 3, 4].map(|seed| *device(seed).machine())
}

/// Copies for one subject, out of few times, ids and signers, so that ties of every kind come up; some were signed anew.
fn any_copies() -> impl Strategy<Value = Vec<VerifiedGrant>> {
    let copy = (0u64..3, 0u8..3, 0u8..4, any_levels(), prop::option::of((0u8..4, any::<bool>())));
    let copy =
        copy.prop_filter_map("a clear re-signs to nothing", |(ts, id, by, mut levels, again)| {
            let (bob, alice) = (person("bob"), Subject::Person(person("alice")));
            let ts = NOW.minus(ts);
            levels.trusted_until =
                levels.trusted_until.filter(|until| *until <= ts.plus(crate::limits::TRUST_MAX_MS));
            let id = Ulid::from_parts(Ms(1), [id; 10]);
            let draft =
                GrantDraft { realm: realm(), id, person: &bob, ts, subject: &alice, levels };
            let signed = draft.sign(&device(by + 1)).ok()?;
            match again {
                None => Some(signed),
                Some((signer, all)) => resign(&signed, &device(signer + 1), NOW, all).ok()?.grant,
            }
        });
    prop::collection::vec(copy, 1..8)
}

/// Any of the devices, none and all included.
fn any_current() -> impl Strategy<Value = BTreeSet<MachineId>> {
    prop::collection::vec(any::<bool>(), 4).prop_map(|on| {
        machines().into_iter().zip(on).filter_map(|(machine, on)| on.then_some(machine)).collect()
    })
}

proptest! {
    #[test]
    fn merging_does_not_ask_for_the_order(
        (copies, shuffled) in any_copies().prop_flat_map(|copies| (Just(copies.clone()), Just(copies).prop_shuffle())),
        current in any_current()
    ) {
        let current = |by: &MachineId| current.contains(by);
        prop_assert_eq!(merge(&copies, current), merge(&shuffled, current));
    }

    #[test]
    fn merging_does_not_ask_for_the_grouping(copies in any_copies(), at in 0usize..8, current in any_current()) {
        let current = |by: &MachineId| current.contains(by);
        let (left, right) = copies.split_at(at.min(copies.len()));
        let parts: Vec<VerifiedGrant> =
            [merge(left, current), merge(right, current)].into_iter().flatten().cloned().collect();
        prop_assert_eq!(merge(&parts, current), merge(&copies, current));
    }

    #[test]
    fn merging_twice_is_merging_once(copies in any_copies(), current in any_current()) {
        let current = |by: &MachineId| current.contains(by);
        let mut twice = copies.clone();
        twice.extend(copies.iter().cloned());
        prop_assert_eq!(merge(&twice, current), merge(&copies, current));
        let winner = merge(&copies, current).unwrap();
        prop_assert!(copies.contains(winner));
    }

    #[test]
    fn the_order_is_total(copies in any_copies(), current in any_current()) {
        let current = |by: &MachineId| current.contains(by);
        for a in &copies {
            for b in &copies {
                let order = prefer(a, b, current);
                prop_assert_eq!(prefer(b, a, current), order.reverse());
                prop_assert_eq!(order == Ordering::Equal, a == b);
                for c in &copies {
                    if order == Ordering::Greater && prefer(b, c, current) == Ordering::Greater {
                        prop_assert_eq!(prefer(a, c, current), Ordering::Greater);
                    }
                }
            }
        }
    }

    /// Whichever device re-signs, and whoever sees which copy first: a later change wins over it.
    #[test]
    fn a_re_sign_never_overrides_a_later_change(levels in any_levels(), later in any_levels(), all: bool, current in any_current()) {
        let (bob, alice) = (person("bob"), Subject::Person(person("alice")));
        let draft = |ts, levels| GrantDraft { realm: realm(), id: Ulid::parse(ID).unwrap(), person: &bob, ts, subject: &alice, levels };
        let old = draft(NOW, levels).sign(&device(1)).unwrap();
        let new = draft(NOW.plus(1), later).sign(&device(2));
        prop_assume!(new.is_ok());
        let new = new.unwrap();
        if let Some(again) = resign(&old, &device(3), NOW.plus(1_000_000), all).unwrap().grant {
            let order = prefer(&new, &again, |by| current.contains(by));
            prop_assert_eq!(order, Ordering::Greater);
        }
    }
}

#[test]
fn the_rules_go_in_order() {
    let [a, b, ..] = machines();
    let (low, high) = if a < b { (device(1), device(2)) } else { (device(2), device(1)) };
    let copy = |by| grant(json!({"chat": "blocked"}), by);
    let (small, large) = (copy(&low), copy(&high));
    let wins = |x: &ConsentGrant, y: &ConsentGrant, current: &[&MachineId]| {
        prefer(x, y, |by| current.contains(&by)) == Ordering::Greater
    };
    assert!(wins(&small, &large, &[]), "neither is current: the smaller signer");
    assert!(wins(&small, &large, &[low.machine(), high.machine()]), "both are: the same");
    assert!(wins(&large, &small, &[high.machine()]), "a current signer before a smaller one");

    let mut newer = (*large).clone();
    newer.ts = newer.ts.plus(1);
    newer.id = Ulid::from_parts(Ms(0), [0; 10]);
    assert!(wins(&newer, &small, &[low.machine()]), "a later time before everything");
    let mut larger_id = (*large).clone();
    larger_id.id = Ulid::from_parts(Ms(1 << 47), [0; 10]);
    assert!(wins(&larger_id, &small, &[low.machine()]), "then a larger id");
}
