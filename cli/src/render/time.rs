//! Times for people: relative on a terminal, RFC 3339 elsewhere.
//! Spec: D6.1 "Width"

use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use messaging_core::time::Ms;

use crate::fault::Fault;
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

/// The day of a time in UTC, `2026-01-31`.
pub(crate) fn date(at: Ms) -> String {
    stamp(at).split('T').next().unwrap_or_default().to_owned()
}

/// Times as a clock on the wall shows them: in the person's own time zone.
#[derive(Clone, Debug)]
pub(crate) struct Clock(TimeZone);

impl Clock {
    /// The clock of this machine: `TZ`, else what the system is set to.
    pub(crate) fn local() -> Self {
        Self(TimeZone::system())
    }

    /// A clock in UTC.
    #[cfg(test)]
    pub(crate) fn utc() -> Self {
        Self(TimeZone::UTC)
    }

    /// The hour and minute, `14:02`. A time that no calendar holds has none.
    pub(crate) fn minute(&self, at: Ms) -> String {
        self.format(at, "%H:%M").unwrap_or_else(|| "--:--".to_owned())
    }

    /// The day in words.
    pub(crate) fn day(&self, at: Ms) -> String {
        self.format(at, "%A, %-d %B %Y").unwrap_or_else(|| "an unknown day".to_owned())
    }

    fn format(&self, at: Ms, format: &str) -> Option<String> {
        let time = jiff::Timestamp::from_millisecond(at.as_i64()).ok()?;
        strtime::format(format, &time.to_zoned_datetime(self.0.clone())).ok()
    }
}

/// A time that somebody typed: how long ago, a day in UTC, or a time as RFC 3339 writes it.
///
/// Errors: `invalid_request`.
pub(crate) fn instant(now: Ms, text: &str) -> Result<Ms, Fault> {
    let wrong = || {
        Fault::usage(
            "that is no time",
            "write 7d, 12h or 30m for how long ago, a date as 2026-01-31, or a time as 2026-01-31T12:00:00Z.",
        )
    };
    let units = [('d', DAY), ('h', HOUR), ('m', MINUTE), ('s', SECOND)];
    if let Some((count, unit)) =
        units.iter().find_map(|(letter, unit)| Some((text.strip_suffix(*letter)?, unit)))
        && let Ok(count) = count.parse::<u32>()
    {
        return Ok(now.minus(u64::from(count) * unit));
    }
    let time = match text.len() {
        10 => format!("{text}T00:00:00Z").parse::<jiff::Timestamp>(),
        _ => text.parse(),
    };
    let time = time.map_err(|_| wrong())?;
    u64::try_from(time.as_millisecond()).map(Ms).map_err(|_| wrong())
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
    fn a_clock_shows_the_time_of_its_place() {
        let clock = Clock(TimeZone::fixed(jiff::tz::offset(2)));
        assert_eq!(clock.minute(Ms(1_767_225_600_000)), "02:00");
        assert_eq!(clock.day(Ms(1_767_218_399_000)), "Wednesday, 31 December 2025");
        assert_eq!(clock.day(Ms(1_767_218_400_000)), "Thursday, 1 January 2026");
        assert_eq!(clock.minute(Ms(u64::MAX)), "--:--");
        assert_eq!(date(Ms(1_767_225_600_000)), "2026-01-01");
    }

    #[test]
    fn a_time_is_typed_in_three_ways() {
        let now = Ms(1_767_225_600_000);
        for (text, at) in [
            ("7d", now.minus(7 * DAY)),
            ("12h", now.minus(12 * HOUR)),
            ("30m", now.minus(30 * MINUTE)),
            ("0s", now),
            ("2026-01-01", now),
            ("2026-01-01T00:00:01Z", now.plus(1_000)),
            ("2026-01-01T02:00:00+02:00", now),
        ] {
            assert_eq!(instant(now, text).unwrap(), at, "{text}");
        }
        for text in
            ["", "7", "d", "-1d", "yesterday", "2026-13-01", "2026-01-01T00:00", "1960-01-01"]
        {
            assert!(instant(now, text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_pipe_gets_stamps() {
        let screen = Screen::pipe();
        assert_eq!(when(&screen, Ms(1_767_225_600_999)), "2026-01-01T00:00:00Z");
        assert_eq!(stamp(Ms(u64::MAX)), u64::MAX.to_string());
    }
}
