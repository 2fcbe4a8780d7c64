//! What a Prometheus server collects: calls of this process, and what the graphs it has open take.
//!
//! Calls are counted as they end and cost nothing to show. Measuring graphs lists their objects, so it is done when
//! somebody asks, once at a time, and kept for [`limits::STATS_FRESH`]: however often this server is asked, the store
//! is not asked more often. Whoever asks waits a short time for a measurement and then sees the one before.

pub mod calls;
pub mod graphs;
pub mod text;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use omnigraph_engine::format::stamp;
use tokio::sync::{OwnedMutexGuard, Semaphore};
use tokio::time::{Instant, timeout};

use crate::limits::{MAX_SCRAPES, STATS_FRESH, STATS_PATIENCE, STATS_WAIT};
use crate::state::State;
use calls::Calls;
use text::{Kind, Page};

/// See the module header. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    state: State,
    calls: Arc<Calls>,
    seen: Mutex<Seen>,
    looking: Arc<tokio::sync::Mutex<()>>,
    places: Semaphore,
}

/// What the last looks at the graphs came to.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// When the last look ended, whatever came of it.
    looked: Option<Instant>,
    /// What the last one that was finished found, and when.
    found: Option<(Instant, Arc<str>)>,
}

impl Seen {
    fn is_fresh(&self) -> bool {
        self.looked.is_some_and(|looked| looked.elapsed() < STATS_FRESH)
    }
}

impl Metrics {
    /// Of a server with this state. Nothing is counted or measured yet.
    pub fn new(state: State) -> Self {
        Self(Arc::new(Inner {
            state,
            calls: Arc::new(Calls::of_this_server()),
            seen: Mutex::default(),
            looking: Arc::default(),
            places: Semaphore::new(MAX_SCRAPES),
        }))
    }

    /// The calls of this process.
    pub fn calls(&self) -> &Arc<Calls> {
        &self.0.calls
    }

    /// Everything, in the text format. `None` if [`MAX_SCRAPES`] others are asking.
    pub async fn scrape(&self) -> Option<String> {
        let _place = self.0.places.try_acquire().ok()?;
        let found = self.look().await;
        let mut page = Page::default();
        page.family(
            "omnigraph_build_info",
            Kind::Gauge,
            "Release of the server and storage stamp it serves; always 1.",
        );
        let stamp = stamp::CURRENT.to_string();
        let labels = [("version", env!("CARGO_PKG_VERSION")), ("storage_stamp", stamp.as_str())];
        page.sample("omnigraph_build_info", &labels, 1);
        self.0.calls.show(&mut page);
        if let Some((at, text)) = found {
            let name = "omnigraph_stats_age_seconds";
            page.family(name, Kind::Gauge, "How long ago the graphs were measured.");
            page.sample(name, &[], at.elapsed().as_secs_f64());
            page.append(&text);
        }
        Some(page.into_text())
    }

    /// The newest measurement, made now if the last one is not fresh any more.
    async fn look(&self) -> Option<(Instant, Arc<str>)> {
        let seen = self.0.seen().clone();
        if seen.is_fresh() {
            return seen.found;
        }
        match self.0.looking.clone().try_lock_owned() {
            // A task of its own: whoever asked may leave, and the look is of use to whoever asks next.
            Ok(turn) => {
                let looking = tokio::spawn(look(self.0.clone(), turn));
                let _ = timeout(STATS_WAIT, looking).await;
            }
            Err(_) if seen.found.is_none() => {
                let _ = timeout(STATS_WAIT, self.0.looking.lock()).await;
            }
            Err(_) => {}
        }
        self.0.seen().found.clone()
    }
}

/// Looks at every open graph and keeps what it found. Only the holder of the turn does so.
async fn look(inner: Arc<Inner>, _turn: OwnedMutexGuard<()>) {
    // Somebody else may have looked while the turn was on its way.
    if inner.seen().is_fresh() {
        return;
    }
    let graphs = timeout(STATS_PATIENCE, graphs::look(&inner.state)).await;
    let mut seen = inner.seen();
    let now = Instant::now();
    seen.looked = Some(now);
    match graphs {
        Ok(graphs) => seen.found = Some((now, graphs::show(&graphs).into())),
        Err(_) => {
            tracing::warn!(seconds = STATS_PATIENCE.as_secs(), "measuring the graphs took too long; it was given up")
        }
    }
}

impl Inner {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        // Every change is an assignment, so a panic elsewhere cannot have left it half-way.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
