//! Reading bytes from the front: each step gives what is left, or says that it does not fit.
//! Spec: D3.25

/// What follows `literal`.
pub(super) fn after<'a>(text: &'a [u8], literal: &str) -> Option<&'a [u8]> {
    text.strip_prefix(literal.as_bytes())
}

/// What follows `literal`, whose ASCII letters may be in either case.
pub(super) fn after_any_case<'a>(text: &'a [u8], literal: &str) -> Option<&'a [u8]> {
    let (head, rest) = text.split_at_checked(literal.len())?;
    head.eq_ignore_ascii_case(literal.as_bytes()).then_some(rest)
}

/// What follows `literal` when it is there, else all.
pub(super) fn without<'a>(text: &'a [u8], literal: &str) -> &'a [u8] {
    after(text, literal).unwrap_or(text)
}

/// The longest start whose bytes are all in `class`, and what follows.
pub(super) fn run(text: &[u8], class: fn(u8) -> bool) -> (&[u8], &[u8]) {
    let length = text.iter().position(|byte| !class(*byte)).unwrap_or(text.len());
    text.split_at(length)
}

/// The longest start of bytes in `class`, when it has at least `least`.
pub(super) fn run_of_at_least(text: &[u8], class: fn(u8) -> bool, least: usize) -> Option<&[u8]> {
    let (run, _) = run(text, class);
    (run.len() >= least).then_some(run)
}

/// The start of bytes in `class`, when it is exactly `length` long and what follows it is not in `more` either.
pub(super) fn run_of(
    text: &[u8],
    class: fn(u8) -> bool,
    length: usize,
    more: fn(u8) -> bool,
) -> Option<&[u8]> {
    let (run, rest) = run(text, class);
    (run.len() == length && !rest.first().is_some_and(|byte| more(*byte))).then_some(run)
}

/// What follows spaces and tabs.
pub(super) fn skip_blanks(text: &[u8]) -> &[u8] {
    run(text, is_blank).1
}

/// What follows a quotation mark, when there is one.
pub(super) fn skip_quote(text: &[u8]) -> &[u8] {
    match text.split_first() {
        Some((b'"' | b'\'', rest)) => rest,
        _ => text,
    }
}

/// What follows one line break: a real one, or one escaped up to four times over, as in JSON within JSON.
pub(super) fn after_break(text: &[u8]) -> Option<&[u8]> {
    match text.split_first()? {
        (b'\r', rest) => Some(without(rest, "\n")),
        (b'\n', rest) => Some(rest),
        (b'\\', _) => {
            if let Some(rest) = after_escaped(text, "r") {
                return Some(after_escaped(rest, "n").unwrap_or(rest));
            }
            after_escaped(text, "n")
        }
        _ => None,
    }
}

/// What follows one or more line breaks, each with blanks after it.
pub(super) fn after_breaks(text: &[u8]) -> Option<&[u8]> {
    let mut rest = skip_blanks(after_break(text)?);
    while let Some(more) = after_break(rest) {
        rest = skip_blanks(more);
    }
    Some(rest)
}

fn after_escaped<'a>(text: &'a [u8], letter: &str) -> Option<&'a [u8]> {
    // No more than five are looked at: a long run of them must not be read again from each of its bytes.
    let few = text.iter().take(5).take_while(|byte| **byte == b'\\').count();
    if !(1..=4).contains(&few) {
        return None;
    }
    after(text.get(few..)?, letter)
}

pub(super) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

pub(super) fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

pub(super) fn is_lower(byte: u8) -> bool {
    byte.is_ascii_lowercase()
}

/// A capital letter or a digit.
pub(super) fn is_capital(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

/// The alphabet of base64url, and of most names.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

pub(super) fn is_identifier(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

pub(super) fn is_hyphenated(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

/// The alphabet of standard base64, without its padding.
pub(super) fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/'
}

/// How many of digits, lower and upper case a text has: an issued key mixes them.
pub(super) fn mix(text: &[u8]) -> u8 {
    let has = |class: fn(&u8) -> bool| u8::from(text.iter().any(class));
    has(u8::is_ascii_digit)
        .saturating_add(has(u8::is_ascii_lowercase))
        .saturating_add(has(u8::is_ascii_uppercase))
}
