//! Values as people write them, read for a declared type, and values written for people. The spelling is that
//! of the data format.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use omnigraph_engine::model::key::text;
use omnigraph_engine::model::{PropertyType, ScalarType, Value};
use serde_json::{Number, Value as Json, json};

/// How base64 of a blob is announced.
const BLOB: &str = "base64:";

/// Why a value does not fit: what was expected.
type Misfit = String;

/// Reads JSON as a value of a property's type. Without a type, as what it looks like: the write will say what
/// is wrong with it.
pub(crate) fn from_json(json: &Json, ty: Option<&PropertyType>) -> Result<Value, Misfit> {
    match (json, ty) {
        (Json::Null, _) => Ok(Value::Null),
        (_, None) => Ok(untyped(json)),
        (_, Some(PropertyType::Scalar(scalar))) => scalar_from_json(json, *scalar),
        (Json::String(text), Some(PropertyType::Enum(_))) => Ok(Value::String(text.clone())),
        (Json::Array(members), Some(PropertyType::List(scalar))) => {
            let member = |json: &Json| match json {
                Json::Null => Ok(Value::Null),
                json => scalar_from_json(json, *scalar),
            };
            Ok(Value::List(members.iter().map(member).collect::<Result<_, _>>()?))
        }
        (Json::Array(members), Some(ty @ PropertyType::Vector(_))) => {
            let number = |json: &Json| json.as_f64().map(|n| n as f32).ok_or_else(|| misfit(ty, json));
            Ok(Value::Vector(members.iter().map(number).collect::<Result<_, _>>()?))
        }
        (json, Some(ty)) => Err(misfit(ty, json)),
    }
}

fn scalar_from_json(json: &Json, scalar: ScalarType) -> Result<Value, Misfit> {
    let value = match (json, scalar) {
        (Json::Bool(truth), ScalarType::Bool) => Some(Value::Bool(*truth)),
        (Json::Number(number), _) if is_number(scalar) => Some(number_value(number)),
        // Where a JSON library would lose digits, integers come as text.
        (Json::String(text), ScalarType::I64 | ScalarType::U64) => from_text(text, scalar),
        (Json::String(_), scalar) if is_number(scalar) || scalar == ScalarType::Bool => None,
        (Json::String(text), scalar) => from_text(text, scalar),
        _ => None,
    };
    value.ok_or_else(|| misfit(&PropertyType::Scalar(scalar), json))
}

fn misfit(ty: &PropertyType, found: &Json) -> Misfit {
    format!("expected {}, found {found}", expected(ty))
}

fn untyped(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => number_value(number),
        Json::String(text) => Value::String(text.clone()),
        Json::Array(members) => Value::List(members.iter().map(untyped).collect()),
        Json::Object(_) => Value::String(json.to_string()),
    }
}

fn number_value(number: &Number) -> Value {
    match (number.as_i64(), number.as_u64()) {
        (Some(number), _) => Value::I64(number),
        (_, Some(number)) => Value::U64(number),
        _ => Value::F64(number.as_f64().unwrap_or(f64::NAN)),
    }
}

fn is_number(scalar: ScalarType) -> bool {
    use ScalarType as S;
    matches!(scalar, S::I32 | S::I64 | S::U32 | S::U64 | S::F32 | S::F64)
}

/// Reads a text as a value of a scalar type. `None` if it is none.
pub(crate) fn from_text(text: &str, scalar: ScalarType) -> Option<Value> {
    use ScalarType as S;
    match scalar {
        S::String => Some(Value::String(text.to_string())),
        S::Bool => text.parse().ok().map(Value::Bool),
        S::I32 | S::I64 => text.parse().ok().map(Value::I64),
        S::U32 | S::U64 => text.parse().ok().map(Value::U64),
        S::F32 | S::F64 => text.parse().ok().filter(|n: &f64| n.is_finite()).map(Value::F64),
        S::Date => text::parse_date(text).map(Value::Date),
        S::DateTime => text::parse_datetime(text).ok().map(Value::Timestamp),
        S::Blob => {
            let bytes = BASE64.decode(text.strip_prefix(BLOB)?).ok()?;
            Some(Value::Bytes(bytes.into()))
        }
    }
}

/// What a value of this type looks like, for people.
pub(crate) fn expected(ty: &PropertyType) -> String {
    match ty {
        PropertyType::Scalar(ScalarType::Date) => "a Date like 2013-01-31".to_string(),
        PropertyType::Scalar(ScalarType::DateTime) => "a DateTime like 2013-01-31T09:30:00Z".to_string(),
        PropertyType::Scalar(ScalarType::Blob) => "a Blob like base64:…".to_string(),
        ty => type_name(ty),
    }
}

/// A type as the schema language writes it.
pub(crate) fn type_name(ty: &PropertyType) -> String {
    match ty {
        PropertyType::Scalar(scalar) => format!("{scalar:?}"),
        PropertyType::Enum(members) => format!("enum({})", members.join(", ")),
        PropertyType::Vector(length) => format!("Vector({length})"),
        PropertyType::List(scalar) => format!("[{scalar:?}]"),
    }
}

/// A value as JSON, spelled as the data format does.
pub(crate) fn to_json(value: &Value, ty: Option<&PropertyType>) -> Json {
    let single = matches!(ty, Some(PropertyType::Scalar(ScalarType::F32) | PropertyType::List(ScalarType::F32)));
    match value {
        Value::Null => Json::Null,
        Value::Bool(v) => json!(v),
        Value::I64(v) => json!(v),
        Value::U64(v) => json!(v),
        // The fewest digits that read back as the same 32 bits.
        Value::F64(v) if single => shortest(*v as f32),
        Value::F64(v) => float(*v),
        Value::String(v) => json!(v),
        Value::Bytes(v) => json!(format!("{BLOB}{}", BASE64.encode(v))),
        Value::Date(v) => json!(date(*v)),
        Value::Timestamp(v) => json!(datetime(*v)),
        Value::List(v) => v.iter().map(|member| to_json(member, ty)).collect(),
        Value::Vector(v) => v.iter().map(|number| shortest(*number)).collect(),
    }
}

fn shortest(number: f32) -> Json {
    float(number.to_string().parse().unwrap_or(f64::from(number)))
}

/// JSON has no numbers that are not finite; they are told as text rather than lost.
fn float(number: f64) -> Json {
    Number::from_f64(number).map_or_else(|| json!(number.to_string()), Json::Number)
}

/// A day as text; outside the years that have one, its number.
pub(crate) fn date(days: i32) -> String {
    if !text::is_date(days) {
        return days.to_string();
    }
    let mut out = String::new();
    text::date(&mut out, days);
    out
}

/// A moment as text; outside the years that have one, its number.
pub(crate) fn datetime(micros: i64) -> String {
    if !text::is_datetime(micros) {
        return micros.to_string();
    }
    let mut out = String::new();
    text::datetime(&mut out, micros);
    out
}

/// A value as one cell of text. `None` for null.
pub(crate) fn to_cell(value: &Value, ty: Option<&PropertyType>) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        value => Some(match to_json(value, ty) {
            Json::String(text) => text,
            json => json.to_string(),
        }),
    }
}

/// A cell for a terminal: one line, no control characters, not too long.
pub(crate) fn shown(text: &str, longest: usize) -> String {
    let mut out = String::new();
    for (at, c) in text.chars().enumerate() {
        if at == longest {
            out.push('…');
            break;
        }
        match c {
            c if c.is_control() => {
                let _ = write!(out, "{}", c.escape_default());
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalar(scalar: ScalarType) -> PropertyType {
        PropertyType::Scalar(scalar)
    }

    #[test]
    fn json_is_read_for_the_declared_type() {
        for (json, ty, expected) in [
            (json!(3), scalar(ScalarType::I32), Some(Value::I64(3))),
            (json!("9007199254740993"), scalar(ScalarType::I64), Some(Value::I64(9_007_199_254_740_993))),
            (json!(u64::MAX), scalar(ScalarType::U64), Some(Value::U64(u64::MAX))),
            (json!("3"), scalar(ScalarType::I32), None),
            (json!("1970-01-31"), scalar(ScalarType::Date), Some(Value::Date(30))),
            (json!("1970-01-31T00:00:00+05:00"), scalar(ScalarType::Date), None),
            (json!("base64:AP8="), scalar(ScalarType::Blob), Some(Value::Bytes(vec![0, 255].into()))),
            (json!([1.5, 2]), PropertyType::Vector(2), Some(Value::Vector(vec![1.5, 2.0]))),
            (json!(["a", null]), PropertyType::List(ScalarType::String), {
                Some(Value::List(vec![Value::String("a".into()), Value::Null]))
            }),
            (json!(null), scalar(ScalarType::Bool), Some(Value::Null)),
            (json!(1), scalar(ScalarType::Bool), None),
        ] {
            assert_eq!(from_json(&json, Some(&ty)).ok(), expected, "{json} as {ty:?}");
        }
    }

    #[test]
    fn values_are_written_in_the_data_format() {
        let f32 = scalar(ScalarType::F32);
        assert_eq!(to_json(&Value::F64(f64::from(0.1_f32)), Some(&f32)), json!(0.1));
        assert_eq!(to_json(&Value::Vector(vec![0.1]), None), json!([0.1]));
        assert_eq!(to_json(&Value::I64(i64::MIN), None).to_string(), i64::MIN.to_string());
        assert_eq!(to_json(&Value::Date(30), None), json!("1970-01-31"));
        assert_eq!(to_cell(&Value::Null, None), None);
        assert_eq!(shown("a\u{1b}[31m\nb", 100), "a\\u{1b}[31m\\nb");
        assert_eq!(shown("abcdef", 3), "abc…");
    }
}
