//! A change of a grant: the whole grant written anew from the current one, after its sentence was shown.
//! Spec: D6.4, D1.8, §6.9

use messaging_core::time::Ms;
use messaging_ipc::call;
use messaging_ipc::params::consent::{ListGrants, SetGrant, Subject};
use messaging_ipc::shapes::{Ask, GrantView};

use crate::address::Recipient;
use crate::context::{Context, Link};
use crate::fault::Fault;
use crate::render::{Report, line};

/// Reads the current grant for whom `whom` names, lets `change` write it anew, says what will hold, asks, and sets it.
pub(super) async fn change(
    context: &Context,
    whom: &str,
    change: impl FnOnce(&mut SetGrant),
) -> Result<Report, Fault> {
    let whom = Recipient::parse(whom)?;
    let link = context.connect().await?;
    let subject = whom.subject(&link).await?;
    let list = ListGrants { subject: Some(subject.clone()) };
    let current = link.call::<call::GrantList>(&list).await?.grants.into_iter().next();
    let mut grant = rewritten(subject, current.as_ref(), context.screen.now);
    change(&mut grant);
    set(context, &link, grant).await
}

/// Says what a grant means, asks, and sets it.
pub(super) async fn set(
    context: &Context,
    link: &Link<'_>,
    grant: SetGrant,
) -> Result<Report, Fault> {
    let preview = link.call::<call::GrantSetPreview>(&grant).await?;
    if !context.confirm(&preview.sentence).await? {
        return Ok(Report::declined());
    }
    let set = link.call::<call::GrantSet>(&grant).await?;
    // Whoever was asked has read the sentence.
    let text = if context.globals.yes { line(&preview.sentence) } else { "done".to_owned() };
    Ok(Report::of(&set, text + "\n"))
}

/// The levels of the current grant as a new one. Trust that has ended is not written again, nor a level that a grant of
/// this kind has not.
fn rewritten(subject: Subject, current: Option<&GrantView>, now: Ms) -> SetGrant {
    SetGrant {
        subject,
        chat: current.and_then(|grant| grant.chat),
        agent_mail: current.and_then(|grant| grant.agent_mail),
        ask: current.and_then(|grant| grant.ask),
        trusted_until: current.and_then(|grant| grant.trusted_until).filter(|until| *until > now),
        trust: None,
        discoverable: current.and_then(|grant| grant.discoverable),
    }
}

/// Sets what happens to requests. Trust means that they run, so it ends when they do not.
pub(super) fn ask(grant: &mut SetGrant, ask: Option<Ask>) {
    grant.ask = ask;
    if ask != Some(Ask::Open) {
        grant.trusted_until = None;
        grant.trust = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messaging_ipc::shapes::{ChatLevel, GrantSubject};
    use serde_json::json;

    fn grant(trusted_until: u64) -> GrantView {
        serde_json::from_value(json!({
            "subject": {"person": "bob"}, "id": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "ts": 1,
            "by": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "chat": "muted", "ask": "open",
            "trustedUntil": trusted_until,
        }))
        .unwrap()
    }

    #[test]
    fn a_grant_is_rewritten_whole_without_trust_that_has_ended() {
        let current = grant(1_000);
        let GrantSubject::Person { person } = current.subject.clone() else { panic!() };
        let subject = Subject { person: Some(person), channel: None };
        let written = rewritten(subject.clone(), Some(&current), Ms(999));
        assert_eq!((written.chat, written.ask), (Some(ChatLevel::Muted), Some(Ask::Open)));
        assert_eq!((written.agent_mail, written.trusted_until), (None, Some(Ms(1_000))));
        assert_eq!(rewritten(subject.clone(), Some(&current), Ms(1_000)).trusted_until, None);
        assert_eq!(rewritten(subject, None, Ms(0)).chat, None);
    }

    #[test]
    fn trust_ends_when_requests_do_not_run_at_once() {
        let current = grant(1_000);
        let subject = Subject { person: None, channel: None };
        for (level, trusted) in [
            (Some(Ask::Open), true),
            (Some(Ask::Request), false),
            (Some(Ask::No), false),
            (None, false),
        ] {
            let mut written = rewritten(subject.clone(), Some(&current), Ms(1));
            ask(&mut written, level);
            assert_eq!(written.trusted_until.is_some(), trusted);
        }
    }
}
