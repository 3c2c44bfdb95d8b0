//! Round trips, the check values of the atlas, and what must not open.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::envelope::fixture::*;
use crate::ids::MachineId;
use crate::keys::PublicKey;
use crate::seal::testing::{open_unverified, seal_bytes, trace};

fn opened(raw: Value, keys: &[&EncSecret]) -> Result<Opened, Code> {
    open_unverified(&checked(raw), keys).map_err(|failure| failure.code)
}

fn alice_opens(raw: Value) -> Result<Opened, Code> {
    opened(raw, &[&alice().identity.enc])
}

#[test]
fn the_check_values_of_the_atlas() {
    let sealed = sealed_line("hi");
    assert_eq!(
        sealed.envelope["body"],
        "4_U0PsB-NM5ECmJunvZ4jmlasjDz9pRM_d5qsonokSx3P9jgtktKzyb2wM93mapwnKveZsAbAkVwimJVPq8kbEuH3cAN56wFZzGAy6JbNZXV\
         oqFSRGbCAp5hb34HhLPUUEv6zCdHc7Ys8dnZqSS2cxH_iqdKSWWpqoXRUV_xVT7Rng"
    );
    assert_eq!(
        sealed.envelope["sig"],
        "7m-hi893pPYh2a7-7O236-mC4_L-biAw-pB-O5igUAhlmK9REsNeNTsRLRUYuhteqhge2xuYPIrkjkZjOK12DQ"
    );
    assert_eq!(sealed.envelope["epk"], "GX_CxWfcA-4qrfDthmgdrCTap26DylVYdd075zduUwY");
}

#[test]
fn the_text_is_the_canonical_text_of_the_envelope() {
    for sealed in [sealed_line("hi"), sealed_line("\u{1}\"\\ é 😀"), presence_of(&bob()).unwrap()]
    {
        assert_eq!(jcs::canonical(&sealed.envelope).unwrap(), sealed.text);
        let checked = checked(sealed.envelope.clone());
        assert_eq!(*checked.text(), sealed.text);
        assert_eq!(checked.signed_text(), jcs::canonical_without(&sealed.envelope, "sig").unwrap());
        let mut header = sealed.envelope.clone();
        for member in ["body", "sig"] {
            header.as_object_mut().unwrap().remove(member);
        }
        let header = jcs::canonical(&header).unwrap();
        assert_eq!(checked.header_bytes(), header.len());
        assert_eq!(checked.header_text(), header);
        let body = jcs::canonical(&sealed.envelope["body"]).unwrap().len();
        let quotes = if checked.sealed_body().is_some() { 2 } else { 0 };
        assert_eq!(checked.body_len(), body - quotes);
        assert!(checked.signature_verdict(&PublicKey::of(&bob().end.device).unwrap()));
    }
}

#[test]
fn what_was_sealed_opens_for_its_recipient_alone() {
    let sealed = sealed_line("hi").envelope;
    let opened_by_alice = alice_opens(sealed.clone()).unwrap();
    assert_eq!(opened_by_alice.raw, line("hi"));
    let (old, current) = (alice().identity.enc, EncSecret::from_bytes([0x77; 32]));
    assert_eq!(opened(sealed.clone(), &[&current, &old]).unwrap().key, 1);
    assert_eq!(opened(sealed.clone(), &[&current]), Err(Code::BadSignature));
    assert_eq!(opened(sealed.clone(), &[]), Err(Code::BadSignature));
    assert_eq!(opened(sealed, &[&bob().identity.enc]), Err(Code::BadSignature));
    let presence = presence_of(&bob()).unwrap().envelope;
    assert_eq!(alice_opens(presence), Err(Code::InvalidRequest));
}

#[test]
fn a_fresh_ephemeral_key_or_nonce_gives_another_body() {
    let (bob, alice, payload) = (bob(), alice(), line("hi"));
    let request = request(
        &bob,
        &bob.end,
        &alice.end,
        *alice.identity.enc.public(),
        SealedType::Message,
        &payload,
    );
    let seal = |ephemeral, nonce| seal(&request, ephemeral, nonce).unwrap();
    let first = seal([1; 32], [1; 12]);
    assert_eq!(first, seal([1; 32], [1; 12]), "and only they do");
    assert_ne!(first.envelope["body"], seal([2; 32], [1; 12]).envelope["body"]);
    assert_ne!(first.envelope["body"], seal([1; 32], [2; 12]).envelope["body"]);
    let trace = trace(&request, [1; 32], [1; 12]).unwrap();
    assert_eq!(trace.aad, checked(first.envelope).header_text());
    assert_eq!(trace.plaintext.as_str(), jcs::canonical(&payload).unwrap().as_str());
}

/// Stripping the signature and signing as somebody else does not take the text over: the seal knows its sender.
#[test]
fn a_resigned_envelope_does_not_open() {
    let mallory = Party::new("mallory", 3);
    let raw = resigned(sealed_line("hi").envelope, &mallory, |raw| {
        raw["from"] = json!(mallory.end);
    });
    let checked = checked(raw.clone());
    assert!(checked.signature_verdict(&PublicKey::of(&mallory.end.device).unwrap()));
    assert_eq!(alice_opens(raw), Err(Code::BadSignature));
}

#[test]
fn every_changed_header_member_and_every_added_one_fails_to_open() {
    let raw = sealed_line("hi").envelope;
    let mut changed = 0;
    for (name, value) in raw.as_object().unwrap() {
        let other = match (name.as_str(), value) {
            ("v" | "type" | "enc" | "class" | "sig", _) => continue,
            ("id", _) => json!("01HF7YAT00BBBBBBBBBBBBBBBC"),
            ("ts" | "exp", value) => json!(value.as_u64().unwrap() - 1),
            ("realm" | "epk", _) => json!(Hash::from_bytes(&[5; 32])),
            ("from", _) => json!(bob().agent("api")),
            ("to", _) => json!(End { person: alice().end.person, ..bob().end }),
            ("anchor", _) => json!(Anchor::Roster { seq: 3, hash: realm() }),
            ("nonce", _) => json!(Nonce12::from_bytes(&[8; 12])),
            ("body", value) => json!(value.as_str().unwrap().replacen('4', "5", 1)),
            _ => panic!("a member without a change: {name}"),
        };
        let mut raw = raw.clone();
        raw[name] = other;
        assert_eq!(alice_opens(raw), Err(Code::BadSignature), "{name}");
        changed += 1;
    }
    assert_eq!(changed, 10);
    for (name, member) in [("later", json!(1)), ("replyTo", json!("01HF7YAT00BBBBBBBBBBBBBBBB"))] {
        let mut raw = raw.clone();
        raw[name] = member;
        assert_eq!(alice_opens(raw), Err(Code::BadSignature), "{name}");
    }
    for class in ["self", "request"] {
        let mut raw = raw.clone();
        raw["class"] = json!(class);
        if class == "self" {
            raw["from"]["person"] = json!("alice");
        }
        assert_eq!(alice_opens(raw), Err(Code::BadSignature), "{class}");
    }
}

#[test]
fn short_bodies_and_low_order_keys_fail_to_open() {
    let raw = sealed_line("hi").envelope;
    for body in ["", "AA", "AAAA", &b64::encode(&[0; 15]), &b64::encode(&[0; 16])] {
        let mut raw = raw.clone();
        raw["body"] = json!(body);
        assert_eq!(alice_opens(raw), Err(Code::BadSignature), "{body}");
    }
    let mut low = raw;
    low["epk"] = json!(EncKey::from_bytes(&[0; 32]));
    assert_eq!(alice_opens(low), Err(Code::BadSignature));
}

/// Seals any plaintext as a `message` from bob to alice.
fn seal_text(plaintext: impl Into<Vec<u8>>) -> Value {
    let (bob, alice) = (bob(), alice());
    let mut header = sealed_line("hi").envelope.as_object().unwrap().clone();
    for member in ["body", "sig", "epk", "nonce"] {
        header.remove(member);
    }
    let recipient = *alice.identity.enc.public();
    seal_bytes(header, plaintext.into(), &recipient, &bob.identity.signing, [0x13; 32], [9; 12])
        .unwrap()
        .envelope
}

#[test]
fn what_is_inside_must_be_a_strict_payload_of_its_type() {
    assert!(alice_opens(seal_text(format!(" {} ", line("hi")))).is_ok(), "canonical or not");
    let deep = format!("{}1{}", "[".repeat(33), "]".repeat(33));
    let mut later = line("hi");
    later["later"] = json!(9_007_199_254_740_991_u64);
    assert_eq!(alice_opens(seal_text(format!("{later}"))).unwrap().raw, later);
    for text in [
        &b""[..],
        b"\xff",
        b"{",
        b"[]",
        b"\"text\"",
        b"\xef\xbb\xbf{}",
        b"{\"kind\":\"message\",\"kind\":\"message\"}",
        b"{\"x\":\"\\ud800\"}",
        b"{\"x\":9007199254740992}",
        b"{\"x\":1e999}",
        deep.as_bytes(),
        format!("{} {}", line("hi"), line("hi")).as_bytes(),
        format!("{}", json!({"ref": "01HF7YAT00AAAAAAAAAAAAAAAA", "stage": "read"})).as_bytes(),
    ] {
        let code = alice_opens(seal_text(text)).map(|_| ());
        assert_eq!(code, Err(Code::InvalidRequest), "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn the_plaintext_limit_holds_at_both_ends() {
    let (bob, alice) = (bob(), alice());
    let frame = jcs::canonical(&line("")).unwrap().len();
    for (text, unit) in [("x", 1), ("é", 2), ("\u{1}", 6)] {
        let fitting = (PLAINTEXT_BYTES - frame) / unit;
        let seal = |count: usize| {
            let payload = line(&text.repeat(count));
            let request = request(
                &bob,
                &bob.end,
                &alice.end,
                *alice.identity.enc.public(),
                SealedType::Message,
                &payload,
            );
            seal(&request, [1; 32], [2; 12]).map_err(|failure| failure.code)
        };
        let sealed = seal(fitting).unwrap();
        assert!(checked(sealed.envelope.clone()).body_len() <= crate::limits::BODY_CHARS);
        assert!(alice_opens(sealed.envelope).is_ok());
        assert_eq!(seal(fitting + 1), Err(Code::TooLarge));
    }
    let over = format!("{}{}", line("hi"), " ".repeat(PLAINTEXT_BYTES));
    assert_eq!(alice_opens(seal_text(over)), Err(Code::TooLarge));
}

#[test]
fn a_request_that_breaks_a_rule_is_not_sealed() {
    let (bob, alice, payload) = (bob(), alice(), line("hi"));
    let recipient = *alice.identity.enc.public();
    let good = request(&bob, &bob.end, &alice.end, recipient, SealedType::Message, &payload);
    let code =
        |request: &SealRequest<'_>| seal(request, [1; 32], [2; 12]).map_err(|failure| failure.code);
    assert!(code(&good).is_ok());
    let refused = Err(Code::InvalidRequest);
    assert_eq!(code(&SealRequest { exp: Ms(NOW.0 - 1), ..good.clone() }), refused);
    assert_eq!(code(&SealRequest { exp: NOW.plus(TTL_MS + 1), ..good.clone() }), refused);
    assert_eq!(code(&SealRequest { kind: SealedType::Receipt, ..good.clone() }), refused);
    assert_eq!(
        code(&SealRequest { recipient: EncKey::from_bytes(&[0; 32]), ..good.clone() }),
        refused
    );
    assert_eq!(code(&SealRequest { identity: &alice.identity.signing, ..good.clone() }), refused);
    let agent = alice.agent("ui");
    assert_eq!(code(&SealRequest { to: &agent, ..good.clone() }), refused, "mail from no agent");
    let status = json!({"taskId": "01HF7YAT00AAAAAAAAAAAAAAAA", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}});
    let status = SealRequest { kind: SealedType::TaskStatus, payload: &status, ..good.clone() };
    assert_eq!(code(&status), refused, "a status without replyTo");
    let reply_to = Some(id("01HF7YAT00BBBBBBBBBBBBBBBB"));
    assert!(code(&SealRequest { reply_to, ..status }).is_ok());
    let deep = (0..40).fold(json!(1), |inner, _| json!([inner]));
    let mut payload = line("hi");
    payload["later"] = deep;
    assert_eq!(code(&SealRequest { payload: &payload, ..good }), refused);
}

#[test]
fn the_class_follows_from_the_ends_and_the_payload() {
    let (bob, alice) = (bob(), alice());
    let class = |to: &End, payload: &Value| {
        let request =
            request(&bob, &bob.end, to, *alice.identity.enc.public(), SealedType::Message, payload);
        seal(&request, [1; 32], [2; 12]).map(|sealed| sealed.envelope["class"].clone())
    };
    let own = End { device: MachineId::from_bytes(&[7; 32]), ..bob.end.clone() };
    let mut ask = line("hi");
    ask["conv"] = json!({"kind": "request"});
    assert_eq!(class(&alice.end, &line("hi")).unwrap(), "contact");
    assert_eq!(class(&alice.end, &ask).unwrap(), "request");
    assert_eq!(class(&own, &line("hi")).unwrap(), "self");
    assert!(class(&own, &ask).is_err());
}

#[test]
fn presence_is_signed_as_it_is() {
    let bob = bob();
    let raw = presence_of(&bob).unwrap().envelope;
    assert_eq!(raw["to"], json!({"team": true}));
    assert_eq!(raw["enc"], "none");
    for absent in ["class", "epk", "nonce", "replyTo"] {
        assert_eq!(raw.get(absent), None);
    }
    let mut other = Party::new("bob", 9);
    other.identity = alice().identity;
    assert_eq!(presence_of(&other).unwrap_err().code, Code::InvalidRequest);
    let mut agent = Party::new("bob", 2);
    agent.end = agent.agent("api");
    assert_eq!(presence_of(&agent).unwrap_err().code, Code::InvalidRequest);
}

/// Any payload that may be a direct line: texts and members of every kind.
fn lines() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        ".*".prop_map(Value::from)
    ];
    let data = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(".*", inner, 0..4)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    });
    (".*", data.clone(), data).prop_map(|(text, data, later)| {
        let mut payload = line(&text);
        payload["message"]["parts"] = json!([{"text": text}, {"data": data}]);
        payload["later"] = later;
        payload
    })
}

proptest! {
    #[test]
    fn whatever_is_sealed_opens_again(payload in lines(), ephemeral: [u8; 32], nonce: [u8; 12]) {
        let (bob, alice) = (bob(), alice());
        let request =
            request(&bob, &bob.end, &alice.end, *alice.identity.enc.public(), SealedType::Message, &payload);
        let sealed = seal(&request, ephemeral, nonce).unwrap();
        prop_assert_eq!(&jcs::canonical(&sealed.envelope).unwrap(), &sealed.text);
        let arrived = crate::json::parse(sealed.text.as_bytes(), crate::limits::FRAME_BYTES).unwrap();
        let opened = alice_opens(arrived).unwrap();
        prop_assert_eq!(opened.raw, payload);
    }

    /// One changed byte of the text is either no envelope any more, or one that neither verifies nor opens.
    #[test]
    fn one_changed_byte_is_noticed(at in 0..1_000_usize, to in 0x20_u8..0x7f) {
        let sealed = sealed_line("hi");
        let key = PublicKey::of(&bob().end.device).unwrap();
        let mut text = sealed.text.as_bytes().to_vec();
        let at = at % text.len();
        prop_assume!(text[at] != to);
        text[at] = to;
        let Ok(raw) = crate::json::parse(&text, crate::limits::FRAME_BYTES) else { return Ok(()) };
        let Ok(checked) = Checked::read(raw) else { return Ok(()) };
        let in_sig = checked.header_text() == crate::envelope::fixture::checked(sealed.envelope.clone()).header_text()
            && checked.sealed_body() == sealed.envelope["body"].as_str();
        prop_assert!(!checked.signature_verdict(&key));
        prop_assert_eq!(open_unverified(&checked, &[&alice().identity.enc]).is_ok(), in_sig);
    }
}

/// §5 "Core checks these when it seals and when it opens": one breach of each meaning, at both ends.
#[test]
fn the_rules_of_a_meaning_hold_at_both_ends() {
    let with = |name: &str, member: Value| {
        let mut payload = line("hi");
        payload["message"][name] = member;
        payload
    };
    let conv = |conv: Value| {
        let mut payload = line("hi");
        payload["conv"] = conv;
        payload
    };
    let ulid = json!("01HF7YAT00AAAAAAAAAAAAAAAA");
    let mut task = with("taskId", ulid.clone());
    task["kind"] = json!("task");
    task["message"]["contextId"] = ulid.clone();
    let (bob, alice) = (bob(), alice());
    for payload in [
        with("taskId", ulid),
        with("messageId", json!("m")),
        with("contextId", json!("c")),
        task,
        conv(json!({"kind": "self", "what": "grant"})),
        conv(json!({"kind": "card", "what": "get"})),
    ] {
        let request = request(
            &bob,
            &bob.end,
            &alice.end,
            *alice.identity.enc.public(),
            SealedType::Message,
            &payload,
        );
        let sealed = seal(&request, [1; 32], [2; 12]).map_err(|failure| failure.code);
        assert_eq!(sealed, Err(Code::InvalidRequest), "{payload}");
        assert_eq!(
            alice_opens(seal_text(format!("{payload}"))),
            Err(Code::InvalidRequest),
            "{payload}"
        );
    }
    // A request is of class request at both ends: what is sealed as contact does not open as one.
    let ask = conv(json!({"kind": "request"}));
    assert_eq!(alice_opens(seal_text(format!("{ask}"))), Err(Code::InvalidRequest));
}
