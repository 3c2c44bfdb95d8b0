//! Signing and verifying grants and cards.
//! Spec: §6.9

use serde_json::{Value, json};

use super::fixture::{NOW, about, device, grant, levels, person, realm};
use crate::code::Code;
use crate::consent::{
    AskLevel, CardCan, CardDraft, CardSeq, Subject, VerifiedGrant, sign_card, sign_grant,
    verify_card, verify_grant,
};
use crate::domain::Domain;
use crate::ids::Hash;
use crate::jcs;
use crate::limits::{CARD_BYTES, GRANT_BYTES};

fn verify(raw: &Value) -> Result<VerifiedGrant, Code> {
    verify_grant(raw.clone(), &realm(), &person("bob")).map_err(|failure| failure.code)
}

fn fields() -> Value {
    let mut fields = grant(json!({"chat": "open"}), &device(1)).raw().clone();
    fields.as_object_mut().unwrap().remove("sig");
    fields
}

#[test]
fn a_grant_verifies_as_it_was_signed_with_members_of_later_versions() {
    let mut fields = fields();
    fields["later"] = json!({"a": [1, null]});
    let signed = sign_grant(fields, &device(1)).unwrap();
    assert_eq!(verify(signed.raw()).unwrap(), signed);
    let mut changed = signed.raw().clone();
    changed["later"]["a"] = json!([1]);
    assert_eq!(verify(&changed), Err(Code::BadSignature));
    changed.as_object_mut().unwrap().remove("later");
    assert_eq!(verify(&changed), Err(Code::BadSignature));
}

#[test]
fn a_grant_is_of_its_realm_its_person_and_its_signer() {
    let signed = grant(json!({"chat": "blocked"}), &device(1));
    let code = |realm: &Hash, who: &str| {
        verify_grant(signed.raw().clone(), realm, &person(who)).unwrap_err().code
    };
    assert_eq!(code(&Hash::from_bytes(&[5; 32]), "bob"), Code::InvalidRequest);
    assert_eq!(code(&realm(), "carol"), Code::InvalidRequest);
    let mut raw = signed.raw().clone();
    raw["by"] = json!(device(2).machine());
    assert_eq!(verify(&raw), Err(Code::BadSignature));
    let text = jcs::canonical_without(signed.raw(), "sig").unwrap();
    raw = signed.raw().clone();
    raw["sig"] = json!(device(1).sign(Domain::Card, &text));
    assert_eq!(verify(&raw), Err(Code::BadSignature));
    // A key of small order would verify any text.
    raw["by"] = json!("A".repeat(43));
    assert_eq!(verify(&raw), Err(Code::BadSignature));
}

#[test]
fn a_grant_has_two_kibibytes_and_rules_go_before_size() {
    let mut padded = fields();
    padded["later"] = json!("");
    let signed = sign_grant(padded.clone(), &device(1)).unwrap();
    let room = GRANT_BYTES - jcs::canonical(signed.raw()).unwrap().len();
    padded["later"] = json!("x".repeat(room));
    assert!(sign_grant(padded.clone(), &device(1)).is_ok());
    padded["later"] = json!("x".repeat(room + 1));
    assert_eq!(sign_grant(padded.clone(), &device(1)).unwrap_err().code, Code::TooLarge);
    padded["chat"] = json!("later");
    assert_eq!(sign_grant(padded, &device(1)).unwrap_err().code, Code::InvalidRequest);
}

#[test]
fn nobody_signs_for_another_device() {
    assert_eq!(sign_grant(fields(), &device(2)).unwrap_err().code, Code::InvalidRequest);
}

#[test]
fn a_held_grant_comes_back_as_it_was() {
    let signed = grant(json!({"ask": "no"}), &device(1));
    assert_eq!(VerifiedGrant::held(signed.raw().clone()).unwrap(), signed);
    assert!(VerifiedGrant::held(json!({"v": "messaging/1"})).is_err());
}

#[test]
fn a_channels_grant_is_signed_like_any() {
    let channel = Subject::Channel(super::fixture::ID.parse().unwrap());
    let signed = about(&channel, levels(json!({"ask": "open"})), NOW, &device(1));
    assert!(verify(signed.raw()).is_ok());
}

#[test]
fn a_card_is_of_both_its_persons() {
    let (bob, alice) = (person("bob"), person("alice"));
    let can = CardCan { chat: true, agent_mail: false, ask: AskLevel::No, trusted_until: None };
    let draft = CardDraft {
        realm: realm(),
        from: &bob,
        to: &alice,
        seq: CardSeq(7),
        ts: NOW,
        grant_id: None,
        can,
    };
    let card = draft.sign(&device(1)).unwrap();
    let verify = |raw: &Value, from: &str, to: &str| {
        verify_card(raw.clone(), &realm(), &person(from), &person(to)).map_err(|f| f.code)
    };
    assert_eq!(verify(card.raw(), "bob", "alice").unwrap(), card);
    assert_eq!(verify(card.raw(), "alice", "bob"), Err(Code::InvalidRequest));
    assert_eq!(verify(card.raw(), "bob", "carol"), Err(Code::InvalidRequest));
    let mut raw = card.raw().clone();
    raw["seq"] = json!(8);
    assert_eq!(verify(&raw, "bob", "alice"), Err(Code::BadSignature));
    let mut large = card.raw().clone();
    large["later"] = json!("x".repeat(CARD_BYTES));
    assert_eq!(sign_card(large, &device(1)).unwrap_err().code, Code::TooLarge);
    assert_eq!(sign_card(raw, &device(2)).unwrap_err().code, Code::InvalidRequest);
    let to_self = CardDraft { to: &bob, ..draft };
    assert_eq!(to_self.sign(&device(1)).unwrap_err().code, Code::InvalidRequest);
}
