//! Unix: numeric owners, mode bits, `O_NOFOLLOW`, and sockets that are never open to others.
//!
//! Spec: §8.1, §8.2, D3.1, D3.3

use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{Gid, Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
use rustix::process::Pid;

/// The permission bits of a file, `0o777` and below.
pub(crate) type ModeBits = u32;

/// Who owns something, what it is, and who else may touch it; symbolic links are not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) mode: ModeBits,
    pub(crate) sticky: bool,
    pub(crate) kind: FileKind,
}

/// What a directory entry is; a symbolic link is [`FileKind::Other`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    Directory,
    Regular,
    Socket,
    Other,
}

impl Owner {
    pub(crate) fn is_directory(self) -> bool {
        self.kind == FileKind::Directory
    }

    pub(crate) fn is_regular(self) -> bool {
        self.kind == FileKind::Regular
    }

    pub(crate) fn is_socket(self) -> bool {
        self.kind == FileKind::Socket
    }

    /// Whether a group or anyone else may write it.
    pub(crate) fn writable_by_others(self) -> bool {
        self.mode & 0o022 != 0
    }

    fn of(meta: &std::fs::Metadata) -> Owner {
        use std::os::unix::fs::FileTypeExt;
        let kind = meta.file_type();
        Owner {
            uid: meta.uid(),
            gid: meta.gid(),
            mode: meta.mode() & 0o777,
            sticky: meta.mode() & 0o1000 != 0,
            kind: if kind.is_dir() {
                FileKind::Directory
            } else if kind.is_file() {
                FileKind::Regular
            } else if kind.is_socket() {
                FileKind::Socket
            } else {
                FileKind::Other
            },
        }
    }
}

/// The user this process acts as.
pub(crate) fn effective_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// This process's id.
pub(crate) fn process_id() -> u32 {
    std::process::id()
}

/// Whether this process's user is a member of group `gid`.
pub(crate) fn is_in_group(gid: u32) -> bool {
    rustix::process::getegid().as_raw() == gid
        || rustix::process::getgroups()
            .is_ok_and(|groups| groups.iter().any(|group| group.as_raw() == gid))
}

/// Whether process `pid` lives, whoever's it is.
pub(crate) fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let asked = pid.map(rustix::process::test_kill_process);
    matches!(asked, Some(Ok(()) | Err(rustix::io::Errno::PERM)))
}

/// Puts a program that is about to be started at the head of a process group of its own.
pub(crate) fn lead_a_group(command: &mut tokio::process::Command) {
    command.process_group(0);
}

/// Ends every process of the group that `leader` heads.
pub(crate) fn end_group(leader: u32) {
    if let Some(pid) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        // A group that is gone needs no end.
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
}

/// Whether what `path` leads to is a plain file of this user or root that nobody else may write.
pub(crate) fn is_safe_program(path: &Path) -> io::Result<bool> {
    let found = Owner::of(&std::fs::metadata(path)?);
    let trusted = found.uid == 0 || found.uid == effective_uid();
    Ok(found.is_regular() && trusted && !found.writable_by_others())
}

/// Sets the process's umask so that nothing it makes is open to others, whatever a later `open`
/// forgets. Called once, before any thread exists: a umask belongs to the whole process.
pub(crate) fn hold_umask() {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
}

/// Keeps the process alive when its terminal goes away. Called inside the runtime.
pub(crate) fn ignore_hangup() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    // Once somebody has listened, the signal's default action never comes back.
    signal(SignalKind::hangup()).map(drop)
}

/// What stands at `path` itself, or `None` when nothing does.
pub(crate) fn stat(path: &Path) -> io::Result<Option<Owner>> {
    match std::fs::symlink_metadata(path) {
        Ok(meta) => Ok(Some(Owner::of(&meta))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes a directory 0700, and any missing parent likewise.
pub(crate) fn make_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Makes an empty file 0600, and leaves one that exists alone: it is not even opened, because
/// closing it would drop the locks this process holds on it through SQLite.
pub(crate) fn make_private_file(path: &Path) -> io::Result<()> {
    if stat(path)?.is_some() {
        return Ok(());
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR) {
        Ok(_) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Sets the exact mode, and the group when one is given.
pub(crate) fn set_mode_and_group(
    path: &Path,
    mode: ModeBits,
    group: Option<u32>,
) -> io::Result<()> {
    if let Some(gid) = group {
        rustix::fs::chown(path, None, Some(Gid::from_raw(gid)))?;
    }
    rustix::fs::chmod(path, Mode::from_raw_mode(mode))?;
    Ok(())
}

/// Reads a regular file of at most `max` bytes without following a symbolic link, and says who
/// owns it. `None` when there is none. A longer file gives `max + 1` bytes: the caller refuses it.
///
/// Errors: `InvalidInput` when it is not a regular file (a link, a pipe, a folder).
pub(crate) fn read_private(path: &Path, max: usize) -> io::Result<Option<(Vec<u8>, Owner)>> {
    // Without NONBLOCK a named pipe put in the file's place would hold the start up for ever.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(rustix::io::Errno::LOOP | rustix::io::Errno::NXIO) => {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Err(errno) => return Err(errno.into()),
    };
    let owner = Owner::of(&file.metadata()?);
    if !owner.is_regular() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    file.take(u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(Some((bytes, owner)))
}

/// Replaces a file in one step: a 0600 neighbour is written and synced, renamed over it, and the
/// folder synced. A crash leaves the old content or the new, never a part.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let staged = staging_name(path)?;
    // A staging file of a crashed write is ours to replace: the folder is private and locked.
    match std::fs::remove_file(&staged) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let written = write_new(&staged, bytes).and_then(|()| std::fs::rename(&staged, path));
    if let Err(error) = written {
        // Best effort: the error that matters is the first one.
        let _ = std::fs::remove_file(&staged);
        return Err(error);
    }
    File::open(folder)?.sync_all()
}

/// [`write_private`] for a file of keys: once the new content stands, the bytes of the old file are overwritten too, so that
/// a key that is in it no more is nowhere. A staging file that a crash left is overwritten as well.
pub(crate) fn write_secret(path: &Path, bytes: &[u8]) -> io::Result<()> {
    erase_private(&staging_name(path)?)?;
    let old = open_own(path)?;
    write_private(path, bytes)?;
    match old {
        // What cannot be overwritten is told, although the new content stands.
        Some(mut old) => overwrite(&mut old),
        None => Ok(()),
    }
}

/// Overwrites a file and removes it, durably. One that is not there is erased. What is not a plain file is only removed.
pub(crate) fn erase_private(path: &Path) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    match stat(path)? {
        None => return Ok(()),
        Some(_) => {
            if let Some(mut file) = open_own(path)? {
                overwrite(&mut file)?;
            }
        }
    }
    std::fs::remove_file(path)?;
    File::open(folder)?.sync_all()
}

/// Erases the neighbour that an interrupted write of `path` left.
pub(crate) fn erase_staged(path: &Path) -> io::Result<()> {
    erase_private(&staging_name(path)?)
}

/// The plain file at `path`, to be overwritten, when it is one.
fn open_own(path: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => {
            let file = File::from(fd);
            Ok(file.metadata()?.is_file().then_some(file))
        }
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::LOOP | rustix::io::Errno::NXIO) => {
            Ok(None)
        }
        Err(errno) => Err(errno.into()),
    }
}

fn overwrite(file: &mut File) -> io::Result<()> {
    let mut left = file.metadata()?.len();
    let zeros = [0; 4_096];
    while left > 0 {
        let part = left.min(zeros.len() as u64);
        let part = usize::try_from(part).unwrap_or(zeros.len());
        file.write_all(zeros.get(..part).unwrap_or(&zeros))?;
        left -= part as u64;
    }
    file.sync_all()
}

/// The name of a write's neighbour until it is renamed.
fn staging_name(path: &Path) -> io::Result<PathBuf> {
    let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_os_string();
    name.push(".new");
    Ok(path.with_file_name(name))
}

/// Writes a file that must not exist: 0600, synced.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?);
    file.write_all(bytes)?;
    file.sync_all()
}

/// A stream socket that nothing started from here inherits, and that never waits.
#[cfg(not(target_vendor = "apple"))]
fn local_socket() -> io::Result<OwnedFd> {
    use rustix::net::SocketFlags;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

/// The same where a socket has no flags at its birth: a program that is started at this very moment may inherit it.
#[cfg(target_vendor = "apple")]
fn local_socket() -> io::Result<OwnedFd> {
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    Ok(socket)
}

/// Binds a local stream socket and listens on it. Its mode and group are set between `bind` and
/// `listen`, so no connection can be made under any other. The caller has removed a stale socket.
pub(crate) fn listen(path: &Path, mode: ModeBits, group: Option<u32>) -> io::Result<UnixListener> {
    let socket = local_socket()?;
    rustix::net::bind(socket.as_fd(), &SocketAddrUnix::new(path)?)?;
    set_mode_and_group(path, mode, group)?;
    rustix::net::listen(socket.as_fd(), LISTEN_BACKLOG)?;
    Ok(UnixListener::from(socket))
}

/// Connections the kernel holds for us while the accept loop is busy.
const LISTEN_BACKLOG: i32 = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn mode_of(path: &Path) -> u32 {
        stat(path).unwrap().unwrap().mode
    }

    #[test]
    fn a_private_write_is_0600_and_replaces_in_one_step() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        write_private(&path, b"one").unwrap();
        assert_eq!(mode_of(&path), 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        write_private(&path, b"two").unwrap();
        assert_eq!(mode_of(&path), 0o600);
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no staging file is left");
    }

    #[test]
    fn the_bytes_of_a_replaced_or_erased_secret_are_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("identity.json");
        write_secret(&path, &[b'o'; 5_000]).unwrap();
        // Whoever still has the old file open reads what its blocks hold now.
        let mut old = File::open(&path).unwrap();
        write_secret(&path, b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        let mut held = Vec::new();
        old.read_to_end(&mut held).unwrap();
        assert_eq!(held, [0; 5_000]);
        let mut last = File::open(&path).unwrap();
        erase_private(&path).unwrap();
        erase_private(&path).unwrap();
        held.clear();
        last.read_to_end(&mut held).unwrap();
        assert_eq!(held, [0; 3]);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_link_is_removed_and_what_it_names_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("real");
        std::fs::write(&real, b"x").unwrap();
        let link = folder.path().join("identity.json.new");
        symlink(&real, &link).unwrap();
        write_secret(&folder.path().join("identity.json"), b"keys").unwrap();
        assert!(stat(&link).unwrap().is_none());
        assert_eq!(std::fs::read(&real).unwrap(), b"x");
    }

    #[test]
    fn a_left_over_staging_file_does_not_stop_a_write() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        symlink("/dev/null", folder.path().join("config.json.new")).unwrap();
        write_private(&path, b"one").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
    }

    #[test]
    fn reading_follows_no_link_and_waits_for_no_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("real");
        std::fs::write(&real, b"x").unwrap();
        let link = folder.path().join("link");
        symlink(&real, &link).unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
        for path in [&link, &pipe, &folder.path().to_path_buf()] {
            assert_eq!(read_private(path, 10).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
        assert!(read_private(&folder.path().join("none"), 10).unwrap().is_none());
        assert_eq!(read_private(&real, 10).unwrap().unwrap().0, b"x");
    }

    #[test]
    fn a_file_over_the_limit_reads_as_one_byte_too_many() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("big");
        std::fs::write(&path, vec![b'x'; 100]).unwrap();
        assert_eq!(read_private(&path, 100).unwrap().unwrap().0.len(), 100);
        assert_eq!(read_private(&path, 10).unwrap().unwrap().0.len(), 11);
    }

    #[test]
    fn a_socket_has_its_mode_before_anyone_can_connect() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.sock");
        let listener = listen(&path, 0o600, None).unwrap();
        let owner = stat(&path).unwrap().unwrap();
        assert!(owner.is_socket());
        assert_eq!(owner.mode, 0o600);
        drop(listener);
        assert!(listen(&path, 0o600, None).is_err(), "the stale socket is the caller's to remove");
    }
}
