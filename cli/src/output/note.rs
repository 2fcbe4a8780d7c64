//! What goes to stderr: notes, questions and errors. Nobody reading stdout sees any of it.

use std::io::{self, Write as _};

use serde_json::{Map, Value as Json, json};

use super::colour::{Ink, Paint};
use crate::failure::Failure;

/// Violations told to people; the rest is counted.
const MAX_SHOWN: usize = 100;

/// Tells something for people.
pub(crate) fn say(text: &str) {
    // There is nowhere to report that stderr is gone.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Asks something, and leaves the cursor behind the question.
pub(crate) fn question(text: &str) {
    let mut err = io::stderr().lock();
    let _ = write!(err, "{text}");
    let _ = err.flush();
}

/// Tells why a command failed.
pub(crate) fn failure(failure: &Failure, json: bool) {
    if json {
        say(&failure_json(failure).to_string());
        return;
    }
    say(&format!("{}: {}", Paint::stderr().with(Ink::BoldRed, "error"), failure_text(failure)));
}

fn failure_text(failure: &Failure) -> String {
    let mut text = failure.message().to_string();
    if let Some(reason) = failure.reason() {
        text.push_str(&format!(" [{reason}]"));
    }
    let violations = failure.violations();
    for violation in violations.iter().take(MAX_SHOWN) {
        text.push_str(&format!("\n  {}: {}", violation.field, violation.description));
    }
    if violations.len() > MAX_SHOWN {
        text.push_str(&format!("\n  … and {} more", violations.len() - MAX_SHOWN));
    }
    text
}

fn failure_json(failure: &Failure) -> Json {
    let metadata: Map<String, Json> = failure.metadata().iter().map(|(k, v)| (k.clone(), json!(v))).collect();
    let violations = failure.violations().iter();
    let violations: Vec<Json> = violations.map(|v| json!({"field": v.field, "description": v.description})).collect();
    json!({"error": {
        "message": failure.message(),
        "reason": failure.reason(),
        "exit_code": failure.exit() as u8,
        "metadata": metadata,
        "violations": violations,
    }})
}

#[cfg(test)]
mod tests {
    use super::*;
    use omnigraph_engine::{Error, Reason, Violation};

    #[test]
    fn errors_are_told_in_full() {
        let violation = Violation {
            field: "records[7].data.age".into(),
            description: "no number".into(),
            reason: Reason::TypeMismatch,
        };
        let error = Error::new(Reason::InvalidRecord, "1 record is wrong").with("record", 7);
        let failure = Failure::from(error.with_violations(vec![violation]));
        assert_eq!(failure_text(&failure), "1 record is wrong [INVALID_RECORD]\n  records[7].data.age: no number");
        assert_eq!(
            failure_json(&failure),
            json!({"error": {
                "message": "1 record is wrong",
                "reason": "INVALID_RECORD",
                "exit_code": 1,
                "metadata": {"record": "7"},
                "violations": [{"field": "records[7].data.age", "description": "no number"}],
            }})
        );
    }
}
