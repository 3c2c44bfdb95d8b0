//! Signing anew: what is kept, what lapses, and that nothing is ever wider.
//! Spec: §6.9 "Signers"

use proptest::prelude::*;
use serde_json::json;

use super::fixture::{NOW, about, any_levels, device, grant, levels, person, realm};
use crate::consent::{
    AgentMailLevel, AskLevel, EffectiveChat, EffectivePolicy, Levels, Relation, Resigned, Subject,
    resign, sign_grant, sign_lapse, verify_grant,
};
use crate::time::Ms;

const LATER: Ms = NOW.plus(86_400_000);

fn resigned(said: serde_json::Value) -> Resigned {
    resign(&grant(said, &device(1)), &device(2), LATER, false).unwrap()
}

#[test]
fn what_restricts_is_kept_and_what_widens_lapses() {
    let both = resigned(json!({"chat": "blocked", "agentMail": "open", "ask": "request"}));
    let kept = both.grant.unwrap();
    assert_eq!(kept.levels(), levels(json!({"chat": "blocked"})));
    assert_eq!(both.lapsed, levels(json!({"agentMail": "open", "ask": "request"})));
    assert!(verify_grant(kept.raw().clone(), &realm(), &person("bob")).is_ok());

    let trusted = resigned(json!({"chat": "muted", "ask": "open", "trustedUntil": LATER}));
    assert_eq!(trusted.grant.unwrap().levels(), levels(json!({"chat": "muted"})));
    assert_eq!(trusted.lapsed, levels(json!({"ask": "open", "trustedUntil": LATER})));
}

#[test]
fn a_grant_that_only_widens_lapses_whole_and_a_clear_leaves_nothing() {
    let open = resigned(json!({"chat": "open", "ask": "open"}));
    assert_eq!((open.grant, open.lapsed), (None, levels(json!({"chat": "open", "ask": "open"}))));
    let clear = resigned(json!({}));
    assert_eq!((clear.grant, clear.lapsed), (None, Levels::default()));
}

#[test]
fn a_re_sign_keeps_the_id_and_the_time_and_says_when() {
    let old = grant(json!({"ask": "no"}), &device(1));
    let new = resign(&old, &device(2), LATER, false).unwrap().grant.unwrap();
    assert_eq!((new.id, new.ts, &new.subject), (old.id, old.ts, &old.subject));
    assert_eq!((new.by, new.resigned_at), (*device(2).machine(), Some(LATER)));
    assert!(resign(&old, &device(2), NOW.minus(1), false).is_err(), "signed before it was said");
}

#[test]
fn that_nothing_is_left_of_a_grant_is_a_clear_in_its_place() {
    let old = grant(json!({"chat": "blocked", "ask": "open"}), &device(1));
    let lapse = sign_lapse(&old, &device(2), LATER).unwrap();
    assert!(lapse.is_clear());
    assert_eq!((lapse.id, lapse.ts, &lapse.subject), (old.id, old.ts, &old.subject));
    assert_eq!((lapse.by, lapse.resigned_at), (*device(2).machine(), Some(LATER)));
    assert!(verify_grant(lapse.raw().clone(), &realm(), &person("bob")).is_ok());
    assert!(sign_lapse(&old, &device(2), NOW.minus(1)).is_err(), "signed before it was said");
}

#[test]
fn a_replacement_keeps_every_level_and_members_of_later_versions() {
    let said = json!({"chat": "open", "ask": "open", "trustedUntil": LATER});
    let mut fields = grant(said.clone(), &device(1)).raw().clone();
    fields["later"] = json!(7);
    let old = sign_grant(fields, &device(1)).unwrap();
    let new = resign(&old, &device(2), LATER, true).unwrap();
    assert_eq!(new.lapsed, Levels::default());
    let new = new.grant.unwrap();
    assert_eq!(new.levels(), levels(said));
    assert_eq!(new.raw()["later"], 7);

    let mut fields = grant(json!({"chat": "blocked"}), &device(1)).raw().clone();
    fields["later"] = json!(7);
    let old = sign_grant(fields, &device(1)).unwrap();
    let kept = resign(&old, &device(2), LATER, false).unwrap().grant.unwrap();
    assert_eq!(kept.raw().get("later"), None, "nobody knows whether it widens");
}

/// How much a policy lets in, level by level.
fn openness(policy: &EffectivePolicy) -> [u8; 4] {
    let chat = match policy.chat {
        EffectiveChat::Blocked => 0,
        EffectiveChat::RequestRequired => 1,
        EffectiveChat::Muted => 2,
        EffectiveChat::Open => 3,
    };
    let mail = u8::from(policy.agent_mail == AgentMailLevel::Open);
    let ask = match policy.ask {
        AskLevel::No => 0,
        AskLevel::Request => 1,
        AskLevel::Open => 2,
    };
    [chat, mail, ask, u8::from(policy.trusted)]
}

proptest! {
    #[test]
    fn a_re_sign_never_widens(said in any_levels(), when in 0u64..100 * 86_400_000) {
        let old = about(&Subject::Person(person("alice")), said, NOW, &device(1));
        let new = resign(&old, &device(2), LATER, false).unwrap();
        // Nothing is lost and nothing made up: each level is kept or waits for the person.
        let kept = new.grant.as_ref().map(|grant| grant.levels()).unwrap_or_default();
        prop_assert_eq!(kept, said.restricting());
        prop_assert_eq!(new.lapsed, said.widening());
        prop_assert!(kept.widening().is_empty());
        for relation in [Relation::Org, Relation::Contact, Relation::Stranger] {
            let now = NOW.plus(when);
            let before = openness(&EffectivePolicy::of(relation, Some(&old), &[], now));
            let grant = new.grant.as_deref();
            let after = openness(&EffectivePolicy::of(relation, grant, &[], now));
            prop_assert!(after.iter().zip(before).all(|(after, before)| *after <= before));
        }
        // Signing it once more takes nothing away.
        if let Some(kept) = new.grant {
            let again = resign(&kept, &device(3), LATER.plus(1), false).unwrap();
            prop_assert_eq!(again.lapsed, Levels::default());
            prop_assert_eq!(again.grant.unwrap().levels(), kept.levels());
        }
    }
}
