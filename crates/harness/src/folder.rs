//! The folder in which the programs of one user agree on sessions: private, or not used.
//! Spec: D3.1

use std::ffi::OsString;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use messaging_client::Place;
use rustix::fs::OFlags;

/// The folder's name, in a home or under the user's state.
const NAME: &str = "harness";
/// The longest file that is read.
const FILE_BYTES: u64 = 65_536;

/// Where the sessions of a daemon's clients are written down: in its home when that is this user's, else in the user's own
/// state, where every daemon has its own names.
#[must_use]
pub fn of(place: &Place) -> Option<PathBuf> {
    of_with(place, std::env::var_os("XDG_STATE_HOME"), std::env::home_dir())
}

fn of_with(place: &Place, state: Option<OsString>, user: Option<PathBuf>) -> Option<PathBuf> {
    let is_own = |home: &&Path| std::fs::symlink_metadata(home).is_ok_and(|found| own(&found));
    if let Some(home) = place.home_folder().filter(is_own) {
        return Some(home.join(NAME));
    }
    let state = state.map(PathBuf::from).filter(|state| state.is_absolute());
    let state = state.or_else(|| Some(user?.join(".local/state")))?;
    Some(state.join("messaging").join(NAME))
}

/// Makes the folder, if it is not there; whether it can be used: a real one that is this user's alone.
#[must_use]
pub fn prepare(folder: &Path) -> bool {
    // Whether it is there is looked at next.
    let _ = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    is_usable(folder)
}

/// Whether a folder is a real one that is this user's alone.
#[must_use]
pub fn is_usable(folder: &Path) -> bool {
    std::fs::symlink_metadata(folder)
        .is_ok_and(|found| found.is_dir() && own(&found) && found.mode() & 0o077 == 0)
}

/// The text of a private file of the folder; `None` for one that is not there, not private, or too long.
#[must_use]
pub fn read(path: &Path) -> Option<String> {
    read_open(&mut open(path, false)?)
}

/// Opens a private file of the folder, for writing too and made if need be when `write` says so.
#[must_use]
pub fn open(path: &Path, write: bool) -> Option<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(write).create(write).mode(0o600);
    options.custom_flags(i32::try_from((OFlags::NOFOLLOW | OFlags::CLOEXEC).bits()).ok()?);
    let file = options.open(path).ok()?;
    let found = file.metadata().ok()?;
    (found.is_file() && own(&found) && found.mode() & 0o077 == 0).then_some(file)
}

/// The text of an open file, from where it stands.
#[must_use]
pub fn read_open(file: &mut File) -> Option<String> {
    let mut text = String::new();
    let read = file.take(FILE_BYTES + 1).read_to_string(&mut text).ok()?;
    (u64::try_from(read).ok()? <= FILE_BYTES).then_some(text)
}

fn own(found: &Metadata) -> bool {
    found.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;
    use messaging_client::testing::private_home;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn it_is_in_an_own_home_and_else_in_the_users_state() {
        let home = private_home();
        let user = || Some(PathBuf::from("/u"));
        let at = |place: &Place, state: Option<&str>| of_with(place, state.map(Into::into), user());
        assert_eq!(at(&Place::home(home.path()), None), Some(home.path().join("harness")));
        let elsewhere = Place::run(&home.path().join("run"));
        assert_eq!(at(&elsewhere, None), Some("/u/.local/state/messaging/harness".into()));
        assert_eq!(at(&elsewhere, Some("/s")), Some("/s/messaging/harness".into()));
        assert_eq!(at(&elsewhere, Some("s")), Some("/u/.local/state/messaging/harness".into()));
        assert_eq!(of_with(&elsewhere, None, None), None);
    }

    #[test]
    fn what_others_can_see_is_not_used() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a/b");
        assert!(!is_usable(&folder));
        assert!(prepare(&folder) && prepare(&folder));
        let chmod = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        let file = folder.join("x");
        assert_eq!(read(&file), None);
        open(&file, true).unwrap();
        assert_eq!(read(&file).as_deref(), Some(""));
        chmod(&file, 0o640);
        assert_eq!(read(&file), None);
        symlink("/etc/hostname", folder.join("y")).unwrap();
        assert_eq!(read(&folder.join("y")), None);
        chmod(&folder, 0o750);
        assert!(!prepare(&folder));
    }
}
