//! What an entity has where nothing is said: `@default(value)`, written as a JSON value, a bare word for an enum, or a
//! quoted date or time.

use serde_json::Value as Json;

use super::literal::{Literal, read_bound, unescape};
use crate::data::array_from_values;
use crate::model::{Annotation, Property, PropertyType, ScalarType, Value};

/// The annotation's name.
const DEFAULT: &str = "default";
/// Its sibling, which takes the value of another property.
const BACKFILL: &str = "backfill";
/// Names what a type or property was called before.
const WAS: &str = "was";

/// The default of a property; `None` if it declares none. What is wrong with one is told in words.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn default_of(property: &Property) -> Option<Result<Value, String>> {
    let annotation = property.annotations.iter().find(|a| a.name == DEFAULT)?;
    Some(parse(&property.ty, &annotation.arguments))
}

/// What a new entity has that does not mention the property: its default, or nothing.
pub fn value(property: &Property) -> Value {
    default_of(property).and_then(std::result::Result::ok).unwrap_or(Value::Null)
}

fn parse(ty: &PropertyType, text: &str) -> Result<Value, String> {
    let text = text.trim();
    let wrong = |what: String| format!("@default({text}) is no value of the property: {what}");
    let value = match ty {
        PropertyType::Scalar(ScalarType::Blob) => return Err(wrong("a Blob has no default".to_string())),
        PropertyType::Enum(members) if members.iter().any(|m| m == text) => Value::String(text.to_string()),
        _ => {
            let json: Json = serde_json::from_str(text).map_err(|e| wrong(format!("it cannot be read, {e}")))?;
            value_of(ty, &json).ok_or_else(|| wrong("it is of another type".to_string()))?
        }
    };
    // The rules for input hold: what does not fit exactly is refused.
    array_from_values(ty, std::slice::from_ref(&value)).map_err(|e| wrong(e.message().to_string()))?;
    Ok(value)
}

fn value_of(ty: &PropertyType, json: &Json) -> Option<Value> {
    match (ty, json) {
        (PropertyType::Scalar(scalar), json) => scalar_of(*scalar, json),
        (PropertyType::Enum(_), Json::String(text)) => Some(Value::String(text.clone())),
        (PropertyType::Vector(_), Json::Array(items)) => {
            #[expect(clippy::cast_possible_truncation, reason = "a vector holds 32-bit floats")]
            let numbers = items.iter().map(|item| item.as_f64().map(|x| x as f32)).collect::<Option<Vec<f32>>>()?;
            Some(Value::Vector(numbers))
        }
        (PropertyType::List(scalar), Json::Array(items)) => {
            let items = items.iter().map(|item| match item {
                Json::Null => Some(Value::Null),
                item => scalar_of(*scalar, item),
            });
            items.collect::<Option<Vec<Value>>>().map(Value::List)
        }
        _ => None,
    }
}

fn scalar_of(scalar: ScalarType, json: &Json) -> Option<Value> {
    match (scalar, json) {
        (ScalarType::String, Json::String(text)) => Some(Value::String(text.clone())),
        (ScalarType::Bool, Json::Bool(b)) => Some(Value::Bool(*b)),
        (ScalarType::I32 | ScalarType::I64, Json::Number(n)) => n.as_i64().map(Value::I64),
        (ScalarType::U32 | ScalarType::U64, Json::Number(n)) => n.as_u64().map(Value::U64),
        (ScalarType::F32 | ScalarType::F64, Json::Number(n)) => n.as_f64().map(Value::F64),
        (ScalarType::Date | ScalarType::DateTime, Json::String(text)) => {
            read_bound(scalar, &Literal::Text(text.clone()))
        }
        _ => None,
    }
}

/// The property whose value a new property takes for entities that are there; `None` if it names none.
pub fn backfill_of(annotations: &[Annotation]) -> Option<String> {
    named(annotations, BACKFILL)
}

/// What something was called before; `None` if it does not say.
pub fn was(annotations: &[Annotation]) -> Option<String> {
    named(annotations, WAS)
}

/// A name between the parentheses, quoted or not.
fn named(annotations: &[Annotation], name: &str) -> Option<String> {
    let text = annotations.iter().find(|a| a.name == name)?.arguments.trim();
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inner {
        Some(inner) => unescape(inner).ok(),
        None => Some(text.to_string()),
    }
}

/// Drops what only speaks of a change: once it is made, it has no meaning.
pub fn strip(annotations: &mut Vec<Annotation>) {
    annotations.retain(|a| a.name != WAS && a.name != BACKFILL);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(source: &str) -> Option<Result<Value, String>> {
        let (ty, default) = source.split_once(" @default(").unwrap_or((source, ""));
        let mut property =
            crate::schema::parse(&format!("node T {{ p: {ty} }}")).unwrap().types[0].properties[0].clone();
        if let Some(arguments) = default.strip_suffix(')') {
            let annotation = Annotation { name: DEFAULT.to_string(), arguments: arguments.to_string() };
            property.annotations.push(annotation);
        }
        default_of(&property)
    }

    #[test]
    fn defaults_are_values_of_their_property_or_say_why_not() {
        assert_eq!(of("I32?"), None);
        for (source, value) in [
            ("I32 @default(-3)", Value::I64(-3)),
            ("U64 @default(18446744073709551615)", Value::U64(u64::MAX)),
            ("F64 @default(2)", Value::F64(2.0)),
            ("Bool @default(true)", Value::Bool(true)),
            ("String @default(\"a b\")", Value::String("a b".into())),
            ("enum(x, y) @default(y)", Value::String("y".into())),
            ("enum(x, y) @default(\"x\")", Value::String("x".into())),
            ("Date @default(\"1970-01-02\")", Value::Date(1)),
            ("DateTime @default(\"1970-01-01T00:00:01Z\")", Value::Timestamp(1_000_000)),
            ("[I32] @default([1, null])", Value::List(vec![Value::I64(1), Value::Null])),
            ("Vector(2) @default([0, 1.5])", Value::Vector(vec![0.0, 1.5])),
        ] {
            assert_eq!(of(source), Some(Ok(value)), "{source}");
        }
        for source in [
            "I32 @default(3000000000)",
            "I32 @default(1.5)",
            "I32 @default(\"1\")",
            "I32 @default(null)",
            "I32 @default()",
            "enum(x, y) @default(z)",
            "Date @default(\"1970-1-2\")",
            "Blob @default(\"aa\")",
            "Vector(2) @default([1])",
        ] {
            assert!(of(source).unwrap().unwrap_err().contains("@default"), "{source}");
        }
    }
}
