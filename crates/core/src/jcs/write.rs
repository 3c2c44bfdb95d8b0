//! The canonical writer: one walk that checks and writes into one buffer.
//! Spec: §2 "JCS", W0 "JCS", "Numbers"

use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt::Write as _;
use core::ops::Range;

use serde_json::{Map, Number, Value};

use crate::code::Failure;
use crate::json;
use crate::limits::JSON_DEPTH;

/// Writes `value`. Errors: as [`canonical`](super::canonical).
pub(super) fn value(value: &Value, out: &mut String) -> Result<(), Failure> {
    node(value, JSON_DEPTH, out)
}

/// Writes an object without the member `skip`.
pub(super) fn object_without(
    members: &Map<String, Value>,
    skip: &str,
    out: &mut String,
) -> Result<(), Failure> {
    object(members, JSON_DEPTH, out, |name, _| name != skip)
}

/// Writes an object and tells where each of `names` stands: `"name":value`, without a comma.
pub(super) fn object_with_spans<const N: usize>(
    members: &Map<String, Value>,
    names: [&str; N],
    out: &mut String,
) -> Result<[Range<usize>; N], Failure> {
    // A member ends where the comma before the next one stands.
    let mut starts = [None; N];
    let mut ends = [None; N];
    let mut open = None;
    object(members, JSON_DEPTH, out, |name, at| {
        if let Some(index) = open.take() {
            set(&mut ends, index, at.saturating_sub(1));
        }
        if let Some(index) = names.iter().position(|wanted| *wanted == name) {
            set(&mut starts, index, at);
            open = Some(index);
        }
        true
    })?;
    let mut spans = [const { 0..0 }; N];
    for (span, (start, end)) in spans.iter_mut().zip(starts.into_iter().zip(ends)) {
        if let Some(start) = start {
            *span = start..end.unwrap_or(out.len().saturating_sub(1));
        }
    }
    Ok(spans)
}

fn set(slots: &mut [Option<usize>], index: usize, at: usize) {
    if let Some(slot) = slots.get_mut(index) {
        *slot = Some(at);
    }
}

fn node(value: &Value, depth: usize, out: &mut String) -> Result<(), Failure> {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(n) => number(n, out)?,
        Value::String(s) => string(s, out),
        Value::Array(items) => {
            let depth = inner(depth)?;
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                node(item, depth, out)?;
            }
            out.push(']');
        }
        Value::Object(members) => object(members, depth, out, |_, _| true)?,
    }
    Ok(())
}

fn inner(depth: usize) -> Result<usize, Failure> {
    depth.checked_sub(1).ok_or(Failure::invalid("json depth"))
}

/// Writes an object; `take` is told each name and where its member will stand, and may leave the member out.
fn object(
    members: &Map<String, Value>,
    depth: usize,
    out: &mut String,
    mut take: impl FnMut(&str, usize) -> bool,
) -> Result<(), Failure> {
    let depth = inner(depth)?;
    out.push('{');
    let mut separator = "";
    let mut member = |name: &str, value: &Value| {
        let at = out.len().saturating_add(separator.len());
        if take(name, at) {
            out.push_str(separator);
            separator = ",";
            string(name, out);
            out.push(':');
            node(value, depth, out)
        } else {
            Ok(())
        }
    };
    if members.keys().is_sorted_by(|a, b| utf16_order(a, b) == Ordering::Less) {
        members.iter().try_for_each(|(name, value)| member(name, value))?;
    } else {
        let mut sorted: Vec<_> = members.iter().collect();
        sorted.sort_unstable_by(|(a, _), (b, _)| utf16_order(a, b));
        sorted.into_iter().try_for_each(|(name, value)| member(name, value))?;
    }
    out.push('}');
    Ok(())
}

/// The order of two names by UTF-16 code units.
///
/// It differs from the order of the bytes only between U+E000..U+FFFF and what needs surrogates.
fn utf16_order(a: &str, b: &str) -> Ordering {
    match a.bytes().zip(b.bytes()).find(|(x, y)| x != y) {
        Some((x, y)) if x.max(y) >= 0xee => a.encode_utf16().cmp(b.encode_utf16()),
        Some((x, y)) => x.cmp(&y),
        None => a.len().cmp(&b.len()),
    }
}

fn number(n: &Number, out: &mut String) -> Result<(), Failure> {
    if !json::is_i_json(n) {
        return Err(Failure::invalid("number range"));
    }
    if let Some(n) = n.as_u64() {
        write!(out, "{n}")
    } else if let Some(n) = n.as_i64() {
        write!(out, "{n}")
    } else {
        // ECMAScript's shortest form of a double is an art of its own.
        return serde_jcs::to_string(n)
            .map(|text| out.push_str(&text))
            .map_err(|_| Failure::invalid("jcs"));
    }
    .map_err(|_| Failure::invalid("jcs"))
}

fn string(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    loop {
        let clean = clean_len(rest.as_bytes());
        let (run, tail) = rest.split_at_checked(clean).unwrap_or((rest, ""));
        out.push_str(run);
        let Some(special) = tail.bytes().next() else { break };
        escape(special, out);
        rest = tail.get(1..).unwrap_or_default();
    }
    out.push('"');
}

/// How many bytes at the start need no escape.
fn clean_len(bytes: &[u8]) -> usize {
    let special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    // Whole chunks are judged without a branch per byte, which the compiler turns into vector code.
    let mut clean: usize = 0;
    for chunk in bytes.chunks(32) {
        if chunk.iter().fold(false, |found, byte| found | special(byte)) {
            let within = chunk.iter().position(special).unwrap_or(0);
            return clean.saturating_add(within);
        }
        clean = clean.saturating_add(chunk.len());
    }
    clean
}

fn escape(byte: u8, out: &mut String) {
    match byte {
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        0x08 => out.push_str("\\b"),
        b'\t' => out.push_str("\\t"),
        b'\n' => out.push_str("\\n"),
        0x0c => out.push_str("\\f"),
        b'\r' => out.push_str("\\r"),
        _ => {
            let hex = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
            out.push_str("\\u00");
            out.push(hex(byte >> 4));
            out.push(hex(byte & 15));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jcs::{canonical, canonical_spans, canonical_without};
    use proptest::prelude::*;
    use serde_json::json;

    /// Any value that may be canonicalized, with the names and texts that tell orders and escapes apart.
    fn values() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            ".*",
            "[\\x00-\\x1f\"\\\\a]{0,8}",
            "[\u{d7ff}\u{e000}\u{fb33}\u{ffff}\u{10000}\u{1f600}é]{0,4}"
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-(1_i64 << 53) + 1..1_i64 << 53).prop_map(Value::from),
            any::<f64>().prop_filter("not i-json", |n| n.abs() < 9e15).prop_map(Value::from),
            text.clone().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 64, 8, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                prop::collection::btree_map(text.clone(), inner, 0..8)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// `serde_jcs` is another implementation of RFC 8785: the two must never differ.
        #[test]
        fn writes_what_an_independent_writer_writes(value in values()) {
            prop_assert_eq!(canonical(&value).unwrap().into_string(), serde_jcs::to_string(&value).unwrap());
        }

        #[test]
        fn leaving_a_member_out_is_the_same_as_not_having_it(value in values(), name in "[a-c]?") {
            let mut object = json!({"a": value, "b": 1, "c": {"b": 2}});
            let text = canonical_without(&object, &name).unwrap();
            object.as_object_mut().unwrap().remove(&name);
            prop_assert_eq!(text, canonical(&object).unwrap());
        }

        #[test]
        fn spans_hold_their_members(value in values(), other in values()) {
            let object = json!({"body": value, "sig": other, "v": 1, "to": {"sig": 2}});
            let (text, [sig, body, v, absent]) =
                canonical_spans(object.as_object().unwrap(), ["sig", "body", "v", "absent"]).unwrap();
            let member = |name: &str| {
                std::format!("\"{name}\":{}", canonical(&object[name]).unwrap().as_str())
            };
            prop_assert_eq!(&text, &canonical(&object).unwrap());
            prop_assert_eq!(&text.as_str()[sig.clone()], member("sig"));
            prop_assert_eq!(&text.as_str()[body.clone()], member("body"));
            prop_assert_eq!(&text.as_str()[v], member("v"));
            prop_assert_eq!(absent, 0..0);
            let less = text.cut(&[body, sig]);
            prop_assert_eq!(less, canonical(&json!({"v": 1, "to": {"sig": 2}})).unwrap());
        }
    }

    #[test]
    fn names_sort_by_utf16_units() {
        let keys = json!({"\u{1f600}": 1, "\u{fb33}": 2, "\u{e000}a": 3, "a": 4, "aa": 5, "": 6});
        assert_eq!(
            canonical(&keys).unwrap().as_str(),
            "{\"\":6,\"a\":4,\"aa\":5,\"\u{1f600}\":1,\"\u{e000}a\":3,\"\u{fb33}\":2}"
        );
    }
}
