//! Grants and tickets: what admits a call, and that it admits no other.

use alloc::format;
use alloc::string::String;

use ed25519_dalek::Signer as _;

use super::*;
use crate::b64;
use crate::keys::SigningKey;

const NOW: Ms = Ms(1_700_000_000_000);
const S: u64 = 1_700_000_000;

fn key() -> ActionKey {
    ActionKey::new(SigningKey::from_seed(&[1; 32]).machine(), Some("k".into())).unwrap()
}

fn sign_as(typ: &str, claims: &Value) -> String {
    let header = json!({"alg": "EdDSA", "typ": typ, "kid": "k"});
    let segment = |value: &Value| b64::encode(format!("{value}").as_bytes());
    let signed = format!("{}.{}", segment(&header), segment(claims));
    let key = ed25519_dalek::SigningKey::from_bytes(&[1; 32]);
    format!("{signed}.{}", b64::encode(&key.sign(signed.as_bytes()).to_bytes()))
}

fn method_claims(params: &Value) -> Value {
    json!({"aud": AUDIENCE, "act": "person.send", "cls": "chat", "in": params_digest(Some(params)).unwrap(),
        "iat": S, "exp": S + 60, "jti": "j1", "dev": "d", "mbr": "m"})
}

fn host_claims() -> Value {
    json!({"aud": AUDIENCE, "act": "host", "iat": S, "exp": S + 600, "jti": "h1"})
}

fn call<'a>(method: &'a str, class: &'a str, params: &'a Value) -> Call<'a> {
    let in_host_scope = method == "conv.list";
    Call { method, class, in_host_scope, params: Some(params), now: NOW }
}

#[test]
fn a_method_grant_is_for_one_method_and_its_very_parameters() {
    let params = json!({"conversation": "dm:bob", "text": "hi"});
    let grant = sign_as("jelly-act+jwt", &method_claims(&params));
    let good = key().verify_grant(Some(&grant), &call("person.send", "chat", &params)).unwrap();
    assert_eq!((good.scope, good.dev.as_deref()), (GrantScope::Method, Some("d")));
    assert!(!format!("{good:?}").contains("j1"));
    let other = json!({"conversation": "dm:bob", "text": "ho"});
    for call in [
        call("person.send", "chat", &other),
        call("person.write", "chat", &params),
        call("person.send", "local", &params),
    ] {
        let refused = key().verify_grant(Some(&grant), &call).unwrap_err();
        assert_eq!(refused.code, Code::GrantInvalid);
    }
    let none = key().verify_grant(None, &call("person.send", "chat", &params)).unwrap_err();
    assert_eq!(none.code, Code::GrantRequired);
}

#[test]
fn a_host_scope_grant_is_for_the_hosts_methods_only() {
    let (params, grant) = (json!({}), sign_as("jelly-act+jwt", &host_claims()));
    assert!(key().verify_grant(Some(&grant), &call("conv.list", "view", &params)).is_ok());
    assert!(key().verify_grant(Some(&grant), &call("conv.read", "view", &params)).is_err());
    let mut narrowed = host_claims();
    narrowed["cls"] = json!("view");
    let grant = sign_as("jelly-act+jwt", &narrowed);
    assert!(key().verify_grant(Some(&grant), &call("conv.list", "view", &params)).is_err());
}

#[test]
fn lives_are_bounded_and_clocks_may_differ_by_five_seconds() {
    for (iat, exp, most, good) in [
        (S, S + 60, 60, true),
        (S, S + 61, 60, false),
        (S, S, 60, false),
        (S + 5, S + 6, 60, true),
        (S + 6, S + 7, 60, false),
        (S - 10, S - 5, 60, true),
        (S - 10, S - 6, 60, false),
        (S, S - 1, 60, false),
    ] {
        assert_eq!(is_in_time(iat, exp, most, NOW), good, "{iat} {exp}");
    }
}

#[test]
fn a_grant_is_spent_once_and_a_hosts_stays_on_its_connection() {
    let grant =
        |scope, jti: &str| Grant { scope, jti: jti.into(), exp: S + 60, dev: None, mbr: None };
    let mut ledger = GrantLedger::default();
    let (once, host) = (grant(GrantScope::Method, "a"), grant(GrantScope::Host, "b"));
    assert!(ledger.spend(&once, 1, NOW).is_ok());
    assert!(ledger.spend(&once, 1, NOW).is_err());
    assert!(ledger.spend(&host, 1, NOW).is_ok());
    assert!(ledger.spend(&host, 1, NOW).is_ok());
    assert!(ledger.spend(&host, 2, NOW).is_err());
    let mut restarted = GrantLedger::of([(host.jti.clone(), host.exp)]);
    assert!(restarted.spend(&host, 1, NOW).is_err(), "bound to a connection of another run");
    assert!(ledger.spend(&once, 1, NOW.plus(65_999)).is_err());
    assert!(ledger.spend(&once, 1, NOW.plus(66_000)).is_ok(), "forgotten, but over by then");
}

#[test]
fn a_ticket_names_an_agents_session() {
    let claims =
        json!({"aud": AUDIENCE, "agt": "agt_1", "name": "builder", "iat": S, "exp": S + 604_800});
    let ticket = sign_as("jelly-session+jwt", &claims);
    let read = key().verify_ticket(Some(&ticket), None, NOW).unwrap();
    assert_eq!((read.agt.as_str(), read.name.as_str()), ("agt_1", "builder"));
    assert!(key().verify_ticket(Some(&ticket), Some("builder"), NOW).is_ok());
    assert!(key().verify_ticket(Some(&ticket), Some("other"), NOW).is_err());
    assert_eq!(key().verify_ticket(None, None, NOW).unwrap_err().code, Code::TicketRequired);
    let grant = sign_as("jelly-act+jwt", &claims);
    assert!(key().verify_ticket(Some(&grant), None, NOW).is_err(), "another kind of token");
    let other = ActionKey::new(SigningKey::from_seed(&[2; 32]).machine(), None).unwrap();
    assert!(other.verify_ticket(Some(&ticket), None, NOW).is_err());
}

#[test]
fn a_key_file_is_a_public_key_and_nothing_else() {
    let x = *SigningKey::from_seed(&[1; 32]).machine();
    let file = json!({"kty": "OKP", "crv": "Ed25519", "x": x, "kid": "k", "use": "sig"});
    assert_eq!(ActionKey::read(format!("{file}").as_bytes()), Ok(key()));
    for (member, value) in [
        ("d", json!(x)),
        ("crv", json!("X25519")),
        ("x", json!(MachineId::from_bytes(&[0; 32]))),
        ("kid", Value::Null),
    ] {
        let mut bad = file.clone();
        bad[member] = value;
        assert!(ActionKey::read(format!("{bad}").as_bytes()).is_err(), "{member}");
    }
    assert!(ActionKey::read(format!("{file}{}", " ".repeat(4_096)).as_bytes()).is_err());
}
