//! The conformance page names tests that exist, and each rule once.

use std::collections::BTreeSet;

use crate::tree::TextFile;

/// Where the page stands.
const PAGE: &str = "docs/conformance.md";

/// Holds the page against the tests of the repository.
pub(super) fn check(files: &[TextFile], faults: &mut Vec<String>) {
    let Some(page) = files.iter().find(|file| file.path == PAGE) else {
        faults.push(format!("{PAGE}: it is missing"));
        return;
    };
    let functions: BTreeSet<&str> = files
        .iter()
        .filter(|file| file.path.ends_with(".rs"))
        .flat_map(|file| functions(&file.text))
        .collect();
    let mut rules = BTreeSet::new();
    for (number, line) in page.text.lines().enumerate() {
        let Some([rule, _, held]) = row(line) else { continue };
        let at = number + 1;
        if !rules.insert(rule) {
            faults.push(format!("{PAGE}:{at}: {rule} stands there twice"));
        }
        let names: Vec<&str> = held.split('`').skip(1).step_by(2).collect();
        if names.is_empty() && !held.starts_with("later") {
            faults.push(format!("{PAGE}:{at}: {rule} is held by nothing"));
        }
        for name in names {
            if !functions.contains(name) {
                faults.push(format!("{PAGE}:{at}: there is no test `{name}`"));
            }
        }
    }
}

/// The cells of a row about a rule: its number or letter comes first.
fn row(line: &str) -> Option<[&str; 3]> {
    let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
    let &[rule, short, held] = cells.as_slice() else { return None };
    let digits = rule.trim_start_matches(['C', 'R']);
    digits.starts_with(|c: char| c.is_ascii_digit()).then_some([rule, short, held])
}

/// The names of a file's functions.
fn functions(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("fn ").filter_map(|(at, _)| {
        let rest = text.get(at + 3..)?;
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
        rest.get(..end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(page: &str) -> Vec<String> {
        let file =
            |path: &str, text: &str| TextFile { path: path.to_owned(), text: text.to_owned() };
        let code = "#[test]\nfn it_holds() {}\n    fn so_does_this(n in 0..9_u8) {}\n";
        let mut faults = Vec::new();
        check(&[file("a/src/b.rs", code), file(PAGE, page)], &mut faults);
        faults
    }

    #[test]
    fn a_rule_is_held_by_a_test_that_exists_or_comes_later() {
        let head = "# X\n\n| Rule | In short | Held by |\n|---|---|---|\n";
        for (rows, bad) in [
            ("| 2.1 | a | `it_holds` |\n| C8.2-01 | b | `it_holds`, `so_does_this` |\n", 0),
            ("| R1 | a | later |\n| 2.2 to 2.9 | b | later (`it_holds` is a start) |\n", 0),
            ("| 2.1 | a | `it_held` |\n", 1),
            ("| 2.1 | a | somewhere |\n", 1),
            ("| 2.1 | a | `it_holds` |\n| 2.1 | b | `it_holds` |\n", 1),
            ("| what | bound | past it |\n", 0),
        ] {
            assert_eq!(faults(&format!("{head}{rows}")).len(), bad, "{rows}");
        }
    }

    #[test]
    fn the_page_must_be_there() {
        let mut faults = Vec::new();
        check(&[], &mut faults);
        assert_eq!(faults.len(), 1);
    }
}
