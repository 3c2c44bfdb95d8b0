//! Which code points a reader cannot see, or a terminal would obey.
//! Spec: D7.2 "Hidden"

use unicode_properties::{GeneralCategory as Category, UnicodeGeneralCategory as _};

/// Whether a code point is hidden: a control character but tab and line feed, a format character, a line or paragraph
/// separator, private use, unassigned, default-ignorable, a variation selector, a blank filler, or a tag.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control() && c != '\t' && c != '\n';
    }
    match c.general_category() {
        Category::Control
        | Category::Format
        | Category::LineSeparator
        | Category::ParagraphSeparator
        | Category::PrivateUse
        | Category::Surrogate
        | Category::Unassigned => true,
        _ => is_ignorable(c) || is_blank(c),
    }
}

/// Default-ignorable code points outside the categories above: joiners, fillers and variation selectors.
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{34F}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}' | '\u{180B}'..='\u{180F}'
        | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FFA0}' | '\u{E0000}'..='\u{E0FFF}')
}

/// Characters with a glyph that is empty: the blank braille pattern.
fn is_blank(c: char) -> bool {
    c == '\u{2800}'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_of_the_list_is_hidden() {
        for c in [
            '\0',
            '\r',
            '\u{1b}',
            '\u{7f}',
            '\u{85}',
            '\u{ad}',
            '\u{600}',
            '\u{200d}',
            '\u{202a}',
            '\u{2066}',
            '\u{2028}',
            '\u{2029}',
            '\u{e000}',
            '\u{10fffd}',
            '\u{fffe}',
            '\u{378}',
            '\u{34f}',
            '\u{115f}',
            '\u{1160}',
            '\u{3164}',
            '\u{ffa0}',
            '\u{2800}',
            '\u{fe00}',
            '\u{180b}',
            '\u{e0100}',
            '\u{e0000}',
            '\u{e007f}',
        ] {
            assert!(is_hidden(c), "{:04X}", u32::from(c));
        }
    }

    #[test]
    fn what_people_write_is_not() {
        for c in "aZ0 ~\t\n\u{a0}éßжあ語한👍\u{301}„“–…€".chars() {
            assert!(!is_hidden(c), "{:04X}", u32::from(c));
        }
    }
}
