//! Adding a machine without a ticket, cutting a key off, founding keys: against a scripted daemon.

use messaging_client::testing::{FakeDaemon, Step};
use messaging_core::code::Code;
use messaging_core::ids::Hash;
use messaging_core::ticket::{AdmitCard, TeamCard, TextForm as _};
use messaging_core::version::Version;
use messaging_ipc::error::Refusal;
use serde_json::{Value, json};

use crate::asking::MACHINE;
use crate::run::{fed, with};

const BOB: &str = "2qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURoI";

fn team_card() -> String {
    let (relay, name) = ("ws://127.0.0.1:1/v1/connect".parse().unwrap(), "garden".parse().unwrap());
    TeamCard { v: Version, relay, team: Hash::from_bytes(&[1; 32]), name }.encode().unwrap()
}

fn admit_card() -> String {
    let (person, label) = ("bob".parse().unwrap(), "server".parse().unwrap());
    let (machine, enc) = (BOB.parse().unwrap(), BOB.parse().unwrap());
    AdmitCard { v: Version, machine, enc, person, label }.encode().unwrap()
}

fn member() -> Value {
    json!({"machine": BOB, "enc": BOB, "person": "bob", "label": "server", "role": "member", "online": false,
        "addedAt": 1_767_225_600_000_u64})
}

fn daemon(claims: &'static str) -> FakeDaemon {
    FakeDaemon::start(move |method, params| match method {
        "team.prepare" => Step::Result(json!({"machine": MACHINE, "enc": BOB})),
        "team.pair" => Step::Result(json!({"card": admit_card(), "machine": BOB, "enc": BOB,
            "person": params["person"], "label": params["label"]})),
        "team.add" => Step::Result(json!({"member": member()})),
        "team.claim" if claims == "joined" => {
            Step::Result(json!({"state": "joined", "team": MACHINE,
            "device": BOB, "person": "bob", "label": "server"}))
        }
        "team.claim" => Step::Result(json!({"state": "waiting"})),
        "team.pairCancel" => Step::Result(json!({"cancelled": claims == "joined"})),
        "team.rekey" => Step::Result(json!({"machine": BOB, "enc": MACHINE})),
        "team.list" => Step::Result(json!({"team": MACHINE, "name": "garden",
            "relay": "ws://127.0.0.1:1/v1/connect", "card": team_card(), "seq": 4, "hash": MACHINE,
            "members": [member()], "invites": []})),
        _ => Step::Refuse(Refusal::code(Code::NotFound)),
    })
}

fn last(daemon: &FakeDaemon, method: &str) -> Option<Value> {
    daemon.seen().into_iter().rev().find(|(name, _)| name == method).map(|(_, params)| params)
}

#[test]
fn a_card_is_printed_alone_and_its_machine_beside_it() {
    let daemon = daemon("joined");
    let args = ["team", "pair", &team_card(), "--person", "bob", "--label", "server"];
    let ran = with(&daemon, &args);
    assert_eq!((ran.status, ran.stdout), (0, format!("{}\n", admit_card())));
    assert!(ran.stderr.contains(BOB) && ran.stderr.contains("team claim"), "{}", ran.stderr);
    let params = last(&daemon, "team.pair").unwrap();
    let expected = json!({"relay": "ws://127.0.0.1:1/v1/connect", "team": Hash::from_bytes(&[1; 32]),
        "person": "bob", "label": "server"});
    assert_eq!(params, expected);
    let ran = fed(daemon.home(), team_card().as_bytes(), &["team", "pair", "--person", "bob"]);
    assert_eq!(ran.status, 0, "from standard input too: {ran:?}");
    assert_eq!(with(&daemon, &["team", "pair", "--person", "bob"]).status, 2, "and nowhere else");
    for wrong in [&admit_card(), "messaging1.abc", "x"] {
        assert_eq!(with(&daemon, &["team", "pair", wrong, "--person", "bob"]).status, 2);
    }
}

#[test]
fn whom_a_card_adds_is_said_and_confirmed() {
    let daemon = daemon("joined");
    let ran = with(&daemon, &["team", "add", &admit_card()]);
    assert_eq!((ran.status, last(&daemon, "team.add")), (2, None), "nobody to ask");
    let ran = with(&daemon, &["team", "add", &admit_card(), "--yes"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "added bob@server\n"));
    let params = json!({"machine": BOB, "enc": BOB, "person": "bob", "label": "server"});
    assert_eq!(last(&daemon, "team.add"), Some(params));
    assert_eq!(with(&daemon, &["team", "add", &team_card(), "--yes"]).status, 2);
}

#[test]
fn a_claim_says_whether_there_is_a_place() {
    let daemon = self::daemon("joined");
    let ran = with(&daemon, &["team", "claim", "--wait", "600", "--json"]);
    assert_eq!((ran.status, &ran.json()["state"]), (0, &json!("joined")));
    assert!(last(&daemon, "team.claim").unwrap()["waitMs"].as_u64().unwrap() > 110_000);
    let daemon = self::daemon("waiting");
    let ran = with(&daemon, &["team", "claim"]);
    insta::assert_snapshot!("a_claim_says_whether_there_is_a_place", ran.transcript(daemon.home()));
    assert_eq!(last(&daemon, "team.claim"), Some(json!({"waitMs": 0})));
}

#[test]
fn founding_keys_say_what_the_relay_is_told() {
    let daemon = daemon("joined");
    let ran = with(&daemon, &["team", "prepare"]);
    insta::assert_snapshot!(
        "founding_keys_say_what_the_relay_is_told",
        ran.transcript(daemon.home())
    );
    assert_eq!(with(&daemon, &["team", "cancel"]).stdout, "dropped the keys\n");
    assert_eq!(with(&self::daemon("waiting"), &["team", "cancel"]).stdout, "no keys wait here\n");
}

#[test]
fn cutting_a_key_off_is_confirmed() {
    let daemon = daemon("joined");
    assert_eq!(with(&daemon, &["team", "rekey", "bob@server"]).status, 2);
    assert_eq!(last(&daemon, "team.rekey"), None);
    let ran = with(&daemon, &["team", "rekey", "bob@server", "--yes"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "cut off the key of bob@server\n"));
    assert_eq!(last(&daemon, "team.rekey"), Some(json!({"machine": BOB})));
}
