//! Runs vector files and reports what failed.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value, json};

use crate::args::{Args, Refusal};
use crate::file::{Case, Expect, FileFault, VectorFile, same_json};
use crate::ops;

/// What running one file gave.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// How many cases gave what they expect.
    pub passed: usize,
    /// The cases that did not, in file order.
    pub failed: Vec<FailedCase>,
    /// The kinds that no operation knows, with how many cases each has.
    pub unknown: BTreeMap<String, usize>,
}

/// A case that did not give what it expects.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedCase {
    /// Its name.
    pub name: String,
    /// What it expects, as in the file.
    pub expected: Value,
    /// What it gave, in the same form; `{"broken": ARGUMENT}` for a case that could not be run.
    pub got: Value,
}

impl Report {
    /// How many cases are of a kind that no operation knows.
    pub fn unknown_cases(&self) -> usize {
        self.unknown.values().sum()
    }
}

/// Runs the cases of one file.
pub fn run(file: &VectorFile) -> Report {
    let mut report = Report::default();
    for case in &file.cases {
        match ops::lookup(&case.op) {
            None => *report.unknown.entry(case.op.clone()).or_default() += 1,
            Some(op) => match judge(case, op) {
                None => report.passed += 1,
                Some(failed) => report.failed.push(failed),
            },
        }
    }
    report
}

/// Runs one case; gives how it failed, if it did.
fn judge(case: &Case, op: ops::Op) -> Option<FailedCase> {
    let outcome = op(&Args::new(&case.input));
    let passed = match (&case.expect, &outcome) {
        (Expect::Ok(Value::Bool(true)), Ok(_)) => true,
        (Expect::Ok(expected), Ok(got)) => same_json(expected, got),
        (Expect::Error(expected), Err(Refusal::Code(got))) => expected == got.as_str(),
        _ => false,
    };
    if passed {
        return None;
    }
    Some(FailedCase {
        name: case.name.clone(),
        expected: match &case.expect {
            Expect::Ok(value) => json!({"ok": value}),
            Expect::Error(code) => json!({"error": code}),
        },
        got: match outcome {
            Ok(value) => json!({"ok": value}),
            Err(Refusal::Code(code)) => json!({"error": code.as_str()}),
            Err(Refusal::Case(argument)) => json!({"broken": argument}),
        },
    })
}

/// What is done with cases of a kind that no operation knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownKinds {
    /// They fail the run.
    Fail,
    /// They are skipped and counted.
    Skip,
}

/// Why a folder could not be run to its end.
#[derive(Debug)]
pub enum CheckError {
    /// The folder or a file of it could not be read, or the report not be written.
    Io(io::Error),
    /// This file is no vector file.
    File(String, FileFault),
    /// The folder holds no vector file.
    Empty,
}

impl std::fmt::Display for CheckError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CheckError::Io(fault) => write!(f, "{fault}"),
            CheckError::File(name, fault) => write!(f, "{name}: {fault}"),
            CheckError::Empty => f.write_str("the folder holds no .json file"),
        }
    }
}

impl std::error::Error for CheckError {}

impl From<io::Error> for CheckError {
    fn from(fault: io::Error) -> Self {
        CheckError::Io(fault)
    }
}

/// Runs every `*.json` of `folder` in file-name order and writes the report: one line a file,
/// under it the cases that failed. Gives whether everything passed.
pub fn folder(
    folder: &Path,
    unknown: UnknownKinds,
    out: &mut impl Write,
) -> Result<bool, CheckError> {
    let mut good = true;
    let mut skipped: BTreeMap<String, usize> = BTreeMap::new();
    for (name, file) in read_folder(folder)? {
        let report = run(&file);
        write_report(&name, &report, unknown, out)?;
        good &= report.failed.is_empty();
        good &= report.unknown.is_empty() || unknown == UnknownKinds::Skip;
        for (kind, cases) in report.unknown {
            *skipped.entry(kind).or_default() += cases;
        }
    }
    if !skipped.is_empty() {
        let cases: usize = skipped.values().sum();
        let verb = if unknown == UnknownKinds::Skip { "skipped" } else { "not run" };
        let kinds: Vec<String> =
            skipped.iter().map(|(kind, cases)| format!("{kind} ({cases})")).collect();
        writeln!(out, "{verb}: {cases} cases of unknown kinds: {}", kinds.join(", "))?;
    }
    Ok(good)
}

/// Reads every `*.json` of `folder`, in file-name order.
pub fn read_folder(folder: &Path) -> Result<Vec<(String, VectorFile)>, CheckError> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name();
        match name.to_str() {
            Some(name) if name.ends_with(".json") => names.push(name.to_owned()),
            _ => {}
        }
    }
    if names.is_empty() {
        return Err(CheckError::Empty);
    }
    names.sort_unstable();
    names
        .into_iter()
        .map(|name| {
            let text = std::fs::read(folder.join(&name))?;
            match VectorFile::parse(&text) {
                Ok(file) => Ok((name, file)),
                Err(fault) => Err(CheckError::File(name, fault)),
            }
        })
        .collect()
}

fn write_report(
    name: &str,
    report: &Report,
    unknown: UnknownKinds,
    out: &mut impl Write,
) -> io::Result<()> {
    write!(out, "{name}: {} passed, {} failed", report.passed, report.failed.len())?;
    match (report.unknown_cases(), unknown) {
        (0, _) => writeln!(out)?,
        (cases, UnknownKinds::Skip) => writeln!(out, ", {cases} skipped")?,
        (cases, UnknownKinds::Fail) => writeln!(out, ", {cases} of unknown kinds")?,
    }
    for case in &report.failed {
        writeln!(out, "  {}", case.name)?;
        writeln!(out, "    expected {}", case.expected)?;
        writeln!(out, "    got      {}", case.got)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(cases: Value) -> VectorFile {
        let text = json!({"about": "x", "cases": cases}).to_string();
        VectorFile::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_wrong_result_a_wrong_code_and_a_broken_case_fail() {
        let report = run(&file(json!([
            {"name": "right", "input": {"op": "base64url_encode", "hex": "00"},
             "expect": {"ok": {"text": "AA"}}},
            {"name": "wrong result", "input": {"op": "base64url_encode", "hex": "01"},
             "expect": {"ok": {"text": "AA"}}},
            {"name": "wrong code", "input": {"op": "base64url_decode", "text": "="},
             "expect": {"error": "expired"}},
            {"name": "accepted, not refused", "input": {"op": "base64url_decode", "text": "AA"},
             "expect": {"error": "invalid_request"}},
            {"name": "no argument", "input": {"op": "base64url_decode"},
             "expect": {"error": "invalid_request"}},
            {"name": "unknown", "input": {"op": "no_such_kind"}, "expect": {"ok": true}},
        ])));
        assert_eq!(report.passed, 1);
        let failed: Vec<&str> = report.failed.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(failed, ["wrong result", "wrong code", "accepted, not refused", "no argument"]);
        assert_eq!(report.failed[1].got, json!({"error": "invalid_request"}));
        assert_eq!(report.failed[3].got, json!({"broken": "text"}));
        assert_eq!(report.unknown, BTreeMap::from([("no_such_kind".to_owned(), 1)]));
    }

    #[test]
    fn the_report_is_one_line_a_file_and_the_failures_below() {
        let report = run(&file(json!([
            {"name": "n", "input": {"op": "base64url_encode", "hex": "01"},
             "expect": {"ok": {"text": "AA"}}},
            {"name": "u", "input": {"op": "no_such_kind"}, "expect": {"ok": true}},
        ])));
        let mut out = Vec::new();
        write_report("f.json", &report, UnknownKinds::Skip, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "f.json: 0 passed, 1 failed, 1 skipped\n  n\n    expected {\"ok\":{\"text\":\"AA\"}}\n    \
             got      {\"ok\":{\"text\":\"AQ\"}}\n"
        );
    }
}
