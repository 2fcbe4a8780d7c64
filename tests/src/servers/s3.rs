//! How an S3 store is reached, by this process and by others.

use std::io;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutPayload};

use super::{pairs, problem};

/// Any region does; requests are signed for one.
const REGION: &str = "us-east-1";

/// How long one request of a test may take.
const REQUEST_LIMIT: Duration = Duration::from_secs(10);

/// An S3 store on the loopback address.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Where it listens.
    pub port: u16,
    /// The bucket.
    pub bucket: String,
    /// The access key's id.
    pub key: &'static str,
    /// The access key's secret.
    pub secret: &'static str,
}

impl Endpoint {
    /// Its address.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What another process needs in its environment. The services that hand out credentials on machines of a
    /// cloud are switched off: nothing leaves this machine.
    pub fn environment(&self) -> Vec<(String, String)> {
        let address = self.address();
        pairs(&[
            ("AWS_ACCESS_KEY_ID", self.key),
            ("AWS_SECRET_ACCESS_KEY", self.secret),
            ("AWS_REGION", REGION),
            ("AWS_ENDPOINT_URL", &address),
            ("AWS_ENDPOINT_URL_S3", &address),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_S3_FORCE_PATH_STYLE", "true"),
            ("AWS_EC2_METADATA_DISABLED", "true"),
        ])
    }

    /// Writes one object with a signed request.
    ///
    /// # Errors
    /// The store's, or it did not answer in time.
    pub async fn put(&self, name: &str, bytes: impl Into<PutPayload>) -> io::Result<()> {
        let store = self.client()?;
        let path = Path::parse(name).map_err(io::Error::other)?;
        let put = tokio::time::timeout(REQUEST_LIMIT, store.put(&path, bytes.into())).await;
        put.map_err(|_| problem(format!("{name} was not written in {REQUEST_LIMIT:?}")))?.map_err(io::Error::other)?;
        Ok(())
    }

    fn client(&self) -> io::Result<AmazonS3> {
        AmazonS3Builder::new()
            .with_endpoint(self.address())
            .with_allow_http(true)
            .with_region(REGION)
            .with_bucket_name(&self.bucket)
            .with_access_key_id(self.key)
            .with_secret_access_key(self.secret)
            .build()
            .map_err(io::Error::other)
    }
}
