//! Tokens: good ones, and every claim that spoils one.

use messaging_core::code::Code::BindingInvalid;
use messaging_core::directory::testing::{ISSUER, RESOURCE, Realm, device, host_claims};
use serde_json::{Value, json};

use super::super::book::{Book, Writing};
use super::archive;

pub(super) fn write(book: &mut Book) -> Writing {
    let realm = Realm::new();
    let (issuer, at) = (&realm.issuer, realm.clock);
    let keys = book.share("issuer's keys", archive(&realm));
    let ask = |token: String| {
        json!({"token": token, "jellyKeys": keys, "issuer": ISSUER, "resource": RESOURCE,
            "device": device(1)})
    };
    let kind = "jelly_token_verify";
    let claims = host_claims("ada", &device(1), at);
    book.pins("a host's token", kind, ask(issuer.sign(&claims)))?;
    book.pins("a sign-in's token", kind, ask(issuer.sign_in_token("ada", &device(1), at, "j")))?;
    for (now, good) in [
        (at, true),
        (at.plus(899_999), true),
        (at.plus(900_000), false),
        (at.minus(60_000), true),
        (at.minus(60_001), false),
    ] {
        let mut live = ask(issuer.sign(&claims));
        live["now"] = json!(now);
        let name = format!("a host's token at {now}");
        if good {
            book.pins(name, kind, live)?;
        } else {
            book.refuses(name, kind, live, BindingInvalid)?;
        }
    }
    let second = claims["iat"].as_u64().unwrap_or_default();
    for (member, value) in [
        ("aud", json!([RESOURCE])),
        ("iss", json!("https://id.example/")),
        ("sub", json!("ada")),
        ("email", json!("ada")),
        ("email_verified", json!(false)),
        ("email_verified", json!("true")),
        ("name", json!("")),
        ("hst", json!("host_1")),
        ("src", json!("device")),
        ("src", json!("browser")),
        ("exp", json!(second)),
        ("exp", json!(second + 901)),
        ("iat", json!(-1)),
        ("iat", json!(0.5)),
        ("jti", json!(1)),
        ("cnf", json!({"jwk": {"kty": "OKP", "crv": "Ed25519", "x": device(2)}})),
        (
            "cnf",
            json!({"jwk": {"kty": "OKP", "crv": "Ed25519", "x": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}),
        ),
        ("cnf", json!({"kid": "k1"})),
        ("cnf", Value::Null),
    ] {
        let mut spoilt = claims.clone();
        spoilt[member] = value.clone();
        let name = format!("a token with {member} {value}");
        book.refuses(name, kind, ask(issuer.sign(&spoilt)), BindingInvalid)?;
    }
    for member in ["aud", "iss", "sub", "iat", "exp", "jti", "hst", "cnf", "email"] {
        let mut spoilt = claims.clone();
        if let Some(claims) = spoilt.as_object_mut() {
            claims.remove(member);
        }
        let name = format!("a token without {member}");
        book.refuses(name, kind, ask(issuer.sign(&spoilt)), BindingInvalid)?;
    }
    for header in [
        json!({"alg": "none", "typ": "jelly-resource+jwt", "kid": "k1"}),
        json!({"alg": "EdDSA", "typ": "JWT", "kid": "k1"}),
        json!({"alg": "EdDSA", "typ": "jelly-resource+jwt", "kid": "k2"}),
        json!({"alg": "EdDSA", "typ": "jelly-resource+jwt", "kid": "k1", "crit": []}),
        json!({"alg": "EdDSA", "typ": "jelly-resource+jwt"}),
    ] {
        let name = format!("a token under the header {header}");
        book.refuses(name, kind, ask(issuer.sign_with(&header, &claims)), BindingInvalid)?;
    }
    for (name, window, good) in [
        ("before its key", json!({"nbf": second + 1}), false),
        ("with its key", json!({"nbf": second}), true),
        ("when its key retired", json!({"nbf": 0, "retired_at": second}), false),
        ("before its key retired", json!({"nbf": 0, "retired_at": second + 1}), true),
        ("when its key was revoked", json!({"nbf": 0, "revoked_at": second}), false),
        ("by a key of no window", json!({}), true),
    ] {
        let mut key = window;
        key["kid"] = json!("k1");
        key["x"] = json!(issuer.public());
        let mut asked = ask(issuer.sign(&claims));
        asked["jellyKeys"] = json!([key]);
        let name = format!("a token issued {name}");
        if good {
            book.pins(name, kind, asked)?;
        } else {
            book.refuses(name, kind, asked, BindingInvalid)?;
        }
    }
    Ok(())
}
