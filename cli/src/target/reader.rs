//! One version of a graph, fixed for as long as a command reads it.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{FieldRef, Fields};
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use omnigraph_client as client;
use omnigraph_engine::model::{Entity, EntityKind, PropertyType, ScalarType, Schema, TypeRef};
use omnigraph_engine::read::neighbors::{Neighborhood, NeighborsQuery};
use omnigraph_engine::read::scan::ScanRequest;
use omnigraph_engine::read::search::{RELEVANCE, SearchRequest};
use omnigraph_engine::{Graph, Snapshot, schema};

use super::convert;
use crate::failure::{Failure, Result};

/// See the module header.
pub(crate) struct Reader {
    /// The commit that is read.
    pub(crate) commit: String,
    /// Its schema.
    pub(crate) schema: Arc<Schema>,
    /// Its schema as text.
    pub(crate) source: String,
    backend: Backend,
}

enum Backend {
    Embedded(Graph, Box<Snapshot>),
    /// The selector names the commit, so that all reads see the same.
    Remote(client::Graph, client::Selector),
}

/// Rows as they arrive.
pub(crate) struct Rows {
    /// Name and type of every column.
    pub(crate) columns: Vec<(String, PropertyType)>,
    /// The Arrow form of the columns.
    pub(crate) schema: arrow_schema::SchemaRef,
    pub(crate) batches: BoxStream<'static, Result<RecordBatch>>,
}

/// The type a word names: `Person`, or `node:Person` and `edge:Knows`. A word that names nothing is taken for a node
/// type, so that the read says what is wrong.
pub(crate) fn type_named(schema: &Schema, word: &str) -> Result<TypeRef> {
    if let Some(type_ref) = TypeRef::parse(word) {
        return Ok(type_ref);
    }
    let (node, edge) = (TypeRef::node(word), TypeRef::edge(word));
    match (schema.get(&node).is_some(), schema.get(&edge).is_some()) {
        (true, true) => {
            Err(Failure::usage(format!("{word} is a node type and an edge type; write node:{word} or edge:{word}")))
        }
        (false, true) => Ok(edge),
        _ => Ok(node),
    }
}

impl Reader {
    pub(super) fn embedded(graph: Graph, snapshot: Snapshot) -> Self {
        Self {
            commit: snapshot.head().to_string(),
            schema: snapshot.schema.clone(),
            source: schema::print(&snapshot.schema),
            backend: Backend::Embedded(graph, Box::new(snapshot)),
        }
    }

    pub(super) fn remote(graph: client::Graph, info: client::SchemaInfo) -> Result<Self> {
        let selector = client::Selector::Commit(info.read.id.clone());
        Ok(Self {
            commit: info.read.id,
            schema: Arc::new(schema::parse(&info.source)?),
            source: info.source,
            backend: Backend::Remote(graph, selector),
        })
    }

    /// The type a word names; see [`type_named`].
    pub(crate) fn type_named(&self, word: &str) -> Result<TypeRef> {
        type_named(&self.schema, word)
    }

    /// Entities by id, in this order; those that do not exist are left out.
    pub(crate) async fn get(&self, type_ref: &TypeRef, ids: &[String]) -> Result<Vec<Entity>> {
        match &self.backend {
            Backend::Embedded(graph, snapshot) => Ok(graph.get(snapshot, type_ref, ids).await?),
            Backend::Remote(graph, at) => {
                let read = graph.get(convert::type_out(type_ref), ids).at(at.clone());
                Ok(read.send().await?.into_iter().map(convert::entity_in).collect())
            }
        }
    }

    /// Rows of one type.
    pub(crate) async fn scan(&self, request: &ScanRequest) -> Result<Rows> {
        let (schema, batches) = match &self.backend {
            Backend::Embedded(graph, snapshot) => {
                let rows = graph.scan(snapshot, request, None).await?;
                (rows.schema, rows.batches.map_err(Failure::from).boxed())
            }
            Backend::Remote(graph, at) => {
                let batches = convert::scan_out(graph, request)?.at(at.clone()).send().await?;
                (batches.schema().clone(), batches.map_err(Failure::from).boxed())
            }
        };
        Ok(Rows { columns: self.columns(&request.type_ref, schema.fields(), 0), schema, batches })
    }

    /// The entities nearest to a vector, those whose texts best answer some words, or those that do both.
    pub(crate) async fn search(&self, request: &SearchRequest) -> Result<Rows> {
        let (schema, batches) = match &self.backend {
            Backend::Embedded(graph, snapshot) => {
                let rows = graph.search(snapshot, request).await?;
                (rows.schema, rows.batches.map_err(Failure::from).boxed())
            }
            Backend::Remote(graph, at) => {
                let batches = convert::search_out(graph, request).at(at.clone()).batches().await?;
                (batches.schema().clone(), batches.map_err(Failure::from).boxed())
            }
        };
        let columns = self.columns(&request.type_ref, schema.fields(), request.ranks());
        Ok(Rows { columns, schema, batches })
    }

    /// Name and type of the columns of rows, the last of which are ranks.
    fn columns(&self, type_ref: &TypeRef, fields: &Fields, ranks: usize) -> Vec<(String, PropertyType)> {
        let ty = self.schema.get(type_ref);
        let own = fields.len().saturating_sub(ranks);
        let column = |(at, field): (usize, &FieldRef)| {
            let scalar = match (at < own, field.name().as_str()) {
                (true, _) => ScalarType::String,
                (false, RELEVANCE) => ScalarType::F64,
                (false, _) => ScalarType::F32,
            };
            let property = ty.filter(|_| at < own).and_then(|ty| ty.property(field.name()));
            (field.name().clone(), property.map_or(PropertyType::Scalar(scalar), |property| property.ty.clone()))
        };
        fields.iter().enumerate().map(column).collect()
    }

    /// What is near some nodes.
    pub(crate) async fn neighbors(&self, query: &NeighborsQuery) -> Result<Neighborhood> {
        match &self.backend {
            Backend::Embedded(graph, snapshot) => Ok(graph.neighbors(snapshot, query).await?),
            Backend::Remote(graph, at) => {
                let read = convert::neighbors_out(graph, query)?.at(at.clone());
                Ok(convert::neighborhood_in(read.send().await?))
            }
        }
    }

    /// The whole version as JSONL.
    pub(crate) async fn export(&self) -> Result<BoxStream<'static, Result<Bytes>>> {
        Ok(match &self.backend {
            Backend::Embedded(graph, snapshot) => graph.export(snapshot).map_err(Failure::from).boxed(),
            Backend::Remote(graph, at) => {
                let export = graph.export().at(at.clone()).send().await?;
                export.chunks.map_err(Failure::from).boxed()
            }
        })
    }

    /// The property types of a type, by name, as far as it is declared.
    pub(crate) fn property_type(&self, type_ref: &TypeRef, name: &str) -> Option<PropertyType> {
        let system = match type_ref.kind {
            EntityKind::Node => name == "id",
            EntityKind::Edge => matches!(name, "id" | "src" | "dst"),
        };
        if system {
            return Some(PropertyType::Scalar(ScalarType::String));
        }
        Some(self.schema.get(type_ref)?.property(name)?.ty.clone())
    }
}
