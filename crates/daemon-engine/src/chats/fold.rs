//! Text as it is searched: letters that a reader takes for the same are the same.
//! Spec: D3.20 "Search"

use unicode_normalization::UnicodeNormalization as _;

/// A text in compatibility form and lower case. What is found in a folded text does not depend on where a word ends.
pub(crate) fn fold(text: &str) -> String {
    text.nfkc().flat_map(char::to_lowercase).map(one_form).nfkc().collect()
}

fn one_form(c: char) -> char {
    match c {
        // The sigma at the end of a word is the sigma within it.
        'ς' => 'σ',
        // The index of the store ends a text at its first zero.
        '\0' => ' ',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_and_cases_of_one_letter_are_one() {
        for (text, folded) in [
            ("Grüße", "grüße"),
            ("ＦＵＬＬ　ｗｉｄｔｈ", "full width"),
            ("ﬁle №5", "file no5"),
            ("e\u{301}", "é"),
            ("ΟΔΟΣ", "οδοσ"),
            ("οδος", "οδοσ"),
            ("日本語 العربية 👍🏽", "日本語 العربية 👍🏽"),
            ("a\0b", "a b"),
        ] {
            assert_eq!(fold(text), folded, "{text}");
        }
    }

    #[test]
    fn a_folded_text_stays_as_it_is() {
        for text in ["İstanbul", "ẛ̣", "ǅ", "ﷺ", "Ⅷ", "ſ"] {
            let once = fold(text);
            assert_eq!(fold(&once), once, "{text}");
        }
    }
}
