//! What an engine is built with.

use std::sync::Arc;

use crate::clock::{Clock, SystemClock};
use crate::failpoint::FaultPlan;
use crate::id::{IdSource, RandomIds};

/// Everything an engine takes from outside. The default suits production.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Identifiers.
    pub ids: Arc<dyn IdSource>,
    /// Counts and fails store requests; for tests.
    pub faults: Option<Arc<FaultPlan>>,
    /// How long this engine's claims on a branch's turn are honoured by others.
    pub claim_lease: std::time::Duration,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            faults: None,
            claim_lease: crate::limits::CLAIM_LEASE,
        }
    }
}
