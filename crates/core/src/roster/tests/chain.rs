//! Place, time, replay, heads and pages.
//! Spec: §4 "Sequencing and forks", W8 4.1 to 4.3, 4.8, 4.28 to 4.34

use alloc::vec::Vec;

use super::team::{ALICE, START, Team, add, admin, changed, genesis, id, member, rekey, signed};
use crate::code::Code::{BadSignature, Expired, Forbidden, InvalidRequest, RosterConflict};
use crate::ids::Hash;
use crate::jcs;
use crate::limits::CLOCK_SKEW_MS;
use crate::roster::{EntryStanding, HeadRelation, Live, Roster, RosterHead};
use crate::time::Ms;
use serde_json::{Value, json};

const BOB: u8 = 2;

fn raw_entries(roster: &Roster) -> Vec<Value> {
    roster
        .entries()
        .iter()
        .map(|entry| serde_json::from_str(entry.canonical().as_str()).unwrap())
        .collect()
}

#[test]
fn the_team_is_the_hash_of_its_genesis_signature_included() {
    let genesis = genesis(&admin(ALICE, "alice", "laptop"), ALICE);
    let roster = Roster::from_entries([&genesis]).unwrap();
    let hash = jcs::canonical(&genesis).unwrap().hash();
    assert_eq!(roster.team_id(), Some(&hash));
    assert_eq!(roster.head(), Some(RosterHead { seq: 0, hash }));
    assert_eq!(roster.name().unwrap().as_str(), "demo");
    assert_ne!(Some(&jcs::canonical_without(&genesis, "sig").unwrap().hash()), roster.team_id());
    let empty = Roster::new();
    assert_eq!((empty.team_id(), empty.head(), empty.name()), (None, None, None));
}

#[test]
fn an_entry_extends_the_head_of_its_own_team() {
    let mut team = Team::with(&[member(BOB, "bob", "desk")]);
    let entry = team.entry(ALICE, &add(&member(3, "carol", "mini")));
    let team_id = *team.roster.team_id().unwrap();
    let other = Hash::from_bytes(&[1; 32]);
    for (name, value, code) in [
        ("seq", json!(1), RosterConflict),
        ("seq", json!(3), RosterConflict),
        ("prev", json!(other), RosterConflict),
        ("prev", json!(team_id), RosterConflict),
        ("team", json!(other), InvalidRequest),
    ] {
        let changed = changed(&entry, name, value, ALICE);
        assert_eq!(team.attempt_raw(&changed).unwrap_err().code, code, "{name}");
    }
    assert_eq!(team.attempt_raw(&entry), Ok(()));
    assert_eq!(team.attempt_raw(&entry).unwrap_err().code, RosterConflict);
    let again = genesis(&admin(ALICE, "alice", "laptop"), ALICE);
    assert_eq!(team.attempt_raw(&again).unwrap_err().code, RosterConflict);
    let mut empty = Roster::new();
    assert_eq!(empty.apply(&entry, None).unwrap_err().code, RosterConflict);
}

#[test]
fn time_may_go_back_by_the_skew_and_no_further() {
    let mut team = Team::new();
    let at =
        |team: &Team, ts: Ms| changed(&team.entry(ALICE, &rekey(ALICE, 1)), "ts", json!(ts), ALICE);
    let early = at(&team, START.minus(CLOCK_SKEW_MS + 1));
    assert_eq!(team.attempt_raw(&early).unwrap_err().code, InvalidRequest);
    let edge = at(&team, START.minus(CLOCK_SKEW_MS));
    assert_eq!(team.attempt_raw(&edge), Ok(()));
    // The bound moves with the head, backwards too.
    let edge = at(&team, START.minus(2 * CLOCK_SKEW_MS));
    assert_eq!(team.attempt_raw(&edge), Ok(()));
    let far_ahead = at(&team, START.plus(1 << 40));
    assert_eq!(team.attempt_raw(&far_ahead), Ok(()));
}

#[test]
fn only_a_live_entry_is_held_against_the_clock() {
    let team = Team::new();
    let entry = team.entry(ALICE, &rekey(ALICE, 1));
    let try_at =
        |live| team.roster.clone().apply(&entry, live).map(drop).map_err(|failure| failure.code);
    let skew = CLOCK_SKEW_MS;
    for (live, expected) in [
        (None, Ok(())),
        (Some(Live::append(team.now)), Ok(())),
        (Some(Live::append(team.now.plus(skew))), Ok(())),
        (Some(Live::append(team.now.minus(skew))), Ok(())),
        (Some(Live::append(team.now.plus(skew + 1))), Err(Expired)),
        (Some(Live::append(team.now.minus(skew + 1))), Err(Expired)),
        (Some(Live::broadcast(team.now.plus(2 * skew))), Ok(())),
        (Some(Live::broadcast(team.now.plus(2 * skew + 1))), Err(Expired)),
        (Some(Live { now: team.now, skew_ms: 0 }), Ok(())),
        (Some(Live { now: team.now.plus(1), skew_ms: 0 }), Err(Expired)),
    ] {
        assert_eq!(try_at(live), expected, "{live:?}");
    }
}

#[test]
fn members_of_later_versions_are_signed_and_hashed_but_never_state() {
    let mut team = Team::new();
    let mut entry = team.entry(ALICE, &add(&member(BOB, "bob", "desk")));
    entry["later"] = json!({"x": [1, 2.5, null]});
    entry["member"]["nickname"] = json!("bobby");
    let entry = signed(entry, ALICE);
    let mut stripped = entry.clone();
    stripped.as_object_mut().unwrap().remove("later");
    assert_eq!(team.attempt_raw(&stripped).unwrap_err().code, BadSignature);
    assert_eq!(team.attempt_raw(&entry), Ok(()));
    assert_eq!(team.roster.member(&id(BOB)), Some(&member(BOB, "bob", "desk")));
    assert_eq!(team.roster.head().unwrap().hash, jcs::canonical(&entry).unwrap().hash());
    assert_eq!(raw_entries(&team.roster)[1], entry);
}

#[test]
fn a_replay_starts_at_the_genesis_and_skips_nothing() {
    let mut team = Team::with(&[member(BOB, "bob", "desk")]);
    team.put(BOB, &rekey(BOB, 1));
    let entries = raw_entries(&team.roster);
    assert_eq!(Roster::from_entries(&entries), Ok(team.roster.clone()));
    let code = |entries: &[&Value]| Roster::from_entries(entries.iter().copied()).unwrap_err().code;
    let [genesis, second, third] = &entries[..] else { panic!("three entries") };
    assert_eq!(code(&[]), InvalidRequest);
    assert_eq!(code(&[second, third]), InvalidRequest);
    assert_eq!(code(&[genesis, third]), RosterConflict);
    assert_eq!(code(&[genesis, third, second]), RosterConflict);
    assert_eq!(code(&[genesis, second, second]), RosterConflict);
    let mut forged = genesis.clone();
    forged["name"] = json!("other");
    assert_eq!(code(&[&forged, second, third]), BadSignature);
    assert_eq!(code(&[&signed(forged, ALICE), second, third]), RosterConflict);
}

#[test]
fn an_entry_is_checked_against_the_state_before_its_number() {
    let mut team = Team::with(&[member(BOB, "bob", "desk")]);
    let branch = team.clone();
    team.put(ALICE, &rekey(ALICE, 1));
    team.put(ALICE, &rekey(ALICE, 2));
    let roster = &team.roster;
    for entry in raw_entries(roster) {
        assert_eq!(roster.check_at(&entry), Ok(EntryStanding::Held));
    }
    let next = team.entry(ALICE, &rekey(ALICE, 3));
    assert_eq!(roster.check_at(&next), Ok(EntryStanding::Next));
    let fork = branch.entry(BOB, &rekey(BOB, 9));
    assert_eq!(roster.check_at(&fork), Ok(EntryStanding::Fork));

    let code = |entry: &Value| roster.check_at(entry).unwrap_err().code;
    assert_eq!(code(&changed(&next, "seq", json!(5), ALICE)), RosterConflict);
    assert_eq!(
        code(&changed(&fork, "prev", json!(Hash::from_bytes(&[1; 32])), BOB)),
        RosterConflict
    );
    assert_eq!(code(&changed(&fork, "by", json!(id(ALICE)), BOB)), BadSignature);
    assert_eq!(code(&branch.entry(BOB, &rekey(ALICE, 9))), Forbidden);
    assert_eq!(code(&json!({})), InvalidRequest);
    let other = changed(&raw_entries(roster)[0], "name", json!("other"), ALICE);
    assert_eq!(code(&other), RosterConflict, "another genesis is another team");
    assert_eq!(Roster::new().check_at(&other).unwrap_err().code, RosterConflict);
}

#[test]
fn a_head_is_ahead_consistent_or_diverged() {
    let team = Team::with(&[member(BOB, "bob", "desk"), member(3, "carol", "mini")]);
    let other = Hash::from_bytes(&[1; 32]);
    for entry in team.roster.entries() {
        assert_eq!(team.roster.relation(&entry.head()), HeadRelation::Consistent);
        let diverged = RosterHead { seq: entry.seq(), hash: other };
        let ours = *entry.hash();
        assert_eq!(team.roster.relation(&diverged), HeadRelation::Diverged { ours });
    }
    for seq in [3, 4, u64::MAX] {
        assert_eq!(team.roster.relation(&RosterHead { seq, hash: other }), HeadRelation::Ahead);
    }
    let genesis = RosterHead { seq: 0, hash: other };
    assert_eq!(Roster::new().relation(&genesis), HeadRelation::Ahead);
}

#[test]
fn pages_hold_256_entries() {
    let mut team = Team::new();
    for n in 0..256_u32 {
        team.put(ALICE, &rekey(ALICE, n.to_le_bytes()[0]));
    }
    assert_eq!(team.roster.entries().len(), 257);
    let page = |after| {
        let (entries, more) = team.roster.page_after(after);
        (entries.first().map(|entry| entry.seq()), entries.len(), more)
    };
    assert_eq!(page(None), (Some(0), 256, true));
    assert_eq!(page(Some(0)), (Some(1), 256, false));
    assert_eq!(page(Some(255)), (Some(256), 1, false));
    for past in [256, 257, u64::MAX] {
        assert_eq!(page(Some(past)), (None, 0, false));
    }
    assert_eq!(team.roster.entries_after(Some(254)).len(), 2);
}
