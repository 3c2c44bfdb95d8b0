//! A supervising host: grants for calls, grants of its own scope, session tickets, key files.

use ed25519_dalek::Signer as _;
use messaging_core::code::Code::{
    self, GrantInvalid, GrantRequired, InvalidRequest, TicketInvalid, TicketRequired,
};
use messaging_core::host_grant::params_digest;
use messaging_core::keys::SigningKey;
use serde_json::{Value, json};

use super::book::{Book, WriteError, Writing, made, text};

const NOW: u64 = 1_790_000_000;
const AUDIENCE: &str = "@joe-broadhead/opencode-messaging#service";

/// The host's key.
struct Host(SigningKey);

impl Host {
    fn sign(&self, header: &Value, claims: &Value) -> String {
        let segment = |value: &Value| text(value.to_string().as_bytes());
        let signed = format!("{}.{}", segment(header), segment(claims));
        let key = ed25519_dalek::SigningKey::from_bytes(&self.0.seed());
        format!("{signed}.{}", text(&key.sign(signed.as_bytes()).to_bytes()))
    }

    fn grant(&self, claims: &Value) -> String {
        self.sign(&json!({"alg": "EdDSA", "typ": "jelly-act+jwt", "kid": "h"}), claims)
    }

    fn ticket(&self, claims: &Value) -> String {
        self.sign(&json!({"alg": "EdDSA", "typ": "jelly-session+jwt", "kid": "h"}), claims)
    }
}

pub(super) fn book() -> Result<Book, WriteError> {
    let mut book = Book::new(
        "What a supervising host signs: grants for one call, grants of host scope, session \
         tickets, and the key they are signed with (section 8.11).",
    );
    let host = Host(book.party("host", 31).signing);
    key_files(&mut book, &host)?;
    classes(&mut book)?;
    method_grants(&mut book, &host)?;
    host_scope(&mut book, &host)?;
    tickets(&mut book, &host)?;
    Ok(book)
}

fn key_files(book: &mut Book, host: &Host) -> Writing {
    let file = json!({"kty": "OKP", "crv": "Ed25519", "x": host.0.machine(), "kid": "h"});
    book.gives("a key file", "action_key", json!({"text": file.to_string()}), file.clone())?;
    for (name, member, value) in [
        ("a private half", "d", json!(host.0.machine())),
        ("another curve", "crv", json!("X25519")),
        ("half a key", "x", json!("AAAA")),
        ("a null name", "kid", json!(null)),
    ] {
        let mut bad = file.clone();
        bad[member] = value;
        let name = format!("a key file with {name}");
        book.refuses(name, "action_key", json!({"text": bad.to_string()}), InvalidRequest)?;
    }
    Ok(())
}

fn classes(book: &mut Book) -> Writing {
    for (method, class) in [
        ("person.send", "chat"),
        ("conv.list", "view"),
        ("team.add", "local"),
        ("identity.replace.preview", "local"),
        ("no.such.method", "local"),
    ] {
        let input = json!({"method": method});
        book.gives(format!("the class of {method}"), "action_class", input, json!(class))?;
    }
    let params = json!({"b": [1.0, "é"], "a": {}});
    book.pins("the digest of params", "params_digest", json!({"params": params}))?;
    book.pins("the digest of no params", "params_digest", json!({}))
}

fn ask(host: &Host, calls: &Value) -> Value {
    json!({"key": host.0.machine(), "kid": "h", "calls": calls})
}

const VERIFY: &str = "action_grant_verify";

fn method_grants(book: &mut Book, host: &Host) -> Writing {
    let params = json!({"conversation": "dm:ada", "text": "hi"});
    let digest = made("a digest", params_digest(Some(&params)))?;
    let claims = json!({"aud": AUDIENCE, "act": "person.send", "cls": "chat", "in": digest,
        "iat": NOW, "exp": NOW + 60, "jti": "1", "dev": "d", "later": [1]});
    let call = |grant: &str, method: &str, params: &Value, at: u64| json!({"method": method, "params": params, "grant": grant, "now": at * 1_000});
    let grant = host.grant(&claims);
    let good = call(&grant, "person.send", &params, NOW);
    book.pins("one call", VERIFY, ask(host, &json!([good])))?;
    book.refuses("the same call again", VERIFY, ask(host, &json!([good, good])), GrantInvalid)?;
    let bare = json!({"method": "person.send", "params": params, "now": NOW * 1_000});
    book.refuses("a call without a grant", VERIFY, ask(host, &json!([bare])), GrantRequired)?;
    for (name, call) in [
        ("another method", call(&grant, "channel.leave", &params, NOW)),
        ("other params", call(&grant, "person.send", &json!({"conversation": "dm:ada"}), NOW)),
        ("late by six seconds", call(&grant, "person.send", &params, NOW + 66)),
        ("early by six seconds", call(&grant, "person.send", &params, NOW - 6)),
    ] {
        let name = format!("a grant for {name}");
        book.refuses(name, VERIFY, ask(host, &json!([call])), GrantInvalid)?;
    }
    for (member, value) in [
        ("aud", json!("somebody")),
        ("cls", json!("local")),
        ("cls", json!(null)),
        ("exp", json!(NOW + 61)),
        ("exp", json!(NOW)),
        ("iat", json!("now")),
        ("jti", json!("")),
        ("jti", json!("x".repeat(129))),
        ("in", json!("AAAA")),
    ] {
        let mut spoilt = claims.clone();
        spoilt[member] = value.clone();
        let call = call(&host.grant(&spoilt), "person.send", &params, NOW);
        let name = format!("a grant with {member} {value:.12}");
        book.refuses(name, VERIFY, ask(host, &json!([call])), GrantInvalid)?;
    }
    for header in [
        json!({"alg": "EdDSA", "typ": "jelly-session+jwt", "kid": "h"}),
        json!({"alg": "EdDSA", "typ": "jelly-act+jwt", "kid": "other"}),
        json!({"alg": "EdDSA", "typ": "jelly-act+jwt"}),
        json!({"alg": "none", "typ": "jelly-act+jwt", "kid": "h"}),
    ] {
        let call = call(&host.sign(&header, &claims), "person.send", &params, NOW);
        let name = format!("a grant under {header}");
        book.refuses(name, VERIFY, ask(host, &json!([call])), GrantInvalid)?;
    }
    Ok(())
}

fn host_scope(book: &mut Book, host: &Host) -> Writing {
    let claims = json!({"aud": AUDIENCE, "act": "host", "iat": NOW, "exp": NOW + 600, "jti": "2"});
    let grant = host.grant(&claims);
    let call = |method: &str, at: u64, on: &str| json!({"method": method, "grant": grant, "now": at * 1_000, "connection": on});
    for (name, calls, code) in [
        ("lists", json!([call("conv.list", NOW, "a")]), None),
        ("twice", json!([call("conv.list", NOW, "a"), call("daemon.stop", NOW + 500, "a")]), None),
        (
            "elsewhere",
            json!([call("conv.list", NOW, "a"), call("conv.list", NOW, "b")]),
            Some(GrantInvalid),
        ),
        ("reads", json!([call("conv.read", NOW, "a")]), Some(GrantInvalid)),
        ("too late", json!([call("conv.list", NOW + 606, "a")]), Some(GrantInvalid)),
    ] {
        refused_or(book, format!("the host's own scope: {name}"), VERIFY, ask(host, &calls), code)?;
    }
    Ok(())
}

fn tickets(book: &mut Book, host: &Host) -> Writing {
    let claims = json!({"aud": AUDIENCE, "agt": "agt_1", "name": "builder", "iat": NOW,
        "exp": NOW + 604_800});
    let asked = |ticket: Option<&str>, name: Option<&str>, at: u64| {
        let mut ask = json!({"key": host.0.machine(), "kid": "h", "now": at * 1_000});
        if let Some(ticket) = ticket {
            ask["ticket"] = json!(ticket);
        }
        if let Some(name) = name {
            ask["name"] = json!(name);
        }
        ask
    };
    let kind = "session_ticket_verify";
    let ticket = host.ticket(&claims);
    for (name, ask, code) in [
        ("good", asked(Some(&ticket), None, NOW), None),
        ("by its name", asked(Some(&ticket), Some("builder"), NOW), None),
        ("by another name", asked(Some(&ticket), Some("tester"), NOW), Some(TicketInvalid)),
        ("over", asked(Some(&ticket), None, NOW + 604_806), Some(TicketInvalid)),
        ("of tomorrow", asked(Some(&ticket), None, NOW - 6), Some(TicketInvalid)),
        ("none", asked(None, None, NOW), Some(TicketRequired)),
    ] {
        refused_or(book, format!("a ticket: {name}"), kind, ask, code)?;
    }
    for (member, value) in [
        ("agt", json!("agt_")),
        ("agt", json!("1")),
        ("name", json!("A")),
        ("exp", json!(NOW + 604_801)),
    ] {
        let mut spoilt = claims.clone();
        spoilt[member] = value.clone();
        let ask = asked(Some(&host.ticket(&spoilt)), None, NOW);
        book.refuses(format!("a ticket with {member} {value}"), kind, ask, TicketInvalid)?;
    }
    Ok(())
}

fn refused_or(
    book: &mut Book,
    name: String,
    kind: &str,
    ask: Value,
    code: Option<Code>,
) -> Writing {
    match code {
        None => book.pins(name, kind, ask),
        Some(code) => book.refuses(name, kind, ask, code),
    }
}
