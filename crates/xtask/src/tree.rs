//! The files of this repository, as the guards read them.

use std::path::{Path, PathBuf};

/// One text file: its path from the repository's root, with `/` between the parts, and its text.
pub(crate) struct TextFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// The repository's root folder.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

/// Every UTF-8 file of the repository, sorted by path; build output and version control are left out.
pub(crate) fn text_files() -> Result<Vec<TextFile>, Vec<String>> {
    let root = root();
    let mut files = Vec::new();
    let mut faults = Vec::new();
    walk(&root, &root, &mut files, &mut faults);
    if !faults.is_empty() {
        return Err(faults);
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn walk(root: &Path, folder: &Path, files: &mut Vec<TextFile>, faults: &mut Vec<String>) {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return faults.push(format!("{}: {error}", relative(root, folder))),
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() {
            if name != "target" && name != ".git" && name != "node_modules" {
                walk(root, &path, files, faults);
            }
        } else if kind.is_file() {
            // A file that vanished in between, or that is not text, is no business of a text guard.
            if let Ok(text) = std::fs::read_to_string(&path) {
                files.push(TextFile { path: relative(root, &path), text });
            }
        }
    }
}

fn relative(root: &Path, path: &Path) -> String {
    let parts: Vec<String> = path
        .strip_prefix(root)
        .unwrap_or(path)
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    parts.join("/")
}

/// The lines of a Rust file that ship: everything before the test module at its foot.
pub(crate) fn shipped_part(text: &str) -> &str {
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find("#[cfg(test)]")) {
        let start = at + found;
        let after = text.get(start + "#[cfg(test)]".len()..).unwrap_or("").trim_start();
        let line_start = start == 0 || text.get(..start).is_some_and(|head| head.ends_with('\n'));
        if line_start && after.starts_with("mod ") && !after.starts_with("mod tests;") {
            return text.get(..start).unwrap_or(text);
        }
        at = start + 1;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_module_does_not_ship() {
        let text = "//! x\nfn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";
        assert_eq!(shipped_part(text), "//! x\nfn a() {}\n\n");
        let inline = "//! x\n#[cfg(test)]\nfn only_in_tests() {}\nfn b() {}\n";
        assert_eq!(shipped_part(inline), inline);
    }

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("Cargo.lock").is_file());
    }
}
