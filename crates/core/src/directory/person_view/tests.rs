//! Views, heads and successions: what is believed, and that each lie is caught with its evidence.

use alloc::string::ToString as _;
use alloc::vec::Vec;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::directory::KeysSeq;
use crate::directory::testing::{Realm, device};
use crate::json;
use crate::time::Ms;

/// Alice has two devices, one approved by link, and a key each; three epochs.
fn realm() -> Realm {
    let mut realm = Realm::new();
    realm.epoch();
    realm.bind("alice", 1);
    realm.publish("alice", 1);
    realm.bind("bob", 5);
    realm.epoch();
    realm.link("alice", 2, 1);
    realm.publish("alice", 2);
    realm.attest("alice", 1);
    realm.epoch();
    realm
}

fn judge(
    realm: &Realm,
    view: &PersonView,
    held: Option<&PersonState>,
) -> Result<PersonState, ViewFailure> {
    let (sth, head) = (realm.sth(), realm.head());
    let kept = KeptHeads::new();
    let at = At { sth: &sth, head: &head, kept: &kept };
    verify_person_view(view, &realm.person("alice"), at, held, &realm.rules())
}

#[track_caller]
fn refused(result: Result<PersonState, ViewFailure>, code: Code, at: &str) -> Option<Evidence> {
    let refused = result.unwrap_err();
    assert_eq!((refused.failure.code, refused.failure.at), (code, at));
    refused.evidence.map(|evidence| *evidence)
}

const INCONSISTENT: Code = Code::DirectoryInconsistent;

#[test]
fn a_view_gives_what_the_directory_holds_from_nothing_and_from_any_earlier_state() {
    let mut realm = Realm::new();
    let mut held: Vec<PersonState> = Vec::new();
    realm.epoch();
    for step in 0..5 {
        match step {
            0 => realm.bind("alice", 1),
            1 => realm.publish("alice", 1),
            2 => realm.link("alice", 2, 1),
            3 => realm.publish("alice", 2),
            _ => realm.replace("alice", 2, 1),
        }
        realm.epoch();
        let expected = realm.state("alice");
        let whole = realm.view("alice", None);
        assert_eq!(judge(&realm, &whole, None), Ok(expected.clone()));
        for earlier in &held {
            let PersonState::Live(person) = earlier else { continue };
            let known = person.log.head().map(|head| head.seq);
            let view = realm.view("alice", known);
            assert_eq!(judge(&realm, &view, Some(earlier)), Ok(expected.clone()));
            assert_eq!(check_succession(earlier, &expected), Ok(()));
        }
        assert_eq!(PersonView::read(&whole.to_value().unwrap()), Ok(whole));
        held.push(expected);
    }
}

#[test]
fn somebody_unknown_and_somebody_erased_have_no_devices() {
    let mut realm = Realm::new();
    realm.bind("bob", 5);
    realm.epoch();
    let absent = judge(&realm, &realm.view("alice", None), None).unwrap();
    assert_eq!(absent, realm.state("alice"));
    realm.bind("alice", 1);
    realm.epoch();
    let before = realm.state("alice");
    realm.erase("alice");
    realm.epoch();
    let view = realm.view("alice", None);
    assert_eq!(judge(&realm, &view, Some(&before)), Ok(PersonState::Erased));
    let mut absent = view.clone();
    absent.tombstone = false;
    let evidence = refused(judge(&realm, &absent, None), INCONSISTENT, "view.mapProof");
    assert!(matches!(evidence, Some(Evidence::Uncommitted { .. })));
    let live = realm.view("bob", None);
    let claimed = PersonView { person: view.person, tombstone: true, ..live };
    refused(judge(&realm, &claimed, None), INCONSISTENT, "view.tombstone");
}

#[test]
fn the_head_is_the_last_epoch_of_its_own_time() {
    let realm = realm();
    let view = realm.view("alice", None);
    let kept = KeptHeads::new();
    let (sth, earlier) = (realm.sth(), realm.proof(1));
    let at = At { sth: &sth, head: &earlier, kept: &kept };
    let judged = verify_person_view(&view, &realm.person("alice"), at, None, &realm.rules());
    refused(judged, INCONSISTENT, "head.index");
}

#[test]
fn a_fork_is_told_with_both_entries_and_a_gap_is_refused() {
    let mut other = realm();
    let held = other.state("alice");
    let mut forked = Realm::new();
    forked.epoch();
    forked.bind("alice", 1);
    forked.link("alice", 3, 1);
    forked.attest("alice", 1);
    forked.epoch();
    // The whole log: it differs from the second entry on.
    let evidence =
        refused(judge(&forked, &forked.view("alice", None), Some(&held)), INCONSISTENT, "view.log");
    let Some(Evidence::Fork { held: ours, served }) = evidence else { panic!("no evidence") };
    assert_eq!((ours.seq(), served.seq()), (LogSeq(1), LogSeq(1)));
    assert!(ours.is_signed() && served.is_signed());

    // The tail alone: it does not follow what is held.
    other.attest("alice", 1);
    other.epoch();
    forked.attest("alice", 1);
    forked.epoch();
    let tail = forked.view("alice", Some(LogSeq(2)));
    let evidence = refused(judge(&forked, &tail, Some(&held)), INCONSISTENT, "view.log");
    assert!(matches!(evidence, Some(Evidence::Fork { .. })));
    let evidence = Evidence::to_value(&evidence.unwrap());
    assert_eq!(evidence["kind"], "fork");

    let late = other.view("alice", Some(LogSeq(1)));
    refused(judge(&other, &late, None), INCONSISTENT, "view.log");
    let mut short = other.view("alice", None);
    short.log.pop();
    short.epochs.pop();
    refused(judge(&other, &short, None), INCONSISTENT, "view.mapProof");
}

#[test]
fn an_unsigned_entry_is_no_evidence() {
    let realm = realm();
    let held = realm.state("alice");
    let mut view = realm.view("alice", None);
    let mut raw = view.log[1].to_value().unwrap();
    raw["ts"] = json!(raw["ts"].as_u64().unwrap() + 1);
    view.log[1] = LogEntry::read(&raw).unwrap();
    assert_eq!(refused(judge(&realm, &view, Some(&held)), INCONSISTENT, "view.log"), None);
}

#[test]
fn every_new_token_has_a_witness_in_its_time() {
    let realm = realm();
    let good = realm.view("alice", None);
    let change = |change: &dyn Fn(&mut PersonView)| {
        let mut view = good.clone();
        change(&mut view);
        judge(&realm, &view, None)
    };
    refused(change(&|view| view.epochs.clear()), Code::BindingInvalid, "view.epochs");
    refused(change(&|view| view.epochs[1].seq = LogSeq(7)), Code::BindingInvalid, "view.epochs");
    refused(
        change(&|view| view.epochs.push(view.epochs[0].clone())),
        Code::InvalidRequest,
        "view.epochs",
    );
    let swapped = change(&|view| view.epochs[0].epoch = view.epochs[1].epoch.clone());
    refused(swapped, INCONSISTENT, "view.epochs.mapProof");
    // The witness of the first entry, which says nothing of the third.
    let early = change(&|view| {
        let first = view.epochs[0].clone();
        view.epochs[1] = EpochWitness { seq: view.epochs[1].seq, ..first };
    });
    refused(early, INCONSISTENT, "view.epochs.value");
    let dated = change(&|view| view.epochs[0].epoch.leaf.ts = Ms(0));
    refused(dated, INCONSISTENT, "epochProof.inclusion");
    // One that nothing asks for is not looked at.
    let more = change(&|view| {
        let mut extra = view.epochs[0].clone();
        extra.seq = LogSeq(1);
        extra.epoch.leaf.ts = Ms(0);
        view.epochs.push(extra);
    });
    assert!(more.is_ok());
}

#[test]
fn a_token_witnessed_after_its_end_and_the_skew_binds_nothing() {
    for (wait, good) in [(900_000 + CLOCK_SKEW_MS - 6_000, true), (900_000 + CLOCK_SKEW_MS, false)]
    {
        let mut realm = Realm::new();
        realm.epoch();
        realm.bind("alice", 1);
        realm.clock = realm.clock.plus(wait);
        realm.epoch();
        let judged = judge(&realm, &realm.view("alice", None), None);
        if good {
            assert!(judged.is_ok());
        } else {
            refused(judged, Code::BindingInvalid, "view.epochs.leaf.ts");
        }
    }
}

#[test]
fn an_epoch_dated_before_a_head_that_was_seen_is_caught() {
    let realm = realm();
    let view = realm.view("alice", None);
    let (sth, head) = (realm.sth(), realm.head());
    let mut kept = KeptHeads::new();
    for size in 1..=3 {
        kept.keep(&realm.sth_at(size));
    }
    let judge = |kept: &KeptHeads| {
        let at = At { sth: &sth, head: &head, kept };
        verify_person_view(&view, &realm.person("alice"), at, None, &realm.rules())
    };
    assert!(judge(&kept).is_ok());
    let later = KeptHeads::of([(0, realm.proof(1).leaf.ts.plus(1))]);
    refused(judge(&later), INCONSISTENT, "epochProof.leaf.ts");
    let earlier = KeptHeads::of([(1, realm.proof(1).leaf.ts.minus(1))]);
    refused(judge(&earlier), INCONSISTENT, "epochProof.leaf.ts");
}

#[test]
fn keys_go_forward_only() {
    let mut realm = realm();
    let first = realm.state("alice");
    let stale = realm.state_of("alice").keys[&device(1)].clone();
    realm.publish("alice", 1);
    realm.epoch();
    let held = realm.state("alice");
    let good = realm.view("alice", None);
    let change = |keys: Vec<KeysStatement>, held: &PersonState| {
        judge(&realm, &PersonView { keys, ..good.clone() }, Some(held))
    };
    assert!(change(good.keys.clone(), &first).is_ok());
    let own: Vec<KeysStatement> =
        good.keys.iter().filter(|keys| keys.device != device(1)).cloned().collect();
    let evidence = refused(change(own.clone(), &held), INCONSISTENT, "view.keys");
    let gone = Evidence::Rollback { device: device(1), held: KeysSeq(2), served: None };
    assert_eq!(evidence, Some(gone));
    let mut old = own.clone();
    old.push(stale.clone());
    let evidence = refused(change(old.clone(), &held), INCONSISTENT, "view.keys");
    assert!(matches!(evidence, Some(Evidence::Rollback { served: Some(KeysSeq(1)), .. })));
    // To somebody who never saw the newer one, it is the map that does not hold it.
    refused(change(old, &first), INCONSISTENT, "view.mapProof");
    let twice: Vec<KeysStatement> = good.keys.iter().chain(&good.keys).cloned().collect();
    refused(change(twice, &held), Code::InvalidRequest, "view.keys");
    let mut other = stale;
    other.realm = Hash::from_bytes(&[1; 32]);
    refused(change(alloc::vec![other], &first), Code::BindingInvalid, "statement.realm");
}

#[test]
fn a_later_state_goes_on_from_an_earlier_one() {
    let mut realm = realm();
    let earlier = realm.state("alice");
    realm.publish("alice", 1);
    realm.attest("alice", 1);
    let later = realm.state("alice");
    assert_eq!(check_succession(&earlier, &later), Ok(()));
    assert_eq!(check_succession(&earlier, &earlier), Ok(()));
    assert_eq!(check_succession(&later, &earlier).unwrap_err().failure.at, "log");
    assert_eq!(check_succession(&PersonState::Erased, &earlier), Ok(()));
    assert_eq!(check_succession(&earlier, &PersonState::Erased), Ok(()));
    let with = |change: &dyn Fn(&mut VerifiedPerson)| {
        let mut person = realm.state_of("alice");
        change(&mut person);
        check_succession(&later, &PersonState::Live(Box::new(person))).unwrap_err().failure.at
    };
    assert_eq!(with(&|person| drop(person.keys.remove(&device(1)))), "keys");
    let old = earlier.clone();
    let PersonState::Live(old) = old else { panic!("alive") };
    assert_eq!(with(&|person| person.keys = old.keys.clone()), "keys");
    let changed = with(&|person| {
        if let Some(statement) = person.keys.get_mut(&device(1)) {
            statement.ts = Ms(1);
        }
    });
    assert_eq!(changed, "keys.seq");
}

#[test]
fn a_head_says_what_the_map_holds() {
    let mut realm = realm();
    realm.bind("carol", 7);
    realm.epoch();
    realm.erase("carol");
    realm.epoch();
    let (sth, last) = (realm.sth(), realm.head());
    let kept = KeptHeads::new();
    let judge =
        |head: &PersonHead| verify_person_head(head, At { sth: &sth, head: &last, kept: &kept });
    let heads: Vec<PersonHead> =
        ["alice", "carol", "nobody"].iter().map(|name| realm.person_head(name)).collect();
    for head in &heads {
        assert_eq!(judge(head), Ok(()));
        assert_eq!(PersonHead::read(&json!(head)), Ok(head.clone()));
        for other in &heads {
            let lie = PersonHead { committed: other.committed.clone(), ..head.clone() };
            assert_eq!(judge(&lie).is_ok(), head.committed == other.committed);
        }
    }
    let mut both = json!(heads[0]);
    both["tombstone"] = json!(true);
    assert!(PersonHead::read(&both).is_err());
}

#[test]
fn every_changed_byte_of_a_view_is_refused() {
    let realm = realm();
    let good = realm.view("alice", None).to_value().unwrap();
    assert!(judge(&realm, &PersonView::read(&good).unwrap(), None).is_ok());
    let text = good.to_string();
    let mut judged = 0;
    for at in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[at] ^= 1;
        let Ok(changed) = json::parse(&bytes, 1 << 20) else { continue };
        let Ok(view) = PersonView::read(&changed) else { continue };
        judged += 1;
        assert!(judge(&realm, &view, None).is_err(), "byte {at}");
    }
    assert!(judged > 500, "most changes read, and are judged: {judged}");
}

/// Puts `value` in place of one of the values inside `within`, by number.
fn put(within: &mut Value, at: &mut usize, value: &Value) -> bool {
    if *at == 0 {
        *within = value.clone();
        return true;
    }
    *at -= 1;
    match within {
        Value::Array(items) => items.iter_mut().any(|item| put(item, at, value)),
        Value::Object(members) => members.values_mut().any(|member| put(member, at, value)),
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_view_makes_a_verifier_panic_and_none_but_the_good_one_is_believed(
        first in 0usize..160, second in 0usize..160, from in 0usize..160, kind in 0usize..6,
    ) {
        let realm = realm();
        let good = realm.view("alice", None).to_value().unwrap();
        let mut copy = good.clone();
        // A value of another place, or of another shape.
        let other = [json!(null), json!([]), json!({}), json!(0), json!("x")];
        let value = other.get(kind).cloned().unwrap_or_else(|| {
            let marker = json!("here");
            let mut marked = good.clone();
            put(&mut marked, &mut from.clone(), &marker);
            let pair = [good.clone(), marked];
            picked(&pair[0], &pair[1]).cloned().unwrap_or(marker)
        });
        put(&mut copy, &mut first.clone(), &value);
        put(&mut copy, &mut second.clone(), &value);
        let believed = PersonView::read(&copy).is_ok_and(|view| judge(&realm, &view, None).is_ok());
        prop_assert!(!believed || PersonView::read(&copy) == PersonView::read(&good));
    }
}

/// The value of the first place in which two values differ.
fn picked<'a>(one: &'a Value, marked: &Value) -> Option<&'a Value> {
    if *marked == json!("here") {
        return Some(one);
    }
    match (one, marked) {
        (Value::Array(one), Value::Array(marked)) => {
            one.iter().zip(marked).find_map(|(one, marked)| picked(one, marked))
        }
        (Value::Object(one), Value::Object(marked)) => {
            one.values().zip(marked.values()).find_map(|(one, marked)| picked(one, marked))
        }
        _ => None,
    }
}

#[test]
fn other_shapes_do_not_read() {
    let realm = realm();
    let good = realm.view("alice", None).to_value().unwrap();
    for (member, value) in [
        ("tombstone", json!(true)),
        ("tombstone", json!(false)),
        ("tombstone", Value::Null),
        ("epochs", Value::Null),
        ("more", json!(1)),
        ("mapProof", json!({})),
        ("log", json!([{}])),
        ("person", json!("alice")),
    ] {
        let mut bad = good.clone();
        bad[member] = value;
        assert!(PersonView::read(&bad).is_err(), "{member}");
    }
    let mut eleven = good.clone();
    let hash = Hash::from_bytes(&[0; 32]);
    eleven["epochs"][0]["value"]["keys"] = json!(alloc::vec![hash; 11]);
    assert!(PersonView::read(&eleven).is_err());
}
