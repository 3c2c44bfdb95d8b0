//! Tests of the connection proofs.
//! Spec: W8 7.12 to 7.14, 4.22

use serde_json::{Value, json};

use super::*;
use crate::code::Code::{BadSignature, Expired, InvalidRequest};
use crate::ids::HostedPerson;
use crate::invite::{join_is_proven, join_proof};
use crate::limits::CLOCK_SKEW_MS;
use crate::time::Ms;

const NOW: Ms = Ms(1_700_000_000_000);

fn key() -> SigningKey {
    SigningKey::from_seed(&[2; 32])
}

fn challenge() -> Challenge {
    Challenge { relay: "wss://relay.example".into(), nonce: Nonce32::from_bytes(&[7; 32]) }
}

fn other_challenges() -> [Challenge; 3] {
    [
        Challenge { relay: "wss://other.example".into(), ..challenge() },
        Challenge { relay: "wss://relay.example/".into(), ..challenge() },
        Challenge { nonce: Nonce32::from_bytes(&[8; 32]), ..challenge() },
    ]
}

fn hash(byte: u8) -> Hash {
    Hash::from_bytes(&[byte; 32])
}

fn person() -> HostedPerson {
    "p_elmokocvhtjapy3fc3soeimutu".parse().unwrap()
}

fn roster_frame() -> Value {
    json!(RosterHello::sign(&challenge(), &hash(1), NOW, &key()).unwrap())
}

fn hosted_frame() -> Value {
    json!(HostedHello::sign(&challenge(), &hash(1), &person(), NOW, &key()).unwrap())
}

fn verify(frame: &Value, challenge: &Challenge, now: Ms) -> Result<(), Code> {
    Hello::read(frame)
        .and_then(|hello| hello.verify(challenge, now))
        .map_err(|failure| failure.code)
}

#[test]
fn a_hello_is_good_for_its_challenge_alone() {
    for frame in [roster_frame(), hosted_frame()] {
        assert_eq!(Hello::read(&frame).unwrap().machine(), key().machine());
        assert_eq!(verify(&frame, &challenge(), NOW), Ok(()));
        for other in other_challenges() {
            assert_eq!(verify(&frame, &other, NOW), Err(BadSignature));
        }
    }
}

#[test]
fn a_hello_is_good_within_the_clock_skew() {
    for frame in [roster_frame(), hosted_frame()] {
        for now in [NOW.minus(CLOCK_SKEW_MS), NOW.plus(CLOCK_SKEW_MS)] {
            assert_eq!(verify(&frame, &challenge(), now), Ok(()));
        }
        for now in [NOW.minus(CLOCK_SKEW_MS + 1), NOW.plus(CLOCK_SKEW_MS + 1)] {
            assert_eq!(verify(&frame, &challenge(), now), Err(Expired));
            // The clock comes before the signature.
            let other = Challenge { relay: "wss://other.example".into(), ..challenge() };
            assert_eq!(verify(&frame, &other, now), Err(Expired));
        }
    }
}

#[test]
fn every_signed_member_counts() {
    let other_key = SigningKey::from_seed(&[3; 32]);
    let unusable = MachineId::from_bytes(&[0; 32]);
    for (frame, changes) in [
        (
            roster_frame(),
            [
                ("team", json!(hash(2))),
                ("machine", json!(other_key.machine())),
                ("machine", json!(unusable)),
            ],
        ),
        (
            hosted_frame(),
            [
                ("realm", json!(hash(2))),
                ("person", json!("p_aaaaaaaaaaaaaaaaaaaaaaaaaa")),
                ("device", json!(other_key.machine())),
            ],
        ),
    ] {
        for (name, value) in changes.into_iter().chain([("ts", json!(NOW.0 + 1))]) {
            let mut changed = frame.clone();
            changed[name] = value;
            assert_eq!(verify(&changed, &challenge(), NOW), Err(BadSignature), "{name}");
        }
        let mut later = frame.clone();
        later["t"] = json!("hello");
        later["later"] = json!(1);
        assert_eq!(verify(&later, &challenge(), NOW), Ok(()), "unsigned members are ignored");
    }
}

#[test]
fn the_two_forms_do_not_mix() {
    let (team, hosted) = (roster_frame(), hosted_frame());
    for (frame, others) in [(&team, &hosted), (&hosted, &team)] {
        for (name, value) in others.as_object().unwrap() {
            if frame.get(name).is_none() {
                let mut mixed = frame.clone();
                mixed[name] = value.clone();
                assert_eq!(verify(&mixed, &challenge(), NOW), Err(InvalidRequest), "{name}");
            }
        }
        for name in frame.as_object().unwrap().keys() {
            let mut less = frame.clone();
            less.as_object_mut().unwrap().remove(name);
            assert_eq!(verify(&less, &challenge(), NOW), Err(InvalidRequest), "no {name}");
        }
    }
    let mut borrowed = hosted.clone();
    borrowed["sig"] = team["sig"].clone();
    assert_eq!(verify(&borrowed, &challenge(), NOW), Err(BadSignature));
    for junk in [json!({}), json!([]), json!(null), json!("hello")] {
        assert_eq!(verify(&junk, &challenge(), NOW), Err(InvalidRequest));
    }
}

#[test]
fn a_directory_read_proof_binds_relay_realm_device_and_nonce() {
    let proof = DirReadProof::sign(&challenge(), &hash(1), &key()).unwrap();
    assert_eq!(proof.verify(&challenge(), &hash(1)), Ok(()));
    let code = |proof: &DirReadProof, challenge: &Challenge, realm: &Hash| {
        proof.verify(challenge, realm).map_err(|failure| failure.code)
    };
    assert_eq!(code(&proof, &challenge(), &hash(2)), Err(BadSignature));
    for other in other_challenges() {
        assert_eq!(code(&proof, &other, &hash(1)), Err(BadSignature));
    }
    let stolen = DirReadProof { device: *SigningKey::from_seed(&[3; 32]).machine(), ..proof };
    assert_eq!(code(&stolen, &challenge(), &hash(1)), Err(BadSignature));
    let hello = HostedHello::sign(&challenge(), &hash(1), &person(), NOW, &key()).unwrap();
    let mixed = DirReadProof { device: hello.device, sig: hello.sig };
    assert_eq!(code(&mixed, &challenge(), &hash(1)), Err(BadSignature));
}

#[test]
fn a_join_proof_binds_relay_team_invite_and_nonce() {
    let invite = "01HF7YAT00ZZZZZZZZZZZZZZZZ".parse().unwrap();
    let other_invite = "01HF7YAT00AAAAAAAAAAAAAAAA".parse().unwrap();
    let Challenge { relay, nonce } = challenge();
    let proof = join_proof(&key(), &relay, &hash(1), &invite, &nonce).unwrap();
    let public = PublicKey::of(key().machine()).unwrap();
    assert!(join_is_proven(&public, &relay, &hash(1), &invite, &nonce, &proof));
    assert!(!join_is_proven(&public, &relay, &hash(2), &invite, &nonce, &proof));
    assert!(!join_is_proven(&public, &relay, &hash(1), &other_invite, &nonce, &proof));
    for Challenge { relay, nonce } in other_challenges() {
        assert!(!join_is_proven(&public, &relay, &hash(1), &invite, &nonce, &proof));
    }
    let other = PublicKey::of(SigningKey::from_seed(&[3; 32]).machine()).unwrap();
    assert!(!join_is_proven(&other, &relay, &hash(1), &invite, &nonce, &proof));
}
