//! Finding the account service's keys, as a machine without a network: it says what to fetch, and is told what came.
//! Spec: §15.2 "Finding the key", W4.16
//!
//! ```text
//! prepare(kid) ──▶ Fetch(document) ──▶ the shell fetches ──▶ fetched(document, text) ──▶ prepare(kid) …
//!              └─▶ Ready           ──▶ key(kid): the key, binding_invalid, or jelly_unavailable
//! ```
//!
//! The archive comes first, so that what was verified once verifies without a network; an archived key whose
//! revocation was not looked at for a day is looked up again, and stands if that fails. A stream of unknown names costs
//! one fetch of each document a minute.

mod document;
#[cfg(test)]
mod tests;

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use super::jelly_keys::{JellyKey, JellyKeys, KeyWindow};
use crate::code::{Code, Failure};
use crate::ids::MachineId;
use crate::time::{Mono, Ms, Now};

/// A document of the account service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyDocument {
    /// The keys that sign now.
    KeySet,
    /// Every key that ever signed, and when.
    History,
}

impl KeyDocument {
    /// Where it lives, under an issuer.
    #[must_use]
    pub fn url(self, issuer: &str) -> String {
        let base = issuer.strip_suffix('/').unwrap_or(issuer);
        let name = match self {
            Self::KeySet => "jwks.json",
            Self::History => "jwks-history.json",
        };
        format!("{base}/.well-known/{name}")
    }

    /// How long a copy is believed, ms.
    fn believed_ms(self) -> u64 {
        match self {
            Self::KeySet => KEY_SET_BELIEVED_MS,
            Self::History => HISTORY_BELIEVED_MS,
        }
    }
}

/// What has to happen before a key can be looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prepared {
    /// Nothing.
    Ready,
    /// This document has to be fetched, and handed to [`JellyKeyring::fetched`].
    Fetch(KeyDocument),
}

/// A key that was found once, as a store keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArchivedKey {
    /// The key, with its window as last seen.
    pub key: JellyKey,
    /// When its revocation was last looked up.
    pub checked_at: Ms,
}

/// The account service's keys, as far as they are known.
#[derive(Clone, Debug, Default)]
pub struct JellyKeyring {
    archive: BTreeMap<String, ArchivedKey>,
    key_set: Held<MachineId>,
    history: Held<(MachineId, KeyWindow)>,
}

/// The last copy of a document, and how the last attempt at one ended.
#[derive(Clone, Debug)]
struct Held<T> {
    keys: BTreeMap<String, T>,
    /// When the copy was fetched.
    read_at: Option<Mono>,
    /// When the last attempt was, and whether it gave a copy.
    attempt: Option<(Mono, bool)>,
}

impl<T> Default for Held<T> {
    fn default() -> Self {
        Self { keys: BTreeMap::new(), read_at: None, attempt: None }
    }
}

impl<T> Held<T> {
    fn is_believed(&self, document: KeyDocument, now: Mono) -> bool {
        self.read_at.is_some_and(|at| now.since(at) <= document.believed_ms())
    }

    fn may_try(&self, now: Mono) -> bool {
        self.attempt.is_none_or(|(at, _)| now.since(at) >= REFETCH_MS)
    }

    fn answered(&self) -> bool {
        self.attempt.is_some_and(|(_, answered)| answered)
    }

    fn took(&mut self, keys: Option<BTreeMap<String, T>>, now: Mono) {
        self.attempt = Some((now, keys.is_some()));
        if let Some(keys) = keys {
            self.keys = keys;
            self.read_at = Some(now);
        }
    }
}

impl JellyKeyring {
    /// A keyring that knows what a store kept, by the keys' names.
    pub fn new(archive: impl IntoIterator<Item = (String, ArchivedKey)>) -> Self {
        Self { archive: archive.into_iter().collect(), ..Self::default() }
    }

    /// Whatever was found so far, for a store, in the order of the names.
    pub fn archive(&self) -> impl ExactSizeIterator<Item = (&str, &ArchivedKey)> {
        self.archive.iter().map(|(kid, key)| (kid.as_str(), key))
    }

    /// What has to be fetched before [`key`](JellyKeys::key) can answer for `kid`. A key that is found joins the
    /// archive.
    ///
    /// It asks for each document at most once a minute, so that a caller's loop ends.
    pub fn prepare(&mut self, kid: &str, now: Now) -> Prepared {
        let Now { wall, mono } = now;
        if let Some(held) = self.archive.get(kid) {
            // A check dated ahead of the clock is none.
            let is_old = held.checked_at > wall || wall.since(held.checked_at) > RECHECK_MS;
            let history_is_old = !self.history.is_believed(KeyDocument::History, mono);
            return if is_old && history_is_old && self.history.may_try(mono) {
                Prepared::Fetch(KeyDocument::History)
            } else {
                Prepared::Ready
            };
        }
        let in_set = self.key_set.is_believed(KeyDocument::KeySet, mono)
            && self.key_set.keys.contains_key(kid);
        if !in_set && self.key_set.may_try(mono) {
            return Prepared::Fetch(KeyDocument::KeySet);
        }
        let in_history = self.history.is_believed(KeyDocument::History, mono)
            && self.history.keys.contains_key(kid);
        if !in_history && self.history.may_try(mono) {
            return Prepared::Fetch(KeyDocument::History);
        }
        self.find(kid, now);
        Prepared::Ready
    }

    /// Takes a document, or `None` when it could not be fetched. A text that is not such a document counts as that.
    pub fn fetched(&mut self, document: KeyDocument, text: Option<&[u8]>, now: Now) {
        match document {
            KeyDocument::KeySet => {
                self.key_set.took(text.and_then(document::key_set), now.mono);
            }
            KeyDocument::History => {
                let keys = text.and_then(document::history);
                let read = keys.is_some();
                self.history.took(keys, now.mono);
                if read {
                    self.recheck(now.wall);
                }
            }
        }
    }

    /// Windows of archived keys, as the history says now. A key that it describes otherwise stays as it was found.
    fn recheck(&mut self, now: Ms) {
        for (kid, held) in &mut self.archive {
            held.checked_at = now;
            if let Some((x, window)) = self.history.keys.get(kid)
                && *x == held.key.x
            {
                held.key = JellyKey::new(*x, Some(*window));
            }
        }
    }

    fn find(&mut self, kid: &str, now: Now) {
        let set = self.key_set.keys.get(kid);
        let set = set.filter(|_| self.key_set.is_believed(KeyDocument::KeySet, now.mono));
        let history = self.history.keys.get(kid);
        let history = history.filter(|_| self.history.is_believed(KeyDocument::History, now.mono));
        let key = match (set, history) {
            (Some(x), Some((told, window))) if x == told => JellyKey::new(*x, Some(*window)),
            // They disagree, or the history lacks it: the key set's, without a window.
            (Some(x), _) => JellyKey::new(*x, None),
            (None, Some((x, window))) => JellyKey::new(*x, Some(*window)),
            (None, None) => return,
        };
        self.archive.insert(kid.to_owned(), ArchivedKey { key, checked_at: now.wall });
    }
}

impl JellyKeys for JellyKeyring {
    fn key(&self, kid: &str) -> Result<JellyKey, Failure> {
        if let Some(held) = self.archive.get(kid) {
            return Ok(held.key);
        }
        // That nobody knows it is known only when everybody was asked.
        if self.key_set.answered() && self.history.answered() {
            Err(Failure::new(Code::BindingInvalid, "token.kid"))
        } else {
            Err(Failure::new(Code::JellyUnavailable, "token.kid"))
        }
    }
}

/// How long a copy of the key set is believed, ms.
const KEY_SET_BELIEVED_MS: u64 = 86_400_000;
/// How long a copy of the history is believed, ms.
const HISTORY_BELIEVED_MS: u64 = 300_000;
/// An archived key's revocation is looked up again after this long, ms.
const RECHECK_MS: u64 = 86_400_000;
/// A document is asked for at most this often, ms.
const REFETCH_MS: u64 = 60_000;
