//! Calls that may be made again: the first result of a key is the result of every repeat.
//! Spec: §8.2 "clientId", D3.5, D3.6

use messaging_core::jcs;
use messaging_core::limits::TTL_MS;
use messaging_ipc::scalars::Printable;
use messaging_store::StoreError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::field;
use crate::store::idempotency::{self, Used};
use crate::work::{Step, Work};

/// A call with its key, when it has one.
pub(super) struct Repeat<'a> {
    /// Whose keys they are: a session's, or the person's.
    pub(super) scope: &'a str,
    /// The key, and the parameter that it stands in.
    pub(super) key: Option<&'a Printable<1, 128>>,
    pub(super) parameter: &'static str,
    hash: String,
}

impl<'a> Repeat<'a> {
    /// `asked` is what a repeated call must ask for again.
    pub(super) fn new(
        scope: &'a str,
        key: Option<&'a Printable<1, 128>>,
        parameter: &'static str,
        asked: &Value,
    ) -> Step<Self> {
        let hash = jcs::canonical(asked)?.hash().to_string();
        Ok(Self { scope, key, parameter, hash })
    }

    /// The result of the first call with this key.
    ///
    /// Errors: `invalid_request` when it asked for something else.
    pub(super) fn first<T: DeserializeOwned>(&self, work: &Work<'_, '_>) -> Step<Option<T>> {
        let Some(key) = self.key else { return Ok(None) };
        match idempotency::get(work.tx, self.scope, key.as_str(), work.wall())? {
            None => Ok(None),
            Some(used) if used.hash == self.hash => {
                let result = serde_json::from_str(&used.result).map_err(|_| StoreError::Corrupt)?;
                Ok(Some(result))
            }
            Some(_) => Err(field(self.parameter, "it was used for another message")),
        }
    }

    /// Keeps the result for repeats.
    pub(super) fn remember(
        self,
        work: &mut Work<'_, '_>,
        result: &impl Serialize,
    ) -> Result<(), StoreError> {
        let Some(key) = self.key else { return Ok(()) };
        let result = serde_json::to_string(result).map_err(|_| StoreError::Other)?;
        let until = work.wall().plus(TTL_MS);
        let used = Used { hash: self.hash, result };
        idempotency::put(work.tx, self.scope, key.as_str(), &used, until)
    }
}
