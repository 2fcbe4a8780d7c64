//! Refuses calls without the server's token, before anything of their body is read. Health checks need
//! none.

use http::header::AUTHORIZATION;
use sha2::{Digest, Sha256};

use super::{Middleware, Next, Request, Response, is_health};
use crate::status;

/// A token, kept as its digest: neither a log nor a dump of memory shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token([u8; 32]);

impl Token {
    /// The token with this text.
    pub fn new(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }

    /// Whether `text` is the token. Takes the same time wherever they differ: digests are compared, and
    /// they differ in places that the caller cannot choose.
    fn is(&self, text: &str) -> bool {
        let other = Self::new(text);
        let differing = self.0.iter().zip(other.0).fold(0, |seen, (a, b)| seen | (a ^ b));
        std::hint::black_box(differing) == 0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(***)")
    }
}

/// See the module header. Without a token everyone is let in.
#[derive(Clone, Debug)]
pub struct RequireToken(pub Option<Token>);

impl RequireToken {
    /// Whether a request carries the token, or needs none.
    pub(super) fn lets_in(&self, request: &Request) -> bool {
        let Some(token) = &self.0 else { return true };
        let header = request.headers().get(AUTHORIZATION).and_then(|v| v.to_str().ok());
        let given = header.and_then(|h| h.split_once(' '));
        is_health(request)
            || given.is_some_and(|(scheme, text)| scheme.eq_ignore_ascii_case("bearer") && token.is(text.trim()))
    }
}

impl Middleware for RequireToken {
    async fn handle<N: Next>(self, request: Request, next: N) -> Response {
        if self.lets_in(&request) { next.run(request).await } else { status::unauthenticated().into_http() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{echo, request, status};
    use super::*;
    use std::time::Duration;

    const PATH: &str = "/omnigraph.v1.GraphService/GetGraph";

    async fn code(token: Option<&str>, path: &str, header: Option<&str>) -> Option<tonic::Code> {
        let headers: Vec<_> = header.map(|h| ("authorization", h)).into_iter().collect();
        let middleware = RequireToken(token.map(Token::new));
        let response = middleware.handle(request(path, &headers), echo(Duration::ZERO)).await;
        status(&response).map(|s| s.code())
    }

    #[tokio::test]
    async fn only_the_token_lets_in() {
        for header in ["Bearer s3cret", "bearer s3cret", "BEARER  s3cret"] {
            assert_eq!(code(Some("s3cret"), PATH, Some(header)).await, None, "{header}");
        }
        let refused = Some(tonic::Code::Unauthenticated);
        for header in ["Bearer s3cre", "Bearer s3cret2", "Bearer", "Basic s3cret", "s3cret", "Bearer "] {
            assert_eq!(code(Some("s3cret"), PATH, Some(header)).await, refused, "{header}");
        }
        assert_eq!(code(Some("s3cret"), PATH, None).await, refused);
        assert_eq!(code(Some("s3cret"), "/grpc.health.v1.Health/Check", None).await, None);
        assert_eq!(code(Some("s3cret"), "/x/grpc.health.v1.Health/Check", None).await, refused);
        assert_eq!(code(None, PATH, None).await, None);
    }

    #[test]
    fn a_token_does_not_show_itself() {
        assert_eq!(format!("{:?}", Token::new("s3cret")), "Token(***)");
    }
}
