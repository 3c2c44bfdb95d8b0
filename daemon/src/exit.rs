//! Why a start ends, in words for a person and as an exit status.
//!
//! Spec: D3.1, D3.2, D3.32

use std::fmt;
use std::io;

use messaging_core::code::{Code, Failure};
use messaging_store::{Refusal, StoreError};

/// The exit statuses of `messagingd`.
pub mod status {
    /// Stopped as asked.
    pub const DONE: u8 = 0;
    /// A second signal while stopping.
    pub const INTERRUPTED: u8 = 1;
    /// Bad flag or variable.
    pub const USAGE: u8 = 64;
    /// The store is not one this release opens.
    pub const STORE_REFUSED: u8 = 65;
    /// Another daemon owns the home.
    pub const ALREADY_OWNED: u8 = 69;
    /// A fault of this program or of the machine under it.
    pub const FATAL: u8 = 70;
    /// Home, `run/`, a key file or a group is not private.
    pub const FORBIDDEN: u8 = 77;
    /// `config.json` or the identity is invalid.
    pub const CONFIG: u8 = 78;
}

/// Why the daemon did not start. Nothing was changed but what the start order of D3.2 had
/// reached by then.
#[derive(Debug)]
pub enum StartError {
    /// An environment variable holds something that it cannot.
    BadVariable(&'static str),
    /// No home was named and the user has none.
    NoHome,
    /// The home's path leaves no room for a local socket's address (bytes).
    HomeTooLong {
        /// The length of the home's absolute path.
        bytes: usize,
        /// The longest that fits.
        limit: usize,
    },
    /// Something that must be this user's alone is not.
    NotPrivate {
        /// What it is: `home`, `run`, `logs`, `identity.json`, ...
        what: &'static str,
        /// Which rule it breaks.
        rule: PrivacyRule,
    },
    /// `ipc.agentGroup` names a group this user is not in.
    NotInGroup,
    /// Another daemon holds the home's lock.
    Owned {
        /// Its pid, when the pid file names one.
        pid: Option<u32>,
    },
    /// The store is of another generation, implementation or a later reader.
    StoreRefused(Refusal),
    /// `config.json` breaks a rule; the failure names the key.
    Config(Failure),
    /// The identity breaks a rule or does not belong to this store.
    Identity(Failure),
    /// The keys that wait for a place in a team break a rule.
    Pairing(Failure),
    /// The system refused an operation on `what`.
    System {
        /// The file or folder concerned, relative to the home.
        what: &'static str,
        /// The system's error; its kind alone is shown.
        error: io::Error,
    },
    /// The store cannot be read or written, or holds a roster that does not verify.
    Store(StoreError),
    /// A repair of the store was begun and did not end.
    HalfRepaired,
    /// A repair found nothing in the store that can be read.
    Beyond,
}

/// The rule that a file or folder breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrivacyRule {
    /// It is a symbolic link or not a folder.
    NotDirectory,
    /// It is a symbolic link or not a plain file.
    NotRegular,
    /// Another user owns it.
    ForeignOwner,
    /// A group or everyone may write it.
    WritableByOthers,
    /// A group or everyone may read it.
    ReadableByOthers,
}

impl PrivacyRule {
    fn text(self) -> &'static str {
        match self {
            PrivacyRule::NotDirectory => "is not a real folder (a symbolic link counts as none)",
            PrivacyRule::NotRegular => "is not a plain file (a symbolic link counts as none)",
            PrivacyRule::ForeignOwner => "belongs to another user",
            PrivacyRule::WritableByOthers => "can be written by its group or by everyone",
            PrivacyRule::ReadableByOthers => "can be read by its group or by everyone",
        }
    }

    fn remedy(self, what: &str) -> String {
        match self {
            PrivacyRule::NotDirectory => {
                format!("put a real folder in the place of {what}, or name another home")
            }
            PrivacyRule::NotRegular => format!("put a plain file in the place of {what}"),
            PrivacyRule::ForeignOwner => {
                format!("run as the owner of {what}, or name another home with --home")
            }
            PrivacyRule::WritableByOthers => format!("run: chmod go-w {what}"),
            PrivacyRule::ReadableByOthers => format!("run: chmod 600 {what}"),
        }
    }
}

impl StartError {
    /// The process's exit status. Spec: D3.32
    #[must_use]
    pub fn exit_status(&self) -> u8 {
        match self {
            StartError::BadVariable(_) | StartError::NoHome | StartError::HomeTooLong { .. } => {
                status::USAGE
            }
            StartError::NotPrivate { .. } | StartError::NotInGroup => status::FORBIDDEN,
            StartError::Owned { .. } => status::ALREADY_OWNED,
            StartError::StoreRefused(_) => status::STORE_REFUSED,
            StartError::Config(_) | StartError::Identity(_) | StartError::Pairing(_) => {
                status::CONFIG
            }
            StartError::System { .. }
            | StartError::Store(_)
            | StartError::HalfRepaired
            | StartError::Beyond => status::FATAL,
        }
    }

    /// The code of §13 that the message starts with.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            StartError::BadVariable(_) | StartError::NoHome | StartError::HomeTooLong { .. } => {
                Code::InvalidRequest
            }
            StartError::NotPrivate { .. } | StartError::NotInGroup => Code::Forbidden,
            StartError::Owned { .. } | StartError::StoreRefused(_) => Code::InvalidState,
            StartError::Config(failure)
            | StartError::Identity(failure)
            | StartError::Pairing(failure) => failure.code,
            StartError::HalfRepaired => Code::InvalidState,
            StartError::System { .. } | StartError::Store(_) | StartError::Beyond => Code::Internal,
        }
    }

    /// The one step that helps.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            StartError::BadVariable(name) => {
                format!("set {name} to one of the values of messagingd --help")
            }
            StartError::NoHome => "name one with --home or MESSAGING_HOME".into(),
            StartError::HomeTooLong { .. } => {
                "name a shorter one with --home or MESSAGING_HOME".into()
            }
            StartError::NotPrivate { what, rule } => rule.remedy(what),
            StartError::NotInGroup => {
                "add the daemon's user to that group, or remove ipc.agentGroup from config.json"
                    .into()
            }
            StartError::Owned { .. } => "use it, or stop it with: messaging daemon stop".into(),
            StartError::StoreRefused(_) => {
                "stop the daemon, move the home aside, and set it up again".into()
            }
            StartError::Config(_) => "correct that key in config.json, then start again".into(),
            StartError::Identity(_) => "restore identity.json from a copy, then start again".into(),
            StartError::Pairing(_) => {
                "move pairing.json aside, start again, and prepare or pair anew".into()
            }
            StartError::System { what, .. } => {
                format!("check the disk and the permissions of {what}")
            }
            StartError::Store(StoreError::Corrupt) | StartError::HalfRepaired => {
                "run: messaging daemon repair".into()
            }
            StartError::Beyond => {
                "restore messaging.db from a snapshot, or move the home aside and set it up again"
                    .into()
            }
            StartError::Store(_) => "check the disk and the permissions of messaging.db".into(),
        }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.code())?;
        match self {
            StartError::BadVariable(name) => write!(f, "{name} has a value that means nothing"),
            StartError::NoHome => f.write_str("there is no home folder to use"),
            StartError::HomeTooLong { bytes, limit } => write!(
                f,
                "the home's path is {bytes} bytes long, and a local socket's address leaves room for {limit}"
            ),
            StartError::NotPrivate { what, rule } => write!(f, "{what} {}", rule.text()),
            StartError::NotInGroup => {
                f.write_str("the daemon's user is not in the group of ipc.agentGroup")
            }
            StartError::Owned { pid: Some(pid) } => {
                write!(f, "another daemon owns this home (pid {pid})")
            }
            StartError::Owned { pid: None } => f.write_str("another daemon owns this home"),
            StartError::StoreRefused(reason) => write!(f, "messaging.db: {reason}"),
            StartError::Config(failure) => write!(f, "config.json: {}", failure.at),
            StartError::Identity(failure) => write!(f, "identity.json: {}", failure.at),
            StartError::Pairing(failure) => write!(f, "pairing.json: {}", failure.at),
            StartError::System { what, error } => write!(f, "{what}: {}", error.kind()),
            StartError::Store(StoreError::Corrupt) => f.write_str("messaging.db is damaged"),
            StartError::HalfRepaired => {
                f.write_str("a repair of messaging.db was begun and did not end")
            }
            StartError::Beyond => f.write_str("nothing of messaging.db can be read"),
            StartError::Store(error) => write!(f, "messaging.db: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_the_status_of_the_table() {
        let cases: [(StartError, u8); 9] = [
            (StartError::HomeTooLong { bytes: 200, limit: 92 }, 64),
            (StartError::NotPrivate { what: "run", rule: PrivacyRule::ForeignOwner }, 77),
            (StartError::NotInGroup, 77),
            (StartError::Owned { pid: Some(7) }, 69),
            (StartError::StoreRefused(Refusal::Generation), 65),
            (StartError::Config(Failure::invalid("relay")), 78),
            (StartError::Identity(Failure::invalid("machine")), 78),
            (StartError::Pairing(Failure::invalid("purpose")), 78),
            (StartError::System { what: "run", error: io::ErrorKind::StorageFull.into() }, 70),
        ];
        for (error, status) in cases {
            assert_eq!(error.exit_status(), status, "{error}");
            assert!(!error.remedy().is_empty());
        }
    }

    #[test]
    fn the_message_starts_with_the_code_and_names_no_path() {
        let error = StartError::NotPrivate { what: "home", rule: PrivacyRule::WritableByOthers };
        assert_eq!(error.to_string(), "forbidden: home can be written by its group or by everyone");
        assert_eq!(
            StartError::Owned { pid: Some(12) }.to_string(),
            "invalid_state: another daemon owns this home (pid 12)"
        );
    }
}
