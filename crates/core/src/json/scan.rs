//! The strict reader: one pass over the bytes that builds a value and refuses what §2 refuses.
//! Spec: §2, W0 "Wire JSON", "Numbers"

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::code::Failure;
use crate::limits::JSON_DEPTH;

/// The largest integer that every I-JSON reader holds exactly.
const MAX_SAFE: u64 = (1 << 53) - 1;

pub(super) fn parse(text: &[u8], max_bytes: usize) -> Result<Value, Failure> {
    if text.len() > max_bytes {
        return Err(Failure::invalid("size"));
    }
    let text = core::str::from_utf8(text).map_err(|_| Failure::invalid("utf-8"))?;
    let mut reader = serde_json::Deserializer::from_str(text);
    // The reader recurses at most JSON_DEPTH deep, so a hostile text cannot exhaust the stack.
    let value = (Strict { depth: JSON_DEPTH })
        .deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value))
        // serde_json's texts quote the input: none of them leaves this function.
        .map_err(|_| Failure::invalid("wire json"))?;
    Ok(value)
}

pub(super) fn check(value: &Value) -> Result<(), Failure> {
    walk(value, JSON_DEPTH)
}

fn walk(value: &Value, depth: usize) -> Result<(), Failure> {
    let inner = || depth.checked_sub(1).ok_or(Failure::invalid("json depth"));
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
        Value::Number(number) => {
            if is_i_json(number) {
                Ok(())
            } else {
                Err(Failure::invalid("number range"))
            }
        }
        Value::Array(items) => {
            let depth = inner()?;
            items.iter().try_for_each(|item| walk(item, depth))
        }
        Value::Object(members) => {
            let depth = inner()?;
            members.values().try_for_each(|member| walk(member, depth))
        }
    }
}

/// Whether a number is finite, and within ±(2^53 − 1) when it is whole.
pub(crate) fn is_i_json(number: &Number) -> bool {
    if let Some(n) = number.as_u64() {
        n <= MAX_SAFE
    } else if let Some(n) = number.as_i64() {
        n.unsigned_abs() <= MAX_SAFE
    } else {
        number.as_f64().is_some_and(double_is_i_json)
    }
}

/// Finite, and within the safe range when it is a whole number.
fn double_is_i_json(n: f64) -> bool {
    /// 2^53: the first whole double past the safe range; every larger double is whole.
    const BEYOND: f64 = 9_007_199_254_740_992.0;
    n > -BEYOND && n < BEYOND
}

struct Strict {
    depth: usize,
}

impl Strict {
    fn inner<E: de::Error>(&self) -> Result<usize, E> {
        self.depth.checked_sub(1).ok_or_else(|| E::custom("depth"))
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;
    fn deserialize<D: de::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("wire JSON")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, b: bool) -> Result<Value, E> {
        Ok(Value::Bool(b))
    }

    fn visit_u64<E: de::Error>(self, n: u64) -> Result<Value, E> {
        if n <= MAX_SAFE { Ok(Value::Number(n.into())) } else { Err(E::custom("number range")) }
    }

    fn visit_i64<E: de::Error>(self, n: i64) -> Result<Value, E> {
        if n.unsigned_abs() <= MAX_SAFE {
            Ok(Value::Number(n.into()))
        } else {
            Err(E::custom("number range"))
        }
    }

    fn visit_f64<E: de::Error>(self, n: f64) -> Result<Value, E> {
        if !double_is_i_json(n) {
            return Err(E::custom("number range"));
        }
        Number::from_f64(n).map(Value::Number).ok_or_else(|| E::custom("number"))
    }

    fn visit_str<E: de::Error>(self, s: &str) -> Result<Value, E> {
        Ok(Value::String(s.into()))
    }

    fn visit_string<E: de::Error>(self, s: String) -> Result<Value, E> {
        Ok(Value::String(s))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let depth = self.inner()?;
        let mut out = Vec::new();
        while let Some(item) = items.next_element_seed(Strict { depth })? {
            out.push(item);
        }
        Ok(Value::Array(out))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let depth = self.inner()?;
        let mut out = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let value = members.next_value_seed(Strict { depth })?;
            if out.insert(name, value).is_some() {
                return Err(de::Error::custom("duplicate member"));
            }
        }
        Ok(Value::Object(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString;
    use proptest::prelude::*;

    fn ok(text: &str) -> Value {
        parse(text.as_bytes(), 1 << 20).unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    fn bad(text: impl AsRef<[u8]>) {
        let text = text.as_ref();
        assert!(parse(text, 1 << 20).is_err(), "{}", String::from_utf8_lossy(text));
    }

    #[test]
    fn takes_json_and_refuses_what_is_near_it() {
        ok(" {\"a\":[1,2.5,null,true,\"x\\u00e9\"]}\r\n\t");
        ok("\"\\ud83d\\ude00\"");
        for text in [
            "",
            "{",
            "{\"a\":1,}",
            "[1 2]",
            "01",
            "+1",
            ".5",
            "1.",
            "nul",
            "{a:1}",
            "'a'",
            "1 2",
            "// x\n1",
            "\u{feff}{}",
            "\"\u{1}\"",
            "\"\\x\"",
            "NaN",
            "1e999",
            "-1e999",
            "\"\\ud800\"",
            "\"\\udc00\"",
            "{\"a\":{\"skip\":\"\\ud800\"}}",
            "\u{a0}1",
        ] {
            bad(text);
        }
        bad(b"\"\xff\"");
        bad(b"\"\xed\xa0\x80\"");
    }

    #[test]
    fn duplicate_names_are_compared_after_unescaping() {
        bad("{\"a\":1,\"a\":2}");
        bad("{\"a\":1,\"\\u0061\":2}");
        bad("[{\"x\":{\"b\":1,\"b\":1}}]");
        ok("{\"a\":1,\"A\":2}");
    }

    #[test]
    fn depth_32_passes_and_33_fails_without_using_the_stack() {
        ok(&format!("{}{}", "[".repeat(32), "]".repeat(32)));
        bad(format!("{}{}", "[".repeat(33), "]".repeat(33)));
        bad("[".repeat(1_000_000));
        ok(&format!("{}1{}", "{\"a\":".repeat(32), "}".repeat(32)));
        bad(format!("{}1{}", "{\"a\":".repeat(33), "}".repeat(33)));
    }

    #[test]
    fn whole_numbers_stay_in_the_safe_range() {
        ok("9007199254740991");
        ok("-9007199254740991");
        ok("1e0");
        ok("0.1");
        ok("1e-999");
        for text in [
            "9007199254740992",
            "-9007199254740992",
            "1e21",
            "18446744073709551616",
            "9007199254740993.0",
        ] {
            bad(text);
        }
    }

    #[test]
    fn the_byte_limit_holds_before_anything_else() {
        assert!(parse(b"12345", 5).is_ok());
        assert_eq!(parse(b"123456", 5), Err(Failure::invalid("size")));
        assert_eq!(parse(b"\xff\xff\xff\xff\xff\xff", 5), Err(Failure::invalid("size")));
    }

    proptest! {
        #[test]
        fn never_panics_and_never_quotes(text in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Err(error) = parse(&text, 1_000) {
                prop_assert!(["invalid_request: wire json", "invalid_request: utf-8"]
                    .contains(&error.to_string().as_str()));
            }
        }

        #[test]
        fn whatever_is_read_passes_the_check_and_reads_again(text in "[\\[\\]{}:,\"a0-9.e\\- ]{0,40}") {
            if let Ok(value) = parse(text.as_bytes(), 1_000) {
                prop_assert_eq!(check(&value), Ok(()));
                prop_assert_eq!(parse(super::super::print(&value).as_bytes(), 10_000), Ok(value));
            }
        }
    }
}
