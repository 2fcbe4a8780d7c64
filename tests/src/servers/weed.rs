//! SeaweedFS: an S3 store that keeps its objects on disk and honours conditional writes.

use std::io;
use std::path::{Path, PathBuf};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::keep::Program;
use super::s3::Endpoint;
use super::{ObjectStore, START_ATTEMPTS, Starting, ports, problem};

/// Names the program `weed`.
pub const VARIABLE: &str = "OMNIGRAPH_TEST_WEED";

const KEY: &str = "test";
const SECRET: &str = "testtest";

/// The one identity it knows.
const IDENTITIES: &str = r#"{"identities": [{"name": "test",
  "credentials": [{"accessKey": "test", "secretKey": "testtest"}],
  "actions": ["Admin", "Read", "Write", "List", "Tagging"]}]}"#;

/// Ports of its four servers, and of the remote procedure calls of each.
struct Ports {
    master: [u16; 2],
    volume: [u16; 2],
    filer: [u16; 2],
    s3: [u16; 2],
}

impl Ports {
    fn free() -> io::Result<Self> {
        match ports::free(8)?[..] {
            [a, b, c, d, e, f, g, h] => Ok(Self { master: [a, b], volume: [c, d], filer: [e, f], s3: [g, h] }),
            _ => Err(problem("not as many ports as were asked for")),
        }
    }

    fn named(&self) -> [(&'static str, [u16; 2]); 4] {
        [("master", self.master), ("volume", self.volume), ("filer", self.filer), ("s3", self.s3)]
    }

    /// Sockets it makes beside its ports, and leaves when it is killed.
    fn sockets(&self) -> Vec<PathBuf> {
        let socket = |(name, [_, calls]): (&str, [u16; 2])| format!("/tmp/seaweedfs-{name}-grpc-{calls}.sock").into();
        self.named().into_iter().map(socket).collect()
    }
}

/// Starts it over an empty folder of its own, with one bucket. The folder goes with it.
///
/// # Errors
/// It does not come up.
pub async fn start(helper: &Path, weed: &Path, bucket: &str) -> io::Result<ObjectStore> {
    let mut failure = problem("not tried");
    for _ in 0..START_ATTEMPTS {
        let folder = tempfile::Builder::new().prefix("omnigraph-weed-").tempdir()?.keep();
        match start_in(helper, weed, bucket, &folder, vec![folder.clone()]).await {
            Ok(store) => return Ok(store),
            Err(e) => failure = e,
        }
    }
    Err(failure)
}

/// Starts it over an existing folder, which stays.
///
/// # Errors
/// It does not come up.
pub async fn start_over(helper: &Path, weed: &Path, bucket: &str, folder: &Path) -> io::Result<ObjectStore> {
    start_in(helper, weed, bucket, folder, Vec::new()).await
}

async fn start_in(
    helper: &Path,
    weed: &Path,
    bucket: &str,
    folder: &Path,
    mut remove: Vec<PathBuf>,
) -> io::Result<ObjectStore> {
    let ports = Ports::free()?;
    let (data, identities) = (folder.join("data"), folder.join("s3.json"));
    std::fs::create_dir_all(&data)?;
    std::fs::write(&identities, IDENTITIES)?;
    remove.extend(ports.sockets());
    let program = Program {
        program: weed.to_path_buf(),
        arguments: arguments(&ports, folder, &data, &identities).into_iter().map(Into::into).collect(),
        environment: Vec::new(),
        log: folder.join("log"),
        folder: folder.to_path_buf(),
        remove,
    };
    let endpoint = Endpoint { port: ports.s3[0], bucket: bucket.to_string(), key: KEY, secret: SECRET };
    let mut starting = Starting::new("SeaweedFS", helper, &program)?;
    while let Err(e) = make_bucket(ports.filer[0], bucket).await {
        starting.pause(e).await?;
    }
    while let Err(e) = endpoint.put("ready", "ready").await {
        starting.pause(e).await?;
    }
    Ok(ObjectStore {
        url: format!("s3://{bucket}"),
        environment: endpoint.environment(),
        secrets: &[SECRET],
        folder: data,
        keeper: starting.keeper,
    })
}

/// Everything on the loopback address, nothing reported to anybody, and ports that nobody else has.
fn arguments(ports: &Ports, folder: &Path, data: &Path, identities: &Path) -> Vec<String> {
    let mut words = vec![
        "-logtostderr=true".to_string(),
        "server".to_string(),
        "-ip=127.0.0.1".to_string(),
        "-ip.bind=127.0.0.1".to_string(),
        format!("-dir={}", data.display()),
        "-filer".to_string(),
        "-s3".to_string(),
        format!("-s3.config={}", identities.display()),
        "-s3.iam=false".to_string(),
        "-s3.port.iceberg=0".to_string(),
        "-s3.port.lance=0".to_string(),
        format!("-filer.localSocket={}", folder.join("filer.sock").display()),
        format!("-s3.localSocket={}", folder.join("s3.sock").display()),
        "-master.telemetry=false".to_string(),
        "-master.volumeSizeLimitMB=1024".to_string(),
        "-volume.max=100".to_string(),
    ];
    for (name, [port, calls]) in ports.named() {
        words.push(format!("-{name}.port={port}"));
        words.push(format!("-{name}.port.grpc={calls}"));
    }
    words
}

/// A bucket is a folder of its file server.
async fn make_bucket(filer: u16, bucket: &str) -> io::Result<()> {
    let mut connection = TcpStream::connect(("127.0.0.1", filer)).await?;
    let ask = format!(
        "POST /buckets/{bucket}/ HTTP/1.1\r\nHost: 127.0.0.1:{filer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    connection.write_all(ask.as_bytes()).await?;
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer);
    if answer.starts_with("HTTP/1.1 201") {
        return Ok(());
    }
    Err(problem(format!("the bucket was not made: {}", answer.lines().next().unwrap_or_default())))
}
