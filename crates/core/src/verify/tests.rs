//! Each step of the order with its code, and that the first failing one decides.

use proptest::prelude::*;
use serde_json::{Value, json};
use std::vec;

use super::*;
use crate::envelope::fixture::*;
use crate::envelope::{Glance, signed_head};
use crate::ids::Hash;
use crate::keys::PublicKey;
use crate::realm::{Anchor, DeviceView, TableView};

/// The verdict of alice on an envelope, `NOW`.
fn verdict(raw: &Value) -> Result<(), Code> {
    verdict_at(raw, NOW)
}

fn verdict_at(raw: &Value, now: Ms) -> Result<(), Code> {
    let (alice, bob) = (alice(), bob());
    let checked = Checked::read(raw.clone()).map_err(|failure| failure.code)?;
    let own = SelfRef { device: &alice.end.device, person: &alice.end.person };
    verify(&checked, &view(&[&alice, &bob]), now, Some(own), None)
        .map(|_| ())
        .map_err(|failure| failure.code)
}

/// Bob's line to alice with a change that bob signed.
fn changed(change: impl FnOnce(&mut Value)) -> Value {
    resigned(sealed_line("hi").envelope, &bob(), change)
}

fn set(name: &'static str, member: Value) -> Value {
    changed(|raw| raw[name] = member)
}

#[test]
fn a_good_envelope_passes() {
    assert_eq!(verdict(&sealed_line("hi").envelope), Ok(()));
    assert_eq!(verdict(&presence_of(&bob()).unwrap().envelope), Ok(()));
    assert_eq!(
        verdict(&set("later", json!({"a": [1]}))),
        Ok(()),
        "unknown members are signed like the rest"
    );
}

#[test]
fn each_step_has_its_code() {
    let realm = json!(Hash::from_bytes(&[9; 32]));
    let epoch = json!({"kind": "epoch", "size": 1, "root": realm});
    let stranger = Party::new("bob", 5);
    assert_eq!(verdict(&set("realm", realm)), Err(Code::NotMember));
    assert_eq!(verdict(&set("anchor", epoch)), Err(Code::InvalidRequest));
    assert_eq!(verdict_at(&sealed_line("hi").envelope, NOW.plus(TTL_MS)), Err(Code::Expired));
    assert_eq!(
        verdict(&changed(|raw| raw["from"]["person"] = json!("carol"))),
        Err(Code::NotMember)
    );
    let unknown =
        resigned(sealed_line("hi").envelope, &stranger, |raw| raw["from"] = json!(stranger.end));
    assert_eq!(verdict(&unknown), Err(Code::NotMember));
    let mut unsigned = sealed_line("hi").envelope;
    unsigned["later"] = json!(1);
    assert_eq!(verdict(&unsigned), Err(Code::BadSignature));
    let other = resigned(sealed_line("hi").envelope, &stranger, |_| ());
    assert_eq!(verdict(&other), Err(Code::BadSignature), "signed by another key than it says");
    assert_eq!(
        verdict(&changed(|raw| raw["to"]["device"] = json!(bob().end.device))),
        Err(Code::InvalidRequest)
    );
    assert_eq!(
        verdict(&changed(|raw| raw["to"]["person"] = json!("carol"))),
        Err(Code::InvalidRequest)
    );
}

#[test]
fn in_a_directory_realm_a_stranger_is_an_unknown_device() {
    let anchor = Anchor::Epoch { size: 3, root: Hash::from_bytes(&[3; 32]) };
    let raw = set("anchor", json!(anchor));
    let checked = Checked::read(raw).unwrap();
    let alice = alice();
    let view = TableView::new(realm(), anchor, []);
    let code = verify(&checked, &view, NOW, None, None).unwrap_err().code;
    assert_eq!(code, Code::UnknownDevice);
    let bob_there = DeviceView {
        person: bob().end.person,
        label: "desk".parse().unwrap(),
        enc: None,
        role: None,
    };
    let view = TableView::new(realm(), anchor, [(bob().end.device, bob_there)]);
    let own = SelfRef { device: &alice.end.device, person: &alice.end.person };
    assert!(verify(&checked, &view, NOW, Some(own), None).is_ok());
}

#[test]
fn the_window_is_exact() {
    let window =
        |ts: u64, exp: u64, now: u64| check_window(Ms(ts), Ms(exp), Ms(now)).map_err(|f| f.code);
    let expired = Err(Code::Expired);
    assert_eq!(window(1_000, 2_000, 1_999), Ok(()));
    assert_eq!(window(1_000, 2_000, 2_000), expired, "exp is past at exp");
    assert_eq!(window(2_001, 2_000, 1_000), expired);
    assert_eq!(window(1_000 + CLOCK_SKEW_MS, 1 << 40, 1_000), expired);
    let soon = 1_000 + CLOCK_SKEW_MS;
    assert_eq!(window(soon, soon + TTL_MS, 1_000), Ok(()));
    assert_eq!(window(soon + 1, soon + 1 + TTL_MS, 1_000), expired);
    assert_eq!(window(soon, soon + TTL_MS + 1, 1_000), expired);
    assert_eq!(window(u64::MAX, u64::MAX, u64::MAX), expired);
    assert_eq!(window(0, u64::MAX, 0), expired);
}

/// Every pair of faults of two steps: the earlier step's code is the answer.
#[test]
fn the_first_failing_step_decides() {
    let break_realm = |raw: &mut Value| raw["realm"] = json!(Hash::from_bytes(&[9; 32]));
    let break_anchor = |raw: &mut Value| {
        raw["anchor"] = json!({"kind": "epoch", "size": 1, "root": Hash::from_bytes(&[9; 32])});
    };
    let break_time = |raw: &mut Value| raw["exp"] = json!(NOW);
    let break_sender = |raw: &mut Value| raw["from"]["person"] = json!("carol");
    let break_sig = |_: &mut Value| ();
    let break_to = |raw: &mut Value| raw["to"]["device"] = json!(bob().end.device);
    let break_shape = |raw: &mut Value| raw["id"] = json!("x");
    type Step = (fn(&mut Value), Code);
    let steps: [Step; 7] = [
        (break_shape, Code::InvalidRequest),
        (break_realm, Code::NotMember),
        (break_anchor, Code::InvalidRequest),
        (break_time, Code::Expired),
        (break_sender, Code::NotMember),
        (break_sig, Code::BadSignature),
        (break_to, Code::InvalidRequest),
    ];
    for (i, (first, code)) in steps.iter().enumerate() {
        for (j, (second, _)) in steps.iter().enumerate().skip(i) {
            let mut raw = changed(|raw| {
                first(raw);
                second(raw);
            });
            if [i, j].contains(&5) {
                raw["later"] = json!("not signed");
            }
            assert_eq!(verdict(&raw), Err(*code), "steps {i} and {j}");
        }
    }
}

#[test]
fn a_verdict_from_elsewhere_counts_in_its_place() {
    let (alice, bob) = (alice(), bob());
    let checked = Checked::read(sealed_line("hi").envelope).unwrap();
    let view = view(&[&alice, &bob]);
    let with =
        |verdict| verify(&checked, &view, NOW, None, verdict).map(|_| ()).map_err(|f| f.code);
    let worked_out = checked.signature_verdict(&PublicKey::of(&bob.end.device).unwrap());
    assert_eq!(with(Some(worked_out)), Ok(()));
    assert_eq!(with(Some(false)), Err(Code::BadSignature));
    let late = verify(&checked, &view, NOW.plus(TTL_MS), None, Some(false));
    assert_eq!(late.unwrap_err().code, Code::Expired, "time stands before the signature");
    assert!(!checked.signature_verdict(&PublicKey::of(&alice.end.device).unwrap()));
}

#[test]
fn presence_has_no_addressee_and_a_size() {
    let alice = alice();
    let bob = bob();
    let raw = presence_of(&bob).unwrap().envelope;
    let read = |raw: Value| {
        let checked = Checked::read(raw).unwrap();
        let own = SelfRef { device: &alice.end.device, person: &alice.end.person };
        let verified = verify(&checked, &view(&[&alice, &bob]), NOW, Some(own), None).unwrap();
        verified.presence().map(|presence| presence.is_some()).map_err(|failure| failure.code)
    };
    assert_eq!(read(raw.clone()), Ok(true));
    assert_eq!(read(sealed_line("hi").envelope), Ok(false));
    let padded = |bytes: usize| {
        resigned(raw.clone(), &bob, |raw| {
            let frame = crate::jcs::canonical(&raw["body"]).unwrap().len() + ",\"z\":\"\"".len();
            raw["body"]["z"] = json!("x".repeat(bytes - frame));
        })
    };
    assert_eq!(read(padded(PRESENCE_BYTES)), Ok(true));
    assert_eq!(read(padded(PRESENCE_BYTES + 1)), Err(Code::TooLarge));
}

#[test]
fn a_signed_head_needs_a_signature_and_nothing_else() {
    let raw = sealed_line("hi").envelope;
    let Anchor::Roster { seq, hash } = anchor() else { panic!() };
    let head = signed_head(&raw, &realm()).unwrap();
    assert_eq!((head.seq, head.hash), (seq, hash));
    assert!(signed_head(&presence_of(&bob()).unwrap().envelope, &realm()).is_some());
    let eve = Party::new("eve", 6);
    let stranger = resigned(raw.clone(), &eve, |raw| {
        raw["from"] = json!(eve.end);
        (raw["ts"], raw["exp"], raw["type"]) = (json!(1), json!("never"), json!("later"));
    });
    assert!(
        signed_head(&stranger, &realm()).is_some(),
        "no membership, time or shape is looked at"
    );
    assert_eq!(signed_head(&raw, &Hash::from_bytes(&[1; 32])), None);
    let epoch = json!({"kind": "epoch", "size": 1, "root": realm()});
    assert_eq!(signed_head(&set("anchor", epoch), &realm()), None);
    for (name, member) in
        [("later", json!(1)), ("sig", json!("x")), ("anchor", json!(null)), ("from", json!([]))]
    {
        let mut raw = raw.clone();
        raw[name] = member;
        assert_eq!(signed_head(&raw, &realm()), None, "{name}");
    }
}

/// R1: a relay must not obtain signed refusals for envelopes that it has only seen.
#[test]
fn what_cannot_be_understood_is_answered_only_to_its_signer() {
    let (alice, bob) = (alice(), bob());
    let view = view(&[&alice, &bob]);
    let answer = |raw: &Value| Glance::answerable(raw, &view, &alice.end.device);
    let later = |change: fn(&mut Value)| {
        changed(|raw| {
            raw["type"] = json!("reaction");
            change(raw);
        })
    };
    let good = later(|_| ());
    assert!(Glance::of(&good).unwrap().is_foreign);
    assert_eq!(answer(&good), Some((bob.end.device, bob.end.person.clone())));
    assert_eq!(
        answer(&later(|raw| raw["v"] = json!("messaging/2"))),
        Some((bob.end.device, bob.end.person.clone()))
    );
    let mut forged = good.clone();
    forged["id"] = json!("01HF7YAT00DDDDDDDDDDDDDDDD");
    assert_eq!(answer(&forged), None, "not signed");
    assert_eq!(answer(&later(|raw| raw["realm"] = json!(Hash::from_bytes(&[1; 32])))), None);
    assert_eq!(answer(&later(|raw| raw["to"] = json!(super::tests::bob().end))), None);
    assert_eq!(answer(&later(|raw| raw["to"] = json!({"team": true}))), None);
    assert_eq!(answer(&later(|raw| raw["from"]["person"] = json!("alice"))), None);
    let eve = Party::new("eve", 6);
    assert_eq!(answer(&resigned(good, &eve, |raw| raw["from"] = json!(eve.end))), None);
}

/// W2.1, every line of the header shape check, under a good signature.
#[test]
fn a_header_out_of_shape_is_refused() {
    let line = sealed_line("hi").envelope;
    let presence = presence_of(&bob()).unwrap().envelope;
    for name in line.as_object().unwrap().keys() {
        let mut raw = line.clone();
        raw.as_object_mut().unwrap().remove(name);
        assert!(Checked::read(raw).is_err(), "without {name}");
    }
    let ulid = json!("01HF7YAT00DDDDDDDDDDDDDDDD");
    let deep = (0..33).fold(json!(1), |inner, _| json!([inner]));
    let agent = |raw: &Value, end: &str| {
        let mut end = raw[end].clone();
        end["agent"] = json!("api");
        end
    };
    let both = |mut end: Value| {
        end["team"] = json!(true);
        end
    };
    let cases = [
        (&line, "v", json!("messaging/2")),
        (&line, "id", json!("01hf7yat00dddddddddddddddd")),
        (&line, "type", json!("later")),
        (&line, "type", json!("task.status")),
        (&line, "type", json!("task.artifact")),
        (&line, "type", json!("presence")),
        (&line, "ts", json!(1.5)),
        (&line, "ts", json!("1")),
        (&line, "exp", json!(-1)),
        (&line, "from", json!({"person": "bob"})),
        (&line, "to", json!({"team": true})),
        (&line, "to", both(line["to"].clone())),
        (&line, "to", agent(&line, "to")),
        (&line, "class", json!("self")),
        (&line, "class", json!("later")),
        (&line, "class", json!(null)),
        (&line, "enc", json!("none")),
        (&line, "enc", json!("aes")),
        (&line, "epk", json!("AAAA")),
        (&line, "nonce", json!("AAAA")),
        (&line, "replyTo", json!(null)),
        (&line, "replyTo", json!("x")),
        (&line, "body", json!({"seq": 1, "label": "desk", "sessions": [], "features": []})),
        (&line, "body", json!("AA==")),
        (&line, "body", json!("AB")),
        (&line, "body", json!(1)),
        (&line, "sig", json!("AAAA")),
        (&line, "later", json!(9_007_199_254_740_992_u64)),
        (&line, "later", deep),
        (&presence, "to", line["to"].clone()),
        (&presence, "to", json!({"team": false})),
        (&presence, "to", json!({"team": true, "agent": "api"})),
        (&presence, "enc", json!("x25519-aes256gcm")),
        (&presence, "class", json!("contact")),
        (&presence, "epk", line["epk"].clone()),
        (&presence, "nonce", line["nonce"].clone()),
        (&presence, "replyTo", ulid.clone()),
        (&presence, "body", json!("AAAA")),
        (&presence, "body", json!({})),
        (&presence, "type", json!("receipt")),
    ];
    for (raw, name, member) in cases {
        let mut raw = raw.clone();
        raw[name] = member;
        let code = Checked::read(raw.clone()).map(|_| ()).map_err(|failure| failure.code);
        assert_eq!(code, Err(Code::InvalidRequest), "{name}: {raw}");
    }
    for raw in [json!([]), json!("x"), json!(null), json!([line])] {
        assert!(Checked::read(raw).is_err());
    }
    let with = |change: fn(&mut Value)| {
        let mut raw = line.clone();
        change(&mut raw);
        Checked::read(raw).is_ok()
    };
    assert!(with(|raw| raw["class"] = json!("request")), "the payload decides whether it is one");
    assert!(with(|raw| raw["replyTo"] = json!("01HF7YAT00DDDDDDDDDDDDDDDD")));
    assert!(with(|raw| raw["ts"] = json!(1.0)));
    assert!(with(|raw| raw["to"]["later"] = json!(1)));
    assert!(!with(|raw| {
        raw["class"] = json!("request");
        raw["replyTo"] = json!("01HF7YAT00DDDDDDDDDDDDDDDD");
    }));
    assert!(!with(|raw| {
        raw["class"] = json!("request");
        raw["from"]["agent"] = json!("api");
    }));
    assert!(!with(|raw| {
        raw["class"] = json!("request");
        raw["type"] = json!("receipt");
    }));
    assert!(!with(|raw| {
        raw["class"] = json!("contact");
        raw["to"]["person"] = json!("bob");
    }));
}

/// Any JSON, deep and odd.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-zA-Z0-9_=-]{0,44}".prop_map(Value::from),
        Just(json!("messaging/1")),
        Just(json!({"team": true})),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{0,8}", inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Any JSON as it comes out of the strict reader.
fn readable(value: &Value) -> bool {
    crate::json::check(value).is_ok()
}

proptest! {
    /// Whatever stands in a member's place is judged, never a panic; and what passes keeps its canonical texts.
    #[test]
    fn any_value_in_any_place_is_judged(
        pointer in prop::sample::select(vec![
            "v", "id", "type", "realm", "from", "to", "ts", "exp", "class", "anchor", "enc", "epk", "nonce", "body", "sig",
            "replyTo", "later", "a", "z", "bodz", "\u{1f600}", "\u{ffff}",
        ]),
        member in anything(),
        plain in any::<bool>(),
    ) {
        let mut raw = if plain { presence_of(&bob()).unwrap().envelope } else { sealed_line("hi").envelope };
        raw[pointer] = member;
        let _ = (signed_head(&raw, &realm()), Glance::of(&raw));
        if let Ok(checked) = Checked::read(raw.clone()) {
            prop_assert!(readable(&raw));
            let mut less = raw.clone();
            less.as_object_mut().unwrap().remove("sig");
            prop_assert_eq!(checked.signed_text(), crate::jcs::canonical(&less).unwrap());
            less.as_object_mut().unwrap().remove("body");
            let header = crate::jcs::canonical(&less).unwrap();
            prop_assert_eq!(checked.header_bytes(), header.len());
            prop_assert_eq!(checked.header_text(), header);
            prop_assert_eq!(checked.into_raw(), raw);
        }
    }

    #[test]
    fn any_value_at_all_is_judged(raw in anything()) {
        prop_assert!(Checked::read(raw.clone()).is_err());
        prop_assert_eq!(signed_head(&raw, &realm()), None);
    }
}
