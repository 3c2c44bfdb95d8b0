//! Changes of a JSON file with comments: what is not changed keeps every byte.
//!
//! Spec: D6.4
//!
//! Each change reads its own result again and gives it back only when it says what was wished.

use serde_json::Value;

use super::jsonc::{self, Container, Item, Node};

/// Why a file is not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It is no JSON: the line and the column.
    Malformed(usize, usize),
    /// What stands at these keys is of another kind than the harness wants there.
    Kind(String),
    /// A key on the way stands twice.
    Twice(String),
    /// Another program's server has the name.
    Taken(String),
    /// The file would not come out as it went in.
    Unfaithful,
}

/// The value at some keys; `None` when there is none.
pub(crate) fn get(text: &str, path: &[&str]) -> Result<Option<Value>, Refused> {
    let root = read(text)?;
    let Some(mut node) = root.as_ref() else { return Ok(None) };
    for (depth, key) in path.iter().enumerate() {
        match member(node, path, depth)? {
            Some(item) => node = &item.value,
            None if node.object().is_some() => return Ok(None),
            None => return Err(kind(path.get(..depth).unwrap_or_default(), key)),
        }
    }
    Ok(Some(node.value()))
}

/// Sets the value at some keys, and makes the objects on the way to it.
pub(crate) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, Refused> {
    let Some(root) = read(text)? else {
        let style = Style::of(text);
        let mut out = text.to_owned();
        if !out.is_empty() && !out.ends_with('\n') {
            out += style.newline;
        }
        out += &style.print(&nested(path, value), "");
        out += style.newline;
        return checked(out, path, Some(value));
    };
    let style = Style::of(text);
    let mut node = &root;
    for depth in 0..path.len() {
        match member(node, path, depth)? {
            Some(item) => node = &item.value,
            None => {
                let (Some(object), Some(key)) = (node.object(), path.get(depth)) else {
                    return Err(kind(path.get(..depth).unwrap_or_default(), ""));
                };
                let value_there = nested(path.get(depth + 1..).unwrap_or_default(), value);
                let out = style.add(text, node, object, Some(key), &value_there);
                return checked(out, path, Some(value));
            }
        }
    }
    if node.value() == *value {
        return Ok(text.to_owned());
    }
    let printed = style.print(value, &indent_at(text, node.span.start));
    checked(apply(text, vec![(node.span.clone(), printed)]), path, Some(value))
}

/// Adds an item to the array at some keys, and makes the array when there is none.
pub(crate) fn push(text: &str, path: &[&str], value: &Value) -> Result<String, Refused> {
    let Some(mut wanted) = get(text, path)? else {
        return set(text, path, &Value::Array(vec![value.clone()]));
    };
    let all = wanted.as_array_mut().ok_or_else(|| kind(path, ""))?;
    all.push(value.clone());
    let root = read(text)?;
    let node = walk(root.as_ref(), path);
    let Some((node, array)) = node.and_then(|node| Some((node, node.container()?))) else {
        return Err(kind(path, ""));
    };
    let out = Style::of(text).add(text, node, array, None, value);
    checked(out, path, Some(&wanted))
}

/// Removes the value at some keys. With it goes every object on the way that then holds nothing, not even a comment.
pub(crate) fn remove(text: &str, path: &[&str]) -> Result<String, Refused> {
    let Some((last, above)) = path.split_last() else { return Ok(text.to_owned()) };
    if get(text, path)?.is_none() {
        return Ok(text.to_owned());
    }
    let root = read(text)?;
    let Some((node, object)) =
        walk(root.as_ref(), above).and_then(|node| Some((node, node.object()?)))
    else {
        return Err(kind(above, last));
    };
    let at = object.items.iter().position(|item| item.key == *last).unwrap_or_default();
    let out = checked(without(text, node, object, at), path, None)?;
    tidied(out, above)
}

/// Removes an item of the array at some keys; what then holds nothing goes with it.
pub(crate) fn remove_item(text: &str, path: &[&str], index: usize) -> Result<String, Refused> {
    let root = read(text)?;
    let found = walk(root.as_ref(), path).and_then(|node| Some((node, node.container()?)));
    let Some((node, array)) = found.filter(|(_, array)| index < array.items.len()) else {
        return Err(kind(path, ""));
    };
    let mut wanted = node.value();
    if let Some(all) = wanted.as_array_mut() {
        all.remove(index);
    }
    let out = checked(without(text, node, array, index), path, Some(&wanted))?;
    tidied(out, path)
}

/// Removes the container at some keys when it holds nothing at all, and then the one that it stood in.
fn tidied(text: String, path: &[&str]) -> Result<String, Refused> {
    let root = read(&text)?;
    let bare = walk(root.as_ref(), path).is_some_and(|node| {
        node.container().is_some_and(|container| {
            container.items.is_empty() && container.filled == node.span.start + 1
        })
    });
    if bare && !path.is_empty() { remove(&text, path) } else { Ok(text) }
}

fn read(text: &str) -> Result<Option<Node>, Refused> {
    jsonc::parse(text).map_err(|malformed| {
        let before = text.get(..malformed.at).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Refused::Malformed(line, column)
    })
}

fn kind(path: &[&str], key: &str) -> Refused {
    let all: Vec<&str> = path.iter().copied().chain((!key.is_empty()).then_some(key)).collect();
    Refused::Kind(all.join("."))
}

/// The item of `node` that `path` names at a depth: by its key, or in an array by its place.
fn member<'a>(node: &'a Node, path: &[&str], depth: usize) -> Result<Option<&'a Item>, Refused> {
    let (Some(object), Some(key)) = (node.container(), path.get(depth)) else { return Ok(None) };
    if !object.object {
        return Ok(key.parse().ok().and_then(|at: usize| object.items.get(at)));
    }
    let mut named = object.items.iter().filter(|item| item.key == *key);
    match (named.next(), named.next()) {
        (Some(_), Some(_)) => Err(Refused::Twice(path.get(..=depth).unwrap_or_default().join("."))),
        (first, _) => Ok(first),
    }
}

fn walk<'a>(root: Option<&'a Node>, path: &[&str]) -> Option<&'a Node> {
    path.iter().enumerate().try_fold(root?, |node, (depth, _)| {
        member(node, path, depth).ok().flatten().map(|item| &item.value)
    })
}

fn nested(path: &[&str], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |inner, key| {
        Value::Object(std::iter::once(((*key).to_owned(), inner)).collect())
    })
}

/// The result, if it says what was wished.
fn checked(text: String, path: &[&str], wanted: Option<&Value>) -> Result<String, Refused> {
    if get(&text, path)?.as_ref() == wanted { Ok(text) } else { Err(kind(path, "")) }
}

/// Replaces spans that do not overlap.
fn apply(text: &str, mut edits: Vec<(std::ops::Range<usize>, String)>) -> String {
    edits.sort_by_key(|(span, _)| span.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (span, with) in edits {
        out += text.get(at..span.start).unwrap_or_default();
        out += &with;
        at = span.end;
    }
    out + text.get(at..).unwrap_or_default()
}

/// The text without one item, and without the comma that it leaves over. Comments stay.
fn without(text: &str, node: &Node, container: &Container, at: usize) -> String {
    let Some(item) = container.items.get(at) else { return text.to_owned() };
    let end = item.comma.map_or(item.span.end, |comma| comma + 1);
    let alone = container.items.len() == 1
        && item.lead == node.span.start + 1
        && container.filled <= end.max(item.span.end)
        // Between the item and its comma a comment may stand.
        && blank(text, item.span.end..item.comma.unwrap_or(item.span.end));
    if alone {
        return apply(text, vec![(node.span.start + 1..node.span.end - 1, String::new())]);
    }
    let mut start = item.lead;
    if item.after_line_comment {
        // The comment keeps the line feed that ends it, unless another follows the item at once.
        let rest = text.get(end..).unwrap_or_default().trim_start_matches([' ', '\t', '\r']);
        if !rest.starts_with('\n') {
            let gap = text.get(start..item.span.start).unwrap_or_default();
            start += gap.find('\n').map_or(gap.len(), |at| at + 1);
        }
    }
    let mut edits = Vec::new();
    match item.comma {
        Some(comma) if blank(text, item.span.end..comma) => edits.push((start..end, String::new())),
        Some(comma) => {
            edits.push((start..item.span.end, String::new()));
            edits.push((comma..comma + 1, String::new()));
        }
        None => {
            edits.push((start..item.span.end, String::new()));
            let before = at.checked_sub(1).and_then(|before| container.items.get(before));
            if let Some(comma) = before.and_then(|before| before.comma) {
                if comma + 1 == start {
                    edits.clear();
                    edits.push((comma..item.span.end, String::new()));
                } else {
                    edits.push((comma..comma + 1, String::new()));
                }
            }
        }
    }
    apply(text, edits)
}

fn blank(text: &str, span: std::ops::Range<usize>) -> bool {
    text.get(span).is_none_or(|between| between.trim().is_empty())
}

/// The white space that the line of a place begins with.
fn indent_at(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
}

/// How a file is written.
struct Style {
    newline: &'static str,
    unit: String,
}

impl Style {
    fn of(text: &str) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let first = text.lines().map(|line| {
            let rest = line.trim_start_matches([' ', '\t']);
            (line.get(..line.len() - rest.len()).unwrap_or_default(), rest)
        });
        let unit = first
            .filter(|(indent, rest)| !indent.is_empty() && rest.starts_with(['"', '{', '[']))
            .map(|(indent, _)| if indent.starts_with('\t') { "\t" } else { indent })
            .next();
        Self { newline, unit: unit.unwrap_or("  ").to_owned() }
    }

    /// A value over several lines, the first without its indent.
    fn print(&self, value: &Value, indent: &str) -> String {
        let inner = format!("{indent}{}", self.unit);
        let newline = self.newline;
        let rows: Vec<String> = match value {
            Value::Object(members) => members
                .iter()
                .map(|(key, value)| {
                    format!("{}: {}", Value::from(key.as_str()), self.print(value, &inner))
                })
                .collect(),
            Value::Array(items) => items.iter().map(|item| self.print(item, &inner)).collect(),
            _ => return value.to_string(),
        };
        let (open, close) = if value.is_object() { ('{', '}') } else { ('[', ']') };
        // A list of words stands on one line, as people write it.
        let words = value.as_array().is_some_and(|all| all.iter().all(|item| !item.is_object()));
        match rows.is_empty() {
            true => format!("{open}{close}"),
            false if words => format!("{open}{}{close}", rows.join(", ")),
            false => {
                let rows = rows.join(&format!(",{newline}{inner}"));
                format!("{open}{newline}{inner}{rows}{newline}{indent}{close}")
            }
        }
    }

    /// The text with one item more at the end of a container.
    fn add(
        &self,
        text: &str,
        node: &Node,
        container: &Container,
        key: Option<&str>,
        value: &Value,
    ) -> String {
        let close = node.span.end - 1;
        let inside = text.get(node.span.start..close).unwrap_or_default();
        let label = key.map(|key| format!("{}: ", Value::from(key))).unwrap_or_default();
        let outer = indent_at(text, node.span.start);
        let newline = self.newline;
        let Some(last) = container.items.last() else {
            let inner = format!("{outer}{}", self.unit);
            let item = format!("{newline}{inner}{label}{}", self.print(value, &inner));
            // White space alone is replaced; a comment stays where it is.
            let bare = container.filled == node.span.start + 1;
            let tail = text.get(container.filled..close).unwrap_or_default();
            return if bare || !tail.contains('\n') {
                apply(text, vec![(container.filled..close, format!("{item}{newline}{outer}"))])
            } else {
                apply(text, vec![(container.filled..container.filled, item)])
            };
        };
        let trailing = last.comma.is_some();
        let spread = inside.contains('\n');
        let own_line = |item: &&Item| {
            let gap = text.get(item.lead..item.span.start).unwrap_or_default();
            gap.contains('\n')
        };
        let printed = if spread {
            let beside = container.items.iter().find(own_line);
            let inner = beside.map_or_else(
                || format!("{outer}{}", self.unit),
                |item| indent_at(text, item.span.start),
            );
            format!("{newline}{inner}{label}{}", self.print(value, &inner))
        } else {
            format!(" {label}{value}")
        };
        let tail = if trailing { "," } else { "" };
        let mut item = format!("{printed}{tail}");
        if container.ends_in_line_comment
            && !text.get(container.filled..close).unwrap_or_default().contains('\n')
        {
            item += newline;
        }
        let mut edits = vec![(container.filled..container.filled, item)];
        if !trailing {
            edits.push((last.span.end..last.span.end, ",".to_owned()));
            // At one place the comma comes first.
            if last.span.end == container.filled {
                edits.reverse();
            }
        }
        apply(text, edits)
    }
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
