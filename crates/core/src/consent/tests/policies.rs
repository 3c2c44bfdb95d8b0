//! Relations, defaults, levels and cards.
//! Spec: §6.9 "Effective policy"

use proptest::prelude::*;
use serde_json::json;
use std::vec::Vec;

use super::fixture::{ID, NOW, about, any_levels, device, grant, levels, person};
use crate::consent::{
    AgentMailLevel as Mail, AskLevel as Ask, EffectiveChat as Chat, EffectivePolicy, Levels,
    Relation, Subject, VerifiedGrant, card_can, relation,
};
use crate::realm::RealmKind;

fn channel(said: serde_json::Value) -> VerifiedGrant {
    about(&Subject::Channel(ID.parse().unwrap()), levels(said), NOW, &device(1))
}

#[test]
fn a_roster_realm_has_the_own_person_and_the_team() {
    let (bob, alice) = (person("bob"), person("alice"));
    for (org, granted) in [(false, false), (true, false), (false, true), (true, true)] {
        assert_eq!(relation(&bob, &bob, RealmKind::Roster, org, granted), Relation::Own);
        assert_eq!(relation(&bob, &alice, RealmKind::Roster, org, granted), Relation::Org);
        let expected = match (org, granted) {
            (true, _) => Relation::Org,
            (false, true) => Relation::Contact,
            (false, false) => Relation::Stranger,
        };
        assert_eq!(relation(&bob, &bob, RealmKind::Directory, org, granted), Relation::Own);
        assert_eq!(relation(&bob, &alice, RealmKind::Directory, org, granted), expected);
    }
}

#[test]
fn the_defaults_are_those_of_the_relation() {
    for (relation, chat, mail, ask) in [
        (Relation::Own, Chat::Open, Mail::Open, Ask::Open),
        (Relation::Org, Chat::Open, Mail::Open, Ask::Request),
        (Relation::Contact, Chat::Open, Mail::Blocked, Ask::No),
        (Relation::Stranger, Chat::RequestRequired, Mail::Blocked, Ask::No),
    ] {
        let clear = grant(json!({}), &device(1));
        for said in [None, Some(&*clear)] {
            let policy = EffectivePolicy::of(relation, said, &[], NOW);
            assert_eq!((policy.chat, policy.agent_mail, policy.ask), (chat, mail, ask));
            assert!(policy.ask_by_default && policy.agent_mail_by_default && !policy.trusted);
        }
    }
}

#[test]
fn a_persons_grant_goes_before_the_channels_and_those_before_the_default() {
    let (no, open) =
        (channel(json!({"ask": "no"})), channel(json!({"ask": "open", "agentMail": "blocked"})));
    let of = |said: Option<&VerifiedGrant>, channels: &[&VerifiedGrant]| {
        let channels: Vec<_> = channels.iter().map(|grant| &***grant).collect();
        EffectivePolicy::of(Relation::Org, said.map(|grant| &**grant), &channels, NOW)
    };
    assert_eq!(of(None, &[&no]).ask, Ask::No);
    assert_eq!(of(None, &[&no, &open]).ask, Ask::Open, "the most permissive");
    assert_eq!(of(None, &[&open, &no]).agent_mail, Mail::Blocked, "the only one that says so");
    let said = grant(json!({"ask": "request", "chat": "muted"}), &device(1));
    let policy = of(Some(&said), &[&open]);
    assert_eq!(
        (policy.ask, policy.chat, policy.agent_mail),
        (Ask::Request, Chat::Muted, Mail::Blocked)
    );
    assert!(!policy.ask_by_default && !policy.agent_mail_by_default);
}

#[test]
fn only_the_persons_own_grant_trusts_and_only_until_its_end() {
    let said = grant(json!({"ask": "open", "trustedUntil": NOW.plus(10)}), &device(1));
    let trusted = |now| EffectivePolicy::of(Relation::Org, Some(&said), &[], now).trusted;
    assert!(trusted(NOW.plus(9)) && !trusted(NOW.plus(10)));
    let open = channel(json!({"ask": "open"}));
    assert!(!EffectivePolicy::of(Relation::Org, None, &[&open], NOW).trusted);
}

#[test]
fn a_card_tells_the_grant_over_the_defaults_and_no_trust_that_ended() {
    let said =
        grant(json!({"chat": "muted", "ask": "open", "trustedUntil": NOW.plus(10)}), &device(1));
    let can = |relation, said: Option<&VerifiedGrant>, now| {
        serde_json::to_value(card_can(relation, said.map(|grant| &**grant), now)).unwrap()
    };
    assert_eq!(
        can(Relation::Org, Some(&said), NOW),
        json!({"chat": true, "agentMail": true, "ask": "open", "trustedUntil": NOW.plus(10)})
    );
    assert_eq!(
        can(Relation::Contact, Some(&said), NOW.plus(10)),
        json!({"chat": true, "agentMail": false, "ask": "open"})
    );
    assert_eq!(
        can(Relation::Stranger, None, NOW),
        json!({"chat": false, "agentMail": false, "ask": "no"})
    );
}

proptest! {
    /// A level that the person's own grant sets is that level, whatever the channels say.
    #[test]
    fn what_the_grant_sets_holds(said in any_levels(), channels in prop::collection::vec(any_levels(), 0..4)) {
        let own = about(&Subject::Person(person("alice")), said, NOW, &device(1));
        let channels: Vec<_> = channels
            .into_iter()
            .map(|Levels { agent_mail, ask, .. }| {
                about(&Subject::Channel(ID.parse().unwrap()), Levels { agent_mail, ask, ..Levels::default() }, NOW, &device(1))
            })
            .collect();
        let views: Vec<_> = channels.iter().map(|grant| &**grant).collect();
        let policy = EffectivePolicy::of(Relation::Org, Some(&own), &views, NOW);
        if let Some(chat) = said.chat { prop_assert_eq!(policy.chat, Chat::from(chat)); }
        if let Some(mail) = said.agent_mail { prop_assert_eq!(policy.agent_mail, mail); }
        if let Some(ask) = said.ask { prop_assert_eq!(policy.ask, ask); }
        prop_assert_eq!(policy.trusted, said.trusted_until.is_some());
    }
}
