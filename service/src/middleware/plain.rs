//! Answers what is asked without gRPC: `GET /metrics`, over HTTP/1.1 or HTTP/2, to whoever has the server's token.
//! Everything else over HTTP/1 is not found, since the rpcs need HTTP/2.

use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, Method, StatusCode, Version};
use tonic::body::Body;
use tonic::service::AxumBody;

use super::auth::RequireToken;
use super::{Middleware, Next, Request, Response};
use crate::metrics::{Metrics, text};

/// Where the metrics are.
const METRICS: &str = "/metrics";

/// The content type of what is said to people.
const PLAIN: &str = "text/plain; charset=utf-8";

/// See the module header.
#[derive(Clone, Debug)]
pub struct PlainHttp {
    metrics: Metrics,
    token: RequireToken,
}

impl PlainHttp {
    /// Shows these metrics to those whom the token lets in.
    pub fn new(metrics: Metrics, token: RequireToken) -> Self {
        Self { metrics, token }
    }

    /// Why a request for the metrics is not answered with them.
    fn refusal(&self, request: &Request) -> Option<Response> {
        if !self.token.lets_in(request) {
            let what = "send the server's token in the authorization header, as Bearer <token>\n";
            return Some(with(say(StatusCode::UNAUTHORIZED, what), WWW_AUTHENTICATE, "Bearer"));
        }
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return Some(with(say(StatusCode::METHOD_NOT_ALLOWED, "metrics can only be read\n"), ALLOW, "GET, HEAD"));
        }
        None
    }

    async fn show(&self) -> Response {
        match self.metrics.scrape().await {
            Some(page) => answer(StatusCode::OK, text::CONTENT_TYPE, page),
            None => {
                let what = "too many others are reading the metrics; try again\n";
                with(say(StatusCode::SERVICE_UNAVAILABLE, what), RETRY_AFTER, "1")
            }
        }
    }
}

impl Middleware for PlainHttp {
    async fn handle<N: Next>(self, request: Request, next: N) -> Response {
        if request.uri().path() == METRICS {
            return match self.refusal(&request) {
                Some(refusal) => refusal,
                None => self.show().await,
            };
        }
        if request.version() < Version::HTTP_2 {
            let what = "over HTTP/1 this server answers GET /metrics only; its rpcs need HTTP/2\n";
            return say(StatusCode::NOT_FOUND, what);
        }
        next.run(request).await
    }
}

fn say(status: StatusCode, what: &str) -> Response {
    answer(status, PLAIN, what.to_string())
}

fn answer(status: StatusCode, content_type: &'static str, body: String) -> Response {
    let mut response = Response::new(Body::new(AxumBody::from(body)));
    *response.status_mut() = status;
    with(response, CONTENT_TYPE, content_type)
}

fn with(mut response: Response, name: HeaderName, value: &'static str) -> Response {
    response.headers_mut().insert(name, HeaderValue::from_static(value));
    response
}

#[cfg(test)]
mod tests {
    use super::super::auth::Token;
    use super::super::testing::{echo, request};
    use super::*;
    use crate::config::Config;
    use crate::state::State;
    use omnigraph_engine::EngineOptions;
    use std::time::Duration;

    async fn status(token: Option<&str>, mut asked: Request, version: Version) -> StatusCode {
        let state = State::new(&Config::new("shared-memory://plain"), EngineOptions::default());
        let plain = PlainHttp::new(Metrics::new(state), RequireToken(token.map(Token::new)));
        *asked.version_mut() = version;
        plain.handle(asked, echo(Duration::ZERO)).await.status()
    }

    #[tokio::test]
    async fn metrics_are_for_those_with_the_token_and_rpcs_need_their_transport() {
        let open = |path: &str| request(path, &[]);
        let (one, two) = (Version::HTTP_11, Version::HTTP_2);
        assert_eq!(status(None, open("/metrics"), one).await, StatusCode::OK);
        assert_eq!(status(None, open("/metrics?x=1"), two).await, StatusCode::OK);
        assert_eq!(status(Some("s"), open("/metrics"), one).await, StatusCode::UNAUTHORIZED);
        let wrong = request("/metrics", &[("authorization", "Bearer t")]);
        assert_eq!(status(Some("s"), wrong, one).await, StatusCode::UNAUTHORIZED);
        let right = request("/metrics", &[("authorization", "Bearer s")]);
        assert_eq!(status(Some("s"), right, one).await, StatusCode::OK);
        let mut post = open("/metrics");
        *post.method_mut() = Method::POST;
        assert_eq!(status(None, post, one).await, StatusCode::METHOD_NOT_ALLOWED);
        for path in ["/", "/metrics/", "/omnigraph.v1.GraphService/GetGraph", "/grpc.health.v1.Health/Check"] {
            assert_eq!(status(None, open(path), one).await, StatusCode::NOT_FOUND, "{path}");
            assert_eq!(status(None, open(path), two).await, StatusCode::OK, "{path}");
        }
    }
}
