//! What a command asks for: rows of a type as they are, or the hits of a search.

use arrow_schema::Schema;
use omnigraph_engine::error::Result;
use omnigraph_engine::read::scan::{Rows, ScanPlan, ScanRequest};
use omnigraph_engine::read::search::SearchRequest;
use omnigraph_engine::{Graph, Snapshot};
use omnigraph_proto::v1;

use super::ticket;
use crate::convert::{scan, search};

/// See the module header.
pub(super) enum Question {
    /// Rows.
    Scan(ScanRequest),
    /// Hits, best first.
    Search(SearchRequest),
}

impl Question {
    /// What a command asks for.
    ///
    /// # Errors
    /// As the conversions of [`scan`] and [`search`].
    pub(super) fn of(command: v1::ScanCommand) -> Result<Self> {
        match command.search {
            None => Ok(Self::Scan(scan::to_engine(command)?)),
            Some(_) => Ok(Self::Search(search::command_to_engine(command)?)),
        }
    }

    /// Whether the rows come in an order that means something.
    pub(super) fn is_ordered(&self) -> bool {
        match self {
            Self::Scan(request) => !request.order.is_empty(),
            Self::Search(_) => true,
        }
    }

    /// Whether one reader has to read it all.
    pub(super) fn is_whole(&self) -> bool {
        match self {
            Self::Scan(request) => !request.order.is_empty() || request.limit.is_some(),
            Self::Search(_) => true,
        }
    }

    /// Divides it. Reads no data.
    ///
    /// # Errors
    /// What does not fit the schema.
    pub(super) async fn divide(&self, graph: &Graph, snapshot: &Snapshot, max_parts: usize) -> Result<ScanPlan> {
        match self {
            Self::Scan(request) => graph.plan_scan(snapshot, request, max_parts).await,
            Self::Search(request) => {
                let schema = graph.plan_search(snapshot, request)?;
                Ok(ScanPlan { schema, total_rows: None, parts: vec![Vec::new()] })
            }
        }
    }

    /// Reads one part, or everything.
    ///
    /// # Errors
    /// What does not fit the schema, parts that there are not; the store's.
    pub(super) async fn rows(&self, graph: &Graph, snapshot: &Snapshot, fragments: Option<&[u64]>) -> Result<Rows> {
        match (self, fragments) {
            (Self::Scan(request), fragments) => graph.scan(snapshot, request, fragments).await,
            (Self::Search(request), None) => graph.search(snapshot, request).await,
            (Self::Search(_), Some(_)) => Err(ticket::refused("a search has no parts")),
        }
    }

    /// The columns to name in a command so that it gives rows of this schema.
    pub(super) fn columns(&self, schema: &Schema) -> Vec<String> {
        let ranks = match self {
            Self::Scan(_) => 0,
            Self::Search(request) => request.ranks(),
        };
        let named = schema.fields().len().saturating_sub(ranks);
        schema.fields().iter().take(named).map(|field| field.name().clone()).collect()
    }
}
