//! `messaging snapshot`.
//! Spec: §8.2 "Backups", D3.24

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use messaging_core::code::Code;
use messaging_ipc::call;
use messaging_ipc::params::daemon::Snapshot as Ask;
use messaging_ipc::results::daemon::{SnapshotFile, Snapshotted};
use messaging_ipc::scalars::True;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::context::{Context, Link};
use crate::fault::Fault;
use crate::render::Report;

/// Write a copy of the home for a backup, while the daemon works
///
/// The copy is of one moment: the store with its mail, and config.json. manifest.json names the size and SHA-256 of each.
/// Private keys are not in it: keep a copy of identity.json apart. The folder must not be there yet, and has its name only
/// once the copy is whole.
///
/// Examples:
///   messaging snapshot --to backup/monday
///   messaging snapshot --to backup/monday --json
///   messaging snapshot --release
///
/// See also: messaging export, messaging doctor
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[group(required = true, multiple = false)]
pub(crate) struct Snapshot {
    /// The folder to make
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Let go of the copy that a program took and did not let go of
    #[arg(long)]
    release: bool,
}

impl Snapshot {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let Some(to) = self.to else {
            let link = context.connect().await?;
            return let_go(&link).await;
        };
        let staged = Staged::make(&to)?;
        // A large home takes its time.
        let link = context.connect_for(PATIENCE).await?;
        let taken = link.call::<call::DaemonSnapshot>(&Ask::default()).await;
        let taken = taken.map_err(|fault| match fault.code {
            Code::InvalidState => {
                fault.next("wait until it is let go, or run `messaging snapshot --release`.")
            }
            _ => fault,
        })?;
        let Snapshotted::Held { folder, files, store_schema, at, .. } = taken else {
            return Err(Fault::local("the daemon took no snapshot", "run `messaging doctor`."));
        };
        let copied = staged.fill(Path::new(&folder), &files);
        // The daemon's copy goes in any case; should this fail, it goes by itself within an hour.
        let _ = link.call::<call::DaemonSnapshot>(&Ask { done: Some(True) }).await;
        copied?;
        staged.keep(&to)?;
        let bytes: u64 = files.iter().map(|file| file.bytes).sum();
        let text = format!(
            "{} files, {bytes} bytes\nThe private keys are not in it: keep a copy of identity.json apart.\n",
            files.len()
        );
        let json = json!({
            "folder": to.to_string_lossy(), "files": files, "storeSchema": store_schema, "at": at,
        });
        Ok(Report::new(json, text))
    }
}

async fn let_go(link: &Link<'_>) -> Result<Report, Fault> {
    let done = link.call::<call::DaemonSnapshot>(&Ask { done: Some(True) }).await?;
    let released = matches!(done, Snapshotted::Released { released: true });
    let text = if released { "let go\n" } else { "none was held\n" };
    Ok(Report::new(json!({"released": released}), text))
}

/// The folder under its first name, gone again unless it is kept.
#[derive(Debug)]
struct Staged {
    path: PathBuf,
}

impl Staged {
    fn make(to: &Path) -> Result<Self, Fault> {
        if fs::symlink_metadata(to).is_ok() {
            return Err(Fault::usage(
                "the folder is there already, and nothing is written over",
                "name another folder with --to.",
            ));
        }
        let mut name = to.file_name().map(ToOwned::to_owned).ok_or_else(no_folder)?;
        name.push(".part");
        let path = to.with_file_name(name);
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => Ok(Self { path }),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(Fault::usage(
                "a copy into this folder is under way, or was broken off",
                "delete the folder whose name ends in .part, if nobody writes it.",
            )),
            Err(_) => Err(no_folder()),
        }
    }

    /// Copies the files and what lists them, the list last.
    fn fill(&self, from: &Path, files: &[SnapshotFile]) -> Result<(), Fault> {
        for file in files {
            let name = plain(&file.name)?;
            let (bytes, sha256) = self.copy(from, name).map_err(|_| unwritable())?;
            if bytes != file.bytes || sha256 != file.sha256 {
                return Err(Fault::local("the copy is not what the daemon took", "run it again."));
            }
        }
        self.copy(from, MANIFEST).map_err(|_| unwritable())?;
        File::open(&self.path).and_then(|folder| folder.sync_all()).map_err(|_| unwritable())
    }

    fn copy(&self, from: &Path, name: &str) -> io::Result<(u64, String)> {
        let mut source = File::open(from.join(name))?;
        let mut target = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(self.path.join(name))?;
        let mut hash = Sha256::new();
        let (mut bytes, mut chunk) = (0, vec![0; CHUNK]);
        loop {
            let read = source.read(&mut chunk)?;
            let Some(part) = chunk.get(..read).filter(|part| !part.is_empty()) else { break };
            hash.update(part);
            target.write_all(part)?;
            bytes += part.len() as u64;
        }
        target.sync_all()?;
        let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok((bytes, sha256))
    }

    /// It is whole, and gets its name.
    fn keep(self, to: &Path) -> Result<(), Fault> {
        fs::rename(&self.path, to).map_err(|_| unwritable())?;
        // A name that is not on disk yet is, at worst, the first one after a crash.
        let above = to.parent().filter(|above| !above.as_os_str().is_empty());
        let _ = File::open(above.unwrap_or(Path::new("."))).and_then(|above| above.sync_all());
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // Under its name it is somebody else's now; what cannot be deleted was told as not written.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A file's name that leads nowhere else.
fn plain(name: &str) -> Result<&str, Fault> {
    let is_plain = !name.is_empty() && !name.contains('/') && name != "." && name != "..";
    is_plain
        .then_some(name)
        .ok_or_else(|| Fault::local("a file has no plain name", "run `messaging doctor`."))
}

fn no_folder() -> Fault {
    Fault::usage("the folder cannot be made", "name another folder with --to.")
}

fn unwritable() -> Fault {
    Fault::local("the snapshot could not be written", "check that the disk has room.")
}

const MANIFEST: &str = "manifest.json";
const CHUNK: usize = 256 * 1_024;
/// What the daemon may take to copy.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(1_800);

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn listed(name: &str, bytes: &[u8]) -> SnapshotFile {
        let sha256 = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        SnapshotFile { name: name.to_owned(), bytes: bytes.len() as u64, sha256 }
    }

    #[test]
    fn a_copy_has_its_name_once_it_is_whole_and_a_broken_one_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("held"), folder.path().join("monday"));
        fs::create_dir(&from).unwrap();
        fs::write(from.join("messaging.db"), b"store").unwrap();
        fs::write(from.join("manifest.json"), b"{}").unwrap();
        let files = [listed("messaging.db", b"store")];

        let staged = Staged::make(&to).unwrap();
        assert!(Staged::make(&to).is_err(), "one at a time");
        staged.fill(&from, &files).unwrap();
        assert!(!to.exists());
        staged.keep(&to).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&to), mode(&to.join("messaging.db"))), (0o700, 0o600));
        assert_eq!(fs::read(to.join("manifest.json")).unwrap(), b"{}");
        assert!(Staged::make(&to).is_err(), "nothing is written over");

        let to = folder.path().join("tuesday");
        let staged = Staged::make(&to).unwrap();
        assert!(staged.fill(&from, &[listed("messaging.db", b"other")]).is_err());
        drop(staged);
        let staged = Staged::make(&to).unwrap();
        assert!(staged.fill(&from, &[listed("../monday/messaging.db", b"store")]).is_err());
        drop(staged);
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["held", "monday"]);
    }
}
