//! Words that do not belong into a committed file.

use crate::tree::{TextFile, shipped_part};

/// Folders of one particular machine; an example in a text writes `~` or `$HOME`.
const MACHINE: [&str; 6] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/home", "/runner"),
    concat!("/Us", "ers/"),
    concat!("/tmp", "/plan"),
    concat!("C:\\", "Users"),
];

/// Work that was put off without an issue, or that somebody switched off.
const PUT_OFF: [&str; 4] =
    [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X:"), concat!("#[ign", "ore")];

/// Checks of any text file.
pub(super) fn any(file: &TextFile, faults: &mut Vec<String>) {
    if matches!(file.path.as_str(), "Cargo.lock" | "LICENSE-APACHE" | "LICENSE-MIT") {
        return;
    }
    for (number, line) in numbered(&file.text) {
        for path in MACHINE {
            if line.contains(path) {
                faults.push(format!("{}:{number}: names a folder of one machine", file.path));
            }
        }
    }
}

/// Checks of a Rust file.
pub(super) fn rust(file: &TextFile, faults: &mut Vec<String>) {
    for (number, line) in numbered(&file.text) {
        for word in PUT_OFF {
            if line.contains(word) {
                faults.push(format!("{}:{number}: `{word}` is not committed", file.path));
            }
        }
        if line.trim_start().starts_with("pub use ") && line.trim_end().ends_with("::*;") {
            faults.push(format!("{}:{number}: a crate says by name what it hands on", file.path));
        }
    }
    let shipped = shipped_part(&file.text);
    let is_test = ["tests", "benches"].iter().any(|folder| {
        file.path.starts_with(&format!("{folder}/")) || file.path.contains(&format!("/{folder}/"))
    });
    let tests =
        if is_test { file.text.as_str() } else { file.text.get(shipped.len()..).unwrap_or("") };
    let first = file.text.lines().count() - tests.lines().count();
    for (number, line) in numbered(tests) {
        if slept(line).is_some_and(|ms| ms >= 1_000) {
            faults.push(format!(
                "{}:{}: a test waits for an event, it does not sleep a second",
                file.path,
                first + number
            ));
        }
    }
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

/// How long a line sleeps, in milliseconds, when that can be read off.
fn slept(line: &str) -> Option<u64> {
    let call = line.get(line.find("sleep(")?..)?;
    let unit = |name: &str, factor: u64| {
        let digits = call.get(call.find(name)? + name.len()..)?;
        let digits: String =
            digits.chars().filter(|c| *c != '_').take_while(char::is_ascii_digit).collect();
        digits.parse::<u64>().ok().map(|count| count.saturating_mul(factor))
    };
    unit("from_secs(", 1_000)
        .or_else(|| unit("from_millis(", 1))
        .or_else(|| unit("from_mins(", 60_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(path: &str, text: &str) -> Vec<String> {
        let file = TextFile { path: path.to_owned(), text: text.to_owned() };
        let mut faults = Vec::new();
        rust(&file, &mut faults);
        any(&file, &mut faults);
        faults
    }

    #[test]
    fn a_long_sleep_in_a_test_is_found() {
        let sleeps = concat!(
            "\nthread::sle",
            "ep(Duration::from_secs(1));",
            "\nsle",
            "ep(Duration::from_millis(2_000));\n",
        );
        assert_eq!(faults("a/tests/b.rs", sleeps).len(), 2);
        assert_eq!(faults("a/src/b.rs", sleeps).len(), 0);
        let module = format!("fn a() {{}}\n#[cfg(test)]\nmod tests {{{sleeps}}}\n");
        assert_eq!(faults("a/src/b.rs", &module).len(), 2);
        assert_eq!(faults("a/tests/b.rs", concat!("sle", "ep(Duration::from_millis(5))")).len(), 0);
    }

    #[test]
    fn what_was_put_off_is_found() {
        assert_eq!(faults("a.rs", concat!("// TO", "DO: later\n")).len(), 1);
        assert_eq!(faults("a.rs", concat!("#[ign", "ore]\nfn a() {}\n")).len(), 1);
        assert_eq!(faults("a.rs", "pub use crate::b::*;\n").len(), 1);
    }

    #[test]
    fn a_machine_path_is_found() {
        assert_eq!(
            faults("a.md", concat!("see /ro", "ot/x\n")),
            ["a.md:1: names a folder of one machine"]
        );
    }
}
