//! A vector file while it is being written.

use std::fmt::Write as _;

use messaging_core::code::Code;
use messaging_core::keys::{EncSecret, Identity, SigningKey};
use messaging_core::testing::SeededRandom;
use serde_json::{Map, Value, json};

use crate::args::{Args, Outcome, Refusal};
use crate::file::{put_shared, same_json};
use crate::ops;

/// A case that did not give what it must.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteError {
    /// The case.
    pub case: String,
    /// What was wrong with it.
    pub fault: String,
}

impl std::fmt::Display for WriteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.case, self.fault)
    }
}

impl std::error::Error for WriteError {}

/// What a part of a book is written with.
pub(super) type Writing = Result<(), WriteError>;

/// A vector file while it is being written.
#[derive(Debug, Default)]
pub struct Book {
    about: &'static str,
    signing_keys: Vec<(String, Value)>,
    encryption_keys: Vec<(String, Value)>,
    shared: Map<String, Value>,
    cases: Vec<Value>,
}

impl Book {
    pub(super) fn new(about: &'static str) -> Self {
        Book { about, ..Book::default() }
    }

    /// A party of this file: two keys that follow from its number, listed under its name.
    pub(super) fn party(&mut self, name: &str, number: u64) -> Identity {
        let identity = Identity::generate(&mut SeededRandom::new(number));
        self.signing_key(name, &identity.signing);
        self.encryption_key(name, &identity.enc);
        identity
    }

    /// Lists a signing key.
    pub(super) fn signing_key(&mut self, name: &str, key: &SigningKey) {
        let entry = json!({"seed": text(&*key.seed()), "public": key.machine()});
        self.signing_keys.push((name.to_owned(), entry));
    }

    /// Lists an encryption key.
    pub(super) fn encryption_key(&mut self, name: &str, key: &EncSecret) {
        let entry = json!({"private": text(&*key.to_bytes()), "public": key.public()});
        self.encryption_keys.push((name.to_owned(), entry));
    }

    /// Keeps a value that cases repeat, and gives the reference to it.
    pub(super) fn share(&mut self, name: impl Into<String>, value: Value) -> Value {
        let name = name.into();
        let reference = json!({"$shared": name});
        self.shared.insert(name, value);
        reference
    }

    /// A case whose result is pinned: it must be accepted.
    pub(super) fn pins(&mut self, name: impl Into<String>, op: &str, input: Value) -> Writing {
        let name = name.into();
        match self.run(&name, op, &input)? {
            Ok(result) => self.add(name, op, input, json!({"ok": result})),
            Err(refusal) => fault(name, format!("refused: {refusal:?}")),
        }
    }

    /// A case that must give exactly this result.
    pub(super) fn gives(
        &mut self,
        name: impl Into<String>,
        op: &str,
        input: Value,
        expected: Value,
    ) -> Writing {
        let name = name.into();
        match self.run(&name, op, &input)? {
            Ok(result) if same_json(&result, &expected) => {
                self.add(name, op, input, json!({"ok": expected}))
            }
            other => fault(name, format!("gave {other:?}, not {expected}")),
        }
    }

    /// A case that must be refused with this code.
    pub(super) fn refuses(
        &mut self,
        name: impl Into<String>,
        op: &str,
        input: Value,
        code: Code,
    ) -> Writing {
        let name = name.into();
        match self.run(&name, op, &input)? {
            Err(Refusal::Code(got)) if got == code => {
                self.add(name, op, input, json!({"error": code.as_str()}))
            }
            other => fault(name, format!("gave {other:?}, not {code}")),
        }
    }

    fn run(&self, name: &str, op: &str, input: &Value) -> Result<Outcome, WriteError> {
        let mut input = input.clone();
        if let Err(missing) = put_shared(&mut input, &self.shared) {
            return fault(name, missing.to_string());
        }
        match (ops::lookup(op), input.as_object()) {
            (Some(run), Some(input)) => Ok(run(&Args::new(input))),
            (None, _) => fault(name, format!("no kind {op}")),
            (_, None) => fault(name, "the input is no object"),
        }
    }

    fn add(&mut self, name: String, op: &str, input: Value, expect: Value) -> Writing {
        if self.cases.iter().any(|case| case["name"] == name.as_str()) {
            return fault(name, "this name is taken");
        }
        let mut input = input;
        input["op"] = json!(op);
        self.cases.push(json!({"name": name, "input": input, "expect": expect}));
        Ok(())
    }

    /// The text of the file: one line a case, a key or a shared value, so that a change is a
    /// readable difference.
    pub fn print(&self) -> String {
        let mut out = String::from("{\n");
        let _ = writeln!(out, "  \"about\": {},", json!(self.about));
        members(&mut out, "signingKeys", self.signing_keys.iter().map(|(name, key)| (name, key)));
        members(
            &mut out,
            "encryptionKeys",
            self.encryption_keys.iter().map(|(name, key)| (name, key)),
        );
        members(&mut out, "shared", self.shared.iter());
        out.push_str("  \"cases\": [\n");
        for (index, case) in self.cases.iter().enumerate() {
            let comma = if index + 1 < self.cases.len() { "," } else { "" };
            let _ = writeln!(
                out,
                "    {{\"name\": {}, \"input\": {}, \"expect\": {}}}{comma}",
                case["name"], case["input"], case["expect"]
            );
        }
        out.push_str("  ]\n}\n");
        out
    }
}

/// Writes an object, one member a line; nothing when it has none.
fn members<'a>(
    out: &mut String,
    title: &str,
    members: impl ExactSizeIterator<Item = (&'a String, &'a Value)>,
) {
    let count = members.len();
    if count == 0 {
        return;
    }
    let _ = writeln!(out, "  {}: {{", json!(title));
    for (index, (name, value)) in members.enumerate() {
        let comma = if index + 1 < count { "," } else { "" };
        let _ = writeln!(out, "    {}: {value}{comma}", json!(name));
    }
    out.push_str("  },\n");
}

fn fault<T>(case: impl Into<String>, fault: impl Into<String>) -> Result<T, WriteError> {
    Err(WriteError { case: case.into(), fault: fault.into() })
}

/// Bytes in base64url.
pub(super) fn text(bytes: &[u8]) -> String {
    messaging_core::b64::encode(bytes)
}

/// A fault of the writer itself: a value that core would not make.
pub(super) fn made<T, E: std::fmt::Display>(
    what: &str,
    result: Result<T, E>,
) -> Result<T, WriteError> {
    result.or_else(|cause| fault(what, cause.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::VectorFile;

    #[test]
    fn what_is_printed_reads_back() {
        let mut book = Book::new("x");
        let _ = book.party("ada", 1);
        let hex = book.share("bytes", json!("00ff"));
        book.pins("pinned", "base64url_encode", json!({"hex": hex})).unwrap();
        book.refuses("refused", "base64url_decode", json!({"text": "="}), Code::InvalidRequest)
            .unwrap();
        let file = VectorFile::parse(book.print().as_bytes()).unwrap();
        assert_eq!(file.cases.len(), 2);
        assert_eq!(crate::check::run(&file).passed, 2);
    }

    #[test]
    fn a_case_that_gives_anything_else_is_not_written() {
        let mut book = Book::new("x");
        let good = json!({"hex": "00"});
        assert!(book.gives("a", "base64url_encode", good.clone(), json!({"text": "AB"})).is_err());
        assert!(book.refuses("b", "base64url_encode", good.clone(), Code::Expired).is_err());
        assert!(book.pins("c", "base64url_decode", json!({"text": "="})).is_err());
        assert!(book.pins("d", "base64url_decode", json!({})).is_err());
        assert!(book.pins("e", "no_such_kind", json!({})).is_err());
        book.pins("f", "base64url_encode", good.clone()).unwrap();
        assert!(book.pins("f", "base64url_encode", good).is_err());
    }
}
