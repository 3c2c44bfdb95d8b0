//! Founding keys, and a machine that an admin adds without a ticket: what is kept, told, refused, and survives a death.

use messaging_core::ids::MachineId;
use messaging_core::roster::{Member, Op, Role};
use messaging_core::ticket::{AdmitCard, InviteTicket, TeamCard, TextForm};

use super::*;

fn pairing_to(bench: &Bench) -> Value {
    let team = bench.relay.roster.team_id().unwrap();
    json!({"relay": URL, "team": team, "person": "bob", "label": "desk"})
}

fn pair(bench: &mut Bench, at: usize) -> Result<Value, String> {
    let params = pairing_to(bench);
    bench.call(at, CONN, "team.pair", params)
}

fn add(bench: &mut Bench, card: &Value) -> Result<Value, String> {
    let AdmitCard { machine, enc, person, label, .. } =
        AdmitCard::decode(card["card"].as_str().unwrap()).unwrap();
    let params = json!({"machine": machine, "enc": enc, "person": person, "label": label});
    bench.call(0, CONN, "team.add", params)
}

fn claim(bench: &mut Bench, at: usize, wait_ms: u64) -> Result<Value, String> {
    let id = bench.begin(at, CONN, "team.claim", json!({"waitMs": wait_ms}));
    bench.advance(wait_ms + 60_000);
    bench.answer(at, &id).expect("an answer")
}

fn cancel(bench: &mut Bench, at: usize) -> Result<Value, String> {
    bench.call(at, CONN, "team.pairCancel", json!({}))
}

fn is_in(bench: &Bench, at: usize) {
    assert_eq!(standing(bench, at), Standing::Member);
    assert!(bench.engine(at).link.is_ready());
    assert!(!intends(bench, at));
    assert!(bench.daemons[at].pairing.is_none(), "pairing.json is gone");
    assert_eq!(bench.daemons[at].config.relay.as_ref().unwrap().as_str(), URL);
    let machine = bench.daemons[at].keys.machine();
    let member = bench.relay.roster.member(machine).expect("a member");
    assert_eq!(member.enc, *bench.daemons[at].keys.identity.enc.public());
    assert_eq!(bench.relay.roster.members().len(), 2, "no ghost");
}

#[test]
fn a_machine_is_added_without_a_ticket() {
    let (mut bench, at) = team_and_newcomer();
    let card = pair(&mut bench, at).unwrap();
    assert!(!bench.daemons[at].has_keys, "identity.json is untouched");
    assert_eq!(claim(&mut bench, at, 0), Ok(json!({"state": "waiting"})));
    let added = add(&mut bench, &card).unwrap();
    assert_eq!(added["member"]["role"], "member");
    assert_eq!(added["member"]["enc"], card["enc"]);
    let joined = claim(&mut bench, at, 0).unwrap();
    let team = bench.relay.roster.team_id().unwrap();
    let expected = json!({
        "state": "joined", "team": team, "device": card["machine"], "person": "bob", "label": "desk",
    });
    assert_eq!(joined, expected);
    is_in(&bench, at);
    for method in ["team.prepare", "team.claim", "team.pairCancel"] {
        let code = bench.call(at, CONN, method, json!({})).unwrap_err();
        assert_eq!(code, "invalid_state", "{method}");
    }
    assert_eq!(pair(&mut bench, at), Err("invalid_state".into()));
}

#[test]
fn a_claim_waits_for_the_admin() {
    let (mut bench, at) = team_and_newcomer();
    let card = pair(&mut bench, at).unwrap();
    let id = bench.begin(at, CONN, "team.claim", json!({"waitMs": 60_000}));
    bench.advance(10_000);
    assert_eq!(bench.answer(at, &id), None);
    let asked = bench.relay.heard_from(at, "hello");
    assert!((3..=6).contains(&asked), "{asked} greetings in ten seconds");
    add(&mut bench, &card).unwrap();
    bench.advance(4_000);
    assert_eq!(bench.answer(at, &id).unwrap().unwrap()["state"], "joined");
    is_in(&bench, at);
}

#[test]
fn a_claim_that_nobody_answers_leaves_the_keys_and_asks_no_more() {
    let (mut bench, at) = team_and_newcomer();
    pair(&mut bench, at).unwrap();
    assert_eq!(claim(&mut bench, at, 10_000), Ok(json!({"state": "waiting"})));
    let asked = bench.relay.heard_from(at, "hello");
    bench.advance(60_000);
    assert_eq!(bench.relay.heard_from(at, "hello"), asked);
    bench.relay.up = false;
    assert_eq!(claim(&mut bench, at, 0), Err("relay_unavailable".into()));
    bench.relay.up = true;
    bench.relay.silent = true;
    assert_eq!(claim(&mut bench, at, 5_000), Err("relay_unavailable".into()));
    bench.relay.silent = false;
    assert_eq!(claim(&mut bench, at, 0), Ok(json!({"state": "waiting"})));
    assert!(bench.daemons[at].pairing.is_some());
}

#[test]
fn a_roster_that_names_other_keys_or_names_gives_no_place() {
    let (mut bench, at) = team_and_newcomer();
    let card = pair(&mut bench, at).unwrap();
    let machine: MachineId = serde_json::from_value(card["machine"].clone()).unwrap();
    let mut wrong = card.clone();
    // The admin mistyped the label.
    wrong["card"] = {
        let card = AdmitCard::decode(card["card"].as_str().unwrap()).unwrap();
        json!(AdmitCard { label: "disk".parse().unwrap(), ..card }.encode().unwrap())
    };
    add(&mut bench, &wrong).unwrap();
    assert_eq!(claim(&mut bench, at, 5_000), Err("forbidden".into()));
    assert_eq!(standing(&bench, at), Standing::NoTeam);
    assert!(!bench.daemons[at].has_keys && !intends(&bench, at));
    bench.call(0, CONN, "team.remove", json!({"machine": machine})).unwrap();
    assert_eq!(add(&mut bench, &card), Err("forbidden".into()), "removed for good");
}

#[test]
fn only_an_admin_adds_and_only_what_the_roster_takes() {
    let (mut bench, at) = team_and_newcomer();
    let card = pair(&mut bench, at).unwrap();
    add(&mut bench, &card).unwrap();
    claim(&mut bench, at, 0).unwrap();
    assert_eq!(add(&mut bench, &card), Err("forbidden".into()), "it is in already");
    let mut rng = SeededRandom::new(11);
    let new = IdentityFile::generate(&mut rng);
    let params = |label: &str| {
        let enc = new.identity.enc.public();
        json!({"machine": new.machine(), "enc": enc, "person": "bob", "label": label})
    };
    let taken = bench.call(0, CONN, "team.add", params("desk"));
    assert_eq!(taken, Err("forbidden".into()), "bob has a desk");
    let by_member = bench.call(at, CONN, "team.add", params("pad"));
    assert_eq!(by_member, Err("forbidden".into()));
    bench.relay.up = false;
    bench.cut(0);
    let id = bench.begin(0, CONN, "team.add", params("pad"));
    bench.advance(60_000);
    assert_eq!(bench.answer(0, &id), Some(Err("relay_unavailable".into())));
}

#[test]
fn one_purpose_at_a_time() {
    let (mut bench, at) = team_and_newcomer();
    assert_eq!(cancel(&mut bench, at), Ok(json!({"cancelled": false})));
    assert_eq!(bench.call(at, CONN, "team.claim", json!({})), Err("invalid_state".into()));
    let card = pair(&mut bench, at).unwrap();
    assert_eq!(pair(&mut bench, at).unwrap(), card, "the same place, the same keys");
    let mut other = pairing_to(&bench);
    other["label"] = json!("pad");
    assert_eq!(bench.call(at, CONN, "team.pair", other), Err("invalid_state".into()));
    assert_eq!(bench.call(at, CONN, "team.prepare", json!({})), Err("invalid_state".into()));
    assert_eq!(bench.call(at, CONN, "team.create", founding()), Err("invalid_state".into()));
    assert_eq!(cancel(&mut bench, at), Ok(json!({"cancelled": true})));
    assert!(bench.daemons[at].pairing.is_none());

    let founder = bench.call(at, CONN, "team.prepare", json!({})).unwrap();
    assert_ne!(founder["machine"], card["machine"], "fresh keys");
    assert_eq!(pair(&mut bench, at), Err("invalid_state".into()));
    assert_eq!(bench.call(at, CONN, "team.claim", json!({})), Err("invalid_state".into()));
    assert_eq!(cancel(&mut bench, at), Ok(json!({"cancelled": true})));
}

#[test]
fn founding_keys_are_known_before_the_team_and_are_its_founders() {
    let mut bench = Bench::homeless();
    connect(&mut bench, 0);
    let prepared = bench.call(0, CONN, "team.prepare", json!({})).unwrap();
    restart(&mut bench, 0);
    let again = bench.call(0, CONN, "team.prepare", json!({})).unwrap();
    assert_eq!(again, prepared, "the same keys while they wait, also after a restart");
    let created = found(&mut bench).unwrap();
    assert_eq!(created["device"], prepared["machine"]);
    let founder = bench.relay.roster.members().next().unwrap();
    assert_eq!(json!(founder.enc), prepared["enc"]);
    assert!(bench.daemons[0].pairing.is_none());
    assert_eq!(bench.call(0, CONN, "team.prepare", json!({})), Err("invalid_state".into()));
}

#[test]
fn nothing_is_told_before_it_is_on_disk() {
    let (mut bench, at) = team_and_newcomer();
    bench.daemons[at].can_save = false;
    assert_eq!(bench.call(at, CONN, "team.prepare", json!({})), Err("internal".into()));
    assert_eq!(pair(&mut bench, at), Err("internal".into()));
    assert!(bench.engine(at).home.pairing.is_none());
    bench.daemons[at].can_save = true;
    let card = pair(&mut bench, at).unwrap();
    bench.daemons[at].can_save = false;
    assert_eq!(cancel(&mut bench, at), Err("internal".into()));
    assert_eq!(pair(&mut bench, at).unwrap(), card, "the keys still wait");
    add(&mut bench, &card).unwrap();
    assert_eq!(claim(&mut bench, at, 0), Err("internal".into()), "identity.json cannot be written");
    assert_eq!(standing(&bench, at), Standing::NoTeam);
    bench.daemons[at].can_save = true;
    assert_eq!(claim(&mut bench, at, 0).unwrap()["state"], "joined");
    is_in(&bench, at);
}

#[test]
fn a_cancel_ends_a_claim_that_waits() {
    let (mut bench, at) = team_and_newcomer();
    pair(&mut bench, at).unwrap();
    let id = bench.begin(at, CONN, "team.claim", json!({"waitMs": 60_000}));
    bench.advance(5_000);
    assert_eq!(pair(&mut bench, at), Err("invalid_state".into()), "a claim is under way");
    assert_eq!(cancel(&mut bench, at), Ok(json!({"cancelled": true})));
    assert_eq!(bench.answer(at, &id), Some(Err("invalid_state".into())));
    assert!(bench.engine(at).home.pairing.is_none());
}

#[test]
fn keys_that_waited_are_dropped_when_a_ticket_came_instead() {
    let (mut bench, at) = team_and_newcomer();
    pair(&mut bench, at).unwrap();
    let ticket = ticket(&mut bench, "carol");
    join(&mut bench, at, &ticket, "pad").unwrap();
    assert!(bench.daemons[at].pairing.is_none());
}

#[test]
fn keys_that_could_not_be_dropped_are_dropped_at_the_next_start() {
    let (mut bench, at) = team_and_newcomer();
    let card = pair(&mut bench, at).unwrap();
    add(&mut bench, &card).unwrap();
    let id = bench.begin(at, CONN, "team.claim", json!({}));
    while !bench.daemons[at].has_keys {
        assert!(bench.step());
    }
    bench.daemons[at].can_save = false;
    bench.advance(5_000);
    assert_eq!(bench.answer(at, &id).unwrap().unwrap()["state"], "joined");
    assert!(bench.daemons[at].pairing.is_some());
    bench.daemons[at].can_save = true;
    restart(&mut bench, at);
    bench.advance(5_000);
    is_in(&bench, at);
}

#[test]
fn a_long_history_is_read_by_a_claim_too() {
    let (mut bench, at) = team_and_newcomer();
    let card = pair(&mut bench, at).unwrap();
    add(&mut bench, &card).unwrap();
    let admin = bench.daemons[0].keys.identity.signing.clone();
    let mut rng = SeededRandom::new(5);
    for _ in 0..300 {
        let new =
            invite::create(&"zed".parse().unwrap(), 60_000, bench.now.wall, &mut rng).unwrap();
        for op in [new.op.clone(), Op::InviteRevoke { invite_id: new.id }] {
            let entry = bench.relay.roster.sign_next(&op, bench.now.wall, &admin).unwrap();
            bench.relay.append(&entry);
        }
    }
    bench.settle();
    assert_eq!(claim(&mut bench, at, 0).unwrap()["state"], "joined");
    is_in(&bench, at);
}

#[test]
fn a_hostile_relay_gives_no_place_in_another_history() {
    let (mut bench, at) = team_and_newcomer();
    let card = pair(&mut bench, at).unwrap();
    // Another team in which these keys are a member.
    let (mut other, keys) = crate::tests::bench::team(&[("alice", "laptop")]);
    let admit = AdmitCard::decode(card["card"].as_str().unwrap()).unwrap();
    let AdmitCard { machine, enc, person, label, .. } = admit;
    let op = Op::MemberAdd { member: Member { machine, enc, person, role: Role::Member, label } };
    let entry = other.sign_next(&op, bench.now.wall, &keys[0].identity.signing).unwrap();
    other.apply(&entry, None).unwrap();
    let honest = std::mem::replace(&mut bench.relay.roster, other);
    let code = claim(&mut bench, at, 0);
    assert!(code.is_err() || code == Ok(json!({"state": "waiting"})), "{code:?}");
    assert_eq!(standing(&bench, at), Standing::NoTeam);
    bench.relay.roster = honest;
    add(&mut bench, &card).unwrap();
    assert_eq!(claim(&mut bench, at, 0).unwrap()["state"], "joined");
}

#[test]
fn cards_and_tickets_are_not_each_other() {
    let (mut bench, at) = team_and_newcomer();
    let card = pair(&mut bench, at).unwrap();
    let admit = card["card"].as_str().unwrap();
    let team = bench.call(0, CONN, "team.list", json!({})).unwrap()["card"].clone();
    let team = team.as_str().unwrap();
    let ticket = ticket(&mut bench, "bob");
    assert!(InviteTicket::decode(admit).is_err() && InviteTicket::decode(team).is_err());
    assert!(AdmitCard::decode(team).is_err() && AdmitCard::decode(&ticket).is_err());
    assert!(TeamCard::decode(admit).is_err() && TeamCard::decode(&ticket).is_err());
    assert_eq!(join(&mut bench, at, admit, "desk"), Err("invalid_request".into()));
}

/// Runs a claim and kills the machine after `steps` steps; then the person repeats the command until it is done.
fn claim_with_a_death(steps: usize) -> bool {
    let (mut bench, at) = team_and_newcomer();
    let card = pair(&mut bench, at).unwrap();
    add(&mut bench, &card).unwrap();
    bench.begin(at, CONN, "team.claim", json!({}));
    let mut more = true;
    for _ in 0..steps {
        more = bench.step();
    }
    restart(&mut bench, at);
    bench.advance(10_000);
    if standing(&bench, at) == Standing::NoTeam {
        let answer = claim(&mut bench, at, 0).unwrap();
        assert_eq!(answer["state"], "joined", "after {steps} steps");
    }
    bench.advance(5_000);
    is_in(&bench, at);
    more
}

#[test]
fn a_claimer_may_die_at_any_step() {
    let mut steps = 0;
    while claim_with_a_death(steps) {
        steps += 1;
    }
    assert!(steps > 8, "the claim has more steps than {steps}");
}

#[test]
fn a_machine_that_dies_while_its_keys_are_made_or_dropped_has_them_whole_or_not_at_all() {
    for steps in 0..3 {
        let (mut bench, at) = team_and_newcomer();
        let params = pairing_to(&bench);
        bench.begin(at, CONN, "team.pair", params);
        (0..steps).for_each(|_| _ = bench.step());
        restart(&mut bench, at);
        let card = pair(&mut bench, at).unwrap();
        bench.begin(at, CONN, "team.pairCancel", json!({}));
        (0..steps).for_each(|_| _ = bench.step());
        restart(&mut bench, at);
        match cancel(&mut bench, at).unwrap()["cancelled"].as_bool() {
            Some(true) => assert!(steps < 2),
            _ => assert!(bench.daemons[at].pairing.is_none()),
        }
        assert_ne!(pair(&mut bench, at).unwrap()["machine"], card["machine"]);
    }
}

/// Runs a claim while one write of the store fails.
fn claim_with_a_fault(step: u64, how: How) -> bool {
    let (mut bench, at) = team_and_newcomer();
    let card = pair(&mut bench, at).unwrap();
    add(&mut bench, &card).unwrap();
    bench.set_faults(at, FaultPlan::nth(step, how, StoreError::Io));
    let id = bench.begin(at, CONN, "team.claim", json!({}));
    bench.advance(60_000);
    let answer = bench.answer(at, &id).expect("every call is answered");
    let reached = bench.daemons[at].running.as_ref().unwrap().steps() > step;
    if standing(&bench, at) == Standing::NoTeam {
        assert!(answer.is_err(), "write {step} {how:?}");
        let again = claim(&mut bench, at, 0);
        // It may have gone on by itself meanwhile.
        assert!(standing(&bench, at) == Standing::Member, "write {step} {how:?}: {again:?}");
    }
    bench.advance(60_000);
    assert!(bench.engine(at).link.is_ready(), "write {step} {how:?}");
    assert_eq!(bench.relay.roster.members().len(), 2, "write {step} {how:?}");
    restart(&mut bench, at);
    bench.advance(5_000);
    is_in(&bench, at);
    reached
}

#[test]
fn any_write_of_a_claimer_may_fail() {
    for how in [How::Lost, How::AppliedButReportedLost, How::EndsTransaction] {
        let step = (0..60).take_while(|step| claim_with_a_fault(*step, how)).count();
        assert!(step > 8, "{step} writes");
    }
}

#[test]
fn an_admin_cuts_a_key_off() {
    let (mut bench, at) = team_and_newcomer();
    let card = pair(&mut bench, at).unwrap();
    add(&mut bench, &card).unwrap();
    claim(&mut bench, at, 0).unwrap();
    let machine = bench.machine(at);
    let own = bench.machine(0);
    let rekey = |bench: &mut Bench, by: usize, machine: MachineId| {
        bench.call(by, CONN, "team.rekey", json!({"machine": machine}))
    };
    assert_eq!(rekey(&mut bench, 0, own), Err("invalid_request".into()));
    assert_eq!(rekey(&mut bench, at, own), Err("forbidden".into()));
    assert_eq!(rekey(&mut bench, 0, MachineId::from_bytes(&[9; 32])), Err("not_found".into()));
    let cut = rekey(&mut bench, 0, machine).unwrap();
    assert_ne!(cut["enc"], card["enc"]);
    assert_eq!(json!(bench.relay.roster.member(&machine).unwrap().enc), cut["enc"]);
    bench.settle();
    assert_eq!(bench.last_error(at), Some("an admin replaced this machine's encryption key"));
    assert_eq!(crate::status::alarm(bench.engine(at)), None, "which is no alarm");
}
