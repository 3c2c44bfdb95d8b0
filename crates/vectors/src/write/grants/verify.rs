//! Grants that hold, and grants that are refused at each step of the order.

use messaging_core::code::Code::{self, BadSignature, InvalidRequest, TooLarge};
use messaging_core::domain::Domain;
use messaging_core::ids::Hash;
use messaging_core::jcs;
use messaging_core::limits::{GRANT_BYTES, TRUST_MAX_MS};
use serde_json::{Value, json};

use super::super::book::{Book, Writing, made, text};
use super::super::cast::{HOSTED_BEN, NOW, edited};
use super::{Story, signed};

const OP: &str = "grant_verify";

pub(super) fn write(book: &mut Book, story: &Story) -> Writing {
    holds(book, story)?;
    shape(book, story)?;
    rules(book, story)?;
    size(book, story)?;
    signature(book, story)
}

fn holds(book: &mut Book, story: &Story) -> Writing {
    let (ada, ben) = (json!({"person": "ada"}), json!({"person": "ben"}));
    let channel = json!({"channel": story.channel});
    for (name, subject, levels) in [
        ("a clear", &ada, json!({})),
        (
            "each level of a person",
            &ada,
            json!({
                "chat": "open", "agentMail": "open", "ask": "open", "trustedUntil": NOW.plus(TRUST_MAX_MS)
            }),
        ),
        ("what restricts", &ada, json!({"chat": "blocked", "agentMail": "blocked", "ask": "no"})),
        ("a moment of trust", &ada, json!({"ask": "open", "trustedUntil": NOW.plus(1)})),
        ("a hosted person", &json!({"person": HOSTED_BEN}), json!({"chat": "muted"})),
        ("a channel", &channel, json!({"agentMail": "blocked", "ask": "request"})),
        ("a channel's clear", &channel, json!({})),
        ("not to be found", &ben, json!({"discoverable": false})),
        ("to be found", &ben, json!({"discoverable": true})),
        ("signed anew at once", &ada, json!({"chat": "blocked", "resignedAt": NOW})),
        ("a member of a later version", &ada, json!({"chat": "open", "later": {"a": [null, 0.5]}})),
    ] {
        let fields = story.fields(&story.desk, subject, &levels);
        let input = json!({"seed": text(&*story.desk.signing.seed()), "fields": fields});
        book.pins(format!("signing {name}"), "grant_sign", input)?;
        let grant = signed(fields, &story.desk, Domain::Grant)?;
        book.gives(format!("verifying {name}"), OP, story.verify_input(&grant), grant)?;
    }
    Ok(())
}

/// A grant about Ada with these changes, signed again.
fn refuse(
    book: &mut Book,
    story: &Story,
    name: &str,
    edits: &[(&str, Option<Value>)],
    code: Code,
) -> Writing {
    let grant = edited(&story.grant(&story.desk, &json!({"chat": "open"}))?, edits)?;
    let grant = signed(grant, &story.desk, Domain::Grant)?;
    book.refuses(format!("refused: {name}"), OP, story.verify_input(&grant), code)
}

fn shape(book: &mut Book, story: &Story) -> Writing {
    for name in ["v", "realm", "id", "person", "by", "ts", "subject"] {
        let pointer = format!("/{name}");
        refuse(
            book,
            story,
            &format!("without {name}"),
            &[(pointer.as_str(), None)],
            InvalidRequest,
        )?;
    }
    let whole = story.grant(&story.desk, &json!({"chat": "open"}))?;
    let unsigned = story.verify_input(&edited(&whole, &[("/sig", None)])?);
    book.refuses("refused: without sig", OP, unsigned, InvalidRequest)?;
    for (name, pointer, member) in [
        ("another protocol", "/v", json!("messaging/2")),
        ("a short realm", "/realm", json!("AAAA")),
        ("an id in lower case", "/id", json!(story.id.as_str().to_lowercase())),
        ("a person with a capital", "/person", json!("Ben")),
        ("a negative time", "/ts", json!(-1)),
        ("a fraction of a time", "/ts", json!(0.5)),
        ("a subject that is a text", "/subject", json!("ada")),
        ("a subject of nobody", "/subject", json!({})),
        ("a subject of two", "/subject", json!({"person": "ada", "channel": story.channel})),
        ("a subject with more", "/subject", json!({"person": "ada", "later": 1})),
        ("a channel by its name", "/subject", json!({"channel": "eng"})),
        ("a level of nothing", "/chat", Value::Null),
        ("a level of another name", "/chat", json!("quiet")),
        ("muted agents", "/agentMail", json!("muted")),
        ("a blocked ask", "/ask", json!("blocked")),
        ("an end that is a text", "/trustedUntil", json!("tomorrow")),
    ] {
        refuse(book, story, name, &[(pointer, Some(member))], InvalidRequest)?;
    }
    // It has no canonical form, so nobody can sign it.
    let past = edited(&whole, &[("/later", Some(json!(9_007_199_254_740_992_u64)))])?;
    let input = story.verify_input(&past);
    book.refuses("refused: a whole number past 2^53", OP, input, InvalidRequest)
}

fn rules(book: &mut Book, story: &Story) -> Writing {
    let channel = Some(json!({"channel": story.channel}));
    let own = Some(json!({"person": "ben"}));
    let open = Some(json!("open"));
    let soon = Some(json!(NOW.plus(1)));
    for (name, edits) in [
        ("lines of a channel", vec![("/subject", channel.clone())]),
        (
            "trust in a channel",
            vec![
                ("/subject", channel.clone()),
                ("/chat", None),
                ("/ask", open.clone()),
                ("/trustedUntil", soon.clone()),
            ],
        ),
        (
            "a channel that is found",
            vec![("/subject", channel), ("/chat", None), ("/discoverable", Some(json!(true)))],
        ),
        ("lines of oneself", vec![("/subject", own.clone())]),
        ("asks of oneself", vec![("/subject", own), ("/chat", None), ("/ask", open.clone())]),
        ("another person who is found", vec![("/discoverable", Some(json!(false)))]),
        ("trust without asks", vec![("/trustedUntil", soon.clone())]),
        (
            "trust and asks on request",
            vec![("/ask", Some(json!("request"))), ("/trustedUntil", soon)],
        ),
        (
            "trust that ends as it is signed",
            vec![("/ask", open.clone()), ("/trustedUntil", Some(json!(NOW)))],
        ),
        (
            "trust of over 90 days",
            vec![("/ask", open), ("/trustedUntil", Some(json!(NOW.plus(TRUST_MAX_MS + 1))))],
        ),
        ("signed anew before it was signed", vec![("/resignedAt", Some(json!(NOW.minus(1))))]),
    ] {
        refuse(book, story, name, &edits, InvalidRequest)?;
    }
    Ok(())
}

fn size(book: &mut Book, story: &Story) -> Writing {
    let padded = |length: usize| {
        story.grant(&story.desk, &json!({"chat": "open", "later": "x".repeat(length)}))
    };
    let room = GRANT_BYTES - made("size", jcs::canonical(&padded(0)?))?.len();
    book.pins("size: 2 KiB", OP, story.verify_input(&padded(room)?))?;
    let large = padded(room + 1)?;
    book.refuses("size: 2 KiB and one", OP, story.verify_input(&large), TooLarge)?;
    let mut fields = large.clone();
    if let Some(fields) = fields.as_object_mut() {
        fields.remove("sig");
    }
    let input = json!({"seed": text(&*story.desk.signing.seed()), "fields": fields});
    book.refuses("size: signing 2 KiB and one", "grant_sign", input, TooLarge)?;
    let broken = edited(&large, &[("/chat", Some(json!("quiet")))])?;
    book.refuses(
        "order: the rules before the size",
        OP,
        story.verify_input(&broken),
        InvalidRequest,
    )?;
    let elsewhere = edited(&large, &[("/realm", Some(json!(Hash::from_bytes(&[1; 32]))))])?;
    book.refuses("order: the size before the realm", OP, story.verify_input(&elsewhere), TooLarge)
}

fn signature(book: &mut Book, story: &Story) -> Writing {
    let grant = story.grant(&story.desk, &json!({"chat": "blocked", "later": 1}))?;
    for (name, pointer, member) in [
        ("another realm", "/realm", json!(Hash::from_bytes(&[1; 32]))),
        ("another person", "/person", json!("dan")),
    ] {
        // Before the signature: this one would not hold either.
        let changed = edited(&grant, &[(pointer, Some(member))])?;
        book.refuses(format!("refused: {name}"), OP, story.verify_input(&changed), InvalidRequest)?;
    }
    for (name, pointer, member) in [
        ("another signer", "/by", Some(json!(story.phone.machine()))),
        ("a key that signs everything", "/by", Some(json!("A".repeat(43)))),
        ("a changed time", "/ts", Some(json!(NOW.plus(1)))),
        ("a changed id", "/id", Some(json!(story.channel))),
        ("a changed subject", "/subject", Some(json!({"person": "dan"}))),
        ("a changed level", "/chat", Some(json!("open"))),
        ("a level more", "/ask", Some(json!("no"))),
        ("a level less", "/chat", None),
        ("a member of a later version changed", "/later", Some(json!(2))),
        ("a member of a later version gone", "/later", None),
    ] {
        let changed = edited(&grant, &[(pointer, member)])?;
        book.refuses(format!("signature: {name}"), OP, story.verify_input(&changed), BadSignature)?;
    }
    let as_card = signed(grant.clone(), &story.desk, Domain::Card)?;
    book.refuses("signature: made for a card", OP, story.verify_input(&as_card), BadSignature)?;
    let stolen = signed(grant, &story.ada, Domain::Grant)?;
    book.refuses("signature: by somebody else", OP, story.verify_input(&stolen), BadSignature)?;
    let fields = story.fields(&story.phone, &json!({"person": "ada"}), &json!({}));
    let input = json!({"seed": text(&*story.desk.signing.seed()), "fields": fields});
    book.refuses("signing for another device", "grant_sign", input, InvalidRequest)
}
