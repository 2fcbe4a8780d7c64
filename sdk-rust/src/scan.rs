//! Scans over Arrow Flight: many rows of one type as record batches.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow_array::RecordBatch;
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use arrow_flight::{FlightDescriptor, FlightEndpoint, FlightInfo};
use arrow_schema::SchemaRef;
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt, TryStreamExt};
use omnigraph_proto::v1 as wire;
use prost::Message;
use prost_types::Any;

use crate::client::{Core, Graph, unary};
use crate::entity::TypeRef;
use crate::error::{Error, Result};
use crate::predicate::Predicate;
use crate::retry::Safety;
use crate::selector::{Selector, choose_version};

/// A scan while it is being described, from [`Graph::scan`].
#[derive(Clone, Debug)]
#[must_use = "nothing is asked before `send`"]
pub struct Scan {
    graph: Graph,
    selector: Selector,
    type_ref: TypeRef,
    columns: Vec<String>,
    predicate: Option<Predicate>,
    order_by: Vec<wire::OrderBy>,
    limit: u64,
    max_endpoints: u32,
    parallelism: usize,
    search: Option<wire::Search>,
}

impl Scan {
    choose_version!();

    /// Only these columns, in this order: `id`, for edges `src` and `dst`, and properties. Without it all.
    pub fn columns<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.columns = names.into_iter().map(Into::into).collect();
        self
    }

    /// Only rows that satisfy a condition. Several conditions all have to hold.
    pub fn filter(mut self, condition: Predicate) -> Self {
        self.predicate = Some(match self.predicate {
            Some(before) => before.and(condition),
            None => condition,
        });
        self
    }

    /// Sorts by a column, smallest first; what was given before is more significant. Nulls come last.
    pub fn order_by(self, column: impl Into<String>) -> Self {
        self.ordered(column.into(), false)
    }

    /// Sorts by a column, largest first; what was given before is more significant. Nulls come last.
    pub fn order_by_descending(self, column: impl Into<String>) -> Self {
        self.ordered(column.into(), true)
    }

    /// Rows at most. Zero: no limit.
    pub fn limit(mut self, rows: u64) -> Self {
        self.limit = rows;
        self
    }

    /// Parts to divide the scan into at most; the server's choice without it.
    pub fn max_endpoints(mut self, endpoints: u32) -> Self {
        self.max_endpoints = endpoints;
        self
    }

    /// Parts to read at the same time; the client's setting without it. Zero counts as one.
    pub fn parallelism(mut self, endpoints: usize) -> Self {
        self.parallelism = endpoints.max(1);
        self
    }

    /// Plans the scan without reading rows. The parts are pinned to the version found now.
    ///
    /// # Errors
    /// The version, the type or a column does not exist, or the condition does not fit.
    pub async fn plan(self) -> Result<ScanPlan> {
        let ordered = !self.order_by.is_empty() || self.search.is_some();
        let command = wire::ScanCommand {
            graph: self.graph.id,
            selector: Some(self.selector.into()),
            kind: self.type_ref.kind.to_wire(),
            type_name: self.type_ref.name,
            columns: self.columns,
            predicate: self.predicate.map(Predicate::into_wire),
            order_by: self.order_by,
            limit: self.limit,
            max_endpoints: self.max_endpoints,
            required_features: Vec::new(),
            search: self.search,
        };
        let core = self.graph.core;
        let ask = descriptor(&command)?;
        let info: FlightInfo = unary!(core, Safety::Repeatable, flight.get_flight_info(ask))?;
        let schema = info.clone().try_decode_schema();
        let schema = schema.map_err(|e| Error::local("the schema of a scan cannot be read", e))?;
        Ok(ScanPlan {
            core,
            schema: Arc::new(schema),
            total_rows: u64::try_from(info.total_records).ok(),
            endpoints: info.endpoint,
            parallelism: if ordered { 1 } else { self.parallelism },
        })
    }

    /// Plans the scan and reads all its parts, in parallel as far as there is no order to keep.
    ///
    /// # Errors
    /// As [`Scan::plan`].
    pub async fn send(self) -> Result<Batches> {
        Ok(self.plan().await?.read())
    }

    /// Only the hits of a search, in its order.
    pub(crate) fn searching(mut self, search: wire::Search) -> Self {
        self.search = Some(search);
        self
    }

    fn ordered(mut self, property: String, descending: bool) -> Self {
        self.order_by.push(wire::OrderBy { property, descending });
        self
    }
}

/// A planned scan. Its parts can be read more than once, and by other processes.
#[derive(Clone, Debug)]
pub struct ScanPlan {
    core: Arc<Core>,
    schema: SchemaRef,
    total_rows: Option<u64>,
    endpoints: Vec<FlightEndpoint>,
    parallelism: usize,
}

impl ScanPlan {
    /// The columns of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Rows of all parts together, if that is known.
    pub fn total_rows(&self) -> Option<u64> {
        self.total_rows
    }

    /// The parts, each with a ticket for any Flight client.
    pub fn endpoints(&self) -> &[FlightEndpoint] {
        &self.endpoints
    }

    /// Reads one part. Dropping the stream stops the work.
    pub fn read_part(&self, endpoint: &FlightEndpoint) -> Batches {
        let batches = part(self.core.clone(), endpoint.clone()).boxed();
        Batches { schema: self.schema.clone(), total_rows: None, batches }
    }

    /// Reads all parts, in parallel as far as there is no order to keep. Dropping the stream stops the work.
    pub fn read(&self) -> Batches {
        let core = self.core.clone();
        let parts = stream::iter(self.endpoints.clone()).map(move |endpoint| part(core.clone(), endpoint).boxed());
        let batches = match self.parallelism {
            1 => parts.flatten().boxed(),
            many => parts.flatten_unordered(many).boxed(),
        };
        Batches { schema: self.schema.clone(), total_rows: self.total_rows, batches }
    }
}

/// The batches of one part. The call is made when the stream is first read.
fn part(core: Arc<Core>, endpoint: FlightEndpoint) -> impl Stream<Item = Result<RecordBatch>> + Send + 'static {
    let begun = async move {
        let ticket = endpoint.ticket.ok_or_else(|| Error::malformed("a part of a scan has no ticket"))?;
        let call = |ask| {
            let mut stub = core.flight();
            async move { stub.do_get(ask).await }
        };
        let messages = core.streaming(ticket, call).await?;
        let messages = messages.map_err(|status| FlightError::Tonic(Box::new(status)));
        Ok::<_, Error>(FlightRecordBatchStream::new_from_flight_data(messages).map_err(Error::from))
    };
    stream::once(begun).try_flatten()
}

/// Record batches as they arrive. Ends after the first error.
pub struct Batches {
    schema: SchemaRef,
    total_rows: Option<u64>,
    batches: BoxStream<'static, Result<RecordBatch>>,
}

impl Batches {
    /// The columns of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Rows of all batches together, if that is known.
    pub fn total_rows(&self) -> Option<u64> {
        self.total_rows
    }

    /// Reads everything into memory.
    ///
    /// # Errors
    /// The first error of the stream.
    pub async fn collect_all(self) -> Result<Vec<RecordBatch>> {
        self.try_collect().await
    }
}

impl Stream for Batches {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.batches.as_mut().poll_next(cx)
    }
}

impl fmt::Debug for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches").field("schema", &self.schema).field("total_rows", &self.total_rows).finish()
    }
}

/// A command as a Flight descriptor.
pub(crate) fn descriptor<M: Message + prost::Name>(command: &M) -> Result<FlightDescriptor> {
    let wrapped = Any::from_msg(command).map_err(|e| Error::local("a command cannot be encoded", e))?;
    Ok(FlightDescriptor::new_cmd(wrapped.encode_to_vec()))
}

impl Graph {
    /// Begins a scan of one type.
    ///
    /// ```no_run
    /// # async fn example(graph: omnigraph_client::Graph) -> omnigraph_client::Result<()> {
    /// use futures::TryStreamExt;
    /// use omnigraph_client::prop;
    ///
    /// let mut batches = graph
    ///     .scan("Person")
    ///     .columns(["id", "age"])
    ///     .filter(prop("age").ge(18))
    ///     .order_by_descending("age")
    ///     .limit(100)
    ///     .send()
    ///     .await?;
    /// while let Some(batch) = batches.try_next().await? {
    ///     println!("{} rows", batch.num_rows());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn scan(&self, type_ref: impl Into<TypeRef>) -> Scan {
        Scan {
            graph: self.clone(),
            selector: Selector::default(),
            type_ref: type_ref.into(),
            columns: Vec::new(),
            predicate: None,
            order_by: Vec::new(),
            limit: 0,
            max_endpoints: 0,
            parallelism: self.core.settings.scan_parallelism,
            search: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_travels_inside_an_any() {
        let command = wire::ScanCommand { graph: "g".into(), ..Default::default() };
        let descriptor = descriptor(&command).unwrap();
        let any = Any::decode(descriptor.cmd).unwrap();
        assert_eq!(any.to_msg::<wire::ScanCommand>().unwrap(), command);
    }
}
