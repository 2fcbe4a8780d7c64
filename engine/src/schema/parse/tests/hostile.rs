//! Input nobody meant: too long, cut off, repeated without end, mutilated. Reading must end, soon, with a
//! schema or with positions.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{EXAMPLE, parse};
use crate::error::Reason;
use crate::limits;
use crate::schema::sample::Tape;

#[test]
fn too_long_a_text_is_refused_unread() {
    let error = parse(&" ".repeat(limits::MAX_SCHEMA_BYTES + 1)).unwrap_err();
    assert_eq!(error.reason(), Reason::LimitExceeded);
    assert_eq!(error.metadata()["bytes"], (limits::MAX_SCHEMA_BYTES + 1).to_string());
}

#[test]
fn hostile_texts_cost_linear_time_and_no_stack() {
    let units = [
        "(",
        ")",
        "[",
        "{",
        "}",
        "@",
        "@a(",
        "@a(}",
        "a:[",
        "a:enum(",
        "\"",
        "\\",
        "/*",
        "?",
        "..",
        "node A {",
        "node A ",
        "node A{a:I32 @x(",
        "interface I{",
        "edge E:",
        "implements ",
        "@range(a,",
        "node A{}",
        "£ ",
        "@check(\"",
        "a:b ",
        "@key(a,",
        "@index(",
        "@index(kind=",
    ];
    for unit in units {
        for prefix in ["", "node N { ", "node N { a: ", "node N { a: I32 @x(", "edge E: A -> A "] {
            let text = format!("{prefix}{}", unit.repeat(20_000 / unit.len()));
            let started = Instant::now();
            let _ = parse(&text);
            assert!(started.elapsed() < Duration::from_secs(5), "{prefix}{unit}…");
        }
    }
}

#[test]
fn every_prefix_of_the_example_is_read_without_panic() {
    for (end, _) in EXAMPLE.char_indices() {
        let _ = parse(&EXAMPLE[..end]);
        let _ = parse(&EXAMPLE[end..]);
    }
}

/// `text` after a few deletions, repetitions and insertions.
fn mutate(text: &str, tape: &mut Tape<'_>) -> String {
    const SCRAPS: [&str; 25] = [
        "{", "}", "(", ")", "[", "]", ":", ",", ";", "?", "@", "*", "..", "->", "=", "\"", "\\", "//", "/*", "node ",
        "edge X: ", "-1e", "\u{0}", "é☃", "\n",
    ];
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=tape.below(12) {
        let at = (tape.below(256) * 256 + tape.below(256)) % (chars.len() + 1);
        let end = (at + tape.below(24)).min(chars.len());
        match tape.below(4) {
            0 => drop(chars.drain(at..end)),
            1 => {
                let copied = chars[at..end].to_vec();
                let to = (tape.below(256) * 256 + tape.below(256)) % (chars.len() + 1);
                chars.splice(to..to, copied);
            }
            _ => drop(chars.splice(at..at, tape.pick(&SCRAPS).chars())),
        }
    }
    chars.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn mutilated_text_is_read_or_refused_with_positions(
        tape in prop::collection::vec(any::<u8>(), 0..120)
    ) {
        let text = mutate(EXAMPLE, &mut Tape(&tape));
        match parse(&text) {
            Ok(schema) => {
                prop_assert_eq!(crate::schema::check(&schema), vec![]);
                prop_assert_eq!(parse(&crate::schema::print(&schema)).unwrap(), schema);
            }
            Err(error) => {
                prop_assert_eq!(error.reason(), Reason::InvalidSchema);
                prop_assert!(!error.violations().is_empty());
                for violation in error.violations() {
                    prop_assert!(violation.field.starts_with("line "), "{:?}", violation);
                }
            }
        }
    }

    #[test]
    fn noise_is_refused_without_panic(text in "\\PC{0,200}") {
        let _ = parse(&text);
    }
}
