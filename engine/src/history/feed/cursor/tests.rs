//! What a cursor carries, what it refuses, and that no text harms.

use std::collections::BTreeSet;

use super::*;
use crate::model::{ChangeKind, TypeRef};

fn scope() -> Scope {
    Scope {
        graph: "01J00000000000000000000000".into(),
        branch: "feature/ä \"quoted\"".into(),
        incarnation: "01J00000000000000000000001".into(),
        wants: wants(&WatchRequest::default()),
    }
}

fn cursor() -> Cursor {
    Cursor::after(&scope(), "01J00000000000000000000002")
}

fn refused(text: &str) -> Error {
    let error = Cursor::decode(text).unwrap_err();
    assert_eq!(error.reason(), Reason::InvalidPageToken, "{text:?}: {error}");
    error
}

/// A text whose checksum is right, whatever it says.
fn sealed(body: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode([&checksum(body)[..], body].concat())
}

#[test]
fn a_cursor_comes_back_as_it_was() {
    let text = cursor().encode().unwrap();
    assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'), "{text}");
    let back = Cursor::decode(&text).unwrap();
    assert_eq!(back, cursor());
    back.check(&scope()).unwrap();
}

#[test]
fn the_longest_branch_name_fits() {
    for letter in ["\"", "ä", "b", "\u{200b}"] {
        let branch = letter.repeat(limits::MAX_NAME_BYTES / letter.len());
        crate::model::branch::check_name(&branch).unwrap();
        let long = Cursor::after(&Scope { branch, ..scope() }, &"0".repeat(26));
        let text = long.encode().unwrap();
        assert!(text.len() <= limits::MAX_CURSOR_BYTES, "{letter:?}: {}", text.len());
        assert_eq!(Cursor::decode(&text).unwrap(), long);
    }
}

#[test]
fn no_damage_goes_unnoticed_and_none_panics() {
    let whole = cursor().encode().unwrap();
    let letters: Vec<char> = whole.chars().collect();
    for cut in 0..letters.len() {
        refused(&letters[..cut].iter().collect::<String>());
        refused(&letters[cut + 1..].iter().collect::<String>());
    }
    for at in 0..letters.len() {
        for other in ['A', '_', '0', '=', ' ', '+', '\0', 'é'] {
            let mut changed = letters.clone();
            if std::mem::replace(&mut changed[at], other) != other {
                refused(&changed.iter().collect::<String>());
            }
            let mut grown = letters.clone();
            grown.insert(at, other);
            refused(&grown.iter().collect::<String>());
        }
        let mut swapped = letters.clone();
        swapped.swap(at, (at + 1) % letters.len());
        if swapped != letters {
            refused(&swapped.iter().collect::<String>());
        }
    }
    for text in ["", " ", "=", "AAAAAAAAAAA", "AAAAAAAAAAAA", "null", "../../etc", "\u{1f980}"] {
        refused(text);
    }
    let error = refused(&"A".repeat(limits::MAX_CURSOR_BYTES + 1));
    assert!(error.message().contains("2049 bytes"), "{error}");
}

#[test]
fn a_sealed_text_of_another_content_is_refused_too() {
    let mut random = fastrand::Rng::with_seed(7);
    for length in 0..200 {
        let body: Vec<u8> = (0..length).map(|_| random.u8(..)).collect();
        assert!(refused(&sealed(&body)).message().contains("damaged"));
    }
    let body = serde_json::to_value(cursor()).unwrap();
    for field in ["shape", "graph", "branch", "incarnation", "wants", "told"] {
        for wrong in [None, Some(serde_json::Value::Null), Some(serde_json::json!([1]))] {
            let mut changed = body.clone();
            match wrong {
                Some(value) => changed[field] = value,
                None => drop(changed.as_object_mut().unwrap().remove(field)),
            }
            assert!(refused(&sealed(changed.to_string().as_bytes())).message().contains("damaged"), "{field}");
        }
    }
    let newer = sealed(br#"{"shape":2,"at":{"new":"ways"}}"#);
    assert!(refused(&newer).message().contains("shape 2"));
}

#[test]
fn a_cursor_of_something_else_says_of_what() {
    let elsewhere = [
        (Scope { graph: "01J00000000000000000000009".into(), ..scope() }, "another graph"),
        (Scope { branch: "main".into(), ..scope() }, "not to \"main\""),
        (Scope { incarnation: "01J00000000000000000000009".into(), ..scope() }, "an earlier branch"),
        (Scope { wants: "x".into(), ..scope() }, "another filter"),
    ];
    for (scope, what) in elsewhere {
        let error = cursor().check(&scope).unwrap_err();
        assert_eq!(error.reason(), Reason::InvalidPageToken);
        assert!(error.message().contains(what), "{error}");
    }
}

#[test]
fn filters_are_told_apart_by_what_they_want_and_not_by_how_they_say_it() {
    let (a, b) = (TypeRef::node("A"), TypeRef::node("B"));
    let of = |types: &[&TypeRef], kinds: &[ChangeKind], ids: &[&str], changes| {
        wants(&WatchRequest {
            filter: DiffFilter {
                types: types.iter().map(|t| (*t).clone()).collect(),
                kinds: kinds.iter().copied().collect(),
                ids: ids.iter().map(ToString::to_string).collect(),
            },
            changes,
            ..WatchRequest::default()
        })
    };
    assert_eq!(of(&[&a, &b], &[], &[], true), of(&[&b, &a, &b], &[], &[], true));
    let all = [
        of(&[], &[], &[], true),
        of(&[], &[], &[], false),
        of(&[&a], &[], &[], true),
        of(&[&a, &b], &[], &[], true),
        of(&[&TypeRef::edge("A")], &[], &[], true),
        of(&[], &[ChangeKind::Insert], &[], true),
        of(&[], &[ChangeKind::Insert, ChangeKind::Delete], &[], true),
        of(&[], &[], &["insert"], true),
        of(&[], &[], &["node:A"], true),
        of(&[], &[], &["a", "b"], true),
        of(&[], &[], &["ab"], true),
    ];
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
}
