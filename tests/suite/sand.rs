//! A time that only tests move; waiting moves it, and takes next to none.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use omnigraph_engine::clock::{Clock, SystemClock};
use omnigraph_engine::{Engine, EngineOptions};

/// Begins as the machine's time, which is also the store's.
#[derive(Debug)]
pub(crate) struct Sand(AtomicI64);

impl Clock for Sand {
    fn now_micros(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.later(duration);
        tokio::task::yield_now().boxed()
    }
}

impl Sand {
    pub(crate) fn now() -> Arc<Self> {
        Arc::new(Self(SystemClock.now_micros().into()))
    }

    pub(crate) fn later(&self, duration: Duration) {
        self.0.fetch_add(i64::try_from(duration.as_micros()).unwrap(), Ordering::SeqCst);
    }

    /// An engine of its own that goes by this time.
    pub(crate) fn engine(self: &Arc<Self>) -> Engine {
        Engine::new(EngineOptions { clock: self.clone(), ..EngineOptions::default() })
    }
}
