//! s3rver: an S3 store that ignores the conditions of writes. It is here to be refused.

use std::io;
use std::path::Path;

use super::keep::Program;
use super::s3::Endpoint;
use super::{ObjectStore, START_ATTEMPTS, Starting, ports, problem};

/// Names the program `s3rver`.
pub const VARIABLE: &str = "OMNIGRAPH_TEST_S3RVER";

/// Both halves of the one access key it knows.
const KEY: &str = "S3RVER";

/// Ends the name of every file that holds an object.
const OBJECT: &str = "._S3rver_object";

/// Starts it over an empty folder of its own, with one bucket. The folder goes with it.
///
/// # Errors
/// It does not come up.
pub async fn start(helper: &Path, s3rver: &Path, bucket: &str) -> io::Result<(ObjectStore, Endpoint)> {
    let mut failure = problem("not tried");
    for _ in 0..START_ATTEMPTS {
        match start_once(helper, s3rver, bucket).await {
            Ok(started) => return Ok(started),
            Err(e) => failure = e,
        }
    }
    Err(failure)
}

async fn start_once(helper: &Path, s3rver: &Path, bucket: &str) -> io::Result<(ObjectStore, Endpoint)> {
    let folder = tempfile::Builder::new().prefix("omnigraph-s3rver-").tempdir()?.keep();
    let data = folder.join("data");
    let port = ports::free(1)?.into_iter().next().ok_or_else(|| problem("no port"))?;
    let (number, place) = (port.to_string(), data.display().to_string());
    let words = ["-a", "127.0.0.1", "-p", &number, "-d", &place, "-s", "--no-vhost-buckets"];
    let program = Program {
        program: s3rver.to_path_buf(),
        arguments: words.into_iter().chain(["--configure-bucket", bucket]).map(Into::into).collect(),
        environment: Vec::new(),
        log: folder.join("log"),
        folder: folder.clone(),
        remove: vec![folder],
    };
    let endpoint = Endpoint { port, bucket: bucket.to_string(), key: KEY, secret: KEY };
    let mut starting = Starting::new("s3rver", helper, &program)?;
    while let Err(e) = tokio::net::TcpStream::connect(("127.0.0.1", port)).await {
        starting.pause(e).await?;
    }
    let store = ObjectStore {
        url: format!("s3://{bucket}"),
        environment: endpoint.environment(),
        // Its secret is its own name.
        secrets: &[],
        folder: data,
        keeper: starting.keeper,
    };
    Ok((store, endpoint))
}

/// The names of all objects, sorted, from the files it keeps: its listing is not to be relied on.
///
/// # Errors
/// The disk's.
pub fn objects(store: &ObjectStore) -> io::Result<Vec<String>> {
    let names = super::files(&store.folder)?;
    Ok(names.iter().filter_map(|name| name.strip_suffix(OBJECT)).map(ToString::to_string).collect())
}
