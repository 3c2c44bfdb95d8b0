//! The shape and size of entries, and the keys they may admit.
//! Spec: W2.7, W4.9 step 2, W8 3.10

use alloc::vec::Vec;

use super::team::{ALICE, Team, add, admin, changed, genesis, member, rekey, role, signed};
use crate::code::Code::{InvalidRequest, TooLarge};
use crate::jcs;
use crate::limits::ROSTER_ENTRY_BYTES;
use crate::roster::{Entry, Op, Role, Roster};
use serde_json::{Value, json};

const BOB: u8 = 2;

/// One good entry of each kind, in an order that applies.
fn every_kind() -> Vec<Value> {
    let mut team = Team::new();
    let first = team.invite("bob");
    let second = team.invite("carol");
    team.put(ALICE, &add(&member(5, "erin", "x")));
    team.put(ALICE, &role(5, Role::Admin));
    team.put(5, &rekey(5, 1));
    team.put(ALICE, &Op::InviteRevoke { invite_id: second.invite_id });
    let op = team.redeem(&first, BOB, "desk");
    team.put(BOB, &op);
    team.put(ALICE, &Op::MemberRemove { machine: super::team::id(5) });
    let raw = |entry: &Entry| serde_json::from_str(entry.canonical().as_str()).unwrap();
    team.roster.entries().iter().map(|entry| raw(entry)).collect()
}

#[test]
fn what_is_written_is_what_was_meant() {
    let entries = every_kind();
    let names: Vec<_> = entries.iter().map(|raw| Entry::read(raw).unwrap().op().name()).collect();
    assert_eq!(
        names,
        [
            "genesis",
            "invite.create",
            "invite.create",
            "member.add",
            "member.role",
            "member.rekey",
            "invite.revoke",
            "invite.redeem",
            "member.remove"
        ]
    );
    for raw in &entries {
        let entry = Entry::read(raw).unwrap();
        assert_eq!(entry.op().name(), raw["op"]);
        let members = jcs::to_value(entry.op()).unwrap();
        for (name, value) in members.as_object().unwrap() {
            assert_eq!(raw.get(name), Some(value), "{name}");
        }
    }
    assert_eq!(entries[0]["prev"], Value::Null);
    assert!(entries[0].get("team").is_none());
}

#[test]
fn every_member_of_every_kind_is_required_and_typed() {
    for raw in every_kind() {
        let names: Vec<_> = raw.as_object().unwrap().keys().cloned().collect();
        for name in names {
            let mut less = raw.clone();
            less.as_object_mut().unwrap().remove(&name);
            assert_eq!(Entry::read(&less).unwrap_err().code, InvalidRequest, "no {name}");
            for wrong in
                [json!({}), json!([]), json!(true), json!(-1), json!(1.5), json!("?"), json!(null)]
            {
                if wrong == raw[&name] || (name == "name" && wrong.is_string()) {
                    continue;
                }
                let mut entry = raw.clone();
                entry[&name] = wrong.clone();
                let result = Entry::read(&entry).map(drop).map_err(|failure| failure.code);
                assert_eq!(result, Err(InvalidRequest), "{name}: {wrong}");
            }
        }
    }
}

#[test]
fn members_are_typed_within() {
    let entry = Team::new().entry(ALICE, &add(&member(BOB, "bob", "desk")));
    for (name, wrong) in [
        ("machine", json!("short")),
        ("enc", json!("short")),
        ("person", json!("p_aaaaaaaaaaaaaaaaaaaaaaaaaa")),
        ("person", json!("b_b")),
        ("person", json!("")),
        ("role", json!("owner")),
        ("role", json!("Admin")),
        ("label", json!("-x")),
        ("label", json!(null)),
    ] {
        let mut entry = entry.clone();
        entry["member"][name] = wrong.clone();
        assert_eq!(Entry::read(&entry).unwrap_err().code, InvalidRequest, "{name}: {wrong}");
    }
    let listed = changed(&entry, "member", json!([entry["member"]["machine"]]), ALICE);
    assert_eq!(Entry::read(&listed).unwrap_err().code, InvalidRequest);
}

#[test]
fn a_genesis_and_a_later_entry_do_not_mix() {
    let start = genesis(&admin(ALICE, "alice", "laptop"), ALICE);
    let later = Team::new().entry(ALICE, &rekey(ALICE, 1));
    let hash = json!(crate::ids::Hash::from_bytes(&[1; 32]));
    for (entry, name, value) in [
        (&start, "seq", json!(1)),
        (&start, "prev", hash.clone()),
        (&start, "team", hash),
        (&later, "seq", json!(0)),
        (&later, "prev", json!(null)),
        (&later, "team", json!(null)),
        (&later, "v", json!("messaging/2")),
        (&later, "op", json!("member.rename")),
    ] {
        let entry = changed(entry, name, value, ALICE);
        assert_eq!(Entry::read(&entry).unwrap_err().code, InvalidRequest, "{name}");
    }
}

#[test]
fn an_entry_is_i_json_of_at_most_16_kib() {
    let mut team = Team::new();
    let entry = team.entry(ALICE, &rekey(ALICE, 1));
    let padded = |chars: usize| changed(&entry, "pad", json!("a".repeat(chars)), ALICE);
    let room = ROSTER_ENTRY_BYTES - jcs::canonical(&padded(0)).unwrap().len();
    assert_eq!(team.attempt_raw(&padded(room + 1)).unwrap_err().code, TooLarge);
    assert_eq!(team.clone().attempt_raw(&padded(room)), Ok(()));

    let mut deep = json!(1);
    for _ in 0..32 {
        deep = json!([deep]);
    }
    for bad in [deep, json!(9_007_199_254_740_992_u64), json!(1e300)] {
        let mut entry = entry.clone();
        entry["later"] = bad;
        assert_eq!(team.attempt_raw(&entry).unwrap_err().code, InvalidRequest);
    }
}

#[test]
fn only_usable_keys_are_admitted() {
    // Of small order, and not canonical (y = p + 3).
    let small = crate::ids::MachineId::from_bytes(&[0; 32]);
    let mut bytes = [0xff; 32];
    (bytes[0], bytes[31]) = (0xf0, 0x7f);
    let not_canonical = crate::ids::MachineId::from_bytes(&bytes);
    for bad in [small, not_canonical] {
        let mut team = Team::new();
        let unusable = crate::roster::Member { machine: bad, ..member(BOB, "bob", "desk") };
        let ticket = team.invite("bob");
        let Op::InviteRedeem { invite_id, proof, .. } = team.redeem(&ticket, BOB, "desk") else {
            panic!("a redeem")
        };
        let create = Op::InviteCreate {
            invite_id: crate::random::ulid(team.now, &mut crate::testing::SeededRandom::new(9)),
            invite_pub: bad,
            person: "bob".parse().unwrap(),
            expires: team.now.plus(1_000),
        };
        team.refuses(ALICE, &add(&unusable), InvalidRequest);
        team.refuses(
            BOB,
            &Op::InviteRedeem { invite_id, proof, member: unusable.clone() },
            InvalidRequest,
        );
        team.refuses(ALICE, &create, InvalidRequest);
        // Before the place in the chain.
        let misplaced = changed(&team.entry(ALICE, &create), "seq", json!(9), ALICE);
        assert_eq!(team.attempt_raw(&misplaced).unwrap_err().code, InvalidRequest);
        let founder = crate::roster::Member { role: Role::Admin, ..unusable };
        let start = signed(genesis(&founder, ALICE), ALICE);
        assert_eq!(Roster::new().apply(&start, None).unwrap_err().code, InvalidRequest);
    }
}
