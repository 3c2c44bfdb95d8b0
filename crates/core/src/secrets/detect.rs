//! The detectors: one function a format, each tried where its prefix may begin.
//! Spec: D3.25
//!
//! The text is walked once. Each byte that begins a prefix tries the detectors of that prefix, and a detector reads
//! forward from there without ever turning back. Where a format ends with a run of characters, no other prefix of that
//! format can begin inside the run, so no byte is read more than a few times whatever the text is made of.

use super::kinds::Kind;
use super::text::{
    after, after_any_case, after_break, after_breaks, is_alphanumeric, is_base64, is_blank,
    is_capital, is_hyphenated, is_identifier, is_lower, is_word, mix, run, run_of, run_of_at_least,
    skip_blanks, skip_quote, without,
};

/// The earliest kind of which `text` holds a credential.
pub(super) fn find(text: &[u8]) -> Option<Kind> {
    let mut found: Option<Kind> = None;
    let (mut before, mut rest) = (None, text);
    while let Some((byte, more)) = rest.split_first() {
        for detector in starting_with(*byte) {
            if found.is_some_and(|kind| kind <= detector.kind) {
                break;
            }
            if detector.fits(before, rest) {
                found = Some(detector.kind);
            }
        }
        (before, rest) = (Some(*byte), more);
    }
    found
}

/// Whether `text` holds a credential of this very kind.
#[cfg(test)]
pub(super) fn holds(kind: Kind, text: &[u8]) -> bool {
    (0..text.len()).any(|at| {
        let before = at.checked_sub(1).map(|at| text[at]);
        let mut detectors = starting_with(text[at]).iter();
        detectors.any(|detector| detector.kind == kind && detector.fits(before, &text[at..]))
    })
}

struct Detector {
    kind: Kind,
    /// The bytes that must not stand right before the prefix.
    glued: fn(u8) -> bool,
    /// The tail of the credential that begins here.
    tail: fn(&[u8]) -> Option<&[u8]>,
    /// How many of digits, lower and upper case the tail must have.
    mix: u8,
}

impl Detector {
    fn fits(&self, before: Option<u8>, text: &[u8]) -> bool {
        !before.is_some_and(self.glued)
            && (self.tail)(text).is_some_and(|tail| mix(tail) >= self.mix)
    }
}

/// The detectors whose prefix begins with this byte, in the order of their kinds.
fn starting_with(byte: u8) -> &'static [Detector] {
    match byte {
        b'-' => &[PRIVATE_KEY],
        b's' => &[ANTHROPIC_KEY, OPENAI_KEY, AWS_SECRET_KEY, STRIPE_KEY],
        b'S' => &[AWS_SECRET_KEY],
        b'a' => &[AWS_SECRET_KEY, BEARER_TOKEN],
        b'A' => &[AWS_KEY_ID, AWS_SECRET_KEY, GOOGLE_KEY, BEARER_TOKEN],
        b'g' => &[GITHUB_TOKEN],
        b'x' => &[SLACK_TOKEN],
        b'h' => &[SLACK_WEBHOOK],
        b'r' => &[STRIPE_KEY],
        b'n' => &[NPM_TOKEN],
        b'e' => &[JWT],
        b'm' => &[INVITE_TICKET],
        _ => &[],
    }
}

const PRIVATE_KEY: Detector =
    Detector { kind: Kind::PrivateKey, glued: nothing, tail: private_key, mix: 0 };
const ANTHROPIC_KEY: Detector =
    Detector { kind: Kind::AnthropicKey, glued: is_word, tail: anthropic_key, mix: 3 };
const OPENAI_KEY: Detector =
    Detector { kind: Kind::OpenaiKey, glued: is_word, tail: openai_key, mix: 3 };
const GITHUB_TOKEN: Detector =
    Detector { kind: Kind::GithubToken, glued: is_word, tail: github_token, mix: 3 };
const AWS_KEY_ID: Detector =
    Detector { kind: Kind::AwsKeyId, glued: is_alphanumeric, tail: aws_key_id, mix: 2 };
const AWS_SECRET_KEY: Detector =
    Detector { kind: Kind::AwsSecretKey, glued: nothing, tail: aws_secret_key, mix: 3 };
const GOOGLE_KEY: Detector =
    Detector { kind: Kind::GoogleKey, glued: is_word, tail: google_key, mix: 3 };
const SLACK_TOKEN: Detector =
    Detector { kind: Kind::SlackToken, glued: is_word, tail: slack_token, mix: 2 };
const SLACK_WEBHOOK: Detector =
    Detector { kind: Kind::SlackWebhook, glued: nothing, tail: slack_webhook, mix: 2 };
const STRIPE_KEY: Detector =
    Detector { kind: Kind::StripeKey, glued: is_word, tail: stripe_key, mix: 2 };
const NPM_TOKEN: Detector =
    Detector { kind: Kind::NpmToken, glued: is_word, tail: npm_token, mix: 3 };
const JWT: Detector = Detector { kind: Kind::Jwt, glued: is_word, tail: jwt, mix: 2 };
const BEARER_TOKEN: Detector =
    Detector { kind: Kind::BearerToken, glued: nothing, tail: bearer_token, mix: 2 };
const INVITE_TICKET: Detector =
    Detector { kind: Kind::InviteTicket, glued: is_dotted, tail: invite_ticket, mix: 0 };

fn nothing(_: u8) -> bool {
    false
}

fn is_dotted(byte: u8) -> bool {
    is_word(byte) || byte == b'.'
}

/// A PEM header, up to eight lines of `Name: value`, then forty characters of key material over any number of lines.
fn private_key(text: &[u8]) -> Option<&[u8]> {
    let mut rest = after_breaks(skip_blanks(after_pem_header(text)?))?;
    for _ in 0..8 {
        match after_pem_field(rest) {
            Some(more) => rest = more,
            None => break,
        }
    }
    let material = rest;
    for _ in 0..40 {
        let (byte, more) = rest.split_first()?;
        if !is_base64(*byte) && *byte != b'=' {
            return None;
        }
        rest = after_break(more).map_or(more, skip_blanks);
    }
    Some(material)
}

fn after_pem_header(text: &[u8]) -> Option<&[u8]> {
    let mut rest = after(text, "-----BEGIN ")?;
    for _ in 0..=4 {
        let end = after(rest, "PRIVATE KEY").map(|rest| without(rest, " BLOCK"));
        if let Some(rest) = end.and_then(|rest| after(rest, "-----")) {
            return Some(rest);
        }
        let (word, more) = run(rest, is_capital);
        if word.is_empty() || word.len() > 16 {
            return None;
        }
        rest = after(more, " ")?;
    }
    None
}

fn after_pem_field(text: &[u8]) -> Option<&[u8]> {
    let (name, rest) = run(text, |byte| byte.is_ascii_alphabetic() || byte == b'-');
    if name.is_empty() || name.len() > 30 {
        return None;
    }
    let (value, rest) = run(after(rest, ": ")?, |byte| !matches!(byte, b'\r' | b'\n' | b'\\'));
    if value.len() > 200 {
        return None;
    }
    after_breaks(rest)
}

fn anthropic_key(text: &[u8]) -> Option<&[u8]> {
    let rest = after(text, "sk-ant-")?;
    let versioned = || -> Option<&[u8]> {
        let (letters, rest) = run(rest, is_lower);
        let (digits, rest) = run(rest, |byte| byte.is_ascii_digit());
        if !(2..=8).contains(&letters.len()) || digits.len() != 2 {
            return None;
        }
        run_of_at_least(after(rest, "-")?, is_word, 24)
    };
    versioned().or_else(|| run_of_at_least(rest, is_word, 24))
}

fn openai_key(text: &[u8]) -> Option<&[u8]> {
    let rest = after(text, "sk-")?;
    let bare = run_of_at_least(rest, is_alphanumeric, 32);
    bare.or_else(|| {
        let named = ["proj-", "svcacct-", "admin-"].iter().find_map(|name| after(rest, name))?;
        run_of_at_least(named, is_word, 40)
    })
}

fn github_token(text: &[u8]) -> Option<&[u8]> {
    if let Some(rest) = after(text, "github_pat_") {
        return run_of_at_least(rest, is_identifier, 36);
    }
    let (letter, rest) = after(text, "gh")?.split_first()?;
    if !matches!(letter, b'p' | b'o' | b'u' | b's' | b'r') {
        return None;
    }
    run_of_at_least(after(rest, "_")?, is_alphanumeric, 36)
}

fn aws_key_id(text: &[u8]) -> Option<&[u8]> {
    let rest = after(text, "AKIA").or_else(|| after(text, "ASIA"))?;
    run_of(rest, is_capital, 16, is_alphanumeric).filter(|tail| !tail.ends_with(b"EXAMPLE"))
}

/// An assignment to a name like `aws_secret_access_key`.
fn aws_secret_key(text: &[u8]) -> Option<&[u8]> {
    let name = |text, part| Some(without(after_any_case(text, part)?, "_"));
    let rest = match name(text, "aws") {
        Some(rest) => {
            let rest = name(rest, "secret")?;
            name(rest, "access").unwrap_or(rest)
        }
        None => name(name(text, "secret")?, "access")?,
    };
    let rest = skip_blanks(skip_quote(after_any_case(rest, "key")?));
    let rest = ["=>", ":=", ":", "="].iter().find_map(|sign| after(rest, sign))?;
    let tail = run_of(skip_quote(skip_blanks(rest)), is_base64, 40, |byte| byte == b'=')?;
    (!tail.ends_with(b"EXAMPLEKEY")).then_some(tail)
}

fn google_key(text: &[u8]) -> Option<&[u8]> {
    run_of(after(text, "AIza")?, is_word, 35, nothing)
}

fn slack_token(text: &[u8]) -> Option<&[u8]> {
    if let Some(rest) = after(text, "xapp-") {
        return run_of_at_least(rest, is_hyphenated, 20);
    }
    let (letter, rest) = after(text, "xox")?.split_first()?;
    run_of_at_least(after(rest, "-").filter(|_| is_lower(*letter))?, is_hyphenated, 20)
}

fn slack_webhook(text: &[u8]) -> Option<&[u8]> {
    let rest = after(text, "https://hooks.slack.com/")?;
    let mut rest =
        ["services/", "workflows/", "triggers/"].iter().find_map(|path| after(rest, path))?;
    for _ in 0..2 {
        let (id, more) = run(rest, is_capital);
        rest = after(more, "/").filter(|_| id.len() >= 6)?;
    }
    run_of_at_least(rest, is_alphanumeric, 16)
}

fn stripe_key(text: &[u8]) -> Option<&[u8]> {
    let rest = after(text, "sk_live_").or_else(|| after(text, "rk_live_"))?;
    run_of_at_least(rest, is_alphanumeric, 20)
}

fn npm_token(text: &[u8]) -> Option<&[u8]> {
    run_of(after(text, "npm_")?, is_alphanumeric, 36, |byte| byte == b'_')
}

/// Three segments, the last one a signature.
fn jwt(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text;
    for _ in 0..2 {
        let (segment, more) = run(after(rest, "eyJ")?, is_word);
        rest = after(more, ".").filter(|_| segment.len() >= 8)?;
    }
    run_of_at_least(rest, is_word, 32)
}

/// The value of an `Authorization` header, or an assignment to that name.
fn bearer_token(text: &[u8]) -> Option<&[u8]> {
    let rest = skip_blanks(skip_quote(after_any_case(text, "authorization")?));
    let rest = after(rest, ":").or_else(|| after(rest, "="))?;
    let rest = after_any_case(skip_quote(skip_blanks(rest)), "bearer")?;
    let (blanks, rest) = run(rest, is_blank);
    let tail = |byte: u8| is_word(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=');
    if blanks.is_empty() { None } else { run_of_at_least(rest, tail, 20) }
}

fn invite_ticket(text: &[u8]) -> Option<&[u8]> {
    let rest = after(text, "messaging1.")?;
    run_of_at_least(after(rest, "eyJ")?, is_word, 40)
}
