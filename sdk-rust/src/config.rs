//! What a client is made with. Nothing here talks to a server.

use std::time::Duration;

use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::transport::Endpoint;
use tonic::{Request, Status};

use crate::client::Client;
use crate::error::{Error, Result};
use crate::retry::RetryPolicy;

/// Header that names who a call is made for.
const ACTOR_HEADER: &str = "x-omnigraph-actor";

/// Longest message sent or taken, in bytes, unless said otherwise. A page of entities or an encoded batch is
/// far smaller; what is larger is a mistake.
const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// Endpoints of a scan that are read at the same time unless said otherwise.
const SCAN_PARALLELISM: usize = 4;

/// Pause after which an idle connection is checked, so that one a proxy has dropped is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// Settings of a [`Client`], from [`Client::builder`].
///
/// ```no_run
/// use std::time::Duration;
/// use omnigraph_client::{Client, RetryPolicy};
///
/// # async fn example() -> omnigraph_client::Result<()> {
/// let client = Client::builder("https://graphs.example:443")
///     .token("secret")
///     .timeout(Duration::from_secs(10))
///     .retry(RetryPolicy { max_attempts: 3, ..RetryPolicy::default() })
///     .connect()
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ClientBuilder {
    url: String,
    token: Option<String>,
    actor: Option<String>,
    user_agent: Option<String>,
    timeout: Option<Duration>,
    connect_timeout: Duration,
    retry: RetryPolicy,
    max_message_size: usize,
    scan_parallelism: usize,
}

impl ClientBuilder {
    pub(crate) fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            token: None,
            actor: None,
            user_agent: None,
            timeout: Some(Duration::from_secs(60)),
            connect_timeout: Duration::from_secs(10),
            retry: RetryPolicy::default(),
            max_message_size: MAX_MESSAGE_BYTES,
            scan_parallelism: SCAN_PARALLELISM,
        }
    }

    /// Sends this bearer token with every call.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Says who the calls are made for. Servers that authenticate decide whether to believe it.
    #[must_use]
    pub fn actor(mut self, actor: impl Into<String>) -> Self {
        self.actor = Some(actor.into());
        self
    }

    /// What stands before the client's own name in the user agent.
    #[must_use]
    pub fn user_agent(mut self, name: impl Into<String>) -> Self {
        self.user_agent = Some(name.into());
        self
    }

    /// Time for one attempt of a call that answers one message, a minute unless said otherwise. The server is
    /// told and stops working when it is over. Loads, exports and scans have no time limit.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Lets every call take as long as it takes.
    #[must_use]
    pub fn without_timeout(mut self) -> Self {
        self.timeout = None;
        self
    }

    /// Time to establish a connection, ten seconds unless said otherwise.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How calls are repeated.
    #[must_use]
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = policy;
        self
    }

    /// Longest message sent or taken, in bytes; 64 MiB unless said otherwise.
    #[must_use]
    pub fn max_message_size(mut self, bytes: usize) -> Self {
        self.max_message_size = bytes;
        self
    }

    /// Endpoints of a scan that are read at the same time, four unless said otherwise. Zero counts as one.
    #[must_use]
    pub fn scan_parallelism(mut self, endpoints: usize) -> Self {
        self.scan_parallelism = endpoints.max(1);
        self
    }

    /// Connects.
    ///
    /// # Errors
    /// `UNAVAILABLE` if there is no connection, `INVALID_ARGUMENT` for settings that cannot be used.
    pub async fn connect(self) -> Result<Client> {
        let headers = self.headers()?;
        let endpoint = self.endpoint()?;
        let channel = endpoint.connect().await;
        let channel = channel.map_err(|e| Error::unreachable(&self.url, e))?;
        Ok(Client::assemble(channel, headers, self.settings()))
    }

    /// Makes a client that connects with its first call. Needs a running Tokio runtime.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for settings that cannot be used.
    pub fn connect_lazy(self) -> Result<Client> {
        let headers = self.headers()?;
        let channel = self.endpoint()?.connect_lazy();
        Ok(Client::assemble(channel, headers, self.settings()))
    }

    fn settings(self) -> Settings {
        Settings {
            url: self.url,
            timeout: self.timeout,
            retry: self.retry,
            max_message_size: self.max_message_size,
            scan_parallelism: self.scan_parallelism,
        }
    }

    fn headers(&self) -> Result<Headers> {
        let value = |what: &str, text: String| {
            let value = text.parse::<MetadataValue<Ascii>>();
            value.map_err(|_| Error::invalid(format!("the {what} cannot be sent in a header")))
        };
        let token = self.token.as_ref().map(|t| value("token", format!("Bearer {t}")));
        let mut token = token.transpose()?;
        if let Some(token) = &mut token {
            token.set_sensitive(true);
        }
        let actor = self.actor.as_ref().map(|a| value("actor", a.clone()));
        Ok(Headers { token, actor: actor.transpose()? })
    }

    fn endpoint(&self) -> Result<Endpoint> {
        let (uri, tls) = normalise(&self.url)?;
        let unusable = |e: tonic::transport::Error| Error::local(format!("{:?} is no usable address", self.url), e);
        let own = concat!("omnigraph-rust/", env!("CARGO_PKG_VERSION"));
        let agent = match &self.user_agent {
            Some(name) => format!("{name} {own}"),
            None => own.to_string(),
        };
        let mut endpoint = Endpoint::from_shared(uri)
            .map_err(unusable)?
            .user_agent(agent)
            .map_err(unusable)?
            .connect_timeout(self.connect_timeout)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_while_idle(true)
            .tcp_nodelay(true);
        if tls {
            endpoint = encrypted(endpoint)?;
        }
        Ok(endpoint)
    }
}

/// Trusts the certificates of the system.
fn encrypted(endpoint: Endpoint) -> Result<Endpoint> {
    let config = tonic::transport::ClientTlsConfig::new().with_native_roots();
    endpoint.tls_config(config).map_err(|e| Error::local("the system's certificates are unusable".to_string(), e))
}

/// Never shows the token.
impl std::fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientBuilder").field("url", &self.url).finish_non_exhaustive()
    }
}

/// The address as the transport spells it, and whether it is encrypted.
fn normalise(url: &str) -> Result<(String, bool)> {
    let (scheme, rest) = url
        .split_once("://")
        .ok_or_else(|| Error::invalid(format!("{url:?} is no server address; write http://host:port")))?;
    match scheme {
        "http" | "grpc" => Ok((format!("http://{rest}"), false)),
        "https" | "grpcs" | "grpc+tls" => Ok((format!("https://{rest}"), true)),
        _ => Err(Error::invalid(format!("{url:?} is no server address: use http://, https://, grpc:// or grpcs://"))),
    }
}

/// Settings that every call consults.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) url: String,
    pub(crate) timeout: Option<Duration>,
    pub(crate) retry: RetryPolicy,
    pub(crate) max_message_size: usize,
    pub(crate) scan_parallelism: usize,
}

/// Puts the caller's credentials on every call.
#[derive(Clone)]
pub struct Headers {
    token: Option<MetadataValue<Ascii>>,
    actor: Option<MetadataValue<Ascii>>,
}

/// Never shows the token.
impl std::fmt::Debug for Headers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Headers").field("actor", &self.actor).finish_non_exhaustive()
    }
}

impl Interceptor for Headers {
    fn call(&mut self, mut request: Request<()>) -> std::result::Result<Request<()>, Status> {
        if let Some(token) = &self.token {
            request.metadata_mut().insert("authorization", token.clone());
        }
        if let Some(actor) = &self.actor {
            request.metadata_mut().insert(ACTOR_HEADER, actor.clone());
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_by_scheme() {
        let plain = ("http://h:1".to_string(), false);
        let tls = ("https://h:1".to_string(), true);
        for (url, expected) in [
            ("http://h:1", Some(&plain)),
            ("grpc://h:1", Some(&plain)),
            ("https://h:1", Some(&tls)),
            ("grpcs://h:1", Some(&tls)),
            ("h:1", None),
            ("s3://h/1", None),
        ] {
            assert_eq!(normalise(url).ok().as_ref(), expected, "{url}");
        }
    }

    #[test]
    fn credentials_are_sent_and_not_shown() {
        let builder = ClientBuilder::new("http://h:1").token("secret").actor("ada");
        let mut headers = builder.headers().unwrap();
        let sent = headers.call(Request::new(())).unwrap();
        assert_eq!(sent.metadata().get("authorization").unwrap(), "Bearer secret");
        assert_eq!(sent.metadata().get(ACTOR_HEADER).unwrap(), "ada");
        assert!(!format!("{builder:?} {headers:?}").contains("secret"));
        assert!(ClientBuilder::new("http://h:1").token("a\nb").headers().is_err());
    }
}
