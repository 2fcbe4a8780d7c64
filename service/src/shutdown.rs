//! Stops a server: not ready at once, no new connections, a bounded time for what is under way, then the
//! end. Whatever was cut off is in order all the same: a write is armed or had no effect.

use std::future::Future;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::health::Health;
use crate::state::State;

/// What a shutdown needs to know.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) health: Health,
    pub(crate) state: State,
    /// Ends the accepting of connections.
    pub(crate) refuse: CancellationToken,
    /// Breaks the connections that are left.
    pub(crate) cut: CancellationToken,
    pub(crate) delay: Duration,
    pub(crate) drain: Duration,
}

impl Plan {
    /// Stops everything. `served` ends when the last connection is closed.
    pub(crate) async fn carry_out<T>(mut self, served: impl Future<Output = T>) {
        self.health.not_serving().await;
        tracing::info!(drain_seconds = self.drain.as_secs(), "shutting down");
        tokio::time::sleep(self.delay).await;
        self.refuse.cancel();
        self.health.end_watches().await;
        let mut served = std::pin::pin!(served);
        let done = async {
            served.as_mut().await;
            self.state.finished().await;
        };
        if tokio::time::timeout(self.drain, done).await.is_ok() {
            tracing::info!("shut down with nothing left");
            return;
        }
        tracing::warn!("calls were still under way when the time was up; they are cut off");
        self.cut.cancel();
    }
}

/// Completes when this process is asked to end: ctrl-c, or SIGTERM where there is one.
pub async fn signal() {
    tokio::select! {
        () = interrupt() => {}
        () = terminate() => {}
    }
}

async fn interrupt() {
    if let Err(error) = tokio::signal::ctrl_c().await {
        tracing::error!(%error, "ctrl-c cannot be listened to");
        std::future::pending::<()>().await;
    }
}

#[cfg(unix)]
async fn terminate() {
    match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(mut signals) => {
            signals.recv().await;
        }
        Err(error) => {
            tracing::error!(%error, "SIGTERM cannot be listened to");
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(not(unix))]
async fn terminate() {
    std::future::pending::<()>().await;
}
