//! Where a daemon's sockets are, and whether this process may trust what it finds there.
//! Spec: §8.2, D1.1 "Socket and folder trust"

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use messaging_core::code::Code;

use crate::ClientError;

/// The longest path a Unix socket can have, bytes.
const SOCKET_PATH_BYTES: usize = 107;

/// Which of the daemon's two sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Socket {
    /// The agent tier.
    Agent,
    /// Every tier.
    Admin,
}

impl Socket {
    const fn file(self) -> &'static str {
        match self {
            Self::Agent => "agent.sock",
            Self::Admin => "admin.sock",
        }
    }
}

/// A daemon's sockets: in `run/` of a home, or in a folder of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    run: PathBuf,
    /// The folder above: the home, or the parent of a folder of its own.
    above: PathBuf,
    is_home: bool,
    daemon_uid: Option<u32>,
}

impl Place {
    /// The sockets of a home.
    pub fn home(home: &Path) -> Self {
        Self { run: home.join("run"), above: home.to_owned(), is_home: true, daemon_uid: None }
    }

    /// The sockets in a folder of their own; the home need not be visible.
    pub fn run(run: &Path) -> Self {
        let above = run.parent().unwrap_or(Path::new("/")).to_owned();
        Self { run: run.to_owned(), above, is_home: false, daemon_uid: None }
    }

    /// Trusts this user too: the one that a daemon under its own user runs as.
    #[must_use]
    pub fn trusting(mut self, uid: Option<u32>) -> Self {
        self.daemon_uid = uid;
        self
    }

    /// The folder of the sockets.
    pub fn folder(&self) -> &Path {
        &self.run
    }

    /// The home that the sockets are in; `None` for a folder of their own.
    pub fn home_folder(&self) -> Option<&Path> {
        self.is_home.then_some(self.above.as_path())
    }

    /// The path of a socket.
    pub fn socket(&self, socket: Socket) -> PathBuf {
        self.run.join(socket.file())
    }

    /// Whether a socket may be connected to. The folders must be real, owned by this user or the daemon's, and closed to
    /// the writes of others; the socket must be a socket of one of the same two.
    ///
    /// Errors: `daemon_unavailable` for something that is not there, `forbidden` for something that is not private,
    /// `invalid_request` for a path that no socket can have.
    pub fn check(&self, socket: Socket) -> Result<PathBuf, ClientError> {
        let path = self.socket(socket);
        if path.as_os_str().as_bytes().len() > SOCKET_PATH_BYTES {
            return Err(ClientError::Unfit {
                code: Code::InvalidRequest,
                message: "the home's path is too long for a socket; use a shorter one",
            });
        }
        self.check_above()?;
        let run = lstat(&self.run, "no daemon has run here: the folder of its sockets is missing")?;
        if !run.is_dir() {
            return Err(ClientError::Untrusted("the folder of the sockets is no real directory"));
        }
        if !self.trusts(run.uid()) || is_open(&run) {
            return Err(ClientError::Untrusted(
                "the folder of the sockets is another user's, or others can write it",
            ));
        }
        let found = lstat(&path, "no daemon is running")?;
        if !found.file_type().is_socket() {
            return Err(ClientError::Untrusted("the daemon's socket is no socket"));
        }
        if !self.trusts(found.uid()) {
            return Err(ClientError::Untrusted("the daemon's socket is another user's"));
        }
        Ok(path)
    }

    fn check_above(&self) -> Result<(), ClientError> {
        let missing = if self.is_home {
            "no daemon has run here: the home is missing"
        } else {
            "the folder of the sockets is missing"
        };
        let above = lstat(&self.above, missing)?;
        // A folder of its own often stands in one of the system's, such as /run.
        let owned = self.trusts(above.uid()) || (!self.is_home && above.uid() == 0);
        if !above.is_dir() {
            return Err(ClientError::Untrusted("the home is no real directory"));
        }
        if !owned || is_open(&above) {
            return Err(ClientError::Untrusted(
                "the home is another user's, or others can write it",
            ));
        }
        Ok(())
    }

    fn trusts(&self, uid: u32) -> bool {
        uid == rustix::process::getuid().as_raw() || self.daemon_uid == Some(uid)
    }
}

fn lstat(path: &Path, missing: &'static str) -> Result<std::fs::Metadata, ClientError> {
    std::fs::symlink_metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::PermissionDenied => {
            ClientError::Untrusted("the folder of the daemon's sockets is closed to this user")
        }
        _ => ClientError::Unavailable(missing),
    })
}

fn is_open(found: &std::fs::Metadata) -> bool {
    found.mode() & 0o022 != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, create_dir, set_permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::os::unix::net::UnixListener;

    struct Home {
        root: tempfile::TempDir,
        _listener: UnixListener,
    }

    fn home() -> Home {
        let root = tempfile::tempdir().unwrap();
        chmod(root.path(), 0o700);
        let run = root.path().join("run");
        create_dir(&run).unwrap();
        chmod(&run, 0o700);
        let listener = UnixListener::bind(run.join("admin.sock")).unwrap();
        Home { root, _listener: listener }
    }

    fn chmod(path: &Path, mode: u32) {
        set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[track_caller]
    fn code(place: &Place) -> Option<Code> {
        place.check(Socket::Admin).err().map(|error| error.code())
    }

    #[test]
    fn a_private_home_is_trusted() {
        let home = home();
        assert_eq!(code(&Place::home(home.root.path())), None);
        assert_eq!(code(&Place::run(&home.root.path().join("run"))), None);
        chmod(home.root.path(), 0o755);
        assert_eq!(code(&Place::home(home.root.path())), None);
    }

    #[test]
    fn folders_that_others_can_write_are_not() {
        for mode in [0o720, 0o702, 0o777] {
            let home = home();
            chmod(home.root.path(), mode);
            assert_eq!(code(&Place::home(home.root.path())), Some(Code::Forbidden), "{mode:o}");
            chmod(home.root.path(), 0o700);
            chmod(&home.root.path().join("run"), mode);
            assert_eq!(code(&Place::home(home.root.path())), Some(Code::Forbidden), "{mode:o}");
        }
    }

    #[test]
    fn links_and_files_are_no_folders_and_files_are_no_sockets() {
        let home = home();
        let other = tempfile::tempdir().unwrap();
        symlink(home.root.path(), other.path().join("home")).unwrap();
        assert_eq!(code(&Place::home(&other.path().join("home"))), Some(Code::Forbidden));
        symlink(home.root.path().join("run"), other.path().join("run")).unwrap();
        chmod(other.path(), 0o700);
        assert_eq!(code(&Place::home(other.path())), Some(Code::Forbidden));
        let socket = home.root.path().join("run/admin.sock");
        std::fs::remove_file(&socket).unwrap();
        std::fs::write(&socket, "").unwrap();
        assert_eq!(code(&Place::home(home.root.path())), Some(Code::Forbidden));
    }

    #[test]
    fn what_is_missing_is_a_daemon_that_is_not_there() {
        let empty = tempfile::tempdir().unwrap();
        chmod(empty.path(), 0o700);
        assert_eq!(code(&Place::home(&empty.path().join("none"))), Some(Code::DaemonUnavailable));
        assert_eq!(code(&Place::home(empty.path())), Some(Code::DaemonUnavailable));
        create_dir(empty.path().join("run")).unwrap();
        chmod(&empty.path().join("run"), 0o700);
        assert_eq!(code(&Place::home(empty.path())), Some(Code::DaemonUnavailable));
    }

    #[test]
    fn another_users_home_needs_the_daemons_uid() {
        let home = home();
        let path = home.root.path();
        // Only root can give a folder away; elsewhere the rule is covered by the end-to-end tests.
        if std::os::unix::fs::chown(path, Some(65_534), None).is_err() {
            return;
        }
        assert_eq!(code(&Place::home(path)), Some(Code::Forbidden));
        assert_eq!(code(&Place::home(path).trusting(Some(65_534))), None);
        assert_eq!(code(&Place::home(path).trusting(Some(65_533))), Some(Code::Forbidden));
    }

    #[test]
    fn a_path_that_no_socket_can_have_says_so() {
        let place = Place::home(Path::new(&format!("/{}", "x".repeat(120))));
        assert_eq!(code(&place), Some(Code::InvalidRequest));
    }
}
