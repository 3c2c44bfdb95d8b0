//! A page to look at: every text of somebody else's is escaped, hidden characters are shown, and the page may load and run
//! nothing.

use messaging_core::peer_text::terminal_safe;
use messaging_ipc::results::archive::{Held, HeldMail};
use messaging_ipc::shapes::{A2aObject, ChatLine, Content, Direction};
use serde_json::Value;

use super::at;
use crate::render::stamp;

/// What stands before the first message.
pub(super) const HEAD: &str = "<!DOCTYPE html>
<html lang=\"en\"><head><meta charset=\"utf-8\">
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">
<meta name=\"viewport\" content=\"width=device-width\"><title>Messages</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 48em; margin: 2em auto; padding: 0 1em; }
article { border-top: 1px solid #8884; padding: .6em 0; }
header { color: #777; font-size: .85em; }
pre { font: inherit; white-space: pre-wrap; overflow-wrap: anywhere; margin: .3em 0; }
.out pre { border-left: 3px solid #58a; padding-left: .6em; }
.in pre { border-left: 3px solid #5a8; padding-left: .6em; }
</style></head><body><h1>Messages</h1>
";

/// What stands after the last.
pub(super) const FOOT: &str = "</body></html>\n";

/// One message.
pub(super) fn entry(entry: &Held) -> String {
    let time = stamp(at(entry));
    match entry {
        Held::Mail(mail) => self::mail(mail, &time),
        Held::Line(line) => self::line(line, &time),
    }
}

fn mail(mail: &HeldMail, time: &str) -> String {
    let peer = match &mail.peer.address {
        Some(address) => address.to_string(),
        None => mail.peer.person.to_string(),
    };
    let (class, from, to) = match mail.direction {
        Direction::In => ("in", peer.as_str(), mail.session.as_str()),
        Direction::Out => ("out", mail.session.as_str(), peer.as_str()),
    };
    let code = mail.code.map(|code| format!(", {code}")).unwrap_or_default();
    let mut text = format!(
        "<article class=\"{class}\" id=\"{class}-{}\"><header><time>{time}</time> {} → {} · {}{code}</header>",
        mail.id,
        escape(from),
        escape(to),
        mail.stage.as_str(),
    );
    match &mail.message {
        Some(message) => text += &body(message),
        None => text += "<p>No copy of its text was kept.</p>",
    }
    text + "</article>\n"
}

fn line(line: &ChatLine, time: &str) -> String {
    let class = match line.direction {
        Direction::In => "in",
        Direction::Out => "out",
    };
    let agent = line.agent.as_ref().map(|agent| format!("/{agent}")).unwrap_or_default();
    format!(
        "<article class=\"{class}\"><header><time>{time}</time> {}{} · {}</header><pre>{}</pre></article>\n",
        escape(line.person.as_str()),
        escape(&agent),
        escape(&line.conversation.to_string()),
        escape(line.text.as_untrusted()),
    )
}

fn body(message: &A2aObject) -> String {
    let mut text = String::new();
    for (content, part) in message.parts() {
        let word = |name: &str| part.get(name).and_then(Value::as_str).unwrap_or_default();
        text += &match content {
            Content::Text(said) => format!("<pre>{}</pre>", escape(said)),
            Content::Raw(raw) => format!(
                "<p>{} {} ({} characters of base64 in messages.jsonl)</p>",
                escape(word("filename")),
                escape(word("mediaType")),
                raw.len(),
            ),
            Content::Url(url) => format!("<p>{}</p>", escape(url)),
            Content::Data(data) => format!("<pre>{}</pre>", escape(&data.to_string())),
        };
    }
    text
}

/// Text of others as a page may show it: nothing in it is a tag, an entity or the end of an attribute.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in terminal_safe(text).chars() {
        match letter {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            '`' => out += "&#96;",
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_anybodys_text_becomes_a_tag() {
        let hostile = "</pre><script>alert(1)</script><img src=x onerror=\"a\">&lt;'`\u{202e}\u{1b}]8;;x\u{7}";
        let safe = escape(hostile);
        for sign in ['<', '>', '"', '\'', '`', '\u{202e}', '\u{1b}', '\u{7}'] {
            assert!(!safe.contains(sign), "{safe}");
        }
        assert!(
            safe.contains("&lt;script&gt;")
                && safe.contains("&amp;lt;")
                && safe.contains("[U+202E]")
        );
        assert!(HEAD.contains("default-src 'none'"));
    }
}
