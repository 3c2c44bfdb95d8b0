//! A log file that stays small and private: it is renamed away when full, and the oldest goes.
//! Spec: D3.30

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file is renamed away before it would pass this many bytes.
const MAX_BYTES: u64 = 10 * 1024 * 1024;
/// So many old files are kept: `<path>.1` is the youngest.
const KEPT: u32 = 5;

/// The open file and what it holds.
pub(super) struct RotatingFile {
    path: PathBuf,
    /// `None` after a rotation that could not open the next file; the next write tries again.
    file: Option<File>,
    bytes: u64,
    max_bytes: u64,
}

impl RotatingFile {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Self::with_limit(path, MAX_BYTES)
    }

    fn with_limit(path: &Path, max_bytes: u64) -> io::Result<Self> {
        let file = open_private(path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file: Some(file), bytes, max_bytes })
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.file = None;
        for n in (1..KEPT).rev() {
            rename_if_there(&numbered(&self.path, n), &numbered(&self.path, n + 1))?;
        }
        rename_if_there(&self.path, &numbered(&self.path, 1))
    }
}

impl Write for RotatingFile {
    /// Takes a whole line: a line never spans two files.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let length = u64::try_from(line.len()).unwrap_or(u64::MAX);
        if self.bytes > 0 && self.bytes.saturating_add(length) > self.max_bytes {
            self.rotate()?;
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                let file = open_private(&self.path)?;
                self.bytes = file.metadata()?.len();
                none.insert(file)
            }
        };
        file.write_all(line)?;
        self.bytes = self.bytes.saturating_add(length);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn numbered(path: &Path, n: u32) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(format!(".{n}"));
    PathBuf::from(name)
}

fn rename_if_there(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Opens for appending; the file is made, or made again, readable to its owner alone.
fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let file = options.open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &Path, n: u32) -> Option<String> {
        fs::read_to_string(if n == 0 { path.to_owned() } else { numbered(path, n) }).ok()
    }

    #[test]
    fn a_full_file_is_renamed_away_and_five_old_ones_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.log");
        let mut log = RotatingFile::with_limit(&path, 10).unwrap();
        for n in 0..9 {
            // Two lines of five bytes fill a file exactly.
            log.write_all(format!("a{n}__\n").as_bytes()).unwrap();
            log.write_all(format!("b{n}__\n").as_bytes()).unwrap();
        }
        assert_eq!(read(&path, 0).unwrap(), "a8__\nb8__\n");
        assert_eq!(read(&path, 1).unwrap(), "a7__\nb7__\n");
        assert_eq!(read(&path, 5).unwrap(), "a3__\nb3__\n");
        assert_eq!(read(&path, 6), None);
    }

    #[test]
    fn a_line_larger_than_a_file_is_written_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.log");
        let mut log = RotatingFile::with_limit(&path, 10).unwrap();
        log.write_all(b"short\n").unwrap();
        log.write_all(b"a line of more than ten bytes\n").unwrap();
        assert_eq!(read(&path, 0).unwrap(), "a line of more than ten bytes\n");
        assert_eq!(read(&path, 1).unwrap(), "short\n");
    }

    #[test]
    fn an_old_file_is_continued_and_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.log");
        fs::write(&path, "12345678\n").unwrap();
        let mut log = RotatingFile::with_limit(&path, 10).unwrap();
        log.write_all(b"next\n").unwrap();
        assert_eq!(read(&path, 1).unwrap(), "12345678\n");
        assert_eq!(read(&path, 0).unwrap(), "next\n");
    }

    #[cfg(unix)]
    #[test]
    fn the_files_are_private_even_when_they_were_not() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.log");
        fs::write(&path, "12345678\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let mut log = RotatingFile::with_limit(&path, 10).unwrap();
        log.write_all(b"next\n").unwrap();
        for file in [path.clone(), numbered(&path, 1)] {
            assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
