//! The files of an export: private, new, hashed as they are written, and gone again when the export fails.

use std::fs::{self, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::fault::Fault;

/// The folder of an export.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    is_new: bool,
    files: Vec<PathBuf>,
}

/// One file on its way.
#[derive(Debug)]
pub(super) struct File {
    name: &'static str,
    file: BufWriter<fs::File>,
    hash: Sha256,
    bytes: u64,
}

/// A file that is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) name: &'static str,
    pub(super) bytes: u64,
    /// SHA-256, hexadecimal.
    pub(super) sha256: String,
}

impl Folder {
    /// The folder at `path`, made when it is missing.
    pub(super) fn open(path: &Path) -> Result<Self, Fault> {
        let is_new = match fs::DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => true,
            Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => false,
            Err(_) => {
                return Err(Fault::usage(
                    "the folder to export into cannot be made",
                    "name another folder with --to.",
                ));
            }
        };
        Ok(Self { path: path.to_owned(), is_new, files: Vec::new() })
    }

    /// A new file of it.
    ///
    /// Errors: `invalid_request` for a name that is taken.
    pub(super) fn file(&mut self, name: &'static str) -> Result<File, Fault> {
        let path = self.path.join(name);
        let file = match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(Fault::usage(
                    format!("{name} is there already, and nothing is written over"),
                    "name another folder with --to, or move the file.",
                ));
            }
            Err(_) => return Err(unwritable()),
        };
        self.files.push(path);
        Ok(File { name, file: BufWriter::new(file), hash: Sha256::new(), bytes: 0 })
    }

    /// The export is whole: its files stay.
    pub(super) fn keep(mut self) -> Result<(), Fault> {
        fs::File::open(&self.path)
            .and_then(|folder| folder.sync_all())
            .map_err(|_| unwritable())?;
        self.files.clear();
        self.is_new = false;
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        for path in &self.files {
            // What cannot be deleted was reported as not exported.
            let _ = fs::remove_file(path);
        }
        if self.is_new {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

impl File {
    /// Writes more.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        self.file.write_all(bytes).map_err(|_| unwritable())
    }

    /// Nothing follows: it is on disk from here on.
    pub(super) fn end(self) -> Result<Listed, Fault> {
        let file = self.file.into_inner().map_err(|_| unwritable())?;
        file.sync_all().map_err(|_| unwritable())?;
        let sha256 = self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Listed { name: self.name, bytes: self.bytes, sha256 })
    }
}

fn unwritable() -> Fault {
    Fault::local("the export could not be written", "check that the disk has room.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_file_is_private_and_its_hash_is_that_of_its_bytes() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("out");
        let mut folder = Folder::open(&path).unwrap();
        let mut file = folder.file("messages.jsonl").unwrap();
        file.write(b"a").unwrap();
        file.write(b"bc").unwrap();
        let listed = file.end().unwrap();
        folder.keep().unwrap();
        assert_eq!(fs::read(path.join("messages.jsonl")).unwrap(), b"abc");
        assert_eq!(
            listed.sha256,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(listed.bytes, 3);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&path.join("messages.jsonl"))), (0o700, 0o600));
    }

    #[test]
    fn nothing_is_written_over_and_a_failure_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("manifest.json"), "mine").unwrap();
        let mut folder = Folder::open(home.path()).unwrap();
        folder.file("messages.jsonl").unwrap();
        let fault = folder.file("manifest.json").unwrap_err();
        assert!(fault.message.contains("manifest.json"));
        drop(folder);
        let left: Vec<_> =
            fs::read_dir(home.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["manifest.json"]);
        assert_eq!(fs::read(home.path().join("manifest.json")).unwrap(), b"mine");
        let new = home.path().join("new");
        drop(Folder::open(&new).unwrap());
        assert!(!new.exists());
    }
}
