//! What happens around every call, whatever service it is for.
//!
//! From the outside in: [`request_id`] names the call, [`plain`] answers what is no rpc, [`count`] gives the call
//! its meter, [`trace`] reports it, [`auth`] and [`limits`] refuse
//! it before its body is read, [`deadline`] ends it in time, [`whole`] watches uploads. A [`Middleware`] sees a request and what comes
//! next; [`Around`] makes a tower layer of it. What a middleware learned travels in the request's
//! extensions, so that streamed answers, which outlive the call's future, honour it too (`rpc::stream`).

pub mod auth;
pub mod count;
pub mod deadline;
pub mod limits;
pub mod plain;
pub mod request_id;
pub mod trace;
pub mod whole;

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tonic::body::Body;
use tower::{Layer, Service};

/// A request as it comes from the wire.
pub type Request = http::Request<Body>;
/// An answer as it goes to the wire.
pub type Response = http::Response<Body>;

/// Something that happens around calls.
pub trait Middleware: Clone + Send + Sync + 'static {
    /// Handles a request, in the normal course by letting `next` handle it.
    fn handle<N: Next>(self, request: Request, next: N) -> impl Future<Output = Response> + Send;
}

/// What comes after a middleware.
pub trait Next: Send + 'static {
    /// Handles the request.
    fn run(self, request: Request) -> impl Future<Output = Response> + Send;
}

impl<S> Next for S
where
    S: Service<Request, Response = Response, Error = Infallible> + Send + 'static,
    S::Future: Send,
{
    async fn run(mut self, request: Request) -> Response {
        match self.call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

/// A layer that puts a middleware around a service.
#[derive(Clone, Copy, Debug)]
pub struct Around<M>(pub M);

impl<M: Middleware, S> Layer<S> for Around<M> {
    type Service = Wrapped<M, S>;

    fn layer(&self, inner: S) -> Self::Service {
        Wrapped { middleware: self.0.clone(), inner }
    }
}

/// A service with a middleware around it.
#[derive(Clone, Copy, Debug)]
pub struct Wrapped<M, S> {
    middleware: M,
    inner: S,
}

impl<M, S> Service<Request> for Wrapped<M, S>
where
    M: Middleware,
    S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        // The one that was polled ready must be the one that is called.
        let spare = self.inner.clone();
        let ready = std::mem::replace(&mut self.inner, spare);
        let middleware = self.middleware.clone();
        Box::pin(async move { Ok(middleware.handle(request, ready).await) })
    }
}

/// The path prefix of health checks, which are answered to everyone and at any load: they are how a load
/// balancer finds out.
const HEALTH: &str = "/grpc.health.v1.Health/";

fn is_health(request: &Request) -> bool {
    request.uri().path().starts_with(HEALTH)
}

#[cfg(test)]
pub(crate) mod testing {
    //! A service that answers what a test says.

    use super::*;
    use std::time::Duration;

    /// Answers OK after a pause, with what it was asked.
    pub(crate) fn echo(pause: Duration) -> impl Next {
        tower::service_fn(move |request: Request| async move {
            tokio::time::sleep(pause).await;
            let mut response = Response::new(Body::empty());
            *response.headers_mut() = request.headers().clone();
            *response.extensions_mut() = request.extensions().clone();
            Ok::<_, Infallible>(response)
        })
    }

    /// A request of a path with some headers.
    pub(crate) fn request(path: &str, headers: &[(&'static str, &str)]) -> Request {
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = path.parse().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        request
    }

    /// The status of an answer that has no body.
    pub(crate) fn status(response: &Response) -> Option<tonic::Status> {
        tonic::Status::from_header_map(response.headers())
    }
}
