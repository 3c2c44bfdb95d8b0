//! Files of settings on disk: read whole, written at once, and kept as they were.
//!
//! Spec: D6.4
//!
//! What a file was before is kept in the folder `setup` of the home, which is private: such files hold keys. While a file
//! is still what was written, taking the settings out gives back its former bytes.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::Builder;

/// The largest file of settings that is edited, bytes.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Why a file could not be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// It is no ordinary file, too large, or not to be read.
    Unreadable,
    /// It holds something else than text.
    NotText,
    /// It, or the folder of what it was, cannot be written.
    Unwritable,
    /// It changed while the person was asked.
    Changed,
}

/// The text of a file; `None` when there is none.
pub(crate) fn read(path: &Path) -> Result<Option<String>, Problem> {
    let mut bytes = Vec::new();
    match fs::metadata(path) {
        Ok(found) if found.is_file() && found.len() <= LARGEST => {}
        Ok(_) => return Err(Problem::Unreadable),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(_) => return Err(Problem::Unreadable),
    }
    let file = fs::File::open(path).map_err(|_| Problem::Unreadable)?;
    file.take(LARGEST).read_to_end(&mut bytes).map_err(|_| Problem::Unreadable)?;
    String::from_utf8(bytes).map(Some).map_err(|_| Problem::NotText)
}

/// Puts a file's new text in its place, or removes the file, if it is still what it was. The folders that it needs are
/// made; those made are given back.
pub(crate) fn replace(
    path: &Path,
    before: Option<&str>,
    after: Option<&str>,
) -> Result<Vec<PathBuf>, Problem> {
    if read(path)?.as_deref() != before {
        return Err(Problem::Changed);
    }
    // People keep links to the files where they really are.
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let Some(after) = after else {
        fs::remove_file(&real).map_err(|_| Problem::Unwritable)?;
        return Ok(Vec::new());
    };
    let folder = real.parent().ok_or(Problem::Unwritable)?;
    let mut made = Vec::new();
    let missing = folder.ancestors().take_while(|folder| !folder.exists());
    made.extend(missing.map(Path::to_path_buf));
    fs::create_dir_all(folder).map_err(|_| Problem::Unwritable)?;
    let mode = fs::metadata(&real).map_or(0o666, |found| found.permissions().mode() & 0o7777);
    let mut builder = Builder::new();
    builder.permissions(Permissions::from_mode(mode));
    let mut file = builder.tempfile_in(folder).map_err(|_| Problem::Unwritable)?;
    let written = file.write_all(after.as_bytes()).and_then(|()| {
        if before.is_some() {
            // The umask has taken bits away that the old file had.
            file.as_file().set_permissions(Permissions::from_mode(mode))?;
        }
        file.as_file().sync_all()
    });
    written.map_err(|_| Problem::Unwritable)?;
    file.persist(&real).map_err(|_| Problem::Unwritable)?;
    Ok(made)
}

/// What is kept about one edited file.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    folder: PathBuf,
}

/// What a file was before anything was written into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Former {
    /// Its text; `None` when there was no file.
    pub(crate) text: Option<String>,
    /// The folders that were made for it, the innermost first.
    pub(crate) made: Vec<PathBuf>,
}

impl Kept {
    /// What the home keeps about a file.
    pub(crate) fn of(home: &Path, path: &Path) -> Self {
        let mut name = String::new();
        for byte in Sha256::digest(path.as_os_str().as_encoded_bytes()).iter().take(8) {
            name += &format!("{byte:02x}");
        }
        Self { folder: home.join("setup").join(name) }
    }

    /// Where the file's last text is kept.
    pub(crate) fn backup(&self) -> PathBuf {
        self.folder.join("backup")
    }

    /// What the file was, if `now` is what was written then.
    pub(crate) fn former(&self, now: &str) -> Option<Former> {
        let list: Value =
            serde_json::from_str(&read(&self.folder.join("undo.json")).ok()??).ok()?;
        if list.get("sha256")?.as_str()? != sha256(now) {
            return None;
        }
        let text = match list.get("existed")?.as_bool()? {
            true => Some(read(&self.folder.join("undo")).ok()??),
            false => None,
        };
        let made = list.get("made").and_then(Value::as_array).into_iter().flatten();
        let made = made.filter_map(Value::as_str).map(PathBuf::from).collect();
        Some(Former { text, made })
    }

    /// Keeps what a file is now and what it was, before it becomes `after`.
    pub(crate) fn keep(
        &self,
        path: &Path,
        now: Option<&str>,
        former: &Former,
        after: &str,
    ) -> Result<(), Problem> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
            .map_err(|_| Problem::Unwritable)?;
        if let Some(now) = now {
            private(&self.backup(), now)?;
        }
        private(&self.folder.join("undo"), former.text.as_deref().unwrap_or_default())?;
        let made: Vec<&str> = former.made.iter().filter_map(|folder| folder.to_str()).collect();
        let list = json!({
            "path": path.to_string_lossy(), "existed": former.text.is_some(), "sha256": sha256(after), "made": made,
        });
        private(&self.folder.join("undo.json"), &format!("{list}\n"))
    }

    /// Forgets how to go back: it was done. The backup stays.
    pub(crate) fn forget(&self) {
        for name in ["undo.json", "undo"] {
            // What is left over is of no use to anybody: it names a text that is gone.
            let _ = fs::remove_file(self.folder.join(name));
        }
    }
}

fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn private(path: &Path, text: &str) -> Result<(), Problem> {
    let folder = path.parent().ok_or(Problem::Unwritable)?;
    // Temporary files are private from the start.
    let mut file = Builder::new().tempfile_in(folder).map_err(|_| Problem::Unwritable)?;
    file.write_all(text.as_bytes()).map_err(|_| Problem::Unwritable)?;
    file.persist(path).map(|_| ()).map_err(|_| Problem::Unwritable)
}
