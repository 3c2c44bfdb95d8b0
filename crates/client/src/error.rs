//! What can go wrong between a client and its daemon.
//! Spec: D1.1, D1.2, D1.3

use std::borrow::Cow;
use std::fmt;

use messaging_core::code::Code;
use messaging_ipc::error::RpcError;
use messaging_ipc::hello::{Mismatch, release};

/// Why a call gave no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientError {
    /// Nothing answers on the socket, or it stopped answering.
    Unavailable(&'static str),
    /// Something else than this release's daemon answers.
    Mismatch(Mismatch),
    /// The folder or the socket is not private enough to be trusted.
    Untrusted(&'static str),
    /// The call cannot be made as it is: a path or a request is too long.
    Unfit {
        /// `invalid_request` or `too_large`.
        code: Code,
        /// What is wrong.
        message: &'static str,
    },
    /// The daemon refused the call.
    Refused(Box<RpcError>),
    /// The daemon's answer has not the method's shape.
    Unreadable,
}

impl ClientError {
    /// The code of §13.
    pub fn code(&self) -> Code {
        match self {
            Self::Unavailable(_) => Code::DaemonUnavailable,
            Self::Mismatch(_) => Code::DaemonMismatch,
            Self::Untrusted(_) => Code::Forbidden,
            Self::Unfit { code, .. } => *code,
            Self::Refused(error) => error.as_code(),
            Self::Unreadable => Code::Internal,
        }
    }

    /// What happened, without the code.
    pub fn message(&self) -> Cow<'_, str> {
        match self {
            Self::Unavailable(why) | Self::Untrusted(why) => Cow::Borrowed(why),
            Self::Unfit { message, .. } => Cow::Borrowed(message),
            Self::Mismatch(Mismatch::NotAHello) => {
                Cow::Borrowed("what answers on the socket did not say which daemon it is")
            }
            Self::Mismatch(Mismatch::Release { daemon }) => {
                Cow::Owned(format!("the daemon is release {daemon}, this is release {}", release()))
            }
            Self::Refused(error) => Cow::Borrowed(&error.message),
            Self::Unreadable => Cow::Borrowed("the daemon's answer could not be read"),
        }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code(), self.message())
    }
}

impl std::error::Error for ClientError {}
