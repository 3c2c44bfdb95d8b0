//! `team.*` of a member: who may, what is refused, what follows.

use serde_json::{Value, json};

use super::connect;
use crate::input::Tier;
use crate::tests::bench::Bench;

/// A team of an admin and a member, each with an admin connection.
fn team() -> (Bench, u64, u64) {
    let mut bench = Bench::connected(&[("alice", "laptop"), ("bob", "desk"), ("carol", "pad")]);
    let admin = connect(&mut bench, 0, Tier::Admin);
    let member = connect(&mut bench, 1, Tier::Admin);
    (bench, admin, member)
}

fn invites(bench: &mut Bench, at: usize, conn: u64) -> Vec<Value> {
    let list = bench.call(at, conn, "team.list", json!({})).unwrap();
    list["invites"].as_array().unwrap().clone()
}

#[test]
fn the_list_is_the_verified_roster() {
    let (mut bench, admin, member) = team();
    let list = bench.call(0, admin, "team.list", json!({})).unwrap();
    assert_eq!((&list["name"], &list["seq"]), (&json!("demo"), &json!(2)));
    assert!(list["card"].as_str().unwrap().starts_with("messaging-team."));
    let members = list["members"].as_array().unwrap();
    assert_eq!(members.len(), 3);
    let own = members.iter().find(|member| member["self"] == true).unwrap();
    assert_eq!(
        (&own["person"], &own["role"], &own["online"]),
        (&json!("alice"), &json!("admin"), &json!(true))
    );
    assert!(members.iter().all(|member| member["addedAt"].as_u64().unwrap() > 0));
    // A member sees the same team.
    let other = bench.call(1, member, "team.list", json!({})).unwrap();
    assert_eq!((&other["hash"], &other["team"]), (&list["hash"], &list["team"]));
}

#[test]
fn an_invite_gives_its_ticket_once_and_is_listed_while_it_holds() {
    let (mut bench, admin, _) = team();
    let answer =
        bench.call(0, admin, "team.invite", json!({"person": "dave", "ttlMs": 60_000})).unwrap();
    let ticket = answer["ticket"].as_str().unwrap();
    assert!(ticket.starts_with("messaging1."));
    let listed = invites(&mut bench, 0, admin);
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["inviteId"], answer["inviteId"]);
    assert_eq!(listed[0]["by"], json!(bench.machine(0)));
    let store = bench.kill(0);
    // The secret is nowhere in the store.
    let dump = store
        .view()
        .rows("SELECT entry FROM roster", (), |row| row.get::<_, String>(0))
        .unwrap()
        .concat();
    assert!(!dump.contains(&ticket[11..60]));
    bench.start(0, store);
    bench.advance(61_000);
    let conn = connect(&mut bench, 0, Tier::Admin);
    assert_eq!(invites(&mut bench, 0, conn), Vec::<Value>::new(), "it has expired");
}

#[test]
fn a_revoked_invite_is_gone_and_cannot_be_revoked_again() {
    let (mut bench, admin, _) = team();
    let id =
        bench.call(0, admin, "team.invite", json!({"person": "dave"})).unwrap()["inviteId"].clone();
    let revoke = json!({"inviteId": id});
    assert_eq!(bench.call(0, admin, "team.revoke", revoke.clone()).unwrap(), json!({"ok": true}));
    assert_eq!(invites(&mut bench, 0, admin), Vec::<Value>::new());
    assert_eq!(bench.call(0, admin, "team.revoke", revoke), Err("invite_invalid".into()));
}

#[test]
fn only_an_admin_administers() {
    let (mut bench, _, member) = team();
    let carol = bench.machine(2);
    for (method, params) in [
        ("team.invite", json!({"person": "dave"})),
        ("team.revoke", json!({"inviteId": "01ARZ3NDEKTSV4RRFFQ69G5FAV"})),
        ("team.role", json!({"machine": carol, "role": "admin"})),
        ("team.remove", json!({"machine": carol})),
    ] {
        assert_eq!(bench.call(1, member, method, params), Err("forbidden".into()), "{method}");
    }
}

#[test]
fn a_team_keeps_an_admin_and_knows_its_machines() {
    let (mut bench, admin, _) = team();
    let (own, bob) = (bench.machine(0), bench.machine(1));
    let stranger = crate::tests::bench::team(&[("x", "y"), ("z", "w"), ("q", "r"), ("s", "t")]).1;
    let stranger = *stranger[3].machine();
    for (method, params, code) in [
        ("team.role", json!({"machine": own, "role": "member"}), "forbidden"),
        ("team.remove", json!({"machine": own}), "forbidden"),
        ("team.role", json!({"machine": stranger, "role": "admin"}), "not_found"),
        ("team.remove", json!({"machine": stranger}), "not_found"),
    ] {
        assert_eq!(bench.call(0, admin, method, params), Err(code.into()), "{method}");
    }
    // With a second admin the first may go.
    let role = json!({"machine": bob, "role": "admin"});
    let answer = bench.call(0, admin, "team.role", role.clone()).unwrap();
    assert_eq!(answer["member"]["role"], "admin");
    let head = bench.relay.roster.head();
    assert_eq!(bench.call(0, admin, "team.role", role).unwrap()["member"]["role"], "admin");
    assert_eq!(bench.relay.roster.head(), head, "a role that stands needs no entry");
    let answer = bench.call(0, admin, "team.remove", json!({"machine": own})).unwrap();
    assert_eq!(answer["self"], true);
}

#[test]
fn entries_that_lose_a_race_are_signed_again() {
    let (mut bench, admin, _) = team();
    let conflict = messaging_core::code::Code::RosterConflict;
    bench.relay.entry_nacks.extend([conflict, conflict, conflict]);
    let id = bench.begin(0, admin, "team.invite", json!({"person": "dave"}));
    bench.advance(10_000);
    assert!(bench.answer(0, &id).unwrap().is_ok());
    bench.relay.entry_nacks.extend([conflict; 4]);
    let id = bench.begin(0, admin, "team.invite", json!({"person": "erin"}));
    bench.advance(14_000);
    assert_eq!(bench.answer(0, &id).unwrap(), Err("roster_conflict".into()));
}

#[test]
fn without_a_relay_an_admin_is_told_so() {
    let (mut bench, admin, _) = team();
    bench.relay.up = false;
    bench.cut(0);
    let id = bench.begin(0, admin, "team.invite", json!({"person": "dave"}));
    bench.advance(20_000);
    assert_eq!(bench.answer(0, &id).unwrap(), Err("relay_unavailable".into()));
}

/// Bob becomes an admin and opens an invite; then Alice acts on Bob's machine.
fn with_second_admin() -> (Bench, u64) {
    let (mut bench, admin, member) = team();
    let bob = bench.machine(1);
    bench.call(0, admin, "team.role", json!({"machine": bob, "role": "admin"})).unwrap();
    bench.advance(2_000);
    bench.call(1, member, "team.invite", json!({"person": "dave"})).unwrap();
    bench.call(0, admin, "team.invite", json!({"person": "erin"})).unwrap();
    bench.advance(2_000);
    assert_eq!(invites(&mut bench, 0, admin).len(), 2);
    (bench, admin)
}

#[test]
fn removing_or_demoting_an_admin_takes_its_invites_back() {
    let bob = |bench: &Bench| json!({"machine": bench.machine(1)});
    for demote in [false, true] {
        let (mut bench, admin) = with_second_admin();
        let (method, mut params) = ("team.remove", bob(&bench));
        let method = if demote { "team.role" } else { method };
        if demote {
            params["role"] = json!("member");
        }
        bench.call(0, admin, method, params).unwrap();
        bench.advance(5_000);
        let left = invites(&mut bench, 0, admin);
        assert_eq!(left.len(), 1, "demote: {demote}");
        assert_eq!(left[0]["person"], "erin");
    }
}

#[test]
fn the_invites_are_taken_back_even_when_the_daemon_died_in_between() {
    let (mut bench, admin) = with_second_admin();
    let bob = json!({"machine": bench.machine(1)});
    // The relay takes the removal; its answer, and what should follow, are lost.
    bench.relay.swallows = 1;
    let id = bench.begin(0, admin, "team.remove", bob);
    bench.settle();
    assert_eq!(bench.answer(0, &id), None);
    let store = bench.kill(0);
    bench.start(0, store);
    bench.advance(60_000);
    let conn = connect(&mut bench, 0, Tier::Admin);
    let left = invites(&mut bench, 0, conn);
    assert_eq!(left.len(), 1);
    assert_eq!(left[0]["person"], "erin");
}

#[test]
fn another_admins_removal_is_that_admins_to_follow_up() {
    let (mut bench, _) = with_second_admin();
    // Carol is made an admin too, and sees Alice remove Bob: she stays quiet.
    let conn = connect(&mut bench, 0, Tier::Admin);
    let carol = bench.machine(2);
    bench.call(0, conn, "team.role", json!({"machine": carol, "role": "admin"})).unwrap();
    bench.advance(5_000);
    let appended = bench.relay.heard_from(2, "roster.append");
    let bob = bench.machine(1);
    bench.call(0, conn, "team.remove", json!({"machine": bob})).unwrap();
    bench.advance(30_000);
    assert_eq!(bench.relay.heard_from(2, "roster.append"), appended);
}

#[test]
fn a_home_that_runs_from_an_older_copy_admits_nobody_and_may_remove() {
    let mut bench = Bench::connected(&[("alice", "laptop"), ("bob", "desk"), ("carol", "pc")]);
    let conn = connect(&mut bench, 0, Tier::Admin);
    // Its own rekey published a key that it does not hold.
    let keys =
        crate::identity::IdentityFile::generate(&mut messaging_core::testing::SeededRandom::new(3));
    let op = messaging_core::roster::Op::MemberRekey {
        machine: bench.machine(0),
        enc: *keys.identity.enc.public(),
    };
    let signing = bench.daemons[0].keys.identity.signing.clone();
    let entry = bench.relay.roster.sign_next(&op, bench.now.wall, &signing).unwrap();
    bench.relay.append(&entry);
    bench.settle();
    assert!(bench.engine(0).is_restored());
    let (bob, carol) = (bench.machine(1), bench.machine(2));
    for (method, params) in [
        ("team.invite", json!({"person": "dave"})),
        ("team.role", json!({"machine": bob, "role": "admin"})),
        ("team.role", json!({"machine": bob, "role": "member"})),
    ] {
        assert_eq!(bench.call(0, conn, method, params), Err("invalid_state".into()), "{method}");
    }
    bench.call(0, conn, "team.remove", json!({"machine": carol})).unwrap();
}

#[test]
fn an_admin_whose_clock_is_behind_the_roster_is_told_so() {
    let mut bench = Bench::connected(&[("alice", "laptop"), ("bob", "desk")]);
    let conn = connect(&mut bench, 0, Tier::Admin);
    bench.now.wall = bench.now.wall.minus(messaging_core::limits::CLOCK_SKEW_MS + 60_000);
    let id = bench.begin(0, conn, "team.invite", json!({"person": "dave"}));
    bench.settle();
    let error = bench.error(0, &id);
    assert_eq!(error["data"]["code"], "expired");
    assert_eq!(error["message"], "this machine's clock is behind the team's newest entry");
}
