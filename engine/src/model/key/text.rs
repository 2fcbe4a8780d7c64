//! Canonical texts of scalar values, in both directions: what ids, exports and inputs agree on.
//!
//! Pure and exact: a text written here reads back as the same value. It decides nothing about types,
//! nulls or errors; it says only what a value looks like.

use std::fmt::{self, Write};

/// First day with a four-digit year: 0000-01-01.
pub const MIN_DATE: i32 = days_of(0, 1, 1) as i32;
/// Last day with a four-digit year: 9999-12-31.
pub const MAX_DATE: i32 = days_of(9999, 12, 31) as i32;

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// Whether a number of days since 1970-01-01 has a text: years 0000 to 9999.
pub fn is_date(days: i32) -> bool {
    (MIN_DATE..=MAX_DATE).contains(&days)
}

/// Whether a number of microseconds since 1970-01-01 UTC has a text: years 0000 to 9999.
pub fn is_datetime(micros: i64) -> bool {
    (i64::from(MIN_DATE)..=i64::from(MAX_DATE)).contains(&micros.div_euclid(MICROS_PER_DAY))
}

// Days since 1970-01-01 in the proleptic Gregorian calendar, counted in eras of 400 years that begin on
// the first of March so that the leap day is the last of its year (H. Hinnant, "chrono-compatible
// low-level date algorithms").
const fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn civil_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// Writes a day as `yyyy-mm-dd`. Meant for days that [`is_date`] accepts.
pub fn date(out: &mut impl Write, days: i32) {
    let (year, month, day) = civil_of(i64::from(days));
    put(out, format_args!("{year:04}-{month:02}-{day:02}"));
}

/// Writes an instant as RFC 3339 in UTC, with as many fractional digits as it needs and none if it needs
/// none: `2024-05-01T09:30:00.25Z`. Meant for instants that [`is_datetime`] accepts.
pub fn datetime(out: &mut impl Write, micros: i64) {
    let (year, month, day) = civil_of(micros.div_euclid(MICROS_PER_DAY));
    let of_day = micros.rem_euclid(MICROS_PER_DAY);
    let seconds = of_day / MICROS_PER_SECOND;
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    put(out, format_args!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"));
    let (mut fraction, mut width) = (of_day % MICROS_PER_SECOND, 6);
    if fraction > 0 {
        while fraction % 10 == 0 {
            fraction /= 10;
            width -= 1;
        }
        put(out, format_args!(".{fraction:0width$}"));
    }
    put(out, format_args!("Z"));
}

/// Reads `yyyy-mm-dd` and nothing else as days since 1970-01-01. A time of day is not dropped but refused.
pub fn parse_date(text: &str) -> Option<i32> {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let (year, month, day) = (number(&bytes[..4])?, number(&bytes[5..7])?, number(&bytes[8..])?);
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let last = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(leap),
        _ => return None,
    };
    if !(1..=last).contains(&day) {
        return None;
    }
    i32::try_from(days_of(year, month, day)).ok()
}

/// Reads an RFC 3339 instant with its offset as microseconds since 1970-01-01 UTC. Digits beyond
/// microseconds must be zero; a leap second has no place on this scale.
///
/// # Errors
/// What is wrong, as the rest of a sentence that starts with the text.
pub fn parse_datetime(text: &str) -> Result<i64, &'static str> {
    const SHAPE: &str = "is not an RFC 3339 date and time such as 2024-05-01T09:30:00Z";
    let days = text.get(..10).and_then(parse_date).ok_or(SHAPE)?;
    let time = text.as_bytes().get(10..).unwrap_or_default();
    let [b'T' | b't', h1, h2, b':', m1, m2, b':', s1, s2, rest @ ..] = time else {
        return Err(SHAPE);
    };
    let two = |a: &u8, b: &u8| number(&[*a, *b]).ok_or(SHAPE);
    let (hour, minute, second) = (two(h1, h2)?, two(m1, m2)?, two(s1, s2)?);
    if hour > 23 || minute > 59 || second > 60 {
        return Err(SHAPE);
    }
    if second == 60 {
        return Err("names a leap second, which cannot be stored");
    }
    let (fraction, rest) = parse_fraction(rest)?;
    let offset = match rest {
        [] => return Err("has no offset; end it with Z or an offset such as +02:00"),
        [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (two(h1, h2)?, two(m1, m2)?);
            if hours > 23 || minutes > 59 {
                return Err(SHAPE);
            }
            (hours * 3_600 + minutes * 60) * if *sign == b'-' { -1 } else { 1 }
        }
        _ => return Err(SHAPE),
    };
    let seconds = i64::from(days) * 86_400 + hour * 3_600 + minute * 60 + second - offset;
    let micros = seconds * MICROS_PER_SECOND + fraction;
    if is_datetime(micros) { Ok(micros) } else { Err("lies outside the years 0000 to 9999 in UTC") }
}

fn parse_fraction(bytes: &[u8]) -> Result<(i64, &[u8]), &'static str> {
    let [b'.', digits @ ..] = bytes else {
        return Ok((0, bytes));
    };
    let length = digits.iter().take_while(|b| b.is_ascii_digit()).count();
    if length == 0 {
        return Err("has a decimal point without digits after it");
    }
    let (digits, rest) = digits.split_at(length);
    let mut micros = 0;
    for place in 0..6 {
        micros = micros * 10 + digits.get(place).map_or(0, |b| i64::from(b - b'0'));
    }
    if digits.iter().skip(6).any(|b| *b != b'0') {
        return Err("is finer than a microsecond, which cannot be stored");
    }
    Ok((micros, rest))
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |value, b| b.is_ascii_digit().then(|| value * 10 + i64::from(b - b'0')))
}

/// Writes the shortest text that reads back as the same 64-bit float, laid out as ECMAScript and the JSON
/// Canonicalization Scheme (RFC 8785) do: `1`, `0.1`, `1e+21`. Meant for finite numbers; negative zero is
/// `-0`.
pub fn float64(out: &mut impl Write, value: f64) {
    let mut digits = Digits::default();
    put(&mut digits, format_args!("{value:e}"));
    lay_out(out, digits.as_str());
}

/// As [`float64`], with the digits a 32-bit float needs.
pub fn float32(out: &mut impl Write, value: f32) {
    let mut digits = Digits::default();
    put(&mut digits, format_args!("{value:e}"));
    lay_out(out, digits.as_str());
}

// `scientific` is what `{:e}` gives for a finite number: `-1.25e-7`, the shortest digits.
fn lay_out(out: &mut impl Write, scientific: &str) {
    let (sign, scientific) = match scientific.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", scientific),
    };
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let (first, rest) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let count = 1 + rest.len() as i32;
    // The decimal point stands after this many digits.
    let point = exponent + 1;
    if count <= point && point <= 21 {
        let zeros = (point - count) as usize;
        put(out, format_args!("{sign}{first}{rest}{:0<zeros$}", ""));
    } else if 0 < point && point <= 21 {
        let (whole, fraction) = rest.split_at(point as usize - 1);
        put(out, format_args!("{sign}{first}{whole}.{fraction}"));
    } else if -6 < point && point <= 0 {
        let zeros = -point as usize;
        put(out, format_args!("{sign}0.{:0<zeros$}{first}{rest}", ""));
    } else {
        let dot = if rest.is_empty() { "" } else { "." };
        put(out, format_args!("{sign}{first}{dot}{rest}e{exponent:+}"));
    }
}

/// Writes a text as a JSON string. Only what JSON requires is escaped, in one way only, so that equal
/// texts give equal bytes.
pub fn json_string(out: &mut impl Write, text: &str) {
    put_str(out, "\"");
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0c => "\\f",
            0..=0x1f => "",
            _ => continue,
        };
        // Every escaped byte is ASCII, so both cuts fall between characters.
        put_str(out, &text[plain..at]);
        match escape {
            "" => put(out, format_args!("\\u{byte:04x}")),
            _ => put_str(out, escape),
        }
        plain = at + 1;
    }
    put_str(out, &text[plain..]);
    put_str(out, "\"");
}

// The outputs written to here are strings and byte buffers in memory, which cannot fail.
fn put(out: &mut impl Write, arguments: fmt::Arguments<'_>) {
    let _ = out.write_fmt(arguments);
}

fn put_str(out: &mut impl Write, text: &str) {
    let _ = out.write_str(text);
}

// Holds the digits of one float without allocating: at most 17 digits, a sign, a point and an exponent.
#[derive(Default)]
struct Digits {
    bytes: [u8; 32],
    len: usize,
}

impl Digits {
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl Write for Digits {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
