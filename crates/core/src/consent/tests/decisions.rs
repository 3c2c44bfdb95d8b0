//! Every decision there is, and the rules that each one keeps.
//! Spec: §6.9 "Evaluation"

use std::vec::Vec;

use crate::code::Code;
use crate::consent::{
    AgentMailLevel as Mail, Arrived, AskLevel as Ask, ConsentClass, Decision,
    EffectiveChat as Chat, EffectivePolicy, Relation, Sender, decide,
};

const RELATIONS: [Relation; 4] =
    [Relation::Own, Relation::Org, Relation::Contact, Relation::Stranger];

/// Everything that can arrive, with every shape of chain.
fn everything() -> Vec<Arrived<'static>> {
    let chains: [&[&str]; 5] = [
        &[],
        &["alice"],
        &["bob", "alice", "bob"],
        &["alice", "carol", "bob"],
        &["carol", "alice", "bob"],
    ];
    let mut all = Vec::from([
        Arrived::Line { agent: false },
        Arrived::Line { agent: true },
        Arrived::Change,
        Arrived::Request,
    ]);
    all.extend(chains.iter().map(|chain| Arrived::Answer { chain }));
    all.extend(chains.iter().map(|chain| Arrived::Ask { chain }));
    all
}

/// Every policy there can be.
fn policies() -> Vec<EffectivePolicy> {
    let mut all = Vec::new();
    for chat in [Chat::Open, Chat::Muted, Chat::Blocked, Chat::RequestRequired] {
        for agent_mail in [Mail::Open, Mail::Blocked] {
            for ask in [Ask::Open, Ask::Request, Ask::No] {
                for bits in 0..8u8 {
                    all.push(EffectivePolicy {
                        chat,
                        agent_mail,
                        ask,
                        trusted: bits & 1 != 0,
                        agent_mail_by_default: bits & 2 != 0,
                        ask_by_default: bits & 4 != 0,
                    });
                }
            }
        }
    }
    all
}

fn alice(relation: Relation, policy: EffectivePolicy) -> Sender<'static> {
    Sender { relation, policy, person: "alice", receiver: "bob" }
}

fn through(what: &Arrived<'_>) -> bool {
    match what {
        Arrived::Answer { chain } | Arrived::Ask { chain } => chain.contains(&"carol"),
        _ => false,
    }
}

/// Every relation, policy and kind: the rules as they are told, checked over all of them.
#[test]
fn there_is_a_decision_for_everything_and_it_keeps_the_rules() {
    for relation in RELATIONS {
        for policy in policies() {
            for what in everything() {
                let decision = decide(&what, &alice(relation, policy));
                check(&what, relation, &policy, decision);
            }
        }
    }
}

#[track_caller]
fn check(what: &Arrived<'_>, relation: Relation, policy: &EffectivePolicy, decision: Decision) {
    let at = (what, relation, policy);
    let answer = matches!(what, Arrived::Answer { .. });
    if relation == Relation::Own {
        let own = Decision::Deliver { class: ConsentClass::Own, silent: false };
        assert_eq!(decision, own, "{at:?}");
        return;
    }
    if policy.chat == Chat::Blocked && !answer {
        assert_eq!(decision, Decision::Refuse(Code::Refused), "{at:?}");
        return;
    }
    match decision {
        Decision::Deliver { class, silent } => {
            assert_ne!(class, ConsentClass::Own, "{at:?}");
            if class == ConsentClass::Trusted {
                assert!(policy.trusted && !through(what), "{at:?}");
                assert!(matches!(what, Arrived::Answer { .. } | Arrived::Ask { .. }), "{at:?}");
            }
            if silent {
                assert_eq!(policy.chat, Chat::Muted, "{at:?}");
                assert!(matches!(what, Arrived::Line { .. } | Arrived::Request), "{at:?}");
            }
            if matches!(what, Arrived::Ask { .. }) {
                assert_eq!(policy.ask, Ask::Open, "{at:?}");
            }
        }
        Decision::Hold => match what {
            Arrived::Ask { .. } => assert_eq!(policy.ask, Ask::Request, "{at:?}"),
            Arrived::Request => assert_eq!(relation, Relation::Stranger, "{at:?}"),
            _ => panic!("held: {at:?}"),
        },
        Decision::Refuse(code) => {
            assert!(!answer, "{at:?}");
            assert!(matches!(code, Code::Refused | Code::RequestRequired), "{at:?}");
            // The team is never told to ask first, but about lines that nobody opened.
            if code == Code::RequestRequired && policy.chat != Chat::RequestRequired {
                assert_ne!(relation, Relation::Org, "{at:?}");
            }
        }
    }
}

fn policy(relation: Relation) -> EffectivePolicy {
    EffectivePolicy::of(relation, None, &[], super::fixture::NOW)
}

fn trusting() -> EffectivePolicy {
    EffectivePolicy {
        ask: Ask::Open,
        trusted: true,
        ask_by_default: false,
        ..policy(Relation::Org)
    }
}

fn class(what: &Arrived<'_>, policy: EffectivePolicy) -> ConsentClass {
    match decide(what, &alice(Relation::Org, policy)) {
        Decision::Deliver { class, silent: false } => class,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_trusted_ask_went_through_the_sender_and_the_receiver_only() {
    for (chain, expected) in [
        (&["alice"][..], ConsentClass::Trusted),
        (&["bob", "alice", "bob"], ConsentClass::Trusted),
        (&["carol", "alice", "bob"], ConsentClass::Guarded),
        (&["alice", "carol", "alice", "bob"], ConsentClass::Guarded),
    ] {
        assert_eq!(class(&Arrived::Ask { chain }, trusting()), expected, "{chain:?}");
        // A task request that answers passes whatever the grants, but is trusted by the same rule.
        assert_eq!(class(&Arrived::Answer { chain }, trusting()), expected, "{chain:?}");
        let blocked = EffectivePolicy { chat: Chat::Blocked, trusted: false, ..trusting() };
        assert_eq!(class(&Arrived::Answer { chain }, blocked), ConsentClass::Guarded);
    }
}

#[test]
fn an_answer_is_delivered_under_every_policy() {
    for relation in RELATIONS {
        for policy in policies() {
            let decision = decide(&Arrived::Answer { chain: &[] }, &alice(relation, policy));
            assert!(matches!(decision, Decision::Deliver { silent: false, .. }), "{policy:?}");
        }
    }
}

#[test]
fn a_refusal_by_default_tells_a_stranger_to_ask_first_and_one_by_grant_does_not() {
    let line = Arrived::Line { agent: true };
    let ask = Arrived::Ask { chain: &["alice"] };
    for (relation, line_code, ask_code) in [
        (Relation::Contact, Code::Refused, Code::RequestRequired),
        (Relation::Stranger, Code::RequestRequired, Code::RequestRequired),
    ] {
        let default = policy(relation);
        let set = EffectivePolicy {
            chat: Chat::Open,
            agent_mail_by_default: false,
            ask_by_default: false,
            ..default
        };
        let code = |what: &Arrived<'_>, policy| match decide(what, &alice(relation, policy)) {
            Decision::Refuse(code) => code,
            other => panic!("{other:?}"),
        };
        assert_eq!((code(&line, default), code(&ask, default)), (line_code, ask_code));
        assert_eq!((code(&line, set), code(&ask, set)), (Code::Refused, Code::Refused));
    }
}

#[test]
fn a_class_has_one_name() {
    for class in [ConsentClass::Own, ConsentClass::Guarded, ConsentClass::Trusted] {
        assert_eq!(ConsentClass::parse(class.as_str()), Some(class));
        assert_eq!(serde_json::to_value(class).unwrap(), class.as_str());
    }
    assert_eq!(ConsentClass::parse("other"), None);
}
