//! Payloads that are not what their envelope says: shapes, and the rules of each meaning.

use messaging_core::code::Code::InvalidRequest;
use serde_json::{Value, json};

use super::super::book::{Book, Writing};
use super::super::cast::{Cast, Edit, MESSAGE, conv, edited, end, mail};

const ULID: &str = "01KQ00000000000000000000E1";

pub(super) fn write(book: &mut Book, cast: &mut Cast) -> Writing {
    shapes(book, cast)?;
    parts(book, cast)?;
    tasks(book, cast)?;
    lines(book, cast)?;
    convs(book, cast)?;
    syncs(book, cast)?;
    requests(book, cast)?;
    cards(book, cast)?;
    others(book, cast)
}

/// The ends of an envelope: the class, and who writes to whom.
#[derive(Clone, Copy)]
enum Ends {
    Agents,
    Persons(&'static str),
    FromAgent(&'static str),
}

fn refuse(book: &mut Book, cast: &mut Cast, name: &str, ends: Ends, payload: &Value) -> Writing {
    let (class, from, to) = match ends {
        Ends::Agents => ("contact", Some("builder"), Some("reviewer")),
        Ends::Persons(class) => (class, None, None),
        Ends::FromAgent(class) => (class, Some("builder"), None),
    };
    let mut fields = cast.fields("message", from, to);
    fields["class"] = json!(class);
    if class == "self" {
        fields["to"] = end("ben", cast.phone.machine(), None);
    }
    refuse_sealed(book, cast, name, fields, payload)
}

fn refuse_sealed(
    book: &mut Book,
    cast: &mut Cast,
    name: &str,
    fields: Value,
    payload: &Value,
) -> Writing {
    let envelope = cast.forged(fields, payload.to_string().into_bytes())?;
    book.refuses(
        format!("open: {name}"),
        "envelope_open",
        cast.open_input(&envelope),
        InvalidRequest,
    )
}

fn hi() -> Value {
    mail(json!([{"text": "hi"}]))
}

fn shapes(book: &mut Book, cast: &mut Cast) -> Writing {
    let rows: Vec<(&str, Edit<'_>)> = vec![
        ("mail without a kind", ("/kind", None)),
        ("mail of a later kind", ("/kind", Some(json!("poll")))),
        ("mail without a message", ("/message", None)),
        ("mail whose message is text", ("/message", Some(json!("hi")))),
        ("mail whose message is an array", ("/message", Some(json!([MESSAGE, "ROLE_USER"])))),
        ("mail without a messageId", ("/message/messageId", None)),
        ("mail with an empty messageId", ("/message/messageId", Some(json!("")))),
        (
            "mail with a messageId of 129 units",
            ("/message/messageId", Some(json!("m".repeat(129)))),
        ),
        ("mail with an empty contextId", ("/message/contextId", Some(json!("")))),
        ("mail with a contextId of null", ("/message/contextId", Some(Value::Null))),
        ("mail with a taskId that is no ULID", ("/message/taskId", Some(json!("t")))),
        ("mail without a role", ("/message/role", None)),
        ("mail with a role by number", ("/message/role", Some(json!(1)))),
        ("mail with no role in particular", ("/message/role", Some(json!("ROLE_UNSPECIFIED")))),
        ("mail without parts", ("/message/parts", None)),
        ("mail with no parts", ("/message/parts", Some(json!([])))),
        ("mail with 101 parts", ("/message/parts", Some(json!(vec![json!({"text": ""}); 101])))),
        ("mail with metadata that is text", ("/message/metadata", Some(json!("x")))),
        ("mail with 33 extensions", ("/message/extensions", Some(json!(vec!["x"; 33])))),
        (
            "mail with an extension of 257 units",
            ("/message/extensions", Some(json!(["x".repeat(257)]))),
        ),
        ("mail with 33 references", ("/message/referenceTaskIds", Some(json!(vec!["x"; 33])))),
        ("mail with wake by number", ("/wake", Some(json!(1)))),
        ("mail with a wake of null", ("/wake", Some(Value::Null))),
        ("mail with a conv", ("/conv", Some(json!({"kind": "request"})))),
        (
            "mail with a channel",
            ("/conv", Some(json!({"kind": "channel", "op": "post", "id": ULID, "name": "eng"}))),
        ),
        ("mail with a conv of null", ("/conv", Some(Value::Null))),
    ];
    for (name, edit) in rows {
        refuse(book, cast, name, Ends::Agents, &edited(&hi(), &[edit])?)?;
    }
    Ok(())
}

fn parts(book: &mut Book, cast: &mut Cast) -> Writing {
    for (name, part) in [
        ("of nothing", json!({})),
        ("of text and data", json!({"text": "a", "data": null})),
        ("of text and a link", json!({"text": "a", "url": "u"})),
        ("with text by number", json!({"text": 1})),
        ("with text of null", json!({"text": null})),
        ("that is text", json!("text")),
        ("with bytes in the URL alphabet", json!({"raw": "_-8="})),
        ("with bytes without padding", json!({"raw": "+/8"})),
        ("with bytes with stray bits", json!({"raw": "+/9="})),
        ("with an empty link", json!({"url": ""})),
        ("with a link of 2049 units", json!({"url": "u".repeat(2_049)})),
        ("with an empty file name", json!({"text": "a", "filename": ""})),
        ("with a file name of 256 units", json!({"text": "a", "filename": "f".repeat(256)})),
        ("with a media type of 128 units", json!({"text": "a", "mediaType": "m".repeat(128)})),
        ("with metadata of null", json!({"text": "a", "metadata": null})),
    ] {
        refuse(book, cast, &format!("a part {name}"), Ends::Agents, &mail(json!([part])))?;
    }
    Ok(())
}

fn tasks(book: &mut Book, cast: &mut Cast) -> Writing {
    let grant = json!({
        "realm": cast.realm, "task": ULID, "from": "ben/builder@desk", "to": "ada/reviewer@laptop",
        "by": cast.ben.machine(), "ts": 1, "exp": 2, "maxDepth": 4, "sig": "A".repeat(86)
    });
    let task = edited(
        &hi(),
        &[
            ("/kind", Some(json!("task"))),
            ("/delegation", Some(json!([grant]))),
            ("/message/taskId", Some(json!(ULID))),
            ("/message/contextId", Some(json!("c"))),
        ],
    )?;
    let grants = |grant: Value| ("/delegation", Some(json!([grant])));
    let rows: Vec<(&str, Edit<'_>)> = vec![
        ("a task without a chain", ("/delegation", None)),
        ("a task with an empty chain", ("/delegation", Some(json!([])))),
        ("a task with five grants", ("/delegation", Some(json!(vec![grant.clone(); 5])))),
        ("a task without a taskId", ("/message/taskId", None)),
        ("a task without a contextId", ("/message/contextId", None)),
        ("a task with a conv", ("/conv", Some(json!({"kind": "card", "what": "get"})))),
        ("mail with a chain", ("/kind", Some(json!("message")))),
        ("a grant without a signature", grants(edited(&grant, &[("/sig", None)])?)),
        ("a grant of depth 0", grants(edited(&grant, &[("/maxDepth", Some(json!(0)))])?)),
        ("a grant of depth 5", grants(edited(&grant, &[("/maxDepth", Some(json!(5)))])?)),
        (
            "a grant without the label",
            grants(edited(&grant, &[("/to", Some(json!("ada/reviewer")))])?),
        ),
        (
            "a grant of nine scopes",
            grants(edited(&grant, &[("/scope", Some(json!(vec!["x"; 9])))])?),
        ),
        (
            "a grant with a scope in upper case",
            grants(edited(&grant, &[("/scope", Some(json!(["Read"])))])?),
        ),
        ("a grant with a scope of null", grants(edited(&grant, &[("/scope", Some(Value::Null))])?)),
    ];
    for (name, edit) in rows {
        refuse(book, cast, name, Ends::Agents, &edited(&task, &[edit])?)?;
    }
    let ulid = ("/message/contextId", Some(json!(ULID)));
    refuse(book, cast, "a task to a person", Ends::Persons("contact"), &edited(&task, &[ulid])?)
}

fn lines(book: &mut Book, cast: &mut Cast) -> Writing {
    let post = conv(
        json!([{"text": "hi"}]),
        json!({"kind": "channel", "op": "post", "id": ULID, "name": "eng"}),
    );
    let rows: Vec<(&str, Edit<'_>)> = vec![
        ("a taskId", ("/message/taskId", Some(json!(ULID)))),
        ("a messageId that is no ULID", ("/message/messageId", Some(json!("m1")))),
        ("a contextId that is no ULID", ("/message/contextId", Some(json!("c1")))),
    ];
    for (form, payload) in [("a line", hi()), ("a post", post)] {
        for (name, edit) in &rows {
            let payload = edited(&payload, std::slice::from_ref(edit))?;
            refuse(book, cast, &format!("{form} with {name}"), Ends::Persons("contact"), &payload)?;
        }
        refuse(
            book,
            cast,
            &format!("{form} of class request"),
            Ends::Persons("request"),
            &payload,
        )?;
    }
    Ok(())
}

fn convs(book: &mut Book, cast: &mut Cast) -> Writing {
    let channel = |op: &str| json!({"kind": "channel", "op": op, "id": ULID, "name": "eng"});
    let with = |op: &str, name: &str, value: Value| edited(&channel(op), &[(name, Some(value))]);
    let many: Vec<String> = (0..33).map(|n| format!("p{n}")).collect();
    let rows: Vec<(&str, Value)> = vec![
        ("of a later kind", json!({"kind": "poll"})),
        ("without a kind", json!({"op": "post", "id": ULID, "name": "eng"})),
        ("that is text", json!("channel")),
        ("of a later op", channel("rename")),
        ("without an op", edited(&channel("post"), &[("/op", None)])?),
        ("without an id", edited(&channel("post"), &[("/id", None)])?),
        ("with an id that is no ULID", with("post", "/id", json!("eng"))?),
        ("without a name", edited(&channel("leave"), &[("/name", None)])?),
        ("with a name in upper case", with("leave", "/name", json!("Eng"))?),
        ("with a name of 33 characters", with("leave", "/name", json!("e".repeat(33)))?),
        ("that creates for nobody", with("create", "/creator", json!("ben"))?),
        ("that creates without a creator", with("create", "/persons", json!(["ben"]))?),
        ("that invites nobody", channel("invite")),
        ("that invites no persons", with("invite", "/persons", json!([]))?),
        ("that invites one twice", with("invite", "/persons", json!(["cyn", "cyn"]))?),
        ("that invites 33", with("invite", "/persons", json!(many))?),
        ("that removes a pattern", with("remove", "/persons", json!(["*"]))?),
        ("of a sync of a later form", json!({"kind": "self", "what": "all"})),
        ("of a sync of nothing", json!({"kind": "self"})),
        ("of a card of a later form", json!({"kind": "card", "what": "photo"})),
    ];
    for (name, value) in rows {
        refuse(
            book,
            cast,
            &format!("a conv {name}"),
            Ends::Persons("contact"),
            &conv(json!([{"text": "x"}]), value),
        )?;
    }
    Ok(())
}

fn syncs(book: &mut Book, cast: &mut Cast) -> Writing {
    let sync = |parts: Value| conv(parts, json!({"kind": "self", "what": "grant"}));
    let of = |grants: Value| sync(json!([{"data": {"grants": grants}}]));
    let good = of(json!([{}]));
    refuse(book, cast, "a sync between two persons", Ends::Persons("contact"), &good)?;
    refuse(book, cast, "a sync from an agent", Ends::FromAgent("self"), &good)?;
    for (name, payload) in [
        ("of no grants", of(json!([]))),
        ("of 101 grants", of(json!(vec![json!({}); 101]))),
        ("of grants by name", of(json!({"a": {}}))),
        ("of a grant that is text", of(json!([{}, "grant"]))),
        ("with text", sync(json!([{"text": "x"}]))),
        ("without grants", sync(json!([{"data": {}}]))),
        ("with data that is an array", sync(json!([{"data": [{}]}]))),
        ("with more data", sync(json!([{"data": {"grants": [{}], "more": 1}}]))),
        ("with a file name", sync(json!([{"data": {"grants": [{}]}, "filename": "f"}]))),
        ("of two parts", sync(json!([{"data": {"grants": [{}]}}, {"data": {"grants": [{}]}}]))),
    ] {
        refuse(book, cast, &format!("a sync {name}"), Ends::Persons("self"), &payload)?;
    }
    Ok(())
}

fn requests(book: &mut Book, cast: &mut Cast) -> Writing {
    let request = |parts: Value| conv(parts, json!({"kind": "request"}));
    let good = request(json!([{"text": "May I?"}]));
    refuse(book, cast, "a request of class contact", Ends::Persons("contact"), &good)?;
    refuse(book, cast, "a request of class self", Ends::Persons("self"), &good)?;
    for (name, parts) in [
        ("of 501 units", json!([{"text": "x".repeat(501)}])),
        ("of 251 pairs", json!([{"text": "\u{1f600}".repeat(251)}])),
        ("of no text", json!([{"text": ""}])),
        ("of two texts", json!([{"text": "a"}, {"text": "b"}])),
        ("of data", json!([{"data": "a"}])),
        ("of a link", json!([{"url": "https://x.example"}])),
        ("with a media type", json!([{"text": "a", "mediaType": "text/plain"}])),
        ("with a later member of the part", json!([{"text": "a", "later": 1}])),
    ] {
        refuse(
            book,
            cast,
            &format!("a request {name}"),
            Ends::Persons("request"),
            &request(parts),
        )?;
    }
    let rows: Vec<(&str, Edit<'_>)> = vec![
        ("metadata", ("/message/metadata", Some(json!({})))),
        ("a contextId", ("/message/contextId", Some(json!(ULID)))),
        ("no extensions", ("/message/extensions", Some(json!([])))),
        ("a later member of the message", ("/message/later", Some(json!(1)))),
        ("a later member of the payload", ("/later", Some(json!(1)))),
        ("a later member of the conv", ("/conv/later", Some(json!(1)))),
        ("wake", ("/wake", Some(json!(true)))),
    ];
    for (name, edit) in rows {
        let payload = edited(&good, &[edit])?;
        refuse(book, cast, &format!("a request with {name}"), Ends::Persons("request"), &payload)?;
    }
    Ok(())
}

fn cards(book: &mut Book, cast: &mut Cast) -> Writing {
    let shape = json!({
        "v": "messaging/1", "realm": cast.realm, "from": "ben", "to": "ada", "by": cast.ben.machine(), "seq": 1,
        "ts": 1, "can": {"chat": true, "agentMail": false, "ask": "no"}, "sig": "A".repeat(86)
    });
    let card = |what: &str, data: Value| {
        conv(json!([{"data": data}]), json!({"kind": "card", "what": what}))
    };
    let (good, get) = (card("card", json!({"card": shape})), card("get", json!({"get": true})));
    for (name, payload) in [("a card", &good), ("the wish for a card", &get)] {
        refuse(book, cast, &format!("{name} between own devices"), Ends::Persons("self"), payload)?;
        refuse(book, cast, &format!("{name} from an agent"), Ends::FromAgent("contact"), payload)?;
        let rows: Vec<(&str, Edit<'_>)> = vec![
            ("metadata", ("/message/metadata", Some(json!({})))),
            ("a later member of the payload", ("/later", Some(json!(1)))),
            ("a later member of the conv", ("/conv/later", Some(json!(1)))),
        ];
        for (with, edit) in rows {
            let payload = edited(payload, &[edit])?;
            refuse(book, cast, &format!("{name} with {with}"), Ends::Persons("contact"), &payload)?;
        }
    }
    let later_can = edited(&shape, &[("/can/ask", Some(json!("maybe")))])?;
    let to_self = edited(&shape, &[("/to", Some(json!("ben")))])?;
    let trusted = edited(&shape, &[("/can/trustedUntil", Some(json!(5)))])?;
    for (name, payload) in [
        ("that is a wish", card("card", json!({"get": true}))),
        ("that is text", card("card", json!({"card": "ben"}))),
        ("that is empty", card("card", json!({"card": {}}))),
        ("of no data", card("card", json!({}))),
        ("with more data", card("card", json!({"card": shape, "more": 1}))),
        ("with a level of a later version", card("card", json!({"card": later_can}))),
        ("to oneself", card("card", json!({"card": to_self}))),
        ("of trust without asks", card("card", json!({"card": trusted}))),
        (
            "of two parts",
            conv(
                json!([{"data": {"card": shape}}, {"text": "x"}]),
                json!({"kind": "card", "what": "card"}),
            ),
        ),
    ] {
        refuse(book, cast, &format!("a card {name}"), Ends::Persons("contact"), &payload)?;
    }
    for (name, data) in [
        ("that is a card", json!({"card": shape})),
        ("that is none", json!({"get": false})),
        ("with more data", json!({"get": true, "more": 1})),
    ] {
        refuse(
            book,
            cast,
            &format!("the wish for a card {name}"),
            Ends::Persons("contact"),
            &card("get", data),
        )?;
    }
    Ok(())
}

/// Receipts, task updates and cancels.
fn others(book: &mut Book, cast: &mut Cast) -> Writing {
    let receipt = json!({"ref": ULID, "stage": "read"});
    let status =
        json!({"taskId": ULID, "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}});
    let artifact = json!({"taskId": ULID, "contextId": "c", "artifact": {"artifactId": "a", "parts": [{"text": ""}]}});
    let cancel = json!({"taskId": ULID});
    let rows: Vec<(&str, &str, &Value, Edit<'_>)> = vec![
        ("a receipt without ref", "receipt", &receipt, ("/ref", None)),
        ("a receipt for no ULID", "receipt", &receipt, ("/ref", Some(json!("x")))),
        ("a receipt without a stage", "receipt", &receipt, ("/stage", None)),
        ("a receipt of a relay's stage", "receipt", &receipt, ("/stage", Some(json!("relayed")))),
        ("a receipt of a sender's stage", "receipt", &receipt, ("/stage", Some(json!("replied")))),
        ("a receipt with a code", "receipt", &receipt, ("/code", Some(json!("refused")))),
        ("a receipt with a code of null", "receipt", &receipt, ("/code", Some(Value::Null))),
        ("a rejection without a code", "receipt", &receipt, ("/stage", Some(json!("rejected")))),
        ("a status without a task", "task.status", &status, ("/taskId", None)),
        (
            "a status of a task that is no ULID",
            "task.status",
            &status,
            ("/taskId", Some(json!("t"))),
        ),
        ("a status without a context", "task.status", &status, ("/contextId", None)),
        ("a status without a status", "task.status", &status, ("/status", None)),
        ("a status without a state", "task.status", &status, ("/status/state", None)),
        ("a status by number", "task.status", &status, ("/status/state", Some(json!(2)))),
        (
            "a status in lower case",
            "task.status",
            &status,
            ("/status/state", Some(json!("task_state_working"))),
        ),
        (
            "no status in particular",
            "task.status",
            &status,
            ("/status/state", Some(json!("TASK_STATE_UNSPECIFIED"))),
        ),
        (
            "a status with a message that is text",
            "task.status",
            &status,
            ("/status/message", Some(json!("x"))),
        ),
        (
            "a status of a day that never was",
            "task.status",
            &status,
            ("/status/timestamp", Some(json!("2026-02-30T00:00:00Z"))),
        ),
        (
            "a status of a local time",
            "task.status",
            &status,
            ("/status/timestamp", Some(json!("2026-02-20T00:00:00+01:00"))),
        ),
        ("an artifact without one", "task.artifact", &artifact, ("/artifact", None)),
        ("an artifact without an id", "task.artifact", &artifact, ("/artifact/artifactId", None)),
        ("an artifact without parts", "task.artifact", &artifact, ("/artifact/parts", None)),
        (
            "an artifact with no parts",
            "task.artifact",
            &artifact,
            ("/artifact/parts", Some(json!([]))),
        ),
        (
            "an artifact that appends a number",
            "task.artifact",
            &artifact,
            ("/append", Some(json!(1))),
        ),
        (
            "an artifact whose end is null",
            "task.artifact",
            &artifact,
            ("/lastChunk", Some(Value::Null)),
        ),
        ("a cancel without a task", "task.cancel", &cancel, ("/taskId", None)),
        (
            "a cancel with a reason of 2001 units",
            "task.cancel",
            &cancel,
            ("/reason", Some(json!("r".repeat(2_001)))),
        ),
        (
            "a cancel with metadata that is text",
            "task.cancel",
            &cancel,
            ("/metadata", Some(json!("x"))),
        ),
    ];
    for (name, kind, payload, edit) in rows {
        let fields = update(cast, kind);
        refuse_sealed(book, cast, name, fields, &edited(payload, &[edit])?)?;
    }
    let rejected = json!({"ref": ULID, "stage": "rejected", "code": "Refused!"});
    let fields = update(cast, "receipt");
    refuse_sealed(book, cast, "a rejection with a malformed code", fields, &rejected)
}

fn update(cast: &mut Cast, kind: &str) -> Value {
    let mut fields = cast.fields(kind, None, None);
    fields["class"] = json!("contact");
    if matches!(kind, "task.status" | "task.artifact") {
        fields["replyTo"] = json!(ULID);
    }
    fields
}
