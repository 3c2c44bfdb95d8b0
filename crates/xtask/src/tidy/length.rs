//! A file past the limit has a written reason.

use crate::tree::{TextFile, shipped_part};
use std::collections::BTreeMap;

/// Lines of code in one file; blank lines, comments and the test module at the foot do not count.
const LIMIT: usize = 500;

/// The same in a file of tests, which is read one test at a time.
const TEST_LIMIT: usize = 800;

/// Compares every Rust file with the limit and with the excuses of `long-files.txt`.
pub(super) fn check(files: &[TextFile], excuses: &str, faults: &mut Vec<String>) {
    let mut excused = BTreeMap::new();
    for line in excuses.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.split_once(": ") {
            Some((path, reason)) if reason.split_whitespace().count() > 3 => {
                excused.insert(path, false);
            }
            _ => faults.push(format!("long-files.txt: `{line}` is not `path: reason`")),
        }
    }
    for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
        let lines = code_lines(&file.text);
        let limit = if is_test(&file.path) { TEST_LIMIT } else { LIMIT };
        if lines > limit {
            match excused.get_mut(file.path.as_str()) {
                Some(used) => *used = true,
                None => faults.push(format!(
                    "{}: {lines} lines of code, the limit is {limit}; split it, or give the reason in \
                     crates/xtask/long-files.txt",
                    file.path
                )),
            }
        }
    }
    for (path, used) in excused {
        if !used {
            faults.push(format!("long-files.txt: {path} needs no excuse any more"));
        }
    }
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("tests.rs")
}

fn code_lines(text: &str) -> usize {
    let code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    shipped_part(text).lines().filter(code).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(lines: usize, excuses: &str) -> Vec<String> {
        let text =
            format!("//! X.\n\n{}#[cfg(test)]\nmod tests {{\n}}\n", "fn x() {}\n".repeat(lines));
        let files = [TextFile { path: "a.rs".to_owned(), text }];
        let mut faults = Vec::new();
        check(&files, excuses, &mut faults);
        faults
    }

    #[test]
    fn only_code_counts() {
        assert!(faults(LIMIT, "").is_empty());
        assert_eq!(faults(LIMIT + 1, "").len(), 1);
    }

    #[test]
    fn an_excuse_has_a_reason_and_a_need() {
        assert!(faults(LIMIT + 1, "# why\na.rs: one table, a row a method\n").is_empty());
        assert_eq!(faults(LIMIT + 1, "a.rs: big\n").len(), 2);
        assert_eq!(faults(LIMIT, "a.rs: one table, a row a method\n").len(), 1);
    }
}
