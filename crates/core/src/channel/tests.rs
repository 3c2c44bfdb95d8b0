//! Every rule of a channel, from the receiver's side.
//! Spec: §6.8 "Receiver rules"

use alloc::vec::Vec;
use std::vec;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::json::decode;

const ID: &str = "01HF7YAT00AAAAAAAAAAAAAAAA";

fn person(name: &str) -> PersonId {
    PersonId::parse(name).unwrap()
}

fn persons(names: &[&str]) -> Vec<PersonId> {
    names.iter().map(|name| person(name)).collect()
}

fn name(text: &str) -> ChannelName {
    ChannelName::parse(text).unwrap()
}

/// Alice's channel with Bob and Carol in it.
fn eng() -> ChannelRecord {
    ChannelRecord {
        id: Ulid::parse(ID).unwrap(),
        name: name("eng"),
        creator: person("alice"),
        persons: persons(&["alice", "bob", "carol"]),
    }
}

fn conv(op: serde_json::Value) -> ChannelConv {
    let mut value = json!({"kind": "channel", "id": ID, "name": "eng"});
    for (name, member) in op.as_object().unwrap() {
        value[name] = member.clone();
    }
    match decode(&value).unwrap() {
        crate::conv::Conv::Channel(conv) => conv,
        other => panic!("{other:?}"),
    }
}

fn create(names: &[&str]) -> ChannelConv {
    conv(json!({"op": "create", "persons": names, "creator": "alice"}))
}

/// What Bob's machine knows; Zoe is nobody's person.
struct Here {
    own: PersonId,
    sender: PersonId,
    admin: bool,
    held: Option<ChannelRecord>,
    left: bool,
    count: usize,
    names: Vec<ChannelName>,
}

fn bob(sender: &str, held: Option<ChannelRecord>) -> Here {
    Here {
        own: person("bob"),
        sender: person(sender),
        admin: false,
        count: usize::from(held.is_some()),
        names: held.iter().map(|held| held.name.clone()).collect(),
        held,
        left: false,
    }
}

impl Here {
    fn judge(&self, conv: &ChannelConv) -> Result<Verdict, Code> {
        let facts = Facts {
            own: &self.own,
            sender: &self.sender,
            admin: self.admin,
            held: self.held.as_ref(),
            left: self.left,
            count: self.count,
            taken: &|name| self.names.contains(name),
            admissible: &|person| person.as_str() != "zoe",
        };
        judge(conv, &facts).map_err(|failure| failure.code)
    }
}

#[test]
fn a_channel_is_created_with_its_full_record() {
    let verdict = bob("alice", None).judge(&create(&["alice", "bob", "carol"])).unwrap();
    assert_eq!(verdict, Verdict::Created { record: eng(), local: name("eng") });
}

#[test]
fn a_creator_who_left_need_not_be_a_member() {
    let verdict = bob("carol", None).judge(&create(&["carol", "bob"])).unwrap();
    let Verdict::Created { record, .. } = verdict else { panic!("{verdict:?}") };
    assert_eq!((record.creator, record.persons), (person("alice"), persons(&["carol", "bob"])));
}

#[test]
fn a_create_of_an_id_that_is_held_or_was_left_is_forbidden() {
    let op = create(&["alice", "bob"]);
    assert_eq!(bob("alice", Some(eng())).judge(&op), Err(Code::Forbidden));
    let left = Here { left: true, ..bob("alice", None) };
    assert_eq!(left.judge(&op), Err(Code::Forbidden));
}

#[test]
fn a_create_without_its_sender_or_without_this_person_is_forbidden() {
    let here = bob("alice", None);
    assert_eq!(here.judge(&create(&["bob", "carol"])), Err(Code::Forbidden));
    assert_eq!(here.judge(&create(&["alice", "carol"])), Err(Code::Forbidden));
}

#[test]
fn a_machine_holds_two_hundred_channels() {
    let op = create(&["alice", "bob"]);
    let full = Here { count: CHANNELS, ..bob("alice", None) };
    assert_eq!(full.judge(&op), Err(Code::RateLimited));
    assert!(Here { count: CHANNELS - 1, ..bob("alice", None) }.judge(&op).is_ok());
}

#[test]
fn a_name_that_is_taken_gets_the_lowest_free_number() {
    let op = create(&["alice", "bob"]);
    for (taken, local) in [
        (vec!["eng"], "eng-2"),
        (vec!["eng", "eng-2"], "eng-3"),
        (vec!["eng", "eng-3"], "eng-2"),
        (vec!["eng-2"], "eng"),
    ] {
        let here = Here { names: taken.iter().map(|n| name(n)).collect(), ..bob("alice", None) };
        let verdict = here.judge(&op).unwrap();
        let Verdict::Created { record, local: got } = verdict else { panic!("{verdict:?}") };
        assert_eq!((got.as_str(), record.name.as_str()), (local, "eng"), "{taken:?}");
    }
}

#[test]
fn a_long_name_is_cut_before_the_number_and_the_last_number_is_99() {
    let long = name(&"x".repeat(32));
    let cut = "x".repeat(28);
    assert_eq!(local_name(&long, |n| *n == long).unwrap().as_str(), format!("{cut}-2"));
    let last = format!("{cut}-99");
    assert_eq!(local_name(&long, |n| n.as_str() != last).unwrap().as_str(), last);
    assert_eq!(local_name(&long, |_| true).unwrap_err().code, Code::RateLimited);
}

#[test]
fn what_is_not_a_create_goes_by_id_and_the_own_name_must_match() {
    for op in [
        json!({"op": "invite", "persons": ["dave"]}),
        json!({"op": "leave"}),
        json!({"op": "remove", "persons": ["carol"]}),
        json!({"op": "post"}),
    ] {
        let op = conv(op);
        assert!(bob("alice", Some(eng())).judge(&op).is_ok(), "{op:?}");
        assert_eq!(bob("alice", None).judge(&op), Err(Code::NotFound), "{op:?}");
        let other = ChannelRecord { name: name("ops"), ..eng() };
        assert_eq!(bob("alice", Some(other)).judge(&op), Err(Code::NotFound), "{op:?}");
    }
}

#[test]
fn a_person_who_cannot_be_a_member_is_not_found_before_any_other_rule() {
    // Each of these breaks a later rule too.
    let left = Here { left: true, ..bob("alice", None) };
    assert_eq!(left.judge(&create(&["zoe"])), Err(Code::NotFound));
    let here = bob("eve", Some(eng()));
    for op in ["invite", "remove"] {
        let op = conv(json!({"op": op, "persons": ["carol", "zoe"]}));
        assert_eq!(here.judge(&op), Err(Code::NotFound));
    }
}

#[test]
fn a_member_invites_and_nobody_else() {
    let op = conv(json!({"op": "invite", "persons": ["dave", "carol"]}));
    let verdict = bob("carol", Some(eng())).judge(&op).unwrap();
    let Verdict::Invited { record, added } = verdict else { panic!("{verdict:?}") };
    assert_eq!(record.persons, persons(&["alice", "bob", "carol", "dave"]));
    assert_eq!(added, persons(&["dave"]));
    assert_eq!(bob("eve", Some(eng())).judge(&op), Err(Code::Forbidden));
}

#[test]
fn an_invitation_keeps_within_thirty_two_members() {
    let crowd = |count: usize| {
        let mut record = eng();
        record.persons.extend((3..count).map(|n| person(&format!("p{n}"))));
        record
    };
    let op = conv(json!({"op": "invite", "persons": ["dave", "erin", "carol"]}));
    assert!(bob("alice", Some(crowd(30))).judge(&op).is_ok());
    assert_eq!(bob("alice", Some(crowd(31))).judge(&op), Err(Code::InvalidRequest));
}

#[test]
fn who_leaves_takes_only_themselves_out() {
    let op = conv(json!({"op": "leave"}));
    let verdict = bob("carol", Some(eng())).judge(&op).unwrap();
    let record = eng().without(&persons(&["carol"]));
    assert_eq!(record.persons, persons(&["alice", "bob"]));
    assert_eq!(verdict, Verdict::Left { record });
    assert_eq!(bob("eve", Some(eng())).judge(&op), Err(Code::Forbidden));
}

#[test]
fn leaving_from_another_machine_deletes_the_channel_here() {
    assert_eq!(bob("bob", Some(eng())).judge(&conv(json!({"op": "leave"}))), Ok(Verdict::Deleted));
}

#[test]
fn the_creator_or_an_admin_of_the_team_removes() {
    let op = conv(json!({"op": "remove", "persons": ["carol"]}));
    let verdict = bob("alice", Some(eng())).judge(&op).unwrap();
    let record = eng().without(&persons(&["carol"]));
    assert_eq!(verdict, Verdict::Removed { record, removed: persons(&["carol"]) });

    let mut dave = bob("dave", Some(eng()));
    dave.held.as_mut().unwrap().persons.push(person("dave"));
    assert_eq!(dave.judge(&op), Err(Code::Forbidden));
    dave.admin = true;
    assert!(dave.judge(&op).is_ok());
    // Neither an admin nor a creator who is no member.
    let eve = Here { admin: true, ..bob("eve", Some(eng())) };
    assert_eq!(eve.judge(&op), Err(Code::Forbidden));
    let gone = eng().without(&persons(&["alice"]));
    assert_eq!(bob("alice", Some(gone)).judge(&op), Err(Code::Forbidden));
}

#[test]
fn a_removal_names_members_and_not_the_sender() {
    let here = bob("alice", Some(eng()));
    let remove = |names: &[&str]| here.judge(&conv(json!({"op": "remove", "persons": names})));
    assert_eq!(remove(&["alice"]), Err(Code::InvalidRequest));
    assert_eq!(remove(&["carol", "alice"]), Err(Code::InvalidRequest));
    assert_eq!(remove(&["carol", "dave"]), Err(Code::NotFound));
    assert_eq!(remove(&["carol", "bob"]), Ok(Verdict::Deleted));
}

#[test]
fn a_post_is_from_a_member_to_a_member() {
    let op = conv(json!({"op": "post"}));
    assert_eq!(bob("carol", Some(eng())).judge(&op), Ok(Verdict::Post));
    assert_eq!(bob("eve", Some(eng())).judge(&op), Err(Code::Forbidden));
    let without = eng().without(&persons(&["bob"]));
    assert_eq!(bob("carol", Some(without)).judge(&op), Err(Code::Forbidden));
}

proptest! {
    /// Whatever comes in whatever order, a record stays one: no member twice, at most 32, name and creator as they were.
    #[test]
    fn a_record_stays_well_formed(ops in prop::collection::vec((0u8..3, 0u8..40, prop::collection::vec(0u8..40, 1..6)), 0..40)) {
        let someone = |n: u8| person(&format!("p{n}"));
        let mut held = Some(ChannelRecord {
            creator: someone(0), persons: (0..20).map(someone).collect(), ..eng()
        });
        for (op, sender, named) in ops {
            let Some(record) = held.clone() else { break };
            let mut named: Vec<PersonId> = named.into_iter().map(someone).collect();
            named.sort_unstable();
            named.dedup();
            let op = match op {
                0 => conv(json!({"op": "invite", "persons": named})),
                1 => conv(json!({"op": "remove", "persons": named})),
                _ => conv(json!({"op": "leave"})),
            };
            let here = Here { own: someone(1), sender: someone(sender), held: Some(record.clone()), ..bob("bob", None) };
            match here.judge(&op) {
                Ok(Verdict::Invited { record, .. } | Verdict::Left { record } | Verdict::Removed { record, .. }) => held = Some(record),
                Ok(Verdict::Deleted) => held = None,
                Ok(other) => panic!("{other:?}"),
                Err(_) => {}
            }
            if let Some(after) = &held {
                let mut sorted = after.persons.clone();
                sorted.sort_unstable();
                prop_assert!(sorted.is_sorted_by(|a, b| a < b) && sorted.len() <= CHANNEL_PERSONS);
                prop_assert!(after.has(&here.own));
                prop_assert_eq!((&after.id, &after.name, &after.creator), (&record.id, &record.name, &record.creator));
            }
        }
    }
}
