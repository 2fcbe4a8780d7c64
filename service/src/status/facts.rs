//! The metadata of an error under the names the contract gives them.
//!
//! The engine names facts in its own terms and knows no contract; a program that reads metadata must find
//! at least the keys that the contract's examples have.

use std::collections::HashMap;

use omnigraph_engine::error::{Error, Reason};
use omnigraph_engine::model::TypeRef;

/// A key of the engine, and what the contract calls it for some reasons.
const NAMES: &[(&str, &str, &[Reason])] = &[
    ("commit_id", "commit", &[]),
    ("operation_id", "operation", &[]),
    ("expected_head", "expected", &[Reason::HeadMoved]),
    ("head", "actual", &[Reason::HeadMoved]),
    ("stamp", "found", &[Reason::StorageStampTooOld, Reason::StorageStampTooNew]),
    ("root", "location", &[Reason::TornInit, Reason::StoreLacksConditionalPut]),
    ("manifest_version", "published", &[Reason::Drift]),
    ("lance_head_version", "found", &[Reason::Drift]),
    ("problems", "errors", &[Reason::InvalidRecord]),
    ("found", "value", &[Reason::LimitExceeded]),
    ("bytes", "value", &[Reason::LimitExceeded]),
];

/// Reasons whose metadata tells the problem.
const WITH_PROBLEM: &[Reason] = &[
    Reason::InvalidName,
    Reason::InvalidPredicate,
    Reason::InvalidTicket,
    Reason::InvalidPageToken,
    Reason::DataCorrupt,
];

/// The metadata of the status for `error`, without credentials.
pub(super) fn metadata(error: &Error) -> HashMap<String, String> {
    let reason = error.reason();
    let mut out = HashMap::new();
    for (key, value) in error.metadata() {
        let known =
            NAMES.iter().find(|(name, _, reasons)| name == key && (reasons.is_empty() || reasons.contains(&reason)));
        let key = known.map_or(*key, |(_, name, _)| name);
        out.insert(key.to_string(), super::told(reason, value));
    }
    if WITH_PROBLEM.contains(&reason) {
        out.entry("problem".to_string()).or_insert_with(|| super::told(reason, error.message()));
    }
    match reason {
        Reason::LimitExceeded => name_limit(&mut out),
        Reason::Drift => rename(&mut out, "type", "table"),
        Reason::InvalidSchema => place(error, &mut out),
        Reason::StorageStampTooOld | Reason::StorageStampTooNew => {
            let served = omnigraph_engine::format::stamp::CURRENT;
            out.entry("served".to_string()).or_insert_with(|| served.to_string());
        }
        _ => {}
    }
    if reason != Reason::Drift {
        split_type(&mut out);
    }
    out
}

fn rename(out: &mut HashMap<String, String>, from: &str, to: &str) {
    if let Some(value) = out.remove(from) {
        out.insert(to.to_string(), value);
    }
}

/// `node:Person` is a kind and a name to a caller.
fn split_type(out: &mut HashMap<String, String>) {
    if let Some(type_ref) = out.get("type").and_then(|text| TypeRef::parse(text)) {
        out.insert("kind".to_string(), type_ref.kind.to_string());
        out.insert("type".to_string(), type_ref.name);
    }
}

/// The engine gives a limit's number where the contract gives its name.
fn name_limit(out: &mut HashMap<String, String>) {
    let Some(limit) = out.get("limit").filter(|l| l.bytes().all(|b| b.is_ascii_digit())) else {
        return;
    };
    let limit = limit.clone();
    out.entry("max".to_string()).or_insert(limit);
    out.insert("limit".to_string(), "size".to_string());
}

/// Line and column of the first problem of a schema in text.
fn place(error: &Error, out: &mut HashMap<String, String>) {
    let first = error.violations().first().map(|v| v.field.as_str());
    let place = first.and_then(|f| f.strip_prefix("line ")?.split_once(", column "));
    if let Some((line, column)) = place {
        out.entry("line".to_string()).or_insert_with(|| line.to_string());
        out.entry("column".to_string()).or_insert_with(|| column.to_string());
    }
}
