//! Ids, realms, handles and organisations.

use messaging_core::code::Code::InvalidRequest;
use messaging_core::directory::testing::ISSUER;
use serde_json::json;

use super::super::book::{Book, Writing};

pub(super) fn write(book: &mut Book) -> Writing {
    for sub in ["acc_alice", "acc_Alice", "acc_a.b_c:d-e", &format!("acc_{}", "a".repeat(123))] {
        let name = format!("person id of an account of {} characters, {}", sub.len(), &sub[..9]);
        book.pins(name, "person_id", json!({"iss": ISSUER, "sub": sub}))?;
    }
    for sub in ["", "acc_", "alice", "acc_a b", "acc_é", &format!("acc_{}", "a".repeat(124))] {
        let name = format!("no account id: {} characters, {sub:.9}", sub.len());
        book.refuses(name, "person_id", json!({"iss": ISSUER, "sub": sub}), InvalidRequest)?;
    }
    let key = book.party("directory", 1).machine().to_owned();
    let realm = |url: &str| json!({"url": url, "issuer": ISSUER, "key": key});
    for url in ["wss://relay.example/a", "wss://RELAY.example:443/b", "ws://[::1]:8080/"] {
        book.pins(format!("realm of {url}"), "realm_id", realm(url))?;
    }
    book.refuses(
        "a realm is not of a plain URL",
        "realm_id",
        realm("https://relay.example"),
        InvalidRequest,
    )?;
    for (email, handle) in [
        ("Ada.Lovelace@example.org", "ada-lovelace"),
        ("--ada--@example.org", "ada"),
        ("7@example.org", "u-7"),
        ("ß@example.org", "u"),
        ("a+b+c@example.org", "a-b-c"),
    ] {
        let name = format!("handle of {email}");
        book.gives(name, "hosted_handle", json!({"email": email}), json!(handle))?;
    }
    for (email, org) in [
        ("ada@Example.ORG", json!("domain:example.org")),
        ("ada@a.example.org", json!(null)),
        ("ada@org", json!(null)),
    ] {
        let input = json!({"email": email, "orgDomains": ["example.org", "other.example"]});
        book.gives(format!("organisation of {email}"), "email_org", input, org)?;
    }
    Ok(())
}
