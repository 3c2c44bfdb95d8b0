//! Exit statuses, and which code of §13 has which.
//! Spec: D6.2

use std::process::ExitCode;

use messaging_core::code::Code;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done. A send that waits for its recipient is done.
    Done = 0,
    /// Failed, for a reason without a row of its own.
    Failed = 1,
    /// The command was not understood, or not confirmed.
    Usage = 2,
    /// No daemon of this release answers.
    NoDaemon = 3,
    /// This device is not set up, or may not act.
    NotAllowed = 4,
    /// Somebody's rule refuses it.
    Refused = 5,
    /// What was named is not there, or not unique.
    NotFound = 6,
    /// It may work later.
    TryLater = 7,
    /// A wait ended before the stage was reached.
    WaitEnded = 8,
    /// The doctor found a problem.
    Unwell = 9,
    /// Ctrl-C.
    Interrupted = 130,
}

impl Exit {
    /// The status of a failure that the daemon reports, or that this program met.
    pub(crate) const fn of(code: Code) -> Self {
        match code {
            Code::DaemonUnavailable | Code::DaemonMismatch => Self::NoDaemon,
            Code::NoIdentity
            | Code::UnknownDevice
            | Code::NotMember
            | Code::LoginDenied
            | Code::LoginUnsupported
            | Code::GrantRequired
            | Code::GrantInvalid
            | Code::TicketRequired
            | Code::TicketInvalid => Self::NotAllowed,
            Code::Refused
            | Code::Declined
            | Code::RequestRequired
            | Code::Forbidden
            | Code::SecretRefused
            | Code::LoopGuard
            | Code::InviteInvalid
            | Code::AdmissionRequired
            | Code::AdmissionInvalid => Self::Refused,
            Code::NotFound
            | Code::UnknownSession
            | Code::UnknownAddress
            | Code::NoRecipients
            | Code::AmbiguousAddress => Self::NotFound,
            Code::RateLimited
            | Code::RelayUnavailable
            | Code::DirectoryUnavailable
            | Code::JellyUnavailable
            | Code::LogConflict
            | Code::RosterConflict => Self::TryLater,
            Code::InvalidRequest
            | Code::BadSignature
            | Code::TooLarge
            | Code::Expired
            | Code::Duplicate
            | Code::InvalidState
            | Code::GuardedTurn
            | Code::BindingInvalid
            | Code::DeviceLimit
            | Code::DirectoryInconsistent
            | Code::Internal => Self::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_the_status_of_the_table() {
        let table = [
            (3, "daemon_unavailable daemon_mismatch"),
            (
                4,
                "no_identity unknown_device not_member login_denied login_unsupported grant_required grant_invalid \
                 ticket_required ticket_invalid",
            ),
            (
                5,
                "refused declined request_required forbidden secret_refused loop_guard invite_invalid \
                 admission_required admission_invalid",
            ),
            (6, "not_found unknown_session unknown_address no_recipients ambiguous_address"),
            (
                7,
                "rate_limited relay_unavailable directory_unavailable jelly_unavailable log_conflict roster_conflict",
            ),
        ];
        for code in Code::ALL {
            let row = table.iter().find(|(_, codes)| codes.split(' ').any(|c| c == code.as_str()));
            assert_eq!(Exit::of(*code) as u8, row.map_or(1, |(exit, _)| *exit), "{code}");
        }
    }
}
