//! Days and times in UTC as texts.

use std::time::Duration;

use chrono::{DateTime, NaiveDate, SecondsFormat};

/// Seconds since 1970 at the beginning of the year 0 and at the end of the year 9999, which a text has room for.
const YEARS: (i64, i64) = (-62_167_219_200, 253_402_300_799);

/// Returns the day of a time in seconds since 1970, as `YYYY-MM-DD`.
pub fn day(seconds: i64) -> String {
    time_at(seconds).date_naive().to_string()
}

/// Returns a time in seconds since 1970 as `YYYY-MM-DDThh:mm:ssZ`.
pub fn timestamp(seconds: i64) -> String {
    time_at(seconds).to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Returns a time since 1970 as `YYYY-MM-DDThh:mm:ss.mmmZ`.
pub fn timestamp_millis(since_1970: Duration) -> String {
    let seconds = i64::try_from(since_1970.as_secs()).unwrap_or(i64::MAX);
    let time = time_at(seconds) + Duration::from_millis(since_1970.subsec_millis().into());
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Returns whether a text is a day of the calendar, as [`day`] writes it.
pub fn is_day(text: &str) -> bool {
    NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok_and(|day| day.to_string() == text)
}

/// Returns whether a text is a time, as [`timestamp`] writes it.
pub fn is_timestamp(text: &str) -> bool {
    DateTime::parse_from_rfc3339(text).is_ok_and(|time| timestamp(time.timestamp()) == text)
}

fn time_at(seconds: i64) -> DateTime<chrono::Utc> {
    let (first, last) = YEARS;
    DateTime::from_timestamp_secs(seconds.clamp(first, last)).expect("the years 0 to 9999 have times")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_its_day_and_its_text() {
        let cases = [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_164_800, "2024-02-29T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (i64::MIN, "0000-01-01T00:00:00Z"),
            (i64::MAX, "9999-12-31T23:59:59Z"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(timestamp(seconds), expected);
            assert_eq!(day(seconds), expected[..10]);
            assert!(is_timestamp(expected) && is_day(&expected[..10]), "{expected}");
        }
    }

    #[test]
    fn a_day_and_a_time_have_one_form() {
        for text in [
            "",
            "2024-5-01",
            "2024-02-30",
            "2023-02-29",
            "+2024-05-01",
            "2024-05-01 ",
            "2024-13-01",
            "20240501",
            "10000-01-01",
        ] {
            assert!(!is_day(text), "{text:?}");
        }
        for text in [
            "2024-05-01T12:00:00+",
            "2024-05-01 12:00:00Z",
            "2024-05-01T12:00:00Z\n",
            "2024-05-01T12:00:00+00:00",
            "2024-05-01T12:00:00.5Z",
            "2024-05-01t12:00:00z",
            "2024-05-01T12:00:60Z",
            "2024-02-30T12:00:00Z",
        ] {
            assert!(!is_timestamp(text), "{text:?}");
        }
    }
}
