//! Times for people: relative on a terminal, RFC 3339 elsewhere.
//! Spec: D6.1 "Width"

use messaging_core::time::Ms;

use crate::screen::Screen;

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A past time: `3m ago` on a terminal, a stamp on a pipe.
pub(crate) fn when(screen: &Screen, at: Ms) -> String {
    if screen.tty { ago(screen, at) } else { stamp(at) }
}

/// A coming time: `in 3m` on a terminal, a stamp on a pipe.
pub(crate) fn until(screen: &Screen, at: Ms) -> String {
    if !screen.tty {
        stamp(at)
    } else if at > screen.now {
        format!("in {}", short(at.since(screen.now)))
    } else {
        "now".to_owned()
    }
}

/// How long ago a time is, in its largest unit.
fn ago(screen: &Screen, at: Ms) -> String {
    match screen.now.since(at) {
        0..SECOND => "now".to_owned(),
        ms => format!("{} ago", short(ms)),
    }
}

/// RFC 3339 in UTC, whole seconds. A time that no calendar holds is its milliseconds.
pub(crate) fn stamp(at: Ms) -> String {
    let seconds = at.as_i64().div_euclid(1_000);
    match jiff::Timestamp::from_second(seconds) {
        Ok(time) => time.to_string(),
        Err(_) => at.to_string(),
    }
}

fn short(ms: u64) -> String {
    match ms {
        0..MINUTE => format!("{}s", ms / SECOND),
        MINUTE..HOUR => format!("{}m", ms / MINUTE),
        HOUR..DAY => format!("{}h", ms / HOUR),
        _ => format!("{}d", ms / DAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_in_its_largest_unit() {
        let screen = Screen::terminal();
        for (ms, text) in [
            (0, "now"),
            (999, "now"),
            (59_999, "59s ago"),
            (60_000, "1m ago"),
            (3_599_999, "59m ago"),
            (86_399_999, "23h ago"),
            (200 * DAY, "200d ago"),
        ] {
            assert_eq!(when(&screen, screen.now.minus(ms)), text);
        }
        assert_eq!(when(&screen, screen.now.plus(5_000)), "now");
        assert_eq!(until(&screen, screen.now.plus(2 * HOUR)), "in 2h");
        assert_eq!(until(&screen, screen.now), "now");
    }

    #[test]
    fn a_pipe_gets_stamps() {
        let screen = Screen::pipe();
        assert_eq!(when(&screen, Ms(1_767_225_600_999)), "2026-01-01T00:00:00Z");
        assert_eq!(stamp(Ms(u64::MAX)), u64::MAX.to_string());
    }
}
