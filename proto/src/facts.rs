//! The names of the facts in `google.rpc.ErrorInfo.metadata`.
//!
//! Whoever meets an error knows facts about it in terms of its own. Programs have to find at least the keys that
//! the examples in `error_reason.proto` have, whether a server tells them of the error or a program that works on
//! files, so the translation stands here, once. It is pure and takes nothing secret out.

use std::collections::BTreeMap;

use crate::v1::ErrorReason;
use ErrorReason as R;

/// A fact's own name, and what the contract calls it for some reasons; for all if there are none.
const NAMES: &[(&str, &str, &[R])] = &[
    ("commit_id", "commit", &[]),
    ("operation_id", "operation", &[]),
    ("expected_head", "expected", &[R::HeadMoved]),
    ("head", "actual", &[R::HeadMoved]),
    ("stamp", "found", &[R::StorageStampTooOld, R::StorageStampTooNew]),
    ("root", "location", &[R::TornInit, R::StoreLacksConditionalPut]),
    ("manifest_version", "published", &[R::Drift]),
    ("lance_head_version", "found", &[R::Drift]),
    ("problems", "errors", &[R::InvalidRecord]),
    ("found", "value", &[R::LimitExceeded]),
    ("bytes", "value", &[R::LimitExceeded]),
];

/// Reasons whose metadata tells the problem.
const WITH_PROBLEM: &[R] =
    &[R::InvalidName, R::InvalidPredicate, R::InvalidTicket, R::InvalidPageToken, R::DataCorrupt];

/// What is known of an error besides its facts.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// Why the call failed.
    pub reason: ErrorReason,
    /// The message for people.
    pub message: &'a str,
    /// Where the first problem of the input is, if it has several: a path into it, or `line 4, column 12`.
    pub first_field: Option<&'a str>,
    /// The storage stamp that this program serves.
    pub served_stamp: u32,
}

/// The facts under the names of the contract. Those that it has no name for keep their own.
///
/// ```
/// use omnigraph_proto::facts::{self, Setting};
/// use omnigraph_proto::v1::ErrorReason;
///
/// let setting = Setting { reason: ErrorReason::TypeNotFound, message: "", first_field: None, served_stamp: 4 };
/// let named = facts::named(setting, [("type", "node:Persn".to_string())]);
/// assert_eq!((named["kind"].as_str(), named["type"].as_str()), ("node", "Persn"));
/// ```
pub fn named<'a>(setting: Setting<'_>, facts: impl IntoIterator<Item = (&'a str, String)>) -> BTreeMap<String, String> {
    let reason = setting.reason;
    let mut out: BTreeMap<String, String> =
        facts.into_iter().map(|(name, value)| (name_of(reason, name).to_string(), value)).collect();
    if WITH_PROBLEM.contains(&reason) {
        add(&mut out, "problem", setting.message);
    }
    match reason {
        R::LimitExceeded => name_limit(&mut out),
        R::Drift => {
            if let Some(table) = out.remove("type") {
                out.insert("table".to_string(), table);
            }
        }
        R::InvalidSchema => place(setting.first_field, &mut out),
        R::StorageStampTooOld | R::StorageStampTooNew => add(&mut out, "served", &setting.served_stamp.to_string()),
        _ => {}
    }
    split_type(&mut out);
    out
}

fn name_of(reason: ErrorReason, own: &str) -> &str {
    let named =
        NAMES.iter().find(|(name, _, reasons)| *name == own && (reasons.is_empty() || reasons.contains(&reason)));
    named.map_or(own, |(_, name, _)| name)
}

/// A fact that follows from others, unless it was told.
fn add(out: &mut BTreeMap<String, String>, name: &str, value: &str) {
    out.entry(name.to_string()).or_insert_with(|| value.to_string());
}

/// `node:Person` is a kind and a name.
fn split_type(out: &mut BTreeMap<String, String>) {
    let split = out.get("type").and_then(|text| text.split_once(':'));
    let Some((kind @ ("node" | "edge"), name)) = split.filter(|(_, name)| !name.is_empty()) else {
        return;
    };
    let (kind, name) = (kind.to_string(), name.to_string());
    out.insert("kind".to_string(), kind);
    out.insert("type".to_string(), name);
}

/// A limit's number where the contract has its name.
fn name_limit(out: &mut BTreeMap<String, String>) {
    let Some(limit) = out.get("limit").filter(|l| l.bytes().all(|b| b.is_ascii_digit())) else {
        return;
    };
    let limit = limit.clone();
    add(out, "max", &limit);
    out.insert("limit".to_string(), "size".to_string());
}

/// Line and column of the first problem of a schema in text.
fn place(first_field: Option<&str>, out: &mut BTreeMap<String, String>) {
    if let Some((line, column)) = first_field.and_then(|f| f.strip_prefix("line ")?.split_once(", column ")) {
        add(out, "line", line);
        add(out, "column", column);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(reason: R, facts: &[(&str, &str)]) -> String {
        let setting = Setting { reason, message: "why", first_field: Some("line 4, column 12"), served_stamp: 4 };
        let named = named(setting, facts.iter().map(|(name, value)| (*name, value.to_string())));
        named.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn facts_have_the_names_of_the_contract() {
        for (reason, facts, expected) in [
            (
                R::InDoubt,
                &[("commit_id", "C"), ("operation_id", "O"), ("branch", "b")][..],
                "branch=b commit=C operation=O",
            ),
            (R::RecoveryNotFound, &[("operation_id", "O")], "operation=O"),
            (R::HeadMoved, &[("expected_head", "A"), ("head", "B")], "actual=B expected=A"),
            (R::ReadSetChanged, &[("head", "B")], "head=B"),
            (R::StorageStampTooNew, &[("stamp", "9")], "found=9 served=4"),
            (R::Drift, &[("type", "node:P"), ("manifest_version", "1")], "published=1 table=node:P"),
            (R::LimitExceeded, &[("limit", "7"), ("found", "8")], "limit=size max=7 value=8"),
            (R::LimitExceeded, &[("limit", "message_bytes"), ("max", "7")], "limit=message_bytes max=7"),
            (R::InvalidName, &[("name", "n")], "name=n problem=why"),
            (R::InvalidPageToken, &[("problem", "own")], "problem=own"),
            (R::InvalidSchema, &[("name", "n")], "column=12 line=4 name=n"),
            (R::TypeNotFound, &[("type", "edge:K")], "kind=edge type=K"),
            (R::TypeNotFound, &[("type", "K:")], "type=K:"),
            (R::KeyConflict, &[("type", "P"), ("mine", "x")], "mine=x type=P"),
        ] {
            assert_eq!(told(reason, facts), expected, "{reason:?}");
        }
    }
}
