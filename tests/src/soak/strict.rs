//! Writes that only count on the head they were computed from: a counter, where one writer wins on each head,
//! and a bank, where money moves and none is made.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use fastrand::Rng;
use omnigraph_client::{Entity, ErrorReason, Graph, Receipt, Result, Selector, Target};

use super::Run;
use super::place::Place;
use super::settle::{Write, read};

/// The branch of the counter. It has one of its own, since any commit moves a head.
pub(crate) const COUNTER_BRANCH: &str = "counter";
/// The branch of the bank.
pub(crate) const BANK_BRANCH: &str = "bank";
/// The one counter.
pub(crate) const COUNTER: &str = "rounds";
/// Accounts of the bank.
pub(crate) const ACCOUNTS: usize = 10;
/// What each begins with.
pub(crate) const OPENING: i64 = 1_000;
/// What they hold together, always.
const TOTAL: i64 = ACCOUNTS as i64 * OPENING;

/// Recoveries that may have come between two commits.
const MAX_RECOVERIES_BETWEEN: usize = 16;

/// The id of an account.
pub(crate) fn account(n: usize) -> String {
    format!("account-{n}")
}

/// A number of an entity; the least there is if it has none.
pub(crate) fn number(entity: &Entity, property: &str) -> i64 {
    entity.get(property).and_then(|value| value.as_i64()).unwrap_or(i64::MIN)
}

/// Whoever works on counter and bank.
#[derive(Debug)]
pub(crate) struct Strict {
    pub(crate) run: Arc<Run>,
    pub(crate) place: Arc<Place>,
    /// The server it turns to first.
    pub(crate) at: usize,
    pub(crate) name: String,
    pub(crate) chance: Rng,
}

impl Strict {
    /// Counts until the run is over, against others who count from the same heads.
    pub(crate) async fn count(self) {
        let place = &*self.place;
        let mut n = 0;
        while self.run.takes_write() {
            n += 1;
            let Some((head, value)) = read(place, self.at, "reading the counter", counter).await else { continue };
            let update = |graph: Graph, head: String, request: String| async move {
                let mutation = graph.mutate().update(Target::ids("Counter", [COUNTER]), [("value", value + 1)]);
                let write = mutation.branch(COUNTER_BRANCH).expected_head(head).request_id(request);
                write.send().await.map(|done| done.receipt)
            };
            if let Some(receipt) = self.on_head(COUNTER_BRANCH, n, &head, update).await {
                let other = place.ledger.book().wins.insert(head.clone(), receipt.commit_id.clone());
                place.ledger.expect(other.is_none(), || {
                    format!("two writers won on head {head} of the counter: {other:?} and {}", receipt.commit_id)
                });
            }
        }
    }

    /// Moves money until the run is over.
    pub(crate) async fn transfer(mut self) {
        let place = self.place.clone();
        let mut n = 0;
        while self.run.takes_write() {
            n += 1;
            let Some((head, accounts)) = read(&place, self.at, "reading the bank", bank).await else { continue };
            self.check_sum(&accounts, &format!("commit {head}"));
            let from = self.chance.usize(..ACCOUNTS);
            let to = (from + self.chance.usize(1..ACCOUNTS)) % ACCOUNTS;
            let amount = self.chance.i64(1..100);
            let (from, to) = (account(from), account(to));
            let (Some(had), Some(got)) = (accounts.get(&from), accounts.get(&to)) else { continue };
            let moved = [(from.clone(), had - amount), (to.clone(), got + amount)];
            let update = |graph: Graph, head: String, request: String| {
                let moved = moved.clone();
                async move {
                    let mut mutation = graph.mutate().branch(BANK_BRANCH).expected_head(head).request_id(request);
                    for (id, balance) in moved {
                        mutation = mutation.update(Target::ids("Account", [id]), [("balance", balance)]);
                    }
                    mutation.send().await.map(|done| done.receipt)
                }
            };
            if let Some(receipt) = self.on_head(BANK_BRANCH, n, &head, update).await {
                let mut book = place.ledger.book();
                *book.balances.entry(from).or_default() -= amount;
                *book.balances.entry(to).or_default() += amount;
                book.transfers.push(receipt.commit_id);
            }
        }
    }

    /// Looks at the bank until the run is over: entities, a scan, or how it was after an earlier transfer.
    pub(crate) async fn watch(mut self) {
        let place = self.place.clone();
        while self.run.goes_on() {
            match self.chance.u8(..3) {
                0 => {
                    if let Some((head, accounts)) = read(&place, self.at, "reading the bank", bank).await {
                        self.check_sum(&accounts, &format!("commit {head}"));
                    }
                }
                1 => {
                    let sum = read(&place, self.at, "scanning the bank", scanned_sum).await;
                    let right = sum.is_none_or(|sum| sum == TOTAL);
                    place.ledger.expect(right, || format!("a scan of the bank adds up to {sum:?}, not {TOTAL}"));
                }
                _ => self.look_back().await,
            }
            tokio::time::sleep(std::time::Duration::from_millis(self.chance.u64(50..300))).await;
        }
    }

    /// Looks at the bank as some transfer left it.
    async fn look_back(&mut self) {
        let count = self.place.ledger.book().transfers.len();
        if count == 0 {
            return;
        }
        let commit = self.place.ledger.book().transfers[self.chance.usize(..count)].clone();
        let then = |graph: Graph| accounts_at(graph, Selector::Commit(commit.clone()));
        if let Some(accounts) = read(&self.place, self.at, "reading an earlier bank", then).await {
            self.check_sum(&accounts, &format!("the earlier commit {commit}"));
        }
    }

    /// Makes a write that counts on this head only.
    async fn on_head<Call, Fut>(&self, branch: &str, n: u64, head: &str, update: Call) -> Option<Receipt>
    where
        Call: Fn(Graph, String, String) -> Fut + Send + Sync,
        Fut: Future<Output = Result<Receipt>> + Send,
    {
        let request = format!("{}-{n}", self.name);
        let refusals = &[ErrorReason::HeadMoved];
        let write = Write { place: &self.place, branch, request: request.clone(), refusals, lasts: true };
        let receipt = write.settle(self.at, |graph| update(graph, head.to_string(), request.clone())).await?;
        let parent = receipt.parents.first().cloned().unwrap_or_default();
        let what = || format!("{request} was to follow {head} and follows {parent}");
        self.place.ledger.expect(self.follows(&parent, head).await, what);
        Some(receipt)
    }

    /// Whether a commit is `head` or follows it with nothing in between but recoveries, which change no content.
    async fn follows(&self, commit: &str, head: &str) -> bool {
        let mut at = commit.to_string();
        for _ in 0..MAX_RECOVERIES_BETWEEN {
            if at == head {
                return true;
            }
            let look = |graph: Graph| {
                let selector = Selector::Commit(at.clone());
                async move { graph.commit(selector).await }
            };
            match read(&self.place, self.at, "following parents", look).await {
                Some(found) if found.operation == "recovery" => {
                    at = found.parents.into_iter().next().unwrap_or_default()
                }
                // A server that does not answer is noted elsewhere.
                found => return found.is_none(),
            }
        }
        false
    }

    fn check_sum(&self, accounts: &BTreeMap<String, i64>, at: &str) {
        let right = accounts.len() == ACCOUNTS && accounts.values().sum::<i64>() == TOTAL;
        let what = || format!("the bank at {at} holds {accounts:?}, which is not {ACCOUNTS} accounts with {TOTAL}");
        self.place.ledger.expect(right, what);
    }
}

/// The counter's value and the head it was read at.
pub(crate) async fn counter(graph: Graph) -> Result<(String, i64)> {
    let head = graph.branch(COUNTER_BRANCH).await?.head.id;
    let found = graph.get("Counter", [COUNTER]).commit(&head).send().await?;
    Ok((head, found.first().map_or(i64::MIN, |entity| number(entity, "value"))))
}

/// The accounts and the head they were read at.
pub(crate) async fn bank(graph: Graph) -> Result<(String, BTreeMap<String, i64>)> {
    let head = graph.branch(BANK_BRANCH).await?.head.id;
    let accounts = accounts_at(graph, Selector::Commit(head.clone())).await?;
    Ok((head, accounts))
}

/// The accounts of one version.
pub(crate) async fn accounts_at(graph: Graph, version: Selector) -> Result<BTreeMap<String, i64>> {
    let found = graph.find("Account").at(version).send().await?;
    Ok(found.iter().map(|entity| (entity.id.clone(), number(entity, "balance"))).collect())
}

async fn scanned_sum(graph: Graph) -> Result<i64> {
    let scan = graph.scan("Account").columns(["balance"]).branch(BANK_BRANCH);
    let batches = scan.send().await?.collect_all().await?;
    Ok(batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().iter().flatten()).sum())
}
