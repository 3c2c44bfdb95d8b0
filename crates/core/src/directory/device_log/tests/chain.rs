//! Place, time, size and signature of entries.

use alloc::string::String;

use serde_json::{Value, json};

use super::fixture::{Fixture, START, attest, bind, id, refused};
use crate::code::{Code, Failure};
use crate::directory::{Authority, DeviceLog, LogEntry};
use crate::ids::Hash;
use crate::limits::CLOCK_SKEW_MS;

#[test]
fn an_entry_extends_the_head_and_its_hash_covers_the_signature() {
    let f = Fixture::new().bound_by_token(1);
    let entry = f.entry(&attest(), 1, f.token(1), 1);
    assert_eq!(entry.prev(), f.log.head().map(|head| head.hash).as_ref());
    let good = entry.to_value().unwrap();
    let judge = |raw: &Value| f.log.check(raw, &f.rules(), None).map_err(|failure| failure.code);
    assert_eq!(judge(&good), Ok(()));
    assert_eq!(LogEntry::read(&good).unwrap().hash(), entry.hash());

    for (member, value, code) in [
        ("seq", json!(2), Code::LogConflict),
        ("prev", json!(Hash::from_bytes(&[1; 32])), Code::LogConflict),
        ("realm", json!(Hash::from_bytes(&[1; 32])), Code::BindingInvalid),
        ("person", json!("p_elmokocvhtjapy3fc3soeimutu"), Code::BindingInvalid),
        ("label", json!("other"), Code::BindingInvalid),
        ("by", json!(id(2)), Code::BindingInvalid),
        ("prev", Value::Null, Code::InvalidRequest),
        ("reason", json!("self"), Code::InvalidRequest),
        ("more", json!(1), Code::InvalidRequest),
        ("op", json!("rebind"), Code::InvalidRequest),
    ] {
        let mut changed = good.clone();
        changed[member] = value;
        if member == "person" && changed["person"] == good["person"] {
            changed["person"] = json!("p_aaaaaaaaaaaaaaaaaaaaaaaaaa");
        }
        assert_eq!(judge(&changed), Err(code), "{member}");
    }
}

#[test]
fn time_goes_back_by_the_skew_at_most_and_live_entries_are_of_now() {
    let mut f = Fixture::new().bound_by_token(1);
    f.clock = START.minus(CLOCK_SKEW_MS);
    assert!(f.judge(&attest(), 1, f.token(1), 1).is_ok());
    f.clock = START.minus(CLOCK_SKEW_MS + 1);
    refused(f.judge(&attest(), 1, f.token(1), 1), "ts");

    f.clock = START;
    let raw = f.entry(&attest(), 1, f.token(1), 1).to_value().unwrap();
    for (now, good) in [
        (START.plus(CLOCK_SKEW_MS), true),
        (START.plus(CLOCK_SKEW_MS + 1), false),
        (START.minus(CLOCK_SKEW_MS), true),
        (START.minus(CLOCK_SKEW_MS + 1), false),
    ] {
        let expected = if good { Ok(()) } else { Err(Failure::new(Code::Expired, "ts")) };
        assert_eq!(f.log.check(&raw, &f.rules(), Some(now)), expected);
    }
}

#[test]
fn an_entry_over_sixteen_kibibytes_is_too_large() {
    let f = Fixture::new();
    let token = Authority::Jelly { token: String::from_utf8(alloc::vec![b'A'; 16_384]).unwrap() };
    let mut raw = f.entry(&bind(), 1, f.token(1), 1).to_value().unwrap();
    raw["authority"] = json!(token);
    assert_eq!(LogEntry::read(&raw), Err(Failure::new(Code::TooLarge, "entry")));
}

#[test]
fn a_failed_append_changes_nothing_and_a_replay_gives_the_same_log() {
    let f = Fixture::new().bound_by_token(1).bound_by_link(2, 1);
    let mut log = f.log.clone();
    let raw = f.entry(&bind(), 2, f.token(2), 2).to_value().unwrap();
    assert!(log.append(&raw, &f.rules(), None).is_err());
    assert_eq!(log, f.log);

    let entries: alloc::vec::Vec<Value> =
        f.log.entries().iter().map(|logged| logged.entry.to_value().unwrap()).collect();
    let again = DeviceLog::from_entries(f.person.clone(), &entries, &f.rules()).unwrap();
    assert_eq!(again, f.log);
    assert_eq!(f.log.entries_after(f.log.head().map(|head| head.seq)), []);
}

#[test]
fn every_member_of_an_entry_is_signed() {
    let f = Fixture::new().bound_by_token(1);
    let entry = f.entry(&bind(), 2, f.approval(2, 1), 1);
    let text = entry.canonical().as_str();
    let whole = f.log.check(&entry.to_value().unwrap(), &f.rules(), None);
    assert_eq!(whole, Ok(()));
    for at in 0..text.len() {
        let mut bytes = String::from(text).into_bytes();
        bytes[at] ^= 1;
        let Ok(changed) = crate::json::parse(&bytes, 1 << 20) else { continue };
        assert!(f.log.check(&changed, &f.rules(), None).is_err(), "byte {at}");
    }
}
