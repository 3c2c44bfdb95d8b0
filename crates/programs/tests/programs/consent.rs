//! What others may send, and answers to what they ask: the sentence first, the question, and the whole grant.

use messaging_client::testing::{FakeDaemon, Step};
use messaging_core::code::Code;
use messaging_ipc::error::Refusal;
use serde_json::{Value, json};

use crate::asking::{MACHINE, ULID, status};
use crate::run::with;
use crate::terminal::{calls, command, typed};

const SENTENCE: &str = "For bob: lines muted; their agents' lines open; requests to your agents run at once; trust off.";

/// A daemon on which bob is muted, his requests run, and he is trusted until far in the future.
fn daemon() -> FakeDaemon {
    let grant = |subject: &Value| {
        json!({"subject": subject, "id": ULID, "ts": 1_767_225_600_000_u64, "by": MACHINE, "chat": "muted",
            "ask": "open", "trustedUntil": 4_000_000_000_000_u64})
    };
    FakeDaemon::start(move |method, params| match method {
        "daemon.status" => Step::Result(status(true)),
        "grant.list" => {
            let review = json!([{"subject": {"channel": ULID}, "ask": "open", "lapsedAt": 1_767_225_600_000_u64},
                {"subject": {"person": "alice"}, "discoverable": true, "lapsedAt": 1_767_225_600_000_u64}]);
            let known = match params.get("subject") {
                None => vec![
                    grant(&json!({"person": "bob"})),
                    grant(&json!({"channel": ULID, "name": "ops"})),
                ],
                Some(subject) if *subject == json!({"person": "bob"}) => vec![grant(subject)],
                Some(_) => vec![],
            };
            Step::Result(json!({"grants": known, "review": review}))
        }
        "grant.set.preview" | "request.answer.preview"
            if params["subject"]["person"] == "ghost" =>
        {
            Step::Refuse(Refusal::code(Code::NotFound))
        }
        "grant.set.preview" => Step::Result(json!({"sentence": SENTENCE})),
        "grant.set" => Step::Result(json!({"grant": grant(&json!({"person": "bob"}))})),
        "request.answer.preview" => {
            Step::Result(json!({"kind": "task", "from": {"name": "bob"}, "agent": "web",
            "to": "api", "count": 2, "sentence": "Deliver this request from bob to api once, guarded."}))
        }
        "request.answer" => Step::Result(json!({"answered": [ULID, ULID]})),
        "contact.request.preview" => {
            Step::Result(json!({"found": params["email"] == "carol@example.com"}))
        }
        "contact.request" => {
            Step::Result(json!({"id": ULID, "conversation": "dm:carol", "person": "carol"}))
        }
        "card.get" => Step::Result(json!({"sent": false})),
        _ => Step::Refuse(Refusal::code(Code::NotFound)),
    })
}

fn last(daemon: &FakeDaemon, method: &str) -> Value {
    let seen = daemon.seen().into_iter().rev().find(|(name, _)| name == method);
    seen.unwrap_or_else(|| panic!("no {method}")).1
}

/// The commands that change something after a question, each with the method that changes it.
const ASKED: &[(&[&str], &str)] = &[
    (&["grant", "set", "bob", "--chat", "open"], "grant.set"),
    (&["grant", "clear", "bob"], "grant.set"),
    (&["grant", "mute", "bob"], "grant.set"),
    (&["grant", "block", "bob"], "grant.set"),
    (&["grant", "unblock", "bob"], "grant.set"),
    (&["grant", "trust", "bob"], "grant.set"),
    (&["grant", "untrust", "bob"], "grant.set"),
    (&["grant", "discoverable", "off"], "grant.set"),
    (&["request", "once", ULID], "request.answer"),
    (&["request", "always", ULID], "request.answer"),
    (&["request", "accept", ULID], "request.answer"),
    (&["request", "decline", ULID], "request.answer"),
    (&["request", "block", ULID], "request.answer"),
    (&["contact", "request", "carol@example.com", "Hello."], "contact.request"),
];

#[test]
fn nothing_is_done_when_there_is_nobody_to_ask() {
    for (args, method) in ASKED {
        let daemon = daemon();
        let ran = with(&daemon, args);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains("--yes"), "{args:?}: {ran:?}");
        assert_eq!(calls(&daemon, method), 0, "{args:?}");
        let sure = with(&daemon, &[args, &["--yes"][..]].concat());
        assert_eq!((sure.status, calls(&daemon, method)), (0, 1), "{args:?}: {sure:?}");
        let sure = with(&daemon, &[args, &["--yes", "--json"][..]].concat());
        assert!(sure.json().is_object(), "{args:?}");
    }
}

#[test]
fn a_person_reads_the_sentence_before_they_say_yes() {
    for (args, method) in ASKED {
        for (answer, done) in [("\n", 0), ("y\n", 1)] {
            let daemon = daemon();
            let (screen, status) = typed(command(&daemon, args), "[y/N]", answer);
            let sentence = match *method {
                "grant.set" => "For bob: lines muted;",
                "request.answer" => "Deliver this request from bob to api once, guarded.",
                _ => "Ask carol@example.com to accept your lines",
            };
            let (before, _) = screen.split_once("Go on? [y/N]").unwrap();
            assert!(before.contains(sentence), "{args:?}: {screen}");
            assert_eq!(calls(&daemon, method), done, "{args:?}");
            assert_eq!(status, Some(1 - i32::try_from(done).unwrap()), "{args:?}");
        }
    }
}

#[test]
fn a_change_writes_the_whole_grant_anew_from_the_current_one() {
    let until = 4_000_000_000_000_u64;
    let check = |args: &[&str], expected: Value| {
        let daemon = daemon();
        let ran = with(&daemon, &[args, &["--yes"][..]].concat());
        assert_eq!((ran.status, ran.stdout), (0, format!("{SENTENCE}\n")), "{args:?}");
        let mut set = last(&daemon, "grant.set");
        assert_eq!(
            set,
            last(&daemon, "grant.set.preview"),
            "{args:?}: what was said is what is set"
        );
        set.as_object_mut().unwrap().remove("subject");
        assert_eq!(set, expected, "{args:?}");
    };
    let kept = || json!({"chat": "muted", "ask": "open", "trustedUntil": until});
    check(&["grant", "set", "bob", "--agent-mail", "blocked"], {
        let mut grant = kept();
        grant["agentMail"] = json!("blocked");
        grant
    });
    check(
        &["grant", "set", "bob", "--chat", "default"],
        json!({"ask": "open", "trustedUntil": until}),
    );
    check(&["grant", "set", "bob", "--ask", "request"], json!({"chat": "muted", "ask": "request"}));
    check(
        &["grant", "set", "bob", "--trusted-until", "2026-12-31T00:00:00Z"],
        json!({"chat": "muted", "ask": "open", "trustedUntil": 1_798_675_200_000_u64}),
    );
    check(
        &["grant", "set", "bob", "--trust"],
        json!({"chat": "muted", "ask": "open", "trust": true}),
    );
    check(&["grant", "clear", "bob"], json!({}));
    check(&["grant", "mute", "bob"], kept());
    check(&["grant", "block", "bob"], {
        let mut grant = kept();
        grant["chat"] = json!("blocked");
        grant
    });
    check(&["consent", "unblock", "bob"], json!({"ask": "open", "trustedUntil": until}));
    check(&["grant", "untrust", "bob"], json!({"chat": "muted", "ask": "open"}));
    check(&["grant", "discoverable", "on"], json!({"discoverable": true}));
    check(&["grant", "set", "carol", "--ask", "no"], json!({"ask": "no"}));
}

#[test]
fn trust_opens_requests_and_ends_by_itself() {
    let daemon = daemon();
    let now = || u64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap();
    let day = 86_400_000;
    for (args, days) in
        [(&["grant", "trust", "carol"][..], 30), (&["grant", "trust", "carol", "--for", "7d"], 7)]
    {
        let before = now();
        assert_eq!(with(&daemon, &[args, &["--yes"][..]].concat()).status, 0);
        let set = last(&daemon, "grant.set");
        assert_eq!(set["ask"], "open");
        let until = set["trustedUntil"].as_u64().unwrap();
        assert!((before + days * day..=now() + days * day).contains(&until));
    }
    assert_eq!(with(&daemon, &["grant", "trust", "carol", "--for", "91d", "--yes"]).status, 2);
}

#[test]
fn subjects_are_persons_and_channels() {
    let daemon = daemon();
    for (word, subject) in [
        ("bob", json!({"person": "bob"})),
        ("me", json!({"person": "alice"})),
        ("#ops", json!({"channel": "ops"})),
        ("channel:ops", json!({"channel": "ops"})),
    ] {
        assert_eq!(with(&daemon, &["grant", "set", word, "--ask", "no", "--yes"]).status, 0);
        assert_eq!(last(&daemon, "grant.set")["subject"], subject);
    }
    for args in [
        &["grant", "set", "bob/api", "--ask", "no", "--yes"][..],
        &["grant", "set", "bob"],
        &["grant", "set", "bob", "--ask", "maybe"],
        &["grant", "set", "bob", "--trust", "--trusted-until", "2027-01-01"],
        &["grant", "trust", "Bob"],
        &["grant", "discoverable", "perhaps"],
    ] {
        let ran = with(&daemon, args);
        assert_eq!(ran.status, 2, "{args:?}: {ran:?}");
    }
    assert_eq!(with(&daemon, &["grant", "block", "ghost", "--yes"]).status, 6);
}

#[test]
fn grants_and_what_lapsed_are_tables() {
    let daemon = daemon();
    let ran = with(&daemon, &["grant", "list", "--header"]);
    insta::assert_snapshot!("grants", ran.transcript(daemon.home()));
    let ran = with(&daemon, &["consent", "review", "--header"]);
    insta::assert_snapshot!("grants_to_review", ran.transcript(daemon.home()));
    assert_eq!(with(&daemon, &["grant", "ls", "carol", "--json"]).json()["grants"], json!([]));
    assert_eq!(last(&daemon, "grant.list"), json!({"subject": {"person": "carol"}}));
}

#[test]
fn an_answer_names_the_request_and_says_how_many_it_settled() {
    let daemon = daemon();
    for (word, text) in [
        ("once", "allowed 2 requests\n"),
        ("always", "allowed, now and from now on, 2 requests\n"),
        ("accept", "accepted 2 requests\n"),
        ("decline", "declined 2 requests\n"),
        ("block", "blocked the sender and declined 2 requests\n"),
    ] {
        let ran = with(&daemon, &["request", word, ULID, "--yes"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (0, text));
        let expected = json!({"id": ULID, "answer": word, "all": false});
        assert_eq!(last(&daemon, "request.answer"), expected);
        assert_eq!(last(&daemon, "request.answer.preview"), expected);
        with(&daemon, &["request", word, ULID, "--all", "--yes"]);
        assert_eq!(last(&daemon, "request.answer")["all"], true);
    }
}

#[test]
fn a_message_request_goes_to_somebody_who_is_found() {
    let daemon = daemon();
    let ran = with(&daemon, &["contact", "request", "nobody@example.com", "Hello.", "--yes"]);
    assert_eq!((ran.status, calls(&daemon, "contact.request")), (6, 0), "{ran:?}");
    assert!(ran.stderr.contains("no Messaging user with that email accepts requests"));
    let args = ["contact", "request", "Carol@Example.com", "Hello.", "--suggestion", ULID, "--yes"];
    let ran = with(&daemon, &args);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "asked carol\n"), "{}", ran.stderr);
    let sent = last(&daemon, "contact.request");
    assert_eq!(sent, json!({"email": "carol@example.com", "text": "Hello.", "suggestion": ULID}));
    assert_eq!(with(&daemon, &["contact", "request", "carol", "x"]).status, 2);
    let ran = with(&daemon, &["contact", "card", "bob"]);
    assert_eq!(ran.stdout, "bob was asked within the last day\n");
}
