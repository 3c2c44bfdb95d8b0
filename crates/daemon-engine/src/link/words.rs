//! What is said about the relay: fixed words of our own, never text that came from it.
//! Spec: D3.30 "Every `reason`"

use messaging_core::code::Code;
use messaging_wire::CloseCode;

use crate::input::LinkFault;

/// Why a link ended.
pub(super) fn of_close(code: Option<CloseCode>, why: LinkFault) -> &'static str {
    match code {
        Some(CloseCode::AuthFailed) => "the relay refused this machine",
        Some(CloseCode::Removed) => "the relay says that this machine was removed",
        Some(CloseCode::Replaced) => "another process connected with this machine's identity",
        Some(CloseCode::Full) => "the relay is full",
        Some(CloseCode::TooLarge) => "the relay refused a frame as too large",
        Some(CloseCode::Protocol) => "the relay saw a protocol error",
        Some(CloseCode::Stopping) => "the relay stopped",
        None => why.as_str(),
    }
}

/// Why a hello was refused.
pub(super) fn of_hello(code: Code) -> &'static str {
    match code {
        Code::NotMember => "the relay does not count this machine as a member",
        Code::Expired => "the relay's clock and this machine's are too far apart",
        Code::BadSignature => "the relay did not accept this machine's signature",
        Code::RateLimited => "the relay is full",
        _ => "the relay refused this machine",
    }
}

/// What an error after the welcome says.
pub(super) fn of_error(code: Code) -> &'static str {
    match code {
        Code::RateLimited => "the relay limits this machine's frames",
        Code::Internal => "the relay had an internal error",
        _ => "the relay refused a frame",
    }
}
