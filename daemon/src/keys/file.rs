//! `identity.json`: the file store of the private keys.
//!
//! Spec: §3, D3.3, W2.8

use std::io;

use messaging_core::json;
use messaging_daemon_engine::identity::{IDENTITY_BYTES, IdentityFile};
use serde_json::Value;
use zeroize::{Zeroize, Zeroizing};

use crate::exit::{PrivacyRule, StartError};
use crate::home::Home;
use crate::os;

/// Reads the identity, or `None` when the home has none yet.
///
/// Errors: [`StartError::NotPrivate`] for anything but this user's own plain file without access
/// for others; [`StartError::Identity`] for a wrong shape, keys that do not belong together, or a
/// keychain pointer.
pub(crate) fn load(home: &Home) -> Result<Option<IdentityFile>, StartError> {
    let (bytes, owner) = match os::read_private(&home.identity(), IDENTITY_BYTES) {
        Ok(Some((bytes, owner))) => (Zeroizing::new(bytes), owner),
        Ok(None) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            return Err(not_private(PrivacyRule::NotRegular));
        }
        Err(error) => return Err(StartError::System { what: IDENTITY, error }),
    };
    if owner.uid != os::effective_uid() {
        return Err(not_private(PrivacyRule::ForeignOwner));
    }
    if owner.mode & 0o077 != 0 {
        return Err(not_private(PrivacyRule::ReadableByOthers));
    }
    let mut value = json::parse(&bytes, IDENTITY_BYTES).map_err(StartError::Identity)?;
    let identity = IdentityFile::read(&value);
    wipe(&mut value);
    identity.map(Some).map_err(StartError::Identity)
}

/// Replaces the identity in one step; once this returns, the keys are on disk.
pub(crate) fn save(home: &Home, identity: &IdentityFile) -> io::Result<()> {
    let mut value = identity.to_value();
    let text = serde_json::to_vec_pretty(&value).map(Zeroizing::new);
    wipe(&mut value);
    os::write_private(&home.identity(), &text.map_err(io::Error::other)?)
}

/// Overwrites every text of a value that held private keys, before its memory is given back.
fn wipe(value: &mut Value) {
    match value {
        Value::String(text) => text.zeroize(),
        Value::Array(items) => items.iter_mut().for_each(wipe),
        Value::Object(members) => members.values_mut().for_each(wipe),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn not_private(rule: PrivacyRule) -> StartError {
    StartError::NotPrivate { what: IDENTITY, rule }
}

const IDENTITY: &str = "identity.json";

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use messaging_core::testing::SeededRandom;

    fn home() -> (tempfile::TempDir, Home) {
        let base = tempfile::tempdir().unwrap();
        let home = Home::open(&base.path().join("home")).unwrap();
        (base, home)
    }

    fn identity() -> IdentityFile {
        IdentityFile::generate(&mut SeededRandom::new(7))
    }

    fn chmod(home: &Home, mode: u32) {
        std::fs::set_permissions(home.identity(), std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn an_identity_reads_back_as_it_was_saved_and_is_0600() {
        let (_base, home) = home();
        assert!(load(&home).unwrap().is_none());
        let saved = identity();
        save(&home, &saved).unwrap();
        assert_eq!(os::stat(&home.identity()).unwrap().unwrap().mode, 0o600);
        let loaded = load(&home).unwrap().unwrap();
        assert_eq!(loaded.to_value(), saved.to_value());
    }

    #[test]
    fn a_file_others_can_read_is_refused() {
        let (_base, home) = home();
        save(&home, &identity()).unwrap();
        for mode in [0o640, 0o604, 0o660, 0o644] {
            chmod(&home, mode);
            assert_eq!(load(&home).unwrap_err().exit_status(), 77, "{mode:o}");
        }
        chmod(&home, 0o600);
        assert!(load(&home).unwrap().is_some());
    }

    #[test]
    fn a_link_or_anothers_file_is_refused() {
        let (base, home) = home();
        save(&home, &identity()).unwrap();
        let real = base.path().join("real.json");
        std::fs::rename(home.identity(), &real).unwrap();
        symlink(&real, home.identity()).unwrap();
        assert_eq!(load(&home).unwrap_err().exit_status(), 77);
        if os::effective_uid() == 0 {
            std::fs::remove_file(home.identity()).unwrap();
            std::fs::rename(&real, home.identity()).unwrap();
            std::os::unix::fs::chown(home.identity(), Some(65534), None).unwrap();
            assert_eq!(load(&home).unwrap_err().exit_status(), 77);
        }
    }

    #[test]
    fn a_keychain_pointer_is_told_that_this_build_has_none() {
        let (_base, home) = home();
        let mut value = identity().to_value();
        value["store"] = "keychain".into();
        os::write_private(&home.identity(), value.to_string().as_bytes()).unwrap();
        let error = load(&home).unwrap_err();
        assert_eq!(error.exit_status(), 78);
        assert!(error.to_string().contains("no keychain store"));
    }

    #[test]
    fn keys_that_do_not_belong_together_are_refused_and_not_quoted() {
        let (_base, home) = home();
        let other = IdentityFile::generate(&mut SeededRandom::new(8)).to_value();
        for member in ["signingKey", "encKey", "machine", "enc"] {
            let mut value = identity().to_value();
            value[member] = other[member].clone();
            os::write_private(&home.identity(), value.to_string().as_bytes()).unwrap();
            let error = load(&home).unwrap_err();
            assert_eq!(error.exit_status(), 78);
            assert!(!error.to_string().contains(other[member].as_str().unwrap()));
        }
    }
}
