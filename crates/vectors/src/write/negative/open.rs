//! Envelopes that do not open: the seal, and the text inside.

use messaging_core::code::Code::{BadSignature, InvalidRequest};
use messaging_core::ids::{EncKey, Hash};
use serde_json::{Value, json};

use super::super::book::{Book, Writing, text};
use super::super::cast::{Cast, Edit, edited, end, mail, signed};

pub(super) fn write(book: &mut Book, cast: &mut Cast) -> Writing {
    seals(book, cast)?;
    texts(book, cast)
}

fn seals(book: &mut Book, cast: &mut Cast) -> Writing {
    let good = cast.mail()?;
    let body = good["body"].as_str().unwrap_or_default().to_owned();
    let flipped = |at: usize| {
        let swap = |c: char| if c == 'A' { 'B' } else { 'A' };
        let flip = |(index, c): (usize, char)| if index == at { swap(c) } else { c };
        json!(body.chars().enumerate().map(flip).collect::<String>())
    };
    let cut = json!(body.get(..body.len() / 4 * 4 - 4).unwrap_or_default());
    let ada_as_sender = end("ada", cast.ada.machine(), None);
    let rows: Vec<(&str, Vec<Edit<'_>>)> = vec![
        ("another id in the header", vec![("/id", Some(json!("01KQ00000000000000000000E1")))]),
        ("another ts in the header", vec![("/ts", Some(json!(1)))]),
        ("another exp in the header", vec![("/exp", Some(json!(1)))]),
        (
            "another realm in the header",
            vec![("/realm", Some(json!(Hash::from_bytes(&[0x46; 32]))))],
        ),
        ("another anchor in the header", vec![("/anchor", Some(cast.older.clone()))]),
        ("another anchor kind in the header", vec![("/anchor", Some(cast.epoch.clone()))]),
        ("another agent in the header", vec![("/from/agent", Some(json!("tester")))]),
        (
            "another receiver in the header",
            vec![("/to", Some(end("cyn", cast.eve.machine(), Some("reviewer"))))],
        ),
        ("no agents in the header", vec![("/from/agent", None), ("/to/agent", None)]),
        (
            "class request in the header",
            vec![("/from/agent", None), ("/to/agent", None), ("/class", Some(json!("request")))],
        ),
        ("another type in the header", vec![("/type", Some(json!("receipt")))]),
        (
            "class self in the header",
            vec![
                ("/from", Some(ada_as_sender)),
                ("/to/agent", None),
                ("/class", Some(json!("self"))),
            ],
        ),
        ("a replyTo in the header", vec![("/replyTo", Some(json!("01KQ00000000000000000000E1")))]),
        ("a member added to the header", vec![("/later", Some(json!(1)))]),
        ("another nonce", vec![("/nonce", Some(json!(text(&[7; 12]))))]),
        ("another ephemeral key", vec![("/epk", Some(json!(cast.ben.enc.public())))]),
        ("a changed first byte", vec![("/body", Some(flipped(0)))]),
        ("a changed byte in the middle", vec![("/body", Some(flipped(body.len() / 2)))]),
        ("a changed tag", vec![("/body", Some(flipped(body.len() - 5)))]),
        ("a body cut short", vec![("/body", Some(cut))]),
        ("a body of 15 bytes", vec![("/body", Some(json!(text(&[7; 15]))))]),
        ("a body of a tag alone", vec![("/body", Some(json!(text(&[7; 16]))))]),
        ("an empty body", vec![("/body", Some(json!("")))]),
        ("an ephemeral key of 0", vec![("/epk", Some(json!(EncKey::from_bytes(&first(0)))))]),
        ("an ephemeral key of 1", vec![("/epk", Some(json!(EncKey::from_bytes(&first(1)))))]),
    ];
    for (name, edits) in rows {
        let envelope = signed(edited(&good, &edits)?, &cast.ben)?;
        book.refuses(
            format!("open: {name}"),
            "envelope_open",
            cast.open_input(&envelope),
            BadSignature,
        )?;
    }
    let eve = edited(&good, &[("/from", Some(end("eve", cast.eve.machine(), Some("builder"))))])?;
    let taken_over = signed(eve, &cast.eve)?;
    book.refuses(
        "open: signed again by another",
        "envelope_open",
        cast.open_input(&taken_over),
        BadSignature,
    )?;
    let other = json!([text(&*cast.ben.enc.to_bytes()), text(&*cast.phone.enc.to_bytes())]);
    for (name, keys) in [("open: with other keys", other), ("open: with no key", json!([]))] {
        book.refuses(name, "envelope_open", json!({"envelope": good, "keys": keys}), BadSignature)?;
    }
    let presence =
        cast.presence(json!({"seq": 1, "label": "desk", "sessions": [], "features": []}))?;
    book.refuses("open: presence", "envelope_open", cast.open_input(&presence), InvalidRequest)
}

/// 32 bytes, the first of them given.
fn first(byte: u8) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[0] = byte;
    bytes
}

fn texts(book: &mut Book, cast: &mut Cast) -> Writing {
    let hi = mail(json!([{"text": "hi"}])).to_string();
    let with = |more: &str| hi.replacen('{', &format!("{{{more},"), 1).into_bytes();
    let deep = format!("\"later\":{}1{}", "[".repeat(32), "]".repeat(32));
    let rows: Vec<(&str, Vec<u8>)> = vec![
        ("no text at all", Vec::new()),
        ("bytes that are not UTF-8", b"{\"kind\":\"\xc3\x28\"}".to_vec()),
        ("a raw surrogate", b"{\"kind\":\"\xed\xa0\x80\"}".to_vec()),
        ("a byte order mark", [&b"\xef\xbb\xbf"[..], hi.as_bytes()].concat()),
        ("text that is not JSON", b"hi".to_vec()),
        ("text after the payload", format!("{hi}x").into_bytes()),
        ("two payloads", format!("{hi}{hi}").into_bytes()),
        ("a member twice", with("\"kind\":\"message\"")),
        ("a member twice, once escaped", with("\"\\u006bind\":\"message\"")),
        ("half a surrogate pair", with("\"later\":\"\\udc00\"")),
        ("33 levels", with(&deep)),
        ("an integer past 2^53 - 1", with("\"later\":-9007199254740992")),
        ("an infinite number", with("\"later\":1e999")),
        ("an array", b"[]".to_vec()),
        ("null", b"null".to_vec()),
    ];
    for (name, plaintext) in rows {
        let envelope = forged(cast, plaintext)?;
        book.refuses(
            format!("open: {name}"),
            "envelope_open",
            cast.open_input(&envelope),
            InvalidRequest,
        )?;
    }
    Ok(())
}

/// Mail from Ben with this inside.
fn forged(cast: &mut Cast, plaintext: Vec<u8>) -> Result<Value, super::super::book::WriteError> {
    let mut fields = cast.fields("message", Some("builder"), Some("reviewer"));
    fields["class"] = json!("contact");
    cast.forged(fields, plaintext)
}
