//! The one time that is written as text: when a task's state began.
//! Spec: W2.2 `TaskStatus.timestamp`

use alloc::format;
use alloc::string::String;
use core::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::code::Failure;
use crate::time::Ms;

/// A time in UTC as RFC 3339 writes it, `2026-01-01T01:00:00.000Z`.
///
/// This machine writes three digits of a second; a peer may write none, or up to nine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Timestamp(String);

impl Timestamp {
    /// The text of a clock reading; the last moment of the year 9999 for a later one.
    #[must_use]
    pub fn of(at: Ms) -> Self {
        const END: u64 = 253_402_300_799_999;
        let at = at.0.min(END);
        let (seconds, ms) = (at / 1_000, at % 1_000);
        let (year, month, day) = civil(seconds / 86_400);
        let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
        Self(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z"))
    }

    /// Takes a text: upper-case `T` and `Z`, a day that exists, at most nine digits of a second.
    ///
    /// Errors: `invalid_request`.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        if fits(text) { Ok(Self(text.into())) } else { Err(Failure::invalid("timestamp")) }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl JsonSchema for Timestamp {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "Timestamp".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?Z$"
        })
    }
}

/// The year, month and day of a day number since 1970, in the Gregorian calendar.
///
/// The calendar repeats every 400 years; counting years from March puts the leap day last.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days.saturating_add(719_468);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era
        .saturating_sub(day_of_era / 1_460)
        .saturating_add(day_of_era / 36_524)
        .saturating_sub(day_of_era / 146_096))
        / 365;
    let before = year_of_era
        .saturating_mul(365)
        .saturating_add(year_of_era / 4)
        .saturating_sub(year_of_era / 100);
    let day_of_year = day_of_era.saturating_sub(before);
    let month_from_march = day_of_year.saturating_mul(5).saturating_add(2) / 153;
    let day = day_of_year
        .saturating_sub(month_from_march.saturating_mul(153).saturating_add(2) / 5)
        .saturating_add(1);
    let (month, next) = if month_from_march < 10 {
        (month_from_march.saturating_add(3), 0)
    } else {
        (month_from_march.saturating_sub(9), 1)
    };
    let year = era.saturating_mul(400).saturating_add(year_of_era).saturating_add(next);
    (year, month, day)
}

fn fits(text: &str) -> bool {
    /// The shape of the fixed part, `0` for a digit.
    const SHAPE: &[u8] = b"0000-00-00T00:00:00";
    let Some((head, tail)) = text.as_bytes().split_at_checked(SHAPE.len()) else { return false };
    let shaped = head.iter().zip(SHAPE).all(|(byte, shape)| match shape {
        b'0' => byte.is_ascii_digit(),
        _ => byte == shape,
    });
    let number = |from: usize, to: usize| {
        head.get(from..to).unwrap_or_default().iter().fold(0_u32, |n, digit| {
            n.saturating_mul(10).saturating_add(u32::from(digit.saturating_sub(b'0')))
        })
    };
    let fraction = match tail {
        b"Z" => true,
        [b'.', digits @ .., b'Z'] => {
            (1..=9).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit)
        }
        _ => false,
    };
    shaped
        && fraction
        && (1..=days_in(number(0, 4), number(5, 7))).contains(&number(8, 10))
        && number(11, 13) < 24
        && number(14, 16) < 60
        // A leap second is the last of a UTC day.
        && (number(17, 19) < 60 || head.ends_with(b"23:59:60"))
}

/// The days of a month, 0 for a month that does not exist.
fn days_in(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn writes_three_digits_and_z() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_767_229_200_000, "2026-01-01T01:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (u64::MAX, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(Timestamp::of(Ms(ms)).as_str(), text);
        }
    }

    #[test]
    fn takes_utc_only_and_days_that_exist() {
        for good in [
            "2026-01-01T01:00:00Z",
            "2026-01-01T01:00:00.1Z",
            "2026-01-01T01:00:00.123456789Z",
            "2024-02-29T00:00:00Z",
            "2016-12-31T23:59:60Z",
        ] {
            assert!(Timestamp::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "2026-01-01",
            "2026-01-01T01:00:00",
            "2026-01-01T01:00:00+00:00",
            "2026-01-01t01:00:00z",
            "2026-01-01 01:00:00Z",
            "2026-01-01T01:00:00.Z",
            "2026-01-01T01:00:00.1234567890Z",
            "2026-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-00-10T00:00:00Z",
            "2026-13-10T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:60Z",
            "02026-01-01T00:00:00Z",
            "2026-01-01T01:00:00Z ",
            "２026-01-01T01:00:0Z",
        ] {
            assert!(Timestamp::parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_taken(ms in 0..300_000_000_000_000_u64) {
            let written = Timestamp::of(Ms(ms));
            prop_assert_eq!(Timestamp::parse(written.as_str()), Ok(written));
        }

        #[test]
        fn a_day_later_is_the_next_date(day in 0..2_932_895_u64) {
            let (a, b) = (civil(day), civil(day + 1));
            prop_assert!(b > a);
            prop_assert!(a.2 <= u64::from(days_in(u32::try_from(a.0).unwrap(), u32::try_from(a.1).unwrap())));
        }
    }
}
