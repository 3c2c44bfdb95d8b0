//! Mail for a mail program: one RFC 5322 message for each, every part in base64, so that every byte is as it was.

use std::fmt::Write as _;

use messaging_core::b64;
use messaging_core::time::Ms;
use messaging_ipc::results::archive::{Held, HeldMail};
use messaging_ipc::shapes::{Content, Direction};
use serde_json::{Map, Value};

use super::at;
use crate::fault::Fault;

/// Writes messages.
#[derive(Debug)]
pub(super) struct Writer {
    /// This machine, as `person@label`.
    me: String,
}

/// One part of a message.
struct Piece {
    kind: String,
    name: Option<String>,
    bytes: Vec<u8>,
}

impl Writer {
    pub(super) fn new(me: String) -> Self {
        Self { me }
    }

    /// One message, with the line that begins it.
    pub(super) fn message(&self, entry: &Held) -> Result<String, Fault> {
        let time = at(entry);
        let mut out = format!("From messaging@localhost {}\n", date(time, "%a %b %e %H:%M:%S %Y"));
        let mut header = |name: &str, value: &str| {
            let _ = writeln!(out, "{name}: {value}");
        };
        header("Date", &date(time, "%a, %d %b %Y %H:%M:%S +0000"));
        let (id, pieces) = match entry {
            Held::Mail(mail) => {
                let peer = match &mail.peer.address {
                    Some(address) => address.to_string(),
                    None => mail.peer.person.to_string(),
                };
                let (person, label) = self.me.split_once('@').unwrap_or(("me", "here"));
                let own = format!("{person}/{}@{label}", mail.session);
                let (from, to, way) = match mail.direction {
                    Direction::In => (&peer, &own, "in"),
                    Direction::Out => (&own, &peer, "out"),
                };
                header("From", &mailbox(from));
                header("To", &mailbox(to));
                header("Message-ID", &format!("<{}.{way}@messaging.invalid>", mail.id));
                if let Some(reply_to) = &mail.reply_to {
                    let other = if way == "in" { "out" } else { "in" };
                    header("In-Reply-To", &format!("<{reply_to}.{other}@messaging.invalid>"));
                }
                header("X-Messaging-Id", mail.id.as_str());
                header("X-Messaging-Stage", mail.stage.as_str());
                header("X-Messaging-Context", &word(mail.context_id.as_untrusted()));
                if let Some(task) = &mail.task_id {
                    header("X-Messaging-Task", task.as_str());
                }
                if mail.message.is_none() {
                    header("X-Messaging-Text", "not kept");
                }
                (mail.id, pieces(mail)?)
            }
            Held::Line(line) => {
                let agent =
                    line.agent.as_ref().map(|agent| format!("/{agent}")).unwrap_or_default();
                header("From", &mailbox(&format!("{}{agent}", line.person)));
                header("To", &mailbox(&line.conversation.to_string()));
                header("Message-ID", &format!("<{}.line@messaging.invalid>", line.id));
                header("X-Messaging-Id", line.id.as_str());
                let bytes = line.text.as_untrusted().as_bytes().to_vec();
                (line.id, vec![Piece { kind: TEXT.to_owned(), name: None, bytes }])
            }
        };
        header("Subject", &subject(&pieces));
        header("MIME-Version", "1.0");
        let boundary = format!("=_{id}");
        header("Content-Type", &format!("multipart/mixed; boundary=\"{boundary}\""));
        out.push('\n');
        for piece in &pieces {
            let _ = write!(out, "--{boundary}\nContent-Type: {}\n", piece.kind);
            if let Some(name) = &piece.name {
                let _ = writeln!(
                    out,
                    "Content-Disposition: attachment; filename*=UTF-8''{}",
                    percent(name)
                );
            }
            out.push_str("Content-Transfer-Encoding: base64\n\n");
            let encoded = b64::encode_standard(&piece.bytes);
            for line in encoded.as_bytes().chunks(76) {
                out.push_str(str::from_utf8(line).unwrap_or_default());
                out.push('\n');
            }
        }
        let _ = write!(out, "--{boundary}--\n\n");
        Ok(out)
    }
}

fn pieces(mail: &HeldMail) -> Result<Vec<Piece>, Fault> {
    let mut pieces = Vec::new();
    for (content, part) in mail.message.iter().flat_map(|message| message.parts()) {
        let (default, bytes) = match content {
            Content::Text(text) => (TEXT, text.as_bytes().to_vec()),
            Content::Raw(raw) => (BYTES, b64::decode_standard(raw).map_err(Fault::from)?),
            Content::Url(url) => ("text/uri-list", url.as_bytes().to_vec()),
            Content::Data(data) => ("application/json", data.to_string().into_bytes()),
        };
        let is_raw = matches!(content, Content::Raw(_));
        let kind = if is_raw { media_type(part).unwrap_or(default) } else { default };
        let name = text_of(part, "filename").map(ToOwned::to_owned);
        pieces.push(Piece { kind: kind.to_owned(), name, bytes });
    }
    if pieces.is_empty() {
        pieces.push(Piece { kind: TEXT.to_owned(), name: None, bytes: Vec::new() });
    }
    Ok(pieces)
}

fn text_of<'p>(part: &'p Map<String, Value>, name: &str) -> Option<&'p str> {
    part.get(name).and_then(Value::as_str)
}

/// The media type that its author gave, when it is one: it becomes a header.
fn media_type(part: &Map<String, Value>) -> Option<&str> {
    let kind = text_of(part, "mediaType")?;
    let (group, name) = kind.split_once('/')?;
    let is_token = |text: &str| {
        !text.is_empty()
            && text.len() <= 64
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&b))
    };
    (is_token(group) && is_token(name) && group != "multipart" && group != "message")
        .then_some(kind)
}

/// An address of ours as a mailbox: of a domain that nobody has.
fn mailbox(address: &str) -> String {
    format!("{} <{}@messaging.invalid>", word(address), percent(address).replace('%', "="))
}

/// A short text in a header.
fn word(text: &str) -> String {
    let mut cut = text;
    while cut.len() > 45 {
        cut = cut.char_indices().next_back().and_then(|(at, _)| cut.get(..at)).unwrap_or_default();
    }
    format!("=?utf-8?B?{}?=", b64::encode_standard(cut.as_bytes()))
}

fn subject(pieces: &[Piece]) -> String {
    let text = pieces.first().filter(|piece| piece.kind == TEXT);
    let text = text.and_then(|piece| str::from_utf8(&piece.bytes).ok()).unwrap_or_default();
    word(text.lines().next().unwrap_or_default())
}

fn percent(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b".-_".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

fn date(at: Ms, format: &str) -> String {
    match jiff::Timestamp::from_millisecond(at.as_i64()) {
        Ok(time) => time.strftime(format).to_string(),
        Err(_) => "Thu, 01 Jan 1970 00:00:00 +0000".to_owned(),
    }
}

const TEXT: &str = "text/plain; charset=utf-8";
const BYTES: &str = "application/octet-stream";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn held(parts: Value) -> Held {
        let id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
        let held = json!({"type": "mail", "id": id, "at": 1_800_000_000_000_u64, "direction": "in", "session": "cli",
            "peer": {"person": "bob", "device": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "label": "desk",
                "agent": "api", "address": "bob/api@desk"},
            "messageId": id, "contextId": "x\nEvil: yes", "stage": "read", "sentAt": 1_800_000_000_000_u64,
            "message": {"parts": parts}});
        serde_json::from_value(held).unwrap()
    }

    #[test]
    fn every_part_comes_back_to_the_byte_and_nothing_becomes_a_header() {
        let text = "From me\nFrom: evil\n\n--=_01ARZ3NDEKTSV4RRFFQ69G5FAV\nX: y\r\n\u{0}🌱";
        let parts = json!([{"text": text}, {"raw": "AAEC/w==", "filename": "a\nEvil: yes", "mediaType": "a/b\nEvil: yes"},
            {"raw": "AAEC", "mediaType": "image/png"}]);
        let written = Writer::new("alice@laptop".to_owned()).message(&held(parts)).unwrap();
        assert!(!written.contains("\nEvil"), "{written}");
        assert!(
            written.starts_with("From messaging@localhost Fri Jan 15 08:00:00 2027\n"),
            "{written}"
        );
        assert_eq!(written.matches("\nFrom ").count(), 0);
        let bodies: Vec<Vec<u8>> = written
            .split("Content-Transfer-Encoding: base64\n\n")
            .skip(1)
            .map(|part| {
                let encoded: String =
                    part.lines().take_while(|line| !line.starts_with("--")).collect();
                b64::decode_standard(&encoded).unwrap()
            })
            .collect();
        assert_eq!(bodies, [text.as_bytes(), &[0, 1, 2, 255], &[0, 1, 2]]);
        assert!(written.contains("Content-Type: application/octet-stream\nContent-Disposition"));
        assert!(written.contains("Content-Type: image/png\n"));
        assert!(written.lines().all(|line| line.len() <= 200 && line.is_ascii()));
    }
}
