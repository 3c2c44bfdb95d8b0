//! How a tool says no: a code, what happened, and the one step that follows.
//! Spec: §11 "Errors", D7.4

use messaging_core::code::Code;
use messaging_core::json::Misshape;
use serde_json::{Value, json};

use crate::link::LinkError;

/// A tool's refusal. Its message holds no value, body or peer text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolError {
    /// The code of §13.
    pub code: Code,
    /// What happened, without the code.
    pub message: String,
}

impl ToolError {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// `invalid_request` naming a field.
    pub(crate) fn field(field: &str, rule: &str) -> Self {
        Self::new(Code::InvalidRequest, format!("{field}: {rule}"))
    }

    /// The error as a tool returns it.
    pub fn to_value(&self) -> Value {
        json!({ "error": {
            "code": self.code,
            "message": format!("{}: {}", self.code, self.message),
            "remedy": format!("Next: {}", remedy(self.code)),
        }})
    }
}

impl From<LinkError> for ToolError {
    fn from(error: LinkError) -> Self {
        Self::new(error.code, error.message)
    }
}

impl From<Misshape> for ToolError {
    fn from(misshape: Misshape) -> Self {
        let message = if misshape.path.is_empty() {
            "the arguments are not those of the tool (one is unknown, or they are no object)"
                .to_owned()
        } else {
            format!("{} is missing, unknown or not allowed", misshape.path)
        };
        Self::new(Code::InvalidRequest, message)
    }
}

/// What an agent does next, a sentence without its `Next: `.
pub const fn remedy(code: Code) -> &'static str {
    match code {
        Code::InvalidRequest => "fix the field it names and call again.",
        Code::NotMember => "ask your person whether the other side is still on the team.",
        Code::BadSignature => "do not use it; tell your person.",
        Code::UnknownSession => "call messaging_contacts and pick an agent it lists.",
        Code::AmbiguousAddress => "add @label, with a label from messaging_contacts.",
        Code::NoRecipients | Code::UnknownAddress => {
            "call messaging_contacts and use an address it lists."
        }
        Code::Refused => "do not send it again; tell your person the recipient does not accept it.",
        Code::Declined => "do not send it again; go on without it or tell your person.",
        Code::RequestRequired => {
            "ask your person to send a message request; send to \"me\" with request.contact where that is offered."
        }
        Code::RateLimited => "wait for the time it names, then try once more.",
        Code::LoopGuard => "stop writing to this agent until a person asks you to go on.",
        Code::TooLarge => "send less, or split it.",
        Code::SecretRefused => {
            "remove the credential and send the rest; never send it in another form."
        }
        Code::Expired => "send it again as a new message.",
        Code::Duplicate => "nothing; it was received before.",
        Code::RelayUnavailable => "nothing; it is queued and goes out when the relay is back.",
        Code::NotFound => "check the id with messaging_inbox or messaging_tasks.",
        Code::InvalidState => "read the item with messaging_read and act on its state.",
        Code::Forbidden => "do not retry; ask your person to do it or to allow it.",
        Code::GuardedTurn => "reply only to the person who started this turn.",
        Code::RosterConflict => "try again in a minute.",
        Code::InviteInvalid => "tell your person to ask for a new invite.",
        Code::NoIdentity => "tell your person to set up messaging on this device.",
        Code::BindingInvalid => "tell your person to run messaging doctor.",
        Code::JellyUnavailable | Code::DirectoryUnavailable => "try again in a few minutes.",
        Code::LogConflict => "try again in ten seconds.",
        Code::DeviceLimit => "tell your person to remove a device.",
        Code::AdmissionRequired | Code::AdmissionInvalid => {
            "tell your person to sign this device in again."
        }
        Code::DirectoryInconsistent => {
            "stop and tell your person: the directory showed two histories."
        }
        Code::UnknownDevice => "tell your person that a device was removed or replaced.",
        Code::LoginUnsupported => "tell your person this account service offers no device sign-in.",
        Code::LoginDenied => "tell your person the sign-in was denied.",
        Code::GrantRequired => "ask your person to approve it in the host.",
        Code::GrantInvalid => "ask your person to approve it again in the host.",
        Code::TicketRequired | Code::TicketInvalid => {
            "tell your person to restart this agent from its host."
        }
        Code::DaemonUnavailable => "tell your person to start it with `messaging daemon start`.",
        Code::DaemonMismatch => {
            "tell your person to stop the running daemon and start this version's."
        }
        Code::Internal => "try once more; if it repeats, tell your person.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_error_is_a_code_a_message_that_begins_with_it_and_one_step() {
        for code in Code::ALL {
            let error = ToolError::new(*code, "x").to_value();
            let error = &error["error"];
            assert_eq!(error["code"], code.as_str());
            assert_eq!(error["message"], format!("{code}: x"));
            let step = error["remedy"].as_str().unwrap().strip_prefix("Next: ").unwrap();
            assert!(step.ends_with('.') && step.starts_with(|c: char| c.is_ascii_lowercase()));
        }
    }
}
