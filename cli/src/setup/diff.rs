//! What changes between two texts, line by line.
//!
//! Lines that stay are not shown: files of settings hold things that are nobody's business on a screen.

/// The most lines on either side that are compared one by one.
const COMPARED: usize = 2_000;

/// The changed lines: runs of removed (`-`) and added (`+`) lines, each run behind a line that says where it begins.
pub(crate) fn diff(before: &str, after: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) =
        (old.get(same..).unwrap_or_default(), new.get(same..).unwrap_or_default());
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let old_mid = old_rest.get(..old_rest.len() - tail).unwrap_or_default();
    let new_mid = new_rest.get(..new_rest.len() - tail).unwrap_or_default();
    let mut rows = Vec::new();
    let mut line = same + 1;
    let mut open = false;
    for step in steps(old_mid, new_mid) {
        match step {
            Step::Same => {
                line += 1;
                open = false;
                continue;
            }
            _ if open => {}
            _ => {
                rows.push(format!("@@ line {line} @@"));
                open = true;
            }
        }
        match step {
            Step::Old(text) => rows.push(format!("-{text}")),
            Step::New(text) => {
                rows.push(format!("+{text}"));
                line += 1;
            }
            Step::Same => {}
        }
    }
    rows
}

enum Step<'a> {
    Same,
    Old(&'a str),
    New(&'a str),
}

/// The steps from one to the other, by their longest common run of lines.
fn steps<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Step<'a>> {
    if old.len() > COMPARED || new.len() > COMPARED {
        let gone = old.iter().map(|line| Step::Old(line));
        return gone.chain(new.iter().map(|line| Step::New(line))).collect();
    }
    let width = new.len() + 1;
    let mut common = vec![0_u32; (old.len() + 1) * width];
    let at = |i: usize, j: usize| i * width + j;
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            let value = if old.get(i) == new.get(j) {
                common.get(at(i + 1, j + 1)).map_or(0, |n| n + 1)
            } else {
                let down = common.get(at(i + 1, j)).copied().unwrap_or_default();
                down.max(common.get(at(i, j + 1)).copied().unwrap_or_default())
            };
            if let Some(cell) = common.get_mut(at(i, j)) {
                *cell = value;
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut steps = Vec::new();
    loop {
        match (old.get(i), new.get(j)) {
            (None, None) => return steps,
            (Some(a), Some(b)) if a == b => {
                steps.push(Step::Same);
                i += 1;
                j += 1;
            }
            (Some(a), b) if b.is_none() || common.get(at(i + 1, j)) >= common.get(at(i, j + 1)) => {
                steps.push(Step::Old(a));
                i += 1;
            }
            (_, Some(b)) => {
                steps.push(Step::New(b));
                j += 1;
            }
            (Some(a), None) => {
                steps.push(Step::Old(a));
                i += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changes_is_shown() {
        assert!(diff("a\nb\n", "a\nb\n").is_empty());
        assert_eq!(diff("", "a\nb\n"), ["@@ line 1 @@", "+a", "+b"]);
        assert_eq!(
            diff("a\nsecret\nb\nc\n", "a\nsecret\nb,\nc\nd\n"),
            ["@@ line 3 @@", "-b", "+b,", "@@ line 5 @@", "+d"]
        );
        let long: String = (0..5_000).map(|n| format!("{n}\n")).collect();
        assert_eq!(diff(&long, &format!("{long}x\n")), ["@@ line 5001 @@", "+x"]);
    }
}
