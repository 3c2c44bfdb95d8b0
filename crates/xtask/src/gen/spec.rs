//! The sections of the specification, and how a module's `Spec:` line names them.

use std::fmt;

/// The text with the sections of the protocol: `§ title`, and `later` for what is not built yet.
const SECTIONS: &str = include_str!("../../spec-sections.txt");

/// One part of the specification.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// The protocol text, written `§4`.
    Protocol,
    /// The wire atlas: shapes, limits and orders of core and relay, written `W4.9`.
    Wire,
    /// The daemon atlas: IPC, daemon, command line, written `D3.8`.
    Daemon,
    /// A ruling over both, written `R5`.
    Ruling,
}

/// A section: its part and its number (`8`, or `8.2`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Section {
    pub(crate) part: Part,
    chapter: u8,
    article: Option<u8>,
}

impl Section {
    /// Reads `§8.2`, `W4.9`, `D3.8` or `R5`; `None` when there is no such section.
    pub(crate) fn parse(token: &str) -> Option<Self> {
        let (part, number) = if let Some(number) = token.strip_prefix('§') {
            (Part::Protocol, number)
        } else if let Some(number) = token.strip_prefix('W') {
            (Part::Wire, number)
        } else if let Some(number) = token.strip_prefix('D') {
            (Part::Daemon, number)
        } else {
            (Part::Ruling, token.strip_prefix('R')?)
        };
        let (chapter, article) = match number.split_once('.') {
            Some((chapter, article)) => (chapter.parse().ok()?, Some(article.parse().ok()?)),
            None => (number.parse().ok()?, None),
        };
        let section = Self { part, chapter, article };
        let exists = match part {
            Part::Protocol => listed().any(|listed| listed.section == section),
            Part::Wire | Part::Daemon => chapter <= 9,
            Part::Ruling => (1..=19).contains(&chapter) && article.is_none(),
        };
        exists.then_some(section)
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.part {
            Part::Protocol => "§",
            Part::Wire => "W",
            Part::Daemon => "D",
            Part::Ruling => "R",
        };
        write!(f, "{sign}{}", self.chapter)?;
        self.article.map_or(Ok(()), |article| write!(f, ".{article}"))
    }
}

/// A section of the protocol, as `spec-sections.txt` lists it.
pub(crate) struct Listed {
    pub(crate) section: Section,
    pub(crate) title: &'static str,
    /// Its code comes with a later release.
    pub(crate) later: bool,
}

impl Listed {
    /// Whether it is only the heading of numbered articles, which are listed on their own.
    pub(crate) fn is_heading(&self) -> bool {
        let under = |other: &Listed| {
            other.section.chapter == self.section.chapter && other.section.article.is_some()
        };
        self.section.article.is_none() && listed().any(|other| under(&other))
    }
}

/// Every section of the protocol, in order.
pub(crate) fn listed() -> impl Iterator<Item = Listed> {
    SECTIONS.lines().filter(|line| line.starts_with('§')).filter_map(|line| {
        let (number, title) = line.trim_start_matches('§').split_once(' ')?;
        let (chapter, article) = match number.split_once('.') {
            Some((chapter, article)) => (chapter.parse().ok()?, Some(article.parse().ok()?)),
            None => (number.parse().ok()?, None),
        };
        let section = Section { part: Part::Protocol, chapter, article };
        let (title, later) = match title.strip_prefix("later: ") {
            Some(title) => (title, true),
            None => (title, false),
        };
        Some(Listed { section, title, later })
    })
}

/// The words of a file's `Spec:` lines that look like sections; a line without any gives itself.
pub(crate) fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    for line in text.lines().take_while(|line| line.starts_with("//!")) {
        let Some(list) = line.strip_prefix("//! Spec:") else {
            continue;
        };
        let before = tokens.len();
        for word in list.split([',', ';', ' ', '(', ')', '"']) {
            let word = word.trim_end_matches('.');
            if looks_like_a_section(word) {
                tokens.extend(span(word));
            }
        }
        if tokens.len() == before {
            tokens.push(list.trim().to_owned());
        }
    }
    tokens
}

fn looks_like_a_section(word: &str) -> bool {
    let mut letters = word.chars();
    match letters.next() {
        Some('§') => true,
        Some('W' | 'D' | 'R') => letters.next().is_some_and(|c| c.is_ascii_digit()),
        _ => false,
    }
}

/// Writes a span out: `W4.1-4.3` and `W4.1–4.3` are three sections.
fn span(word: &str) -> Vec<String> {
    let Some((first, last)) = word.split_once(['-', '–']) else {
        return vec![word.to_owned()];
    };
    let sign: String = word.chars().take(1).collect();
    let last = if last.starts_with(&sign) { last.to_owned() } else { format!("{sign}{last}") };
    let (Some(from), Some(to)) = (bare(first), bare(&last)) else {
        return vec![word.to_owned()];
    };
    match (from, to) {
        ((a, Some(from)), (b, Some(to))) if a == b && from < to => {
            (from..=to).map(|article| format!("{sign}{a}.{article}")).collect()
        }
        ((from, None), (to, None)) if from < to => {
            (from..=to).map(|chapter| format!("{sign}{chapter}")).collect()
        }
        _ => vec![first.to_owned(), last],
    }
}

fn bare(token: &str) -> Option<(u8, Option<u8>)> {
    let number = token.trim_start_matches(['§', 'W', 'D', 'R']);
    match number.split_once('.') {
        Some((chapter, article)) => Some((chapter.parse().ok()?, Some(article.parse().ok()?))),
        None => Some((number.parse().ok()?, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_parse_and_print() {
        for token in ["§4", "§8.2", "W4.9", "D3.8", "W0", "R19"] {
            assert_eq!(
                Section::parse(token).map(|section| section.to_string()),
                Some(token.to_owned())
            );
        }
        for token in ["§16", "§8.99", "W10.1", "R20", "R1.2", "Q1", "§", "W"] {
            assert!(Section::parse(token).is_none(), "{token}");
        }
    }

    #[test]
    fn a_line_gives_its_sections() {
        let tokens =
            |line: &str| tokens(&format!("//! X.\n//!\n//! Spec: {line}\n\nfn x() {{}}\n"));
        assert_eq!(tokens("§4, W4.9, D3.8."), ["§4", "W4.9", "D3.8"]);
        assert_eq!(tokens("§5 (steps 1–6); W4.1–4.3"), ["§5", "W4.1", "W4.2", "W4.3"]);
        assert_eq!(tokens("§2-4"), ["§2", "§3", "§4"]);
        assert_eq!(tokens("none of these"), ["none of these"]);
    }

    #[test]
    fn the_list_is_in_order() {
        let sections: Vec<Section> = listed().map(|listed| listed.section).collect();
        assert!(sections.len() > 40);
        assert!(sections.is_sorted());
    }
}
