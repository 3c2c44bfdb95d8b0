//! The `Spec:` lines, which say where a rule of the specification lives, are well formed.

use crate::r#gen::spec::{self, Section};
use crate::tree::TextFile;

/// A `Spec:` line names known sections, and stands in the opening comment.
pub(super) fn check(file: &TextFile, faults: &mut Vec<String>) {
    for token in spec::tokens(&file.text) {
        if Section::parse(&token).is_none() {
            faults.push(format!("{}: `{token}` in its Spec line is no section", file.path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> usize {
        let mut faults = Vec::new();
        check(&TextFile { path: "a.rs".to_owned(), text: text.to_owned() }, &mut faults);
        faults.len()
    }

    #[test]
    fn sections_are_known() {
        assert_eq!(faults("//! X.\n//! Spec: §4, W4.9, D3.8, R5.\n"), 0);
        assert_eq!(faults("//! X.\n//!\n//! Spec: §8.2\n"), 0);
        assert_eq!(faults("//! X.\n//! Spec: section four\n"), 1);
        assert_eq!(faults("//! X.\n"), 0);
    }
}
