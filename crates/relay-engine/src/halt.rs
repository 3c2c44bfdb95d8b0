//! Why a frame is not carried out: it is refused, or the store failed.
//! Spec: §13, W2.9 `nack`, `error`

use messaging_core::code::{Code, Failure};
use messaging_store::StoreError;

/// A refusal, as it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) failure: Failure,
    pub(crate) retry_after_ms: Option<u64>,
}

impl Refusal {
    /// Over a budget that will have room again after this many ms.
    pub(crate) fn after(retry_after_ms: u64, at: &'static str) -> Self {
        let failure = Failure::new(Code::RateLimited, at);
        Self { failure, retry_after_ms: Some(retry_after_ms) }
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self { failure, retry_after_ms: None }
    }
}

/// Why a frame is not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// A rule refuses it.
    Refused(Refusal),
    /// The store failed; the loop answers.
    Store(StoreError),
}

impl From<Failure> for Halt {
    fn from(failure: Failure) -> Self {
        Self::Refused(failure.into())
    }
}

impl From<Refusal> for Halt {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A refusal with `code`, naming the field or rule `at`.
pub(crate) fn refuse<T>(code: Code, at: &'static str) -> Result<T, Halt> {
    Err(Failure::new(code, at).into())
}
