//! What counts as the same value: the same to the last bit, and null is nothing else.

use omnigraph_engine::model::{EntityChange, LoadMode};
use omnigraph_tests::load;

use super::diff::between;
use super::*;

const KINDS: &str = "
node V { slug: String @key  s: String?  i: I64?  u: U64?  f: F64?  g: F32?  t: Bool?  d: Date?  m: DateTime?
         e: enum(one, two)?  b: Blob?  v: Vector(3)?  l: [String]?  n: [I64]?  x: [F64]? }
";

/// Values of one property of which no two are the same, `null` among them for all of them.
const DIFFERENT: &[(&str, &[&str])] = &[
    ("s", &["\"\"", "\" \"", "\"null\"", "\"a\"", "\"A\"", "\"e\u{301}\"", "\"\u{e9}\"", "\"a\\u0000\""]),
    ("i", &["0", "-1", "9007199254740992", "9007199254740993", "\"9223372036854775807\""]),
    ("u", &["0", "1", "\"18446744073709551615\"", "\"18446744073709551614\""]),
    ("f", &["0.0", "-0.0", "0.1", "0.10000000000000002", "5e-324", "1e308"]),
    ("g", &["0.0", "-0.0", "0.1", "0.10000001"]),
    ("t", &["true", "false"]),
    ("d", &["\"1969-12-31\"", "\"1970-01-01\"", "\"2024-02-29\""]),
    ("m", &["\"1970-01-01T00:00:00Z\"", "\"1970-01-01T00:00:00.000001Z\"", "\"1969-12-31T23:59:59.999999Z\""]),
    ("e", &["\"one\"", "\"two\""]),
    ("b", &["\"base64:\"", "\"base64:AA==\"", "\"base64:AQ==\"", "\"base64:AAA=\""]),
    ("v", &["[0,0,0]", "[0,0,-0.0]", "[1,2,3]", "[1,2,3.0000002]", "[3,2,1]"]),
    ("l", &["[]", "[\"\"]", "[\"a\"]", "[\"a\",\"b\"]", "[\"b\",\"a\"]", "[\"a,b\"]", "[\"a\",\"a\"]"]),
    ("n", &["[]", "[0]", "[1,2]", "[12]", "[9007199254740993]", "[9007199254740992]"]),
    ("x", &["[]", "[0.0]", "[-0.0]", "[0.1]", "[0.10000000000000002]"]),
];

fn record(slug: &str, property: &str, value: &str) -> String {
    format!("{{\"type\":\"V\",\"data\":{{\"slug\":\"{slug}\",\"{property}\":{value}}}}}\n")
}

/// Every ordered pair of values of a property, the same one twice included.
fn pairs() -> Vec<(String, &'static str, &'static str, &'static str)> {
    let mut pairs = Vec::new();
    for (property, values) in DIFFERENT {
        let all: Vec<&'static str> = std::iter::once("null").chain(values.iter().copied()).collect();
        for (i, before) in all.iter().enumerate() {
            pairs.extend(
                all.iter().enumerate().map(|(j, after)| (format!("{property}.{i}.{j}"), *property, *before, *after)),
            );
        }
    }
    pairs
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_two_values_that_differ_are_told_and_only_those() {
    let g = graph("exact", KINDS).await.unwrap();
    let pairs = pairs();
    assert!(pairs.len() > 300);
    let text = |value: fn(&(String, &'static str, &'static str, &'static str)) -> &'static str| {
        pairs.iter().map(|pair| record(&pair.0, pair.1, value(pair))).collect::<String>()
    };
    load(&g, "main", LoadMode::Append, &text(|pair| pair.2)).await.unwrap();
    fork(&g, "b", "main").await;
    // Every row is written again, most of them as something else.
    load(&g, "b", LoadMode::Overwrite, &text(|pair| pair.3)).await.unwrap();
    let found = between(&g, &head("main"), &head("b")).await;
    let mut expected: Vec<(String, String)> =
        pairs.iter().filter(|pair| pair.2 != pair.3).map(|pair| (pair.0.clone(), pair.1.to_string())).collect();
    expected.sort();
    let told: Vec<(String, String)> = found.iter().map(|c| (c.id.clone(), c.changed.join(","))).collect();
    assert_eq!(told, expected);
    // A merge sees the same: where the target stayed, it takes what differs, to the bit.
    load(&g, "main", LoadMode::Merge, &record("other", "s", "\"x\"")).await.unwrap();
    let done = merge(&g, "b", "main").await;
    assert_eq!(done.receipt.commit.counts[0].updated, expected.len() as u64);
    let left: Vec<EntityChange> = between(&g, &head("b"), &head("main")).await;
    assert_eq!(left.iter().map(|c| c.id.as_str()).collect::<Vec<_>>(), ["other"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_sides_that_differ_by_a_bit_disagree() {
    let g = graph("exact", KINDS).await.unwrap();
    let pairs = pairs();
    let start = |(slug, property, ..): &(String, &str, &str, &str)| record(slug, property, "null");
    load(&g, "main", LoadMode::Append, &pairs.iter().map(start).collect::<String>()).await.unwrap();
    fork(&g, "b", "main").await;
    let text = |value: fn(&(String, &'static str, &'static str, &'static str)) -> &'static str| {
        pairs.iter().map(|pair| record(&pair.0, pair.1, value(pair))).collect::<String>()
    };
    load(&g, "main", LoadMode::Merge, &text(|pair| pair.2)).await.unwrap();
    load(&g, "b", LoadMode::Merge, &text(|pair| pair.3)).await.unwrap();
    let mut expected: Vec<String> = pairs
        .iter()
        .filter(|(_, _, ours, theirs)| ours != theirs && *ours != "null" && *theirs != "null")
        .map(|(slug, property, ..)| format!("divergent_update V/{slug} {property}"))
        .collect();
    expected.sort();
    assert_eq!(refused(&g, "b", "main").await, expected);
}
