//! What implements the services. It holds the state and no logic; the rpcs are in `rpc` and `flight`.

use crate::state::State;

/// Every service of the server. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Api {
    pub(crate) state: State,
}

impl Api {
    /// The services over this state.
    pub(crate) fn new(state: State) -> Self {
        Self { state }
    }
}
