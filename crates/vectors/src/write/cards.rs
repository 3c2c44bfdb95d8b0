//! Contact cards: signing, verifying, and what a card says of a grant.

use messaging_core::code::Code::{BadSignature, InvalidRequest, TooLarge};
use messaging_core::domain::Domain;
use messaging_core::ids::Hash;
use messaging_core::jcs;
use messaging_core::limits::CARD_BYTES;
use serde_json::{Value, json};

use super::book::{Book, WriteError, Writing, made, text};
use super::cast::{HOSTED_ADA, HOSTED_BEN, NOW, edited};
use super::grants::{Story, signed};

pub(super) fn book() -> Result<Book, WriteError> {
    let mut book = Book::new(
        "Contact cards: signing, verifying, and what a card says of a grant (section 6.9).",
    );
    let story = Story::new(&mut book);
    holds(&mut book, &story)?;
    refused(&mut book, &story)?;
    can(&mut book, &story)?;
    Ok(book)
}

/// Ben's card for Ada, before it is signed.
fn fields(story: &Story) -> Value {
    json!({
        "v": "messaging/1", "realm": story.realm, "from": "ben", "to": "ada", "by": story.desk.machine(),
        "seq": NOW, "ts": NOW, "can": {"chat": true, "agentMail": false, "ask": "request"}
    })
}

fn input(story: &Story, card: &Value) -> Value {
    json!({"card": card, "realm": story.realm, "sender": "ben", "receiver": "ada"})
}

fn card(story: &Story, edits: &[(&str, Option<Value>)]) -> Result<Value, WriteError> {
    signed(edited(&fields(story), edits)?, &story.desk, Domain::Card)
}

fn holds(book: &mut Book, story: &Story) -> Writing {
    let trust =
        json!({"chat": true, "agentMail": true, "ask": "open", "trustedUntil": NOW.plus(1)});
    for (name, edits) in [
        ("a card", vec![]),
        (
            "a card of nothing",
            vec![("/can", Some(json!({"chat": false, "agentMail": false, "ask": "no"})))],
        ),
        ("a card of trust", vec![("/can", Some(trust))]),
        ("a card about a grant", vec![("/grantId", Some(json!(story.id)))]),
        ("the first card", vec![("/seq", Some(json!(0)))]),
        (
            "members of a later version",
            vec![("/later", Some(json!([0.5]))), ("/can/later", Some(json!({})))],
        ),
    ] {
        let fields = edited(&fields(story), &edits)?;
        let sign = json!({"seed": text(&*story.desk.signing.seed()), "fields": fields});
        book.pins(format!("signing {name}"), "card_sign", sign)?;
        let card = signed(fields, &story.desk, Domain::Card)?;
        book.gives(format!("verifying {name}"), "card_verify", input(story, &card), card)?;
    }
    let hosted =
        card(story, &[("/from", Some(json!(HOSTED_BEN))), ("/to", Some(json!(HOSTED_ADA)))])?;
    let mut hosted_input = input(story, &hosted);
    hosted_input["sender"] = json!(HOSTED_BEN);
    hosted_input["receiver"] = json!(HOSTED_ADA);
    book.pins("verifying a hosted person's card", "card_verify", hosted_input)
}

fn refused(book: &mut Book, story: &Story) -> Writing {
    let op = "card_verify";
    for name in [
        "v",
        "realm",
        "from",
        "to",
        "by",
        "seq",
        "ts",
        "can",
        "can/chat",
        "can/agentMail",
        "can/ask",
    ] {
        let pointer = format!("/{name}");
        let card = card(story, &[(pointer.as_str(), None)])?;
        book.refuses(format!("refused: without {name}"), op, input(story, &card), InvalidRequest)?;
    }
    book.refuses("refused: without sig", op, input(story, &fields(story)), InvalidRequest)?;
    for (name, pointer, member) in [
        ("another protocol", "/v", json!("messaging/2")),
        ("a person with a capital", "/from", json!("Ben")),
        ("a negative number", "/seq", json!(-1)),
        ("a fraction of a number", "/seq", json!(1.5)),
        ("a grant of nothing", "/grantId", Value::Null),
        ("a grant that is no ULID", "/grantId", json!("g")),
        ("a level for lines", "/can/chat", json!("open")),
        ("an ask of another name", "/can/ask", json!("maybe")),
        ("trust without asks", "/can/trustedUntil", json!(NOW.plus(1))),
        ("a card for oneself", "/to", json!("ben")),
    ] {
        let card = card(story, &[(pointer, Some(member))])?;
        book.refuses(format!("refused: {name}"), op, input(story, &card), InvalidRequest)?;
    }
    let good = card(story, &[("/later", Some(json!(1)))])?;
    // It has no canonical form, so nobody can sign it.
    let past = edited(&good, &[("/seq", Some(json!(9_007_199_254_740_992_u64)))])?;
    book.refuses("refused: a number past 2^53", op, input(story, &past), InvalidRequest)?;
    for (name, member, other) in [
        ("of another realm", "realm", json!(Hash::from_bytes(&[1; 32]))),
        ("of another person", "sender", json!("dan")),
        ("for another person", "receiver", json!("dan")),
    ] {
        let mut input = input(story, &good);
        input[member] = other;
        book.refuses(format!("refused: a card {name}"), op, input, InvalidRequest)?;
    }
    for (name, pointer, member) in [
        ("another signer", "/by", Some(json!(story.phone.machine()))),
        ("a changed number", "/seq", Some(json!(NOW.plus(1)))),
        ("a changed time", "/ts", Some(json!(NOW.plus(1)))),
        ("a changed level", "/can/ask", Some(json!("open"))),
        ("a member of a later version gone", "/later", None),
    ] {
        let changed = edited(&good, &[(pointer, member)])?;
        book.refuses(format!("signature: {name}"), op, input(story, &changed), BadSignature)?;
    }
    let as_grant = signed(good, &story.desk, Domain::Grant)?;
    book.refuses("signature: made for a grant", op, input(story, &as_grant), BadSignature)?;

    let padded = |length: usize| card(story, &[("/later", Some(json!("x".repeat(length))))]);
    let room = CARD_BYTES - made("size", jcs::canonical(&padded(0)?))?.len();
    book.pins("size: 2 KiB", op, input(story, &padded(room)?))?;
    let large = padded(room + 1)?;
    book.refuses("size: 2 KiB and one", op, input(story, &large), TooLarge)?;
    let sign = |fields: Value| json!({"seed": text(&*story.desk.signing.seed()), "fields": fields});
    book.refuses(
        "size: signing 2 KiB and one",
        "card_sign",
        sign(edited(&large, &[("/sig", None)])?),
        TooLarge,
    )?;
    let elsewhere = edited(&large, &[("/realm", Some(json!(Hash::from_bytes(&[1; 32]))))])?;
    book.refuses("order: the size before the realm", op, input(story, &elsewhere), TooLarge)?;
    let for_self = edited(&fields(story), &[("/to", Some(json!("ben")))])?;
    book.refuses("signing a card for oneself", "card_sign", sign(for_self), InvalidRequest)?;
    let other = edited(&fields(story), &[("/by", Some(json!(story.phone.machine())))])?;
    book.refuses("signing for another device", "card_sign", sign(other), InvalidRequest)
}

fn can(book: &mut Book, story: &Story) -> Writing {
    let trusted = json!({"chat": "muted", "ask": "open", "trustedUntil": NOW.plus(1)});
    for (name, relation, said, now, expected) in [
        ("org", "org", None, NOW, json!({"chat": true, "agentMail": true, "ask": "request"})),
        ("contact", "contact", None, NOW, json!({"chat": true, "agentMail": false, "ask": "no"})),
        (
            "stranger",
            "stranger",
            None,
            NOW,
            json!({"chat": false, "agentMail": false, "ask": "no"}),
        ),
        (
            "a clear",
            "org",
            Some(json!({})),
            NOW,
            json!({"chat": true, "agentMail": true, "ask": "request"}),
        ),
        (
            "trust, and muted lines",
            "contact",
            Some(trusted.clone()),
            NOW,
            json!({"chat": true, "agentMail": false, "ask": "open", "trustedUntil": NOW.plus(1)}),
        ),
        (
            "trust that ended",
            "contact",
            Some(trusted),
            NOW.plus(1),
            json!({"chat": true, "agentMail": false, "ask": "open"}),
        ),
        (
            "blocked",
            "org",
            Some(json!({"chat": "blocked", "agentMail": "blocked", "ask": "no"})),
            NOW,
            json!({"chat": false, "agentMail": false, "ask": "no"}),
        ),
    ] {
        let mut input = json!({"relation": relation, "now": now});
        if let Some(said) = said {
            input["grant"] = story.grant(&story.desk, &said)?;
        }
        book.gives(format!("a card says: {name}"), "card_can", input, expected)?;
    }
    Ok(())
}
