//! JSON that is whole for a program and harmless on a terminal.
//! Spec: D6.1 "--json"

use std::fmt::Write as _;

use messaging_core::peer_text::is_hidden;
use serde_json::Value;

/// A document, indented or on one line, without a line feed at its end. Hidden code points are written as `\u` escapes.
pub(crate) fn json(value: &Value, indent: bool) -> String {
    let text = if indent { format!("{value:#}") } else { value.to_string() };
    if text.chars().all(|c| c == '\n' || !is_hidden(c)) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        // Line feeds are the indentation's: inside strings they are escapes already.
        if c == '\n' || !is_hidden(c) {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing into a String cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json as value;

    #[test]
    fn hidden_code_points_are_escaped_and_nothing_is_lost() {
        let document = value!({"a": "x\u{202e}\u{1b}\u{7f}\u{e0041}é\n\u{200b}", "\u{feff}": [1]});
        for indent in [false, true] {
            let text = json(&document, indent);
            assert!(text.chars().all(|c| c == '\n' || !is_hidden(c)), "{text}");
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), document);
        }
        assert!(json(&document, false).contains("\\udb40\\udc41é"));
    }

    #[test]
    fn indentation_is_two_spaces() {
        assert_eq!(json(&value!({"a": [1]}), true), "{\n  \"a\": [\n    1\n  ]\n}");
        assert_eq!(json(&value!({"a": [1]}), false), "{\"a\":[1]}");
    }
}
