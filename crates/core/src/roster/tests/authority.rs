//! Who may do what.
//! Spec: §4 "Authority rules", W8 4.4 to 4.14

use super::team::{
    ALICE, Team, add, admin, changed, genesis, id, identity, member, rekey, remove, role,
};
use crate::code::Code::{BadSignature, Forbidden};
use crate::ids::EncKey;
use crate::roster::{Role, Roster};
use serde_json::json;

const BOB: u8 = 2;
const CAROL: u8 = 3;
const STRANGER: u8 = 9;

fn team() -> Team {
    Team::with(&[member(BOB, "bob", "desk"), member(CAROL, "carol", "mini")])
}

#[test]
fn an_admin_adds_removes_and_changes_roles() {
    let mut team = team();
    team.put(ALICE, &add(&member(4, "dave", "x")));
    team.put(ALICE, &role(BOB, Role::Admin));
    team.put(BOB, &add(&admin(5, "erin", "x")));
    let applied = team.put(5, &remove(CAROL));
    assert_eq!(applied.removed, Some(member(CAROL, "carol", "mini")));
    assert_eq!(team.names(), ["alice/laptop", "bob/desk", "dave/x", "erin/x"]);
    assert_eq!(team.roster.member(&id(BOB)).unwrap().role, Role::Admin);
    assert_eq!(team.roster.member(&id(5)).unwrap().role, Role::Admin);
}

#[test]
fn others_do_none_of_that() {
    let mut team = team();
    team.put(ALICE, &add(&member(4, "dave", "x")));
    team.put(ALICE, &remove(4));
    for by in [BOB, STRANGER, 4] {
        team.refuses(by, &add(&member(5, "erin", "x")), Forbidden);
        team.refuses(by, &remove(CAROL), Forbidden);
        team.refuses(by, &role(CAROL, Role::Admin), Forbidden);
        team.refuses(by, &role(by, Role::Admin), Forbidden);
        team.refuses(by, &rekey(CAROL, 1), Forbidden);
    }
}

#[test]
fn a_member_may_remove_itself() {
    let mut team = team();
    team.put(BOB, &remove(BOB));
    assert_eq!(team.names(), ["alice/laptop", "carol/mini"]);
    assert!(team.roster.was_removed(&id(BOB)));
    assert_eq!(team.roster.public_key(&id(BOB)), None);
    team.refuses(STRANGER, &remove(STRANGER), Forbidden);
}

#[test]
fn the_last_admin_stays_one() {
    let mut team = team();
    team.refuses(ALICE, &remove(ALICE), Forbidden);
    team.refuses(ALICE, &role(ALICE, Role::Member), Forbidden);
    // Saying again what already holds takes nothing away.
    team.put(ALICE, &role(ALICE, Role::Admin));
    team.put(ALICE, &role(BOB, Role::Member));
    team.refuses(ALICE, &role(ALICE, Role::Member), Forbidden);
    team.put(ALICE, &role(BOB, Role::Admin));
    team.put(ALICE, &role(ALICE, Role::Member));
    team.refuses(BOB, &remove(BOB), Forbidden);
    team.put(BOB, &role(CAROL, Role::Admin));
    team.put(BOB, &remove(BOB));
    team.refuses(CAROL, &role(CAROL, Role::Member), Forbidden);
}

#[test]
fn a_removed_machine_never_comes_back() {
    let mut team = team();
    team.put(ALICE, &remove(BOB));
    team.refuses(ALICE, &add(&member(BOB, "bob", "desk")), Forbidden);
    team.refuses(ALICE, &add(&member(BOB, "zoe", "new")), Forbidden);
    team.refuses(ALICE, &role(BOB, Role::Admin), Forbidden);
    team.refuses(ALICE, &remove(BOB), Forbidden);
    let ticket = team.invite("bob");
    let op = team.redeem(&ticket, BOB, "other");
    team.refuses(BOB, &op, Forbidden);
}

#[test]
fn a_label_names_one_current_machine_of_its_person() {
    let mut team = team();
    team.refuses(ALICE, &add(&member(4, "bob", "desk")), Forbidden);
    team.put(ALICE, &add(&member(4, "bob", "laptop")));
    team.refuses(ALICE, &add(&member(4, "bob", "third")), Forbidden);
    team.put(ALICE, &remove(BOB));
    team.put(ALICE, &add(&member(5, "bob", "desk")));
    assert_eq!(team.names(), ["alice/laptop", "bob/desk", "bob/laptop", "carol/mini"]);
}

#[test]
fn a_rekey_changes_the_encryption_key_and_nothing_else() {
    let mut team = team();
    let before = team.roster.clone();
    let applied = team.put(BOB, &rekey(BOB, 7));
    let expected =
        crate::roster::Member { enc: EncKey::from_bytes(&[7; 32]), ..member(BOB, "bob", "desk") };
    assert_eq!(team.roster.member(&id(BOB)), Some(&expected));
    assert_eq!(team.roster.member(&id(CAROL)), before.member(&id(CAROL)));
    assert_eq!(team.roster.public_key(&id(BOB)), before.public_key(&id(BOB)));
    let rekeyed = team.roster.latest_rekey(&id(BOB)).unwrap();
    assert_eq!((rekeyed.seq, rekeyed.by), (applied.entry.seq(), id(BOB)));
    team.put(ALICE, &rekey(BOB, 8));
    assert_eq!(team.roster.latest_rekey(&id(BOB)).unwrap().by, id(ALICE));
    assert_eq!(team.roster.latest_rekey(&id(CAROL)), None);
}

#[test]
fn only_the_machine_itself_or_an_admin_rekeys_a_current_machine() {
    let mut team = team();
    team.refuses(CAROL, &rekey(BOB, 7), Forbidden);
    team.refuses(ALICE, &rekey(STRANGER, 7), Forbidden);
    team.put(ALICE, &remove(BOB));
    team.refuses(BOB, &rekey(BOB, 7), Forbidden);
    team.refuses(ALICE, &rekey(BOB, 7), Forbidden);
    assert_eq!(team.roster.latest_rekey(&id(BOB)), None);
}

#[test]
fn a_genesis_is_signed_by_its_admin_founder() {
    let check = |raw, code| {
        let mut roster = Roster::new();
        assert_eq!(roster.apply(&raw, None).unwrap_err().code, code);
        assert_eq!(roster, Roster::new());
    };
    check(genesis(&admin(ALICE, "alice", "laptop"), BOB), Forbidden);
    check(genesis(&member(ALICE, "alice", "laptop"), ALICE), Forbidden);
    let mut forged = genesis(&admin(ALICE, "alice", "laptop"), ALICE);
    forged["name"] = json!("another");
    check(forged, BadSignature);
}

#[test]
fn a_signature_comes_before_authority_and_under_the_right_key() {
    let mut team = team();
    let entry = team.entry(BOB, &add(&member(4, "dave", "x")));
    let mut forged = entry.clone();
    forged["by"] = json!(id(ALICE));
    assert_eq!(team.attempt_raw(&forged).unwrap_err().code, BadSignature);
    // An unusable key signs nothing: y = 1 is of small order.
    let unusable = crate::ids::MachineId::from_bytes(&core::array::from_fn(|i| u8::from(i == 0)));
    let forged = changed(&entry, "by", json!(unusable), BOB);
    assert_eq!(team.attempt_raw(&forged).unwrap_err().code, BadSignature);
}

#[test]
fn a_signature_for_another_purpose_is_none() {
    let mut team = team();
    let op = add(&member(4, "dave", "x"));
    for domain in crate::domain::Domain::ALL {
        let mut entry = team.entry(ALICE, &op);
        entry.as_object_mut().unwrap().remove("sig");
        let sig = identity(ALICE).signing.sign_value(*domain, &entry).unwrap();
        entry["sig"] = json!(sig);
        let result = team.clone().attempt_raw(&entry).map_err(|failure| failure.code);
        let expected =
            if *domain == crate::domain::Domain::Roster { Ok(()) } else { Err(BadSignature) };
        assert_eq!(result, expected, "{domain:?}");
    }
    team.put(ALICE, &op);
}
