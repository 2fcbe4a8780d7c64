//! The scanner against a table and against another reader.

use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn scan(bytes: &[u8]) -> Result<usize, Stop> {
    Record::default().scan(bytes)
}

#[test]
fn members_are_found_with_their_places() {
    let text = r#" { "type" : "P", "data":{"a":[1,{"b":2}],"c":"x\"y"}, "n": -1.5e3 } {"#;
    let mut record = Record::default();
    assert_eq!(record.scan(text.as_bytes()), Ok(text.len() - 2));
    let show = |token: Token| (&text[token.start..token.end], token.kind);
    let members: Vec<_> = record.envelope.iter().map(|m| (show(m.key).0, show(m.value))).collect();
    assert_eq!(members[0], ("type", ("P", Kind::Plain)));
    assert_eq!(members[1].1.1, Kind::Object);
    assert_eq!(members[2], ("n", ("-1.5e3", Kind::Number)));
    let data: Vec<_> = record.data.iter().map(|m| (show(m.key).0, show(m.value))).collect();
    assert_eq!(data, [("a", (r#"[1,{"b":2}]"#, Kind::Array)), ("c", (r#"x\"y"#, Kind::Escaped))]);
    let mut scratch = String::new();
    assert_eq!(string(text, record.data[1].value, &mut scratch), "x\"y");
}

#[test]
fn data_is_found_even_if_its_name_is_escaped() {
    let mut record = Record::default();
    record.scan(br#"{"\u0064ata":{"a":1}}"#).unwrap();
    assert_eq!(record.data.len(), 1);
}

#[test]
fn wrong_grammar_is_found_where_it_is() {
    let cases = [
        (r#"[1]"#, 0),
        (r#"{"a":1,}"#, 7),
        (r#"{"a" 1}"#, 5),
        (r#"{a:1}"#, 1),
        (r#"{"a":01}"#, 6),
        (r#"{"a":-}"#, 6),
        (r#"{"a":1.}"#, 7),
        (r#"{"a":1e}"#, 7),
        (r#"{"a":+1}"#, 5),
        (r#"{"a":.5}"#, 5),
        (r#"{"a":NaN}"#, 5),
        (r#"{"a":nul }"#, 8),
        (r#"{"a":"\x"}"#, 6),
        (r#"{"a":"\ud800"}"#, 6),
        (r#"{"a":"\ud800\u0041"}"#, 6),
        (r#"{"a":"\udc00"}"#, 6),
        (r#"{"a":"\u00g0"}"#, 6),
        ("{\"a\":\"x\ty\"}", 7),
        ("{\"a\":\"x\n\"}", 7),
        (r#"{"a":[1 2]}"#, 8),
        (r#"{"a":[1}"#, 7),
        (r#"{"a":1 {"#, 7),
        (r#"{"a":'x'}"#, 5),
    ];
    for (text, at) in cases {
        match scan(text.as_bytes()) {
            Err(Stop::Syntax(found, _)) => assert_eq!(found, at, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn nesting_is_bounded() {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(matches!(scan(deep.as_bytes()), Err(Stop::Syntax(..))));
    let fine = format!("{{\"a\":{}{}}}", "[".repeat(60), "]".repeat(60));
    assert_eq!(scan(fine.as_bytes()), Ok(fine.len()));
}

#[test]
fn elements_of_an_array_are_given_in_order() {
    let mut found = Vec::new();
    let text = r#" [ 1, "a,]" ,[2,3], null ] "#;
    let scanned = elements(text, |token| {
        found.push(&text[token.start..token.end]);
        Ok::<(), ()>(())
    });
    assert_eq!(scanned, Ok(Ok(())));
    assert_eq!(found, ["1", "a,]", "[2,3]", "null"]);
    for wrong in ["[1] x", "[1", "1", "", "[1,]", "[,1]"] {
        assert!(elements(wrong, |_| Ok::<(), ()>(())).is_err(), "{wrong}");
    }
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::hash_map(any::<String>(), inner, 0..6)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn whole_records_are_read_and_every_part_of_one_is_incomplete(value in json(), pretty in any::<bool>()) {
        let value = serde_json::json!({ "data": { "x": value } });
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        let text = text.unwrap();
        let mut record = Record::default();
        prop_assert_eq!(record.scan(text.as_bytes()), Ok(text.len()));
        let token = record.data[0].value;
        let slack = usize::from(matches!(token.kind, Kind::Plain | Kind::Escaped));
        let found: Value = serde_json::from_str(&text[token.start - slack..token.end + slack]).unwrap();
        prop_assert_eq!(&found, &value["data"]["x"]);
        if let Value::String(expected) = &value["data"]["x"] {
            let mut scratch = String::new();
            prop_assert_eq!(string(&text, token, &mut scratch), expected);
        }
        for end in 0..text.len() {
            prop_assert_eq!(scan(&text.as_bytes()[..end]), Err(Stop::Incomplete));
        }
    }

    #[test]
    fn another_reader_agrees_on_what_is_json(value in json(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = serde_json::to_vec(&serde_json::json!({ "a": value })).unwrap();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let Ok(text) = std::str::from_utf8(&bytes) else { return Ok(()) };
        let mut others = serde_json::Deserializer::from_str(text).into_iter::<serde_json::Map<String, Value>>();
        match (others.next(), scan(text.as_bytes())) {
            (Some(Ok(_)), Ok(length)) => prop_assert_eq!(length, others.byte_offset()),
            // The other one also refuses numbers beyond its range, which is for the property's type to say.
            (Some(Err(e)), Ok(_)) => prop_assert!(e.to_string().contains("out of range"), "{} {}", text, e),
            (Some(Err(_)) | None, Err(_)) => {}
            (other, ours) => prop_assert!(false, "{} {:?} {:?}", text, other.is_some_and(|o| o.is_ok()), ours),
        }
    }

    #[test]
    fn the_end_of_a_string_is_found_at_any_place(text in "[ -~\u{0}-\u{1f}é\u{10ffff}]{0,40}") {
        let bytes = text.as_bytes();
        let plain = bytes.iter().position(|b| *b < 0x20 || *b == b'"' || *b == b'\\');
        prop_assert_eq!(plain_length(bytes), plain.unwrap_or(bytes.len()));
    }
}
