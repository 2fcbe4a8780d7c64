//! Loads of Arrow record batches over Flight, as one commit.

use std::fmt;

use arrow_array::RecordBatch;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use arrow_flight::{FlightData, FlightDescriptor};
use arrow_schema::SchemaRef;
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt, TryStreamExt};
use omnigraph_proto::v1 as wire;
use prost::Message;

use crate::client::{Core, Graph};
use crate::entity::TypeRef;
use crate::error::{Error, Result};
use crate::load::{LoadMode, Loaded};
use crate::receipt::{WriteOptions, describe_write};
use crate::retry::{self, Safety};
use crate::scan::descriptor;
use crate::upload::{self, Upload};

/// Where the batches come from.
pub enum BatchSource {
    /// Batches in memory, all of one schema. The load can be repeated.
    Batches(Vec<RecordBatch>),
    /// Batches as they come. They are gone once sent, so the client never repeats the load.
    Stream(SchemaRef, BoxStream<'static, Result<RecordBatch, FlightError>>),
}

impl BatchSource {
    /// Batches of this schema as they come. An error breaks the load off, with nothing written.
    pub fn stream<E>(
        schema: SchemaRef,
        batches: impl Stream<Item = std::result::Result<RecordBatch, E>> + Send + 'static,
    ) -> Self
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        let batches = batches.map_err(|e| FlightError::from_external_error(Box::new(e)));
        Self::Stream(schema, batches.boxed())
    }
}

impl From<Vec<RecordBatch>> for BatchSource {
    fn from(batches: Vec<RecordBatch>) -> Self {
        Self::Batches(batches)
    }
}

impl From<RecordBatch> for BatchSource {
    fn from(batch: RecordBatch) -> Self {
        Self::Batches(vec![batch])
    }
}

impl fmt::Debug for BatchSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Batches(batches) => write!(f, "{} batches", batches.len()),
            Self::Stream(..) => f.write_str("a stream of batches"),
        }
    }
}

/// A load of batches while it is being described, from [`Graph::put`].
#[derive(Debug)]
#[must_use = "nothing happens before `send`"]
pub struct Put {
    graph: Graph,
    options: WriteOptions,
    type_ref: TypeRef,
    source: BatchSource,
    mode: LoadMode,
}

impl Put {
    describe_write!();

    /// What happens to entities that exist; append without it.
    pub fn mode(mut self, mode: LoadMode) -> Self {
        self.mode = mode;
        self
    }

    /// Loads all batches as one commit.
    ///
    /// # Errors
    /// Those of a load. A source that fails breaks the load off, with nothing written.
    pub async fn send(self) -> Result<Loaded> {
        let safety = Safety::of_write(&self.options.request_id);
        let core = self.graph.core;
        let command = wire::LoadCommand {
            options: Some(self.options.into_wire(&self.graph.id)),
            mode: self.mode.to_wire(),
            kind: self.type_ref.kind.to_wire(),
            type_name: self.type_ref.name,
        };
        let descriptor = descriptor(&command)?;
        match self.source {
            BatchSource::Stream(schema, batches) => put(&core, descriptor, schema, batches).await,
            BatchSource::Batches(batches) => {
                let schema = batches.first().map(RecordBatch::schema);
                let schema = schema.ok_or_else(|| Error::invalid("there is no batch to load"))?;
                retry::run(core.settings.retry, safety, || {
                    let again = stream::iter(batches.clone()).map(Ok).boxed();
                    put(&core, descriptor.clone(), schema.clone(), again)
                })
                .await
            }
        }
    }
}

async fn put(
    core: &Core,
    descriptor: FlightDescriptor,
    schema: SchemaRef,
    batches: BoxStream<'static, Result<RecordBatch, FlightError>>,
) -> Result<Loaded> {
    let messages = FlightDataEncoderBuilder::new()
        .with_schema(schema)
        .with_flight_descriptor(Some(descriptor))
        .build(batches)
        .map_err(Error::from);
    let (upload, failed) = Upload::<FlightData>::new(messages.boxed());
    let mut stub = core.flight();
    let mut answers = upload::call(stub.do_put(upload), failed).await?;
    let answer = answers.try_next().await?;
    let answer = answer.ok_or_else(|| Error::malformed("a load of batches answered nothing"))?;
    let result = wire::LoadResult::decode(answer.app_metadata);
    let result = result.map_err(|_| Error::malformed("the result of a load of batches cannot be read"))?;
    Loaded::read(result.receipt, result.records)
}

impl Graph {
    /// Begins a load of batches of one type. Columns are found by name: properties, `id`, and for edges `src`
    /// and `dst`.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     graph: omnigraph_client::Graph,
    /// #     batch: arrow_array::RecordBatch,
    /// # ) -> omnigraph_client::Result<()> {
    /// use omnigraph_client::LoadMode;
    ///
    /// let loaded = graph.put("Person", batch).mode(LoadMode::Merge).send().await?;
    /// println!("{} rows", loaded.records);
    /// # Ok(())
    /// # }
    /// ```
    pub fn put(&self, type_ref: impl Into<TypeRef>, batches: impl Into<BatchSource>) -> Put {
        Put {
            graph: self.clone(),
            options: WriteOptions::new(),
            type_ref: type_ref.into(),
            source: batches.into(),
            mode: LoadMode::default(),
        }
    }
}
