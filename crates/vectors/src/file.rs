//! The vector file: its format, and putting the shared values in place.

use serde::Deserialize;
use serde_json::{Map, Value};

/// One vector file, `$shared` references already replaced.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorFile {
    /// One sentence: what is in the file.
    pub about: String,
    /// The cases, in file order.
    pub cases: Vec<Case>,
}

/// One case: an operation, its arguments and what it must give.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The name, unique in its file.
    pub name: String,
    /// The kind of the operation.
    pub op: String,
    /// The arguments, `op` included.
    pub input: Map<String, Value>,
    /// What the operation must give.
    pub expect: Expect,
}

/// What a case expects.
#[derive(Debug, Clone, PartialEq)]
pub enum Expect {
    /// This result; `true` accepts every result.
    Ok(Value),
    /// A refusal with this code, by its text.
    Error(String),
}

/// Why a text is no vector file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileFault {
    /// Not JSON, or a member of the format is missing or of another type.
    Shape(String),
    /// A case names a shared value that the file does not have.
    UnknownShared(String),
    /// Two cases have the same name, so a report could not tell them apart.
    SameName(String),
}

impl std::fmt::Display for FileFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FileFault::Shape(what) => write!(f, "not a vector file: {what}"),
            FileFault::UnknownShared(name) => write!(f, "no shared value named {name:?}"),
            FileFault::SameName(name) => write!(f, "two cases named {name:?}"),
        }
    }
}

impl std::error::Error for FileFault {}

impl VectorFile {
    /// Reads a vector file.
    pub fn parse(text: &[u8]) -> Result<VectorFile, FileFault> {
        let raw: RawFile =
            serde_json::from_slice(text).map_err(|fault| FileFault::Shape(fault.to_string()))?;
        let mut names = std::collections::BTreeSet::new();
        let mut cases = Vec::with_capacity(raw.cases.len());
        for case in raw.cases {
            if !names.insert(case.name.clone()) {
                return Err(FileFault::SameName(case.name));
            }
            cases.push(Case::from_raw(case, &raw.shared)?);
        }
        Ok(VectorFile { about: raw.about, cases })
    }
}

impl Case {
    fn from_raw(raw: RawCase, shared: &Map<String, Value>) -> Result<Case, FileFault> {
        let mut input = raw.input;
        for value in input.values_mut() {
            put_shared(value, shared)?;
        }
        let op = input
            .get("op")
            .and_then(Value::as_str)
            .ok_or_else(|| FileFault::Shape(format!("case {:?} has no op", raw.name)))?
            .to_owned();
        let expect = match (raw.expect.ok, raw.expect.error) {
            (Some(value), None) => Expect::Ok(value),
            (None, Some(code)) => Expect::Error(code),
            _ => {
                let what = format!("case {:?} expects neither ok nor error", raw.name);
                return Err(FileFault::Shape(what));
            }
        };
        Ok(Case { name: raw.name, op, input, expect })
    }
}

/// Replaces every `{"$shared": NAME}` below `value`, at any depth.
pub(crate) fn put_shared(value: &mut Value, shared: &Map<String, Value>) -> Result<(), FileFault> {
    if let Some(name) = shared_name(value) {
        *value =
            shared.get(name).cloned().ok_or_else(|| FileFault::UnknownShared(name.to_owned()))?;
        return Ok(());
    }
    match value {
        Value::Array(items) => items.iter_mut().try_for_each(|item| put_shared(item, shared)),
        Value::Object(members) => {
            members.values_mut().try_for_each(|member| put_shared(member, shared))
        }
        _ => Ok(()),
    }
}

fn shared_name(value: &Value) -> Option<&str> {
    let members = value.as_object()?;
    if members.len() == 1 { members.get("$shared")?.as_str() } else { None }
}

/// Whether two values are the same JSON: member order and the spelling of a number do not count.
pub fn same_json(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same_json(x, y))
        }
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len()
                && x.iter().all(|(name, x)| y.get(name).is_some_and(|y| same_json(x, y)))
        }
        _ => a == b,
    }
}

#[derive(Deserialize)]
struct RawFile {
    about: String,
    #[serde(default)]
    shared: Map<String, Value>,
    cases: Vec<RawCase>,
}

#[derive(Deserialize)]
struct RawCase {
    name: String,
    input: Map<String, Value>,
    expect: RawExpect,
}

#[derive(Deserialize)]
struct RawExpect {
    #[serde(default, deserialize_with = "present")]
    ok: Option<Value>,
    error: Option<String>,
}

/// A member that is there, `null` included: a result may be `null`.
fn present<'de, D: serde::Deserializer<'de>>(member: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(member).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn file(shared: Value, cases: Value) -> Result<VectorFile, FileFault> {
        let text = json!({"about": "x", "shared": shared, "cases": cases}).to_string();
        VectorFile::parse(text.as_bytes())
    }

    #[test]
    fn shared_values_are_put_in_place_at_any_depth() {
        let read = file(
            json!({"e": {"n": 1}}),
            json!([{"name": "a", "expect": {"ok": null}, "input":
                {"op": "x", "entries": [{"$shared": "e"}, {"deep": {"$shared": "e"}}],
                 "other": {"$shared": "e", "more": 1}}}]),
        )
        .unwrap();
        assert_eq!(
            Value::Object(read.cases[0].input.clone()),
            json!({"op": "x", "entries": [{"n": 1}, {"deep": {"n": 1}}],
                   "other": {"$shared": "e", "more": 1}}),
        );
        assert_eq!(read.cases[0].expect, Expect::Ok(Value::Null));
    }

    #[test]
    fn a_broken_file_is_refused() {
        let case = json!({"name": "a", "input": {"op": "x"}, "expect": {"ok": true}});
        assert_eq!(file(json!({}), json!([case, case])), Err(FileFault::SameName("a".to_owned())));
        let unknown = json!({"name": "a", "input": {"op": "x", "v": {"$shared": "z"}},
                             "expect": {"ok": true}});
        assert_eq!(
            file(json!({}), json!([unknown])),
            Err(FileFault::UnknownShared("z".to_owned()))
        );
        for bad in [
            json!({"name": "a", "input": {}, "expect": {"ok": true}}),
            json!({"name": "a", "input": {"op": "x"}, "expect": {}}),
            json!({"name": "a", "input": {"op": "x"}, "expect": {"ok": 1, "error": "e"}}),
        ] {
            assert!(matches!(file(json!({}), json!([bad])), Err(FileFault::Shape(_))));
        }
    }

    #[test]
    fn comparison_is_by_value() {
        assert!(same_json(&json!({"a": 1, "b": [1.0]}), &json!({"b": [1], "a": 1})));
        assert!(!same_json(&json!({"a": 1}), &json!({"a": 1, "b": null})));
        assert!(!same_json(&json!([1, 2]), &json!([2, 1])));
        assert!(!same_json(&json!(1), &json!("1")));
    }
}
