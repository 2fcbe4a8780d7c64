//! Repeating calls: when it is right, how often, and how long to wait between.
//!
//! Whether to repeat is a pure function of the error and of whether the call may be repeated; waiting is done
//! by the caller of that function. Nothing here knows what is called.

use std::future::Future;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use tonic::Code;

use crate::error::{Error, Origin, Result};
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

    fn pauses(&self) -> impl Iterator<Item = Duration> + Send + use<> {
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

/// The pause before the next attempt, if there is to be one.
fn next_pause(
    policy: RetryPolicy,
    asked: Option<Duration>,
    pauses: &mut (impl Iterator<Item = Duration> + ?Sized),
) -> Option<Duration> {
    let asked = asked?;
    let pause = pauses.next()?;
    (asked <= policy.max_delay).then(|| pause.max(asked))
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
        let Some(pause) = next_pause(policy, repeat_after(&error, safety), &mut pauses) else {
            return Err(error);
        };
        tracing::debug!(error = %error, pause_ms = pause.as_millis() as u64, "repeating a call");
        tokio::time::sleep(pause).await;
    }
}

/// The attempts of something that goes on for long and is taken up again when it breaks off.
pub(crate) struct Resumption {
    policy: RetryPolicy,
    pauses: Box<dyn Iterator<Item = Duration> + Send>,
}

impl Resumption {
    pub(crate) fn new(policy: RetryPolicy) -> Self {
        Self { policy, pauses: Box::new(policy.pauses()) }
    }

    /// It got further: from here on it may fail as often as in the beginning.
    pub(crate) fn progress(&mut self) {
        self.pauses = Box::new(self.policy.pauses());
    }

    /// The pause before it is taken up again. `None` if that makes no sense or the attempts are used up.
    pub(crate) fn after(&mut self, error: &Error) -> Option<Duration> {
        next_pause(self.policy, resume_after(error), &mut *self.pauses)
    }
}

/// Whether a read that broke off can go on where it was, and the shortest pause before it. A connection that breaks
/// has codes of all kinds, and no reason.
fn resume_after(error: &Error) -> Option<Duration> {
    let broke = error.origin() == Origin::Connection
        && matches!(error.code(), Code::Unknown | Code::Internal | Code::Cancelled | Code::Aborted);
    repeat_after(error, Safety::Repeatable).or_else(|| broke.then_some(Duration::ZERO))
}

#[cfg(test)]
mod tests;
