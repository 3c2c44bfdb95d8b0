//! What a sender leaves out when its presence would be too large.
//! Spec: §6.5, W2.3, D3.18

use alloc::vec::Vec;

use serde::Serialize;

use super::{Activity, Features, PresencePayload, PresenceSeq, PresenceSession};
use crate::bounded::List;
use crate::ids::Label;
use crate::jcs;
use crate::limits::{PRESENCE_BYTES, PRESENCE_SESSIONS};

/// A presence before it is cut to size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The number it will have.
    pub seq: PresenceSeq,
    /// The machine's label.
    pub label: Label,
    /// Its live sessions, the newest first.
    pub live: Vec<PresenceSession>,
    /// Its kept sessions, the newest first.
    pub kept: Vec<PresenceSession>,
    /// What it can do.
    pub features: Features,
    /// Whether its person is away.
    pub away: bool,
}

impl Draft {
    /// The presence, of at most 256 sessions and 64 KiB of canonical text.
    ///
    /// Left out, in this order and only as far as needed: every `doing`, every `branch`, every `repo`, kept sessions
    /// from the end, live sessions from the end. Kept sessions follow the live ones, idle and without `doing`.
    #[must_use]
    pub fn fit(self) -> PresencePayload {
        self.fit_to(PRESENCE_BYTES)
    }

    fn fit_to(self, limit: usize) -> PresencePayload {
        let Self { seq, label, live, kept, features, away } = self;
        let live = live.into_iter().map(|session| PresenceSession { kept: false, ..session });
        let kept = kept.into_iter().map(|session| PresenceSession {
            kept: true,
            state: Activity::Idle,
            doing: None,
            ..session
        });
        // Kept sessions stand last, so leaving out from the end leaves them out first.
        let mut sessions: Vec<_> = live.chain(kept).take(PRESENCE_SESSIONS).collect();
        let mut payload = PresencePayload { seq, label, sessions: List::default(), features, away };
        let room = limit.saturating_sub(size(&payload));

        let strips: [fn(&mut PresenceSession); 3] =
            [|s| s.doing = None, |s| s.branch = None, |s| s.repo = None];
        for strip in strips {
            if fitting(&sessions, room) == sessions.len() {
                break;
            }
            sessions.iter_mut().for_each(strip);
        }
        sessions.truncate(fitting(&sessions, room));
        payload.sessions = List::first(sessions);
        payload
    }
}

/// How many sessions, from the first, fit into `room` bytes between the brackets of their list.
fn fitting(sessions: &[PresenceSession], room: usize) -> usize {
    let mut used: usize = 0;
    sessions
        .iter()
        .enumerate()
        .take_while(|(index, session)| {
            let comma = usize::from(*index > 0);
            used = used.saturating_add(size(session)).saturating_add(comma);
            used <= room
        })
        .count()
}

/// Bytes of canonical text; a value that has none, and there is none, counts as endless.
fn size(value: &impl Serialize) -> usize {
    jcs::to_value(value)
        .and_then(|value| jcs::canonical(&value))
        .map_or(usize::MAX, |text| text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounded::Str;
    use crate::ids::{ClientKind, SessionName};
    use crate::presence::{PresenceText, Tier};
    use crate::time::Ms;
    use proptest::prelude::*;
    use std::format;
    use std::string::String;
    use std::vec;

    fn session(name: &str, text: Option<&str>) -> PresenceSession {
        let text = |kind: &str| text.map(|t| Str::new(format!("{kind}{t}")).unwrap());
        PresenceSession {
            agent: SessionName::parse(name).unwrap(),
            client: ClientKind::parse("opencode").unwrap(),
            state: Activity::Busy,
            tier: Tier::Push,
            since: Ms(1_767_229_200_000),
            kept: false,
            wake: true,
            repo: text("r"),
            branch: text("b"),
            doing: text("d"),
        }
    }

    fn draft(live: Vec<PresenceSession>, kept: Vec<PresenceSession>) -> Draft {
        Draft {
            seq: PresenceSeq(7),
            label: Label::parse("desk").unwrap(),
            live,
            kept,
            features: List::new(vec![Str::new("tasks").unwrap()]).unwrap(),
            away: false,
        }
    }

    fn names(payload: &PresencePayload) -> Vec<&str> {
        payload.sessions.iter().map(|s| s.agent.as_str()).collect()
    }

    #[test]
    fn a_small_presence_keeps_everything() {
        let payload = draft(vec![session("a", Some("x"))], vec![session("k", Some("x"))]).fit();
        assert_eq!(names(&payload), ["a", "k"]);
        let [a, k] = &payload.sessions[..] else { panic!() };
        assert!(!a.kept && a.doing.is_some() && a.state == Activity::Busy);
        assert!(k.kept && k.doing.is_none() && k.repo.is_some() && k.state == Activity::Idle);
    }

    #[test]
    fn things_are_left_out_in_the_order_of_the_rules() {
        let long = "x".repeat(150);
        let full = draft(
            vec![session("a", Some(&long)), session("b", Some(&long))],
            vec![session("k1", Some(&long)), session("k2", Some(&long))],
        );
        let mut limit = size(&full.clone().fit());
        let mut seen = Vec::new();
        loop {
            let payload = full.clone().fit_to(limit);
            let bytes = size(&payload);
            assert!(bytes <= limit);
            let has = |get: fn(&PresenceSession) -> &Option<PresenceText>| {
                payload.sessions.iter().any(|s| get(s).is_some())
            };
            let state = (
                names(&payload).join(" "),
                has(|s| &s.doing),
                has(|s| &s.branch),
                has(|s| &s.repo),
            );
            if seen.last() != Some(&state) {
                seen.push(state);
            }
            if payload.sessions.is_empty() {
                break;
            }
            limit = bytes - 1;
        }
        let row = |names: &str, doing, branch, repo| (String::from(names), doing, branch, repo);
        assert_eq!(
            seen,
            [
                row("a b k1 k2", true, true, true),
                row("a b k1 k2", false, true, true),
                row("a b k1 k2", false, false, true),
                row("a b k1 k2", false, false, false),
                row("a b k1", false, false, false),
                row("a b", false, false, false),
                row("a", false, false, false),
                row("", false, false, false),
            ]
        );
    }

    #[test]
    fn no_more_than_256_sessions_and_live_ones_first() {
        let many = |letter: &str, count: usize| {
            (0..count).map(|n| session(&format!("{letter}{n}"), None)).collect::<Vec<_>>()
        };
        let payload = draft(many("a", 200), many("k", 200)).fit();
        assert_eq!(payload.sessions.len(), 256);
        assert_eq!(payload.sessions.iter().filter(|s| s.kept).count(), 56);
        let payload = draft(many("a", 300), many("k", 1)).fit();
        assert_eq!(payload.sessions.len(), 256);
        assert!(payload.sessions.iter().all(|s| !s.kept));
    }

    #[test]
    fn the_largest_sessions_fit_once_their_texts_are_gone() {
        let wide = "\u{1}".repeat(199);
        let mut sessions: Vec<_> =
            (0..256).map(|n| session(&format!("{n:0>64}"), Some(&wide))).collect();
        for session in &mut sessions {
            session.client = ClientKind::parse(&"c".repeat(32)).unwrap();
            session.since = Ms((1 << 53) - 1);
        }
        let payload = draft(vec![], sessions).fit();
        assert_eq!(payload.sessions.len(), 256);
        assert!(size(&payload) <= PRESENCE_BYTES);
    }

    proptest! {
        #[test]
        fn never_over_the_limit_and_always_a_prefix(
            live in prop::collection::vec((0..200_usize, any::<char>()), 0..40),
            kept in prop::collection::vec((0..200_usize, any::<char>()), 0..40),
            limit in 100..8_000_usize,
        ) {
            let make = |letter: &'static str, texts: Vec<(usize, char)>| -> Vec<PresenceSession> {
                texts.into_iter().enumerate().map(|(n, (len, c))| {
                    let text: String = std::iter::repeat_n(c, len / 2).collect();
                    session(&format!("{letter}{n}"), Some(&text))
                }).collect()
            };
            let draft = draft(make("a", live), make("k", kept));
            let whole: Vec<String> =
                draft.live.iter().chain(&draft.kept).map(|s| s.agent.as_str().into()).collect();
            let payload = draft.clone().fit_to(limit);
            prop_assert!(size(&payload) <= limit);
            prop_assert!(names(&payload).iter().zip(&whole).all(|(a, b)| a == b));
            let stripped = payload.sessions.iter().all(|s| s.repo.is_none());
            prop_assert!(stripped || payload.sessions.len() == whole.len());
            prop_assert!(size(&draft.fit()) <= PRESENCE_BYTES);
        }
    }
}
