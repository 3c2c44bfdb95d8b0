//! What this build cannot file yet: it is refused, never lost in silence.
//! Spec: §6.4 `rejected`

use messaging_core::meaning::Meaning;

/// Every kind of message that this build refuses because it has no place for it. The list only gets shorter.
pub(super) const NOT_YET: [&str; 2] = ["card", "card wanted"];

/// The name of a message's kind when this build has no place for it.
pub(super) fn refuses(meaning: &Meaning<'_>) -> Option<&'static str> {
    let [card, card_wanted] = NOT_YET;
    match meaning {
        Meaning::Card(_) => Some(card),
        Meaning::CardWanted => Some(card_wanted),
        Meaning::Mail { .. }
        | Meaning::Task { .. }
        | Meaning::Sync { .. }
        | Meaning::Request { .. }
        | Meaning::Line
        | Meaning::Channel(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_built_yet_is_counted() {
        assert_eq!(NOT_YET.len(), 2, "a kind that is built now leaves the list");
    }
}
