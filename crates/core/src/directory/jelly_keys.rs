//! The account service's signing keys, and when each of them may have signed.
//! Spec: §15.2 "Finding the key", W2.12, W4.15 step 2

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::code::{Code, Failure};
use crate::ids::MachineId;
use crate::keys::PublicKey;

/// When a key may have signed, Unix seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyWindow {
    /// From this second on.
    #[serde(default)]
    pub nbf: u64,
    /// Before this second; none while the key is published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired_at: Option<u64>,
    /// Before this second, if the key was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<u64>,
}

impl KeyWindow {
    /// Whether a token issued at `iat` can be this key's.
    #[must_use]
    pub fn covers(&self, iat: u64) -> bool {
        self.nbf <= iat
            && self.retired_at.is_none_or(|end| iat < end)
            && self.revoked_at.is_none_or(|end| iat < end)
    }
}

/// One key of the account service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JellyKey {
    /// The public key as its `x`.
    pub x: MachineId,
    /// Its window; a key that the key history does not describe has none.
    pub window: Option<KeyWindow>,
    key: Option<PublicKey>,
}

impl JellyKey {
    /// A key. One that is not usable verifies nothing.
    #[must_use]
    pub fn new(x: MachineId, window: Option<KeyWindow>) -> Self {
        Self { x, window, key: PublicKey::of(&x) }
    }

    /// The key for a token issued at `iat`.
    #[must_use]
    pub fn at(&self, iat: u64) -> Option<&PublicKey> {
        self.key.as_ref().filter(|_| self.window.is_none_or(|window| window.covers(iat)))
    }
}

/// Where a verifier finds the account service's keys. It answers at once, from what is at hand.
pub trait JellyKeys {
    /// The key named `kid`.
    ///
    /// Errors: `binding_invalid` for a key that no source knows, `jelly_unavailable` when a source that could have
    /// known it could not be asked.
    fn key(&self, kid: &str) -> Result<JellyKey, Failure>;
}

/// Keys that were verified before, taken for all there are: what a store or an auditor replays a log with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JellyKeyArchive(BTreeMap<String, JellyKey>);

impl JellyKeyArchive {
    /// An archive of these keys, by their `kid`.
    pub fn new(keys: impl IntoIterator<Item = (String, JellyKey)>) -> Self {
        Self(keys.into_iter().collect())
    }

    /// Adds a key, or replaces what is known of it.
    pub fn insert(&mut self, kid: &str, key: JellyKey) {
        self.0.insert(kid.to_owned(), key);
    }

    /// The keys and their names, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &JellyKey)> {
        self.0.iter().map(|(kid, key)| (kid.as_str(), key))
    }
}

impl JellyKeys for JellyKeyArchive {
    fn key(&self, kid: &str) -> Result<JellyKey, Failure> {
        self.0.get(kid).copied().ok_or(Failure::new(Code::BindingInvalid, "token.kid"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_closed_below_and_open_above() {
        let window = KeyWindow { nbf: 10, retired_at: Some(20), revoked_at: None };
        for (iat, covered) in [(9, false), (10, true), (19, true), (20, false), (21, false)] {
            assert_eq!(window.covers(iat), covered, "{iat}");
        }
        let revoked = KeyWindow { revoked_at: Some(15), ..window };
        assert!(revoked.covers(14) && !revoked.covers(15));
        let published = KeyWindow { nbf: 10, ..KeyWindow::default() };
        assert!(published.covers(u64::MAX));
    }

    #[test]
    fn a_key_without_a_window_covers_all_times_and_an_unusable_one_none() {
        let good = *crate::keys::SigningKey::from_seed(&[1; 32]).machine();
        assert!(JellyKey::new(good, None).at(0).is_some());
        assert!(JellyKey::new(MachineId::from_bytes(&[0; 32]), None).at(0).is_none());
    }
}
