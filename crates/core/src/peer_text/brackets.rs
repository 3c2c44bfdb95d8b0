//! Which brackets of a text could open or close a tag that its reader obeys: a fence of ours, or a host's own.
//! Spec: §12, D7.2 "Rule A", "Rule B", `HOST_TAGS`

use alloc::vec::Vec;

use super::is_hidden;
use super::reading::{OTHER, read};

/// Tags in which hosts write what a model obeys, without their separators; `*` at the end makes it a prefix.
pub const HOST_TAGS: &[&str] = &[
    "system",
    "user",
    "assistant",
    "human",
    "developer",
    "functioncalls",
    "functioncall",
    "functionresults",
    "functionresult",
    "invoke",
    "toolcall",
    "toolcalls",
    "tooluse",
    "toolresult",
    "toolresults",
    "toolresponse",
    "tooloutput",
    "antml*",
    "thinking",
    "systemreminder",
    "systemmessage",
    "systemprompt",
    "systeminstructions",
    "systemnotification",
    "instructions",
    "userinstructions",
    "environmentcontext",
    "environmentdetails",
    "channel",
    "pastedcontent",
    "commandname",
    "commandmessage",
    "commandargs",
    "localcommandstdout",
    "localcommandstderr",
    "bashinput",
    "bashstdout",
    "bashstderr",
    "userpromptsubmithook",
    "sessionstarthook",
    "tasknotification",
    "ideopenedfile",
    "ideselection",
    "turnaborted",
    "permissionsinstructions",
    "peermessage",
];

/// The first word of our own tags, as it is read (`m` reads as `rn`).
const OWN: &[u8; 10] = b"rnessaging";

/// Longer than any reading of a name in [`HOST_TAGS`]; a test compares.
const NAME: usize = 32;

/// Whether a character opens a tag or looks as if it did.
pub(super) fn is_bracket(c: char) -> bool {
    if c.is_ascii() {
        return c == '<';
    }
    matches!(
        c,
        '\u{FF1C}'
            | '\u{FE64}'
            | '\u{2039}'
            | '\u{276E}'
            | '\u{27E8}'
            | '\u{2329}'
            | '\u{3008}'
            | '\u{02C2}'
            | '\u{1438}'
            | '\u{16B2}'
    ) || read(c).bytes() == b"<"
}

fn is_closing(c: char) -> bool {
    matches!(
        c,
        '>' | '\u{FF1E}'
            | '\u{FE65}'
            | '\u{203A}'
            | '\u{276F}'
            | '\u{27E9}'
            | '\u{232A}'
            | '\u{3009}'
            | '\u{02C3}'
            | '\u{1433}'
    ) || read(c).bytes() == b">"
}

fn is_slash(c: char) -> bool {
    matches!(c, '/' | '\u{2044}' | '\u{2215}' | '\u{FF0F}') || read(c).bytes() == b"/"
}

/// The byte offsets of the brackets that must not stay, in ascending order. Takes time in proportion to the text.
pub(super) fn dangerous(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    if !text.chars().any(is_bracket) {
        return found;
    }
    own(text, &mut found);
    host(text, &mut found);
    found.sort_unstable();
    found.dedup();
    found
}

/// Rule A: the letters after the bracket, all else skipped, begin with our own word.
///
/// Read from the end: bit `n` of the state says that what follows begins with the word from its letter `n` on.
fn own(text: &str, found: &mut Vec<usize>) {
    const WHOLE: u16 = 1 << OWN.len();
    let mut state = WHOLE;
    for (at, c) in text.char_indices().rev() {
        if is_bracket(c) {
            if state & 1 == 1 {
                found.push(at);
            }
            continue;
        }
        let reading = read(c);
        let mut taken = state;
        for byte in reading.bytes().iter().rev() {
            if byte.is_ascii_lowercase() {
                taken = before(*byte, taken) | WHOLE;
            }
        }
        // A figure or sign that looks like a letter is read as both: as the letter, and as nothing.
        state = if c.is_alphabetic() { taken } else { taken | state };
    }
}

/// The state before `letter`, given the one after it.
fn before(letter: u8, after: u16) -> u16 {
    let mut state = 0;
    for (n, expected) in OWN.iter().enumerate() {
        if *expected == letter {
            state |= (after >> 1) & (1 << n);
        }
    }
    state
}

/// Rule B: the bracket, or its slash, is followed at once by the name of a host's tag, and the name ends there.
///
/// Each scan ends at the next bracket at the latest, so no character is read by two of them.
fn host(text: &str, found: &mut Vec<usize>) {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if !is_bracket(c) {
            continue;
        }
        let mut name = Name::default();
        let mut slash = false;
        let ends = loop {
            let Some((_, c)) = chars.peek().copied() else { break true };
            if is_bracket(c) {
                break false;
            }
            if c.is_whitespace() && !is_hidden(c) {
                break true;
            }
            // A separator that nobody sees may end the name or stand inside it.
            if c.is_whitespace() && name.is_host_tag() {
                break true;
            }
            if is_closing(c) {
                break true;
            }
            if is_slash(c) {
                if slash || !name.is_empty() {
                    break true;
                }
                slash = true;
            } else if !name.take(read(c).bytes()) {
                break false;
            }
            chars.next();
        };
        if ends && name.is_host_tag() {
            found.push(at);
        }
    }
}

/// The letters and figures of a tag's name, as far as any name of ours goes.
#[derive(Default)]
struct Name {
    letters: [u8; NAME],
    len: usize,
    /// The name goes on past what is kept.
    longer: bool,
}

impl Name {
    fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes what a character reads as; false when it is no part of a name.
    fn take(&mut self, reading: &[u8]) -> bool {
        for byte in reading {
            match byte {
                b'-' | b'_' | b':' => {}
                byte if byte.is_ascii_alphanumeric() => match self.letters.get_mut(self.len) {
                    Some(room) => {
                        *room = *byte;
                        self.len = self.len.saturating_add(1);
                    }
                    None => self.longer = true,
                },
                _ => return false,
            }
        }
        true
    }

    fn is_host_tag(&self) -> bool {
        let name = self.letters.get(..self.len).unwrap_or_default();
        HOST_TAGS.iter().any(|tag| match tag.strip_suffix('*') {
            Some(prefix) => starts_with(name, prefix).is_some(),
            None => !self.longer && starts_with(name, tag) == Some(&[]),
        })
    }
}

/// What is left of a reading after a word; `None` when it does not begin with it.
fn starts_with<'a>(mut reading: &'a [u8], word: &str) -> Option<&'a [u8]> {
    for c in word.chars() {
        reading = reading.strip_prefix(read(c).bytes())?;
    }
    Some(reading)
}

/// The whole text as it is read, for finding a nonce in it.
pub(super) fn folded(text: &str) -> Vec<u8> {
    let letters = text.chars().map(read);
    letters
        .flat_map(|reading| {
            let bytes = reading.bytes().to_vec();
            bytes.into_iter().filter(|byte| *byte != OTHER && byte.is_ascii_alphanumeric())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;
    use std::string::String;

    #[track_caller]
    fn caught(text: &str) {
        assert_eq!(dangerous(text).first(), Some(&0), "{text}");
    }

    #[track_caller]
    fn left(text: &str) {
        assert!(dangerous(text).is_empty(), "{text}");
    }

    #[test]
    fn a_bracket_before_letters_that_spell_messaging_is_caught() {
        for text in [
            "<messaging",
            "</messaging-peer-0000>",
            "<MESSAGING-peer",
            "< m e s s a g i n g",
            "<!-- messaging",
            "<12 mess.aging",
            "＜messaging",
            "‹mеssаging",
            "〈ｍessaging",
            "ᐸmessagıng",
            "<m\u{200b}essaging",
            "<mess\u{301}aging",
            "<mess1ag1ng",
            "<MESSAGlNG",
            "<rnessaging",
            "<語messaging",
            "<mes<saging",
        ] {
            caught(text);
        }
        for text in
            ["messaging", "<massaging", "<amessaging", "a < b, and messaging follows", "<mess"]
        {
            left(text);
        }
    }

    #[test]
    fn a_bracket_that_opens_or_closes_a_host_tag_is_caught() {
        for tag in HOST_TAGS {
            let tag = tag.trim_end_matches('*');
            for text in [
                format!("<{tag}>"),
                format!("</{tag}>"),
                format!("<{} a='b'>", tag.to_uppercase()),
                format!("<{tag}/>"),
                format!("<{tag}"),
                format!("<{tag}\n"),
                format!("<{}>", tag.chars().map(|c| format!("{c}\u{200d}")).collect::<String>()),
                format!("<{}>", tag.chars().map(|c| format!("{c}-_:")).collect::<String>()),
                format!("＜∕{tag}＞"),
            ] {
                caught(&text);
            }
        }
        for text in [
            "<system_reminder>",
            "</USER >",
            "Vec<User>",
            "<function_calls>",
            "<antmlanything>",
            "<sys\u{200b}tem>",
            "<\u{200b}/system>",
            "<ѕуѕtеm>",
            "<s\u{336}ystem>",
            "<system\u{2028}x>",
            "<sys\u{2028}tem>",
            "<too1_ca||>",
            "<systern>",
            "<system⁄>",
            "<system›",
            "<system\u{3000}x>",
        ] {
            let at = text.find(is_bracket);
            assert_eq!(dangerous(text), [at.unwrap()], "{text}");
        }
    }

    #[test]
    fn near_misses_stay() {
        for text in [
            "i < channel",
            "<channel_count>",
            "Map<string>",
            "<systems>",
            "<a system>",
            "<//system>",
            "<system.out>",
            "<systeм>x",
            "<b>",
            "x<y && y>z",
            "<system<b>",
            "< system>",
            "",
            "<",
        ] {
            left(text);
        }
        let long = format!("<system{}>", "x".repeat(100));
        left(&long);
        caught(&format!("<antml{}>", "x".repeat(100)));
    }

    #[test]
    fn a_text_is_read_a_fixed_number_of_times_whatever_it_holds() {
        use super::super::reading::counted;
        // Texts on which a search that starts anew at every bracket would take the square of their length.
        for unit in
            ["<", "<-", "<m", "</", "<messagin ", "<\u{200b}", "<systemx", "ᐸ\u{301}", "< < 1"]
        {
            let reads = |n: usize| counted(|| drop(dangerous(&unit.repeat(n))));
            let (short, long) = (reads(200), reads(2_000));
            assert!(short > 0 && long <= short * 11, "{unit}: {short}, {long}");
        }
    }

    #[test]
    fn every_host_tag_fits_a_name() {
        for tag in HOST_TAGS {
            let reading = folded(tag);
            assert!(reading.len() < NAME, "{tag}");
            assert!(tag.trim_end_matches('*').bytes().all(|b| b.is_ascii_lowercase()), "{tag}");
        }
        assert_eq!(folded("messaging"), OWN);
    }
}
