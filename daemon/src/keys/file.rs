//! `identity.json` and `pairing.json`: the file store of the private keys.
//!
//! Spec: §3, D3.3, W2.8

use std::io;
use std::path::Path;

use messaging_core::code::Failure;
use messaging_core::json;
use messaging_daemon_engine::identity::{IDENTITY_BYTES, IdentityFile};
use messaging_daemon_engine::pairing::PairingFile;
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
    let Some(bytes) = read(&home.identity(), IDENTITY)? else { return Ok(None) };
    parse(&bytes, IdentityFile::read).map(Some).map_err(StartError::Identity)
}

/// Reads the keys that wait for a place in a team, or `None` when none do.
///
/// Errors: as [`load`], with [`StartError::Pairing`] for the contents.
pub(crate) fn load_pairing(home: &Home) -> Result<Option<PairingFile>, StartError> {
    let Some(bytes) = read(&home.pairing(), PAIRING)? else { return Ok(None) };
    parse(&bytes, PairingFile::read).map(Some).map_err(StartError::Pairing)
}

/// Replaces the identity in one step; once this returns, the keys are on disk, and those that were replaced are not.
pub(crate) fn save(home: &Home, identity: &IdentityFile) -> io::Result<()> {
    write(&home.identity(), identity.to_value())
}

/// Replaces the keys that wait, as [`save`] does.
pub(crate) fn save_pairing(home: &Home, pairing: &PairingFile) -> io::Result<()> {
    write(&home.pairing(), pairing.to_value())
}

/// Erases the keys that wait, from the disk too.
pub(crate) fn erase_pairing(home: &Home) -> io::Result<()> {
    os::erase_private(&home.pairing())
}

/// Erases what a write left that a crash ended: it may hold keys that this home must not have any more.
pub(crate) fn clear_leftovers(home: &Home) -> Result<(), StartError> {
    for (what, path) in [(IDENTITY, home.identity()), (PAIRING, home.pairing())] {
        os::erase_staged(&path).map_err(|error| StartError::System { what, error })?;
    }
    Ok(())
}

fn read(path: &Path, what: &'static str) -> Result<Option<Zeroizing<Vec<u8>>>, StartError> {
    let not_private = |rule| StartError::NotPrivate { what, rule };
    let (bytes, owner) = match os::read_private(path, IDENTITY_BYTES) {
        Ok(Some((bytes, owner))) => (Zeroizing::new(bytes), owner),
        Ok(None) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            return Err(not_private(PrivacyRule::NotRegular));
        }
        Err(error) => return Err(StartError::System { what, error }),
    };
    if owner.uid != os::effective_uid() {
        return Err(not_private(PrivacyRule::ForeignOwner));
    }
    if owner.mode & 0o077 != 0 {
        return Err(not_private(PrivacyRule::ReadableByOthers));
    }
    Ok(Some(bytes))
}

fn parse<T>(bytes: &[u8], read: fn(&Value) -> Result<T, Failure>) -> Result<T, Failure> {
    let mut value = json::parse(bytes, IDENTITY_BYTES)?;
    let keys = read(&value);
    wipe(&mut value);
    keys
}

fn write(path: &Path, mut value: Value) -> io::Result<()> {
    let text = serde_json::to_vec_pretty(&value).map(Zeroizing::new);
    wipe(&mut value);
    os::write_secret(path, &text.map_err(io::Error::other)?)
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

const IDENTITY: &str = "identity.json";
const PAIRING: &str = "pairing.json";

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
