//! The rules of invites.
//! Spec: §4 "Invites", "Invite expiry"; W8 4.19 to 4.27

use alloc::string::ToString;

use super::team::{ALICE, Team, add, changed, id, identity, member, remove};
use crate::code::Code::{Expired, Forbidden, InvalidRequest, InviteInvalid};
use crate::ids::Secret32Text;
use crate::invite::{self, redeem_proof};
use crate::keys::SigningKey;
use crate::limits::TTL_MS;
use crate::roster::{Live, Op, Role};
use crate::testing::SeededRandom;
use serde_json::json;

const BOB: u8 = 2;

fn revoke(id: crate::ids::Ulid) -> Op {
    Op::InviteRevoke { invite_id: id }
}

#[test]
fn a_ticket_admits_one_machine_of_its_person() {
    let mut team = Team::new();
    let ticket = team.invite("bob");
    assert_eq!(team.roster.open_invites().count(), 1);
    let by = team.roster.invite(&ticket.invite_id).unwrap().by;
    assert_eq!(by, id(ALICE));
    let op = team.redeem(&ticket, BOB, "desk");
    team.put(BOB, &op);
    assert_eq!(team.roster.member(&id(BOB)), Some(&member(BOB, "bob", "desk")));
    assert_eq!(team.roster.open_invites().count(), 0);
    assert!(!team.roster.invite(&ticket.invite_id).unwrap().open);
    let again = team.redeem(&ticket, 3, "other");
    team.refuses(3, &again, InviteInvalid);
}

#[test]
fn the_chain_never_holds_the_secret() {
    let mut team = Team::new();
    let ticket = team.invite("bob");
    let op = team.redeem(&ticket, BOB, "desk");
    team.put(BOB, &op);
    for entry in team.roster.entries() {
        assert!(!entry.canonical().as_str().contains(ticket.secret.as_str()));
    }
}

#[test]
fn an_invite_lives_more_than_nothing_and_at_most_seven_days() {
    let mut team = Team::new();
    let create = |team: &Team, life: i64| Op::InviteCreate {
        invite_id: crate::random::ulid(team.now, &mut SeededRandom::new(5)),
        invite_pub: *SigningKey::from_seed(&[4; 32]).machine(),
        person: "bob".parse().unwrap(),
        expires: crate::time::Ms(team.now.0.checked_add_signed(life).unwrap()),
    };
    let week = i64::try_from(TTL_MS).unwrap();
    for life in [-1, 0, week + 1] {
        let op = create(&team, life);
        team.refuses(ALICE, &op, InviteInvalid);
    }
    for life in [1, week] {
        assert_eq!(team.clone().attempt(ALICE, &create(&team, life)), Ok(()));
    }
    let person = "bob".parse().unwrap();
    for ttl in [0, TTL_MS + 1] {
        let failure = invite::create(&person, ttl, team.now, &mut SeededRandom::new(5));
        assert_eq!(failure.unwrap_err().code, InvalidRequest);
    }
}

#[test]
fn an_invite_id_is_used_once() {
    let mut team = Team::new();
    let (open, redeemed, revoked) = (team.invite("bob"), team.invite("bob"), team.invite("bob"));
    let op = team.redeem(&redeemed, BOB, "desk");
    team.put(BOB, &op);
    team.put(ALICE, &revoke(revoked.invite_id));
    for ticket in [&open, &redeemed, &revoked] {
        let op = Op::InviteCreate {
            invite_id: ticket.invite_id,
            invite_pub: *SigningKey::from_seed(&[4; 32]).machine(),
            person: "bob".parse().unwrap(),
            expires: team.now.plus(1_000),
        };
        team.refuses(ALICE, &op, InviteInvalid);
    }
}

#[test]
fn only_an_admin_opens_and_revokes() {
    let mut team = Team::with(&[member(BOB, "bob", "desk")]);
    let ticket = team.invite("carol");
    team.refuses(BOB, &revoke(ticket.invite_id), Forbidden);
    let person = "carol".parse().unwrap();
    let new = invite::create(&person, 1_000, team.now, &mut SeededRandom::new(6)).unwrap();
    team.refuses(BOB, &new.op, Forbidden);
    // An admin's removal leaves the admin's invites open: chain validity must not differ.
    team.put(ALICE, &Op::MemberRole { machine: id(BOB), role: Role::Admin });
    team.put(BOB, &remove(ALICE));
    let op = team.redeem(&ticket, 3, "mini");
    team.put(3, &op);
}

#[test]
fn a_revoked_or_unknown_invite_admits_nobody() {
    let mut team = Team::new();
    let ticket = team.invite("bob");
    team.put(ALICE, &revoke(ticket.invite_id));
    team.refuses(ALICE, &revoke(ticket.invite_id), InviteInvalid);
    let op = team.redeem(&ticket, BOB, "desk");
    team.refuses(BOB, &op, InviteInvalid);
    let unknown = crate::random::ulid(team.now, &mut SeededRandom::new(7));
    team.refuses(ALICE, &revoke(unknown), InviteInvalid);
    let mut forged = ticket.clone();
    forged.invite_id = unknown;
    let op = team.redeem(&forged, BOB, "desk");
    team.refuses(BOB, &op, InviteInvalid);
}

#[test]
fn a_redeem_must_be_dated_before_the_invite_ends_and_live_it_must_be_true() {
    let mut team = Team::new();
    let ticket = team.invite("bob");
    let op = team.redeem(&ticket, BOB, "desk");
    team.now = ticket.expires;
    team.refuses(BOB, &op, InviteInvalid);
    team.now = ticket.expires.minus(1);
    assert_eq!(team.clone().attempt(BOB, &op), Ok(()));
    // Backdated: the chain takes it, a relay that looks at its clock does not.
    let backdated = team.entry(BOB, &op);
    let live = Live::append(ticket.expires.plus(crate::limits::CLOCK_SKEW_MS));
    assert_eq!(team.roster.apply(&backdated, Some(live)).unwrap_err().code, Expired);
}

#[test]
fn a_redeem_is_for_the_invites_person_and_never_admits_an_admin() {
    let mut team = Team::new();
    let ticket = team.invite("bob");
    let secret = SigningKey::from_seed(&ticket.secret.to_bytes());
    let team_id = *team.roster.team_id().unwrap();
    for wrong in [
        member(BOB, "carol", "desk"),
        crate::roster::Member { role: Role::Admin, ..member(BOB, "bob", "desk") },
    ] {
        let proof = redeem_proof(&secret, &team_id, &ticket.invite_id, &json!(wrong)).unwrap();
        let op = Op::InviteRedeem { invite_id: ticket.invite_id, proof, member: wrong };
        team.refuses(BOB, &op, InviteInvalid);
    }
}

#[test]
fn a_redeem_is_signed_by_the_machine_that_joins() {
    let mut team = Team::new();
    let ticket = team.invite("bob");
    let op = team.redeem(&ticket, BOB, "desk");
    team.refuses(ALICE, &op, Forbidden);
    team.refuses(3, &op, Forbidden);
    let current = team.redeem(&ticket, ALICE, "desk");
    team.refuses(ALICE, &current, Forbidden);
    team.put(ALICE, &add(&member(4, "bob", "desk")));
    team.refuses(BOB, &op, Forbidden);
}

#[test]
fn the_proof_binds_the_whole_member_of_this_team_and_invite() {
    let mut team = Team::new();
    let (ticket, other) = (team.invite("bob"), team.invite("bob"));
    let secret = SigningKey::from_seed(&ticket.secret.to_bytes());
    let team_id = *team.roster.team_id().unwrap();
    let mut raw = json!(member(BOB, "bob", "desk"));
    raw["nickname"] = json!("bobby");
    let redeem = |team: &Team, proof: crate::ids::Sig| {
        let op = Op::InviteRedeem {
            invite_id: ticket.invite_id,
            proof,
            member: member(BOB, "bob", "desk"),
        };
        changed(&team.entry(BOB, &op), "member", raw.clone(), BOB)
    };
    let proof = |secret, team, id, member| redeem_proof(secret, team, id, member).unwrap();
    let right = proof(&secret, &team_id, &ticket.invite_id, &raw);
    let mut other_label = raw.clone();
    other_label["label"] = json!("mini");
    let mut other_enc = raw.clone();
    other_enc["enc"] = json!(identity(3).enc.public());
    let other_team = crate::ids::Hash::from_bytes(&[1; 32]);
    for wrong in [
        proof(&SigningKey::from_seed(&[4; 32]), &team_id, &ticket.invite_id, &raw),
        proof(&secret, &other_team, &ticket.invite_id, &raw),
        proof(&secret, &team_id, &other.invite_id, &raw),
        proof(&secret, &team_id, &ticket.invite_id, &json!(member(BOB, "bob", "desk"))),
        proof(&secret, &team_id, &ticket.invite_id, &other_label),
        proof(&secret, &team_id, &ticket.invite_id, &other_enc),
    ] {
        let entry = redeem(&team, wrong);
        assert_eq!(team.attempt_raw(&entry).unwrap_err().code, InviteInvalid);
    }
    let entry = redeem(&team, right);
    assert_eq!(team.attempt_raw(&entry), Ok(()));
}

#[test]
fn a_ticket_of_another_team_redeems_nothing() {
    let mut team = Team::new();
    let ticket = team.invite("bob");
    let other = crate::ids::Hash::from_bytes(&[1; 32]);
    let failure = ticket.redeem(&other, &identity(BOB), &"desk".parse().unwrap()).unwrap_err();
    assert_eq!(failure.code, InviteInvalid);
    assert_eq!(ticket.invite_pub().to_string(), {
        let invite = team.roster.invite(&ticket.invite_id).unwrap();
        invite.key.id().to_string()
    });
    assert_ne!(ticket.secret, Secret32Text::from_bytes(&ticket.invite_pub().to_bytes()));
}
