//! Questions to a daemon, and how its answers are shown.

use messaging_client::testing::{FakeDaemon, Step};
use messaging_core::code::Code;
use messaging_ipc::error::{NOT_IN_THIS_BUILD, Refusal};
use messaging_ipc::hello::Hello;
use serde_json::{Value, json};

use crate::run::with;

pub(crate) const MACHINE: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
pub(crate) const ULID: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

pub(crate) fn status(set_up: bool) -> Value {
    let mut status = json!({
        "version": env!("CARGO_PKG_VERSION"), "protocol": 1, "storeSchema": 1, "pid": 77,
        "startedAt": 1_767_225_600_000_u64, "state": "running", "realm": {"kind": "none"},
        "relay": {"state": "offline"}
    });
    if set_up {
        status["realm"] = json!({"kind": "roster", "id": MACHINE});
        status["identity"] =
            json!({"device": MACHINE, "person": "alice", "label": "desk", "enc": MACHINE});
        status["team"] = json!({"id": MACHINE, "name": "gar\u{202e}den", "seq": 4, "hash": MACHINE, "members": 2,
            "role": "admin"});
        status["relay"] = json!({"url": "ws://127.0.0.1:1/v1/connect", "state": "connected",
            "since": 1_767_225_600_000_u64});
        status["divergence"] = json!([{"device": MACHINE, "person": "bob", "seq": 3, "ours": MACHINE,
            "theirs": MACHINE, "at": 1, "envelopeId": ULID}]);
    }
    status
}

pub(crate) fn health() -> Value {
    json!({"state": "running", "relay": "offline", "directory": "ok", "alarm": null, "busy": false,
        "version": env!("CARGO_PKG_VERSION"), "storeSchema": 1})
}

pub(crate) fn device() -> Value {
    json!({"kind": "roster", "realm": MACHINE, "device": MACHINE, "binding": "bound", "person": "alice",
        "label": "desk", "fingerprint": "d75a 9801"})
}

fn notices(unread: u64, requests: u64) -> Value {
    json!({"notices": [], "counts": {"unread": unread, "requests": requests}})
}

/// A daemon that is set up.
fn daemon() -> FakeDaemon {
    FakeDaemon::start(|method, _| match method {
        "daemon.status" => Step::Result(status(true)),
        "daemon.health" => Step::Result(health()),
        "device.status" => Step::Result(device()),
        "notice.list" => Step::Result(notices(2, 1)),
        "device.list" => Step::Result(json!({"devices": [
            {"device": MACHINE, "label": "desk", "vouch": "roster", "current": true, "self": true, "since": 1_767_225_600_000_u64},
            {"device": MACHINE, "label": "old", "vouch": "roster", "current": false, "since": 1,
             "removed": {"at": 1_767_225_600_000_u64, "reason": "removed"}}
        ]})),
        "contacts.list" => Step::Result(json!({
            "entries": [{"address": "bob/api@laptop", "person": "bob", "device": MACHINE, "label": "laptop",
                "agent": "api", "client": "claude-code", "state": "busy", "tier": "push", "since": 1_767_225_600_000_u64,
                "online": true, "features": ["tasks"], "doing": "tests\u{1b}[31m\nand more", "expect": "next_turn"}],
            "conversations": [],
            "reach": [{"person": "bob", "can": {"chat": true, "agentMail": false, "ask": "request"}, "source": "default"}]
        })),
        _ => Step::Refuse(Refusal::new(Code::Internal, NOT_IN_THIS_BUILD)),
    })
}

#[test]
fn status_shows_alarms_first_and_no_raw_peer_text() {
    let daemon = daemon();
    let ran = with(&daemon, &["status"]);
    insta::assert_snapshot!(
        "status_shows_alarms_first_and_no_raw_peer_text",
        ran.transcript(daemon.home())
    );
    let ran = with(&daemon, &["status", "--json"]);
    assert_eq!(ran.stdout.lines().count(), 1);
    assert!(ran.stdout.contains("gar\\u202eden"), "{}", ran.stdout);
    let document = ran.json();
    assert_eq!(document["status"]["team"]["name"], "gar\u{202e}den");
    assert_eq!(document["counts"], json!({"unread": 2, "requests": 1}));
}

#[test]
fn a_device_that_is_not_set_up_says_so() {
    let daemon = FakeDaemon::start(|method, _| match method {
        "daemon.status" => Step::Result(status(false)),
        "daemon.health" => Step::Result(health()),
        "notice.list" => Step::Result(notices(0, 0)),
        _ => Step::Result(json!({"kind": "none", "binding": "none"})),
    });
    let ran = with(&daemon, &["identity", "show"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (4, ""));
    assert!(ran.stderr.starts_with("no_identity: "));
    let ran = with(&daemon, &["send", "me", "hello"]);
    assert_eq!(ran.status, 4);
    let ran = with(&daemon, &["status"]);
    assert!(ran.stdout.contains("not set up"), "{ran:?}");
}

#[test]
fn devices_and_contacts_are_tables() {
    let daemon = daemon();
    for args in [
        &["device", "list"][..],
        &["device", "ls", "--header"],
        &["device", "status"],
        &["whoami"],
        &["contact", "list"],
    ] {
        let ran = with(&daemon, args);
        insta::with_settings!({description => args.join(" "), omit_expression => true}, {
            insta::assert_snapshot!(args.join("_"), ran.transcript(daemon.home()));
        });
    }
}

#[test]
fn every_refusal_has_the_status_of_its_code() {
    for code in Code::ALL {
        let daemon = FakeDaemon::start(move |_, _| Step::Refuse(Refusal::new(*code, "no")));
        let ran = with(&daemon, &["api", "daemon.health"]);
        let expected = match code.as_str() {
            "daemon_unavailable" | "daemon_mismatch" => 3,
            "no_identity" | "unknown_device" | "not_member" | "login_denied"
            | "login_unsupported" | "grant_required" | "grant_invalid" | "ticket_required"
            | "ticket_invalid" => 4,
            "refused" | "declined" | "request_required" | "forbidden" | "secret_refused"
            | "loop_guard" | "invite_invalid" | "admission_required" | "admission_invalid" => 5,
            "not_found" | "unknown_session" | "unknown_address" | "no_recipients"
            | "ambiguous_address" => 6,
            "rate_limited"
            | "relay_unavailable"
            | "directory_unavailable"
            | "jelly_unavailable"
            | "log_conflict"
            | "roster_conflict" => 7,
            _ => 1,
        };
        assert_eq!(ran.status, expected, "{code}: {ran:?}");
        assert!(ran.stderr.starts_with(&format!("{code}: ")), "{code}");
        assert!(ran.stderr.lines().last().unwrap().starts_with("Next: "), "{code}");
    }
}

#[test]
fn a_daemon_of_another_release_is_named() {
    let hello = Hello { version: "0.0.9".into(), ..Hello::new(1, None) };
    let daemon = FakeDaemon::greeting(hello.line(), |_, _| Step::Silence);
    let ran = with(&daemon, &["status"]);
    insta::assert_snapshot!("a_daemon_of_another_release_is_named", ran.transcript(daemon.home()));
    // It is reported, never replaced; and never stopped by a pid that its lock does not name.
    assert_eq!(with(&daemon, &["daemon", "start"]).status, 3);
    let ran = with(&daemon, &["daemon", "stop"]);
    assert_eq!(ran.status, 3, "{ran:?}");
    assert_eq!(daemon.seen(), []);
}

#[test]
fn api_prints_the_raw_result() {
    let daemon = FakeDaemon::start(|method, params| {
        Step::Result(json!({"method": method, "params": params}))
    });
    let ran = with(&daemon, &["api", "any.method", "{\"a\":1}"]);
    assert_eq!(ran.stdout, "{\"method\":\"any.method\",\"params\":{\"a\":1}}\n");
    let file = daemon.home().join("params.json");
    std::fs::write(&file, "{\"b\":[2]}").unwrap();
    let ran = with(&daemon, &["api", "m", &format!("@{}", file.display()), "--json"]);
    assert_eq!(ran.json()["params"], json!({"b": [2]}));
    let ran = crate::run::fed(daemon.home(), b"{\"c\":3}", &["api", "m", "-"]);
    assert_eq!(ran.json()["params"], json!({"c": 3}));
    let ran = with(&daemon, &["api", "m", "{\"a\":1,\"a\":2}"]);
    assert_eq!(ran.status, 2);
}

#[test]
fn verbose_names_methods_and_never_parameters() {
    let daemon = FakeDaemon::start(|_, _| Step::Result(json!({})));
    let ran = with(&daemon, &["-v", "api", "daemon.health", "{\"secret\":\"hunter2\"}"]);
    assert!(
        ran.stderr.starts_with("daemon.health ") && ran.stderr.ends_with(" ms\n"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("hunter2"));
}

#[test]
fn completions_come_from_the_daemon_while_it_runs() {
    let daemon = daemon();
    let mut command = crate::run::clean(&crate::run::messaging());
    command.env("MESSAGING_COMPLETE", "fish").env("MESSAGING_HOME", daemon.home());
    let ran = crate::run::ran(command.args(["--", "messaging", "send", "bo"]));
    assert_eq!(ran.stdout.lines().collect::<Vec<_>>(), ["bob/api@laptop", "bob"]);
}
