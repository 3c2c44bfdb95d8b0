//! The fence around other people's words in what a model reads: a tag that nothing inside it can close or pose as.
//! Spec: §12, D7.2

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::brackets::{dangerous, folded};
use super::{is_hidden, write_hidden};
use crate::random::{self, Random};

/// What a fenced text is, as the fence says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceKind {
    /// Mail.
    Message,
    /// What a task asks for.
    Task,
    /// What is said about a task.
    Status,
    /// A result of a task.
    Artifact,
    /// A line of a conversation.
    Line,
    /// A name.
    Name,
    /// What a session says about itself.
    Presence,
    /// The beginning of a text.
    Preview,
    /// Who asked whom.
    Chain,
}

impl FenceKind {
    /// The word in the tag.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Task => "task",
            Self::Status => "status",
            Self::Artifact => "artifact",
            Self::Line => "line",
            Self::Name => "name",
            Self::Presence => "presence",
            Self::Preview => "preview",
            Self::Chain => "chain",
        }
    }
}

/// The figures of a nonce: Crockford's, small.
const FIGURES: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// A text inside a fence: cleaned, and between two tags that carry 80 fresh random bits. `from` is the author's
/// address, their person, or `unknown`.
#[must_use]
pub fn fence(text: &str, from: &str, kind: FenceKind, rng: &mut (impl Random + ?Sized)) -> String {
    let content = neutral(text);
    let nonce = nonce(&content, rng);
    let from = attribute(from);
    let line = if content.contains('\n') { "\n" } else { "" };
    format!(
        "<messaging-peer-{nonce} from=\"{from}\" kind=\"{}\">{line}{content}{line}</messaging-peer-{nonce}>",
        kind.as_str()
    )
}

/// A text that a model reads outside a fence, because this side wrote it: a peer's words may have been copied into it.
/// Hidden characters are written out and dangerous brackets become `&lt;`; nothing is deleted.
#[must_use]
pub fn neutral(text: &str) -> String {
    written(text, |c, out| match c {
        '\n' | '\t' => out.push(c),
        c if is_hidden(c) => write_hidden(out, c),
        c => out.push(c),
    })
}

fn attribute(value: &str) -> String {
    written(value, |c, out| match c {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '"' => out.push_str("&quot;"),
        '\'' => out.push_str("&#39;"),
        c if c == '\n' || is_hidden(c) => write_hidden(out, c),
        c => out.push(c),
    })
}

/// `text` with CR LF as a line feed, its dangerous brackets as `&lt;`, and every other character as `write` has it.
fn written(text: &str, write: impl Fn(char, &mut String)) -> String {
    let mut out = String::with_capacity(text.len());
    let brackets = dangerous(text);
    let mut brackets = brackets.iter().copied().peekable();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if brackets.next_if_eq(&at).is_some() {
            out.push_str("&lt;");
        } else if c != '\r' || chars.peek().is_none_or(|(_, next)| *next != '\n') {
            write(c, &mut out);
        }
    }
    out
}

/// A nonce that the content cannot be read to hold.
fn nonce(content: &str, rng: &mut (impl Random + ?Sized)) -> String {
    let read = folded(content);
    loop {
        let bits = random::bytes::<10>(rng)
            .into_iter()
            .fold(0_u128, |bits, byte| (bits << 8) | u128::from(byte));
        let figure = |n: u32| {
            let figure = (bits >> (75_u32.saturating_sub(n.saturating_mul(5)))) & 31;
            FIGURES.get(usize::try_from(figure).unwrap_or(0)).copied().map_or('0', char::from)
        };
        let nonce: String = (0..16).map(figure).collect();
        if !holds(&read, &folded(&nonce)) {
            return nonce;
        }
    }
}

fn holds(text: &[u8], word: &Vec<u8>) -> bool {
    text.windows(word.len().max(1)).any(|window| window == word)
}

#[cfg(test)]
mod tests {
    use super::super::brackets::is_bracket;
    use super::*;
    use crate::testing::SeededRandom;
    use proptest::prelude::*;
    use std::string::ToString as _;

    /// A fence whose nonce is all zeros.
    fn fenced(text: &str, from: &str) -> String {
        struct Zeros;
        impl Random for Zeros {
            fn fill(&mut self, bytes: &mut [u8]) {
                bytes.fill(0);
            }
        }
        fence(text, from, FenceKind::Message, &mut Zeros)
    }

    const OPEN: &str = "<messaging-peer-0000000000000000 from=\"bob/api@laptop\" kind=\"message\">";
    const CLOSE: &str = "</messaging-peer-0000000000000000>";

    #[track_caller]
    fn check(text: &str, content: &str) {
        assert_eq!(fenced(text, "bob/api@laptop"), format!("{OPEN}{content}{CLOSE}"));
    }

    #[test]
    fn a_fence_stands_around_the_text_and_nothing_else_is_added() {
        check("", "");
        check("Grüße & <b>", "Grüße & <b>");
        check("a\nb", "\na\nb\n");
        check("a\r\nb", "\na\nb\n");
        check("a\rb", "a[U+000D]b");
        check("a\tb", "a\tb");
    }

    #[test]
    fn hidden_code_points_are_labelled_and_brackets_neutralised_before_they_are() {
        check("<m\u{200b}essaging>", "&lt;m[U+200B]essaging>");
        check("<sys\u{200b}tem>x</system>", "&lt;sys[U+200B]tem>x&lt;/system>");
        check("\u{202e}\u{e0041}\0", "[U+202E][U+E0041][U+0000]");
        check("＜messaging", "&lt;messaging");
        check("Vec<User>, Map<string>", "Vec&lt;User>, Map<string>");
    }

    #[test]
    fn attribute_values_are_escaped() {
        let made = fenced("", "a\"b'c<d>e&f\n\u{200b}\r\n＜system＞");
        assert!(made.contains(
            "from=\"a&quot;b&#39;c&lt;d&gt;e&amp;f[U+000A][U+200B][U+000A]&lt;system＞\""
        ));
    }

    #[test]
    fn the_nonce_is_80_bits_and_redrawn_when_the_content_holds_it() {
        struct Script(Vec<u8>, usize);
        impl Random for Script {
            fn fill(&mut self, bytes: &mut [u8]) {
                let byte = self.0.get(self.1).copied().unwrap_or(0xff);
                self.1 += 1;
                bytes.fill(byte);
            }
        }
        let mut rng = Script([0, 0xff].to_vec(), 0);
        // Sixteen zeros, in another look.
        let made = fence("x OoO0-0000ＯОо０oo o0O0 y", "unknown", FenceKind::Line, &mut rng);
        assert!(
            made.starts_with("<messaging-peer-zzzzzzzzzzzzzzzz from=\"unknown\" kind=\"line\">")
        );
        let mut rng = SeededRandom::new(7);
        let other = |rng: &mut SeededRandom| fence("", "unknown", FenceKind::Name, rng);
        assert_ne!(other(&mut rng), other(&mut rng));
        let made = other(&mut rng);
        assert_eq!(
            made.split_whitespace().next().map(str::len),
            Some("<messaging-peer-".len() + 16)
        );
    }

    /// Pieces that attacks are made of.
    fn pieces() -> impl Strategy<Value = String> {
        let words = [
            "messaging",
            "-peer-",
            "system",
            "user",
            "antml",
            "function_calls",
            "tool",
            "result",
            "channel",
            "<",
            "</",
            "<<",
            ">",
            "/",
            "&lt;",
            "＜",
            "‹",
            "ᐸ",
            "ᚲ",
            "\u{1d236}",
            "∕",
            "›",
            " ",
            "\n",
            "\r",
            "\t",
            "\u{200b}",
            "\u{2028}",
            "\u{301}",
            "\u{20dd}",
            "\u{e0073}",
            "-",
            "_",
            ":",
            "m",
            "rn",
            "е",
            "ѕ",
            "ｍ",
            "𝐬",
            "ß",
            "ſ",
            "1",
            "l",
            "I",
            "0",
            "|",
            "㎳",
            "ⓢ",
            "[U+",
            "]",
            "x",
        ];
        let word = prop::sample::select(words.to_vec()).prop_map(|word| word.to_string());
        prop::collection::vec(
            prop_oneof![8 => word, 1 => any::<char>().prop_map(String::from)],
            0..24,
        )
        .prop_map(|all| all.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn nothing_inside_a_fence_reads_as_a_tag_of_ours_or_of_a_host(text in pieces()) {
            let content = neutral(&text);
            prop_assert_eq!(dangerous(&content), Vec::<usize>::new());
            prop_assert!(content.chars().all(|c| c == '\n' || c == '\t' || !is_hidden(c)));
            prop_assert_eq!(&neutral(&content), &content);
            let made = fence(&text, &text, FenceKind::Message, &mut SeededRandom::new(1));
            // The two tags of the fence, and no third.
            prop_assert_eq!(made.matches("messaging-peer-").count() - text.matches("messaging-peer-").count() * 2, 2);
            let tail = made.rsplit_once("</messaging-peer-").unwrap().1;
            let nonce = tail.trim_end_matches('>');
            let between = made.split_once("\">").unwrap().1.rsplit_once("</").unwrap().0;
            prop_assert!(!holds(&folded(between), &folded(nonce)));
            prop_assert_eq!(dangerous(between), Vec::<usize>::new());
        }

        #[test]
        fn nothing_is_deleted_and_only_brackets_and_hidden_characters_change(text in pieces()) {
            let kept: String = text.replace("\r\n", "\n").chars().filter(|c| !is_bracket(*c) && !is_hidden(*c)).collect();
            let mut rest = neutral(&text);
            for c in kept.chars() {
                let at = rest.find(c);
                prop_assert!(at.is_some());
                rest = rest.split_off(at.unwrap() + c.len_utf8());
            }
        }
    }
}
