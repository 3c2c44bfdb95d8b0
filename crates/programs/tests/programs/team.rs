//! Founding, inviting, joining and administering, against a scripted daemon.

use messaging_client::testing::{FakeDaemon, Step};
use messaging_core::code::Code;
use messaging_ipc::error::Refusal;
use serde_json::{Value, json};

use crate::asking::{MACHINE, ULID};
use crate::run::{fed, with};

const BOB: &str = "2qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURoI";
const TICKET: &str = "messaging1.eyJzZWNyZXQiOiJ4In0";

fn team() -> Value {
    let member = |machine: &str, person: &str, label: &str, role: &str| {
        json!({"machine": machine, "enc": MACHINE, "person": person, "label": label, "role": role, "online": false,
            "addedAt": 1_767_225_600_000_u64})
    };
    let mut own = member(MACHINE, "alice", "desk", "admin");
    own["self"] = json!(true);
    json!({"team": MACHINE, "name": "garden", "relay": "ws://127.0.0.1:1/v1/connect", "card": "messaging-team.abc",
        "seq": 4, "hash": MACHINE, "members": [own, member(BOB, "bob", "laptop", "member")],
        "invites": [{"inviteId": ULID, "person": "carol", "expires": 1_767_312_000_000_u64, "by": MACHINE}]})
}

fn daemon() -> FakeDaemon {
    FakeDaemon::start(|method, params| match method {
        "team.create" => Step::Result(
            json!({"team": MACHINE, "device": MACHINE, "person": params["person"], "label": params["label"]}),
        ),
        "team.join" => Step::Result(
            json!({"team": MACHINE, "device": MACHINE, "person": "bob", "label": params["label"],
            "role": "member"}),
        ),
        "team.invite" => {
            Step::Result(json!({"inviteId": ULID, "ticket": TICKET, "person": params["person"],
            "expires": 1_767_312_000_000_u64}))
        }
        "team.revoke" => Step::Result(json!({"ok": true})),
        "team.list" => Step::Result(team()),
        "team.role" => {
            let mut member = team()["members"][1].clone();
            member["role"] = params["role"].clone();
            Step::Result(json!({"member": member}))
        }
        "team.remove" => Step::Result(
            json!({"machine": params["machine"], "self": params["machine"] == MACHINE}),
        ),
        _ => Step::Refuse(Refusal::code(Code::NotFound)),
    })
}

fn last(daemon: &FakeDaemon, method: &str) -> Option<Value> {
    daemon.seen().into_iter().rev().find(|(name, _)| name == method).map(|(_, params)| params)
}

#[test]
fn founding_says_what_to_do_next() {
    let daemon = daemon();
    let ran = with(
        &daemon,
        &[
            "team",
            "create",
            "--relay",
            "ws://127.0.0.1:1/v1/connect",
            "--name",
            "garden",
            "--person",
            "alice",
            "--label",
            "desk",
        ],
    );
    insta::assert_snapshot!("founding_says_what_to_do_next", ran.transcript(daemon.home()));
    // Without a label the host's name is made one, whatever it is.
    let ran = with(
        &daemon,
        &[
            "team",
            "create",
            "--relay",
            "ws://127.0.0.1:1/v1/connect",
            "--name",
            "garden",
            "--person",
            "alice",
        ],
    );
    assert_eq!(ran.status, 0, "{ran:?}");
    let label = last(&daemon, "team.create").unwrap()["label"].as_str().unwrap().to_owned();
    assert!(messaging_core::ids::Label::parse(&label).is_ok());
    let ran = with(
        &daemon,
        &[
            "team",
            "create",
            "--relay",
            "ws://relay.example/v1/connect",
            "--name",
            "g",
            "--person",
            "alice",
        ],
    );
    assert_eq!(ran.status, 2, "an open relay address is refused before anything is asked");
}

#[test]
fn a_ticket_is_printed_once_on_stdout_alone() {
    let daemon = daemon();
    let ran = with(&daemon, &["team", "invite", "bob", "--expires", "2h"]);
    assert_eq!((ran.status, ran.stdout), (0, format!("{TICKET}\n")));
    assert!(!ran.stderr.contains(TICKET) && ran.stderr.contains("works once"), "{}", ran.stderr);
    assert_eq!(last(&daemon, "team.invite"), Some(json!({"person": "bob", "ttlMs": 7_200_000})));
    let ran = with(&daemon, &["team", "invite", "bob", "--json"]);
    assert_eq!((ran.json()["ticket"].as_str(), ran.stderr.as_str()), (Some(TICKET), ""));
    let ran = with(&daemon, &["team", "invite", "bob", "-q"]);
    assert_eq!(ran.stderr, "");
    for bad in ["8d", "59s", "soon"] {
        assert_eq!(with(&daemon, &["team", "invite", "bob", "--expires", bad]).status, 2);
    }
}

#[test]
fn a_ticket_is_taken_from_standard_input_alone() {
    let daemon = daemon();
    for input in [TICKET.to_owned(), format!("\n  {TICKET}\r\n"), format!("{TICKET}\nmore")] {
        let ran = fed(daemon.home(), input.as_bytes(), &["team", "join", "--label", "laptop"]);
        assert_eq!(ran.status, 0, "{ran:?}");
        assert_eq!(last(&daemon, "team.join"), Some(json!({"ticket": TICKET, "label": "laptop"})));
        assert!(!ran.stdout.contains(TICKET));
    }
    let calls = daemon.seen().len();
    for input in ["", "\n\n", &"x".repeat(5_000)] {
        assert_eq!(
            fed(daemon.home(), input.as_bytes(), &["team", "join", "--label", "laptop"]).status,
            2
        );
    }
    let ran = with(&daemon, &["team", "join", TICKET]);
    assert_eq!((ran.status, ran.stderr.contains("eyJ")), (2, false), "{ran:?}");
    assert!(ran.stderr.contains("standard input"));
    assert_eq!(daemon.seen().len(), calls);
}

#[test]
fn machines_and_invites_are_tables() {
    let daemon = daemon();
    let ran = with(&daemon, &["team", "list", "--header"]);
    insta::assert_snapshot!("machines_and_invites_are_tables", ran.transcript(daemon.home()));
    assert_eq!(with(&daemon, &["team", "ls", "--json"]).json(), team());
    let ran = with(&daemon, &["team", "card"]);
    assert_eq!(ran.stdout, "messaging-team.abc\n");
    let ran = with(&daemon, &["team", "revoke", ULID]);
    assert_eq!(
        (ran.stdout.as_str(), last(&daemon, "team.revoke")),
        ("revoked\n", Some(json!({"inviteId": ULID})))
    );
}

#[test]
fn a_machine_is_named_by_its_place_or_its_id() {
    let daemon = daemon();
    for name in ["bob@laptop", BOB] {
        let ran = with(&daemon, &["team", "role", name, "admin"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (0, "bob@laptop is admin now\n"));
        assert_eq!(last(&daemon, "team.role"), Some(json!({"machine": BOB, "role": "admin"})));
        let ran = with(&daemon, &["team", "remove", name, "--yes"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (0, "removed bob@laptop\n"));
        assert_eq!(last(&daemon, "team.remove"), Some(json!({"machine": BOB})));
    }
    assert_eq!(with(&daemon, &["team", "role", "eve@x", "admin"]).status, 6);
}

#[test]
fn removing_and_leaving_are_confirmed() {
    let daemon = daemon();
    for args in [&["team", "remove", "bob@laptop"][..], &["team", "leave"]] {
        let ran = with(&daemon, args);
        assert_eq!(ran.status, 2, "{ran:?}");
    }
    assert_eq!(last(&daemon, "team.remove"), None);
    let ran = with(&daemon, &["team", "leave", "--yes"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "left the team\n"));
    assert_eq!(last(&daemon, "team.remove"), Some(json!({"machine": MACHINE})));
}
