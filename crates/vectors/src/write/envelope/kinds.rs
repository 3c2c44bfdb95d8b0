//! What each type and meaning looks like, from its sender's payload to what its receiver reads.

use messaging_core::consent::{AskLevel, ConsentGrant};
use messaging_core::domain::Domain;
use messaging_core::jcs;
use messaging_core::keys::Identity;
use messaging_core::limits::TTL_MS;
use serde_json::{Value, json};

use super::super::book::{Book, WriteError, Writing, made, text};
use super::super::cast::{Cast, NOW, conv, edited, end, mail};

const TASK: &str = "01KQ00000000000000000000T1";
const CHANNEL: &str = "01KQ00000000000000000000C1";
const EARLIER: &str = "01KQ00000000000000000000E1";

pub(super) fn write(book: &mut Book, cast: &mut Cast) -> Writing {
    messages(book, cast)?;
    lines(book, cast)?;
    own_devices(book, cast)?;
    updates(book, cast)?;
    presence(book, cast)
}

/// Seals from Ben to Ada and receives at Ada.
fn both(book: &mut Book, cast: &mut Cast, name: &str, fields: Value, payload: Value) -> Writing {
    let ada = cast.ada.clone();
    both_to(book, cast, name, fields, payload, &ada)
}

fn both_to(
    book: &mut Book,
    cast: &mut Cast,
    name: &str,
    fields: Value,
    payload: Value,
    to: &Identity,
) -> Writing {
    let input = cast.seal_input(fields, payload.clone(), to);
    let envelope = cast.sealed(&input)?;
    book.pins(format!("sealing {name}"), "envelope_seal", input)?;
    let mut receive = cast.verify_input(&envelope);
    receive["self"] = json!(to.machine());
    receive["keys"] = json!([text(&*to.enc.to_bytes())]);
    book.gives(format!("receiving {name}"), "envelope_receive", receive, payload)
}

fn messages(book: &mut Book, cast: &mut Cast) -> Writing {
    let mut agents = |edits: &[(&str, Value)]| {
        let mut fields = cast.fields("message", Some("builder"), Some("reviewer"));
        edits.iter().for_each(|(name, value)| fields[*name] = value.clone());
        fields
    };
    let every_part = json!([
        {"text": ""}, {"text": "line\r\n\u{0}\u{1f600}", "mediaType": "text/plain"},
        {"raw": "+/8=", "filename": "a b.bin"}, {"raw": ""}, {"url": "https://x.example/f"},
        {"data": null, "metadata": {"k": []}}, {"data": {"b": 1.5, "a": [true]}}
    ]);
    let mut full = mail(every_part);
    full["wake"] = json!(true);
    for (name, member) in [
        ("contextId", json!("c")),
        ("metadata", json!({"m": {"n": 1e-7}})),
        ("extensions", json!(["urn:example:x"])),
        ("referenceTaskIds", json!([TASK, "other"])),
    ] {
        full["message"][name] = member;
    }
    let mut follow_up = mail(json!([{"text": "and the tests"}]));
    follow_up["message"]["taskId"] = json!(TASK);
    let hi = || mail(json!([{"text": "hi"}]));
    let later =
        edited(&hi(), &[("/later", Some(json!([1]))), ("/message/later", Some(json!({})))])?;
    let rows = [
        ("mail", agents(&[]), hi()),
        ("mail with everything", agents(&[]), full),
        ("a reply", agents(&[("replyTo", json!(EARLIER))]), hi()),
        ("a continuation of a task", agents(&[("replyTo", json!(EARLIER))]), follow_up),
        ("mail with members of a later version", agents(&[]), later),
        ("mail of a short life", agents(&[("exp", json!(NOW.plus(1)))]), hi()),
    ];
    for (name, fields, payload) in rows {
        both(book, cast, name, fields, payload)?;
    }
    let mut fields = cast.fields("message", Some("builder"), Some("reviewer"));
    fields["anchor"] = cast.older.clone();
    both(book, cast, "mail with an older anchor", fields, hi())?;
    let fields = cast.fields("message", Some("builder"), Some("reviewer"));
    let task = task(cast)?;
    both(book, cast, "a task request", fields, task)
}

fn task(cast: &Cast) -> Result<Value, WriteError> {
    let mut grant = json!({
        "realm": cast.realm, "task": TASK, "from": "ben/builder@desk", "to": "ada/reviewer@laptop",
        "by": cast.ben.machine(), "ts": NOW, "exp": NOW.plus(TTL_MS), "maxDepth": 4, "scope": ["read", "repo:x/y"]
    });
    let sig = cast.ben.signing.sign_value(Domain::Delegation, &grant);
    grant["sig"] = json!(made("delegation", sig)?);
    let mut payload = mail(json!([{"text": "review this"}]));
    payload["kind"] = json!("task");
    payload["delegation"] = json!([grant]);
    payload["message"]["taskId"] = json!(TASK);
    payload["message"]["contextId"] = json!("review");
    Ok(payload)
}

fn lines(book: &mut Book, cast: &mut Cast) -> Writing {
    let hi = || json!([{"text": "hi"}]);
    let mut thread = mail(hi());
    thread["message"]["contextId"] = json!(EARLIER);
    let channel = |op: &str, more: Value| {
        let mut change = json!({"kind": "channel", "op": op, "id": CHANNEL, "name": "eng-2"});
        if let (Some(change), Value::Object(more)) = (change.as_object_mut(), more) {
            change.extend(more);
        }
        conv(json!([{"text": op}]), change)
    };
    let request = |text: &str| conv(json!([{"text": text}]), json!({"kind": "request"}));
    let rows = [
        ("a line", None, mail(hi())),
        ("a line in a thread", None, thread),
        ("an agent's line", Some("builder"), mail(hi())),
        (
            "a channel created",
            None,
            channel("create", json!({"persons": ["ada", "ben"], "creator": "cyn"})),
        ),
        ("a channel's invite", None, channel("invite", json!({"persons": ["cyn"]}))),
        ("a channel left", None, channel("leave", json!({}))),
        ("a removal from a channel", None, channel("remove", json!({"persons": ["cyn", "eve"]}))),
        ("a post", None, channel("post", json!({}))),
        (
            "an agent's post",
            Some("builder"),
            channel("post", json!({"persons": "of a later version"})),
        ),
        ("a message request", None, request("May I?")),
        ("a message request of 500 units", None, request(&"\u{1f600}".repeat(250))),
        (
            "a card",
            None,
            conv(json!([{"data": {"card": card(cast)?}}]), json!({"kind": "card", "what": "card"})),
        ),
        (
            "the wish for a card",
            None,
            conv(json!([{"data": {"get": true}}]), json!({"kind": "card", "what": "get"})),
        ),
    ];
    for (name, agent, payload) in rows {
        let fields = cast.fields("message", agent, None);
        both(book, cast, name, fields, payload)?;
    }
    Ok(())
}

fn card(cast: &Cast) -> Result<Value, WriteError> {
    let mut card = json!({
        "v": "messaging/1", "realm": cast.realm, "from": "ben", "to": "ada", "by": cast.ben.machine(), "seq": 3,
        "ts": NOW, "can": {"chat": true, "agentMail": false, "ask": "open", "trustedUntil": NOW.plus(1_000)}
    });
    card["sig"] = json!(made("card", cast.ben.signing.sign_value(Domain::Card, &card))?);
    Ok(card)
}

fn own_devices(book: &mut Book, cast: &mut Cast) -> Writing {
    let grant = grant(cast)?;
    let sync = |what: &str, grants: Value| {
        conv(json!([{"data": {"grants": grants}}]), json!({"kind": "self", "what": what}))
    };
    let not_a_grant = json!([grant, {"later": "form"}]);
    let rows = [
        ("a sync of one grant", None, None, sync("grant", json!([grant]))),
        ("a snapshot of 100 grants", None, None, sync("snapshot", json!(vec![json!({}); 100]))),
        ("a sync with something that is no grant", None, None, sync("grant", not_a_grant)),
        ("a line to oneself", None, None, mail(json!([{"text": "note"}]))),
        (
            "mail between one's own agents",
            Some("builder"),
            Some("builder"),
            mail(json!([{"text": "hi"}])),
        ),
    ];
    for (name, from, to, payload) in rows {
        let phone = cast.phone.clone();
        let mut fields = cast.fields("message", from, to);
        fields["to"] = end("ben", phone.machine(), to);
        both_to(book, cast, name, fields, payload, &phone)?;
    }
    Ok(())
}

fn grant(cast: &Cast) -> Result<Value, WriteError> {
    let mut grant = json!({
        "v": "messaging/1", "realm": cast.realm, "id": EARLIER, "person": "ben", "by": cast.ben.machine(), "ts": NOW,
        "subject": {"person": "ada"}, "chat": "open", "ask": "open", "trustedUntil": NOW.plus(1_000)
    });
    grant["sig"] = json!(made("grant", cast.ben.signing.sign_value(Domain::Grant, &grant))?);
    let read = made("grant", ConsentGrant::read(&grant))?;
    made(
        "grant",
        if read.ask == Some(AskLevel::Open) { Ok(grant) } else { Err("not what was written") },
    )
}

fn updates(book: &mut Book, cast: &mut Cast) -> Writing {
    let receipt = |stage: &str| json!({"ref": EARLIER, "stage": stage});
    let rejected = |code: &str| json!({"ref": EARLIER, "stage": "rejected", "code": code});
    let said = json!({"messageId": "s1", "role": "ROLE_AGENT", "parts": [{"text": "half way"}]});
    let status =
        |state: &str| json!({"taskId": TASK, "contextId": "review", "status": {"state": state}});
    let progress = edited(
        &status("TASK_STATE_WORKING"),
        &[
            ("/status/message", Some(said)),
            ("/status/timestamp", Some(json!("2026-09-21T14:16:40.123Z"))),
            ("/metadata", Some(json!({"n": 1}))),
        ],
    )?;
    let piece = json!({
        "taskId": TASK, "contextId": "review", "append": true, "lastChunk": false,
        "artifact": {"artifactId": "a1", "name": "", "description": "d", "parts": [{"text": "x"}], "metadata": {}}
    });
    let cancel = json!({"taskId": TASK, "reason": "no longer needed", "metadata": {}});
    let rows = [
        ("a receipt: delivered", "receipt", None, receipt("delivered")),
        ("a receipt: held", "receipt", None, receipt("held")),
        ("a receipt: handed to the agent", "receipt", None, receipt("handed_to_agent")),
        ("a receipt: read", "receipt", None, receipt("read")),
        ("a receipt: rejected", "receipt", None, rejected("loop_guard")),
        ("a receipt with a code of a later version", "receipt", None, rejected("too_shy")),
        ("a status", "task.status", Some("builder"), progress),
        ("a status by the daemon", "task.status", None, status("TASK_STATE_FAILED")),
        ("an artifact", "task.artifact", Some("builder"), piece),
        ("a cancel", "task.cancel", Some("builder"), cancel),
    ];
    for (name, kind, agent, payload) in rows {
        let mut fields = cast.fields(kind, agent, None);
        if matches!(kind, "task.status" | "task.artifact") {
            fields["replyTo"] = json!(EARLIER);
        }
        both(book, cast, name, fields, payload)?;
    }
    let mut fields = cast.fields("task.cancel", Some("builder"), None);
    fields["replyTo"] = json!(EARLIER);
    both(book, cast, "a cancel that names its request", fields, json!({"taskId": TASK}))
}

fn presence(book: &mut Book, cast: &mut Cast) -> Writing {
    let live = json!({
        "agent": "builder", "client": "claude-code", "state": "busy", "tier": "push", "since": NOW, "wake": true,
        "repo": "r", "branch": "b", "doing": "caf\u{e9} \u{202e}"
    });
    let kept = json!({
        "agent": "old", "client": "cli", "state": "idle", "tier": "pull", "since": 0, "kept": true
    });
    let body = |sessions: Value| json!({"seq": 7, "label": "desk", "sessions": sessions, "features": ["tasks"]});
    let away = edited(&body(json!([])), &[("/away", Some(json!(true)))])?;
    let later = edited(
        &body(json!([])),
        &[("/later", Some(json!({"x": 1}))), ("/features", Some(json!(["later"])))],
    )?;
    let full = body(json!([live, kept]));
    let frame = made("presence", jcs::canonical(&body(json!([]))))?.len() + ",\"z\":\"\"".len();
    let largest = "z".repeat(messaging_core::limits::PRESENCE_BYTES - frame);
    let largest = edited(&body(json!([])), &[("/z", Some(json!(largest)))])?;
    for (name, body) in [
        ("presence", full),
        ("presence without sessions", body(json!([]))),
        ("presence of somebody away", away),
        ("presence with members of a later version", later),
        ("presence of 64 KiB", largest),
    ] {
        let envelope = cast.presence(body.clone())?;
        book.gives(
            format!("receiving {name}"),
            "envelope_receive",
            cast.receive_input(&envelope),
            body,
        )?;
    }
    Ok(())
}
