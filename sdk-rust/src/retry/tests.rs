//! When something is repeated, how often, and after which pauses.

use super::*;
use std::cell::Cell;
use tonic::Status;
use tonic_types::{ErrorDetails, StatusExt};

fn error(code: Code, delay: Option<u64>) -> Error {
    let mut details = ErrorDetails::new();
    if let Some(millis) = delay {
        details.set_retry_info(Some(Duration::from_millis(millis)));
    }
    Status::with_error_details(code, "", details).into()
}

#[test]
fn repeating_follows_from_error_and_safety() {
    let millis = Duration::from_millis;
    for (code, delay, safety, expected) in [
        (Code::Unavailable, None, Safety::Repeatable, Some(millis(0))),
        (Code::Unavailable, None, Safety::Once, None),
        (Code::Unavailable, Some(5), Safety::Once, Some(millis(5))),
        (Code::ResourceExhausted, Some(7), Safety::Once, Some(millis(7))),
        (Code::ResourceExhausted, None, Safety::Repeatable, None),
        (Code::Aborted, Some(1), Safety::Repeatable, Some(millis(1))),
        (Code::Aborted, None, Safety::Repeatable, None),
        (Code::FailedPrecondition, None, Safety::Repeatable, None),
        (Code::DeadlineExceeded, None, Safety::Repeatable, None),
    ] {
        assert_eq!(repeat_after(&error(code, delay), safety), expected, "{code:?} {safety:?}");
    }
}

#[test]
fn a_stream_goes_on_after_its_connection_broke_but_not_after_a_refusal() {
    for (code, expected) in [
        (Code::Unavailable, true),
        (Code::Unknown, true),
        (Code::Internal, true),
        (Code::Cancelled, true),
        (Code::Unauthenticated, false),
        (Code::Unimplemented, false),
        (Code::FailedPrecondition, false),
    ] {
        assert_eq!(resume_after(&error(code, None)).is_some(), expected, "{code:?}");
    }
    let mut details = ErrorDetails::new();
    details.set_error_info("INTERNAL", omnigraph_proto::ERROR_DOMAIN, std::collections::HashMap::new());
    let answered = Error::from(Status::with_error_details(Code::Internal, "", details));
    assert_eq!(resume_after(&answered), None, "the server said so itself");
}

#[test]
fn progress_grants_new_attempts() {
    let millis = Duration::from_millis(1);
    let policy = RetryPolicy { max_attempts: 2, first_delay: millis, max_delay: millis };
    let mut resumption = Resumption::new(policy);
    let down = error(Code::Unavailable, None);
    assert!(resumption.after(&down).is_some());
    assert!(resumption.after(&down).is_none());
    resumption.progress();
    assert!(resumption.after(&down).is_some());
    assert!(resumption.after(&error(Code::Unavailable, Some(60_000))).is_none(), "too long a pause");
}

async fn attempts(policy: RetryPolicy, answer: impl Fn() -> Result<()>) -> u32 {
    let made = Cell::new(0);
    let call = || {
        made.set(made.get() + 1);
        std::future::ready(answer())
    };
    let _ = run(policy, Safety::Repeatable, call).await;
    made.get()
}

#[tokio::test]
async fn attempts_are_bounded() {
    let millis = Duration::from_millis(1);
    let policy = RetryPolicy { max_attempts: 3, first_delay: millis, max_delay: millis };
    let down = || Err(error(Code::Unavailable, None));
    assert_eq!(attempts(policy, down).await, 3);
    assert_eq!(attempts(RetryPolicy::none(), down).await, 1);
    assert_eq!(attempts(policy, || Ok(())).await, 1);
    let far = || Err(error(Code::Unavailable, Some(60_000)));
    assert_eq!(attempts(policy, far).await, 1, "a pause beyond the limit is not waited for");
}
