//! Ends a call when its caller's patience, `grpc-timeout`, does: with the code that says so.
//!
//! The call's future is dropped, which stops reads. A write that was started goes on in a task of its own.
//! Streamed answers outlive that future; they get the same deadline from the request's extensions.

use std::time::Duration;

use tokio::time::Instant;

use super::{Middleware, Next, Request, Response};
use crate::limits::DEADLINE_MARGIN;
use crate::status;

/// When a call has to be over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline(pub Instant);

/// See the module header.
#[derive(Clone, Copy, Debug, Default)]
pub struct HonourDeadline;

impl Middleware for HonourDeadline {
    async fn handle<N: Next>(self, mut request: Request, next: N) -> Response {
        let header = request.headers().get("grpc-timeout").and_then(|v| v.to_str().ok());
        let end = header.and_then(parse).and_then(|patience| Instant::now().checked_add(less_margin(patience)));
        let Some(end) = end else {
            return next.run(request).await;
        };
        request.extensions_mut().insert(Deadline(end));
        match tokio::time::timeout_at(end, next.run(request)).await {
            Ok(response) => response,
            Err(_) => status::deadline_exceeded().into_http(),
        }
    }
}

/// A little early, but never so early that a short deadline leaves no time at all.
fn less_margin(patience: Duration) -> Duration {
    patience.saturating_sub(DEADLINE_MARGIN.min(patience / 10))
}

/// A `grpc-timeout`: up to eight digits and a unit. `None` for anything else, which is as if none were given.
fn parse(text: &str) -> Option<Duration> {
    let split = text.len().checked_sub(1)?;
    let (digits, unit) = (text.get(..split)?, text.get(split..)?);
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let number: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(number * 3600),
        "M" => Duration::from_secs(number * 60),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{echo, request, status};
    use super::*;

    #[test]
    fn timeouts_are_read_as_the_protocol_writes_them() {
        for (text, expected) in [
            ("1H", Some(Duration::from_secs(3600))),
            ("2M", Some(Duration::from_secs(120))),
            ("3S", Some(Duration::from_secs(3))),
            ("40m", Some(Duration::from_millis(40))),
            ("5u", Some(Duration::from_micros(5))),
            ("99999999n", Some(Duration::from_nanos(99_999_999))),
            ("99999999H", Some(Duration::from_secs(99_999_999 * 3600))),
            ("", None),
            ("S", None),
            ("5", None),
            ("-1S", None),
            ("1.5S", None),
            ("999999999S", None),
            ("1ü", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }

    #[tokio::test]
    async fn a_late_call_ends_with_its_own_code() {
        let call = |timeout: &str, pause| {
            let request = request("/s/m", &[("grpc-timeout", timeout)]);
            HonourDeadline.handle(request, echo(Duration::from_millis(pause)))
        };
        assert_eq!(status(&call("20m", 60_000).await).unwrap().code(), tonic::Code::DeadlineExceeded);
        assert_eq!(status(&call("0S", 60_000).await).unwrap().code(), tonic::Code::DeadlineExceeded);
        let in_time = call("60S", 1).await;
        assert!(status(&in_time).is_none());
        assert!(in_time.extensions().get::<Deadline>().is_some());
        assert!(call("99999999H", 1).await.extensions().get::<Deadline>().is_some());
    }
}
