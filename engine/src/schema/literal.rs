//! The written form of texts and range bounds, in both directions. It knows no grammar and no rules
//! beyond what a bound of a type can be.

use std::cmp::Ordering;
use std::fmt::Write as _;

use chrono::{DateTime, Datelike, NaiveDate, SecondsFormat, TimeDelta, Utc};

use crate::model::{ScalarType, Value};

/// A bound as written.
#[derive(Clone, Debug)]
pub(super) enum Literal {
    /// A number's digits.
    Number(String),
    /// Quoted text, decoded.
    Text(String),
}

/// Decodes the inside of quoted text. `Err` is the byte within `raw` of the first bad escape.
pub(super) fn unescape(raw: &str) -> Result<String, usize> {
    let mut out = String::with_capacity(raw.len());
    let mut chars = raw.char_indices();
    while let Some((at, c)) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let decoded = match chars.next() {
            Some((_, 'n')) => '\n',
            Some((_, 'r')) => '\r',
            Some((_, 't')) => '\t',
            Some((_, c @ ('"' | '\\' | '/'))) => c,
            Some((i, 'u')) => {
                let (code, length) = unicode_escape(&raw[i + 1..]).ok_or(at)?;
                for _ in 0..length {
                    chars.next();
                }
                code
            }
            _ => return Err(at),
        };
        out.push(decoded);
    }
    Ok(out)
}

/// The character after `\u` and the ASCII characters it takes: four hex digits, or up to six in braces.
fn unicode_escape(rest: &str) -> Option<(char, usize)> {
    let (digits, length) = match rest.strip_prefix('{') {
        Some(braced) => {
            let digits = &braced[..braced.find('}').filter(|n| (1..=6).contains(n))?];
            (digits, digits.len() + 2)
        }
        None => (rest.get(..4)?, 4),
    };
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let code = u32::from_str_radix(digits, 16).ok()?;
    Some((char::from_u32(code)?, length))
}

/// `text` in quotes, so that it reads back the same.
pub(super) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // A byte order mark and control characters do not survive editors.
            c if c.is_control() || c == '\u{feff}' => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// What a bound of `ty` must be, for messages; `None` if the type has no ranges.
pub(super) fn expected_bound(ty: ScalarType) -> Option<&'static str> {
    match ty {
        ScalarType::I32 => Some("an integer from -2147483648 to 2147483647"),
        ScalarType::I64 => Some("an integer from -9223372036854775808 to 9223372036854775807"),
        ScalarType::U32 => Some("an integer from 0 to 4294967295"),
        ScalarType::U64 => Some("an integer from 0 to 18446744073709551615"),
        ScalarType::F32 => Some("a finite number that 32 bits can hold"),
        ScalarType::F64 => Some("a finite number"),
        ScalarType::Date => Some("a quoted day from year 0000 to 9999 like \"2001-12-31\""),
        ScalarType::DateTime => Some(
            "a quoted time from year 0000 to 9999, at most microseconds, like \
             \"2001-12-31T23:59:59Z\"",
        ),
        ScalarType::String | ScalarType::Bool | ScalarType::Blob => None,
    }
}

/// The bound `literal` means for `ty`; `None` if it is not what [`expected_bound`] says.
pub(super) fn read_bound(ty: ScalarType, literal: &Literal) -> Option<Value> {
    let value = match (ty, literal) {
        (ScalarType::I32 | ScalarType::I64, Literal::Number(n)) => Value::I64(n.parse().ok()?),
        (ScalarType::U32 | ScalarType::U64, Literal::Number(n)) => Value::U64(n.parse().ok()?),
        (ScalarType::F32 | ScalarType::F64, Literal::Number(n)) => Value::F64(n.parse().ok()?),
        (ScalarType::Date, Literal::Text(text)) => Value::Date(read_date(text)?),
        (ScalarType::DateTime, Literal::Text(text)) => Value::Timestamp(read_time(text)?),
        _ => return None,
    };
    is_bound(ty, &value).then_some(value)
}

/// Whether `value` can be a bound of `ty`.
pub(super) fn is_bound(ty: ScalarType, value: &Value) -> bool {
    match (ty, value) {
        (ScalarType::I32, Value::I64(n)) => i32::try_from(*n).is_ok(),
        (ScalarType::U32, Value::U64(n)) => u32::try_from(*n).is_ok(),
        (ScalarType::I64, Value::I64(_)) | (ScalarType::U64, Value::U64(_)) => true,
        (ScalarType::F32, Value::F64(x)) => x.is_finite() && x.abs() <= f64::from(f32::MAX),
        (ScalarType::F64, Value::F64(x)) => x.is_finite(),
        (ScalarType::Date, Value::Date(days)) => date(*days).is_some(),
        (ScalarType::DateTime, Value::Timestamp(micros)) => time(*micros).is_some(),
        _ => false,
    }
}

/// How two bounds of one type compare; `None` if they are not of one type.
pub(super) fn compare_bounds(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::I64(a), Value::I64(b)) => Some(a.cmp(b)),
        (Value::U64(a), Value::U64(b)) => Some(a.cmp(b)),
        (Value::F64(a), Value::F64(b)) => a.partial_cmp(b),
        (Value::Date(a), Value::Date(b)) => Some(a.cmp(b)),
        (Value::Timestamp(a), Value::Timestamp(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// A bound as written. Values that cannot be bounds are shown in Rust's notation.
pub(super) fn write_bound(value: &Value) -> String {
    let written = match value {
        Value::I64(n) => Some(n.to_string()),
        Value::U64(n) => Some(n.to_string()),
        Value::F64(x) => Some(format!("{x:?}")),
        Value::Date(days) => date(*days).map(|d| quote(&d.format("%Y-%m-%d").to_string())),
        Value::Timestamp(micros) => time(*micros).map(|t| quote(&t.to_rfc3339_opts(SecondsFormat::AutoSi, true))),
        _ => None,
    };
    written.unwrap_or_else(|| format!("{value:?}"))
}

fn read_date(text: &str) -> Option<i32> {
    // The parser beneath also takes signs, spaces and short fields; one day has one spelling here.
    if text.len() != 10 || text.bytes().any(|b| !b.is_ascii_digit() && b != b'-') {
        return None;
    }
    let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
    i32::try_from((day - DateTime::UNIX_EPOCH.date_naive()).num_days()).ok()
}

fn read_time(text: &str) -> Option<i64> {
    let time = DateTime::parse_from_rfc3339(text).ok()?;
    // A bound between two microseconds would silently become another bound.
    (time.timestamp_subsec_nanos() % 1000 == 0).then(|| time.timestamp_micros())
}

fn date(days: i32) -> Option<NaiveDate> {
    DateTime::UNIX_EPOCH
        .date_naive()
        .checked_add_signed(TimeDelta::days(i64::from(days)))
        .filter(|d| (0..=9999).contains(&d.year()))
}

fn time(micros: i64) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp_micros(micros).filter(|t| (0..=9999).contains(&t.year()))
}
