//! Texts against tables and against another calendar and writer.

use chrono::{DateTime, NaiveDate, Utc};
use proptest::prelude::*;

use super::*;

fn written(write: impl FnOnce(&mut String)) -> String {
    let mut out = String::new();
    write(&mut out);
    out
}

#[test]
fn floats_are_laid_out_as_in_the_json_canonicalization_scheme() {
    let cases = [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (-1.5, "-1.5"),
        (0.1, "0.1"),
        (123_456.789, "123456.789"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (1e-6, "0.000001"),
        (1.25e-7, "1.25e-7"),
        (5e-324, "5e-324"),
        (f64::MAX, "1.7976931348623157e+308"),
        (9_007_199_254_740_993.0, "9007199254740992"),
    ];
    for (value, text) in cases {
        assert_eq!(written(|out| float64(out, value)), text);
    }
    assert_eq!(written(|out| float32(out, 0.1)), "0.1");
    assert_eq!(written(|out| float32(out, 16_777_216.0)), "16777216");
    assert_eq!(written(|out| float32(out, f32::MAX)), "3.4028235e+38");
}

#[test]
fn only_whole_days_are_dates() {
    assert_eq!(parse_date("1970-01-01"), Some(0));
    assert_eq!(parse_date("1969-12-31"), Some(-1));
    assert_eq!(parse_date("2024-02-29"), Some(19_782));
    assert_eq!(parse_date("0000-01-01"), Some(MIN_DATE));
    assert_eq!(parse_date("9999-12-31"), Some(MAX_DATE));
    let wrong = [
        "",
        "2023-02-29",
        "1900-02-29",
        "2024-13-01",
        "2024-00-10",
        "2024-04-31",
        "2024-01-00",
        "2024-1-1",
        "20240101",
        "2024-01-01T00:00:00Z",
        "2024-01-01 ",
        "+024-01-01",
        "2024/01/01",
        "2024-01-0é",
        "19723",
    ];
    for text in wrong {
        assert_eq!(parse_date(text), None, "{text}");
    }
}

#[test]
fn instants_need_an_offset_and_keep_every_microsecond() {
    let cases = [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.000001Z", 1),
        ("1969-12-31T23:59:59.999999Z", -1),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1969-12-31T19:30:00-04:30", 0),
        ("1970-01-01t00:00:01.5z", 1_500_000),
        ("1970-01-01T00:00:00.123456000Z", 123_456),
        ("1970-01-01T00:00:00-00:00", 0),
    ];
    for (text, micros) in cases {
        assert_eq!(parse_datetime(text), Ok(micros), "{text}");
    }
    let wrong = [
        ("2024-01-01T00:00:00", "offset"),
        ("2024-01-01T00:00:00.5", "offset"),
        ("2024-01-01T00:00:00.0000001Z", "microsecond"),
        ("2024-12-31T23:59:60Z", "leap second"),
        ("9999-12-31T23:59:59-01:00", "outside"),
        ("0000-01-01T00:00:00+00:01", "outside"),
        ("2024-01-01", "RFC 3339"),
        ("2024-01-01 00:00:00Z", "RFC 3339"),
        ("2024-01-01T24:00:00Z", "RFC 3339"),
        ("2024-01-01T00:60:00Z", "RFC 3339"),
        ("2024-01-01T00:00:00+0200", "RFC 3339"),
        ("2024-01-01T00:00:00+24:00", "RFC 3339"),
        ("2024-01-01T00:00:00ZZ", "RFC 3339"),
        ("2024-01-01T00:00:00.Z", "decimal point"),
        ("2024-01-01T0:00:00Z", "RFC 3339"),
        ("2024-02-30T00:00:00Z", "RFC 3339"),
        ("", "RFC 3339"),
    ];
    for (text, why) in wrong {
        let said = parse_datetime(text).unwrap_err();
        assert!(said.contains(why), "{text}: {said}");
    }
}

proptest! {
    #[test]
    fn dates_agree_with_another_calendar(days in MIN_DATE..=MAX_DATE) {
        let other = NaiveDate::from_num_days_from_ce_opt(days + 719_163).unwrap();
        let text = written(|out| date(out, days));
        prop_assert_eq!(&text, &other.format("%Y-%m-%d").to_string());
        prop_assert_eq!(parse_date(&text), Some(days));
    }

    #[test]
    fn instants_agree_with_another_calendar(seconds in -62_167_219_200i64..=253_402_300_799, fraction in 0i64..1_000_000) {
        let micros = seconds * 1_000_000 + fraction;
        prop_assert!(is_datetime(micros));
        let text = written(|out| datetime(out, micros));
        let other = DateTime::parse_from_rfc3339(&text).unwrap();
        prop_assert_eq!(other.timestamp_micros(), micros);
        prop_assert_eq!(parse_datetime(&text), Ok(micros));
        let moved = DateTime::<Utc>::from_timestamp_micros(micros).unwrap();
        let moved = moved.with_timezone(&chrono::FixedOffset::west_opt(5 * 3600 + 1800).unwrap());
        if (0..=9999).contains(&chrono::Datelike::year(&moved)) {
            prop_assert_eq!(parse_datetime(&moved.to_rfc3339()), Ok(micros));
        }
    }

    #[test]
    fn floats_read_back(value in proptest::num::f64::ANY.prop_filter("finite", |f| f.is_finite())) {
        let text = written(|out| float64(out, value));
        prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits());
        prop_assert!(serde_json::from_str::<f64>(&text).is_ok());
        let narrow = value as f32;
        if narrow.is_finite() {
            let text = written(|out| float32(out, narrow));
            prop_assert_eq!(text.parse::<f32>().unwrap().to_bits(), narrow.to_bits());
        }
    }

    #[test]
    fn json_strings_are_those_of_another_writer(text in any::<String>()) {
        prop_assert_eq!(written(|out| json_string(out, &text)), serde_json::to_string(&text).unwrap());
    }
}
