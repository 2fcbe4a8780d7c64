//! Plans scans, and lists what can be scanned.

use arrow_flight::{FlightDescriptor, FlightEndpoint, FlightInfo, SchemaAsIpc, SchemaResult, Ticket};
use arrow_ipc::writer::IpcWriteOptions;
use arrow_schema::{ArrowError, Schema};
use futures::{Stream, StreamExt, stream};
use omnigraph_engine::error::{Error, Result};
use omnigraph_engine::model::TypeRef;
use omnigraph_engine::read::scan::ScanPlan;
use omnigraph_proto::v1;
use omnigraph_proto::v1::read_selector::Selector;
use prost::Message;

use super::question::Question;
use super::ticket::{self, Wanted};
use crate::convert::{entity, write};
use crate::limits::{DEFAULT_ENDPOINTS, MAX_ENDPOINTS};
use crate::rpc::{Read, read};
use crate::state::State;

/// A scan of a fixed version, before it is divided.
struct Planned {
    read: Read,
    command: v1::ScanCommand,
    question: Question,
}

async fn plan(state: &State, wanted: Wanted) -> Result<Planned> {
    let read = read(state, wanted.graph(), wanted.selector()).await?;
    let command = wanted.into_scan(&read.snapshot)?;
    write::check_features(&command.required_features)?;
    let question = Question::of(command.clone())?;
    Ok(Planned { read, command, question })
}

impl Planned {
    /// Rows in order, and the first so many, are one reader's affair.
    fn max_parts(&self) -> usize {
        if self.question.is_whole() {
            return 1;
        }
        match usize::try_from(self.command.max_endpoints) {
            Ok(0) => DEFAULT_ENDPOINTS,
            Ok(asked) => asked.min(MAX_ENDPOINTS),
            Err(_) => MAX_ENDPOINTS,
        }
    }

    async fn divide(&self, max_parts: usize) -> Result<ScanPlan> {
        self.question.divide(&self.read.graph, &self.read.snapshot, max_parts).await
    }

    /// The command with every choice made: the version by its commit, the columns by name.
    fn resolved(&self, schema: &Schema) -> v1::ScanCommand {
        let commit = self.read.snapshot.head().to_string();
        v1::ScanCommand {
            selector: Some(v1::ReadSelector { selector: Some(Selector::CommitId(commit)) }),
            columns: self.question.columns(schema),
            max_endpoints: 0,
            ..self.command.clone()
        }
    }
}

/// `GetFlightInfo`.
pub(super) async fn flight_info(state: &State, wanted: Wanted, descriptor: FlightDescriptor) -> Result<FlightInfo> {
    let planned = plan(state, wanted).await?;
    let mut divided = planned.divide(planned.max_parts()).await?;
    if divided.parts.is_empty() {
        // A reader that takes the first endpoint should find one.
        divided.parts.push(Vec::new());
    }
    let command = planned.resolved(&divided.schema);
    let snapshot = &planned.read.snapshot;
    let tickets = divided.parts.into_iter().map(|fragments| ticket::issue(snapshot, &command, fragments));
    let total = divided.total_rows.and_then(|rows| i64::try_from(rows).ok()).unwrap_or(-1);
    let info = FlightInfo::new()
        .try_with_schema(&divided.schema)
        .map_err(unencodable)?
        .with_descriptor(descriptor)
        .with_endpoints(tickets.map(|t| endpoint(&t)).collect())
        .with_total_records(total)
        .with_total_bytes(-1)
        .with_ordered(planned.question.is_ordered())
        .with_app_metadata(planned.read.named.encode_to_vec());
    Ok(info)
}

/// `GetSchema`.
pub(super) async fn schema(state: &State, wanted: Wanted) -> Result<SchemaResult> {
    let planned = plan(state, wanted).await?;
    let divided = planned.divide(1).await?;
    let options = IpcWriteOptions::default();
    SchemaAsIpc::new(&divided.schema, &options).try_into().map_err(unencodable)
}

fn endpoint(ticket: &v1::ScanTicket) -> FlightEndpoint {
    FlightEndpoint::new().with_ticket(Ticket::new(ticket::write(ticket)))
}

fn unencodable(error: ArrowError) -> Error {
    Error::internal("a schema cannot be encoded").caused_by(error)
}

/// `ListFlights`: one flight per declared type, graph after graph. A graph that was asked for by name and
/// cannot be read is an error; among all graphs it is left out.
pub(super) async fn list(
    state: &State,
    criteria: v1::ListFlightsCriteria,
) -> Result<impl Stream<Item = Result<FlightInfo>> + Send + 'static> {
    let named = !criteria.graph.is_empty();
    let graphs: Vec<String> = if named { vec![criteria.graph] } else { state.list().await?.into_keys().collect() };
    let (state, branch) = (state.clone(), criteria.branch);
    let flights = stream::iter(graphs).then(move |graph| {
        let (state, branch) = (state.clone(), branch.clone());
        async move {
            match flights_of(&state, graph, branch).await {
                Err(e) if !named => {
                    tracing::debug!(error = %e, "a graph is left out of the flights");
                    Vec::new()
                }
                Err(e) => vec![Err(e)],
                Ok(flights) => flights.into_iter().map(Ok).collect(),
            }
        }
    });
    Ok(flights.flat_map(stream::iter))
}

async fn flights_of(state: &State, graph: String, branch: String) -> Result<Vec<FlightInfo>> {
    let selector = v1::ReadSelector { selector: Some(Selector::Branch(branch)) };
    let read = read(state, &graph, Some(selector)).await?;
    let pins = read.snapshot.pins().map(|pin| (pin.type_ref.clone(), pin.rows));
    let mut pins: Vec<(TypeRef, u64)> = pins.collect();
    pins.sort();
    let mut flights = Vec::with_capacity(pins.len());
    for (type_ref, rows) in pins {
        flights.push(flight(&read, &graph, &type_ref, rows).await?);
    }
    Ok(flights)
}

async fn flight(read: &Read, graph: &str, type_ref: &TypeRef, rows: u64) -> Result<FlightInfo> {
    let snapshot = &read.snapshot;
    let path = vec![graph.to_string(), read.named.branch.clone(), ticket::path_name(snapshot, type_ref)];
    let command = v1::ScanCommand {
        graph: graph.to_string(),
        kind: entity::kind_to_proto(type_ref.kind),
        type_name: type_ref.name.clone(),
        ..v1::ScanCommand::default()
    };
    let question = Question::of(command.clone())?;
    let planned = Planned { read: read.clone(), command, question };
    let divided = planned.divide(1).await?;
    let whole = ticket::issue(snapshot, &planned.resolved(&divided.schema), Vec::new());
    let info = FlightInfo::new()
        .try_with_schema(&divided.schema)
        .map_err(unencodable)?
        .with_descriptor(FlightDescriptor::new_path(path))
        .with_endpoint(endpoint(&whole))
        .with_total_records(i64::try_from(rows).unwrap_or(-1))
        .with_total_bytes(-1)
        .with_app_metadata(read.named.encode_to_vec());
    Ok(info)
}
