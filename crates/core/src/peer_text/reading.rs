//! How a reader who is easily fooled sees one character: as ASCII, whatever it is made of.
//! Spec: D7.2 "Letter reading"

use unicode_normalization::UnicodeNormalization as _;
use unicode_properties::{GeneralCategory as Category, UnicodeGeneralCategory as _};
use unicode_security::skeleton;

use super::is_hidden;

/// The longest reading of one character; a test tries them all.
const LONGEST: usize = 12;

/// What one character is read as: nothing, or a few bytes of ASCII with [`OTHER`] for all else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    bytes: [u8; LONGEST],
    len: usize,
}

/// A byte that stands for anything that does not read as ASCII.
pub(super) const OTHER: u8 = 0xff;

impl Reading {
    const NOTHING: Self = Self { bytes: [0; LONGEST], len: 0 };

    /// The bytes, in reading order.
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    fn push(&mut self, byte: u8) {
        // One OTHER is as good as several, so a long expansion into another script stays short.
        if byte == OTHER && self.bytes().last() == Some(&OTHER) {
            return;
        }
        if let Some(room) = self.bytes.get_mut(self.len) {
            *room = byte;
            self.len = self.len.saturating_add(1);
        }
    }

    /// A letter as all its look-alikes are read: `m` is `rn`, and `I`, `l`, `1` and `|` are one.
    fn push_ascii(&mut self, byte: u8) {
        match byte.to_ascii_lowercase() {
            b'm' => {
                self.push(b'r');
                self.push(b'n');
            }
            b'l' | b'1' | b'|' => self.push(b'i'),
            b'0' => self.push(b'o'),
            other => self.push(other),
        }
    }
}

/// Reads one character: NFKC, case folded, without diacritics, as its confusables skeleton. Hidden characters and marks
/// read as nothing.
///
/// It goes character by character, which reads a text as the whole would be read: composition is undone by the
/// decomposition after it, and a skeleton is made of prototypes of single characters.
pub(super) fn read(c: char) -> Reading {
    #[cfg(test)]
    tests::READS.with(|reads| reads.set(reads.get() + 1));
    let mut reading = Reading::NOTHING;
    if c.is_ascii() && !c.is_ascii_control() {
        // The low byte of an ASCII character is the character.
        reading.push_ascii(u32::from(c).to_le_bytes()[0]);
        return reading;
    }
    if is_hidden(c) {
        return reading;
    }
    if c.is_whitespace() {
        reading.push(b' ');
        return reading;
    }
    let folded = core::iter::once(c).nfkc().flat_map(fold).nfd().filter(|c| !is_mark(*c));
    let mut encoded = [0; 4];
    for plain in folded {
        for shown in skeleton(plain.encode_utf8(&mut encoded)) {
            // A prototype may be upper case again, and may stand over a mark.
            for letter in fold(shown).nfkd().filter(|c| !is_mark(*c) && !is_hidden(*c)) {
                match u8::try_from(letter) {
                    Ok(byte) if byte.is_ascii() => reading.push_ascii(byte),
                    _ => reading.push(OTHER),
                }
            }
        }
    }
    reading
}

/// Case folding as far as ASCII is concerned: the lower case of the upper case, so that `ß` is `ss` and `ſ` is `s`.
/// What full folding does otherwise (`ı`, Cherokee) reads as the same letters through the skeleton.
fn fold(c: char) -> impl Iterator<Item = char> {
    c.to_uppercase().flat_map(char::to_lowercase)
}

fn is_mark(c: char) -> bool {
    matches!(c.general_category(), Category::NonspacingMark | Category::EnclosingMark)
}

/// How many characters are read while `work` runs, on this thread.
#[cfg(test)]
pub(super) fn counted(work: impl FnOnce()) -> usize {
    tests::READS.with(|reads| {
        reads.set(0);
        work();
        reads.get()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::string::String;
    use std::vec::Vec;

    std::thread_local! {
        pub(super) static READS: Cell<usize> = const { Cell::new(0) };
    }

    fn text(of: &str) -> String {
        of.chars().flat_map(|c| read(c).bytes().to_vec()).map(char::from).collect()
    }

    #[test]
    fn no_reading_is_cut() {
        for c in (char::MIN..=char::MAX).filter(|c| !c.is_ascii()) {
            assert!(read(c).len < LONGEST, "{:04X}", u32::from(c));
        }
    }

    #[test]
    fn ascii_is_read_as_its_own_skeleton_is() {
        for c in (' '..='~').filter(|c| !c.is_whitespace()) {
            let shown: Vec<u8> =
                skeleton(&String::from(c)).flat_map(|c| read(c).bytes().to_vec()).collect();
            // The skeletons of quotation and percent signs are several characters, of no weight here.
            if !matches!(c, '"' | '`' | '%') {
                assert_eq!(read(c).bytes(), shown, "{c}");
            }
        }
    }

    #[test]
    fn one_word_has_many_looks_and_one_reading() {
        let plain = text("messaging");
        for look in [
            "MESSAGING",
            "MESSAGlNG",
            "messag1ng",
            "mеѕѕаgіng",
            "ｍｅｓｓａｇｉｎｇ",
            "𝐦𝐞𝐬𝐬𝐚𝐠𝐢𝐧𝐠",
            "𝕄𝔼𝕊𝕊𝔸𝔾𝕀ℕ𝔾",
            "ⓜⓔⓢⓢⓐⓖⓘⓝⓖ",
            "m\u{301}éßäg\u{307}ïñğ",
            "me\u{200b}ss\u{e0061}aging",
            "meſſagıng",
            "rnessaging",
            "messaɡing",
        ] {
            assert_eq!(text(look), plain, "{look}");
        }
        assert_ne!(text("massaging"), plain);
    }

    #[test]
    fn what_is_no_latin_letter_is_something_else() {
        assert_eq!(read('語').bytes(), [OTHER]);
        assert_eq!(read('ж').bytes(), [OTHER]);
        assert_eq!(read('\u{3300}').bytes(), [OTHER]);
        assert_eq!(read('\u{a0}').bytes(), b" ");
        assert_eq!(read('\u{301}').bytes(), b"");
        assert_eq!(read('\u{200b}').bytes(), b"");
    }
}
