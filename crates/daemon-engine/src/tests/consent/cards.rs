//! Cards: what a person says they take is told to whom it is about, and believed from their own devices only.
//! Spec: §6.9 "Contact cards", "Cards on the daemon", D3.12, ruling R4

use messaging_core::consent::{AskLevel, CardCan, CardDraft, CardSeq};
use messaging_core::envelope::SealedType;
use messaging_core::ids::PersonId;
use messaging_core::time::Ms;
use serde_json::{Value, json};

use super::super::bench::{Bench, CONN};
use super::super::forge::{message, personal};
use super::super::relay;
use super::{TWO, Town, remove};

/// Alice has two devices, and so has Bob.
const FOUR: [(&str, &str); 4] =
    [("alice", "laptop"), ("bob", "desk"), ("alice", "pad"), ("bob", "phone")];
const DAY_MS: u64 = 86_400_000;

/// What a machine knows of what a person takes.
fn reach(town: &mut Town, at: usize, person: &str) -> Value {
    let contacts = town.bench.call(at, CONN, "contacts.list", json!({})).unwrap();
    let found = contacts["reach"].as_array().unwrap().iter();
    let found = found.clone().find(|reach| reach["person"] == person).cloned().unwrap();
    let detail = town.bench.call(at, CONN, "people.get", json!({"person": person})).unwrap();
    assert_eq!(detail["reach"], found, "the same wherever it is shown");
    found
}

fn default() -> Value {
    json!({"chat": true, "agentMail": true, "ask": "request"})
}

/// What a machine sent another about cards: `card` or `get`.
fn about_cards(bench: &Bench, from: usize, to: usize) -> Vec<String> {
    let sent = bench.relay.sent_by(from).into_iter();
    let there = sent
        .filter(|env| env["type"] == "message" && relay::device(env, "to") == bench.machine(to));
    let opened = there.map(|env| bench.opened(to, &env));
    let cards = opened.filter(|payload| payload["conv"]["kind"] == "card");
    cards.map(|payload| payload["conv"]["what"].as_str().unwrap().to_owned()).collect()
}

/// A card of Bob's for Alice, signed by a device.
fn card(bench: &Bench, by: usize, from: &str, seq: u64, ask: AskLevel) -> Value {
    let (from, to) = (PersonId::parse(from).unwrap(), PersonId::parse("alice").unwrap());
    let draft = CardDraft {
        realm: *bench.relay.roster.team_id().unwrap(),
        from: &from,
        to: &to,
        seq: CardSeq(seq),
        ts: Ms(seq),
        grant_id: None,
        can: CardCan { chat: true, agent_mail: true, ask, trusted_until: None },
    };
    draft.sign(&bench.daemons[by].keys.identity.signing).unwrap().raw().clone()
}

fn payload(what: &str, data: Value) -> Value {
    let mut payload =
        json!({"kind": "message", "message": message(""), "conv": {"kind": "card", "what": what}});
    payload["message"]["parts"] = json!([{"data": data}]);
    payload
}

/// Delivers a card to Alice's laptop, from a device of Bob's.
fn hand_over(town: &mut Town, from: usize, card: Value) {
    let env = town.bench.forge(
        from,
        0,
        personal(SealedType::Message, payload("card", json!({"card": card}))),
    );
    town.bench.deliver(0, &env);
    assert!(town.bench.acked(0, &env));
    assert_eq!(town.bench.answer_to(0, from, &env), None, "a card is answered with nothing");
}

/// Asks Bob's desk for a card as Alice's laptop.
fn want(town: &mut Town) {
    let get = payload("get", json!({"get": true}));
    let env = town.bench.forge(0, 1, personal(SealedType::Message, get));
    town.bench.deliver(1, &env);
    assert!(town.bench.acked(1, &env));
    assert_eq!(town.bench.answer_to(1, 0, &env), None, "nor is the wish for one");
    town.bench.advance(1_000);
}

#[test]
fn whoever_a_grant_is_about_is_told_on_each_of_their_devices() {
    let mut town = Town::of(&FOUR);
    assert_eq!(reach(&mut town, 0, "bob")["can"], default());
    assert_eq!(reach(&mut town, 0, "bob")["source"], "default");
    let before = town.bench.now.wall;
    town.says("alice", json!({"chat": "muted", "agentMail": "blocked", "ask": "open"}));
    for at in [0, 2] {
        let told = reach(&mut town, at, "bob");
        assert_eq!(told["can"], json!({"chat": true, "agentMail": false, "ask": "open"}), "{at}");
        assert_eq!((&told["source"], &told["at"]), (&json!("card"), &json!(before)));
    }
    assert!(town.bench.receipts(0, 1).is_empty(), "a card is answered with nothing");
    assert_eq!(about_cards(&town.bench, 1, 3), Vec::<String>::new(), "one's own have none");
    assert_eq!(reach(&mut town, 3, "alice")["source"], "default");
    // A clear is told too; so is what an answer to a request said.
    town.says("alice", json!({}));
    assert_eq!(reach(&mut town, 0, "bob")["can"], default());
    let id = town.bench.send(&town.alice, "bob/web@desk", "may I?");
    town.bench.advance(1_000);
    town.answer(&id, "always").unwrap();
    assert_eq!(reach(&mut town, 0, "bob")["can"]["ask"], "open");
    // Trust is shown until its end.
    let until = town.bench.now.wall.plus(DAY_MS);
    town.says("alice", json!({"ask": "open", "trustedUntil": until}));
    assert_eq!(reach(&mut town, 0, "bob")["can"]["trustedUntil"], json!(until));
    town.bench.advance(DAY_MS);
    let can = reach(&mut town, 0, "bob")["can"].clone();
    assert_eq!((&can["ask"], can.get("trustedUntil")), (&json!("open"), None));
    // What is said about a channel, and about oneself, is on no card.
    let told = about_cards(&town.bench, 1, 0).len();
    town.bench
        .call(1, CONN, "channel.create", json!({"name": "ops", "persons": ["alice"]}))
        .unwrap();
    let set = json!({"subject": {"channel": "ops"}, "ask": "no"});
    town.bench.call(1, CONN, "grant.set", set).unwrap();
    town.says("bob", json!({"discoverable": true}));
    assert_eq!(about_cards(&town.bench, 1, 0).len(), told);
}

#[test]
fn a_block_is_not_announced_and_shows_at_the_next_refusal() {
    let mut town = Town::new();
    town.says("alice", json!({"ask": "open"}));
    town.says("alice", json!({"chat": "blocked"}));
    assert_eq!(about_cards(&town.bench, 1, 0), ["card"]);
    assert_eq!(reach(&mut town, 0, "bob")["can"]["ask"], "open", "the last card stays");
    let id = town.writes("hello?");
    assert_eq!(town.stage(&id), "rejected refused");
    assert_eq!(reach(&mut town, 0, "bob")["source"], "default", "until a refusal is met");
    assert_eq!(about_cards(&town.bench, 0, 1), ["get"], "a fresh one is asked for");
    assert_eq!(
        about_cards(&town.bench, 1, 0),
        ["card"],
        "and a block is not announced then either"
    );
    let id = town.writes("hello??");
    assert_eq!(town.stage(&id), "rejected refused");
    assert_eq!(about_cards(&town.bench, 0, 1), ["get"], "once a day");
    town.says("alice", json!({"chat": "open"}));
    assert_eq!(about_cards(&town.bench, 1, 0), ["card", "card"]);
    assert_eq!(reach(&mut town, 0, "bob")["source"], "card");
}

#[test]
fn every_way_of_saying_no_drops_the_card() {
    for (levels, code) in [(json!({"ask": "no"}), "refused"), (json!({}), "declined")] {
        let mut town = Town::new();
        town.says("alice", levels);
        assert_eq!(reach(&mut town, 0, "bob")["source"], "card");
        let id = town.writes("may I?");
        if code == "declined" {
            town.answer(&id, "decline").unwrap();
        }
        assert_eq!(town.stage(&id), format!("rejected {code}"));
        assert_eq!(about_cards(&town.bench, 0, 1), ["get"], "{code}");
        // Bob said something about Alice, so she gets a fresh one, with what holds now.
        assert_eq!(about_cards(&town.bench, 1, 0), ["card", "card"], "{code}");
        assert_eq!(reach(&mut town, 0, "bob")["source"], "card", "{code}");
    }
    // A line that is refused is a refusal like any; another trouble is none.
    let mut town = Town::new();
    town.says("alice", json!({"chat": "blocked"}));
    town.bench
        .call(0, CONN, "person.send", json!({"conversation": "dm:bob", "text": "hello?"}))
        .unwrap();
    town.bench.advance(1_000);
    assert_eq!(about_cards(&town.bench, 0, 1), ["get"]);
    let mut town = Town::new();
    town.says("alice", json!({"ask": "open"}));
    let id = town.bench.send(&town.alice, "bob/nobody@desk", "anybody?");
    town.bench.advance(1_000);
    assert_eq!(town.stage(&id), "rejected unknown_session");
    assert!(about_cards(&town.bench, 0, 1).is_empty());
}

#[test]
fn a_card_is_asked_for_once_a_day() {
    let mut town = Town::new();
    let get = |town: &mut Town, person: &str| {
        let asked = town.bench.call(0, CONN, "card.get", json!({"person": person}));
        town.bench.advance(1_000);
        asked.map(|asked| asked["sent"].clone())
    };
    assert_eq!(get(&mut town, "bob").unwrap(), json!(true));
    assert_eq!(get(&mut town, "bob").unwrap(), json!(false));
    assert_eq!(about_cards(&town.bench, 0, 1), ["get"]);
    assert!(about_cards(&town.bench, 1, 0).is_empty(), "the defaults she knows herself");
    town.restart(0);
    assert_eq!(get(&mut town, "bob").unwrap(), json!(false), "a restart is no new day");
    town.bench.advance(DAY_MS);
    assert_eq!(get(&mut town, "bob").unwrap(), json!(true));
    assert_eq!(get(&mut town, "nobody").unwrap_err(), "not_found");
    assert_eq!(get(&mut town, "alice").unwrap_err(), "invalid_request");
    // What was noted while the clock was ahead holds nobody up.
    town.bench.advance(DAY_MS);
    town.bench.now.wall = town.bench.now.wall.plus(300 * DAY_MS);
    assert_eq!(get(&mut town, "bob").unwrap(), json!(true));
    town.bench.now.wall = town.bench.now.wall.minus(300 * DAY_MS);
    assert_eq!(get(&mut town, "bob").unwrap(), json!(true));
}

#[test]
fn a_wish_for_a_card_is_granted_once_a_day_to_whom_something_was_said_about() {
    let mut town = Town::new();
    want(&mut town);
    assert!(about_cards(&town.bench, 1, 0).is_empty());
    town.says("alice", json!({"ask": "no"}));
    assert_eq!(about_cards(&town.bench, 1, 0).len(), 1);
    want(&mut town);
    assert_eq!(about_cards(&town.bench, 1, 0).len(), 2);
    want(&mut town);
    town.restart(1);
    want(&mut town);
    assert_eq!(about_cards(&town.bench, 1, 0).len(), 2, "once a day");
    town.bench.advance(DAY_MS);
    want(&mut town);
    assert_eq!(about_cards(&town.bench, 1, 0).len(), 3);
}

#[test]
fn the_card_with_the_highest_number_of_a_current_device_is_kept() {
    let mut town = Town::of(&FOUR);
    const PHONE: usize = 3;
    let ask = |town: &mut Town| reach(town, 0, "bob")["can"]["ask"].clone();
    let newer = card(&town.bench, 1, "bob", 5, AskLevel::No);
    hand_over(&mut town, 1, newer);
    assert_eq!(ask(&mut town), "no");
    for seq in [4, 5] {
        let older = card(&town.bench, PHONE, "bob", seq, AskLevel::Open);
        hand_over(&mut town, PHONE, older);
        assert_eq!(ask(&mut town), "no", "{seq}");
    }
    // One that another device of Bob's signed is his.
    let highest = card(&town.bench, PHONE, "bob", u64::from(u32::MAX), AskLevel::Open);
    hand_over(&mut town, 1, highest);
    assert_eq!(ask(&mut town), "open");
    // One that is forged, of somebody else, or signed by a device that is not his, is not kept.
    let mut forged = card(&town.bench, 1, "bob", u64::from(u32::MAX) + 1, AskLevel::Request);
    forged["can"]["ask"] = json!("no");
    let mut others = card(&town.bench, 1, "bob", u64::from(u32::MAX) + 2, AskLevel::No);
    others["to"] = json!("carol");
    let mine = card(&town.bench, 2, "bob", u64::from(u32::MAX) + 3, AskLevel::No);
    for card in [forged, others, mine] {
        hand_over(&mut town, 1, card);
        assert_eq!(ask(&mut town), "open");
    }
    let skipped = town.bench.daemons[0].log.iter().filter(|event| event.name() == "card.skipped");
    assert_eq!(skipped.count(), 3);
    // The phone is removed: its card counts as absent, whatever its number, and the next one is kept.
    town.bench.cut(1);
    town.bench.relay.up = false;
    remove(&mut town.bench, PHONE);
    assert_eq!(reach(&mut town, 0, "bob")["source"], "default");
    let next = card(&town.bench, 1, "bob", 6, AskLevel::No);
    hand_over(&mut town, 1, next);
    assert_eq!(ask(&mut town), "no");
}

#[test]
fn a_card_from_somebody_who_is_blocked_is_not_kept() {
    let mut town = Town::new();
    town.try_says(0, "bob", json!({"chat": "blocked"})).unwrap();
    town.says("alice", json!({"ask": "open"}));
    assert_eq!(about_cards(&town.bench, 1, 0), ["card"]);
    assert_eq!(reach(&mut town, 0, "bob")["source"], "default");
    town.try_says(0, "bob", json!({})).unwrap();
    town.says("alice", json!({"ask": "no"}));
    assert_eq!(reach(&mut town, 0, "bob")["can"]["ask"], "no");
}

#[test]
fn what_is_signed_anew_is_told_and_numbers_rise_when_the_clock_goes_back() {
    let mut town = Town::of(&FOUR);
    let said = json!({"agentMail": "blocked", "ask": "open"});
    town.try_says(3, "alice", said).unwrap();
    assert_eq!(reach(&mut town, 0, "bob")["can"]["ask"], "open");
    remove(&mut town.bench, 3);
    town.bench.advance(5_000);
    let told = reach(&mut town, 0, "bob");
    assert_eq!(told["can"], json!({"chat": true, "agentMail": false, "ask": "request"}));
    assert_eq!(told["source"], "card");
    let back = 3 * 60_000;
    town.bench.now.wall = town.bench.now.wall.minus(back);
    town.says("alice", json!({"ask": "no"}));
    assert_eq!(reach(&mut town, 0, "bob")["can"]["ask"], "no");
    let numbers = town.bench.relay.sent_by(1).into_iter().filter(|env| env["type"] == "message");
    let numbers =
        numbers.filter(|env| relay::device(env, "to") == town.bench.machine(0)).filter_map(|env| {
            let data = town.bench.opened(0, &env)["message"]["parts"][0]["data"].clone();
            data["card"]["seq"].as_u64()
        });
    let numbers: Vec<u64> = numbers.collect();
    assert_eq!(numbers.len(), 2);
    assert!(numbers[0] < numbers[1], "{numbers:?}");
}

#[test]
fn a_person_without_an_agent_is_listed_while_their_card_is_held() {
    let mut bench = Bench::reserved(&TWO);
    (0..2).for_each(|at| bench.admin(at));
    let contacts = bench.call(0, CONN, "contacts.list", json!({})).unwrap();
    assert_eq!(contacts["reach"], json!([]));
    let set = json!({"subject": {"person": "alice"}, "ask": "no"});
    bench.call(1, CONN, "grant.set", set).unwrap();
    bench.advance(1_000);
    let contacts = bench.call(0, CONN, "contacts.list", json!({})).unwrap();
    assert_eq!(contacts["reach"][0]["person"], "bob");
}
