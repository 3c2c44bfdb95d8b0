//! What of a call is read, and how its field is named.
//! Spec: §8.7, D3.25, C8.7-01, C8.7-04

use alloc::format;
use alloc::string::String;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::b64;
use crate::code::Failure;
use crate::secrets::testing::{mixed, table};
use crate::secrets::{Found, Kind, scan};

fn token() -> String {
    ["ghp", "_", &mixed(36)].concat()
}

#[track_caller]
fn field(params: Value) -> Option<String> {
    scan(&params, &["key"]).unwrap().map(|found| found.field)
}

#[track_caller]
fn tells(params: Value, expected: &str) {
    assert_eq!(field(params).as_deref(), Some(expected));
}

#[test]
fn the_field_is_the_parameter_or_the_part() {
    let t = token();
    let text = json!([{"text": "x"}, {"text": "x"}, {"text": t}]);
    tells(json!({"parts": text}), "parts[2]");
    tells(json!({"parts": [{"data": {"a": [[{"b": t}]]}}]}), "parts[0]");
    tells(json!({"parts": [{"text": "x", "metadata": {t.clone(): 1}}]}), "parts[0]");
    tells(json!({"parts": t}), "parts");
    tells(json!({"metadata": {"deep": {"er": t}}}), "metadata");
    tells(json!({"message": {"parts": text}}), "message");
    tells(json!({"artifact": {"name": t, "parts": []}}), "artifact");
    tells(json!({"reason": t}), "reason");
    tells(json!({"text": format!("see {t}")}), "text");
    tells(json!({"contextId": t}), "contextId");
    tells(json!({"extensions": ["x", t]}), "extensions");
    tells(json!(t), "params");
}

#[test]
fn the_session_key_is_not_read_and_numbers_are_not_text() {
    let t = token();
    assert_eq!(field(json!({"key": t, "text": "x", "n": [1, 2.5, null, true]})), None);
    tells(json!({"key": t, "text": t}), "text");
    assert_eq!(scan(&json!({"key": t}), &[]).unwrap().unwrap().field, "key");
    // Only the parameter of that name, not a member further down.
    tells(json!({"metadata": {"key": t}}), "metadata");
    assert_eq!(field(json!({})), None);
    assert_eq!(field(json!(null)), None);
}

#[test]
fn a_name_that_is_a_credential_does_not_become_the_field() {
    tells(json!({token(): 1}), "params");
}

#[test]
fn raw_is_read_as_the_bytes_it_stands_for() {
    let hidden = b64::encode_standard(format!("\u{0}x {}", token()).as_bytes());
    tells(json!({"parts": [{"raw": hidden}]}), "parts[0]");
    tells(json!({"artifact": {"parts": [{"raw": hidden}]}}), "artifact");
    tells(json!({"metadata": {"raw": hidden}}), "metadata");
    assert_eq!(field(json!({"parts": [{"text": hidden}]})), None, "text is what it is");
    let bytes = [&[0xff, 0xfe, b' '][..], token().as_bytes(), &[0xff]].concat();
    tells(json!({"parts": [{"raw": b64::encode_standard(&bytes)}]}), "parts[0]");
    tells(json!({"parts": [{"data": {"raw": token()}}]}), "parts[0]");
}

#[test]
fn a_part_whose_raw_is_no_base64_is_refused() {
    let bad = Err(Failure::invalid("raw"));
    for raw in ["x", "AA", "AA==\n", "-_8=", "AB=="] {
        assert_eq!(scan(&json!({"parts": [{"raw": raw}]}), &[]), bad);
        assert_eq!(scan(&json!({"artifact": {"parts": [{"raw": raw}]}}), &[]), bad);
        assert_eq!(scan(&json!({"raw": raw}), &[]), bad);
        // The sender's own member of that name may hold anything.
        assert_eq!(scan(&json!({"parts": [{"data": {"raw": raw}}]}), &[]), Ok(None));
        assert_eq!(scan(&json!({"metadata": {"x": [{"raw": raw}]}}), &[]), Ok(None));
    }
    assert_eq!(scan(&json!({"parts": [{"raw": ""}, {"raw": ["x"]}]}), &[]), Ok(None));
}

#[test]
fn the_first_field_counts() {
    let (t, ticket) = (token(), ["messaging", "1.", "ey", "J", &mixed(60)].concat());
    let found = scan(&json!({"metadata": {"a": ticket}, "text": t}), &[]).unwrap().unwrap();
    assert_eq!(found, Found { field: "metadata".into(), kind: Kind::InviteTicket });
    let found = scan(&json!({"parts": [{"text": format!("{ticket} {t}")}]}), &[]);
    assert_eq!(
        found.unwrap().unwrap().kind,
        Kind::GithubToken,
        "in one string, the order of kinds"
    );
}

#[test]
fn the_message_names_the_field_and_the_kind_only() {
    let found = scan(&json!({"parts": [{"text": token()}]}), &[]).unwrap().unwrap();
    assert_eq!(format!("{found}"), "parts[0] holds a GitHub token; nothing was sent");
    for (kind, positives, _) in table() {
        for secret in positives {
            for params in
                [json!({"text": secret}), json!({secret.clone(): {secret.clone(): secret}})]
            {
                let found = scan(&params, &[]).unwrap().unwrap();
                assert_eq!(found.kind, kind);
                let told = format!("{found} {found:?}");
                let tail: String = secret.chars().rev().take(12).collect();
                let tail: String = tail.chars().rev().collect();
                assert!(!told.contains(&secret) && !told.contains(&tail));
            }
        }
    }
}

/// Ordinary JSON, at one place of which something is put.
fn tree(leaf: Value) -> impl Strategy<Value = Value> {
    let ordinary =
        || prop_oneof![any::<u32>().prop_map(Value::from), "[ -~]{0,12}".prop_map(Value::from)];
    let step = (any::<bool>(), "[a-z]{1,6}", prop::collection::vec(ordinary(), 0..3));
    prop::collection::vec(step, 0..6).prop_map(move |steps| {
        steps.into_iter().fold(leaf.clone(), |inner, (list, name, mut beside)| {
            if list {
                beside.push(inner);
                return Value::Array(beside);
            }
            let mut members = serde_json::Map::new();
            members.extend(beside.into_iter().enumerate().map(|(n, v)| (format!("n{n}"), v)));
            // A name of its own, and none that is read in another way.
            members.insert(format!("{name}-"), inner);
            Value::Object(members)
        })
    })
}

proptest! {
    #[test]
    fn it_is_found_wherever_it_stands(row in 0..14_usize, params in tree(json!("@"))) {
        let (kind, [secret, _], [harmless, _]) = table().swap_remove(row);
        let put = |text: &str| {
            let own = serde_json::to_string(text).unwrap();
            serde_json::from_str::<Value>(&format!("{params}").replace("\"@\"", &own)).unwrap()
        };
        prop_assert_eq!(scan(&json!({"text": put(&secret)}), &[]).unwrap().unwrap().kind, kind);
        prop_assert_eq!(scan(&json!({"text": put(&harmless)}), &[]).unwrap(), None);
    }
}
