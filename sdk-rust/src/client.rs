//! The client, the handle of one graph, and the way every call takes. No call is described here; each topic
//! has a file of its own.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use arrow_flight::flight_service_client::FlightServiceClient;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use omnigraph_proto::v1::branch_service_client::BranchServiceClient;
use omnigraph_proto::v1::commit_service_client::CommitServiceClient;
use omnigraph_proto::v1::graph_service_client::GraphServiceClient;
use omnigraph_proto::v1::maintenance_service_client::MaintenanceServiceClient;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Request, Response, Status};

use crate::config::{ClientBuilder, Headers, Settings};
use crate::error::{Error, Result};
use crate::retry::{self, Safety};

/// A connection with the caller's credentials on every call.
pub type Transport = InterceptedService<Channel, Headers>;

/// Items of a listing, fetched a page at a time as they are asked for. Ends after the first error.
pub type Listing<T> = BoxStream<'static, Result<T>>;

/// A connection to one server. Cheap to clone; clones share the connection, and all methods can be used from
/// many tasks at once.
#[derive(Clone, Debug)]
pub struct Client {
    core: Arc<Core>,
}

#[derive(Debug)]
pub(crate) struct Core {
    transport: Transport,
    pub(crate) settings: Settings,
}

impl Client {
    /// Connects with the default settings.
    ///
    /// # Errors
    /// `UNAVAILABLE` if there is no connection, `INVALID_ARGUMENT` for an address that is none.
    pub async fn connect(url: impl Into<String>) -> Result<Self> {
        Self::builder(url).connect().await
    }

    /// Settings for a client, to be completed and connected.
    pub fn builder(url: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(url)
    }

    pub(crate) fn assemble(channel: Channel, headers: Headers, settings: Settings) -> Self {
        let transport = InterceptedService::new(channel, headers);
        Self { core: Arc::new(Core { transport, settings }) }
    }

    /// The address given to connect.
    pub fn url(&self) -> &str {
        &self.core.settings.url
    }

    /// A handle of the graph with this id. Makes no call, so it does not tell whether there is one.
    pub fn graph(&self, id: impl Into<String>) -> Graph {
        Graph { core: self.core.clone(), id: id.into() }
    }

    /// The generated stubs on this connection, for what the client does not cover. They neither repeat calls
    /// nor set deadlines.
    pub fn raw(&self) -> Raw<'_> {
        Raw { core: &self.core }
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }
}

/// A handle of one graph of a server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Graph {
    pub(crate) core: Arc<Core>,
    pub(crate) id: String,
}

impl Graph {
    /// The graph's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The generated stubs; see [`Client::raw`].
    pub fn raw(&self) -> Raw<'_> {
        Raw { core: &self.core }
    }
}

/// The generated stubs of a connection; see [`Client::raw`].
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a> {
    core: &'a Core,
}

impl Raw<'_> {
    /// `omnigraph.v1.GraphService`.
    pub fn graph(&self) -> GraphServiceClient<Transport> {
        self.core.graph()
    }

    /// `omnigraph.v1.BranchService`.
    pub fn branch(&self) -> BranchServiceClient<Transport> {
        self.core.branch()
    }

    /// `omnigraph.v1.CommitService`.
    pub fn commit(&self) -> CommitServiceClient<Transport> {
        self.core.commit()
    }

    /// `omnigraph.v1.MaintenanceService`.
    pub fn maintenance(&self) -> MaintenanceServiceClient<Transport> {
        self.core.maintenance()
    }

    /// `arrow.flight.protocol.FlightService`.
    pub fn flight(&self) -> FlightServiceClient<Transport> {
        self.core.flight()
    }
}

macro_rules! stubs {
    ($($name:ident: $stub:ident),*) => {$(
        pub(crate) fn $name(&self) -> $stub<Transport> {
            $stub::new(self.transport.clone())
                .max_decoding_message_size(self.settings.max_message_size)
                .max_encoding_message_size(self.settings.max_message_size)
        }
    )*};
}

impl Core {
    stubs!(
        graph: GraphServiceClient,
        branch: BranchServiceClient,
        commit: CommitServiceClient,
        maintenance: MaintenanceServiceClient,
        flight: FlightServiceClient
    );

    /// Makes a call that answers one message, within the time limit, repeating it where that is right.
    pub(crate) async fn unary<Ask, Answer, Call, Fut>(&self, safety: Safety, ask: Ask, call: Call) -> Result<Answer>
    where
        Ask: Clone,
        Call: Fn(Request<Ask>) -> Fut,
        Fut: Future<Output = Result<Response<Answer>, Status>>,
    {
        self.call(safety, self.settings.timeout, ask, call).await
    }

    /// Makes a call that answers a stream, without a time limit, repeating it where that is right as long as
    /// the stream has not begun.
    pub(crate) async fn streaming<Ask, Answer, Call, Fut>(&self, ask: Ask, call: Call) -> Result<Answer>
    where
        Ask: Clone,
        Call: Fn(Request<Ask>) -> Fut,
        Fut: Future<Output = Result<Response<Answer>, Status>>,
    {
        self.call(Safety::Repeatable, None, ask, call).await
    }

    async fn call<Ask, Answer, Call, Fut>(
        &self,
        safety: Safety,
        timeout: Option<Duration>,
        ask: Ask,
        call: Call,
    ) -> Result<Answer>
    where
        Ask: Clone,
        Call: Fn(Request<Ask>) -> Fut,
        Fut: Future<Output = Result<Response<Answer>, Status>>,
    {
        retry::run(self.settings.retry, safety, || {
            let mut request = Request::new(ask.clone());
            if let Some(timeout) = timeout {
                request.set_timeout(timeout);
            }
            let answer = call(request);
            async move { answer.await.map(Response::into_inner).map_err(Error::from_status) }
        })
        .await
    }
}

/// Makes a call that answers one message: `unary!(core, safety, stub.method(message))`.
macro_rules! unary {
    ($core:expr, $safety:expr, $stub:ident.$method:ident($ask:expr)) => {{
        let core: &$crate::client::Core = &$core;
        let call = |ask| {
            let mut stub = core.$stub();
            async move { stub.$method(ask).await }
        };
        core.unary($safety, $ask, call).await
    }};
}

pub(crate) use unary;

/// Turns a call that answers one page and the token of the next into a stream of items.
pub(crate) fn pages<T, Fetch, Fut>(fetch: Fetch) -> Listing<T>
where
    T: Send + 'static,
    Fetch: Fn(String) -> Fut + Send + 'static,
    Fut: Future<Output = Result<(Vec<T>, String)>> + Send + 'static,
{
    let pages = stream::unfold(Some((String::new(), fetch)), |state| async move {
        let (token, fetch) = state?;
        let page = fetch(token);
        match page.await {
            Ok((items, next)) => {
                let items: Vec<Result<T>> = items.into_iter().map(Ok).collect();
                let state = if next.is_empty() { None } else { Some((next, fetch)) };
                Some((items, state))
            }
            Err(error) => Some((vec![Err(error)], None)),
        }
    });
    pages.flat_map(stream::iter).boxed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::TryStreamExt;

    #[tokio::test]
    async fn pages_are_followed_to_the_last_even_if_one_is_empty() {
        let listing = pages(|token: String| async move {
            Ok(match token.as_str() {
                "" => (vec![1, 2], "a".to_string()),
                "a" => (vec![], "b".to_string()),
                _ => (vec![3], String::new()),
            })
        });
        assert_eq!(listing.try_collect::<Vec<i32>>().await.unwrap(), [1, 2, 3]);
    }

    #[tokio::test]
    async fn a_listing_ends_after_an_error() {
        let listing = pages(|token: String| async move {
            if token.is_empty() { Ok((vec![1], "a".to_string())) } else { Err(Error::invalid("no")) }
        });
        let seen: Vec<bool> = listing.map(|item| item.is_ok()).collect().await;
        assert_eq!(seen, [true, false]);
    }
}
