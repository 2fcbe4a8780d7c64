//! Repeating calls: when it is right, how often, and how long to wait between.
//!
//! Whether to repeat is a pure function of the error and of whether the call may be repeated; waiting is done
//! by the caller of that function. Nothing here knows what is called.

use std::future::Future;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use tonic::Code;

use crate::error::{Error, Result};
use crate::id;

/// How often a call is repeated and how long the pauses are.
///
/// A call is repeated if the server asks for it (`RetryInfo`), or if the answer is `UNAVAILABLE` and the call
/// may be repeated: reads, and writes that carry a request id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Calls at most, the first included. One: never repeat.
    pub max_attempts: u32,
    /// First pause. Each further one is twice as long, with jitter, but never shorter than the server asks.
    pub first_delay: Duration,
    /// Longest pause. A server that asks for a longer one gets no repetition: the error is returned.
    pub max_delay: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { max_attempts: 5, first_delay: Duration::from_millis(100), max_delay: Duration::from_secs(10) }
    }
}

impl RetryPolicy {
    /// Never repeats a call.
    pub fn none() -> Self {
        Self { max_attempts: 1, ..Self::default() }
    }

    fn pauses(&self) -> impl Iterator<Item = Duration> {
        ExponentialBuilder::new()
            .with_min_delay(self.first_delay)
            .with_max_delay(self.max_delay)
            .with_factor(2.0)
            .with_jitter()
            .with_jitter_seed(id::seed())
            .with_max_times(self.max_attempts.saturating_sub(1) as usize)
            .build()
    }
}

/// Whether a call whose outcome is unknown may be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Safety {
    /// A read, or a write whose repetition the server recognises.
    Repeatable,
    /// A repetition might have a second effect.
    Once,
}

impl Safety {
    /// Of a write with this request id.
    pub(crate) fn of_write(request_id: &str) -> Self {
        if request_id.is_empty() { Self::Once } else { Self::Repeatable }
    }
}

/// Whether repeating the call can help, and the shortest pause before it.
fn repeat_after(error: &Error, safety: Safety) -> Option<Duration> {
    match error.retry_delay() {
        Some(delay) => Some(delay),
        None if error.code() == Code::Unavailable && safety == Safety::Repeatable => Some(Duration::ZERO),
        None => None,
    }
}

/// Makes a call until it succeeds, repeating makes no sense, or the attempts are used up. Returns the last
/// error.
pub(crate) async fn run<T, Call, Fut>(policy: RetryPolicy, safety: Safety, mut call: Call) -> Result<T>
where
    Call: FnMut() -> Fut,
    Fut: Future<Output = Result<T>>,
{
    let mut pauses = policy.pauses();
    loop {
        let error = match call().await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let (Some(asked), Some(pause)) = (repeat_after(&error, safety), pauses.next()) else {
            return Err(error);
        };
        if asked > policy.max_delay {
            return Err(error);
        }
        let pause = pause.max(asked);
        tracing::debug!(error = %error, pause_ms = pause.as_millis() as u64, "repeating a call");
        tokio::time::sleep(pause).await;
    }
}

#[cfg(test)]
mod tests {
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
}
