//! Strict wire JSON: the only way from outside bytes to a value, and from a value to a type.
//! Spec: §2 "Wire JSON", W0, W4.1
//!
//! [`parse`] reads a text, [`decode`] reads a value. Neither error can hold a part of the input.

mod scan;
mod typed;

use alloc::string::String;

use serde_json::Value;

use crate::code::Failure;

pub(crate) use scan::is_i_json;
pub use typed::{Misshape, decode};

/// Reads one wire JSON text of at most `max_bytes`.
///
/// The text is UTF-8 without a BOM, RFC 8259 JSON, without duplicate member names (compared after unescaping) or
/// lone surrogates, nested at most [`JSON_DEPTH`](crate::limits::JSON_DEPTH) deep; its integer-valued numbers are
/// within ±(2^53 − 1) and its numbers finite. Cost: linear, but for one ordered insert per member.
///
/// Errors: `invalid_request`, naming the rule.
pub fn parse(text: &[u8], max_bytes: usize) -> Result<Value, Failure> {
    scan::parse(text, max_bytes)
}

/// Checks that a value built in this process obeys the rules that [`parse`] enforces on texts:
/// depth, and the range of integer-valued numbers.
///
/// Errors: `invalid_request`.
pub fn check(value: &Value) -> Result<(), Failure> {
    scan::check(value)
}

/// The length of a text in UTF-16 code units, the unit of every length in the protocol.
#[must_use]
pub fn utf16_len(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}

/// The longest start of `text` of at most `units` UTF-16 units that splits no character.
#[must_use]
pub fn utf16_cut(text: &str, units: usize) -> &str {
    let mut left = units;
    for (at, c) in text.char_indices() {
        match left.checked_sub(c.len_utf16()) {
            Some(rest) => left = rest,
            None => return text.get(..at).unwrap_or(text),
        }
    }
    text
}

/// A value as JSON text. The text is not canonical; see [`jcs`](crate::jcs) for that.
#[must_use]
pub fn print(value: &Value) -> String {
    alloc::format!("{value}")
}

/// About the memory that a value holds, bytes: its texts, and a price for each value, member and object.
///
/// A text of a given length can become a value a hundred times as large (`{"":0}`), so whoever keeps values of others
/// counts them by this and not by the length of what came. Cost: one walk.
#[must_use]
pub fn weight(value: &Value) -> usize {
    let inner = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => {
            items.iter().fold(0, |sum: usize, item| sum.saturating_add(weight(item)))
        }
        Value::Object(members) => members.iter().fold(OBJECT_COST, |sum: usize, (name, member)| {
            sum.saturating_add(name.len()).saturating_add(weight(member))
        }),
    };
    inner.saturating_add(VALUE_COST)
}

/// A value and its name, as they stand in a container.
const VALUE_COST: usize = 64;
/// The first leaf of a map.
const OBJECT_COST: usize = 640;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_weighs_what_it_holds_and_not_what_its_text_was_long() {
        let weigh = |text: &str| weight(&parse(text.as_bytes(), 1 << 20).unwrap());
        assert!(weigh(&alloc::format!("\"{}\"", "x".repeat(1_000))) >= 1_000);
        let zeros = alloc::format!("[{}0]", "0,".repeat(999));
        assert!(weigh(&zeros) >= 32_000, "a thousand values of two bytes each");
        let objects = alloc::format!("[{}0]", "{\"\":0},".repeat(999));
        assert!(weigh(&objects) >= 600_000, "and a thousand objects of eight");
    }
}
