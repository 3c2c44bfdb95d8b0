//! What holds for a sender, and what becomes of what they send.

use serde_json::{Value, json};

use super::super::book::{Book, Writing};
use super::super::cast::NOW;
use super::Story;

pub(super) fn write(book: &mut Book, story: &Story) -> Writing {
    policies(book, story)?;
    table(book, story)?;
    trust(book, story)
}

/// The arguments that both kinds share.
fn input(relation: &str, grant: Option<&Value>, channels: &[Value]) -> Value {
    let mut input = json!({"relation": relation, "now": NOW});
    if let Some(grant) = grant {
        input["grant"] = grant.clone();
    }
    if !channels.is_empty() {
        input["channelGrants"] = json!(channels);
    }
    input
}

fn policies(book: &mut Book, story: &Story) -> Writing {
    let op = "consent_effective";
    let clear = story.grant(&story.desk, &json!({}))?;
    for (relation, chat, mail, ask) in [
        ("org", "open", "open", "request"),
        ("contact", "open", "blocked", "no"),
        ("stranger", "request_required", "blocked", "no"),
    ] {
        let expected = json!({"chat": chat, "agentMail": mail, "ask": ask, "trusted": false});
        book.gives(
            format!("{relation}: the defaults"),
            op,
            input(relation, None, &[]),
            expected.clone(),
        )?;
        book.gives(
            format!("{relation}: a clear"),
            op,
            input(relation, Some(&clear), &[]),
            expected,
        )?;
    }
    let grant = |levels: Value| story.grant(&story.desk, &levels);
    let channel = |levels: Value| story.of_channel(&levels);
    for (name, relation, said, channels, expected) in [
        (
            "the person's grant alone",
            "contact",
            Some(json!({"chat": "muted", "agentMail": "open", "ask": "request"})),
            vec![],
            json!({"chat": "muted", "agentMail": "open", "ask": "request", "trusted": false}),
        ),
        (
            "a channel where the grant is silent",
            "org",
            Some(json!({"chat": "muted"})),
            vec![json!({"ask": "no", "agentMail": "blocked"})],
            json!({"chat": "muted", "agentMail": "blocked", "ask": "no", "trusted": false}),
        ),
        (
            "the most permissive of three channels",
            "stranger",
            None,
            vec![
                json!({"ask": "no"}),
                json!({"ask": "open", "agentMail": "blocked"}),
                json!({"ask": "request", "agentMail": "open"}),
            ],
            json!({"chat": "request_required", "agentMail": "open", "ask": "open", "trusted": false}),
        ),
        (
            "the person's grant before a more permissive channel",
            "org",
            Some(json!({"ask": "no"})),
            vec![json!({"ask": "open"})],
            json!({"chat": "open", "agentMail": "open", "ask": "no", "trusted": false}),
        ),
        (
            "trust to its last millisecond",
            "org",
            Some(json!({"ask": "open", "trustedUntil": NOW.plus(1)})),
            vec![],
            json!({"chat": "open", "agentMail": "open", "ask": "open", "trusted": true}),
        ),
        (
            "trust within a block",
            "org",
            Some(json!({"chat": "blocked", "ask": "open", "trustedUntil": NOW.plus(1)})),
            vec![],
            json!({"chat": "blocked", "agentMail": "open", "ask": "open", "trusted": true}),
        ),
    ] {
        let said = said.map(grant).transpose()?;
        let channels = channels.into_iter().map(channel).collect::<Result<Vec<_>, _>>()?;
        book.gives(
            format!("policy: {name}"),
            op,
            input(relation, said.as_ref(), &channels),
            expected,
        )?;
    }
    Ok(())
}

/// What arrives, and the name under which it is told.
fn kinds() -> [(&'static str, Value); 6] {
    [
        ("an answer", json!({"kind": "answer"})),
        ("a line", json!({"kind": "line"})),
        ("an agent's line", json!({"kind": "line", "agent": true})),
        ("a change", json!({"kind": "change"})),
        ("an ask", json!({"kind": "ask", "chain": ["ada"]})),
        ("a request", json!({"kind": "request"})),
    ]
}

fn decide_input(relation: &str, said: Option<&Value>, what: &Value) -> Value {
    let mut input = input(relation, said, &[]);
    input["what"] = what.clone();
    input["sender"] = json!(if relation == "self" { "ben" } else { "ada" });
    input["receiver"] = json!("ben");
    input
}

/// Every relation, for each thing that may be said, and everything that may arrive.
fn table(book: &mut Book, story: &Story) -> Writing {
    let (guarded, silent) =
        (json!({"deliver": "guarded"}), json!({"deliver": "guarded", "silent": true}));
    let (refused, first) = (json!({"refuse": "refused"}), json!({"refuse": "request_required"}));
    let hold = json!({"hold": true});
    // In the order of `kinds`: answer, line, agent's line, change, ask, request.
    let blocked = [&guarded, &refused, &refused, &refused, &refused, &refused];
    let rows = [
        ("org", None, [&guarded, &guarded, &guarded, &guarded, &hold, &guarded]),
        ("contact", None, [&guarded, &guarded, &refused, &guarded, &first, &guarded]),
        ("stranger", None, [&guarded, &first, &first, &first, &first, &hold]),
        ("org", Some(json!({"chat": "blocked"})), blocked),
        ("contact", Some(json!({"chat": "blocked"})), blocked),
        ("stranger", Some(json!({"chat": "blocked"})), blocked),
        (
            "org",
            Some(json!({"chat": "muted"})),
            [&guarded, &silent, &silent, &guarded, &hold, &silent],
        ),
        (
            "stranger",
            Some(json!({"chat": "muted", "agentMail": "open"})),
            [&guarded, &silent, &silent, &first, &first, &hold],
        ),
        (
            "org",
            Some(json!({"agentMail": "blocked", "ask": "no"})),
            [&guarded, &guarded, &refused, &guarded, &refused, &guarded],
        ),
        ("contact", Some(json!({"agentMail": "open", "ask": "open"})), [&guarded; 6]),
        (
            "contact",
            Some(json!({"ask": "no"})),
            [&guarded, &guarded, &refused, &guarded, &refused, &guarded],
        ),
        (
            "stranger",
            Some(json!({"chat": "open", "agentMail": "blocked", "ask": "request"})),
            [&guarded, &guarded, &refused, &first, &hold, &hold],
        ),
    ];
    for (relation, said, outcomes) in rows {
        let told = said.as_ref().map_or("nothing said".to_owned(), |said| said.to_string());
        let grant = said.map(|said| story.grant(&story.desk, &said)).transpose()?;
        for ((name, what), expected) in kinds().into_iter().zip(outcomes) {
            let input = decide_input(relation, grant.as_ref(), &what);
            book.gives(
                format!("{relation}, {told}: {name}"),
                "consent_decide",
                input,
                expected.clone(),
            )?;
        }
    }
    for (name, what) in kinds() {
        let input = decide_input("self", None, &what);
        book.gives(format!("self: {name}"), "consent_decide", input, json!({"deliver": "self"}))?;
    }
    Ok(())
}

fn trust(book: &mut Book, story: &Story) -> Writing {
    let said = story.grant(&story.desk, &json!({"ask": "open", "trustedUntil": NOW.plus(1)}))?;
    for (name, chain, class) in [
        ("the sender", json!(["ada"]), "trusted"),
        ("the receiver and the sender", json!(["ben", "ada", "ben"]), "trusted"),
        ("a third person at the root", json!(["dan", "ada", "ben"]), "guarded"),
        ("a third person between", json!(["ada", "dan", "ada", "ben"]), "guarded"),
    ] {
        for kind in ["ask", "answer"] {
            let input = decide_input("org", Some(&said), &json!({"kind": kind, "chain": chain}));
            book.gives(
                format!("trust, {kind}: {name}"),
                "consent_decide",
                input,
                json!({"deliver": class}),
            )?;
        }
    }
    let mut input = decide_input("org", Some(&said), &json!({"kind": "ask", "chain": ["ada"]}));
    input["now"] = json!(NOW.plus(1));
    book.gives("trust, ask: at its end", "consent_decide", input, json!({"deliver": "guarded"}))
}
