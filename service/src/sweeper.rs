//! Recovers interrupted operations in the background, so that none waits for the next writer of its branch.
//!
//! It only asks the engine to look, at every graph that is open already: what is decided, and when it is polite
//! to decide, is the engine's affair. It opens no graph, and no call ever waits for it.

use std::time::Duration;

use futures::StreamExt;
use omnigraph_engine::id::IdSource;
use omnigraph_engine::{Graph, Result};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::limits::SWEEPS_AT_ONCE;
use crate::state::State;

/// Looks about every `interval` until `stop`. A look that is under way then is cut off: whoever comes next takes
/// it up, as after a crash.
pub(crate) async fn run(state: State, interval: Duration, stop: CancellationToken) {
    let looking = async {
        loop {
            tokio::time::sleep(jittered(state.options().ids.as_ref(), interval)).await;
            look(&state).await;
        }
    };
    stop.run_until_cancelled(looking).await;
}

/// One look at every open graph. It ends when all of them are done, so none is ever looked at twice at once.
async fn look(state: &State) {
    let graphs = futures::stream::iter(state.ready());
    graphs
        .for_each_concurrent(SWEEPS_AT_ONCE, |(id, graph)| async move {
            // On a task of its own, so that a graph that breaks the engine costs the others nothing.
            match AbortOnDropHandle::new(tokio::spawn(recover(graph))).await {
                Ok(Ok(0)) => {}
                Ok(Ok(decided)) => tracing::info!(graph = id, decided, "interrupted operations were decided"),
                Ok(Err(error)) => {
                    tracing::warn!(graph = id, reason = %error.reason(), %error, "interrupted operations stay undecided");
                }
                Err(error) => tracing::error!(graph = id, %error, "a recovery broke down"),
            }
        })
        .await;
}

async fn recover(graph: Graph) -> Result<usize> {
    graph.recover().await
}

/// The interval, give or take a fifth, so that servers that started together do not all look at once.
fn jittered(ids: &dyn IdSource, interval: Duration) -> Duration {
    let share = (ids.random() % 1024) as f64 / 1023.0;
    Duration::try_from_secs_f64(interval.as_secs_f64() * (0.8 + 0.4 * share)).unwrap_or(interval)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    use omnigraph_engine::failpoint::FaultPlan;
    use omnigraph_engine::id::SeededIds;
    use omnigraph_engine::model::{Actor, Change, EntityWrite, TypeRef, Value, WriteOptions};
    use omnigraph_engine::{Access, Engine, EngineOptions, schema};

    use crate::config::Config;

    const PATIENCE: Duration = Duration::from_secs(20);

    async fn insert(graph: &Graph, slug: &str) -> Result<()> {
        let write = EntityWrite {
            type_ref: TypeRef::node("Person"),
            id: None,
            endpoints: None,
            properties: BTreeMap::from([("slug".to_string(), Value::String(slug.to_string()))]),
        };
        graph.mutate(vec![Change::Insert(write)], &WriteOptions::default()).await.map(|_| ())
    }

    /// Leaves an operation of another engine behind whose last step was never taken.
    async fn interrupt(root: &str) {
        let plan = FaultPlan::counting();
        // Nobody can see that it died, so its claims are nobody's from the start.
        let claim_lease = Duration::ZERO;
        let options = EngineOptions { faults: Some(plan.clone()), claim_lease, ..EngineOptions::default() };
        let victim = Engine::new(options).open(root, Access::ReadWrite).await.unwrap();
        insert(&victim, "first").await.unwrap();
        let before = plan.requests();
        insert(&victim, "second").await.unwrap();
        plan.die_at(plan.requests().since(&before).puts - 1, false);
        assert!(insert(&victim, "third").await.is_err());
    }

    #[tokio::test]
    async fn an_interrupted_operation_is_decided_although_nobody_calls() {
        let state = State::new(&Config::new("shared-memory://sweeper"), EngineOptions::default());
        let schema = || schema::parse("node Person { slug: String @key }").unwrap();
        let (open, closed) = (state.root("open").unwrap(), state.root("closed").unwrap());
        let (graph, _) = state.engine().create(&open, schema(), &Actor::default(), "").await.unwrap();
        state.adopt("open", graph.clone()).await;
        let other = Engine::new(EngineOptions::default());
        other.create(&closed, schema(), &Actor::default(), "").await.unwrap();
        interrupt(&open).await;
        assert!(graph.recoveries().await.unwrap().is_empty());

        let stop = CancellationToken::new();
        let sweeper = tokio::spawn(run(state.clone(), Duration::from_millis(5), stop.clone()));
        let decided = async {
            while graph.recoveries().await.unwrap().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, decided).await.unwrap();
        stop.cancel();
        tokio::time::timeout(PATIENCE, sweeper).await.unwrap().unwrap();
        assert_eq!(graph.recoveries().await.unwrap().len(), 1);
        let ready: Vec<String> = state.ready().into_iter().map(|(id, _)| id).collect();
        assert_eq!(ready, ["open"], "it opens nothing");
    }

    #[test]
    fn intervals_differ_by_a_fifth_at_most() {
        let ids = SeededIds::new(1);
        let interval = Duration::from_secs(10);
        let drawn: Vec<Duration> = (0..200).map(|_| jittered(&ids, interval)).collect();
        assert!(drawn.iter().all(|d| (8.0..=12.001).contains(&d.as_secs_f64())), "{drawn:?}");
        assert!(drawn.iter().any(|d| *d < interval) && drawn.iter().any(|d| *d > interval));
    }
}
