//! What a person does next, for every code.
//! Spec: D7.4 (CLI column)

use messaging_core::code::Code;
use messaging_ipc::methods::Method;

/// The next step after a failure, a sentence without its `Next: `.
pub(crate) const fn of(code: Code) -> &'static str {
    match code {
        Code::InvalidRequest => "run the command with --help and fix the field it names.",
        Code::NotMember => "check `messaging team list`.",
        Code::BadSignature => "run `messaging doctor`.",
        Code::UnknownSession | Code::NoRecipients | Code::UnknownAddress => {
            "check `messaging contact list`."
        }
        Code::AmbiguousAddress => "add @label to the address.",
        Code::Refused => "talk to the person another way.",
        Code::Declined => "do not send it again; go on without it or tell your person.",
        Code::RequestRequired => "run `messaging contact request <email>`.",
        Code::RateLimited => "wait for the time it names, then try once more.",
        Code::LoopGuard => "wait five minutes.",
        Code::TooLarge => "send less, or split it.",
        Code::SecretRefused => {
            "remove the credential and send the rest; never send it in another form."
        }
        Code::Expired => "start again; the request was too old.",
        Code::Duplicate => "nothing; it was received before.",
        Code::RelayUnavailable | Code::InvalidState => "check `messaging status`.",
        Code::NotFound => "check the id or name.",
        Code::Forbidden => "use a device or account that may do this.",
        Code::GuardedTurn => "reply only to the person who started this turn.",
        Code::RosterConflict => "run the command again.",
        Code::InviteInvalid => "ask the admin for a new invite.",
        Code::NoIdentity => "run `messaging login` or `messaging team join`.",
        Code::BindingInvalid => "sign in again with the account this device belongs to.",
        Code::JellyUnavailable | Code::DirectoryUnavailable => "try again in a few minutes.",
        Code::LogConflict => "try again in ten seconds.",
        Code::DeviceLimit => "run `messaging device list` and remove one.",
        Code::AdmissionRequired | Code::AdmissionInvalid => "run `messaging login`.",
        Code::DirectoryInconsistent => {
            "run `messaging doctor` and tell whoever runs the directory."
        }
        Code::UnknownDevice => "run `messaging device status`.",
        Code::LoginUnsupported => "use `messaging link` with another device.",
        Code::LoginDenied => "run `messaging login` again.",
        Code::GrantRequired => "use the host's own window for this.",
        Code::GrantInvalid => "approve it again in the host.",
        Code::TicketRequired => "start this from the host.",
        Code::TicketInvalid => "start this from the host again.",
        Code::DaemonUnavailable => "run `messaging daemon start`.",
        Code::DaemonMismatch => "run `messaging daemon restart`.",
        Code::Internal => "run `messaging daemon logs`.",
    }
}

/// The next step when a call found nothing under the name or id that it was given: where the right one can be seen.
pub(crate) const fn when_not_found(method: Method) -> Option<&'static str> {
    Some(match method {
        Method::PeopleGet | Method::CardGet => "see who is in the team with `messaging team list`.",
        Method::GrantSet
        | Method::GrantSetPreview
        | Method::GrantList
        | Method::PersonSend
        | Method::ConvRead
        | Method::ConvMarkRead
        | Method::Search
        | Method::ChannelCreate
        | Method::ChannelInvite
        | Method::ChannelRemove
        | Method::ChannelLeave => {
            "see who is in the team with `messaging team list`, and your channels with `messaging channel list`."
        }
        Method::RequestAnswer | Method::RequestAnswerPreview => "check `messaging request list`.",
        Method::TaskGet | Method::TaskCancel | Method::TaskUpdate => "check `messaging task list`.",
        Method::AgentsRead => "check `messaging agents`.",
        Method::ItemRead | Method::InboxGet | Method::InboxAck => {
            "check `messaging inbox --all` and `messaging sent`."
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_found_is_looked_up_where_it_is_listed() {
        for method in Method::ALL {
            let Some(remedy) = when_not_found(*method) else { continue };
            assert!(remedy.ends_with('.') && remedy.contains("`messaging "), "{remedy}");
        }
        assert_eq!(when_not_found(Method::TaskGet), Some("check `messaging task list`."));
        assert_eq!(when_not_found(Method::DaemonStatus), None);
    }

    #[test]
    fn every_remedy_is_a_sentence() {
        for code in Code::ALL {
            let remedy = of(*code);
            assert!(remedy.ends_with('.') && remedy.starts_with(|c: char| c.is_ascii_lowercase()));
        }
    }
}
