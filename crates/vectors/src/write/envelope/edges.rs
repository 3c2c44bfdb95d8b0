//! The edges of what is taken: times, views, keys, members of a later version; and signed heads.

use messaging_core::ids::Hash;
use messaging_core::limits::{CLOCK_SKEW_MS, TTL_MS};
use serde_json::{Value, json};

use super::super::book::{Book, Writing, text};
use super::super::cast::{Cast, HOSTED_ADA, HOSTED_BEN, NOW, edited, end, mail, signed};

pub(super) fn write(book: &mut Book, cast: &mut Cast) -> Writing {
    verifying(book, cast)?;
    opening(book, cast)?;
    directory(book, cast)?;
    heads(book, cast)
}

fn verifying(book: &mut Book, cast: &mut Cast) -> Writing {
    let mail = cast.mail()?;
    let with = |name: &str, value: Value| {
        let mut input = cast.verify_input(&mail);
        input[name] = value;
        input
    };
    let without_self = edited(&cast.verify_input(&mail), &[("/self", None)])?;
    book.gives("verifying without an addressee", "envelope_verify", without_self, mail.clone())?;
    let last = with("now", json!(NOW.plus(TTL_MS - 1)));
    book.gives("verifying in the last millisecond", "envelope_verify", last, mail.clone())?;
    let first = with("now", json!(NOW.minus(CLOCK_SKEW_MS)));
    book.gives(
        "verifying before it was sent, by the skew",
        "envelope_verify",
        first,
        mail.clone(),
    )?;
    for (name, pointer, member) in [
        ("a member of a later version in the header", "/later", json!({"a": [1, null]})),
        ("a member of a later version in an end", "/from/later", json!("x")),
        ("a member of a later version in the anchor", "/anchor/size", json!("x")),
        ("an empty body", "/body", json!("")),
        ("a time written as a double", "/ts", json!(1_790_000_600_000.0)),
    ] {
        let envelope = signed(edited(&mail, &[(pointer, Some(member))])?, &cast.ben)?;
        let input = cast.verify_input(&envelope);
        book.gives(format!("verifying {name}"), "envelope_verify", input, envelope)?;
    }
    Ok(())
}

fn opening(book: &mut Book, cast: &mut Cast) -> Writing {
    let envelope = cast.mail()?;
    let (own, other) = (text(&*cast.ada.enc.to_bytes()), text(&*cast.ben.enc.to_bytes()));
    for (name, keys) in [
        ("with the current key", json!([own])),
        ("with a replaced key", json!([other, own])),
        ("with the current key before a replaced one", json!([own, other])),
    ] {
        let input = json!({"envelope": envelope, "keys": keys});
        book.gives(
            format!("opening {name}"),
            "envelope_open",
            input,
            mail(json!([{"text": "hi"}])),
        )?;
    }
    let mut fields = cast.fields("message", Some("builder"), Some("reviewer"));
    fields["class"] = json!("contact");
    let spaced = format!(" {}\n", mail(json!([{"text": "\u{e9}"}])));
    let envelope = cast.forged(fields, spaced.into_bytes())?;
    let input = cast.open_input(&envelope);
    book.gives(
        "opening a payload that is not canonical",
        "envelope_open",
        input,
        mail(json!([{"text": "\u{e9}"}])),
    )
}

fn directory(book: &mut Book, cast: &mut Cast) -> Writing {
    for (name, agents, payload) in [
        ("mail", (Some("builder"), Some("reviewer")), mail(json!([{"text": "hi"}]))),
        ("a line", (None, None), mail(json!([{"text": "hi"}]))),
    ] {
        let mut fields = cast.fields("message", agents.0, agents.1);
        fields["realm"] = json!(cast.directory_realm);
        fields["anchor"] = cast.epoch.clone();
        fields["from"] = end(HOSTED_BEN, cast.ben.machine(), agents.0);
        fields["to"] = end(HOSTED_ADA, cast.ada.machine(), agents.1);
        let ada = cast.ada.clone();
        let input = cast.seal_input(fields, payload.clone(), &ada);
        let envelope = cast.sealed(&input)?;
        book.pins(format!("sealing {name} in a directory realm"), "envelope_seal", input)?;
        let mut receive = cast.receive_input(&envelope);
        receive["view"] = cast.directory.clone();
        book.gives(
            format!("receiving {name} in a directory realm"),
            "envelope_receive",
            receive,
            payload,
        )?;
    }
    Ok(())
}

fn heads(book: &mut Book, cast: &mut Cast) -> Writing {
    let mail = cast.mail()?;
    let presence =
        cast.presence(json!({"seq": 1, "label": "desk", "sessions": [], "features": []}))?;
    let head = edited(&cast.anchor, &[("/kind", None)])?;
    let realm = cast.realm;
    let eve = end("eve", cast.eve.machine(), None);
    let stranger =
        edited(&mail, &[("/from", Some(eve)), ("/exp", Some(json!("never"))), ("/type", None)])?;
    let stranger = signed(stranger, &cast.eve)?;
    let broken = edited(&mail, &[("/later", Some(json!(1)))])?;
    let epoch = signed(edited(&mail, &[("/anchor", Some(cast.epoch.clone()))])?, &cast.ben)?;
    let bare = signed(edited(&mail, &[("/anchor", None)])?, &cast.ben)?;
    let other = json!(Hash::from_bytes(&[0x46; 32]));
    for (name, envelope, realm, expected) in [
        ("mail", mail.clone(), json!(realm), head.clone()),
        ("presence", presence, json!(realm), head.clone()),
        ("what a stranger signed, out of shape and time", stranger, json!(realm), head),
        ("an envelope of another realm", mail, other, Value::Null),
        ("an envelope that is not signed", broken, json!(realm), Value::Null),
        ("an epoch anchor", epoch, json!(realm), Value::Null),
        ("no anchor", bare, json!(realm), Value::Null),
        ("no object", json!([1]), json!(realm), Value::Null),
        ("null", Value::Null, json!(realm), Value::Null),
    ] {
        let input = json!({"envelope": envelope, "realm": realm});
        book.gives(format!("the signed head of {name}"), "signed_head", input, expected)?;
    }
    Ok(())
}
