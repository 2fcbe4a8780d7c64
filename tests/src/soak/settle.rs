//! Repeating calls until their outcome is known, through whichever server is alive. A write keeps its request id.

use std::future::Future;
use std::time::{Duration, Instant};

use omnigraph_client::{Error, ErrorReason, Graph, Origin, Receipt, Result, Selector};

use super::place::{ATTEMPT_LIMIT, Place};

/// Time in which every call has to come to an outcome, however many servers die meanwhile.
pub(crate) const SETTLE_LIMIT: Duration = Duration::from_secs(180);

/// Pauses between attempts.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LAST_PAUSE: Duration = Duration::from_millis(500);

/// What an error means for the call that met it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Another writer came first, and nothing happened.
    Conflict,
    /// The server or the store cannot do it now, and nothing happened.
    Busy,
    /// Nobody knows whether it happened.
    Unknown,
    /// It did not happen and will not; the caller allows for that.
    Refused,
    /// It must not be answered at all.
    Wrong,
}

/// Reads an error of a call that may be refused for these reasons.
fn judge(error: &Error, refusals: &[ErrorReason]) -> Verdict {
    judge_parts(error.origin(), error.reason(), refusals)
}

fn judge_parts(origin: Origin, reason: Option<ErrorReason>, refusals: &[ErrorReason]) -> Verdict {
    use ErrorReason as R;
    match (origin, reason) {
        (Origin::Connection, _) => Verdict::Unknown,
        (_, Some(reason)) if refusals.contains(&reason) => Verdict::Refused,
        (_, Some(R::TooMuchContention | R::ExpectedVersionMismatch | R::ReadSetChanged)) => Verdict::Conflict,
        (_, Some(R::StoreUnavailable | R::Overloaded)) => Verdict::Busy,
        (_, Some(R::RecoveryRequired | R::InDoubt)) => Verdict::Unknown,
        _ => Verdict::Wrong,
    }
}

/// A call and how it went.
struct Repeated<T> {
    /// `None` if it came to no outcome that is allowed, which is noted already.
    answer: Option<Result<T>>,
    /// Whether the outcome of an attempt stayed unknown.
    shaken: bool,
    /// Whether an attempt ran out of time, so that its server may still be at it.
    late: bool,
    took: Duration,
}

/// Makes a call until it succeeds or is refused, beginning with the server `first`.
async fn repeat<T, Call, Fut>(
    place: &Place,
    first: usize,
    what: &str,
    judge: impl Fn(&Error, bool) -> Verdict + Send + Sync,
    call: Call,
) -> Repeated<T>
where
    Call: Fn(Graph) -> Fut + Send + Sync,
    Fut: Future<Output = Result<T>> + Send,
{
    let (begun, mut at, mut pause) = (Instant::now(), first, FIRST_PAUSE);
    let (mut shaken, mut late) = (false, false);
    let mut said = String::from("no server");
    while begun.elapsed() < SETTLE_LIMIT {
        let Some(graph) = place.graph(at) else { break };
        let verdict = match tokio::time::timeout(ATTEMPT_LIMIT, call(graph)).await {
            Ok(Ok(answer)) => return Repeated { answer: Some(Ok(answer)), shaken, late, took: begun.elapsed() },
            Ok(Err(error)) => {
                let verdict = judge(&error, shaken);
                said = error.to_string();
                late |= error.code() == omnigraph_client::Code::DeadlineExceeded;
                if verdict == Verdict::Refused {
                    return Repeated { answer: Some(Err(error)), shaken, late, took: begun.elapsed() };
                }
                pause = pause.max(error.retry_delay().unwrap_or_default());
                verdict
            }
            Err(_) => {
                late = true;
                said = format!("no answer in {ATTEMPT_LIMIT:?}");
                Verdict::Unknown
            }
        };
        let excused = !place.is_calm() || verdict == Verdict::Refused;
        match if excused { verdict } else { Verdict::Wrong } {
            Verdict::Conflict => place.ledger.book().counts.conflicts += 1,
            Verdict::Busy => place.ledger.book().counts.retries += 1,
            Verdict::Unknown => {
                place.ledger.book().counts.retries += 1;
                shaken = true;
                at += 1;
            }
            Verdict::Refused | Verdict::Wrong => {
                place.ledger.violation(format!("{what} was answered: {said}"));
                return Repeated { answer: None, shaken, late, took: begun.elapsed() };
            }
        }
        tokio::time::sleep(pause.min(LAST_PAUSE)).await;
        pause = (pause * 2).min(LAST_PAUSE);
    }
    place.ledger.violation(format!("{what} came to no outcome in {SETTLE_LIMIT:?}; last: {said}"));
    Repeated { answer: None, shaken, late, took: begun.elapsed() }
}

/// A write under a request id of its own.
#[derive(Clone, Debug)]
pub(crate) struct Write<'a> {
    pub(crate) place: &'a Place,
    pub(crate) branch: &'a str,
    pub(crate) request: String,
    /// Why it may be refused.
    pub(crate) refusals: &'a [ErrorReason],
    /// Whether its branch stays, so that the commit can be looked for in the end.
    pub(crate) lasts: bool,
}

impl Write<'_> {
    /// Makes it; the receipt if it was acknowledged, `None` if it was refused or is noted as a violation.
    pub(crate) async fn settle<Call, Fut>(&self, first: usize, call: Call) -> Option<Receipt>
    where
        Call: Fn(Graph) -> Fut + Send + Sync,
        Fut: Future<Output = Result<Receipt>> + Send,
    {
        let what = format!("write {} on {}", self.request, self.branch);
        let done = repeat(self.place, first, &what, |error, _| judge(error, self.refusals), call).await;
        let ledger = &self.place.ledger;
        match done.answer? {
            Ok(receipt) => {
                ledger.expect(receipt.changed, || format!("{what} is said to have changed nothing"));
                // Where all is calm, the client repeats by itself and does not say so.
                let repeated = done.shaken || self.place.is_calm();
                ledger.expect(repeated || !receipt.replayed, || format!("{what} was made once and is a repetition"));
                let mut book = ledger.book();
                book.counts.acknowledged += 1;
                book.counts.replayed += u64::from(receipt.replayed);
                if repeated {
                    book.counts.slowest = book.counts.slowest.max(done.took);
                }
                if self.lasts {
                    let commits = book.commits.entry(self.branch.to_string()).or_default();
                    commits.insert(self.request.clone(), receipt.commit_id.clone());
                }
                Some(receipt)
            }
            Err(_) => {
                ledger.book().counts.refusals += 1;
                None
            }
        }
    }
}

/// Reads; `None` is noted as a violation.
pub(crate) async fn read<T, Call, Fut>(place: &Place, first: usize, what: &str, call: Call) -> Option<T>
where
    Call: Fn(Graph) -> Fut + Send + Sync,
    Fut: Future<Output = Result<T>> + Send,
{
    place.ledger.book().counts.reads += 1;
    ask(place, first, what, &[], call).await?.ok()
}

/// Asks for something that may be refused for these reasons; `None` is noted as a violation.
pub(crate) async fn ask<T, Call, Fut>(
    place: &Place,
    first: usize,
    what: &str,
    refusals: &[ErrorReason],
    call: Call,
) -> Option<Result<T>>
where
    Call: Fn(Graph) -> Fut + Send + Sync,
    Fut: Future<Output = Result<T>> + Send,
{
    repeat(place, first, what, |error, _| judge(error, refusals), call).await.answer
}

/// Makes a branch from the head of main. A repetition that finds it there found its own.
pub(crate) async fn create_branch(place: &Place, first: usize, name: &str) -> bool {
    let own = |error: &Error, shaken: bool| match shaken {
        true => judge(error, &[ErrorReason::BranchExists]),
        false => judge(error, &[]),
    };
    let what = format!("creating branch {name}");
    let call = |graph: Graph| async move { graph.create_branch(name, Selector::default()).await.map(|_| ()) };
    let done = repeat(place, first, &what, own, call).await;
    if done.late {
        place.ledger.book().strays.insert(name.to_string());
    }
    done.answer.is_some()
}

/// Deletes a branch and sees that it is gone. A repetition that finds it gone did it.
pub(crate) async fn delete_branch(place: &Place, first: usize, name: &str) -> bool {
    let own = |error: &Error, shaken: bool| match shaken {
        true => judge(error, &[ErrorReason::BranchNotFound, ErrorReason::BranchClosed]),
        false => judge(error, &[]),
    };
    let what = format!("deleting branch {name}");
    let call = |graph: Graph| async move { graph.delete_branch(name, false).await.map(|_| ()) };
    let deleted = repeat(place, first, &what, own, call).await.answer.is_some();
    if deleted {
        let gone = |error: &Error, _: bool| judge(error, &[ErrorReason::BranchNotFound]);
        let what = format!("looking for the deleted branch {name}");
        let look = |graph: Graph| async move { graph.branch(name).await };
        let found = repeat(place, first + 1, &what, gone, look).await.answer;
        let stray = place.ledger.book().strays.contains(name);
        place.ledger.expect(stray || !matches!(found, Some(Ok(_))), || format!("branch {name} outlived its deletion"));
        place.ledger.book().counts.branches += 1;
    }
    deleted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_judged_by_origin_and_reason() {
        use ErrorReason as R;
        let head_moved = [R::HeadMoved];
        for (origin, reason, refusals, expected) in [
            (Origin::Connection, None, &[][..], Verdict::Unknown),
            (Origin::Server, Some(R::InDoubt), &[], Verdict::Unknown),
            (Origin::Server, Some(R::ReadSetChanged), &[], Verdict::Conflict),
            (Origin::Server, Some(R::StoreUnavailable), &[], Verdict::Busy),
            (Origin::Server, Some(R::HeadMoved), &head_moved, Verdict::Refused),
            (Origin::Server, Some(R::HeadMoved), &[], Verdict::Wrong),
            (Origin::Server, Some(R::RequestIdReused), &head_moved, Verdict::Wrong),
            (Origin::Server, None, &[], Verdict::Wrong),
            (Origin::Client, None, &[], Verdict::Wrong),
        ] {
            assert_eq!(judge_parts(origin, reason, refusals), expected, "{origin:?} {reason:?}");
        }
    }
}
