//! Time, injected. The only place that reads the machine's clock.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;

/// A source of the current time.
pub trait Clock: Debug + Send + Sync {
    /// Microseconds since 1970-01-01T00:00:00 UTC.
    fn now_micros(&self) -> i64;

    /// Waits this long. The machine's time unless a test brings its own.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        tokio::time::sleep(duration).boxed()
    }

    /// Waits between two rounds of work that nobody waits for, such as renewing a lease.
    fn pace(&self, duration: Duration) -> BoxFuture<'static, ()> {
        tokio::time::sleep(duration).boxed()
    }
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the injected clock")]
    fn now_micros(&self) -> i64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |d| i64::try_from(d.as_micros()).unwrap_or(i64::MAX))
    }
}

/// A clock that tests set.
#[derive(Debug, Default)]
pub struct ManualClock(std::sync::atomic::AtomicI64);

impl ManualClock {
    /// A clock standing at `micros`.
    pub fn at(micros: i64) -> Arc<Self> {
        Arc::new(Self(micros.into()))
    }

    /// Moves the clock on.
    pub fn advance(&self, micros: i64) {
        self.0.fetch_add(micros, std::sync::atomic::Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_micros(&self) -> i64 {
        self.0.load(std::sync::atomic::Ordering::SeqCst)
    }
}
