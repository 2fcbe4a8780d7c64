//! Every reason has its code, details are complete and bounded, and nothing secret gets out.

use super::*;
use omnigraph_engine::error::Violation;
use std::collections::HashMap;

fn info(status: &Status) -> (String, String, HashMap<String, String>) {
    let info = status.get_details_error_info().unwrap();
    (info.reason, info.domain, info.metadata)
}

#[test]
fn every_reason_of_the_engine_has_its_code() {
    for engine in Reason::ALL {
        let status = from_error(Error::new(*engine, "what to do"));
        let (name, domain, _) = info(&status);
        assert_eq!(domain, "omnigraph");
        let known = ErrorReason::from_reason(&name).unwrap();
        assert_eq!(status.code(), known.code(), "{engine}");
        assert_eq!(name, engine.as_str());
    }
}

#[test]
fn waiting_is_suggested_where_it_helps() {
    let delay = |e: Error| from_error(e).get_details_retry_info().and_then(|r| r.retry_delay);
    let given = Duration::from_millis(200);
    assert_eq!(delay(Error::new(Reason::TooMuchContention, "x").retry_after(given)), Some(given));
    assert_eq!(delay(Error::new(Reason::StoreUnavailable, "x")), Some(RETRY_DELAY));
    assert_eq!(delay(Error::new(Reason::LimitExceeded, "x")), None);
    assert_eq!(delay(Error::new(Reason::HeadMoved, "x")), None);
    assert!(overloaded("calls", 1).get_details_retry_info().is_some());
}

#[test]
fn metadata_has_the_names_of_the_contract() {
    let facts = |e: Error| info(&from_error(e)).2;
    let moved =
        facts(Error::new(Reason::HeadMoved, "x").with("branch", "main").with("expected_head", "A").with("head", "B"));
    assert_eq!((moved["branch"].as_str(), moved["expected"].as_str(), moved["actual"].as_str()), ("main", "A", "B"));
    let unknown = facts(Error::new(Reason::TypeNotFound, "x").with("type", "edge:Knos"));
    assert_eq!((unknown["kind"].as_str(), unknown["type"].as_str()), ("edge", "Knos"));
    let doubt = facts(Error::new(Reason::InDoubt, "x").with("commit_id", "C").with("operation_id", "O"));
    assert_eq!((doubt["commit"].as_str(), doubt["operation"].as_str()), ("C", "O"));
    let stamp = facts(Error::new(Reason::StorageStampTooNew, "x").with("stamp", 9));
    assert_eq!((stamp["found"].as_str(), stamp["served"].as_str()), ("9", "4"));
    let drift = facts(
        Error::new(Reason::Drift, "x").with("type", "node:P").with("manifest_version", 1).with("lance_head_version", 2),
    );
    assert_eq!((drift["table"].as_str(), drift["published"].as_str(), drift["found"].as_str()), ("node:P", "1", "2"));
    let limit = facts(Error::new(Reason::LimitExceeded, "x").with("limit", 4096).with("found", 5000));
    assert_eq!((limit["limit"].as_str(), limit["value"].as_str(), limit["max"].as_str()), ("size", "5000", "4096"));
    let name = facts(Error::new(Reason::InvalidName, "too long").with("name", "n"));
    assert_eq!(name["problem"], "too long");
}

#[test]
fn violations_are_listed_and_bounded() {
    let violation = |i: usize| Violation {
        field: format!("records[{i}].data.age"),
        description: "found a string, expected I32".into(),
        reason: Reason::TypeMismatch,
    };
    let few = Error::new(Reason::InvalidRecord, "x").with_violations((0..3).map(violation).collect());
    let bad = from_error(few).get_details_bad_request().unwrap();
    assert_eq!(bad.field_violations.len(), 3);
    assert_eq!(bad.field_violations[2].field, "records[2].data.age");
    let many = Error::new(Reason::InvalidRecord, "ü".repeat(9000))
        .with("problems", 5000)
        .with("found", "v".repeat(9000))
        .with_violations((0..5000).map(violation).collect());
    let status = from_error(many);
    assert!(status.message().len() <= MAX_STATUS_MESSAGE_BYTES);
    assert!(status.details().len() <= MAX_STATUS_DETAIL_BYTES + MAX_STATUS_MESSAGE_BYTES + 512);
    assert!(status.get_details_bad_request().unwrap().field_violations.len() > 20);
    assert_eq!(info(&status).2["errors"], "5000");
}

#[test]
fn faults_and_credentials_stay_inside() {
    let fault = from_error(Error::internal("table 7 has no row 9"));
    assert!(!fault.message().contains("row 9"));
    assert!(info(&fault).2.contains_key("trace_id"));
    let data = Error::new(Reason::DataCorrupt, "https://u:p@host/k?X-Amz-Signature=abc holds nothing")
        .with("path", "https://u:p@host/k?sig=abc");
    let status = from_error(data);
    let (_, _, facts) = info(&status);
    for text in [status.message(), facts["path"].as_str(), facts["problem"].as_str()] {
        assert!(!text.contains("abc") && !text.contains("u:p"), "{text}");
    }
}

#[test]
fn texts_are_cut_between_characters() {
    assert_eq!(clip("abc", 3), "abc");
    assert_eq!(clip("äöü", 5), "ä…");
    assert!(clip(&"ü".repeat(100), 11).len() <= 11);
}
