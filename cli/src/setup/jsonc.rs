//! A JSON file with comments as spans: what stands where, so that one place can be changed and every other byte stays.
//!
//! Spec: D6.4
//!
//! Comments (`//`, `/* */`) and a comma after the last item are read, because the harnesses read them.

use std::ops::Range;

use serde_json::{Map, Value};

/// Why a text is not such a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// The byte at which it stopped making sense.
    pub(crate) at: usize,
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// From its first byte to behind its last.
    pub(crate) span: Range<usize>,
    /// What it is.
    pub(crate) kind: Kind,
}

/// The kinds of value.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// An object or an array, with what stands in it.
    Container(Container),
    /// Anything else.
    Scalar(Value),
}

/// An object or an array.
#[derive(Clone, Debug)]
pub(crate) struct Container {
    /// Whether its items have keys.
    pub(crate) object: bool,
    /// Its items, in order.
    pub(crate) items: Vec<Item>,
    /// Behind the last thing in it that is not white space: an item, a comma, a comment or the opening bracket.
    pub(crate) filled: usize,
    /// Whether a comment runs to the end of the line that `filled` ends.
    pub(crate) ends_in_line_comment: bool,
}

/// One item of a container.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// Behind whatever stands before it that is not white space.
    pub(crate) lead: usize,
    /// Whether that is a comment that runs to the end of its line.
    pub(crate) after_line_comment: bool,
    /// From its key, or its value in an array, to the end of its value.
    pub(crate) span: Range<usize>,
    /// Its key; empty in an array.
    pub(crate) key: String,
    /// Its value.
    pub(crate) value: Node,
    /// Where the comma behind it stands.
    pub(crate) comma: Option<usize>,
}

/// How deep values may be nested.
const DEPTH: usize = 128;

/// Reads a file. `None` when there is nothing but white space and comments in it.
///
/// Errors: where it is no JSON.
pub(crate) fn parse(text: &str) -> Result<Option<Node>, Malformed> {
    let mut reader = Reader { text, at: 0, filled: 0, in_line_comment: false };
    if text.starts_with('\u{feff}') {
        reader.at = '\u{feff}'.len_utf8();
    }
    reader.trivia()?;
    if reader.at == text.len() {
        return Ok(None);
    }
    let node = reader.value(0)?;
    reader.trivia()?;
    if reader.at < text.len() {
        return Err(reader.malformed());
    }
    Ok(Some(node))
}

impl Node {
    /// The value without its spans. Of a key that stands twice the last counts, as for the harnesses.
    pub(crate) fn value(&self) -> Value {
        match &self.kind {
            Kind::Scalar(value) => value.clone(),
            Kind::Container(Container { object: true, items, .. }) => {
                let members = items.iter().map(|item| (item.key.clone(), item.value.value()));
                Value::Object(members.collect::<Map<_, _>>())
            }
            Kind::Container(Container { items, .. }) => {
                Value::Array(items.iter().map(|item| item.value.value()).collect())
            }
        }
    }

    /// Its container, when it is one.
    pub(crate) fn container(&self) -> Option<&Container> {
        match &self.kind {
            Kind::Container(container) => Some(container),
            Kind::Scalar(_) => None,
        }
    }

    /// Its container, when it is an object.
    pub(crate) fn object(&self) -> Option<&Container> {
        self.container().filter(|container| container.object)
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// Behind the last thing that was not white space.
    filled: usize,
    in_line_comment: bool,
}

impl Reader<'_> {
    fn malformed(&self) -> Malformed {
        Malformed { at: self.at }
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn next(&self) -> Option<u8> {
        self.rest().bytes().next()
    }

    /// Passes something that is neither white space nor comment.
    fn pass(&mut self, bytes: usize) {
        self.at += bytes;
        self.filled = self.at;
        self.in_line_comment = false;
    }

    fn trivia(&mut self) -> Result<(), Malformed> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            self.at += blank;
            let rest = self.rest();
            if rest.starts_with("//") {
                let line = rest.find('\n').unwrap_or(rest.len());
                let line = rest.get(..line).unwrap_or(rest).trim_end_matches('\r').len();
                self.pass(line);
                self.in_line_comment = true;
            } else if rest.starts_with("/*") {
                let end = rest.get(2..).and_then(|inner| inner.find("*/"));
                let end = end.ok_or_else(|| self.malformed())?;
                self.pass(end + 4);
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Malformed> {
        let start = self.at;
        let kind = match self.next() {
            Some(b'{' | b'[') if depth < DEPTH => Kind::Container(self.container(depth)?),
            Some(b'"') => Kind::Scalar(Value::String(self.string()?)),
            Some(_) => {
                let rest = self.rest();
                let plain = |b: u8| b.is_ascii_alphanumeric() || b"+-.".contains(&b);
                let length = rest.bytes().take_while(|b| plain(*b)).count();
                let scalar = rest.get(..length).unwrap_or_default();
                let scalar = serde_json::from_str(scalar).map_err(|_| self.malformed())?;
                self.pass(length);
                Kind::Scalar(scalar)
            }
            None => return Err(self.malformed()),
        };
        Ok(Node { span: start..self.at, kind })
    }

    fn string(&mut self) -> Result<String, Malformed> {
        let rest = self.rest();
        let mut escaped = true;
        let mut end = None;
        for (at, b) in rest.bytes().enumerate() {
            match b {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    end = Some(at + 1);
                    break;
                }
                _ => {}
            }
        }
        let end = end.ok_or_else(|| self.malformed())?;
        let text = rest.get(..end).unwrap_or_default();
        let text = serde_json::from_str(text).map_err(|_| self.malformed())?;
        self.pass(end);
        Ok(text)
    }

    fn container(&mut self, depth: usize) -> Result<Container, Malformed> {
        let object = self.next() == Some(b'{');
        let close = if object { b'}' } else { b']' };
        self.pass(1);
        let mut items: Vec<Item> = Vec::new();
        loop {
            self.trivia()?;
            if self.next() == Some(close) {
                break;
            }
            // One comma between two items; what stands before it belongs to the item it ends.
            if items.last().is_some_and(|last| last.comma.is_none()) {
                return Err(self.malformed());
            }
            let (lead, after_line_comment) = (self.filled, self.in_line_comment);
            let start = self.at;
            let key = if object {
                if self.next() != Some(b'"') {
                    return Err(self.malformed());
                }
                let key = self.string()?;
                self.trivia()?;
                if self.next() != Some(b':') {
                    return Err(self.malformed());
                }
                self.pass(1);
                self.trivia()?;
                key
            } else {
                String::new()
            };
            let value = self.value(depth + 1)?;
            let span = start..self.at;
            self.trivia()?;
            let comma = (self.next() == Some(b',')).then_some(self.at);
            if comma.is_some() {
                self.pass(1);
            }
            items.push(Item { lead, after_line_comment, span, key, value, comma });
        }
        let (filled, ends_in_line_comment) = (self.filled, self.in_line_comment);
        self.pass(1);
        Ok(Container { object, items, filled, ends_in_line_comment })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn comments_and_last_commas_are_read() {
        let text = "\u{feff}// top\n{ /* a */ \"a\": [1, 2.5e3, /* two */ true,], // end\n \"b\": {\"c\": \"\\\"}\"}, }\n// after";
        let node = parse(text).unwrap().unwrap();
        assert_eq!(node.value(), json!({"a": [1, 2.5e3, true], "b": {"c": "\"}"}}));
        assert!(parse(" // nothing\n /* at all */").unwrap().is_none());
        assert!(parse("").unwrap().is_none());
    }

    #[test]
    fn what_is_no_json_is_refused_where_it_ends_to_be() {
        for (bad, at) in [
            ("{", 1),
            ("{,}", 1),
            ("{\"a\" 1}", 5),
            ("{\"a\": 1 \"b\": 2}", 8),
            ("[1,,2]", 3),
            ("{} x", 3),
            ("{\"a\": nope}", 6),
            ("[\"open]", 1),
            ("/* open", 0),
            ("{a: 1}", 1),
        ] {
            assert_eq!(parse(bad).map(|_| ()).unwrap_err(), Malformed { at }, "{bad}");
        }
        assert!(parse(&"[".repeat(100_000)).is_err());
    }
}
