//! Envelopes that do not verify: shape, then each step of the order, then the order itself.

use messaging_core::code::Code::{
    self, BadSignature, Expired, InvalidRequest, NotMember, TooLarge, UnknownDevice,
};
use messaging_core::domain::Domain;
use messaging_core::ids::Hash;
use messaging_core::limits::{CLOCK_SKEW_MS, PRESENCE_BYTES, TTL_MS};
use serde_json::{Value, json};

use super::super::book::{Book, Writing, made, text};
use super::super::cast::{Cast, Edit, HOSTED_ADA, HOSTED_BEN, NOW, edited, end, signed};

pub(super) fn write(book: &mut Book, cast: &mut Cast) -> Writing {
    members(book, cast)?;
    header(book, cast)?;
    presence(book, cast)?;
    steps(book, cast)?;
    signatures(book, cast)?;
    directory(book, cast)?;
    order(book, cast)
}

/// A refusal of an envelope by Ada now.
fn refuse(book: &mut Book, cast: &Cast, name: &str, envelope: &Value, code: Code) -> Writing {
    book.refuses(format!("verify: {name}"), "envelope_verify", cast.verify_input(envelope), code)
}

/// Each member missing, and each of another type or form. What cannot be signed keeps its signature.
fn members(book: &mut Book, cast: &mut Cast) -> Writing {
    let mail = cast.mail()?;
    for name in [
        "v", "id", "type", "realm", "from", "to", "ts", "exp", "class", "anchor", "enc", "epk",
        "nonce", "body",
    ] {
        let pointer = format!("/{name}");
        let envelope = signed(edited(&mail, &[(pointer.as_str(), None)])?, &cast.ben)?;
        refuse(book, cast, &format!("without {name}"), &envelope, InvalidRequest)?;
    }
    refuse(book, cast, "without sig", &edited(&mail, &[("/sig", None)])?, InvalidRequest)?;
    let deep = (0..33).fold(json!(1), |inner, _| json!([inner]));
    let rows: [(&str, &str, Value); 35] = [
        ("a later version", "/v", json!("messaging/2")),
        ("a version that is a number", "/v", json!(1)),
        ("an id in lower case", "/id", json!("01kq00000000000000000000m1")),
        ("an id past 128 bits", "/id", json!("8ZZZZZZZZZZZZZZZZZZZZZZZZZ")),
        ("a later type", "/type", json!("reaction")),
        ("a padded realm", "/realm", json!(format!("{}=", cast.realm))),
        ("a realm with stray bits", "/realm", json!("A".repeat(42) + "B")),
        ("a ts with a fraction", "/ts", json!(1.5)),
        ("a ts before 1970", "/ts", json!(-1)),
        ("an exp that is text", "/exp", json!("soon")),
        ("an exp that is null", "/exp", Value::Null),
        ("a later class", "/class", json!("team")),
        ("a class that is null", "/class", Value::Null),
        ("a later encoding", "/enc", json!("x25519-chacha20")),
        ("an epk of 31 bytes", "/epk", json!(text(&[7; 31]))),
        ("a nonce of 13 bytes", "/nonce", json!(text(&[7; 13]))),
        ("a body with padding", "/body", json!("AA==")),
        ("a body in the other alphabet", "/body", json!("+/+/")),
        ("a body with stray bits", "/body", json!("AB")),
        ("a body of one character", "/body", json!("A")),
        ("a body that is null", "/body", Value::Null),
        ("a replyTo that is null", "/replyTo", Value::Null),
        ("a replyTo that is no ULID", "/replyTo", json!("x")),
        ("an anchor that is text", "/anchor", json!("roster")),
        ("an anchor of a later kind", "/anchor/kind", json!("chain")),
        ("an anchor without a hash", "/anchor/hash", Value::Null),
        ("an anchor below 0", "/anchor/seq", json!(-1)),
        (
            "an epoch anchor of no epoch",
            "/anchor",
            json!({"kind": "epoch", "size": 0, "root": cast.realm}),
        ),
        ("a sender that is text", "/from", json!("ben")),
        ("a person in upper case", "/from/person", json!("Ben")),
        ("a person that is a pattern", "/to/person", json!("*")),
        ("a device of 31 bytes", "/from/device", json!(text(&[7; 31]))),
        ("an agent of 65 characters", "/to/agent", json!("a".repeat(65))),
        ("an agent that is null", "/to/agent", Value::Null),
        ("an unknown member nested too deep", "/later", deep),
    ];
    for (name, pointer, member) in rows {
        let envelope = edited(&mail, &[(pointer, Some(member))])?;
        let envelope = signed(envelope.clone(), &cast.ben).unwrap_or(envelope);
        refuse(book, cast, name, &envelope, InvalidRequest)?;
    }
    let sig = edited(&mail, &[("/sig", Some(json!(text(&[7; 63]))))])?;
    refuse(book, cast, "a sig of 63 bytes", &sig, InvalidRequest)?;
    let large = edited(&mail, &[("/later", Some(json!(9_007_199_254_740_992_u64)))])?;
    refuse(book, cast, "an integer past 2^53 - 1", &large, InvalidRequest)?;
    for (name, value) in
        [("an array", json!([mail])), ("a text", json!("x")), ("null", Value::Null)]
    {
        refuse(book, cast, name, &value, InvalidRequest)?;
    }
    Ok(())
}

/// Members that contradict each other.
fn header(book: &mut Book, cast: &mut Cast) -> Writing {
    let mail = cast.mail()?;
    let bodiless = json!({"seq": 1, "label": "desk", "sessions": [], "features": []});
    let ben = || Some(end("ben", cast.ben.machine(), None));
    let line: [Edit<'_>; 2] = [("/from/agent", None), ("/to/agent", None)];
    let request = ("/class", Some(json!("request")));
    let rows: [(&str, Vec<Edit<'_>>); 21] = [
        ("mail from no agent", vec![("/from/agent", None)]),
        ("class self between two persons", vec![("/class", Some(json!("self")))]),
        ("class contact between own devices", vec![("/to", ben()), ("/from/agent", None)]),
        (
            "class request between own devices",
            vec![("/to", ben()), ("/from/agent", None), request.clone()],
        ),
        ("class request between agents", vec![request.clone()]),
        ("class request from an agent", vec![("/to/agent", None), request.clone()]),
        ("class request to an agent", vec![("/from/agent", None), request.clone()]),
        (
            "class request on a receipt",
            [&line[..], &[request.clone(), ("/type", Some(json!("receipt")))]].concat(),
        ),
        (
            "class request on a cancel",
            [&line[..], &[request.clone(), ("/type", Some(json!("task.cancel")))]].concat(),
        ),
        (
            "class request with replyTo",
            [&line[..], &[request, ("/replyTo", Some(json!("01KQ00000000000000000000E1")))]]
                .concat(),
        ),
        ("a status without replyTo", vec![("/type", Some(json!("task.status")))]),
        ("an artifact without replyTo", vec![("/type", Some(json!("task.artifact")))]),
        ("mail to the team", vec![("/to", Some(json!({"team": true})))]),
        (
            "a receipt to the team",
            vec![("/to", Some(json!({"team": true}))), ("/type", Some(json!("receipt")))],
        ),
        ("mail to the team and to a device", vec![("/to/team", Some(json!(true)))]),
        ("mail to a device and to no team", vec![("/to/team", Some(json!(false)))]),
        ("mail that is not sealed", vec![("/enc", Some(json!("none")))]),
        ("mail with a body to read", vec![("/body", Some(bodiless.clone()))]),
        (
            "mail as presence would be",
            vec![
                ("/enc", Some(json!("none"))),
                ("/body", Some(bodiless)),
                ("/epk", None),
                ("/nonce", None),
            ],
        ),
        ("presence that is sealed", vec![("/type", Some(json!("presence")))]),
        (
            "presence that is sealed, to the team",
            vec![
                ("/type", Some(json!("presence"))),
                ("/to", Some(json!({"team": true}))),
                ("/class", None),
            ],
        ),
    ];
    for (name, edits) in rows {
        let envelope = signed(edited(&mail, &edits)?, &cast.ben)?;
        refuse(book, cast, name, &envelope, InvalidRequest)?;
    }
    Ok(())
}

fn presence(book: &mut Book, cast: &mut Cast) -> Writing {
    let session =
        json!({"agent": "a", "client": "cli", "state": "idle", "tier": "pull", "since": 1});
    let good =
        cast.presence(json!({"seq": 7, "label": "desk", "sessions": [session], "features": []}))?;
    let ulid = || Some(json!("01KQ00000000000000000000E1"));
    let device = Some(end("ada", cast.ada.machine(), None));
    let rows: [(&str, &str, Option<Value>); 34] = [
        ("to a device", "/to", device),
        ("to no team", "/to/team", Some(json!(false))),
        ("to nobody", "/to/team", None),
        ("to an agent of the team", "/to/agent", Some(json!("a"))),
        ("said to be sealed", "/enc", Some(json!("x25519-aes256gcm"))),
        ("with a class", "/class", Some(json!("contact"))),
        ("with an epk", "/epk", Some(json!(cast.ada.enc.public()))),
        ("with a nonce", "/nonce", Some(json!(text(&[7; 12])))),
        ("with replyTo", "/replyTo", ulid()),
        ("with a text body", "/body", Some(json!("AAAA"))),
        ("without a body", "/body", None),
        ("as a message", "/type", Some(json!("message"))),
        ("without seq", "/body/seq", None),
        ("with a seq below 0", "/body/seq", Some(json!(-1))),
        ("with a seq with a fraction", "/body/seq", Some(json!(0.5))),
        ("without a label", "/body/label", None),
        ("with a label in upper case", "/body/label", Some(json!("Desk"))),
        ("without sessions", "/body/sessions", None),
        ("with sessions by name", "/body/sessions", Some(json!({"a": session}))),
        ("with 257 sessions", "/body/sessions", Some(json!(vec![session.clone(); 257]))),
        ("without features", "/body/features", None),
        ("with 17 features", "/body/features", Some(json!(vec!["x"; 17]))),
        ("with an empty feature", "/body/features", Some(json!([""]))),
        ("with a feature of 65 units", "/body/features", Some(json!(["x".repeat(65)]))),
        ("that says not away", "/body/away", Some(json!(false))),
        ("with away null", "/body/away", Some(Value::Null)),
        ("with a session without agent", "/body/sessions/0/agent", None),
        ("with an agent in upper case", "/body/sessions/0/agent", Some(json!("A"))),
        ("with a session without state", "/body/sessions/0/state", None),
        ("with a state of later versions", "/body/sessions/0/state", Some(json!("away"))),
        ("with a tier of later versions", "/body/sessions/0/tier", Some(json!("poll"))),
        ("with a session not kept", "/body/sessions/0/kept", Some(json!(false))),
        ("with an empty repo", "/body/sessions/0/repo", Some(json!(""))),
        (
            "with a doing of 201 units",
            "/body/sessions/0/doing",
            Some(json!("\u{1f600}".repeat(100) + "x")),
        ),
    ];
    for (name, pointer, member) in rows {
        let envelope = signed(edited(&good, &[(pointer, member)])?, &cast.ben)?;
        refuse(book, cast, &format!("presence {name}"), &envelope, InvalidRequest)?;
    }
    let body = json!({"seq": 7, "label": "desk", "sessions": [], "features": [], "z": "z".repeat(PRESENCE_BYTES)});
    let large = cast.presence(body)?;
    book.refuses(
        "receive: presence over 64 KiB",
        "envelope_receive",
        cast.receive_input(&large),
        TooLarge,
    )
}

/// Each step after the shape.
fn steps(book: &mut Book, cast: &mut Cast) -> Writing {
    let mail = cast.mail()?;
    let other = json!(Hash::from_bytes(&[0x46; 32]));
    let at = |ts: u64, exp: u64| -> Vec<Edit<'_>> {
        vec![("/ts", Some(json!(ts))), ("/exp", Some(json!(exp)))]
    };
    let now = NOW.0;
    let (eve, dan) = (cast.eve.clone(), cast.dan.clone());
    let rows: [(&str, Vec<Edit<'_>>, Code); 13] = [
        ("another realm", vec![("/realm", Some(other))], NotMember),
        ("an epoch anchor", vec![("/anchor", Some(cast.epoch.clone()))], InvalidRequest),
        ("exp before ts", at(now, now - 1), Expired),
        ("exp before ts, both to come", at(now + 2, now + 1), Expired),
        ("exp now", at(now - 1, now), Expired),
        ("exp past", at(now - 2, now - 1), Expired),
        ("ts beyond the skew", at(now + CLOCK_SKEW_MS + 1, now + TTL_MS), Expired),
        ("a life over 7 days", at(now, now + TTL_MS + 1), Expired),
        (
            "from another person",
            vec![("/from/person", Some(json!("ada"))), ("/class", Some(json!("self")))],
            NotMember,
        ),
        ("from nobody of the team", vec![("/from/person", Some(json!("cyn")))], NotMember),
        (
            "to another machine",
            vec![("/to/device", Some(json!(cast.phone.machine())))],
            InvalidRequest,
        ),
        (
            "to this machine as another person's",
            vec![("/to/person", Some(json!("cyn")))],
            InvalidRequest,
        ),
        ("to a machine of nobody", vec![("/to/device", Some(other_device(cast)))], InvalidRequest),
    ];
    for (name, edits, code) in rows {
        let envelope = signed(edited(&mail, &edits)?, &cast.ben)?;
        refuse(book, cast, name, &envelope, code)?;
    }
    for (name, who, person) in [
        ("a stranger", &eve, "eve"),
        ("a stranger as Ben", &eve, "ben"),
        ("a removed member", &dan, "dan"),
    ] {
        let from = end(person, who.machine(), Some("builder"));
        let envelope = signed(edited(&mail, &[("/from", Some(from))])?, who)?;
        refuse(book, cast, &format!("from {name}"), &envelope, NotMember)?;
    }
    let mut input = cast.verify_input(&mail);
    input["now"] = json!(1.5);
    book.refuses("verify: a clock with a fraction", "envelope_verify", input, InvalidRequest)
}

fn other_device(cast: &Cast) -> Value {
    json!(cast.eve.machine())
}

fn signatures(book: &mut Book, cast: &mut Cast) -> Writing {
    let mail = signed(edited(&cast.mail()?, &[("/later", Some(json!("x")))])?, &cast.ben)?;
    let rows: [(&str, &str, Option<Value>); 11] = [
        ("id", "/id", Some(json!("01KQ00000000000000000000E1"))),
        ("ts", "/ts", Some(json!(NOW.plus(1)))),
        ("exp", "/exp", Some(json!(NOW.plus(1)))),
        ("anchor", "/anchor", Some(cast.older.clone())),
        ("the sender's agent", "/from/agent", Some(json!("tester"))),
        ("the receiver", "/to/device", Some(json!(cast.phone.machine()))),
        ("replyTo, added,", "/replyTo", Some(json!("01KQ00000000000000000000E1"))),
        ("epk", "/epk", Some(json!(cast.ada.enc.public()))),
        ("nonce", "/nonce", Some(json!(text(&[7; 12])))),
        ("body", "/body", Some(json!(text(&[7; 90])))),
        ("a member of a later version, removed,", "/later", None),
    ];
    for (name, pointer, member) in rows {
        let envelope = edited(&mail, &[(pointer, member)])?;
        refuse(book, cast, &format!("{name} changed after signing"), &envelope, BadSignature)?;
    }
    let by_eve = signed(mail.clone(), &cast.eve)?;
    refuse(book, cast, "signed by another key", &by_eve, BadSignature)?;
    let unsigned = edited(&mail, &[("/sig", None)])?;
    for domain in [Domain::Roster, Domain::Delegation, Domain::RelayAuth] {
        let sig = made("sig", cast.ben.signing.sign_value(domain, &unsigned))?;
        let envelope = edited(&mail, &[("/sig", Some(json!(sig)))])?;
        let name = format!("signed as {}", domain.prefix().trim_end());
        refuse(book, cast, &name, &envelope, BadSignature)?;
    }
    let zero = edited(&mail, &[("/sig", Some(json!(text(&[0; 64]))))])?;
    refuse(book, cast, "a signature of zeros", &zero, BadSignature)
}

fn directory(book: &mut Book, cast: &mut Cast) -> Writing {
    let mail = cast.mail()?;
    let own = edited(
        &mail,
        &[
            ("/realm", Some(json!(cast.directory_realm))),
            ("/anchor", Some(cast.epoch.clone())),
            ("/from/person", Some(json!(HOSTED_BEN))),
            ("/to/person", Some(json!(HOSTED_ADA))),
        ],
    )?;
    let phone = Some(json!(cast.phone.machine()));
    let rows: [(&str, Edit<'_>, Code); 2] = [
        ("a device it does not know", ("/from/device", phone), UnknownDevice),
        ("a roster anchor", ("/anchor", Some(cast.anchor.clone())), InvalidRequest),
    ];
    for (name, edit, code) in rows {
        let envelope = signed(edited(&own, &[edit])?, &cast.phone)?;
        let mut input = cast.verify_input(&envelope);
        input["view"] = cast.directory.clone();
        book.refuses(
            format!("verify: in a directory realm, {name}"),
            "envelope_verify",
            input,
            code,
        )?;
    }
    let class = ("/class", Some(json!("contact")));
    let person = ("/from/person", Some(json!("p_cyncyncyncyncyncyncyncyncy")));
    let envelope = signed(edited(&own, &[person, class])?, &cast.ben)?;
    let mut input = cast.verify_input(&envelope);
    input["view"] = cast.directory.clone();
    book.refuses(
        "verify: in a directory realm, a device as another's",
        "envelope_verify",
        input,
        UnknownDevice,
    )
}

/// Two faults in one envelope: the earlier step's code is the answer.
fn order(book: &mut Book, cast: &mut Cast) -> Writing {
    let mail = cast.mail()?;
    let steps: [(&str, Edit<'_>, Code); 6] = [
        ("the shape", ("/id", Some(json!("x"))), InvalidRequest),
        ("the realm", ("/realm", Some(json!(Hash::from_bytes(&[0x46; 32])))), NotMember),
        ("the anchor's kind", ("/anchor", Some(cast.epoch.clone())), InvalidRequest),
        ("the time", ("/exp", Some(json!(NOW))), Expired),
        ("the sender", ("/from/person", Some(json!("cyn"))), NotMember),
        ("the addressee", ("/to/device", Some(json!(cast.phone.machine()))), InvalidRequest),
    ];
    for (index, (first, edit, code)) in steps.iter().enumerate() {
        for (second, other, _) in steps.iter().skip(index + 1) {
            let envelope = signed(edited(&mail, &[edit.clone(), other.clone()])?, &cast.ben)?;
            refuse(book, cast, &format!("order: {first} before {second}"), &envelope, *code)?;
        }
        let unsigned = edited(&mail, std::slice::from_ref(edit))?;
        let (name, code) = match *first {
            "the addressee" => {
                ("order: the signature before the addressee".to_owned(), BadSignature)
            }
            _ => (format!("order: {first} before the signature"), *code),
        };
        refuse(book, cast, &name, &unsigned, code)?;
    }
    Ok(())
}
