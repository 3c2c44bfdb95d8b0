//! The home folder: where everything lies, and the proof that it is this user's alone.
//!
//! Spec: §8.1, D3.1
//!
//! A [`Home`] exists only after its folders passed the privacy rules, so whoever holds one may
//! write into it. Nothing is written before every folder that already exists has passed.

use std::path::{Component, Path, PathBuf};

use crate::exit::{PrivacyRule, StartError};
use crate::os::{self, ModeBits};

/// A home whose folders exist, belong to this user, and cannot be written by anyone else.
#[derive(Debug, Clone)]
pub struct Home {
    root: PathBuf,
    parent_writable: bool,
}

impl Home {
    /// Checks the home at `path`, makes what is missing, and closes what is only too readable.
    ///
    /// Errors: [`StartError::HomeTooLong`] and [`StartError::NotPrivate`], both before anything
    /// was written.
    pub fn open(path: &Path) -> Result<Home, StartError> {
        let root = absolute(path)?;
        let bytes = root.as_os_str().as_encoded_bytes().len();
        if bytes > MAX_HOME_BYTES {
            return Err(StartError::HomeTooLong { bytes, limit: MAX_HOME_BYTES });
        }
        let home = Home { parent_writable: parent_is_writable(&root)?, root };
        let folders = home.folders();
        let mut found = Vec::with_capacity(folders.len());
        for (what, folder) in &folders {
            found.push(check_folder(what, folder)?);
        }
        for ((what, folder), mode) in folders.iter().zip(found) {
            settle_folder(what, folder, mode)?;
        }
        Ok(home)
    }

    /// Lets members of `group` search the home and `run/` (0710), or closes both again (0700).
    ///
    /// Errors: [`StartError::NotInGroup`].
    pub fn share_with(&self, group: Option<u32>) -> Result<(), StartError> {
        if group.is_some_and(|gid| !os::is_in_group(gid)) {
            return Err(StartError::NotInGroup);
        }
        let mode = if group.is_some() { SEARCHABLE } else { CLOSED };
        for (what, folder) in [("home", self.root.clone()), ("run", self.run())] {
            os::set_mode_and_group(&folder, mode, group)
                .map_err(|error| StartError::System { what, error })?;
        }
        Ok(())
    }

    /// The folder itself, absolute.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether others may put things beside the home; logged, not refused.
    #[must_use]
    pub fn parent_writable(&self) -> bool {
        self.parent_writable
    }

    /// The folder of sockets and locks.
    #[must_use]
    pub fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    /// The folder of log files.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> PathBuf {
        self.root.join("messaging.db")
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.root.join("config.json")
    }

    /// The private keys.
    #[must_use]
    pub fn identity(&self) -> PathBuf {
        self.root.join("identity.json")
    }

    /// Keys that wait for a place in a team.
    #[must_use]
    pub fn pairing(&self) -> PathBuf {
        self.root.join("pairing.json")
    }

    /// The agent tier's socket.
    #[must_use]
    pub fn agent_socket(&self) -> PathBuf {
        self.root.join("run").join(AGENT_SOCKET)
    }

    /// The socket of all tiers.
    #[must_use]
    pub fn admin_socket(&self) -> PathBuf {
        self.root.join("run").join(ADMIN_SOCKET)
    }

    fn folders(&self) -> [(&'static str, PathBuf); 3] {
        [("home", self.root.clone()), ("run", self.run()), ("logs", self.logs())]
    }
}

/// The absolute path without `.`, doubled or trailing separators: `lstat` of `link/` would
/// follow the link.
fn absolute(path: &Path) -> Result<PathBuf, StartError> {
    if path.as_os_str().is_empty() {
        return Err(StartError::NoHome);
    }
    let full =
        std::path::absolute(path).map_err(|error| StartError::System { what: "home", error })?;
    Ok(full.components().filter(|part| *part != Component::CurDir).collect())
}

fn parent_is_writable(root: &Path) -> Result<bool, StartError> {
    let Some(parent) = root.parent() else { return Ok(false) };
    // The parent may be reached through a link (a home under /tmp on some systems): follow it.
    let Ok(real) = std::fs::canonicalize(parent) else { return Ok(false) };
    let owner = os::stat(&real).map_err(|error| StartError::System { what: "home", error })?;
    Ok(owner.is_some_and(|owner| owner.writable_by_others() && !owner.sticky))
}

/// The mode of a folder that passes the rules, `None` when it does not exist.
fn check_folder(what: &'static str, folder: &Path) -> Result<Option<ModeBits>, StartError> {
    let found = os::stat(folder).map_err(|error| StartError::System { what, error })?;
    let Some(owner) = found else { return Ok(None) };
    let broken = if !owner.is_directory() {
        PrivacyRule::NotDirectory
    } else if owner.uid != os::effective_uid() {
        PrivacyRule::ForeignOwner
    } else if owner.writable_by_others() {
        PrivacyRule::WritableByOthers
    } else {
        return Ok(Some(owner.mode));
    };
    Err(StartError::NotPrivate { what, rule: broken })
}

fn settle_folder(
    what: &'static str,
    folder: &Path,
    mode: Option<ModeBits>,
) -> Result<(), StartError> {
    match mode {
        None => os::make_private_dir(folder),
        // 0710 belongs to a running daemon with `ipc.agentGroup`: a second one that is about to
        // lose the race for the lock must not shut the group out. `share_with` decides.
        Some(CLOSED | SEARCHABLE) => Ok(()),
        Some(_) => os::set_mode_and_group(folder, CLOSED, None),
    }
    .map_err(|error| StartError::System { what, error })
}

/// The agent tier's socket in `run/`.
pub(crate) const AGENT_SOCKET: &str = "agent.sock";
/// The socket of all tiers in `run/`.
pub(crate) const ADMIN_SOCKET: &str = "admin.sock";

const CLOSED: ModeBits = 0o700;
const SEARCHABLE: ModeBits = 0o710;

/// The longest address of a local socket on Linux, without its NUL.
const MAX_SOCKET_PATH: usize = 107;
/// The longest home: both sockets' names are equally long.
pub const MAX_HOME_BYTES: usize = MAX_SOCKET_PATH - "/run/agent.sock".len();

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn mode_of(path: &Path) -> u32 {
        os::stat(path).unwrap().unwrap().mode
    }

    fn set_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    fn rule_of(error: StartError) -> (&'static str, PrivacyRule) {
        match error {
            StartError::NotPrivate { what, rule } => (what, rule),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn a_new_home_and_its_folders_are_0700() {
        let base = tempfile::tempdir().unwrap();
        let home = Home::open(&base.path().join("deep").join("home")).unwrap();
        for folder in [home.root().to_path_buf(), home.run(), home.logs()] {
            assert_eq!(mode_of(&folder), 0o700);
        }
    }

    #[test]
    fn a_readable_home_is_closed_and_a_writable_one_refused() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("home");
        Home::open(&path).unwrap();
        set_mode(&path, 0o755);
        Home::open(&path).unwrap();
        assert_eq!(mode_of(&path), 0o700);
        for mode in [0o720, 0o702, 0o777] {
            set_mode(&path, mode);
            let error = Home::open(&path).unwrap_err();
            assert_eq!(error.exit_status(), 77);
            assert_eq!(rule_of(error), ("home", PrivacyRule::WritableByOthers));
            assert_eq!(mode_of(&path), mode, "nothing was changed");
        }
    }

    #[test]
    fn a_link_in_the_place_of_a_folder_is_refused_before_anything_is_written() {
        let base = tempfile::tempdir().unwrap();
        let real = base.path().join("real");
        std::fs::create_dir(&real).unwrap();
        set_mode(&real, 0o700);
        let link = base.path().join("link");
        symlink(&real, &link).unwrap();
        for path in [link.clone(), link.join(""), link.join(".")] {
            assert_eq!(
                rule_of(Home::open(&path).unwrap_err()),
                ("home", PrivacyRule::NotDirectory)
            );
        }
        assert_eq!(std::fs::read_dir(&real).unwrap().count(), 0);

        // A bad `logs` must be seen before `run` is made.
        symlink("/tmp", real.join("logs")).unwrap();
        assert_eq!(rule_of(Home::open(&real).unwrap_err()), ("logs", PrivacyRule::NotDirectory));
        assert!(!real.join("run").exists());
    }

    #[test]
    fn a_file_in_the_place_of_run_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("home");
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("run"), b"").unwrap();
        assert_eq!(rule_of(Home::open(&path).unwrap_err()), ("run", PrivacyRule::NotDirectory));
    }

    #[test]
    fn anothers_folder_is_refused() {
        if os::effective_uid() != 0 {
            return; // only root can give a folder away
        }
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("home");
        Home::open(&path).unwrap();
        chown(path.join("run"), Some(65534), None).unwrap();
        assert_eq!(rule_of(Home::open(&path).unwrap_err()), ("run", PrivacyRule::ForeignOwner));
    }

    #[test]
    fn a_path_that_leaves_no_room_for_a_socket_is_refused_with_its_limit() {
        let base = tempfile::tempdir().unwrap();
        let stem = base.path().as_os_str().len() + 1;
        for total in 80..=140usize {
            let path = base.path().join("h".repeat(total - stem));
            let opened = Home::open(&path);
            if total <= MAX_HOME_BYTES {
                let home = opened.unwrap();
                let listener = os::listen(&home.agent_socket(), 0o600, None).unwrap();
                drop(listener);
            } else {
                let error = opened.unwrap_err();
                assert_eq!(error.exit_status(), 64);
                assert!(error.to_string().contains(&format!("{total} bytes")), "{error}");
                assert!(error.to_string().contains("92"), "{error}");
                assert!(!path.exists(), "nothing was written");
            }
        }
    }

    #[test]
    fn multi_byte_paths_are_measured_in_bytes() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("ä".repeat(45));
        assert!(matches!(Home::open(&path), Err(StartError::HomeTooLong { .. })));
    }

    #[test]
    fn an_agent_group_opens_the_way_to_the_socket_only() {
        let base = tempfile::tempdir().unwrap();
        let home = Home::open(&base.path().join("home")).unwrap();
        let own = rustix::process::getegid().as_raw();
        home.share_with(Some(own)).unwrap();
        assert_eq!(mode_of(home.root()), 0o710);
        assert_eq!(mode_of(&home.run()), 0o710);
        assert_eq!(mode_of(&home.logs()), 0o700);
        Home::open(home.root()).unwrap();
        assert_eq!(mode_of(home.root()), 0o710, "a second start leaves the group its way in");
        home.share_with(None).unwrap();
        assert_eq!(mode_of(home.root()), 0o700);
        let error = home.share_with(Some(4_123_456)).unwrap_err();
        assert_eq!(error.exit_status(), 77);
    }

    #[test]
    fn a_parent_that_others_can_write_is_noticed_unless_sticky() {
        let base = tempfile::tempdir().unwrap();
        let parent = base.path().join("shared");
        std::fs::create_dir(&parent).unwrap();
        set_mode(&parent, 0o777);
        assert!(Home::open(&parent.join("home")).unwrap().parent_writable());
        set_mode(&parent, 0o1777);
        assert!(!Home::open(&parent.join("home")).unwrap().parent_writable());
    }
}
