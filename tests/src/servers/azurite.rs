//! Azurite: Microsoft's own stand-in for Azure's blob store.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::job::{self, Job};
use super::keep::Program;
use super::{ObjectStore, START_ATTEMPTS, Starting, pairs, ports, problem};

/// Names the program `azurite-blob`.
pub const VARIABLE: &str = "OMNIGRAPH_TEST_AZURITE";

/// The account that every Azurite has, with its published key.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// How long making the container may take.
const MAKE_LIMIT: Duration = Duration::from_secs(10);

/// Makes a container with a request signed by the account's key. Node is at hand wherever Azurite is.
const MAKE_CONTAINER: &str = r"
const [port, account, key, container] = process.argv.slice(1);
const headers = { 'x-ms-date': new Date().toUTCString(), 'x-ms-version': '2021-08-06' };
const signed = ['PUT', ...Array(11).fill(''), ...Object.entries(headers).map(([name, value]) => `${name}:${value}`),
  `/${account}/${account}/${container}`, 'restype:container'].join('\n');
const mac = require('crypto').createHmac('sha256', Buffer.from(key, 'base64')).update(signed).digest('base64');
Object.assign(headers, { 'content-length': 0, authorization: `SharedKey ${account}:${mac}` });
const path = `/${account}/${container}?restype=container`;
const fail = (what) => { console.error(String(what)); process.exitCode = 1; };
require('http').request({ host: '127.0.0.1', port, method: 'PUT', path, headers }, (answer) => {
  answer.resume();
  if (answer.statusCode !== 201) fail(`status ${answer.statusCode}`);
}).on('error', fail).end();
";

/// Starts it over an empty folder of its own, with one container of at least three letters. The folder goes
/// with it.
///
/// # Errors
/// It does not come up.
pub async fn start(helper: &Path, azurite: &Path, container: &str) -> io::Result<ObjectStore> {
    let mut failure = problem("not tried");
    for _ in 0..START_ATTEMPTS {
        match start_once(helper, azurite, container).await {
            Ok(store) => return Ok(store),
            Err(e) => failure = e,
        }
    }
    Err(failure)
}

async fn start_once(helper: &Path, azurite: &Path, container: &str) -> io::Result<ObjectStore> {
    let folder = tempfile::Builder::new().prefix("omnigraph-azurite-").tempdir()?.keep();
    let data = folder.join("data");
    std::fs::create_dir(&data)?;
    let port = ports::free(1)?.into_iter().next().ok_or_else(|| problem("no port"))?.to_string();
    let location = data.display().to_string();
    let words = ["--blobHost", "127.0.0.1", "--blobPort", &port, "--location", &location];
    let switches = ["--skipApiVersionCheck", "--disableTelemetry", "--silent"];
    let program = Program {
        program: azurite.to_path_buf(),
        arguments: words.into_iter().chain(switches).map(Into::into).collect(),
        environment: Vec::new(),
        log: folder.join("log"),
        folder: folder.clone(),
        remove: vec![folder.clone()],
    };
    let mut starting = Starting::new("Azurite", helper, &program)?;
    while let Err(e) = make_container(&folder, &port, container).await {
        starting.pause(e).await?;
    }
    Ok(ObjectStore {
        url: format!("az://{container}"),
        environment: pairs(&[
            ("AZURE_STORAGE_USE_EMULATOR", "true"),
            ("AZURITE_BLOB_STORAGE_URL", &format!("http://127.0.0.1:{port}")),
            ("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT),
            ("AZURE_STORAGE_ACCOUNT_KEY", KEY),
        ]),
        secrets: &[KEY],
        folder: data,
        keeper: starting.keeper,
    })
}

/// Where Node is. A program given by its path is started without a copy of this process, which may by then have
/// reserved more memory than the machine has.
fn node() -> io::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("node")).find(|program| program.is_file());
    found.ok_or_else(|| problem("there is no Node on the PATH"))
}

async fn make_container(home: &Path, port: &str, container: &str) -> io::Result<()> {
    let mut command = job::isolated(&node()?, home, &[]);
    command.args(["-e", MAKE_CONTAINER, port, ACCOUNT, KEY, container]);
    let ended = Job::start(command)?.ended(MAKE_LIMIT).await?;
    match ended.code {
        Some(0) => Ok(()),
        _ => Err(problem(format!("the container was not made: {}", ended.err.trim()))),
    }
}
