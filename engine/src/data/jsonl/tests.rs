//! Streams of records: boundaries, problems, bounds.

use std::io::Cursor;

use arrow_array::Array;
use proptest::prelude::*;

use super::stream::Stream;
use super::*;
use crate::data::tests::*;
use crate::data::{InputBatch, entity_at, value_at};
use crate::model::{EntityKind, ScalarType, TypeRef, Value};

fn person(data: &str) -> String {
    format!("{{\"type\":\"Person\",\"data\":{data}}}\n")
}

fn first(batches: &[InputBatch], at: usize) -> Value {
    let batch = &batches[0].batch;
    let schema = people();
    let ty = type_of(&schema, &batches[0].type_ref);
    let skipped = batch.num_columns() - ty.properties.len();
    value_at(batch.column(skipped + at), &ty.properties[at].ty, 0).unwrap()
}

#[test]
fn records_may_be_compact_pretty_mixed_and_end_without_a_line_break() {
    let text = "\u{feff}\n{\"type\":\"Person\",\"data\":{\"slug\":\"ada\",\"age\":36}}\n\n  {\n  \"data\": {\n    \"slug\": \"bob\"\n  },\n  \"type\": \"Person\"\n}\r\n\r\n{\"edge\":\"knows\",\"to\":\"bob\",\"from\":\"ada\",\"data\":{\"since\":\"2024-02-29\"}} {\"edge\":\"Knows\",\"from\":\"bob\",\"to\":\"ada\"}";
    let (batches, stats) = decode_input(&people(), input(crate::data::InputFormat::Jsonl, text, None)).unwrap();
    assert_eq!(stats.records, 4);
    assert_eq!(stats.bytes, text.len() as u64);
    let (persons, knows) = (&batches[0], &batches[1]);
    assert_eq!(persons.type_ref, TypeRef::node("Person"));
    assert_eq!(ids(persons), ["ada", "bob"]);
    assert_eq!(persons.records, [1, 2]);
    assert_eq!(persons.fresh_ids, None);
    let mentioned = persons.mentioned.as_ref().unwrap();
    assert_eq!(mentioned[1].iter().collect::<Vec<_>>(), [true, false]);
    assert_eq!(knows.type_ref, TypeRef::edge("Knows"));
    assert_eq!(ids(knows), ["fresh-1", "fresh-2"]);
    assert_eq!(knows.fresh_ids.as_ref().unwrap().count_set_bits(), 2);
    let schema = people();
    let edge = entity_at(type_of(&schema, &knows.type_ref), &knows.batch, 0).unwrap();
    assert_eq!(edge.endpoints, Some(("ada".into(), "bob".into())));
    assert_eq!(edge.properties["since"], Value::Date(19_782));
}

#[test]
fn absent_null_and_empty_stay_apart() {
    let text = "{\"type\":\"Note\",\"data\":{}}\n{\"type\":\"Note\",\"data\":{\"text\":null}}\n{\"type\":\"Note\",\"data\":{\"text\":\"\"}}";
    let batches = decode_json(&people(), text).unwrap();
    let texts = batches[0].batch.column(1);
    assert_eq!((texts.is_null(0), texts.is_null(1), texts.is_null(2)), (true, true, false));
    let mentioned = batches[0].mentioned.as_ref().unwrap();
    assert_eq!(mentioned[0].iter().collect::<Vec<_>>(), [false, true, true]);
}

#[test]
fn ids_may_be_given_and_must_agree_with_the_key() {
    let note = |id: &str| format!("{{\"type\":\"Note\",\"data\":{{\"id\":{id}}}}}\n");
    let batches = decode_json(&people(), [note("\"n1\""), note("null"), note("\"n\\u0033\"")].concat()).unwrap();
    assert_eq!(ids(&batches[0]), ["n1", "fresh-1", "n3"]);
    let fresh = batches[0].fresh_ids.as_ref().unwrap();
    assert_eq!(fresh.iter().collect::<Vec<_>>(), [false, true, false]);
    let agreeing = decode_json(&people(), person("{\"id\":\"ada\",\"slug\":\"ada\"}")).unwrap();
    assert_eq!(ids(&agreeing[0]), ["ada"]);
    let edge = "{\"edge\":\"Likes\",\"from\":\"a\",\"to\":\"b\"}";
    assert_eq!(ids(&decode_json(&people(), edge).unwrap()[0]), ["[\"a\",\"b\"]"]);
    let wrong = [
        (person("{\"id\":\"bob\",\"slug\":\"ada\"}"), "expected \"ada\", which is what the key says", "INVALID_RECORD"),
        (person("{\"id\":\"ada\"}"), "Person.slug is part of the key", "REQUIRED_VIOLATION"),
        (person("{\"slug\":null}"), "Person.slug is part of the key", "REQUIRED_VIOLATION"),
        (person("{\"slug\":\"\"}"), "must not be empty", "INVALID_ARGUMENT"),
        (person(&format!("{{\"slug\":{:?}}}", "x".repeat(5000))), "at most 4096 bytes", "LIMIT_EXCEEDED"),
        (note("\"\""), "must not be empty", "INVALID_ARGUMENT"),
        (note("7"), "found a number, expected an id", "TYPE_MISMATCH"),
        (
            "{\"edge\":\"Knows\",\"from\":\"\",\"to\":\"b\"}".into(),
            "Knows.src: an id must not be empty",
            "INVALID_ARGUMENT",
        ),
    ];
    for (line, what, reason) in wrong {
        let found = problems(decode_json(&people(), line.clone()));
        assert!(found.len() == 1 && found[0].contains(what) && found[0].contains(reason), "{line}: {found:?}");
    }
}

#[test]
fn a_member_of_a_list_may_be_null() {
    let batches = decode_json(&people(), person(r#"{"slug":"a","tags":[null,"x",""],"face":[1,-2.5]}"#)).unwrap();
    let tags = vec![Value::Null, Value::String("x".into()), Value::String(String::new())];
    assert_eq!(first(&batches, 3), Value::List(tags));
    assert_eq!(first(&batches, 4), Value::Vector(vec![1.0, -2.5]));
}

#[test]
fn all_problems_are_found_and_listed_by_record_up_to_a_limit() {
    let mut text = String::new();
    for _ in 0..3 {
        text += &person("{\"slug\":\"a\",\"age\":1.5,\"role\":\"x\"}");
        text += &person("{\"slug\":\"b\"}");
        text += &person("{\"age\":2}");
    }
    let found = problems(decode_json(&people(), text));
    let records: Vec<_> = found.iter().map(|f| f.split(':').next().unwrap()).collect();
    let expected = ["1", "1", "3", "4", "4", "6", "7", "7", "9"].map(|n| format!("record {n}"));
    assert_eq!(records, expected);
    let many = person("{\"slug\":1}").repeat(20_000);
    let error = decode_json(&people(), many).unwrap_err();
    assert_eq!(error.violations().len(), limits::MAX_REPORTED_VIOLATIONS);
    assert_eq!(error.metadata()["problems"], "20000");
    assert!(error.message().contains("20000 problems"), "{error}");
}

#[test]
fn nothing_is_handed_on_after_a_problem() {
    let text = [person("{\"slug\":1}"), person("{\"slug\":\"a\"}").repeat(3 * limits::BATCH_ROWS)].concat();
    let mut handed = 0;
    let input = input(crate::data::InputFormat::Jsonl, text, None);
    let result = crate::data::decode(input, people(), &mut String::new, &mut |_| {
        handed += 1;
        Ok(())
    });
    assert_eq!((result.unwrap_err().violations().len(), handed), (1, 0));
}

#[test]
fn reading_goes_on_after_what_is_not_json() {
    let good = person("{\"slug\":\"a\",\"age\":\"x\"}");
    let cases = [
        ("nonsense\n", "record 1, line 1, column 1"),
        ("[1,2]\n", "record 1, line 1, column 1"),
        ("{\"type\":\"Person\" \"data\":{}}\n", "record 1, line 1, column 18"),
        ("\n{\"type\":\"Person\",\n  \"data\":{\"slug\":\"é\"\n  ]}}\n", "record 1, line 4, column 3"),
        ("{\"type\":\"Person\",\"data\":{\"slug\":\"a\"}\n", "record 1, line 2, column 1"),
        ("{\"type\":\"Person\",\"data\":{\"slug\":\"a\n", "record 1, line 1, column 35"),
    ];
    for (broken, place) in cases {
        let found = problems(decode_json(&people(), format!("{broken}{good}")));
        assert!(found[0].starts_with(place) && found[0].contains("not a JSON record"), "{broken}: {found:?}");
        assert!(found[1].starts_with("record 2: Person.age") && found.len() == 2, "{broken}: {found:?}");
    }
    let found = problems(decode_json(&people(), format!("{good}\n {{\"type\":\"Person\",")));
    assert!(found[1].starts_with("record 2, line 3, column 2: the input ends inside"), "{found:?}");
    let mut bytes = b"{\"type\":\"Note\",\"data\":{\"text\":\"\xff\"}}\n".to_vec();
    bytes.extend_from_slice(good.as_bytes());
    let found = problems(decode_json(&people(), bytes));
    assert!(found[0].contains("not UTF-8") && found[1].starts_with("record 2"), "{found:?}");
}

#[test]
fn lines_are_counted_over_chunks() {
    let filler = person("{\"slug\":\"é\"}").repeat(40_000);
    let found = problems(decode_json(&people(), format!("{filler}\n {{\"é\" 1}}\n{filler}{{]")));
    assert!(found[0].starts_with("record 40001, line 40002, column 7: "), "{found:?}");
    assert!(found[1].starts_with("record 80002, line 80003, column 2: "), "{found:?}");
}

#[test]
fn batches_are_bounded_for_one_type_and_over_all_types() {
    let text = person("{\"slug\":\"a\"}").repeat(limits::BATCH_ROWS * 2 + 1);
    let batches = decode_json(&people(), text).unwrap();
    let rows: Vec<_> = batches.iter().map(|b| b.batch.num_rows()).collect();
    assert_eq!(rows, [limits::BATCH_ROWS, limits::BATCH_ROWS, 1]);
    assert_eq!(batches[1].records[0], limits::BATCH_ROWS as u64 + 1);

    let types = (0..100).map(|n| {
        entity_type(EntityKind::Node, &format!("T{n}"), vec![property(1, "x", scalar(ScalarType::String))], &[])
    });
    let schema = schema(types.collect());
    let value = "x".repeat(100_000);
    let lines = (0..1000).map(|n| format!("{{\"type\":\"T{}\",\"data\":{{\"x\":\"{value}\"}}}}\n", n % 100));
    let batches = decode_json(&schema, lines.collect::<String>()).unwrap();
    // A hundred types with a megabyte each: without the common bound each would be one batch.
    assert!(batches.len() > 120, "{}", batches.len());
    let largest = batches.iter().map(|b| b.batch.get_array_memory_size()).max().unwrap();
    assert!(largest < limits::BATCH_BYTES, "{largest}");
}

#[test]
fn a_record_has_a_greatest_length() {
    let read = |bytes: &str, limit: usize| -> crate::error::Result<usize> {
        let mut stream = Stream::new(Cursor::new(bytes.to_string()), limit);
        let mut record = Record::default();
        let mut count = 0;
        while stream.skip_blanks()? {
            let length = loop {
                match record.scan(stream.pending()) {
                    Err(Stop::Incomplete) if stream.fill()? => {}
                    scanned => break scanned.unwrap(),
                }
            };
            stream.check_length(length)?;
            stream.consume(length);
            count += 1;
        }
        Ok(count)
    };
    let short = "{\"a\":1}\n";
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(1_000_000 - 8));
    assert_eq!(long.len(), 1_000_000);
    let text = [short, &long, short, &long].concat();
    assert_eq!(read(&text, 1_000_000).unwrap(), 4);
    let error = read(&text, 999_999).unwrap_err();
    assert_eq!(error.reason(), Reason::LimitExceeded);
    assert!(error.message().contains("line 2 has more than 999999 bytes"), "{error}");
    assert_eq!(read(short, 6).unwrap_err().reason(), Reason::LimitExceeded);
    assert_eq!(read(short, 7).unwrap(), 1);
}

/// Gives bytes in pieces of the given lengths, then one by one.
struct Pieces {
    bytes: Vec<u8>,
    lengths: Vec<usize>,
}

impl std::io::Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.lengths.pop().unwrap_or(1).min(buffer.len()).min(self.bytes.len());
        buffer[..length].copy_from_slice(&self.bytes[..length]);
        self.bytes.drain(..length);
        Ok(length)
    }
}

proptest! {
    #[test]
    fn how_the_bytes_arrive_makes_no_difference(
        slugs in prop::collection::vec("[a-zé\"\\\\]{1,12}", 1..20),
        lengths in prop::collection::vec(1usize..40, 0..20),
        pretty in any::<bool>(),
    ) {
        let lines = slugs.iter().map(|slug| {
            let value = serde_json::json!({ "type": "Person", "data": { "slug": slug } });
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            text.unwrap() + "\n"
        });
        let bytes = lines.collect::<String>().into_bytes();
        let source = crate::data::Source::stream(Pieces { bytes, lengths });
        let input = crate::data::Input { source, ..input(crate::data::InputFormat::Jsonl, "", None) };
        let (batches, _) = decode_input(&people(), input).unwrap();
        prop_assert_eq!(ids(&batches[0]), slugs);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), prefix in 0usize..60) {
        let line = person("{\"slug\":\"a\",\"tags\":[\"\\u00e9\"],\"face\":[1,2e1]}");
        let mut all = line.as_bytes()[..prefix.min(line.len())].to_vec();
        all.extend(bytes);
        let _ = decode_json(&people(), all);
    }
}
