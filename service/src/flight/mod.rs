//! Arrow Flight: tables in and out as record batches, on the port of the other services.
//!
//! `GetFlightInfo` plans a scan and answers tickets; [`ticket`] reads descriptors and tickets, [`question`] says
//! what they ask for, [`info`] plans, [`get`] answers tickets, [`put`] takes batches. There are no sessions and no
//! actions: what controls graphs is in the other services.

mod get;
mod info;
mod put;
mod question;
mod ticket;

use arrow_flight::flight_service_server::FlightService;
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo, HandshakeRequest, HandshakeResponse,
    PollInfo, PutResult, SchemaResult, Ticket,
};
use futures::stream;
use omnigraph_engine::error::Error;
use tonic::{Request, Response, Status, Streaming};

use crate::api::Api;
use crate::rpc::stream::{Call, Streamed};
use crate::rpc::{about, actor, answer};
use crate::status;

type Answer<T> = Result<Response<T>, Status>;

/// The status of an error about a graph, which may not be known.
fn fail(graph: &str) -> impl Fn(Error) -> Status {
    move |e| status::from_error(about(graph, e))
}

#[tonic::async_trait]
impl FlightService for Api {
    type HandshakeStream = Streamed<HandshakeResponse>;
    type ListFlightsStream = Streamed<FlightInfo>;
    type DoGetStream = Streamed<FlightData>;
    type DoPutStream = Streamed<PutResult>;
    type DoActionStream = Streamed<arrow_flight::Result>;
    type ListActionsStream = Streamed<ActionType>;
    type DoExchangeStream = Streamed<FlightData>;

    async fn get_flight_info(&self, request: Request<FlightDescriptor>) -> Answer<FlightInfo> {
        let descriptor = request.into_inner();
        let wanted = ticket::wanted(&descriptor).map_err(status::from_error)?;
        let graph = wanted.graph().to_string();
        answer(&graph, info::flight_info(&self.state, wanted, descriptor)).await
    }

    async fn get_schema(&self, request: Request<FlightDescriptor>) -> Answer<SchemaResult> {
        let wanted = ticket::wanted(request.get_ref()).map_err(status::from_error)?;
        let graph = wanted.graph().to_string();
        answer(&graph, info::schema(&self.state, wanted)).await
    }

    async fn list_flights(&self, request: Request<Criteria>) -> Answer<Self::ListFlightsStream> {
        let criteria = ticket::criteria(&request.get_ref().expression).map_err(status::from_error)?;
        let call = Call::of(request.extensions(), &criteria.graph);
        let flights = info::list(&self.state, criteria.clone()).await.map_err(fail(&criteria.graph))?;
        Ok(call.respond(flights))
    }

    async fn do_get(&self, request: Request<Ticket>) -> Answer<Self::DoGetStream> {
        let ticket = ticket::read(&request.get_ref().ticket).map_err(status::from_error)?;
        let graph = ticket.graph.clone();
        let call = Call::of(request.extensions(), &graph);
        let data = get::get(&self.state, ticket).await.map_err(fail(&graph))?;
        Ok(call.respond(data))
    }

    async fn do_put(&self, request: Request<Streaming<FlightData>>) -> Answer<Self::DoPutStream> {
        let actor = actor(request.metadata()).map_err(status::from_error)?;
        let extensions = request.extensions().clone();
        let mut messages = request.into_inner();
        let (command, first) = put::begin(&mut messages).await.map_err(status::from_error)?;
        let graph = command.options.as_ref().map(|o| o.graph.clone()).unwrap_or_default();
        let call = Call::of(&extensions, &graph);
        let result = put::put(&self.state, command, first, messages, actor).await.map_err(fail(&graph))?;
        Ok(call.respond(stream::iter([Ok(result)])))
    }

    async fn handshake(&self, _request: Request<Streaming<HandshakeRequest>>) -> Answer<Self::HandshakeStream> {
        Err(status::not_implemented("arrow.flight.protocol.FlightService/Handshake"))
    }

    async fn poll_flight_info(&self, _request: Request<FlightDescriptor>) -> Answer<PollInfo> {
        Err(status::not_implemented("arrow.flight.protocol.FlightService/PollFlightInfo"))
    }

    async fn do_action(&self, _request: Request<Action>) -> Answer<Self::DoActionStream> {
        Err(status::not_implemented("arrow.flight.protocol.FlightService/DoAction"))
    }

    async fn list_actions(&self, _request: Request<Empty>) -> Answer<Self::ListActionsStream> {
        Err(status::not_implemented("arrow.flight.protocol.FlightService/ListActions"))
    }

    async fn do_exchange(&self, _request: Request<Streaming<FlightData>>) -> Answer<Self::DoExchangeStream> {
        Err(status::not_implemented("arrow.flight.protocol.FlightService/DoExchange"))
    }
}
