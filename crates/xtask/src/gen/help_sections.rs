//! The help of the servers inside their pages: what a program prints stands between two marks.

use super::Page;
use crate::tree;
use std::process::Command;

/// Each page with the program whose help it shows.
const SHOWN: [(&str, &str); 2] =
    [("docs/relay.md", "messaging-relay"), ("docs/daemon.md", "messagingd")];

pub(super) fn pages(faults: &mut Vec<String>) -> Vec<Page> {
    let mut pages = Vec::new();
    for (path, program) in SHOWN {
        let held = std::fs::read_to_string(tree::root().join(path)).unwrap_or_default();
        match help(program).and_then(|help| insert(&held, program, &help)) {
            Ok(text) => pages.push(Page { path: path.to_owned(), text }),
            Err(fault) => faults.push(format!("{path}: {fault}")),
        }
    }
    pages
}

fn help(program: &str) -> Result<String, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["run", "--quiet", "--bin", program, "--", "--help"])
        .current_dir(tree::root())
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{program} --help failed"));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    Ok(lines.join("\n").trim().to_owned())
}

/// Puts the help between the marks.
fn insert(page: &str, program: &str, help: &str) -> Result<String, String> {
    let begin = format!("<!-- help: {program} -->\n");
    let missing = || format!("the marks around the help of {program} are missing");
    let (before, rest) = page.split_once(&begin).ok_or_else(missing)?;
    let (_, after) = rest.split_once("<!-- end -->").ok_or_else(missing)?;
    Ok(format!("{before}{begin}\n```text\n{help}\n```\n\n<!-- end -->{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_stands_between_its_marks_once() {
        let page = "a\n<!-- help: x -->\nold\n<!-- end -->\nb\n";
        let once = insert(page, "x", "new").unwrap();
        assert_eq!(once, "a\n<!-- help: x -->\n\n```text\nnew\n```\n\n<!-- end -->\nb\n");
        assert_eq!(insert(&once, "x", "new").unwrap(), once);
        assert!(insert(page, "y", "new").is_err());
    }
}
