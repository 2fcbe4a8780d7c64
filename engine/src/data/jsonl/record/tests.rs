//! What a record may hold, and how each type's values are spelled.

use crate::data::tests::*;
use crate::data::{check_value, value_at};
use crate::model::{PropertyType, ScalarType, Value};

// A record, what is said about it, and why.
const WRONG_RECORDS: &[(&str, &str, &str)] = &[
    (r#"{"type":"Persn"}"#, "no node type \"Persn\"; did you mean Person?", "TYPE_NOT_FOUND"),
    (r#"{"type":"Knows"}"#, "there is an edge type of this name", "TYPE_NOT_FOUND"),
    (r#"{"type":7}"#, "found a number, expected the name of a type", "INVALID_RECORD"),
    (r#"{"data":{}}"#, "names no type", "INVALID_RECORD"),
    (r#"{"type":"Note","edge":"Knows"}"#, "exclude each other", "INVALID_RECORD"),
    (r#"{"type":"Note","from":"a"}"#, "belong to edges", "INVALID_RECORD"),
    (r#"{"type":"Note","type":"Note"}"#, "type is given twice", "INVALID_RECORD"),
    (r#"{"type":"Note","data":{},"data":{}}"#, "data is given twice", "INVALID_RECORD"),
    (r#"{"type":"Note","data":[]}"#, "found an array, expected an object", "INVALID_RECORD"),
    (r#"{"type":"Note","text":"x"}"#, "no member \"text\"; properties stand inside data", "INVALID_RECORD"),
    (r#"{"type":"Note","id":"x"}"#, "id stands inside data", "INVALID_RECORD"),
    (r#"{"edge":"Knows","to":"b"}"#, "Knows lacks from", "REQUIRED_VIOLATION"),
    (r#"{"edge":"Knows","from":"a","to":7}"#, "Knows.to: found a number", "TYPE_MISMATCH"),
    (r#"{"type":"Note","data":{"txt":1}}"#, "no property \"txt\"; did you mean text?", "PROPERTY_NOT_FOUND"),
    (r#"{"type":"Note","data":{"text":"a","text":"b"}}"#, "Note.text: found it twice", "INVALID_RECORD"),
    (r#"{"type":"Note","data":{"text":"a","\u0074ext":"b"}}"#, "Note.text: found it twice", "INVALID_RECORD"),
    (r#"{"type":"Note","data":{"id":"a","id":"b"}}"#, "Note.id: found it twice", "INVALID_RECORD"),
    (r#"{"edge":"Knows","from":"a","to":"b","data":{"src":"a"}}"#, "given as from and to", "PROPERTY_NOT_FOUND"),
    (
        r#"{"type":"Person","data":{"slug":"a","role":"boss"}}"#,
        "found \"boss\", expected one of staff, guest",
        "ENUM_VIOLATION",
    ),
    (r#"{"type":"Person","data":{"slug":"a","role":1}}"#, "found 1, expected one of staff, guest", "TYPE_MISMATCH"),
    (r#"{"type":"Person","data":{"slug":"a","face":[1]}}"#, "found 1 numbers, expected a Vector of 2", "TYPE_MISMATCH"),
    (r#"{"type":"Person","data":{"slug":"a","face":[1,2,3]}}"#, "found 3 numbers", "TYPE_MISMATCH"),
    (r#"{"type":"Person","data":{"slug":"a","face":[1,null]}}"#, "found null as member 2", "TYPE_MISMATCH"),
    (r#"{"type":"Person","data":{"slug":"a","face":[1,1e39]}}"#, "found 1e39 as member 2", "TYPE_MISMATCH"),
    (r#"{"type":"Person","data":{"slug":"a","tags":["x",1]}}"#, "found 1 as member 2", "TYPE_MISMATCH"),
    (r#"{"type":"Person","data":{"slug":"a","tags":"x"}}"#, "found \"x\", expected a list", "TYPE_MISMATCH"),
];

#[test]
fn the_envelope_is_checked() {
    for (line, what, reason) in WRONG_RECORDS {
        let found = problems(decode_json(&people(), *line));
        assert!(found.len() == 1 && found[0].contains(what) && found[0].contains(reason), "{line}: {found:?}");
        assert!(found[0].starts_with("record 1: "), "{found:?}");
    }
}

#[test]
fn each_scalar_accepts_exactly_its_spellings() {
    use ScalarType as S;
    let text = |text: &str| Value::String(text.into());
    let accepted = [
        (S::String, r#""O'Brien \\ % _ \u00e9 \ud83d\ude00""#, text("O'Brien \\ % _ é 😀")),
        (S::Bool, "true", Value::Bool(true)),
        (S::I32, "-2147483648", Value::I64(i32::MIN.into())),
        (S::I32, "\"7\"", Value::I64(7)),
        (S::I32, "-0", Value::I64(0)),
        (S::I64, "9007199254740993", Value::I64(9_007_199_254_740_993)),
        (S::I64, "\"-9223372036854775808\"", Value::I64(i64::MIN)),
        (S::U32, "4294967295", Value::U64(u32::MAX.into())),
        (S::U64, "18446744073709551615", Value::U64(u64::MAX)),
        (S::F32, "0.1", Value::F64(0.1f32.into())),
        (S::F64, "1", Value::F64(1.0)),
        (S::F64, "-1.5e-3", Value::F64(-0.0015)),
        (S::F64, "1.7976931348623157e308", Value::F64(f64::MAX)),
        (S::Date, "\"2024-02-29\"", Value::Date(19_782)),
        (S::DateTime, "\"1970-01-01T01:00:00.000001+01:00\"", Value::Timestamp(1)),
        (S::Blob, "\"base64:aGk=\"", Value::Bytes("hi".into())),
        (S::Blob, "\"base64:aGk\"", Value::Bytes("hi".into())),
        (S::Blob, "\"base64:\"", Value::Bytes("".into())),
    ];
    for (scalar_type, spelled, value) in accepted {
        let holder = holder(scalar(scalar_type));
        let line = format!("{{\"type\":\"T\",\"data\":{{\"x\":{spelled}}}}}");
        let batches = decode_json(&schema(vec![holder]), line).unwrap();
        assert_eq!(value_at(batches[0].batch.column(1), &scalar(scalar_type), 0).unwrap(), value, "{spelled}");
        check_value(&scalar(scalar_type), &value).unwrap();
    }
}

#[test]
fn each_scalar_refuses_what_is_not_its_spelling() {
    use ScalarType as S;
    let refused = [
        (S::String, "1 true [] {}"),
        (S::Bool, "1 0 \"true\" []"),
        (
            S::I32,
            "2147483648 -2147483649 1.0 1e3 1.5 \"1.0\" \"\" \"+1\" \"\\u00201\" \"1e3\" \"0x1\" true [] 99999999999999999999999",
        ),
        (S::I64, "9223372036854775808 -9223372036854775809 1.0"),
        (S::U32, "-1 4294967296 \"-1\""),
        (S::U64, "-1 18446744073709551616 1e2"),
        (S::F32, "1e40 -1e40 \"1\" true"),
        (S::F64, "1e400 \"NaN\" \"1\""),
        (S::Date, "\"2024-01-01T02:00:00+05:00\" \"2024-02-30\" 19723 19723.0 true {} \"\""),
        (S::DateTime, "\"2024-01-01\" \"2024-01-01T00:00:00\" 0 0.5 true {} \"2024-01-01T00:00:00.0000001Z\""),
        (S::Blob, "\"aGk=\" \"base64:a\" \"base64:a_b-\" 1 []"),
    ];
    for (scalar_type, spellings) in refused {
        for ty in [scalar(scalar_type), PropertyType::List(scalar_type)] {
            let schema = schema(vec![holder(ty.clone())]);
            for spelled in spellings.split(' ') {
                let (open, close) = if ty == scalar(scalar_type) { ("", "") } else { ("[", "]") };
                let line = format!("{{\"type\":\"T\",\"data\":{{\"x\":{open}{spelled}{close}}}}}");
                let found = problems(decode_json(&schema, line));
                assert!(found[0].contains("T.x: found") && found[0].contains("TYPE_MISMATCH"), "{spelled}: {found:?}");
            }
        }
    }
}
