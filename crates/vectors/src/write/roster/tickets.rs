//! Tickets as text.

use messaging_core::code::Code::InvalidRequest;
use messaging_core::ids::Secret32Text;
use messaging_core::ticket::TextForm as _;
use serde_json::{Value, json};

use super::super::book::{Book, Writing, made, text};
use super::{Story, drop_member};

pub(super) fn write(book: &mut Book, story: &Story) -> Writing {
    let mut ticket = story.ticket.clone();
    ticket.secret = Secret32Text::from_bytes(&[0x77; 32]);
    let ticket = json!(ticket);
    encoding(book, &ticket)?;
    decoding(book, &ticket)?;
    refusals(book, &ticket)
}

fn encoding(book: &mut Book, ticket: &Value) -> Writing {
    book.pins("a ticket as text", "ticket_encode", json!({"ticket": ticket}))?;
    let mut unnamed = ticket.clone();
    drop_member(&mut unnamed, "name");
    book.pins("a ticket without a name as text", "ticket_encode", json!({"ticket": unnamed}))?;
    for relay in ["ws://relay.example/v1/connect", "https://relay.example/", "relay.example", ""] {
        let mut ticket = ticket.clone();
        ticket["relay"] = json!(relay);
        let name = format!("no ticket as text: relay {relay:?}");
        book.refuses(name, "ticket_encode", json!({"ticket": ticket}), InvalidRequest)?;
    }
    Ok(())
}

/// The text of any value, as a ticket's.
fn text_of(value: &Value) -> String {
    format!("messaging1.{}", text(value.to_string().as_bytes()))
}

fn decoding(book: &mut Book, ticket: &Value) -> Writing {
    let typed: messaging_core::ticket::InviteTicket =
        made("ticket", serde_json::from_value(ticket.clone()))?;
    let canonical = made("ticket", typed.encode())?;
    let mut gives = |name: &str, text: String, value: &Value| {
        book.gives(format!("ticket: {name}"), "ticket_decode", json!({"text": text}), value.clone())
    };
    gives("its text", canonical.clone(), ticket)?;
    gives("white space around it", format!("\t \r\n{canonical}\n\n"), ticket)?;
    let pretty = made("ticket", serde_json::to_string_pretty(ticket))?;
    gives("JSON that is not canonical", format!("messaging1.{}", text(pretty.as_bytes())), ticket)?;
    let mut later = ticket.clone();
    later["later"] = json!({"x": [1]});
    gives("a member of a later version", text_of(&later), &later)?;
    for relay in [
        "ws://localhost/v1/connect",
        "ws://127.0.0.1:7777/v1/connect",
        "ws://127.200.1.2/",
        "ws://[::1]:7777/v1/connect",
        "wss://relay.example:8443/a/b?c=d",
        "wss://10.1.2.3/v1/connect",
    ] {
        let mut other = ticket.clone();
        other["relay"] = json!(relay);
        gives(&format!("relay {relay}"), text_of(&other), &other)?;
    }
    Ok(())
}

fn refusals(book: &mut Book, ticket: &Value) -> Writing {
    let whole = text_of(ticket);
    let mut refuse = |name: &str, text: &str| {
        let name = format!("no ticket: {name}");
        book.refuses(name, "ticket_decode", json!({"text": text}), InvalidRequest)
    };
    for name in ["v", "relay", "team", "inviteId", "secret", "person", "expires"] {
        let mut less = ticket.clone();
        drop_member(&mut less, name);
        refuse(&format!("{name} left out"), &text_of(&less))?;
    }
    for (name, value) in [
        ("v", json!("messaging/2")),
        ("relay", json!("ws://relay.example/v1/connect")),
        ("relay", json!("ws://192.168.0.1/")),
        ("relay", json!("ws://localhost.example/")),
        ("relay", json!("http://127.0.0.1/")),
        ("relay", json!("wss://me@relay.example/")),
        ("relay", json!("wss://me:pw@relay.example/")),
        ("relay", json!("wss://relay.example/#top")),
        ("relay", json!(format!("wss://relay.example/{}", "a".repeat(493)))),
        ("relay", json!(null)),
        ("team", json!(text(&[1; 31]))),
        ("inviteId", json!("01kzzzzzzzzzzzzzzzzzzzzzzz")),
        ("secret", json!(text(&[1; 31]))),
        ("secret", json!(text(&[2; 33]))),
        ("person", json!("p_elmokocvhtjapy3fc3soeimutu")),
        ("person", json!("Ben")),
        ("expires", json!("1790000000000")),
        ("expires", json!(-1)),
        ("name", json!(null)),
        ("name", json!("")),
        ("name", json!("x".repeat(65))),
    ] {
        let shown: String = value.to_string().chars().take(40).collect();
        let mut other = ticket.clone();
        other[name] = value;
        refuse(&format!("{name} is {shown}"), &text_of(&other))?;
    }
    let body = whole.trim_start_matches("messaging1.");
    for (name, text) in [
        ("nothing", String::new()),
        ("only the prefix", "messaging1.".to_owned()),
        ("no prefix", body.to_owned()),
        ("no dot", format!("messaging1{body}")),
        ("a prefix in capitals", format!("MESSAGING1.{body}")),
        ("the prefix of a team card", format!("messaging-team.{body}")),
        ("white space within", whole.replace("messaging1.", "messaging1. ")),
        ("padding", format!("{whole}=")),
        ("an array", text_of(&json!([ticket]))),
        ("a JSON text that is cut off", {
            let json = ticket.to_string();
            format!("messaging1.{}", text(json.get(..json.len() - 1).unwrap_or("").as_bytes()))
        }),
        ("a member twice", {
            let json = ticket.to_string().replacen('{', "{\"v\":\"messaging/1\",", 1);
            format!("messaging1.{}", text(json.as_bytes()))
        }),
        ("more than 4,096 characters", {
            let mut long = ticket.clone();
            long["later"] = json!("x".repeat(3_000));
            text_of(&long)
        }),
    ] {
        refuse(name, &text)?;
    }
    Ok(())
}
