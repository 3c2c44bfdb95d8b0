//! What holds for every history, good or not.

use alloc::vec::Vec;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::team::{Team, add, admin, member, rekey, remove, role, signed};
use crate::code::Code;
use crate::ids::Ulid;
use crate::random;
use crate::roster::{Entry, HeadRelation, Live, Op, Role, Roster};
use crate::testing::SeededRandom;
use crate::ticket::InviteTicket;

/// A step of a history: who signs what, and how the entry is broken before it is tried.
#[derive(Clone, Debug)]
struct Step {
    by: u8,
    deed: Deed,
    fault: Fault,
}

#[derive(Clone, Debug)]
enum Deed {
    Add { machine: u8, label: u8, admin: bool },
    Remove { machine: u8 },
    Role { machine: u8, admin: bool },
    Rekey { machine: u8, byte: u8 },
    Invite { person: u8, life: u64 },
    Revoke { index: usize },
    Redeem { index: usize, machine: u8, label: u8 },
}

#[derive(Clone, Debug)]
enum Fault {
    None,
    Seq(u64),
    Prev,
    Team,
    Ts(i64),
    Unsigned,
    Later,
}

const PERSONS: [&str; 3] = ["alice", "bob", "carol"];
const LABELS: [&str; 3] = ["laptop", "desk", "mini"];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let machine = 1..7_u8;
    let deed = prop_oneof![
        4 => (machine.clone(), 0..3_u8, any::<bool>())
            .prop_map(|(machine, label, admin)| Deed::Add { machine, label, admin }),
        2 => machine.clone().prop_map(|machine| Deed::Remove { machine }),
        2 => (machine.clone(), any::<bool>())
            .prop_map(|(machine, admin)| Deed::Role { machine, admin }),
        2 => (machine.clone(), any::<u8>())
            .prop_map(|(machine, byte)| Deed::Rekey { machine, byte }),
        3 => (0..3_u8, 1..10_000_u64).prop_map(|(person, life)| Deed::Invite { person, life }),
        1 => (0..4_usize).prop_map(|index| Deed::Revoke { index }),
        3 => (0..4_usize, machine.clone(), 0..3_u8)
            .prop_map(|(index, machine, label)| Deed::Redeem { index, machine, label }),
    ];
    let fault = prop_oneof![
        12 => Just(Fault::None),
        1 => (0..6_u64).prop_map(Fault::Seq),
        1 => Just(Fault::Prev),
        1 => Just(Fault::Team),
        1 => (-400_000..400_000_i64).prop_map(Fault::Ts),
        1 => Just(Fault::Unsigned),
        1 => Just(Fault::Later),
    ];
    // Alice signs half of the time, or most entries would fail for want of authority.
    let by = prop_oneof![Just(1), machine];
    prop::collection::vec(
        (by, deed, fault).prop_map(|(by, deed, fault)| Step { by, deed, fault }),
        0..24,
    )
}

/// The persons' machines are fixed, so that labels collide: machine n is of person n mod 3.
fn person_of(machine: u8) -> &'static str {
    PERSONS[usize::from(machine % 3)]
}

fn op(team: &Team, tickets: &mut Vec<InviteTicket>, deed: &Deed, rng: &mut SeededRandom) -> Op {
    match *deed {
        Deed::Add { machine, label, admin: is_admin } => {
            let (person, label) = (person_of(machine), LABELS[usize::from(label)]);
            add(&if is_admin {
                admin(machine, person, label)
            } else {
                member(machine, person, label)
            })
        }
        Deed::Remove { machine } => remove(machine),
        Deed::Role { machine, admin } => {
            role(machine, if admin { Role::Admin } else { Role::Member })
        }
        Deed::Rekey { machine, byte } => rekey(machine, byte),
        Deed::Invite { person, life } => {
            let person = PERSONS[usize::from(person)].parse().unwrap();
            let new = crate::invite::create(&person, life, team.now, rng).unwrap();
            tickets.push(team.ticket(person.as_str(), new.id, new.secret, new.expires));
            new.op
        }
        Deed::Revoke { index } => Op::InviteRevoke { invite_id: invite_id(team, tickets, index) },
        Deed::Redeem { index, machine, label } => match tickets.get(index) {
            Some(ticket) => team.redeem(ticket, machine, LABELS[usize::from(label)]),
            None => remove(machine),
        },
    }
}

fn invite_id(team: &Team, tickets: &[InviteTicket], index: usize) -> Ulid {
    match tickets.get(index) {
        Some(ticket) => ticket.invite_id,
        None => random::ulid(team.now, &mut SeededRandom::new(99)),
    }
}

fn broken(entry: &Value, by: u8, fault: &Fault) -> Value {
    let mut entry = entry.clone();
    match fault {
        Fault::None => return entry,
        Fault::Seq(seq) => entry["seq"] = json!(seq),
        Fault::Prev => entry["prev"] = json!(crate::ids::Hash::from_bytes(&[3; 32])),
        Fault::Team => entry["team"] = json!(crate::ids::Hash::from_bytes(&[3; 32])),
        Fault::Ts(by) => {
            let ts = entry["ts"].as_u64().unwrap().saturating_add_signed(*by);
            entry["ts"] = json!(ts);
        }
        Fault::Unsigned => {
            entry["note"] = json!("added after signing");
            return entry;
        }
        Fault::Later => entry["later"] = json!({"any": [1, "thing"]}),
    }
    signed(entry, by)
}

/// What must hold of a roster at any time.
fn check_invariants(roster: &Roster) {
    assert!(roster.members().any(|member| member.role == Role::Admin), "no admin");
    let mut names: Vec<_> =
        roster.members().map(|member| (&member.person, &member.label)).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), roster.members().len(), "a label names two machines");
    for member in roster.members() {
        assert!(!roster.was_removed(&member.machine), "a removed member");
        assert_eq!(roster.public_key(&member.machine).unwrap().id(), member.machine);
    }
    for (index, entry) in roster.entries().iter().enumerate() {
        assert_eq!(usize::try_from(entry.seq()), Ok(index));
        assert_eq!(roster.relation(&entry.head()), HeadRelation::Consistent);
        let previous = index.checked_sub(1).and_then(|before| roster.entries().get(before));
        assert_eq!(entry.prev(), previous.map(|before| before.hash()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// A refused entry changes nothing, an applied one keeps the invariants, and the whole
    /// history replayed gives the same roster.
    #[test]
    fn histories(steps in steps()) {
        let mut team = Team::new();
        let mut tickets = Vec::new();
        let mut rng = SeededRandom::new(2);
        for Step { by, deed, fault } in &steps {
            let op = op(&team, &mut tickets, deed, &mut rng);
            let entry = broken(&team.entry(*by, &op), *by, fault);
            let standing = team.roster.check_at(&entry);
            let before = team.roster.clone();
            match team.roster.apply(&entry, None) {
                Ok(applied) => {
                    prop_assert!(standing.is_ok());
                    prop_assert_eq!(team.roster.head(), Some(applied.entry.head()));
                    prop_assert_eq!(before.relation(&applied.entry.head()), HeadRelation::Ahead);
                }
                Err(failure) => {
                    prop_assert_eq!(&team.roster, &before);
                    // A live entry is judged no more kindly, and the reason before the clock's stays.
                    let live = team.roster.clone().apply(&entry, Some(Live::append(team.now)));
                    let code = live.unwrap_err().code;
                    prop_assert!(code == failure.code || code == Code::Expired);
                }
            }
            check_invariants(&team.roster);
            team.now = team.now.plus(1_000);
        }
        let raw: Vec<Value> = team
            .roster
            .entries()
            .iter()
            .map(|entry| serde_json::from_str(entry.canonical().as_str()).unwrap())
            .collect();
        prop_assert_eq!(Roster::from_entries(&raw), Ok(team.roster.clone()));
        for entry in &raw {
            prop_assert!(team.roster.check_at(entry).is_ok());
        }
    }

    /// No change of one member of a signed entry goes unnoticed.
    #[test]
    fn a_changed_entry_is_never_applied(name in "[a-z]{1,8}", value in any::<u64>()) {
        let mut team = Team::new();
        let entry = team.entry(1, &add(&member(2, "bob", "desk")));
        let mut changed = entry.clone();
        changed[&name] = json!(value >> 11);
        prop_assume!(changed != entry);
        prop_assert!(team.attempt_raw(&changed).is_err());
    }

    /// Whatever stands where an entry should: a refusal, never a panic.
    #[test]
    fn junk_is_refused(text in "[\\[\\]{}\":,0-9a-z ]{0,64}") {
        if let Ok(value) = serde_json::from_str::<Value>(&text) {
            prop_assert!(Entry::read(&value).is_err());
            prop_assert!(Roster::new().apply(&value, None).is_err());
        }
    }
}
