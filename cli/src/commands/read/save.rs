//! Writing the parts of a message as files: all of them or none, and nothing over what is there.
//! Spec: D6.4 `read --save`

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use messaging_core::b64;
use messaging_core::peer_text::is_hidden;
use messaging_ipc::shapes::{A2aObject, Content, Part};
use serde_json::Value;

use crate::fault::Fault;

/// Writes every part into `folder`, which is made when it is missing, and returns the names.
///
/// A part is named by its `filename`, or `part-<n>` with an ending of its kind. Errors: `invalid_request` for a name that
/// is not plain, that two parts share, or that is taken; then nothing was written.
pub(in crate::commands) fn save(folder: &Path, message: &A2aObject) -> Result<Vec<String>, Fault> {
    let files = plan(message)?;
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists && folder.is_dir() => {}
        Err(_) => {
            return Err(Fault::usage(
                "the folder to save into cannot be made",
                "name another folder.",
            ));
        }
    }
    let mut written = Written::default();
    for (name, bytes) in &files {
        written.write(&folder.join(name), name, bytes)?;
    }
    written.keep();
    Ok(files.into_iter().map(|(name, _)| name).collect())
}

fn plan(message: &A2aObject) -> Result<Vec<(String, Vec<u8>)>, Fault> {
    let mut files = Vec::new();
    let mut names = BTreeSet::new();
    for (at, (content, part)) in message.parts().enumerate() {
        let (ending, bytes) = match content {
            Content::Text(text) => ("txt", text.as_bytes().to_vec()),
            Content::Raw(raw) => ("bin", b64::decode_standard(raw).map_err(Fault::from)?),
            Content::Url(url) => ("url", url.as_bytes().to_vec()),
            Content::Data(data) => ("json", data.to_string().into_bytes()),
        };
        let name = match part.get("filename").and_then(Value::as_str) {
            Some(name) if is_safe(name) => name.to_owned(),
            Some(_) => {
                return Err(Fault::usage(
                    format!("part {} has a file name that is not safe", at + 1),
                    "read it with --raw instead.",
                ));
            }
            None => format!("part-{}.{ending}", at + 1),
        };
        if !names.insert(name.to_lowercase()) {
            return Err(Fault::usage(
                "two parts have the same file name",
                "read it with --raw instead.",
            ));
        }
        files.push((name, bytes));
    }
    Ok(files)
}

/// Whether a name that somebody else chose may become a file: one plain visible name, no dot in front, no dash that a
/// command could take for an option.
fn is_safe(name: &str) -> bool {
    Part::is_file_name(name) && !name.starts_with(['.', '-', '~']) && !name.chars().any(is_hidden)
}

/// The files of an unfinished save: they go again unless all of them were written.
#[derive(Default)]
struct Written {
    paths: Vec<PathBuf>,
}

impl Written {
    fn write(&mut self, path: &Path, name: &str, bytes: &[u8]) -> Result<(), Fault> {
        let mut options = OpenOptions::new();
        let mut file: File = match options.write(true).create_new(true).mode(0o600).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let name = messaging_core::peer_text::one_line(name, 80);
                return Err(Fault::usage(
                    format!("{name} is there already, and nothing is written over"),
                    "name another folder, or move the file.",
                ));
            }
            Err(_) => return Err(unwritable()),
        };
        self.paths.push(path.to_owned());
        file.write_all(bytes).and_then(|()| file.sync_all()).map_err(|_| unwritable())
    }

    fn keep(mut self) {
        self.paths.clear();
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        for path in &self.paths {
            // What cannot be deleted was reported as not saved.
            let _ = fs::remove_file(path);
        }
    }
}

fn unwritable() -> Fault {
    Fault::local("a part could not be written", "check that the disk has room.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(parts: Value) -> A2aObject {
        A2aObject::new(json!({"parts": parts}).as_object().unwrap().clone())
    }

    #[test]
    fn parts_become_files_byte_for_byte() {
        let folder = tempfile::tempdir().unwrap();
        let into = folder.path().join("new");
        let bytes = b64::encode_standard(&[0, 255, 10, 13]);
        let saved = save(
            &into,
            &message(json!([
                {"text": "a\r\n\0`$HOME`"}, {"raw": bytes, "filename": "x.bin"}, {"data": {"k": 1}}, {"url": "https://x"}
            ])),
        )
        .unwrap();
        assert_eq!(saved, ["part-1.txt", "x.bin", "part-3.json", "part-4.url"]);
        assert_eq!(fs::read(into.join("part-1.txt")).unwrap(), b"a\r\n\0`$HOME`");
        assert_eq!(fs::read(into.join("x.bin")).unwrap(), [0, 255, 10, 13]);
        assert_eq!(fs::read(into.join("part-3.json")).unwrap(), b"{\"k\":1}");
    }

    #[test]
    fn nothing_is_written_over_and_a_failed_save_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("b"), "old").unwrap();
        let parts = json!([{"text": "1", "filename": "a"}, {"text": "2", "filename": "b"}]);
        let fault = save(folder.path(), &message(parts)).unwrap_err();
        assert!(fault.message.starts_with("b is there already"));
        assert!(!folder.path().join("a").exists());
        assert_eq!(fs::read(folder.path().join("b")).unwrap(), b"old");
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        std::os::unix::fs::symlink(&target, folder.path().join("a")).unwrap();
        assert!(save(folder.path(), &message(json!([{"text": "1", "filename": "a"}]))).is_err());
        assert!(!target.exists());
    }

    #[test]
    fn names_that_are_not_plain_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["../x", "a/b", "..", ".bashrc", "-rf", "~", "a\u{202e}b", "", "a\nb", "C:\\x"]
        {
            let parts = json!([{"text": "1", "filename": name}]);
            assert!(save(folder.path(), &message(parts)).is_err(), "{name:?}");
        }
        let twice = json!([{"text": "1", "filename": "A"}, {"text": "2", "filename": "a"}]);
        assert!(save(folder.path(), &message(twice)).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
