//! What holds for every chain: it verifies as it was made, and in no other form.

use alloc::string::String;
use alloc::vec::Vec;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::fixture::*;
use crate::code::Code;
use crate::jcs;
use crate::time::Ms;

const SCOPE: [&str; 4] = ["read", "write", "repo:x/y", "deploy"];

/// The bounds of each hop, as wishes: they may or may not fit under the ones before.
fn hops() -> impl Strategy<Value = Vec<Bounds>> {
    let scope = prop::option::of(prop::collection::vec(prop::sample::select(&SCOPE[..]), 0..5));
    let bounds = (prop::option::of(1..90_000_u64), prop::option::of(1..5_u8), scope).prop_map(
        |(life, max_depth, scope)| Bounds {
            exp: life.map(|life| NOW.plus(life)),
            max_depth,
            scope: scope.map(|names| labels(&names)),
        },
    );
    prop::collection::vec(bounds, 1..5)
}

/// Whether `next` is within what stands, by the rule's own words; and what stands afterwards.
fn narrows(held: &Bounds, next: &Bounds) -> Option<Bounds> {
    let exp = next.exp.or(held.exp);
    let max_depth = next.max_depth.or(held.max_depth);
    let scope = next.scope.clone().or_else(|| held.scope.clone());
    let fits = exp <= held.exp
        && max_depth <= held.max_depth
        && match (&held.scope, &scope) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(held), Some(scope)) => scope.iter().all(|label| held.contains(label)),
        };
    fits.then_some(Bounds { exp, max_depth, scope })
}

proptest! {
    #[test]
    fn a_chain_is_made_exactly_when_each_hop_narrows(hops in hops()) {
        let mut held = Bounds { exp: Some(NOW.plus(crate::limits::TTL_MS)), max_depth: Some(4), scope: None };
        let mut chain: Option<Value> = None;
        for (from, bounds) in hops.iter().enumerate() {
            let next = narrows(&held, bounds);
            let made = pass(chain.as_ref(), from, from + 1, bounds);
            let depth = next.as_ref().and_then(|next| next.max_depth).unwrap_or(0);
            if next.is_none() || usize::from(depth) <= from {
                prop_assert_eq!(made.unwrap_err().code, Code::Forbidden);
                return Ok(());
            }
            held = next.unwrap();
            chain = Some(made.unwrap());
            let summary = verify(chain.as_ref().unwrap(), from + 1).unwrap();
            prop_assert_eq!(Some(summary.exp), held.exp);
            prop_assert_eq!(Some(summary.max_depth), held.max_depth);
            prop_assert_eq!(&summary.scope, &held.scope);
            prop_assert_eq!(summary.addresses.len(), from + 2);
        }
    }

    /// Signed by the right machine, in the right place, and yet wider than the one before.
    #[test]
    fn a_widening_is_refused_wherever_it_stands(at in 1..3_usize, kind in 0..3_usize, more in 1..1_000_u64) {
        let root = Bounds { exp: Some(END), max_depth: Some(3), scope: Some(labels(&["read"])) };
        let mut chain = pass(None, 0, 1, &root).unwrap();
        for from in 1..=at {
            chain = pass(Some(&chain), from, from + 1, &Bounds::default()).unwrap();
        }
        let (name, member) = match kind {
            0 => ("maxDepth", json!(4)),
            1 => ("exp", json!(Ms(END.0 + more))),
            _ => ("scope", json!(["read", "more"])),
        };
        let wider = forged(&chain, at, name, Some(member));
        prop_assert_eq!(verify(&wider, at + 1).unwrap_err().code, Code::Forbidden);
    }

    #[test]
    fn one_changed_member_fails(grants in 1..5_usize, at in 0..4_usize, pick in any::<prop::sample::Index>()) {
        let good = chain(grants);
        let at = at % grants;
        let names: Vec<String> = members(&good[at]).keys().map(|name| String::from(*name)).collect();
        let name = &names[pick.index(names.len())];
        let mut removed = good.clone();
        removed[at].as_object_mut().unwrap().remove(name);
        prop_assert!(verify(&removed, grants).is_err());
        let mut added = good.clone();
        added[at][std::format!("{name}x")] = json!(1);
        prop_assert_eq!(verify(&added, grants).unwrap_err().code, Code::BadSignature);
        let mut changed = good.clone();
        changed[at][name] = match &good[at][name] {
            Value::Number(number) => json!(number.as_u64().unwrap() ^ 1),
            Value::String(text) => json!(text.replacen(|c: char| c.is_ascii_alphabetic(), "q", 1)),
            other => json!([other]),
        };
        prop_assume!(changed != good);
        prop_assert!(verify(&changed, grants).is_err());
    }

    /// Any byte of the text, signatures and hashes included: the chain no longer reads, or no longer verifies.
    #[test]
    fn one_changed_byte_fails(grants in 1..5_usize, pick in any::<prop::sample::Index>(), to in 0x20..0x7f_u8) {
        let good = jcs::canonical(&chain(grants)).unwrap();
        let mut bytes = good.as_bytes().to_vec();
        let index = pick.index(bytes.len());
        prop_assume!(bytes[index] != to);
        bytes[index] = to;
        if let Ok(bad) = crate::json::parse(&bytes, 1 << 16) {
            prop_assert!(verify(&bad, grants).is_err());
        }
    }

    #[test]
    fn unknown_members_are_kept_and_covered(grants in 1..4_usize, name in "[a-z]{1,8}x", number in any::<u32>()) {
        // A later release signs a member that this one does not know; this one passes the chain on.
        let mut held = forged(&chain(grants), grants - 1, &name, Some(json!({"n": number})));
        held = pass(Some(&held), grants, grants + 1, &Bounds::default()).unwrap();
        prop_assert_eq!(&held[grants - 1][&name], &json!({"n": number}));
        prop_assert!(verify(&held, grants + 1).is_ok());
        held[grants - 1][&name] = json!({"n": u64::from(number) + 1});
        prop_assert_eq!(verify(&held, grants + 1).unwrap_err().code, Code::BadSignature);
    }
}
