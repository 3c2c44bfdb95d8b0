//! The keyring: which documents it asks for, what it believes, and when it says that nobody answered.

use alloc::string::ToString as _;
use alloc::vec::Vec;

use serde_json::{Value, json};

use super::*;
use crate::keys::SigningKey;

fn x(number: u8) -> MachineId {
    *SigningKey::from_seed(&[number; 32]).machine()
}

fn key_set(keys: &[(&str, u8)]) -> Vec<u8> {
    let keys: Vec<Value> = keys
        .iter()
        .map(|(kid, n)| json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": x(*n), "use": "sig"}))
        .collect();
    json!({"keys": keys}).to_string().into_bytes()
}

fn history(keys: &[(&str, u8, u64, Option<u64>)]) -> Vec<u8> {
    let keys: Vec<Value> = keys
        .iter()
        .map(|(kid, n, nbf, retired)| {
            json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": x(*n), "nbf": nbf, "retired_at": retired})
        })
        .collect();
    json!({"keys": keys}).to_string().into_bytes()
}

/// What the service serves, and what was asked of it.
struct Service {
    key_set: Option<Vec<u8>>,
    history: Option<Vec<u8>>,
    asked: Vec<KeyDocument>,
}

impl Service {
    fn new(key_set: Option<Vec<u8>>, history: Option<Vec<u8>>) -> Self {
        Self { key_set, history, asked: Vec::new() }
    }

    fn find(&mut self, ring: &mut JellyKeyring, kid: &str, at: u64) -> Result<JellyKey, Code> {
        let now = Now { wall: Ms(1_700_000_000_000 + at), mono: Mono(at) };
        for _ in 0..5 {
            match ring.prepare(kid, now) {
                Prepared::Ready => return ring.key(kid).map_err(|failure| failure.code),
                Prepared::Fetch(document) => {
                    self.asked.push(document);
                    let text = match document {
                        KeyDocument::KeySet => &self.key_set,
                        KeyDocument::History => &self.history,
                    };
                    ring.fetched(document, text.as_deref(), now);
                }
            }
        }
        panic!("it asks without end");
    }
}

const DAY: u64 = 86_400_000;
use KeyDocument::{History, KeySet};

#[test]
fn documents_live_below_the_issuer() {
    assert_eq!(KeySet.url("https://id.example"), "https://id.example/.well-known/jwks.json");
    assert_eq!(
        History.url("https://id.example/"),
        "https://id.example/.well-known/jwks-history.json"
    );
}

#[test]
fn a_key_is_found_once_and_then_in_the_archive() {
    let mut ring = JellyKeyring::default();
    let mut service =
        Service::new(Some(key_set(&[("k", 1)])), Some(history(&[("k", 1, 10, None)])));
    let key = service.find(&mut ring, "k", 0).unwrap();
    let window = KeyWindow { nbf: 10, ..KeyWindow::default() };
    assert_eq!((key.x, key.window), (x(1), Some(window)));
    assert_eq!(service.asked, [KeySet, History]);
    service.asked.clear();
    assert!(service.find(&mut ring, "k", DAY).is_ok());
    assert_eq!(service.asked, [], "for a day nothing is asked");

    // A store gives it back.
    let kept: Vec<_> = ring.archive().map(|(kid, key)| (kid.to_string(), *key)).collect();
    let mut again = JellyKeyring::new(kept);
    assert_eq!(Service::new(None, None).find(&mut again, "k", 1), Ok(key));
}

#[test]
fn an_archived_keys_revocation_is_looked_up_daily_and_its_window_stands_without_an_answer() {
    let mut ring = JellyKeyring::default();
    let mut service =
        Service::new(Some(key_set(&[("k", 1)])), Some(history(&[("k", 1, 10, None)])));
    service.find(&mut ring, "k", 0).unwrap();
    let mut gone = Service::new(None, None);
    let key = gone.find(&mut ring, "k", DAY + 1).unwrap();
    assert_eq!((gone.asked.clone(), key.window.unwrap().retired_at), (alloc::vec![History], None));
    gone.find(&mut ring, "k", DAY + 60_000).unwrap();
    assert_eq!(gone.asked.len(), 1, "not again within the minute");
    service.history = Some(history(&[("k", 1, 10, Some(500))]));
    let key = service.find(&mut ring, "k", DAY + 60_001).unwrap();
    assert_eq!(key.window.unwrap().retired_at, Some(500));
    assert!(key.at(499).is_some() && key.at(500).is_none());
}

#[test]
fn a_stream_of_unknown_names_costs_one_fetch_of_each_a_minute() {
    let mut ring = JellyKeyring::default();
    let mut service = Service::new(Some(key_set(&[])), Some(history(&[])));
    for at in 0..100 {
        assert_eq!(service.find(&mut ring, "nobody's", at * 500), Err(Code::BindingInvalid));
    }
    assert_eq!(service.asked, [KeySet, History]);
    assert_eq!(service.find(&mut ring, "nobody's", 60_000), Err(Code::BindingInvalid));
    assert_eq!(service.asked.len(), 4);
}

#[test]
fn a_source_that_did_not_answer_makes_nothing_invalid() {
    for (set, past) in [
        (None, None),
        (Some(key_set(&[])), None),
        (None, Some(history(&[]))),
        (Some(b"<html>".to_vec()), Some(history(&[]))),
        (Some(key_set(&[("a", 1), ("a", 2)])), Some(history(&[]))),
    ] {
        let mut ring = JellyKeyring::default();
        assert_eq!(Service::new(set, past).find(&mut ring, "k", 0), Err(Code::JellyUnavailable));
        // Held back by the minute, the outcome stays that of the last attempt.
        let mut other = Service::new(Some(key_set(&[])), Some(history(&[])));
        assert_eq!(other.find(&mut ring, "k", 59_999), Err(Code::JellyUnavailable));
        assert_eq!(other.find(&mut ring, "k", 120_000), Err(Code::BindingInvalid));
    }
    assert_eq!(JellyKeyring::default().key("k").unwrap_err().code, Code::JellyUnavailable);
}

#[test]
fn a_retired_key_is_found_in_the_history_alone() {
    let mut ring = JellyKeyring::default();
    let mut service = Service::new(Some(key_set(&[])), Some(history(&[("old", 3, 5, Some(9))])));
    assert_eq!(service.find(&mut ring, "old", 0).unwrap().x, x(3));
    let mut ring = JellyKeyring::default();
    let mut service = Service::new(None, Some(history(&[("old", 3, 5, Some(9))])));
    assert!(service.find(&mut ring, "old", 0).is_ok(), "even when the key set is away");
}

#[test]
fn where_the_two_disagree_the_key_set_is_right_and_there_is_no_window() {
    let mut ring = JellyKeyring::default();
    let mut service =
        Service::new(Some(key_set(&[("k", 1)])), Some(history(&[("k", 2, 10, Some(20))])));
    let key = service.find(&mut ring, "k", 0).unwrap();
    assert_eq!((key.x, key.window), (x(1), None));
    // A later history does not change the key that was found.
    let key = service.find(&mut ring, "k", DAY + 1).unwrap();
    assert_eq!((key.x, key.window), (x(1), None));
}

#[test]
fn keys_of_other_kinds_are_ignored_and_malformed_ones_spoil_the_document() {
    let with = |extra: Value| {
        let mut set: Value = serde_json::from_slice(&key_set(&[("k", 1)])).unwrap();
        set["keys"].as_array_mut().unwrap().push(extra);
        Some(set.to_string().into_bytes())
    };
    let found = |set: Option<Vec<u8>>| {
        let mut ring = JellyKeyring::default();
        Service::new(set, Some(history(&[]))).find(&mut ring, "k", 0).is_ok()
    };
    assert!(found(with(json!({"kty": "RSA", "kid": "k", "n": "x"}))));
    assert!(found(with(json!({"kty": "OKP", "crv": "X25519", "kid": "k", "x": x(2)}))));
    assert!(!found(with(json!({"kty": "OKP", "crv": "Ed25519", "kid": "k", "x": x(2)}))));
    assert!(!found(with(json!({"kty": "OKP", "crv": "Ed25519", "kid": "other"}))));
}
