//! Each rule of a chain at its edge, and the order in which they are judged.

use alloc::vec;

use serde_json::{Value, json};

use super::fixture::*;
use crate::code::{Code, Failure};
use crate::delegation::{GrantRequest, Hop, create_grant, extend_chain, grant_hash, verify_chain};
use crate::limits::{CLOCK_SKEW_MS, DELEGATION_BYTES, TTL_MS};
use crate::realm::RealmView as _;
use crate::time::Ms;

#[track_caller]
fn refused(chain: &Value, grants: usize, code: Code, at: &'static str) {
    assert_eq!(verify(chain, grants), Err(Failure::new(code, at)));
}

#[test]
fn a_direct_task_carries_an_unrestricted_root() {
    let chain = pass(None, 0, 1, &Bounds::default()).unwrap();
    let root = members(&chain[0]);
    assert_eq!(
        root.keys().copied().collect::<alloc::vec::Vec<_>>(),
        ["by", "exp", "from", "maxDepth", "realm", "sig", "task", "to", "ts"]
    );
    assert_eq!((root["maxDepth"], root["exp"]), (&json!(4), &json!(NOW.plus(TTL_MS))));
    let summary = verify(&chain, 1).unwrap();
    assert_eq!(
        json!(summary),
        json!({"addresses": WHO[..2], "depth": 1, "maxDepth": 4, "exp": NOW.plus(TTL_MS)})
    );
}

#[test]
fn a_chain_takes_the_bounds_of_the_one_before_and_narrows_them() {
    let root =
        Bounds { exp: Some(END), max_depth: Some(3), scope: Some(labels(&["read", "repo:x/y"])) };
    let root = pass(None, 0, 1, &root).unwrap();
    let same = pass(Some(&root), 1, 2, &Bounds::default()).unwrap();
    assert_eq!(same[0], root[0]);
    for name in ["exp", "maxDepth", "scope"] {
        assert_eq!(same[1][name], root[0][name]);
    }
    assert_eq!(same[1]["parent"], json!(grant_hash(&root[0]).unwrap()));

    let narrow = Bounds {
        exp: Some(NOW.plus(60_000)),
        max_depth: Some(2),
        scope: Some(labels(&["read", "read"])),
    };
    let chain = pass(Some(&root), 1, 2, &narrow).unwrap();
    let summary = verify(&chain, 2).unwrap();
    assert_eq!((summary.depth, summary.max_depth, summary.exp), (2, 2, NOW.plus(60_000)));
    assert_eq!(summary.scope, Some(labels(&["read", "read"])));
    assert_eq!(summary.persons().collect::<vec::Vec<_>>(), ["alice", "bob", "carol"]);
    // An empty scope is the narrowest, and stays.
    let empty = Bounds { scope: Some(vec![]), ..Bounds::default() };
    let chain = pass(Some(&root), 1, 2, &empty).unwrap();
    assert_eq!(verify(&chain, 2).unwrap().scope, Some(vec![]));
    let more = Bounds { scope: Some(labels(&["read"])), ..Bounds::default() };
    assert_eq!(pass(Some(&chain), 2, 3, &more), Err(Failure::new(Code::Forbidden, "scope")));
}

#[test]
fn nothing_wider_is_made() {
    let root = Bounds { exp: Some(END), max_depth: Some(3), scope: Some(labels(&["read"])) };
    let root = pass(None, 0, 1, &root).unwrap();
    for (bounds, at) in [
        (Bounds { scope: Some(labels(&["read", "write"])), ..Bounds::default() }, "scope"),
        (Bounds { max_depth: Some(4), ..Bounds::default() }, "maxDepth"),
        (Bounds { exp: Some(END.plus(1)), ..Bounds::default() }, "exp"),
    ] {
        assert_eq!(pass(Some(&root), 1, 2, &bounds), Err(Failure::new(Code::Forbidden, at)));
    }
    for (bounds, at) in [
        (Bounds { max_depth: Some(0), ..Bounds::default() }, "maxDepth"),
        (Bounds { max_depth: Some(5), ..Bounds::default() }, "maxDepth"),
        (Bounds { scope: Some(labels(&["x"; 9])), ..Bounds::default() }, "scope"),
        (Bounds { exp: Some(NOW.minus(1)), ..Bounds::default() }, "exp"),
        (Bounds { exp: Some(NOW.plus(TTL_MS + 1)), ..Bounds::default() }, "exp"),
    ] {
        assert_eq!(pass(None, 0, 1, &bounds), Err(Failure::invalid(at)));
    }
}

#[test]
fn a_grant_follows_its_parent_while_that_lives() {
    let root = chain(1);
    let next = |from: usize, parent: &Value, now: Ms| {
        let (from_address, to) = (who(from), who(2));
        let request = GrantRequest {
            realm: realm(),
            task: task(1),
            from: &from_address,
            to: &to,
            ts: now,
            exp: None,
            max_depth: None,
            scope: None,
        };
        create_grant(&request, Some(parent), &key(from), now)
    };
    assert!(next(1, &root[0], END.minus(1)).is_ok());
    assert_eq!(next(1, &root[0], END), Err(Failure::new(Code::Expired, "parent.exp")));
    assert_eq!(next(5, &root[0], NOW), Err(Failure::invalid("from")));
    assert_eq!(next(1, &root, NOW), Err(Failure::invalid("parent")));
    let mut abroad = root[0].clone();
    abroad["realm"] = json!(crate::ids::Hash::from_bytes(&[1; 32]));
    assert_eq!(next(1, &abroad, NOW), Err(Failure::invalid("realm")));
}

#[test]
fn four_hops_are_the_longest_and_no_session_comes_twice() {
    let full = chain(4);
    assert_eq!(verify(&full, 4).unwrap().depth, 4);
    let fifth = pass(Some(&full), 4, 5, &Bounds::default());
    assert_eq!(fifth, Err(Failure::new(Code::Forbidden, "delegation.maxDepth")));
    let short = Bounds { max_depth: Some(1), ..Bounds::default() };
    let short = pass(None, 0, 1, &short).unwrap();
    let second = pass(Some(&short), 1, 2, &Bounds::default());
    assert_eq!(second, Err(Failure::new(Code::Forbidden, "delegation.maxDepth")));
    let round = Err(Failure::new(Code::Forbidden, "delegation.to"));
    assert_eq!(pass(None, 0, 0, &Bounds::default()), round);
    assert_eq!(pass(Some(&chain(1)), 1, 0, &Bounds::default()), round);
    assert_eq!(pass(Some(&chain(2)), 2, 1, &Bounds::default()), round);
    for held in [json!([]), json!({}), json!("x")] {
        let passed = pass(Some(&held), 0, 1, &Bounds::default());
        assert_eq!(passed, Err(Failure::invalid("delegation")));
    }
}

#[test]
fn a_chain_whose_signer_left_is_not_passed_on() {
    let held = chain(1);
    let (from, to) = (who(1), who(2));
    let without = crate::realm::TableView::new(
        realm(),
        view().anchor(),
        [(*key(1).machine(), view().device(key(1).machine()).unwrap())],
    );
    let request = GrantRequest {
        realm: realm(),
        task: task(1),
        from: &from,
        to: &to,
        ts: NOW,
        exp: None,
        max_depth: None,
        scope: None,
    };
    let passed = extend_chain(Some(&held), &request, &key(1), &without, NOW);
    assert_eq!(passed, Err(Failure::new(Code::NotMember, "delegation.by")));
}

#[test]
fn shape_and_size_come_first() {
    for bad in [json!([]), json!(null), json!({}), json!([1]), json!([chain(1)])] {
        refused(&bad, 1, Code::InvalidRequest, "delegation");
    }
    let mut five = chain(4);
    let last = five[3].clone();
    five.as_array_mut().unwrap().push(last);
    refused(&five, 4, Code::InvalidRequest, "delegation");
    let mut large = chain(1);
    large[0]["later"] = json!(9_007_199_254_740_992_u64);
    assert_eq!(verify(&large, 1).unwrap_err().code, Code::InvalidRequest);

    let pad = |length: usize| forged(&chain(1), 0, "later", Some(json!("x".repeat(length))));
    let room = DELEGATION_BYTES - crate::jcs::canonical(&pad(0)).unwrap().len();
    assert!(verify(&pad(room), 1).is_ok());
    refused(&pad(room + 1), 1, Code::TooLarge, "delegation");
    let mut both = pad(room + 1);
    both[0]["realm"] = json!(crate::ids::Hash::from_bytes(&[9; 32]));
    refused(&both, 1, Code::TooLarge, "delegation");
}

#[test]
fn each_grant_is_judged_in_order() {
    let two = chain(2);
    let other = json!(crate::ids::Hash::from_bytes(&[9; 32]));
    for at in 0..2 {
        let forge = |name: &str, member: Value| forged(&two, at, name, Some(member));
        refused(&forge("realm", other.clone()), 2, Code::InvalidRequest, "delegation.realm");
        for (name, member) in [
            ("exp", json!(NOW)),
            ("exp", json!(NOW.minus(1))),
            ("ts", json!(NOW.plus(CLOCK_SKEW_MS + 1))),
            ("ts", json!(END.minus(TTL_MS + 1))),
        ] {
            refused(&forge(name, member), 2, Code::Expired, "delegation.exp");
        }
        let stranger = forge("by", json!(crate::ids::MachineId::from_bytes(&[7; 32])));
        refused(&stranger, 2, Code::NotMember, "delegation.by");
        for address in ["erin/lead@laptop", "alice/lead@phone"] {
            refused(&forge("from", json!(address)), 2, Code::NotMember, "delegation.by");
        }
        let mut unsigned = two.clone();
        unsigned[at]["later"] = json!(1);
        refused(&unsigned, 2, Code::BadSignature, "delegation.sig");
        let mut other_signer = two.clone();
        sign(&mut other_signer[at], &key(3));
        refused(&other_signer, 2, Code::BadSignature, "delegation.sig");
    }
    refused(
        &forged(&two, 0, "parent", Some(other.clone())),
        2,
        Code::InvalidRequest,
        "delegation.parent",
    );
    refused(&forged(&two, 1, "parent", Some(other)), 2, Code::InvalidRequest, "delegation.parent");
    refused(&forged(&two, 1, "parent", None), 2, Code::InvalidRequest, "delegation.parent");
    refused(
        &forged(&two, 1, "from", Some(json!(WHO[5]))),
        2,
        Code::InvalidRequest,
        "delegation.from",
    );
    refused(
        &forged(&two, 0, "later", Some(json!(1))),
        2,
        Code::InvalidRequest,
        "delegation.parent",
    );
    let ahead = forged(&chain(1), 0, "ts", Some(json!(NOW.plus(CLOCK_SKEW_MS))));
    assert!(verify(&ahead, 1).is_ok());
}

#[test]
fn a_wider_grant_is_refused_though_it_is_signed() {
    let root = Bounds { exp: Some(END), max_depth: Some(3), scope: Some(labels(&["read"])) };
    let root = pass(None, 0, 1, &root).unwrap();
    let two = pass(Some(&root), 1, 2, &Bounds::default()).unwrap();
    for (name, member, at) in [
        ("scope", Some(json!(["read", "write"])), "scope"),
        ("scope", None, "scope"),
        ("maxDepth", Some(json!(4)), "maxDepth"),
        ("exp", Some(json!(END.plus(1))), "exp"),
    ] {
        refused(&forged(&two, 1, name, member), 2, Code::Forbidden, at);
    }
}

#[test]
fn a_chain_is_good_for_one_hop() {
    let two = chain(2);
    let (device, from, to, task) = (*key(1).machine(), who(1), who(2), task(1));
    let hop = Hop { device: &device, from: &from, to: &to, task: &task };
    assert!(verify_chain(&two, &view(), &hop, NOW).is_ok());
    let (other, session, other_task) = (*key(2).machine(), who(5), super::fixture::task(0));
    for (hop, at) in [
        (Hop { device: &other, ..hop }, "delegation.by"),
        (Hop { from: &session, ..hop }, "delegation.from"),
        (Hop { to: &session, ..hop }, "delegation.to"),
        (Hop { task: &other_task, ..hop }, "delegation.task"),
    ] {
        let verdict = verify_chain(&two, &view(), &hop, NOW);
        assert_eq!(verdict, Err(Failure::new(Code::Forbidden, at)));
    }
    // Nor for the hop before, with its last grant cut away or left on.
    assert_eq!(verify_hop(&two, 0, 1).unwrap_err().code, Code::Forbidden);
    assert_eq!(verify(&chain(1), 2).unwrap_err().code, Code::Forbidden);
}
