//! What sealing, verifying and opening cost beside the bare primitives that they cannot do without.
//!
//! The rows to compare: `seal` with `bare seal and sign`, `receive` with `bare verify and open`.
#![allow(clippy::unwrap_used, reason = "a bench that cannot be set up should stop")]

use std::hint::black_box;

use aes_gcm::aead::{Aead as _, KeyInit as _, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use ed25519_dalek::Signer as _;
use hkdf::Hkdf;
use messaging_core::envelope::{Checked, End, SealedType};
use messaging_core::ids::{Hash, Label, PersonId, SessionName, Ulid};
use messaging_core::keys::{Identity, PublicKey};
use messaging_core::limits::{FRAME_BYTES, TTL_MS};
use messaging_core::realm::{Anchor, DeviceView, TableView};
use messaging_core::seal::{SealRequest, seal};
use messaging_core::time::Ms;
use messaging_core::verify::{SelfRef, verify};
use messaging_core::{jcs, json};
use serde_json::{Value, json};
use sha2::Sha256;
use x25519_dalek::{PublicKey as X25519Public, StaticSecret};

const NOW: Ms = Ms(1_767_229_200_000);

struct Party {
    identity: Identity,
    end: End,
}

fn party(person: &str, agent: &str, seed: u8) -> Party {
    let identity = Identity::from_secrets([seed; 32], [seed | 0x10; 32]);
    let end = End {
        person: PersonId::parse(person).unwrap(),
        device: *identity.machine(),
        agent: Some(SessionName::parse(agent).unwrap()),
    };
    Party { identity, end }
}

fn mail(bytes: usize) -> Value {
    let text = "The quick brown fox jumps over the lazy dog. ".repeat(bytes / 45 + 1);
    json!({"kind": "message", "message": {
        "messageId": "01HF7YAT00AAAAAAAAAAAAAAAA", "role": "ROLE_USER", "parts": [{"text": &text[..bytes]}]
    }})
}

fn request<'a>(from: &'a Party, to: &'a Party, payload: &'a Value) -> SealRequest<'a> {
    SealRequest {
        id: Ulid::parse("01HF7YAT00BBBBBBBBBBBBBBBB").unwrap(),
        kind: SealedType::Message,
        realm: Hash::from_bytes(&[1; 32]),
        from: &from.end,
        to: &to.end,
        ts: NOW,
        exp: NOW.plus(TTL_MS),
        anchor: Anchor::Roster { seq: 6, hash: Hash::from_bytes(&[2; 32]) },
        reply_to: None,
        payload,
        recipient: *to.identity.enc.public(),
        identity: &from.identity.signing,
    }
}

/// A realm of the two.
fn view(parties: [&Party; 2]) -> TableView {
    let devices = parties.map(|party| {
        let view = DeviceView {
            person: party.end.person.clone(),
            label: Label::parse("desk").unwrap(),
            enc: None,
            role: None,
        };
        (party.end.device, view)
    });
    let anchor = Anchor::Roster { seq: 6, hash: Hash::from_bytes(&[2; 32]) };
    TableView::new(Hash::from_bytes(&[1; 32]), anchor, devices)
}

fn ours(c: &mut Criterion) {
    let (bob, alice) = (party("bob", "builder", 1), party("alice", "reviewer", 2));
    let view = view([&bob, &alice]);
    let own = SelfRef { device: &alice.end.device, person: &alice.end.person };
    let key = PublicKey::of(&bob.end.device).unwrap();
    for (name, bytes) in [("1 KiB", 1_024), ("380 KiB", 389_120)] {
        let payload = mail(bytes);
        let request = request(&bob, &alice, &payload);
        let sealed = seal(&request, [3; 32], [4; 12]).unwrap();
        let text = sealed.text.as_bytes().to_vec();
        let raw = json::parse(&text, FRAME_BYTES).unwrap();
        let checked = Checked::read(raw.clone()).unwrap();
        let verified = verify(&checked, &view, NOW, Some(own), Some(true)).unwrap();

        let mut group = c.benchmark_group(name);
        group.bench_function("seal", |b| b.iter(|| seal(black_box(&request), [3; 32], [4; 12])));
        group.bench_function("jcs of the envelope", |b| b.iter(|| jcs::canonical(black_box(&raw))));
        group.bench_function("check the shape", |b| {
            b.iter_batched(|| raw.clone(), Checked::read, BatchSize::SmallInput);
        });
        group.bench_function("signature verdict", |b| {
            b.iter(|| checked.signature_verdict(black_box(&key)))
        });
        group.bench_function("verify, verdict given", |b| {
            b.iter(|| verify(black_box(&checked), &view, NOW, Some(own), Some(true)).is_ok());
        });
        group.bench_function("open", |b| {
            b.iter(|| verified.open(black_box(&[&alice.identity.enc])))
        });
        group.bench_function("receive", |b| {
            b.iter(|| {
                let raw = json::parse(black_box(&text), FRAME_BYTES).unwrap();
                let checked = Checked::read(raw).unwrap();
                verify(&checked, &view, NOW, Some(own), None)
                    .unwrap()
                    .open(&[&alice.identity.enc])
                    .unwrap()
            });
        });
        bare(
            &mut group,
            &sealed.text,
            jcs::canonical(&payload).unwrap().as_bytes(),
            checked.header_text().as_bytes(),
        );
        group.finish();
    }
}

type Group<'a> = criterion::BenchmarkGroup<'a, criterion::measurement::WallTime>;

/// The primitives alone, on the same bytes.
fn bare(group: &mut Group<'_>, envelope: &jcs::Canonical, plaintext: &[u8], header: &[u8]) {
    let signing = ed25519_dalek::SigningKey::from_bytes(&[1; 32]);
    let verifying = signing.verifying_key();
    let recipient = StaticSecret::from([0x12; 32]);
    let recipient_public = X25519Public::from(&recipient);
    let text = envelope.as_bytes();
    let signature = signing.sign(text);
    let cipher = |shared: &[u8; 32], epk: &[u8; 32]| {
        let mut key = [0; 32];
        let salt = [*epk, *recipient_public.as_bytes()].concat();
        Hkdf::<Sha256>::new(Some(&salt), shared).expand(b"messaging/1/seal", &mut key).unwrap();
        Aes256Gcm::new((&key).into())
    };
    let nonce = Nonce::from([4; 12]);
    let ephemeral = StaticSecret::from([3; 32]);
    let epk = X25519Public::from(&ephemeral);
    let shared = recipient.diffie_hellman(&epk);
    let payload = || Payload { msg: plaintext, aad: header };
    let body = cipher(shared.as_bytes(), epk.as_bytes()).encrypt(&nonce, payload()).unwrap();

    group.bench_function("bare seal and sign", |b| {
        b.iter(|| {
            let ephemeral = StaticSecret::from(black_box([3; 32]));
            let epk = X25519Public::from(&ephemeral);
            let shared = ephemeral.diffie_hellman(&recipient_public);
            let body = cipher(shared.as_bytes(), epk.as_bytes()).encrypt(&nonce, payload());
            (body, signing.sign(text))
        });
    });
    group.bench_function("bare verify and open", |b| {
        b.iter(|| {
            let valid = verifying.verify_strict(black_box(text), &signature).is_ok();
            let shared = recipient.diffie_hellman(&epk);
            let sealed = Payload { msg: &body, aad: header };
            (valid, cipher(shared.as_bytes(), epk.as_bytes()).decrypt(&nonce, sealed))
        });
    });
    group.bench_function("bare verify", |b| {
        b.iter(|| verifying.verify_strict(black_box(text), &signature))
    });
}

criterion_group!(benches, ours);
criterion_main!(benches);
