//! Relay URLs, and the proofs that answer a relay's challenge.

use messaging_core::code::Code::{BadSignature, Expired, InvalidRequest, InviteInvalid};
use messaging_core::ids::{Hash, HostedPerson, MachineId, Nonce32};
use messaging_core::invite::join_proof;
use messaging_core::keys::SigningKey;
use messaging_core::limits::CLOCK_SKEW_MS;
use messaging_core::relay_auth::{Challenge, DirReadProof, HostedHello, RosterHello};
use messaging_core::time::Ms;
use serde_json::{Value, json};

use super::super::book::{Book, WriteError, Writing, made, text};
use super::{START, Story, drop_member};

const NOW: Ms = START;
const PERSON: &str = "p_elmokocvhtjapy3fc3soeimutu";

pub(super) fn write(book: &mut Book, story: &Story) -> Writing {
    urls(book)?;
    join(book, story)?;
    hellos(book, story)?;
    dir_read(book, story)
}

fn challenge() -> Challenge {
    Challenge { relay: "wss://relay.example".to_owned(), nonce: Nonce32::from_bytes(&[0x31; 32]) }
}

fn urls(book: &mut Book) -> Writing {
    for (url, origin) in [
        ("wss://relay.example/v1/connect", "wss://relay.example"),
        ("wss://RELAY.example:443/", "wss://relay.example"),
        ("wss://relay.example:8443?x", "wss://relay.example:8443"),
        ("ws://localhost:80/v1/connect", "ws://localhost"),
        ("ws://localhost:443/", "ws://localhost:443"),
        ("ws://127.1:7777/", "ws://127.0.0.1:7777"),
        ("ws://[0:0:0:0:0:0:0:1]:7777/x", "ws://[::1]:7777"),
        ("wss://me:pw@relay.example/", "wss://relay.example"),
        ("wss://b\u{fc}cher.example/", "wss://xn--bcher-kva.example"),
        ("  wss://relay.example  ", "wss://relay.example"),
    ] {
        book.gives(format!("origin of {url:?}"), "url_origin", json!({"url": url}), json!(origin))?;
    }
    for url in ["", "relay.example", "/v1/connect", "wss://", "data:,x"] {
        let name = format!("no origin: {url:?}");
        book.refuses(name, "url_origin", json!({"url": url}), InvalidRequest)?;
    }
    for url in [
        "wss://relay.example/v1/connect",
        "wss://10.1.2.3:8443/",
        "wss://[2001:db8::1]/",
        "ws://localhost:7777/v1/connect",
        "ws://LocalHost/",
        "ws://127.0.0.1/",
        "ws://127.255.255.255:1/",
        "ws://0x7f000001/",
        "ws://[::1]/",
    ] {
        book.pins(format!("may dial {url}"), "relay_url_allowed", json!({"url": url}))?;
    }
    for url in [
        "",
        "wss://",
        "relay.example",
        "http://localhost/",
        "https://relay.example/",
        "ws://relay.example/",
        "ws://localhost.example/",
        "ws://localhost./",
        "ws://126.255.255.255/",
        "ws://128.0.0.1/",
        "ws://0.0.0.0/",
        "ws://192.168.0.1/",
        "ws://127.0.0.1.example/",
        "ws://[::]/",
        "ws://[::2]/",
        "ws://[::ffff:127.0.0.1]/",
        "ftp://127.0.0.1/",
    ] {
        let name = format!("may not dial {url:?}");
        book.refuses(name, "relay_url_allowed", json!({"url": url}), InvalidRequest)?;
    }
    Ok(())
}

fn join(book: &mut Book, story: &Story) -> Writing {
    let (ticket, Challenge { relay, nonce }) = (&story.ticket, challenge());
    let secret = SigningKey::from_seed(&ticket.secret.to_bytes());
    let asked = json!({
        "relay": relay, "team": ticket.team, "inviteId": ticket.invite_id, "nonce": nonce,
    });
    let mut input = asked.clone();
    input["seed"] = json!(text(&*secret.seed()));
    book.pins("join: the proof", "join_proof", input)?;
    let proof =
        made("proof", join_proof(&secret, &relay, &ticket.team, &ticket.invite_id, &nonce))?;
    let mut good = asked;
    good["invitePub"] = json!(secret.machine());
    good["proof"] = json!(proof);
    book.pins("join: the proof verifies", "join_proof_verify", good.clone())?;
    for (name, member, value) in [
        ("another relay", "relay", json!("wss://other.example")),
        ("the relay's URL for its origin", "relay", json!("wss://relay.example/v1/connect")),
        ("another team", "team", json!(Hash::from_bytes(&[1; 32]))),
        ("another invite", "inviteId", json!("01KZZZZZZZZZZZZZZZZZZZZZZZ")),
        ("another challenge", "nonce", json!(Nonce32::from_bytes(&[1; 32]))),
        ("another invite's key", "invitePub", json!(story.eve.machine())),
        ("a key that is not usable", "invitePub", json!(MachineId::from_bytes(&[0; 32]))),
        ("a proof of zeros", "proof", json!(text(&[0; 64]))),
        ("a proof of 63 bytes", "proof", json!(text(&[1; 63]))),
    ] {
        let mut input = good.clone();
        input[member] = value;
        book.refuses(format!("join: {name}"), "join_proof_verify", input, InviteInvalid)?;
    }
    Ok(())
}

fn hellos(book: &mut Book, story: &Story) -> Writing {
    let (challenge, key) = (challenge(), &story.ben.signing);
    let person: HostedPerson = made("person", PERSON.parse())?;
    let (team, realm) = (story.ticket.team, Hash::from_bytes(&[0x65; 32]));
    let Challenge { relay, nonce } = &challenge;
    let seed = text(&*key.seed());
    book.pins(
        "team hello: signed",
        "roster_hello_sign",
        json!({"seed": seed, "relay": relay, "team": team, "nonce": nonce, "ts": NOW}),
    )?;
    book.pins(
        "hosted hello: signed",
        "hosted_hello_sign",
        json!({"seed": seed, "relay": relay, "realm": realm, "person": person, "nonce": nonce, "ts": NOW}),
    )?;
    let of_team = json!(made("hello", RosterHello::sign(&challenge, &team, NOW, key))?);
    let hosted = json!(made("hello", HostedHello::sign(&challenge, &realm, &person, NOW, key))?);
    let other = Hash::from_bytes(&[0x66; 32]);
    let changes = [
        ("another team", "team", json!(other)),
        ("another machine", "machine", json!(story.eve.machine())),
        ("a machine that is not usable", "machine", json!(MachineId::from_bytes(&[0; 32]))),
    ];
    hello(book, "team hello", "roster_hello_verify", &of_team, &hosted, &changes)?;
    let changes = [
        ("another realm", "realm", json!(other)),
        ("another person", "person", json!("p_aaaaaaaaaaaaaaaaaaaaaaaaaa")),
        ("another device", "device", json!(story.eve.machine())),
    ];
    hello(book, "hosted hello", "hosted_hello_verify", &hosted, &of_team, &changes)?;
    for person in ["ben", "p_", "P_elmokocvhtjapy3fc3soeimutu"] {
        let mut frame = hosted.clone();
        frame["person"] = json!(person);
        let name = format!("hosted hello: person {person:?}");
        book.refuses(name, "hosted_hello_verify", answered(&frame, NOW), InvalidRequest)?;
    }
    Ok(())
}

/// The arguments of verifying a hello against the challenge.
fn answered(hello: &Value, now: Ms) -> Value {
    let Challenge { relay, nonce } = challenge();
    json!({"hello": hello, "relay": relay, "nonce": nonce, "now": now})
}

/// What holds for a hello of either form. `changes` break the signature of this one.
fn hello(
    book: &mut Book,
    title: &str,
    kind: &str,
    frame: &Value,
    other_form: &Value,
    changes: &[(&str, &str, Value)],
) -> Writing {
    let skew = CLOCK_SKEW_MS;
    for (name, now) in [
        ("on time", NOW),
        ("late by the skew", NOW.plus(skew)),
        ("ahead by the skew", NOW.minus(skew)),
    ] {
        book.pins(format!("{title}: {name}"), kind, answered(frame, now))?;
    }
    let with = |name: &str, value: Value| {
        let mut frame = frame.clone();
        frame[name] = value;
        frame
    };
    for (name, member, value) in [
        ("as a frame", "t", json!("hello")),
        ("with a member of a later version", "later", json!([1])),
    ] {
        book.pins(format!("{title}: {name}"), kind, answered(&with(member, value), NOW))?;
    }
    for (name, now) in
        [("late by more", NOW.plus(skew + 1)), ("ahead by more", NOW.minus(skew + 1))]
    {
        book.refuses(format!("{title}: {name}"), kind, answered(frame, now), Expired)?;
    }
    let unsigned = with("sig", json!(text(&[0; 64])));
    let late = answered(&unsigned, NOW.plus(skew + 1));
    book.refuses(format!("{title}: the clock before the signature"), kind, late, Expired)?;
    let borrowed = with("sig", other_form["sig"].clone());
    let more = [
        ("another time", with("ts", json!(NOW.0 + 1))),
        ("no signature at all", unsigned),
        ("the other form's signature", borrowed),
    ];
    let changes = changes.iter().map(|(name, member, value)| (*name, with(member, value.clone())));
    for (name, frame) in changes.chain(more) {
        book.refuses(format!("{title}: {name}"), kind, answered(&frame, NOW), BadSignature)?;
    }
    for (name, member, value) in [
        ("another relay", "relay", json!("wss://other.example")),
        ("the relay with a slash", "relay", json!("wss://relay.example/")),
        ("another challenge", "nonce", json!(Nonce32::from_bytes(&[1; 32]))),
    ] {
        let mut input = answered(frame, NOW);
        input[member] = value;
        book.refuses(format!("{title}: {name}"), kind, input, BadSignature)?;
    }
    shape(book, title, kind, frame, other_form)
}

fn shape(book: &mut Book, title: &str, kind: &str, frame: &Value, other_form: &Value) -> Writing {
    let mut refuse = |name: String, frame: &Value| {
        book.refuses(format!("{title}: {name}"), kind, answered(frame, NOW), InvalidRequest)
    };
    let members = |value: &Value| -> Result<Vec<String>, WriteError> {
        let members = value.as_object().ok_or("no object");
        Ok(made("hello", members)?.keys().cloned().collect())
    };
    for name in members(frame)? {
        let mut less = frame.clone();
        drop_member(&mut less, &name);
        refuse(format!("no {name}"), &less)?;
        for wrong in [json!(null), json!(1.5), json!("?"), json!([])] {
            let mut other = frame.clone();
            other[&name] = wrong.clone();
            refuse(format!("{name} is {wrong}"), &other)?;
        }
    }
    for name in members(other_form)? {
        if frame.get(&name).is_none() {
            let mut mixed = frame.clone();
            mixed[&name] = other_form[&name].clone();
            refuse(format!("{name} of the other form beside it"), &mixed)?;
        }
    }
    refuse("the other form".to_owned(), other_form)?;
    refuse("nothing".to_owned(), &json!({}))?;
    refuse("an array".to_owned(), &json!([frame]))
}

fn dir_read(book: &mut Book, story: &Story) -> Writing {
    let (challenge, key) = (challenge(), &story.ben.signing);
    let realm = Hash::from_bytes(&[0x65; 32]);
    let Challenge { relay, nonce } = &challenge;
    book.pins(
        "directory read: signed",
        "dir_read_sign",
        json!({"seed": text(&*key.seed()), "relay": relay, "realm": realm, "nonce": nonce}),
    )?;
    let proof = made("proof", DirReadProof::sign(&challenge, &realm, key))?;
    let good = json!({"proof": proof, "relay": relay, "realm": realm, "nonce": nonce});
    book.pins("directory read: verifies", "dir_read_verify", good.clone())?;
    let person: HostedPerson = made("person", PERSON.parse())?;
    let hello = made("hello", HostedHello::sign(&challenge, &realm, &person, NOW, key))?;
    for (name, member, value) in [
        ("another relay", "relay", json!("wss://other.example")),
        ("another realm", "realm", json!(Hash::from_bytes(&[1; 32]))),
        ("another challenge", "nonce", json!(Nonce32::from_bytes(&[1; 32]))),
        ("another device", "proof", json!({"device": story.eve.machine(), "sig": proof.sig})),
        ("a hello's signature", "proof", json!({"device": hello.device, "sig": hello.sig})),
    ] {
        let mut input = good.clone();
        input[member] = value;
        book.refuses(format!("directory read: {name}"), "dir_read_verify", input, BadSignature)?;
    }
    for (name, proof) in [
        ("no device", json!({"sig": proof.sig})),
        ("no signature", json!({"device": proof.device})),
        ("an array", json!([proof])),
    ] {
        let mut input = good.clone();
        input["proof"] = proof;
        book.refuses(format!("directory read: {name}"), "dir_read_verify", input, InvalidRequest)?;
    }
    Ok(())
}
