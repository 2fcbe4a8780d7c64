//! Keeping a claim's lease from running out while its holder works. Manners only, like the lease itself.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::AbortHandle;

use super::IntentLog;
use crate::clock::Clock;
use crate::error::Result;
use crate::format::intent_json::{self, IntentDoc};
use crate::format::paths;

/// A lease is renewed when this part of it is over, so that one failed renewal does not lose it.
const RENEWALS_PER_LEASE: u32 = 3;

/// Renews a claim's lease until dropped.
#[derive(Debug)]
pub struct KeepAlive(Option<AbortHandle>);

impl Drop for KeepAlive {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

impl IntentLog {
    /// Renews the lease of a claim that was just taken. A lease of no length is not renewed.
    pub fn keep_alive(&self, intent: &IntentDoc, clock: &Arc<dyn Clock>, lease: Duration) -> KeepAlive {
        let pace = lease / RENEWALS_PER_LEASE;
        if pace.is_zero() {
            return KeepAlive(None);
        }
        let (log, clock) = (self.clone(), clock.clone());
        let (claim, operation) = (intent.claim_id(), intent.operation_id.clone());
        let task = tokio::spawn(async move {
            loop {
                clock.pace(pace).await;
                let until = clock.now_micros().saturating_add(i64::try_from(lease.as_micros()).unwrap_or(i64::MAX));
                match log.renew(&claim, &operation, until).await {
                    Ok(true) => {}
                    Ok(false) => return,
                    Err(e) => tracing::warn!(claim, error = %e, "a lease could not be renewed"),
                }
            }
        });
        KeepAlive(Some(task.abort_handle()))
    }

    /// Moves the end of a lease; `false` if the claim is not this operation's any more.
    async fn renew(&self, claim: &str, operation: &str, until: i64) -> Result<bool> {
        let name = paths::intent(claim);
        let Some(document) = self.store.log().read(&name).await? else {
            return Ok(false);
        };
        let mut intent = intent_json::decode(claim, &document.bytes)?;
        if intent.operation_id != operation {
            return Ok(false);
        }
        intent.writer.lease_until = until;
        // Refused: somebody decided the operation meanwhile, which the next round sees.
        self.store.log().replace_if_match(&name, &document, intent_json::encode(&intent)?).await?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use crate::store::Stores;
    use crate::store::object_log::Put;
    use crate::store::root::Root;

    const LEASE: Duration = Duration::from_millis(60);

    async fn log(name: &str) -> IntentLog {
        let root = Root::parse(&format!("shared-memory://lease-{name}/g")).unwrap();
        IntentLog::new(Stores::new(None).open(root).await.unwrap())
    }

    async fn lease_until(log: &IntentLog, intent: &IntentDoc) -> Option<i64> {
        log.read(&intent.claim_id()).await.unwrap().map(|i| i.writer.lease_until)
    }

    #[tokio::test]
    async fn a_lease_moves_on_while_its_holder_works_and_no_longer() {
        let log = log("moves").await;
        let intent = intent_json::sample();
        assert_eq!(log.claim(&intent).await.unwrap(), Put::Done);
        let clock: Arc<dyn Clock> = ManualClock::at(1_000);
        let held = log.keep_alive(&intent, &clock, LEASE);
        while lease_until(&log, &intent).await == Some(intent.writer.lease_until) {
            tokio::time::sleep(LEASE / 10).await;
        }
        assert_eq!(lease_until(&log, &intent).await, Some(61_000));
        // Somebody else's claim of the same name is left alone.
        log.clear(&intent.claim_id()).await.unwrap();
        let other = IntentDoc { operation_id: "P".into(), ..intent.clone() };
        assert_eq!(log.claim(&other).await.unwrap(), Put::Done);
        tokio::time::sleep(LEASE * 3).await;
        assert_eq!(lease_until(&log, &other).await, Some(other.writer.lease_until));
        drop(held);
    }

    #[tokio::test]
    async fn a_cleared_claim_does_not_come_back() {
        let log = log("cleared").await;
        let clock: Arc<dyn Clock> = ManualClock::at(0);
        let _held = log.keep_alive(&intent_json::sample(), &clock, LEASE);
        tokio::time::sleep(LEASE * 3).await;
        assert!(log.list().await.unwrap().is_empty());
    }
}
