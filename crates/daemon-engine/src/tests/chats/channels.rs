//! Channels: what goes to whom, and what a receiver takes.
//! Spec: §6.8 "Receiver rules", W4.14, D3.19

use messaging_core::limits::{CLOCK_SKEW_MS, TTL_MS};
use messaging_core::roster::{Op, Role};
use serde_json::{Value, json};

use super::super::roster::entry;
use super::{
    ALICE, ALICE_PAD, BOB, BOB_PHONE, Bench, CAROL, CONN, arrives, bench, found, id, lines, op,
    room, said, say, texts,
};

const OPS: &str = "channel:ops";

/// The machines that something went to, by their labels.
fn labels(said: &[(String, Value, Value)]) -> Vec<&str> {
    let mut labels: Vec<&str> = said.iter().map(|(label, _, _)| label.as_str()).collect();
    labels.sort_unstable();
    labels
}

/// A channel operation of an id of its own.
fn conv(op: &str, n: u64, more: Value) -> Value {
    let mut conv = json!({"op": op, "id": id(n), "name": "ops"});
    for (name, value) in more.as_object().unwrap() {
        conv[name] = value.clone();
    }
    conv
}

fn create(n: u64, persons: &[&str], creator: &str) -> Value {
    conv("create", n, json!({"persons": persons, "creator": creator}))
}

fn change(
    bench: &mut Bench,
    at: usize,
    method: &str,
    name: &str,
    persons: &[&str],
) -> Result<Value, String> {
    let changed = bench.call(at, CONN, method, json!({"name": name, "persons": persons}));
    bench.advance(1_000);
    changed
}

fn persons(bench: &mut Bench, at: usize, name: &str) -> Value {
    room(bench, at, &format!("channel:{name}"))["persons"].clone()
}

#[test]
fn a_new_channel_goes_whole_to_every_machine_of_its_members() {
    let mut bench = bench();
    let channel = found(&mut bench, ALICE, "ops", &["bob"]);
    assert_eq!(channel["persons"], json!(["alice", "bob"]));
    assert_eq!(channel["creator"], "alice");
    assert!(channel.get("name").is_none(), "it is held under its own name");
    let said = said(&bench, ALICE);
    assert_eq!(labels(&said), ["desk", "pad", "phone"]);
    for (_, _, payload) in &said {
        let conv = json!({"kind": "channel", "op": "create", "id": channel["id"], "name": "ops",
            "persons": ["alice", "bob"], "creator": "alice"});
        assert_eq!(payload["conv"], conv);
        assert_eq!(payload["message"]["parts"], json!([{"text": "create"}]));
    }
    for at in [ALICE, ALICE_PAD, BOB, BOB_PHONE] {
        let lines = lines(&mut bench, at, OPS);
        assert_eq!(lines.len(), 1, "{at}");
        assert_eq!(
            (&lines[0]["text"], &lines[0]["notice"]),
            (&json!("alice created #ops"), &json!(true))
        );
        assert_eq!(lines[0]["id"], said[0].2["message"]["messageId"], "the operation's own id");
        assert_eq!(persons(&mut bench, at, "ops"), json!(["alice", "bob"]));
        let unread = if at == BOB || at == BOB_PHONE { 1 } else { 0 };
        assert_eq!(room(&mut bench, at, OPS)["unread"], unread, "{at}");
        assert_eq!(bench.count(at, "SELECT count(*) FROM notices"), 0, "a change is no message");
    }
    assert_eq!(room(&mut bench, CAROL, OPS), Value::Null);
}

#[test]
fn an_invite_goes_to_the_members_and_the_whole_record_to_the_invited() {
    let mut bench = bench();
    let channel = found(&mut bench, ALICE, "ops", &["bob"]);
    say(&mut bench, ALICE, OPS, "before carol").unwrap();
    change(&mut bench, BOB, "channel.invite", "ops", &["carol"]).unwrap();
    let said = said(&bench, BOB);
    assert_eq!(labels(&said), ["laptop", "pad", "pc", "phone"]);
    let invite = json!({"kind": "channel", "op": "invite", "id": channel["id"], "name": "ops", "persons": ["carol"]});
    assert!(said[..3].iter().all(|(_, _, payload)| payload["conv"] == invite));
    assert_eq!(said[3].2["conv"]["op"], "create");
    assert_eq!(said[3].2["conv"]["persons"], json!(["alice", "bob", "carol"]));
    assert_eq!(said[3].2["conv"]["creator"], "alice");
    for at in [ALICE, ALICE_PAD, BOB, BOB_PHONE, CAROL] {
        assert_eq!(persons(&mut bench, at, "ops"), json!(["alice", "bob", "carol"]), "{at}");
        assert_eq!(texts(&mut bench, at, OPS).last().unwrap(), "bob added carol");
    }
    assert_eq!(texts(&mut bench, CAROL, OPS).len(), 1, "earlier lines stay where they are");
    say(&mut bench, CAROL, OPS, "hello").unwrap();
    assert_eq!(texts(&mut bench, ALICE_PAD, OPS).last().unwrap(), "hello");
}

#[test]
fn leaving_goes_to_everybody_and_deletes_the_channel_on_every_own_machine() {
    let mut bench = bench();
    let channel = found(&mut bench, ALICE, "ops", &["bob", "carol"]);
    say(&mut bench, ALICE, OPS, "hello").unwrap();
    bench.call(BOB_PHONE, CONN, "conv.subscribe", json!({})).unwrap();
    bench.call(BOB_PHONE, CONN, "conv.markRead", json!({"conversation": OPS, "upTo": 2})).unwrap();
    assert_eq!(bench.count(BOB_PHONE, "SELECT count(*) FROM read_cursors"), 1);
    bench.call(BOB, CONN, "channel.leave", json!({"name": "ops"})).unwrap();
    let said = said(&bench, BOB);
    assert_eq!(labels(&said), ["laptop", "pad", "pc", "phone"]);
    let leave = json!({"kind": "channel", "op": "leave", "id": channel["id"], "name": "ops"});
    assert_eq!(said[0].2["conv"], leave);
    for at in [BOB, BOB_PHONE] {
        assert_eq!(room(&mut bench, at, OPS), Value::Null, "{at}");
        for table in ["lines", "read_cursors", "channels", "line_copies", "notices"] {
            assert_eq!(
                bench.count(at, &format!("SELECT count(*) FROM {table}")),
                0,
                "{at} {table}"
            );
        }
    }
    let gone = bench.daemons[BOB_PHONE].events_of("conv").pop().unwrap().clone();
    assert_eq!(
        gone,
        json!({"type": "conv", "conversation": OPS, "person": "bob", "seq": 3, "change": "channel", "deleted": true})
    );
    for at in [ALICE, ALICE_PAD, CAROL] {
        assert_eq!(persons(&mut bench, at, "ops"), json!(["alice", "carol"]));
        assert_eq!(texts(&mut bench, at, OPS).last().unwrap(), "bob left");
    }
    assert_eq!(say(&mut bench, BOB, OPS, "x"), Err("not_found".into()));
}

#[test]
fn removing_goes_to_everybody_and_deletes_the_channel_where_the_removed_are() {
    let mut bench = bench();
    found(&mut bench, BOB, "ops", &["alice", "carol"]);
    say(&mut bench, CAROL, OPS, "hello").unwrap();
    change(&mut bench, BOB, "channel.remove", "ops", &["carol"]).unwrap();
    let said = said(&bench, BOB);
    assert_eq!(labels(&said[said.len() - 4..]), ["laptop", "pad", "pc", "phone"]);
    assert_eq!(room(&mut bench, CAROL, OPS), Value::Null);
    assert_eq!(bench.count(CAROL, "SELECT count(*) FROM lines"), 0);
    for at in [ALICE, ALICE_PAD, BOB, BOB_PHONE] {
        assert_eq!(persons(&mut bench, at, "ops"), json!(["bob", "alice"]));
        assert_eq!(texts(&mut bench, at, OPS).last().unwrap(), "bob removed carol");
    }
}

#[test]
fn a_channel_that_was_left_does_not_come_back_by_a_create_that_was_under_way() {
    let mut bench = bench();
    let again = |bench: &mut Bench, n: u64| {
        let conv = create(1, &["bob", "alice"], "bob");
        arrives(bench, BOB, ALICE, None, op(n, conv))
    };
    assert_eq!(again(&mut bench, 10), "delivered");
    assert_eq!(again(&mut bench, 11), "rejected forbidden", "an id that is held");
    bench.call(ALICE, CONN, "channel.leave", json!({"name": "ops"})).unwrap();
    assert_eq!(again(&mut bench, 12), "rejected forbidden");
    bench.now.wall = bench.now.wall.plus(TTL_MS + CLOCK_SKEW_MS - 10_000);
    assert_eq!(again(&mut bench, 13), "rejected forbidden");
    bench.now.wall = bench.now.wall.plus(10_000);
    assert_eq!(again(&mut bench, 14), "delivered");
}

#[test]
fn a_create_holds_sender_and_receiver_and_only_persons_with_a_machine() {
    let mut bench = bench();
    for (n, persons, code) in [
        (1, vec!["alice", "carol"], "forbidden"),
        (2, vec!["bob", "carol"], "forbidden"),
        (3, vec!["bob", "alice", "nobody"], "not_found"),
        (4, vec!["bob", "nobody"], "not_found"),
    ] {
        let conv = create(n, &persons, "bob");
        let answer = arrives(&mut bench, BOB, ALICE, None, op(n + 10, conv));
        assert_eq!(answer, format!("rejected {code}"), "{persons:?}");
    }
    assert_eq!(bench.count(ALICE, "SELECT count(*) FROM channels"), 0);
    assert_eq!(bench.count(ALICE, "SELECT count(*) FROM lines"), 0);
    let conv = create(5, &["bob", "alice"], "dave");
    assert_eq!(
        arrives(&mut bench, BOB, ALICE, None, op(20, conv)),
        "delivered",
        "the creator may be gone"
    );
    assert_eq!(texts(&mut bench, ALICE, OPS), ["bob added alice"]);
}

#[test]
fn operations_are_looked_up_by_id_and_name_the_channel_as_it_is() {
    let mut bench = bench();
    let conv = create(1, &["bob", "alice"], "bob");
    arrives(&mut bench, BOB, ALICE, None, op(10, conv));
    for (n, word, more) in [
        (11, "post", json!({})),
        (12, "invite", json!({"persons": ["carol"]})),
        (13, "leave", json!({})),
    ] {
        let mut other_name = conv_of(word, &more, 1);
        other_name["name"] = json!("else");
        assert_eq!(
            arrives(&mut bench, BOB, ALICE, None, op(n, other_name)),
            "rejected not_found",
            "{word}"
        );
        let other_id = conv_of(word, &more, 2);
        assert_eq!(
            arrives(&mut bench, BOB, ALICE, None, op(n + 10, other_id)),
            "rejected not_found",
            "{word}"
        );
    }
    assert_eq!(texts(&mut bench, ALICE, OPS), ["bob created #ops"]);
}

fn conv_of(word: &str, more: &Value, n: u64) -> Value {
    conv(word, n, more.clone())
}

#[test]
fn only_members_invite_and_post_and_only_creators_and_admins_remove() {
    let mut bench = bench();
    let made = create(1, &["carol", "alice"], "carol");
    arrives(&mut bench, CAROL, ALICE, None, op(10, made));
    let by = |bench: &mut Bench, from: usize, n: u64, word: &str, persons: &[&str]| {
        let more = if persons.is_empty() { json!({}) } else { json!({"persons": persons}) };
        arrives(bench, from, ALICE, None, op(n, conv(word, 1, more)))
    };
    assert_eq!(by(&mut bench, BOB, 11, "post", &[]), "rejected forbidden");
    assert_eq!(by(&mut bench, BOB, 12, "invite", &["bob"]), "rejected forbidden");
    assert_eq!(by(&mut bench, BOB, 13, "leave", &[]), "rejected forbidden");
    assert_eq!(by(&mut bench, BOB, 14, "remove", &["carol"]), "rejected forbidden");
    assert_eq!(by(&mut bench, CAROL, 15, "invite", &["nobody"]), "rejected not_found");
    assert_eq!(by(&mut bench, CAROL, 16, "invite", &["bob"]), "delivered");
    assert_eq!(
        by(&mut bench, BOB, 17, "remove", &["carol"]),
        "rejected forbidden",
        "no creator, no admin"
    );
    assert_eq!(by(&mut bench, CAROL, 18, "remove", &["carol"]), "rejected invalid_request");
    assert_eq!(by(&mut bench, BOB, 19, "post", &[]), "delivered");
    let machine = bench.machine(BOB);
    let admin = entry(&bench, &Op::MemberRole { machine, role: Role::Admin }, bench.now.wall);
    bench.relay.append(&admin);
    bench.settle();
    assert_eq!(by(&mut bench, BOB, 20, "remove", &["carol"]), "delivered", "an admin may");
    assert_eq!(
        by(&mut bench, BOB, 21, "remove", &["carol"]),
        "rejected not_found",
        "no member any more"
    );
    assert_eq!(by(&mut bench, BOB, 22, "leave", &[]), "delivered");
    assert_eq!(persons(&mut bench, ALICE, "ops"), json!(["alice"]), "the sender alone left");
}

#[test]
fn a_change_is_not_kept_away_by_a_line_filed_under_its_id() {
    let mut bench = bench();
    let made = create(1, &["bob", "alice", "carol"], "bob");
    arrives(&mut bench, BOB, ALICE, None, op(10, made));
    assert_eq!(arrives(&mut bench, CAROL, ALICE, None, super::line(11, "first")), "delivered");
    let remove = || op(11, conv("remove", 1, json!({"persons": ["carol"]})));
    assert_eq!(arrives(&mut bench, BOB, ALICE, None, remove()), "delivered");
    assert_eq!(persons(&mut bench, ALICE, "ops"), json!(["bob", "alice"]));
    assert_eq!(texts(&mut bench, ALICE, OPS), ["bob created #ops", "bob removed carol"]);
    assert_eq!(texts(&mut bench, ALICE, "dm:carol"), ["first"]);
    // Not by what its own author said elsewhere either; and it is not applied twice.
    arrives(&mut bench, BOB, ALICE, None, super::line(12, "of another room"));
    let invite = |n| op(n, conv("invite", 1, json!({"persons": ["carol"]})));
    for id in [12, 13, 13] {
        assert_eq!(arrives(&mut bench, BOB, ALICE, None, invite(id)), "delivered", "{id}");
    }
    let told = texts(&mut bench, ALICE, OPS);
    assert_eq!(told[2..], ["bob added carol", "bob added carol"], "12, and 13 once");
}

#[test]
fn a_channel_whose_name_is_taken_is_held_under_another_and_envelopes_carry_its_own() {
    let mut bench = bench();
    found(&mut bench, ALICE, "ops", &["carol"]);
    let theirs = found(&mut bench, BOB, "ops", &["alice"]);
    let list = room(&mut bench, ALICE, "channel:ops-2");
    assert_eq!((&list["name"], &list["id"]), (&json!("ops"), &theirs["id"]));
    assert_eq!(texts(&mut bench, ALICE, "channel:ops-2"), ["bob created #ops-2"]);
    say(&mut bench, ALICE, "channel:ops-2", "to bob").unwrap();
    assert_eq!(texts(&mut bench, BOB, OPS).last().unwrap(), "to bob");
    let (_, _, payload) = said(&bench, ALICE).pop().unwrap();
    assert_eq!(payload["conv"]["name"], "ops");
    let hits =
        bench.call(ALICE, CONN, "search", json!({"query": "bob", "conversation": "channel:ops-2"}));
    assert_eq!(hits.unwrap()["hits"][0]["conversation"], "channel:ops-2");
    change(&mut bench, ALICE, "channel.invite", "ops-2", &["carol"]).unwrap();
    assert_eq!(persons(&mut bench, BOB, "ops"), json!(["bob", "alice", "carol"]));
    bench.call(ALICE, CONN, "channel.leave", json!({"name": "ops-2"})).unwrap();
    bench.advance(1_000);
    assert_eq!(persons(&mut bench, BOB, "ops"), json!(["bob", "carol"]));
    assert_ne!(room(&mut bench, ALICE, OPS), Value::Null, "the other one stays");
}

#[test]
fn a_large_channel_is_gone_at_once_and_its_lines_go_in_steps() {
    let mut bench = bench();
    let made = create(1, &["bob", "alice"], "bob");
    arrives(&mut bench, BOB, ALICE, None, op(10, made));
    let store = bench.kill(ALICE);
    let store = super::super::bench::write(store, |tx| {
        let room = format!("channel:{}", id(1));
        (0..2_500)
            .try_for_each(|n| super::filed_in(tx, &room, 9_000 + n, "said there", "said there"))
    });
    bench.start(ALICE, store);
    bench.advance(30_500);
    bench.admin(ALICE);
    let lines = |bench: &Bench| bench.count(ALICE, "SELECT count(*) FROM lines");
    let found = |bench: &mut Bench, query: &str| {
        let hits = bench.call(ALICE, CONN, "search", json!({"query": query, "limit": 1})).unwrap();
        hits["hits"].as_array().unwrap().len()
    };
    assert_eq!((lines(&bench), found(&mut bench, "said")), (2_501, 1));
    bench.call(ALICE, CONN, "channel.leave", json!({"name": "ops"})).unwrap();
    assert_eq!(lines(&bench), 1_501, "a turn takes a thousand");
    assert_eq!(room(&mut bench, ALICE, OPS), Value::Null);
    assert_eq!((found(&mut bench, "said"), found(&mut bench, "sa")), (0, 0));
    assert_eq!(
        bench.call(ALICE, CONN, "conv.read", json!({"conversation": OPS})),
        Err("not_found".into())
    );
    let store = bench.kill(ALICE);
    bench.start(ALICE, store);
    bench.settle();
    assert_eq!(lines(&bench), 501, "a start goes on with it");
    bench.advance(1_000);
    assert_eq!(lines(&bench), 0);
    assert_eq!(bench.count(ALICE, "SELECT count(*) FROM channels_left"), 1);
}

#[test]
fn a_machine_holds_two_hundred_channels() {
    let mut bench = bench();
    let store = bench.kill(ALICE);
    let store = super::super::bench::write(store, |tx| {
        for n in 0..199 {
            let row = crate::store::channels::ChannelRow {
                record: messaging_core::channel::ChannelRecord {
                    id: id(1_000 + n),
                    name: format!("c{n}").parse().unwrap(),
                    creator: "bob".parse().unwrap(),
                    persons: vec!["bob".parse().unwrap(), "alice".parse().unwrap()],
                },
                local: format!("c{n}").parse().unwrap(),
                created_at: super::super::bench::START.wall,
            };
            crate::store::channels::insert(tx, &row)?;
        }
        Ok(())
    });
    bench.start(ALICE, store);
    bench.advance(30_000);
    bench.admin(ALICE);
    let made = |bench: &mut Bench, n: u64| {
        let conv = create(n, &["bob", "alice"], "bob");
        arrives(bench, BOB, ALICE, None, op(n + 100, conv))
    };
    assert_eq!(made(&mut bench, 1), "delivered");
    assert_eq!(made(&mut bench, 2), "rejected rate_limited");
    assert_eq!(
        change(&mut bench, ALICE, "channel.create", "more", &[]),
        Err("invalid_request".into())
    );
}

#[test]
fn a_call_about_a_channel_is_checked_before_anything_is_stored() {
    let mut bench = bench();
    found(&mut bench, ALICE, "ops", &["bob"]);
    let thirty_two: Vec<String> = (0..31).map(|n| format!("n{n}")).collect();
    let many: Vec<&str> = thirty_two.iter().map(String::as_str).collect();
    for (method, name, persons, code) in [
        ("channel.create", "ops", vec!["bob"], "invalid_request"),
        ("channel.create", "new", vec!["nobody"], "not_found"),
        ("channel.create", "new", vec!["bob", "bob"], "invalid_request"),
        ("channel.create", "new", vec!["alice"], "invalid_request"),
        ("channel.create", "new", many, "not_found"),
        ("channel.invite", "none", vec!["carol"], "not_found"),
        ("channel.invite", "ops", vec!["nobody"], "not_found"),
        ("channel.invite", "ops", vec!["bob"], "invalid_request"),
        ("channel.invite", "ops", vec!["carol", "bob"], "invalid_request"),
        ("channel.remove", "none", vec!["bob"], "not_found"),
        ("channel.remove", "ops", vec!["alice"], "invalid_request"),
        ("channel.remove", "ops", vec!["carol"], "not_found"),
    ] {
        assert_eq!(
            change(&mut bench, ALICE, method, name, &persons),
            Err(code.into()),
            "{method} {persons:?}"
        );
    }
    assert_eq!(
        change(&mut bench, BOB, "channel.remove", "ops", &["alice"]),
        Err("forbidden".into())
    );
    let leave = bench.call(ALICE, CONN, "channel.leave", json!({"name": "none"}));
    assert_eq!(leave, Err("not_found".into()));
    assert_eq!(bench.count(ALICE, "SELECT count(*) FROM lines"), 1);
    assert_eq!(bench.count(ALICE, "SELECT count(*) FROM channels"), 1);
}

#[test]
fn a_person_with_no_machine_left_is_in_no_channel() {
    let mut bench = bench();
    found(&mut bench, ALICE, "ops", &["bob", "carol"]);
    for (at, left) in [(BOB, json!(["alice", "bob", "carol"])), (CAROL, json!(["alice", "bob"]))] {
        let machine = bench.machine(at);
        let remove = entry(&bench, &Op::MemberRemove { machine }, bench.now.wall);
        bench.relay.append(&remove);
        bench.settle();
        for at in [ALICE, ALICE_PAD, BOB_PHONE] {
            assert_eq!(persons(&mut bench, at, "ops"), left, "{at}: bob has another machine");
        }
    }
    let before = said(&bench, ALICE).len();
    change(&mut bench, ALICE, "channel.remove", "ops", &["bob"]).unwrap();
    assert_eq!(said(&bench, ALICE).len(), before + 2);
}
