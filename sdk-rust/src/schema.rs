//! The schema of a version.

use omnigraph_proto::v1 as wire;

use crate::client::{Graph, unary};
use crate::commits::CommitRef;
use crate::error::{Error, Result};
use crate::retry::Safety;
use crate::selector::{Selector, choose_version};

/// The schema of a version, in both its forms.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaInfo {
    /// The version.
    pub read: CommitRef,
    /// The schema as a message, with all stable ids.
    pub schema: wire::Schema,
    /// The same as `.pg` text, in canonical layout and without comments.
    pub source: String,
}

/// A question for the schema, from [`Graph::schema`].
#[derive(Clone, Debug)]
#[must_use = "nothing is asked before `send`"]
pub struct SchemaRead {
    graph: Graph,
    selector: Selector,
}

impl SchemaRead {
    choose_version!();

    /// Asks.
    ///
    /// # Errors
    /// The graph or the version does not exist.
    pub async fn send(self) -> Result<SchemaInfo> {
        let ask = wire::GetSchemaRequest { graph: self.graph.id, selector: Some(self.selector.into()) };
        let answer = unary!(self.graph.core, Safety::Repeatable, graph.get_schema(ask))?;
        Ok(SchemaInfo {
            read: CommitRef::read(answer.read)?,
            schema: answer.schema.ok_or_else(|| Error::malformed("no schema"))?,
            source: answer.source,
        })
    }
}

impl Graph {
    /// Asks for the schema.
    pub fn schema(&self) -> SchemaRead {
        SchemaRead { graph: self.clone(), selector: Selector::default() }
    }
}
