//! Moments and durations, as Kubernetes writes them.
//!
//! A moment is one number; no calendar reaches further than this file. Nothing here reads a clock: the present is
//! always an argument.

use crate::address::Line;
use core::fmt;

/// Nanoseconds since 1970 in UTC; good until July 2554.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

impl Timestamp {
    /// No time: absent, or not to be read. The first nanosecond of 1970 cannot be told from it.
    pub const NONE: Self = Self(0);

    /// From nanoseconds since 1970 in UTC.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since 1970 in UTC.
    #[must_use]
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// There is no time.
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Nanoseconds from `earlier` to this; 0 if it is not earlier.
    #[must_use]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Reads RFC 3339: `2024-03-01T10:00:00.25+01:00`. Digits past the nanosecond are dropped. A time outside of
    /// 1970 to July 2554 is none, Kubernetes' zero time (year 1) included. So is a leap second (`:60`): Go, in which
    /// the API server is written, can neither read nor write one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.as_bytes();
        let (year, rest) = digits::<4>(rest)?;
        let (month, rest) = digits::<2>(rest.strip_prefix(b"-")?)?;
        let (day, rest) = digits::<2>(rest.strip_prefix(b"-")?)?;
        let rest = rest.strip_prefix(b"T").or_else(|| rest.strip_prefix(b"t"))?;
        let (hour, rest) = digits::<2>(rest)?;
        let (minute, rest) = digits::<2>(rest.strip_prefix(b":")?)?;
        let (second, rest) = digits::<2>(rest.strip_prefix(b":")?)?;
        let (fraction, rest) = match rest.strip_prefix(b".") {
            Some(rest) => fraction(rest, SECOND)?,
            None => (0, rest),
        };
        let day_exists =
            year >= 1970 && (1..=12).contains(&month) && (1..=month_days(year, month)).contains(&day);
        if !day_exists || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let local = days(year, month, day)
            .checked_mul(86_400)?
            .checked_add(clock_seconds(hour, minute))?
            .checked_add(second)?;
        let utc = match rest {
            b"Z" | b"z" => local,
            [sign @ (b'+' | b'-'), rest @ ..] => {
                let (hour, rest) = digits::<2>(rest)?;
                let (minute, rest) = digits::<2>(rest.strip_prefix(b":")?)?;
                if !rest.is_empty() || hour > 23 || minute > 59 {
                    return None;
                }
                let ahead = clock_seconds(hour, minute);
                if *sign == b'+' { local.checked_sub(ahead)? } else { local.checked_add(ahead)? }
            }
            _ => return None,
        };
        utc.checked_mul(SECOND)?.checked_add(fraction).map(Self)
    }

    /// RFC 3339 in UTC, ending in `Z`, with as many digits of a second as are needed, or none.
    pub fn text<'b>(&self, buffer: &'b mut [u8; 35]) -> &'b str {
        let (seconds, fraction) = (self.0 / SECOND, self.0 % SECOND);
        let (year, month, day) = date(seconds / 86_400);
        let clock = seconds % 86_400;
        let mut line = Line::new(buffer);
        line.digits(year, 1_000);
        line.byte(b'-');
        line.digits(month, 10);
        line.byte(b'-');
        line.digits(day, 10);
        line.byte(b'T');
        line.digits(clock / 3_600, 10);
        line.byte(b':');
        line.digits(clock / 60 % 60, 10);
        line.byte(b':');
        line.digits(clock % 60, 10);
        if fraction > 0 {
            line.byte(b'.');
            let (mut value, mut unit) = (fraction, SECOND / 10);
            while value.is_multiple_of(10) {
                value /= 10;
                unit /= 10;
            }
            line.digits(value, unit);
        }
        line.byte(b'Z');
        line.finish()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text(&mut [0; 35]))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none() { f.write_str("none") } else { fmt::Display::fmt(self, f) }
    }
}

/// Reads a duration in Go's form, as annotations and configurations have it (`30s`, `1m30s`, `500ms`, `1.5h`), in
/// nanoseconds. What is negative, has no unit, or is over 584 years is none; a bare `0` needs no unit.
#[must_use]
pub fn span(text: &str) -> Option<u64> {
    let mut rest = text.strip_prefix('+').unwrap_or(text).as_bytes();
    if rest == b"0" {
        return Some(0);
    }
    let mut total = 0u64;
    loop {
        let (whole, after) = split_while(rest, |byte| byte.is_ascii_digit());
        let (part, after) = split_while(after, |byte| byte == b'.' || byte.is_ascii_digit());
        let (unit, after) = split_while(after, |byte| byte != b'.' && !byte.is_ascii_digit());
        let unit = match unit {
            b"ns" => 1,
            b"us" | b"\xc2\xb5s" | b"\xce\xbcs" => 1_000, // Micro sign and Greek mu.
            b"ms" => 1_000_000,
            b"s" => SECOND,
            b"m" => 60 * SECOND,
            b"h" => 3_600 * SECOND,
            _ => return None,
        };
        let part = match part.strip_prefix(b".") {
            Some([]) if whole.is_empty() => return None,
            Some([]) => 0,
            Some(part) => match fraction(part, unit)? {
                (part, []) => part,
                _ => return None,
            },
            None if whole.is_empty() => return None,
            None => 0,
        };
        let mut value = 0u64;
        for digit in whole {
            value = value.checked_mul(10)?.checked_add(digit.wrapping_sub(b'0').into())?;
        }
        total = total.checked_add(value.checked_mul(unit)?)?.checked_add(part)?;
        if after.is_empty() {
            return Some(total);
        }
        rest = after;
    }
}

/// Exactly `N` decimal digits, and what follows them.
fn digits<const N: usize>(text: &[u8]) -> Option<(u64, &[u8])> {
    let (digits, rest) = text.split_first_chunk::<N>()?;
    let mut value = 0u64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value.saturating_mul(10).saturating_add(digit.wrapping_sub(b'0').into());
    }
    Some((value, rest))
}

/// One or more digits after a point, in parts of `unit`; digits worth less than one part are dropped.
fn fraction(text: &[u8], unit: u64) -> Option<(u64, &[u8])> {
    let (digits, rest) = split_while(text, |byte| byte.is_ascii_digit());
    if digits.is_empty() {
        return None;
    }
    let (mut value, mut worth) = (0u64, unit);
    for digit in digits {
        worth /= 10;
        value = value.saturating_add(worth.saturating_mul(digit.wrapping_sub(b'0').into()));
    }
    Some((value, rest))
}

/// The longest beginning of which every byte answers yes, and the rest.
fn split_while(text: &[u8], is: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    let mut rest = text;
    while let Some((first, after)) = rest.split_first()
        && is(*first)
    {
        rest = after;
    }
    text.split_at_checked(text.len().saturating_sub(rest.len())).unwrap_or((text, &[]))
}

const fn clock_seconds(hour: u64, minute: u64) -> u64 {
    hour.saturating_mul(3_600).saturating_add(minute.saturating_mul(60))
}

const fn month_days(year: u64, month: u64) -> u64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days from the first of March of year 0 to the first of January 1970.
const EPOCH: u64 = 719_468;

/// Days since 1970 of a date from 1970 on. Years are counted from March here, so that the leap day is their last.
const fn days(year: u64, month: u64, day: u64) -> u64 {
    let year = if month > 2 { year } else { year.saturating_sub(1) };
    let months = month.saturating_add(9) % 12;
    let days_before_month = months.saturating_mul(153).saturating_add(2) / 5;
    year.saturating_mul(365)
        .saturating_add(year / 4)
        .saturating_sub(year / 100)
        .saturating_add(year / 400)
        .saturating_add(days_before_month)
        .saturating_add(day)
        .saturating_sub(EPOCH.saturating_add(1))
}

/// Year, month and day; the reverse of [`days`].
const fn date(days_since_1970: u64) -> (u64, u64, u64) {
    let days = days_since_1970.saturating_add(EPOCH);
    let (cycle, day) = (days / 146_097, days % 146_097); // Cycles of 400 years.
    // Without the leap days of the cycle so far, each year has 365 days.
    let leap_days = (day / 1_460).saturating_add(day / 146_096).saturating_sub(day / 36_524);
    let year = day.saturating_sub(leap_days) / 365;
    let before_year = year.saturating_mul(365).saturating_add(year / 4).saturating_sub(year / 100);
    let day = day.saturating_sub(before_year);
    let months = day.saturating_mul(5).saturating_add(2) / 153;
    let before_month = months.saturating_mul(153).saturating_add(2) / 5;
    let month = if months < 10 { months.saturating_add(3) } else { months.saturating_sub(9) };
    let year = cycle.saturating_mul(400).saturating_add(year);
    (
        if month > 2 { year } else { year.saturating_add(1) },
        month,
        day.saturating_sub(before_month).saturating_add(1),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the time is written back as; `-` if it is none.
    #[track_caller]
    fn time(text: &str, want: &str) {
        let got = Timestamp::parse(text);
        assert_eq!(got.map_or("-".to_string(), |time| time.to_string()), want, "{text}");
        assert_eq!(got, Timestamp::parse(want), "{text} read back");
    }

    #[test]
    fn a_time_is_written_in_utc_with_no_digit_too_many() {
        time("2024-03-01T10:00:00Z", "2024-03-01T10:00:00Z");
        time("2024-03-01T10:00:00+01:00", "2024-03-01T09:00:00Z");
        time("2024-02-29T20:30:00-05:45", "2024-03-01T02:15:00Z");
        time("2024-03-01T10:00:00.250Z", "2024-03-01T10:00:00.25Z");
        time("2024-03-01T10:00:00.000000000Z", "2024-03-01T10:00:00Z");
        time("2024-03-01T10:00:00.000000001Z", "2024-03-01T10:00:00.000000001Z");
        time("2024-03-01T10:00:00.1234567899Z", "2024-03-01T10:00:00.123456789Z");
        time("2024-03-01t10:00:00z", "2024-03-01T10:00:00Z");
    }

    #[test]
    fn what_is_no_rfc_3339_is_no_time() {
        for refused in [
            "",
            "yesterday",
            "2024-03-01",
            "2024-03-01T10:00:00",
            "2024-03-01 10:00:00Z",
            "2024-03-01T10:00Z",
            "2024-03-01T10:00:00.Z",
            "2024-03-01T10:00:00+0100",
            "2024-03-01T10:00:00+24:00",
            "2024-03-01T10:00:00Z ",
            "24-03-01T10:00:00Z",
            "2024-3-1T10:00:00Z",
            "2024-03-01T24:00:00Z",
            "2024-03-01T10:60:00Z",
            "+024-03-01T10:00:00Z",
        ] {
            time(refused, "-");
        }
    }

    #[test]
    fn days_that_do_not_exist_are_refused_and_leap_seconds_too() {
        for refused in [
            "2023-02-29T00:00:00Z",
            "2100-02-29T00:00:00Z",
            "2024-04-31T00:00:00Z",
            "2024-00-01T00:00:00Z",
            "2024-13-01T00:00:00Z",
            "2024-01-00T00:00:00Z",
            "2016-12-31T23:59:60Z",
        ] {
            time(refused, "-");
        }
        time("2000-02-29T00:00:00Z", "2000-02-29T00:00:00Z");
    }

    #[test]
    fn times_reach_from_1970_to_2554() {
        for refused in [
            "0001-01-01T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "1970-01-01T00:30:00+01:00",
            "2554-07-21T23:34:33.709551616Z",
            "9999-12-31T23:59:59Z",
        ] {
            time(refused, "-");
        }
        time("2554-07-21T23:34:33.709551615Z", "2554-07-21T23:34:33.709551615Z");
        assert_eq!(Timestamp::parse("1970-01-01T00:00:00Z"), Some(Timestamp::NONE));
        assert_eq!(Timestamp::from_nanos(u64::MAX).text(&mut [0; 35]), "2554-07-21T23:34:33.709551615Z");
    }

    #[test]
    fn every_day_is_one_after_the_day_before() {
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for count in 0..213_503 {
            assert_eq!((days(year, month, day), date(count)), (count, (year, month, day)));
            day += 1;
            if day > month_days(year, month) {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
    }

    #[test]
    fn a_known_number_of_seconds() {
        assert_eq!(
            Timestamp::parse("2001-09-09T01:46:40.5Z").map(Timestamp::nanos),
            Some(1_000_000_000_500_000_000)
        );
    }

    #[test]
    fn time_since_a_later_time_is_zero() {
        let (t1, t2) = (Timestamp::from_nanos(1_000), Timestamp::from_nanos(3_000));
        assert_eq!((t2.since(t1), t1.since(t2)), (2_000, 0));
    }

    #[test]
    fn a_span_is_read_as_go_reads_it() {
        for (text, nanos) in [
            ("0", 0),
            ("0s", 0),
            ("30s", 30 * SECOND),
            ("1m30s", 90 * SECOND),
            ("500ms", SECOND / 2),
            ("1h", 3_600 * SECOND),
            ("1.5h", 5_400 * SECOND),
            ("+1s", SECOND),
            (".5s", SECOND / 2),
            ("1.s", SECOND),
            ("1us", 1_000),
            ("1µs", 1_000),
            ("1.9ns", 1),
            ("0.123456789123s", 123_456_789),
            ("1h2m3s4ms5us6ns", 3_723_004_005_006),
            ("1s1h", 3_601 * SECOND),
            ("5124095h", 5_124_095 * 3_600 * SECOND),
        ] {
            assert_eq!(span(text), Some(nanos), "{text}");
        }
        for refused in [
            "",
            "+",
            "30",
            "-1s",
            "s",
            ".s",
            ".",
            "1..5s",
            "1.5.5s",
            "1 s",
            "1s ",
            "1d",
            "1S",
            "5124096h",
            "99999999999999999999ns",
            "++1s",
            "1m30",
        ] {
            assert_eq!(span(refused), None, "{refused}");
        }
    }
}
