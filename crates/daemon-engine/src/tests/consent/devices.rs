//! Several devices of one person: they hold the same grants, and what a removed one let in waits for the person.
//! Spec: §6.9 "Signers", "Sync", D3.13, rulings R4 and R6

use messaging_core::consent::{GrantDraft, Levels, Subject, sign_lapse};
use messaging_core::envelope::SealedType;
use messaging_core::ids::{PersonId, Ulid};
use messaging_core::limits::CLOCK_SKEW_MS;
use messaging_core::roster::Op;
use messaging_core::time::Ms;
use serde_json::{Value, json};

use super::super::bench::{Bench, CONN};
use super::super::forge::{mail, message, personal};
use super::super::roster::entry;
use super::{Town, remove};

/// Bob has three devices.
const BOBS: [(&str, &str); 4] =
    [("alice", "laptop"), ("bob", "desk"), ("bob", "phone"), ("bob", "pad")];
const DESK: usize = 1;
const PHONE: usize = 2;
const PAD: usize = 3;

/// What a device's grants say, without what differs by nature.
fn said(town: &mut Town, at: usize) -> Value {
    town.grants(at)["grants"].clone()
}

/// A grant of Bob's, signed by one of his devices.
fn signed(bench: &Bench, by: usize, levels: Value, ts: Ms) -> Value {
    let bob = PersonId::parse("bob").unwrap();
    let levels: Levels = serde_json::from_value(levels).unwrap();
    let subject = Subject::Person(PersonId::parse("alice").unwrap());
    let realm = *bench.relay.roster.team_id().unwrap();
    let id = Ulid::from_parts(ts, [9; 10]);
    let draft = GrantDraft { realm, id, person: &bob, ts, subject: &subject, levels };
    draft.sign(&bench.daemons[by].keys.identity.signing).unwrap().raw().clone()
}

/// A sync of these grants.
fn sync(bench: &mut Bench, from: usize, to: usize, grants: Value) -> Value {
    let payload = json!({
        "kind": "message", "conv": {"kind": "self", "what": "grant"},
        "message": {"messageId": "01HF7YAT00AAAAAAAAAAAAAAAA", "role": "ROLE_USER", "parts": [{"data": {"grants": grants}}]}
    });
    let env = bench.forge(from, to, personal(SealedType::Message, payload));
    bench.deliver(to, &env);
    env
}

#[test]
fn what_is_set_on_one_device_holds_on_all_of_them() {
    let mut town = Town::of(&BOBS);
    town.says("alice", json!({"chat": "blocked"}));
    for at in [PHONE, PAD] {
        assert_eq!(said(&mut town, at), said(&mut town, DESK));
        let env = town.bench.forge(0, at, mail("nobody", "x"));
        town.bench.deliver(at, &env);
        assert_eq!(town.bench.answer_to(at, 0, &env).unwrap(), "rejected refused");
    }
    assert!(town.bench.receipts(PHONE, DESK).is_empty(), "a sync is answered with nothing");
    assert_eq!(town.grants(0)["grants"], json!([]), "nobody else's device holds it");
}

#[test]
fn devices_that_could_not_hear_each_other_agree_afterwards() {
    let mut town = Town::of(&BOBS);
    town.bench.relay.up = false;
    for at in [DESK, PHONE, PAD] {
        town.bench.cut(at);
    }
    for (at, levels) in [
        (DESK, json!({"ask": "open"})),
        (PHONE, json!({"chat": "blocked"})),
        (PAD, json!({"chat": "muted", "ask": "no"})),
    ] {
        town.bench.advance(10);
        town.try_says(at, "alice", levels).unwrap();
    }
    town.bench.relay.up = true;
    town.bench.advance(120_000);
    let newest = said(&mut town, PAD);
    assert_eq!(newest[0]["chat"], "muted");
    assert_eq!(said(&mut town, DESK), newest);
    assert_eq!(said(&mut town, PHONE), newest);
}

#[test]
fn a_removed_devices_blocks_are_kept_and_what_it_let_in_waits() {
    let mut town = Town::of(&BOBS);
    let mixed = json!({"chat": "blocked", "agentMail": "open", "ask": "request"});
    let before = town.try_says(PHONE, "alice", mixed).unwrap();
    town.try_says(PHONE, "bob", json!({"discoverable": true})).unwrap();
    remove(&mut town.bench, PHONE);
    town.bench.advance(5_000);
    for at in [DESK, PAD] {
        let list = town.grants(at);
        let grants = list["grants"].as_array().unwrap();
        assert_eq!(grants.len(), 1, "what only let in is gone");
        let kept = &grants[0];
        assert_eq!((&kept["id"], &kept["ts"]), (&before["id"], &before["ts"]));
        assert_eq!(
            (&kept["chat"], kept.get("agentMail"), kept.get("ask")),
            (&json!("blocked"), None, None)
        );
        assert!(kept["resignedAt"].is_u64());
        let review = list["review"].as_array().unwrap();
        assert_eq!(review.len(), 2);
        let of_alice = review.iter().find(|item| item["subject"]["person"] == "alice").unwrap();
        assert_eq!((&of_alice["agentMail"], &of_alice["ask"]), (&json!("open"), &json!("request")));
        assert_eq!(of_alice.get("chat"), None);
        let env = town.bench.forge(0, at, mail("nobody", "x"));
        town.bench.deliver(at, &env);
        assert_eq!(town.bench.answer_to(at, 0, &env).unwrap(), "rejected refused", "still blocked");
    }
    assert_eq!(said(&mut town, DESK), said(&mut town, PAD), "the same signer on both");
    // Confirming it on one takes it off the list of both.
    town.says("alice", json!({"chat": "blocked", "agentMail": "open"}));
    for at in [DESK, PAD] {
        let review = town.grants(at)["review"].clone();
        assert_eq!(review.as_array().unwrap().len(), 1, "{review}");
        assert_eq!(review[0]["subject"]["person"], "bob");
    }
}

#[test]
fn a_device_that_was_away_at_the_removal_comes_to_the_same() {
    let mut town = Town::of(&BOBS);
    // The phone's grant reaches the desk only, in the place of an older one that the pad still holds.
    town.says("alice", json!({"chat": "muted"}));
    let store = town.bench.kill(PAD);
    town.try_says(PHONE, "alice", json!({"chat": "open"})).unwrap();
    remove(&mut town.bench, PHONE);
    town.bench.advance(5_000);
    assert_eq!(town.grants(DESK)["grants"], json!([]), "the widening lapsed");
    town.bench.start(PAD, store);
    town.bench.advance(60_000);
    town.bench.admin(PAD);
    let at_pad = said(&mut town, PAD);
    assert_eq!(said(&mut town, DESK), at_pad);
    assert_eq!(at_pad[0]["chat"], "muted");
}

#[test]
fn a_new_device_is_sent_everything() {
    let mut town = Town::of(&[("alice", "laptop"), ("bob", "desk")]);
    town.says("alice", json!({"chat": "muted"}));
    let ticket = town.bench.call(0, CONN, "team.invite", json!({"person": "bob"})).unwrap();
    let phone = town.bench.newcomer();
    town.bench.admin(phone);
    let join = json!({"ticket": ticket["ticket"], "label": "phone"});
    town.bench.call(phone, CONN, "team.join", join).unwrap();
    town.bench.advance(5_000);
    assert_eq!(said(&mut town, phone), said(&mut town, DESK));
    let snapshots = town.bench.relay.sent_by(DESK).into_iter().filter(|env| {
        super::super::relay::device(env, "to") == town.bench.machine(phone)
            && town.bench.opened(phone, env)["conv"]["what"] == "snapshot"
    });
    assert_eq!(snapshots.count(), 1);
}

#[test]
fn each_grant_of_a_sync_stands_for_itself() {
    let mut town = Town::of(&BOBS);
    let now = town.bench.now.wall;
    let good = signed(&town.bench, PHONE, json!({"ask": "no"}), now);
    let mut forged = good.clone();
    forged["ask"] = json!("open");
    forged["ts"] = json!(now.plus(5));
    let others = signed(&town.bench, 0, json!({"ask": "open"}), now.plus(6));
    let early =
        signed(&town.bench, PHONE, json!({"ask": "open"}), now.plus(CLOCK_SKEW_MS + 60_000));
    let env = sync(&mut town.bench, PHONE, DESK, json!([forged, {"v": 1}, others, good, early]));
    let grants = said(&mut town, DESK);
    assert_eq!(grants.as_array().unwrap().len(), 1);
    assert_eq!(grants[0]["ask"], "no");
    assert!(town.bench.acked(DESK, &env));
    assert_eq!(town.bench.answer_to(DESK, PHONE, &env), None);
    let skipped =
        town.bench.daemons[DESK].log.iter().filter(|event| event.name() == "grant.skipped");
    assert_eq!(skipped.count(), 4);
    // The older copy does not come back.
    let older = signed(&town.bench, PAD, json!({"ask": "open"}), now.minus(1));
    sync(&mut town.bench, PAD, DESK, json!([older]));
    assert_eq!(said(&mut town, DESK)[0]["ask"], "no");
}

#[test]
fn nobody_else_syncs() {
    let mut town = Town::of(&BOBS);
    let good = signed(&town.bench, PHONE, json!({"ask": "open"}), town.bench.now.wall);
    let payload = json!({
        "kind": "message", "conv": {"kind": "self", "what": "grant"},
        "message": {"messageId": "01HF7YAT00AAAAAAAAAAAAAAAA", "role": "ROLE_USER", "parts": [{"data": {"grants": [good]}}]}
    });
    let env = town.bench.forge(0, DESK, mail("web", "x"));
    let mut header = env;
    header["from"].as_object_mut().unwrap().remove("agent");
    header["to"].as_object_mut().unwrap().remove("agent");
    let env = town.bench.reseal(0, DESK, header, &payload);
    town.bench.deliver(DESK, &env);
    assert_eq!(town.bench.answer_to(DESK, 0, &env).unwrap(), "rejected invalid_request");
    assert_eq!(said(&mut town, DESK), json!([]));
}

#[test]
fn two_devices_answer_at_the_same_moment_and_nothing_doubles() {
    let mut town = Town::of(&BOBS);
    let phone = town.bench.session(PHONE, "web", json!({}));
    town.bench.advance(3_000);
    let at_desk = town.bench.send(&town.alice, "bob/web@desk", "to the desk");
    let at_phone = town.bench.send(&town.alice, "bob/web@phone", "to the phone");
    town.bench.advance(1_000);
    assert_eq!(town.requests(DESK).len(), 1);
    assert_eq!(town.requests(PHONE).len(), 1);
    // Both answers are given before either device hears of the other's.
    let answer = |id: &str, answer| json!({"id": id, "answer": answer});
    let first = town.bench.begin(DESK, CONN, "request.answer", answer(&at_desk, "always"));
    let second = town.bench.begin(PHONE, CONN, "request.answer", answer(&at_phone, "block"));
    town.bench.advance(5_000);
    assert_eq!(town.bench.answer(DESK, &first).unwrap().unwrap()["answered"], json!([at_desk]));
    assert_eq!(town.bench.answer(PHONE, &second).unwrap().unwrap()["answered"], json!([at_phone]));
    assert_eq!(town.texts(), ["to the desk"]);
    assert!(town.bench.texts(&phone).is_empty());
    assert_eq!(town.stage(&at_phone), "rejected declined");
    let agreed = said(&mut town, DESK);
    assert_eq!(agreed.as_array().unwrap().len(), 1);
    assert_eq!(said(&mut town, PHONE), agreed);
    assert_eq!(said(&mut town, PAD), agreed);
}

/// The pad is away when the phone replaces what the desk had said, and comes back after the phone was removed.
fn withdrawn(before: Value, on_the_phone: Value) -> (Town, Value) {
    let mut town = Town::of(&BOBS);
    let first = town.says("alice", before);
    let store = town.bench.kill(PAD);
    town.try_says(PHONE, "alice", on_the_phone).unwrap();
    remove(&mut town.bench, PHONE);
    town.bench.advance(5_000);
    assert_eq!(said(&mut town, DESK), json!([]));
    town.bench.start(PAD, store);
    town.bench.advance(60_000);
    town.bench.admin(PAD);
    assert_eq!(said(&mut town, PAD), said(&mut town, DESK), "it is told what lapsed");
    (town, first)
}

#[test]
fn what_was_withdrawn_does_not_come_back_with_the_removal_of_the_device_that_withdrew_it() {
    for (levels, waits) in [(json!({}), 0), (json!({"ask": "request"}), 1)] {
        let (mut town, _) = withdrawn(json!({"ask": "open", "trust": true}), levels);
        let list = town.grants(DESK);
        assert_eq!(list["grants"], json!([]));
        assert_eq!(list["review"].as_array().unwrap().len(), waits);
        let again = town.says("alice", json!({"ask": "open"}));
        assert_eq!(town.grants(DESK), json!({"grants": [again], "review": []}));
        assert_eq!(said(&mut town, PAD), json!([again]));
    }
}

#[test]
fn a_block_that_a_removed_device_lifted_comes_back_without_what_it_let_in() {
    let before = json!({"chat": "blocked", "ask": "open", "trust": true});
    let (mut town, first) = withdrawn(before, json!({}));
    let kept = said(&mut town, DESK)[0].clone();
    assert_eq!((&kept["id"], &kept["ts"]), (&first["id"], &first["ts"]));
    assert_eq!((&kept["chat"], kept.get("ask")), (&json!("blocked"), None));
}

#[test]
fn a_device_that_joins_later_is_told_what_lapsed() {
    let (mut town, first) = withdrawn(json!({"ask": "open", "trust": true}), json!({}));
    let ticket = town.bench.call(0, CONN, "team.invite", json!({"person": "bob"})).unwrap();
    let new = town.bench.newcomer();
    town.bench.admin(new);
    let join = json!({"ticket": ticket["ticket"], "label": "new"});
    town.bench.call(new, CONN, "team.join", join).unwrap();
    town.bench.advance(5_000);
    // What the first device said is still under way, from before it was withdrawn.
    let ts = Ms(first["ts"].as_u64().unwrap());
    let late = signed(&town.bench, DESK, json!({"ask": "open"}), ts);
    let env = sync(&mut town.bench, DESK, new, json!([late]));
    assert!(town.bench.acked(new, &env));
    assert_eq!(said(&mut town, new), json!([]));
}

#[test]
fn a_lapse_leaves_alone_what_was_said_later_and_what_only_keeps_out() {
    let mut town = Town::of(&BOBS);
    let now = town.bench.now.wall;
    let realm = *town.bench.relay.roster.team_id().unwrap();
    for (levels, stays) in [(json!({"ask": "open"}), true), (json!({"chat": "blocked"}), false)] {
        let later = town.says("alice", levels);
        let ts = Ms(later["ts"].as_u64().unwrap());
        let at = if stays { ts.minus(1) } else { ts.plus(1) };
        let bob = PersonId::parse("bob").unwrap();
        let subject = Subject::Person(PersonId::parse("alice").unwrap());
        let draft = GrantDraft {
            realm,
            id: Ulid::from_parts(at, [9; 10]),
            person: &bob,
            ts: at,
            subject: &subject,
            levels: Levels::default(),
        };
        let key = &town.bench.daemons[PAD].keys.identity.signing;
        let place = draft.sign(key).unwrap();
        let lapse = sign_lapse(&place, key, now.plus(60_000)).unwrap().raw().clone();
        sync(&mut town.bench, PAD, DESK, json!([lapse]));
        assert_eq!(said(&mut town, DESK), json!([later]));
    }
}

/// The entry that removes a device comes with a line that waited for it: the line is judged by what is left of the grants.
#[test]
fn what_waits_for_a_removal_is_judged_by_what_the_removed_device_kept_out() {
    for levels in [json!({"chat": "blocked"}), json!({"chat": "blocked", "ask": "open"})] {
        let mut town = Town::of(&BOBS);
        town.try_says(PHONE, "alice", levels).unwrap();
        assert_eq!(said(&mut town, DESK)[0]["chat"], "blocked");
        let op = Op::MemberRemove { machine: town.bench.machine(PHONE) };
        let removal = entry(&town.bench, &op, town.bench.now.wall);
        // Everybody but the desk hears of it.
        town.bench.relay.roster.apply(&removal, None).unwrap();
        let line = json!({"kind": "message", "message": message("hello")});
        let env = town.bench.forge(0, DESK, personal(SealedType::Message, line));
        town.bench.deliver(DESK, &env);
        town.bench.advance(1_000);
        assert!(town.bench.acked(DESK, &env));
        assert_eq!(town.bench.answer_to(DESK, 0, &env).unwrap(), "rejected refused");
        assert_eq!(town.bench.count(DESK, "SELECT count(*) FROM lines"), 0);
    }
}

#[test]
fn what_was_dated_ahead_is_sent_again_when_its_time_has_come() {
    let mut town = Town::of(&BOBS);
    town.says("alice", json!({"ask": "open"}));
    town.bench.now.wall = town.bench.now.wall.minus(CLOCK_SKEW_MS + 60_000);
    let second = town.says("alice", json!({"chat": "blocked"}));
    town.bench.advance(60_000);
    assert_eq!(said(&mut town, PHONE)[0].get("chat"), None, "it is from the future there");
    town.restart(DESK);
    town.bench.advance(CLOCK_SKEW_MS + 60_000);
    for at in [PHONE, PAD] {
        assert_eq!(said(&mut town, at), json!([second]));
    }
}
