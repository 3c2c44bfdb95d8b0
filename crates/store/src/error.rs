//! What can go wrong with a store, by kind: an error holds no text that came from outside.
//! Spec: §7 "Store failures", §8.8 "Opening"

use std::fmt;

use rusqlite::ErrorCode;

/// A read or write that failed. Only its name is ever logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StoreError {
    /// The disk, or the largest size of the database, is full.
    Full,
    /// The operating system refused a read, a write or a sync, or the file cannot be opened or is read-only.
    Io,
    /// Another process holds the database.
    Busy,
    /// The file is damaged, or holds a value that no release writes there.
    Corrupt,
    /// A row breaks a constraint of its table: a bug of the caller.
    Constraint,
    /// Anything else.
    Other,
}

impl StoreError {
    /// The name that logs and metrics show.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Io => "io",
            Self::Busy => "busy",
            Self::Corrupt => "corrupt",
            Self::Constraint => "constraint",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "store error: {}", self.name())
    }
}

impl std::error::Error for StoreError {}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::Error as E;
        match &error {
            E::FromSqlConversionFailure(..)
            | E::IntegralValueOutOfRange(..)
            | E::Utf8Error(..)
            | E::InvalidColumnType(..) => Self::Corrupt,
            other => match other.sqlite_error_code() {
                Some(ErrorCode::DiskFull | ErrorCode::TooBig) => Self::Full,
                Some(
                    ErrorCode::SystemIoFailure
                    | ErrorCode::CannotOpen
                    | ErrorCode::ReadOnly
                    | ErrorCode::PermissionDenied
                    | ErrorCode::NoLargeFileSupport,
                ) => Self::Io,
                Some(
                    ErrorCode::DatabaseBusy
                    | ErrorCode::DatabaseLocked
                    | ErrorCode::FileLockingProtocolFailed,
                ) => Self::Busy,
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt,
                Some(ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch) => Self::Constraint,
                _ => Self::Other,
            },
        }
    }
}

/// Why a store is not ours to open. The store was left as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The file is no SQLite database.
    NotADatabase,
    /// It has tables and no record of a generation: made by a release before the first reset, or by something else.
    NoGeneration,
    /// It is of another generation.
    Generation,
    /// Only a later release can read it.
    MinReader,
    /// A record that tells stores apart (its name) is missing or different.
    Record(&'static str),
}

impl Refusal {
    /// The word that logs show.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotADatabase => "not_a_database",
            Self::NoGeneration => "no_generation",
            Self::Generation => "generation",
            Self::MinReader => "min_reader",
            Self::Record(name) => name,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotADatabase => f.write_str("the file is not a database"),
            Self::NoGeneration => f.write_str("the store records no generation"),
            Self::Generation => f.write_str("the store is of another generation"),
            Self::MinReader => f.write_str("only a later release can read the store"),
            Self::Record(name) => write!(f, "the store belongs to another `{name}`"),
        }
    }
}

/// A store that did not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// Not ours, and left as it was. The remedy is to stop the program, move the file (with its `-wal` and `-shm`) aside and
    /// set up again.
    Refused(Refusal),
    /// It could not be read, created or brought up to date.
    Failed(StoreError),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => write!(f, "store refused: {refusal}"),
            Self::Failed(error) => write!(f, "store not opened: {error}"),
        }
    }
}

impl std::error::Error for OpenError {}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Refusal> for OpenError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}
