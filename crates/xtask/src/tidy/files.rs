//! A file says what it is for, and its name says it too.

use crate::tree::TextFile;

/// Names that say nothing about what a module holds.
const BANNED: [&str; 8] =
    ["util", "utils", "common", "helper", "helpers", "manager", "misc", "stuff"];

/// Every Rust file opens with one sentence of purpose.
pub(super) fn purpose(file: &TextFile, faults: &mut Vec<String>) {
    let first = file.text.lines().next().unwrap_or("");
    let sentence = first.strip_prefix("//! ").unwrap_or("").trim();
    if sentence.is_empty() || sentence.starts_with("Spec:") {
        faults.push(format!("{}: the first line is not a `//!` sentence of purpose", file.path));
    } else if !sentence.ends_with(['.', ':', ';', ',']) && !continues(&file.text) {
        faults.push(format!("{}: the purpose is a sentence and ends with a full stop", file.path));
    }
}

/// A purpose may run over several lines.
fn continues(text: &str) -> bool {
    text.lines().nth(1).is_some_and(|line| line.starts_with("//! "))
}

/// No module is called by a name that means nothing.
pub(super) fn name(file: &TextFile, faults: &mut Vec<String>) {
    for part in file.path.trim_end_matches(".rs").split('/') {
        if BANNED.contains(&part) {
            faults.push(format!("{}: `{part}` says nothing; name what it holds", file.path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(path: &str, text: &str) -> usize {
        let file = TextFile { path: path.to_owned(), text: text.to_owned() };
        let mut faults = Vec::new();
        purpose(&file, &mut faults);
        name(&file, &mut faults);
        faults.len()
    }

    #[test]
    fn a_purpose_is_a_sentence() {
        assert_eq!(faults("a/b.rs", "//! Reads frames.\n"), 0);
        assert_eq!(faults("a/b.rs", "//! Reads frames, and\n//! prints them.\n"), 0);
        assert_eq!(faults("a/b.rs", "//! reads frames\n\nfn x() {}"), 1);
        assert_eq!(faults("a/b.rs", "use std::fs;\n"), 1);
        assert_eq!(faults("a/b.rs", "//! Spec: §4.\n"), 1);
        assert_eq!(faults("a/b.rs", ""), 1);
    }

    #[test]
    fn a_name_says_something() {
        assert_eq!(faults("a/utils.rs", "//! X.\n"), 1);
        assert_eq!(faults("a/common/mod.rs", "//! X.\n"), 1);
        assert_eq!(faults("a/outbox.rs", "//! X.\n"), 0);
    }
}
