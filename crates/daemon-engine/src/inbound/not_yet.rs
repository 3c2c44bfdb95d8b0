//! What this build cannot file yet: it is refused, never lost in silence.
//! Spec: §6.4 `rejected`

use messaging_core::meaning::Meaning;

/// Every kind of message that this build refuses because it has no place for it. The list only gets shorter.
pub(super) const NOT_YET: [&str; 5] = ["line", "channel", "sync", "card", "card wanted"];

/// The name of a message's kind when this build has no place for it.
pub(super) fn refuses(meaning: &Meaning<'_>) -> Option<&'static str> {
    let [line, channel, sync, card, card_wanted] = NOT_YET;
    match meaning {
        Meaning::Line => Some(line),
        Meaning::Channel(_) => Some(channel),
        Meaning::Sync { .. } => Some(sync),
        Meaning::Card(_) => Some(card),
        Meaning::CardWanted => Some(card_wanted),
        Meaning::Mail { .. } | Meaning::Task { .. } | Meaning::Request { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_built_yet_is_counted() {
        assert_eq!(NOT_YET.len(), 5, "a kind that is built now leaves the list");
    }
}
