//! Tokens: each step refuses what it must, and nothing of a token is shown.

use alloc::format;
use alloc::string::String;
use serde_json::{Value, json};

use super::*;
use crate::directory::JellyKeyArchive;
use crate::directory::testing::{self, Issuer, host_claims};
use crate::ids::Hash;
use crate::keys::SigningKey;

const AT: Ms = Ms(1_700_000_000_000);

struct Fixture {
    issuer: Issuer,
    realm: DirectoryRealm,
    keys: JellyKeyArchive,
    device: MachineId,
}

fn fixture() -> Fixture {
    let issuer = Issuer::new([7; 32], "k1");
    Fixture {
        keys: issuer.archive(),
        issuer,
        realm: testing::realm(Hash::from_bytes(&[9; 32])),
        device: *SigningKey::from_seed(&[1; 32]).machine(),
    }
}

impl Fixture {
    fn claims(&self) -> Value {
        host_claims("alice", &self.device, AT)
    }

    fn judge(&self, token: &str, now: Option<Ms>) -> Result<(), Failure> {
        let token = JellyToken::decode(token)?;
        token.verify(&self.realm, &self.keys, Some(&self.device), now).map(drop)
    }

    fn with(&self, member: &str, value: Value) -> Result<(), Failure> {
        let mut claims = self.claims();
        claims[member] = value;
        self.judge(&self.issuer.sign(&claims), None)
    }
}

#[test]
fn a_good_token_says_whose_device_it_is() {
    let f = fixture();
    let text = f.issuer.host_token("alice", &f.device, AT);
    let token = JellyToken::decode(&text).unwrap();
    let claims = token.verify(&f.realm, &f.keys, Some(&f.device), Some(AT)).unwrap();
    assert_eq!(claims.person().unwrap(), testing::person("alice"));
    assert_eq!(claims.device(), Some(&f.device));
    assert_eq!(claims.minted_by(), Some(MintedBy::Host(&HostId::parse("hst_1").unwrap())));
    assert!(!format!("{token:?} {claims:?}").contains("alice"), "neither is printed");
}

#[test]
fn a_live_token_is_neither_over_nor_ahead() {
    let f = fixture();
    let text = f.issuer.host_token("alice", &f.device, AT);
    for (now, good) in [
        (AT, true),
        (AT.plus(899_999), true),
        (AT.plus(900_000), false),
        (AT.minus(60_000), true),
        (AT.minus(60_001), false),
    ] {
        assert_eq!(f.judge(&text, Some(now)).is_ok(), good, "{now}");
    }
    assert!(f.judge(&text, None).is_ok(), "a token in a log is judged by no clock");
}

#[test]
fn a_life_is_one_to_nine_hundred_seconds() {
    let f = fixture();
    let iat = AT.0 / 1_000;
    for (exp, good) in [(iat, false), (iat - 1, false), (iat + 1, true), (iat + 901, false)] {
        assert_eq!(f.with("exp", json!(exp)).is_ok(), good, "{exp}");
    }
}

#[test]
fn a_token_names_a_host_or_a_sign_in_and_not_both() {
    let f = fixture();
    assert!(f.with("src", json!("device")).is_err(), "both");
    let sign_in = f.issuer.sign_in_token("alice", &f.device, AT, "j1");
    assert!(f.judge(&sign_in, None).is_ok());
    assert_eq!(JellyToken::decode(&sign_in).unwrap().claims().minted_by(), Some(MintedBy::SignIn));
    let without = |member: &str| {
        let mut claims = f.claims();
        claims.as_object_mut().unwrap().remove(member);
        f.judge(&f.issuer.sign(&claims), None)
    };
    assert!(without("hst").is_err(), "neither");
    assert!(without("cnf").is_err(), "not bound to the device");
}

#[test]
fn an_unknown_or_retired_key_and_another_signer_are_refused() {
    let f = fixture();
    let other = Issuer::new([8; 32], "k1").host_token("alice", &f.device, AT);
    assert_eq!(f.judge(&other, None), Err(invalid("token.sig")));
    let unknown = Issuer::new([7; 32], "k2").host_token("alice", &f.device, AT);
    assert_eq!(f.judge(&unknown, None), Err(invalid("token.kid")));
}

#[test]
fn every_flipped_character_is_refused_and_nothing_panics() {
    let f = fixture();
    let text = f.issuer.host_token("alice", &f.device, AT);
    for at in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).unwrap();
        assert!(f.judge(&changed, None).is_err(), "character {at}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_a_reader_panic(text in ".{0,300}") {
        proptest::prop_assert!(JellyToken::decode(&text).is_err());
    }
}
