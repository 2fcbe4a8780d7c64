//! Headers, fields, quotes and problems.

use arrow_array::Array;

use super::*;
use crate::data::tests::*;
use crate::data::{InputBatch, InputFormat, entity_at, value_at};
use crate::model::{PropertyType, ScalarType, TypeRef, Value};

fn persons(text: &str) -> Result<Vec<InputBatch>> {
    decode_input(&people(), input(InputFormat::Csv, text, Some(TypeRef::node("Person")))).map(|(batches, _)| batches)
}

#[test]
fn columns_are_found_by_name_and_typed_by_the_schema() {
    let text = "\u{feff}age,slug,face,tags,role\r\n36,ada,\"[1, 2.5]\",\"[\"\"x\"\",null]\",staff\r\n,\"b,\"\"o\nb\",,[],\r\n\r\n7,c,,,guest";
    let batches = persons(text).unwrap();
    assert_eq!(ids(&batches[0]), ["ada", "b,\"o\nb", "c"]);
    assert_eq!(batches[0].records, [1, 2, 3]);
    assert!(batches[0].mentioned.is_none());
    let schema = people();
    let ty = type_of(&schema, &batches[0].type_ref);
    let ada = entity_at(ty, &batches[0].batch, 0).unwrap();
    assert_eq!(ada.properties["age"], Value::I64(36));
    assert_eq!(ada.properties["face"], Value::Vector(vec![1.0, 2.5]));
    assert_eq!(ada.properties["tags"], Value::List(vec![Value::String("x".into()), Value::Null]));
    let bob = entity_at(ty, &batches[0].batch, 1).unwrap();
    assert_eq!((&bob.properties["age"], &bob.properties["tags"]), (&Value::Null, &Value::List(vec![])));
}

#[test]
fn an_empty_field_is_null_and_an_empty_quoted_one_is_empty_text() {
    let note = TypeRef::node("Note");
    let text = "id,text\nn1,\nn2,\"\"\n,x\n";
    let (batches, stats) = decode_input(&people(), input(InputFormat::Csv, text, Some(note.clone()))).unwrap();
    let texts = batches[0].batch.column(1);
    assert_eq!((texts.is_null(0), texts.is_null(1)), (true, false));
    assert_eq!(ids(&batches[0]), ["n1", "n2", "fresh-1"]);
    assert_eq!((stats.records, stats.rows[&note]), (3, 3));
    let (batches, stats) = decode_input(&people(), input(InputFormat::Csv, "text\n", Some(note.clone()))).unwrap();
    assert!(batches.is_empty());
    assert_eq!(stats.rows[&note], 0);
}

#[test]
fn an_absent_column_is_not_mentioned() {
    let batches = persons("slug\na\n").unwrap();
    let mentioned = batches[0].mentioned.as_ref().unwrap();
    assert_eq!(mentioned.iter().map(|m| m.value(0)).collect::<Vec<_>>(), [true, false, false, false, false]);
}

#[test]
fn edges_name_their_ends() {
    let edges = |text: &str| {
        decode_input(&people(), input(InputFormat::Csv, text, Some(TypeRef::edge("likes")))).map(|(batches, _)| batches)
    };
    assert_eq!(ids(&edges("from,to,since\na,b,2024-01-01\n").unwrap()[0]), ["[\"a\",\"b\"]"]);
    assert_eq!(ids(&edges("dst,src\nb,a\n").unwrap()[0]), ["[\"a\",\"b\"]"]);
    assert!(problems(edges("from\na\n"))[0].contains("column to: Likes lacks this column"));
    assert_eq!(problems(edges("from,to\n,b\n")), ["record 1: Likes lacks from, the id of a node [REQUIRED_VIOLATION]"]);
}

#[test]
fn every_problem_is_found() {
    let cases = [
        ("slug,agee\n", "column agee: Person has no property \"agee\"; did you mean age?"),
        ("slug,slug\n", "column slug: slug is given by two columns"),
        ("", "header: the input is empty"),
        ("slug,age\na,x\n", "record 1: Person.age: found \"x\", expected an I32"),
        ("slug,age\na,\" 1\"\n", "record 1: Person.age: found \" 1\""),
        ("slug,role\na,boss\n", "record 1: Person.role: found \"boss\", expected one of"),
        ("slug,face\na,\"[1\"\n", "record 1: Person.face: found \"[1\""),
        ("slug,age\na\n", "record 1: found 1 fields, expected 2"),
        ("slug,age\na,1,2\n", "record 1: found 3 fields, expected 2"),
        ("slug\na\"b\nx\n", "record 1, line 2: a quote stands"),
        ("slug\n\"a\"b\nx\n", "record 1, line 2: text follows a closing quote"),
        ("slug\nx\n\n\"a\nb", "record 2, line 4: the input ends inside quotes"),
        ("age\n1\n", "record 1: Person.slug is part of the key"),
    ];
    for (text, what) in cases {
        let found = problems(persons(text));
        assert!(found.len() == 1 && found[0].starts_with(what), "{text}: {found:?}");
    }
    let found = problems(persons("slug,age\na,x\n\"b\"c\nd,y\n"));
    assert_eq!(found.len(), 3);
    assert!(found[1].starts_with("record 2, line 3") && found[2].starts_with("record 3"), "{found:?}");
}

#[test]
fn booleans_floats_and_blobs_are_spelled_as_in_json() {
    use ScalarType as S;
    let cases = [
        (S::Bool, "true", Some(Value::Bool(true))),
        (S::Bool, "TRUE", None),
        (S::F64, "1e3", Some(Value::F64(1000.0))),
        (S::F64, "NaN", None),
        (S::F64, "inf", None),
        (S::F32, "1e40", None),
        (S::U32, "-1", None),
        (S::I64, "9007199254740993", Some(Value::I64(9_007_199_254_740_993))),
        (S::I64, "1.0", None),
        (S::Blob, "base64:aGk=", Some(Value::Bytes("hi".into()))),
        (S::Blob, "aGk=", None),
        (S::DateTime, "1970-01-01T00:00:01Z", Some(Value::Timestamp(1_000_000))),
        (S::Date, "2024-01-01T02:00:00+05:00", None),
        (S::String, "null", Some(Value::String("null".into()))),
    ];
    for (scalar_type, cell, value) in cases {
        let ty = holder(scalar(scalar_type));
        let input = input(InputFormat::Csv, format!("x\n{cell}\n"), Some(ty.type_ref()));
        let decoded = decode_input(&schema(vec![ty]), input);
        match value {
            Some(value) => {
                let (batches, _) = decoded.unwrap();
                let ty = PropertyType::Scalar(scalar_type);
                assert_eq!(value_at(batches[0].batch.column(1), &ty, 0).unwrap(), value);
            }
            None => assert!(problems(decoded)[0].contains("T.x"), "{cell}"),
        }
    }
}

#[test]
fn long_inputs_cross_chunks() {
    let slug = "é\"\"\n".repeat(50_000);
    let text = format!("slug,age\n\"{slug}x\",1\nlast,2\n");
    let error = persons(&text).unwrap_err();
    assert!(error.violations()[0].description.contains("at most 4096 bytes"), "{error}");
    let rows: String = (0..30_000).map(|n| format!("slug-{n},{n}\r\n")).collect();
    let batches = persons(&format!("slug,age\r\n{rows}")).unwrap();
    let all: Vec<_> = batches.iter().flat_map(ids).collect();
    assert_eq!(all.len(), 30_000);
    assert!(all.iter().enumerate().all(|(n, id)| *id == format!("slug-{n}")));
    assert_eq!(batches.last().unwrap().records.last(), Some(&30_000));
}
