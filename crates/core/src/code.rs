//! The error codes of the protocol, and the one value in which every refusal travels.
//! Spec: §13, W2.14

use core::fmt;

use alloc::string::String;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! codes {
    ($($name:ident $text:literal $wire:literal $doc:literal;)*) => {
        /// Why something was refused: one of the 42 codes of §13.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $(#[doc = $doc] $name,)* }

        impl Code {
            /// Every code, wire codes first.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            /// The code as it is written everywhere.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text,)* }
            }

            /// Whether the code may stand in a nack, an error frame or a receipt.
            #[must_use]
            pub const fn on_wire(self) -> bool {
                match self { $(Code::$name => $wire,)* }
            }

            /// What the code means, in one sentence.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Code::$name => $doc,)* }
            }

            /// The code of a text; `None` for a text that is no code.
            #[must_use]
            pub fn parse(text: &str) -> Option<Code> {
                match text { $($text => Some(Code::$name),)* _ => None }
            }
        }
    };
}

codes! {
    InvalidRequest "invalid_request" true "The value breaks a shape or a rule.";
    NotMember "not_member" true "Not a current member of the realm.";
    UnknownDevice "unknown_device" true "Not a current device of the directory realm.";
    BadSignature "bad_signature" true "A signature or a seal does not verify.";
    UnknownSession "unknown_session" true "No such agent session on that machine.";
    Refused "refused" true "The recipient does not accept this.";
    Declined "declined" true "The person declined the request.";
    RequestRequired "request_required" true "The sender must ask to write first.";
    RateLimited "rate_limited" true "Over a budget; try again later.";
    LoopGuard "loop_guard" true "Too many messages between two agents.";
    TooLarge "too_large" true "Over a size limit.";
    Expired "expired" true "Outside its time window.";
    NotFound "not_found" true "Names nothing known here.";
    InvalidState "invalid_state" true "Not possible in the present state.";
    Forbidden "forbidden" true "Not allowed to the caller.";
    RosterConflict "roster_conflict" true "Another history or a stale head of the team.";
    InviteInvalid "invite_invalid" true "The invite is unknown, used, revoked, expired or not proven.";
    BindingInvalid "binding_invalid" true "A device binding does not hold.";
    JellyUnavailable "jelly_unavailable" true "The account service does not answer.";
    LogConflict "log_conflict" true "The device log moved on.";
    DeviceLimit "device_limit" true "The person has the most devices allowed.";
    AdmissionRequired "admission_required" true "The device must be signed in again.";
    AdmissionInvalid "admission_invalid" true "The sign-in does not admit the device.";
    DirectoryInconsistent "directory_inconsistent" true "The directory contradicts itself.";
    Internal "internal" true "A fault of this program.";
    AmbiguousAddress "ambiguous_address" false "The address fits several machines.";
    NoRecipients "no_recipients" false "The address names nobody here.";
    UnknownAddress "unknown_address" false "No such person, agent or channel.";
    SecretRefused "secret_refused" false "The text holds a credential.";
    Duplicate "duplicate" false "Received before; a success.";
    RelayUnavailable "relay_unavailable" false "The relay cannot be reached.";
    GuardedTurn "guarded_turn" false "A guarded turn may answer its starter only.";
    NoIdentity "no_identity" false "This device is not set up.";
    DirectoryUnavailable "directory_unavailable" false "The directory cannot be reached or is stale.";
    LoginUnsupported "login_unsupported" false "The account service offers no device sign-in.";
    LoginDenied "login_denied" false "The sign-in was denied.";
    GrantRequired "grant_required" false "The host must approve this call.";
    GrantInvalid "grant_invalid" false "The host's approval does not fit.";
    TicketRequired "ticket_required" false "The session needs a ticket.";
    TicketInvalid "ticket_invalid" false "The session's ticket does not fit.";
    DaemonUnavailable "daemon_unavailable" false "No daemon answers.";
    DaemonMismatch "daemon_mismatch" false "The daemon is of another release.";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Code {
    /// A well-formed code of a later release reads as `internal`. Spec: W0 `ErrCode`.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Code::parse(&text)
            .or_else(|| is_code_shaped(&text).then_some(Code::Internal))
            .ok_or_else(|| serde::de::Error::custom("code"))
    }
}

impl JsonSchema for Code {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "ErrorCode".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^[a-z][a-z_]{0,31}$" })
    }
}

fn is_code_shaped(text: &str) -> bool {
    text.len() <= 32
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
}

/// A refusal: its code, and the name of the field or rule that was broken.
///
/// It cannot hold a value that came from outside, so it may be logged and sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The code of §13.
    pub code: Code,
    /// The field or rule that was broken, in our own words.
    pub at: &'static str,
}

impl Failure {
    /// A refusal with `code`, naming the field or rule `at`.
    #[must_use]
    pub const fn new(code: Code, at: &'static str) -> Self {
        Self { code, at }
    }

    /// `invalid_request` at a field or rule.
    #[must_use]
    pub const fn invalid(at: &'static str) -> Self {
        Self::new(Code::InvalidRequest, at)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.at)
    }
}

impl core::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_42_codes_and_each_reads_back() {
        assert_eq!(Code::ALL.len(), 42);
        assert_eq!(Code::ALL.iter().filter(|c| c.on_wire()).count(), 25);
        for code in Code::ALL {
            assert_eq!(Code::parse(code.as_str()), Some(*code));
        }
    }

    #[test]
    fn a_later_code_reads_as_internal_and_a_malformed_one_not_at_all() {
        assert_eq!(serde_json::from_str::<Code>("\"too_shy\"").ok(), Some(Code::Internal));
        assert!(serde_json::from_str::<Code>("\"Too shy\"").is_err());
    }
}
