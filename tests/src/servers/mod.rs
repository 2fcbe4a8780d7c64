//! Real object stores for tests: other people's programs, each a process of its own on the loopback address.
//!
//! Nothing here pretends to be a store. The engine is reached through child processes, since its credentials
//! come from the environment of its process.

pub mod azurite;
pub mod job;
pub mod keep;
pub mod ports;
pub mod s3;
pub mod s3rver;
pub mod weed;

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use keep::{Keeper, Program};

/// How long a store may take to come up. A loaded machine takes several seconds.
const START_LIMIT: Duration = Duration::from_secs(60);

/// How often a store is started with other ports when something took one of them.
const START_ATTEMPTS: usize = 3;

/// A store that runs until this is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct ObjectStore {
    /// Address of its bucket or container, without a slash at the end.
    pub url: String,
    /// What a process needs in its environment to reach it.
    pub environment: Vec<(String, String)>,
    /// What may not show up in anybody's output.
    pub secrets: &'static [&'static str],
    /// The folder of the store's files.
    pub folder: PathBuf,
    keeper: Keeper,
}

impl ObjectStore {
    /// Whether the store's process still runs.
    ///
    /// # Errors
    /// The system's.
    pub fn is_running(&mut self) -> io::Result<bool> {
        self.keeper.is_running()
    }
}

/// What the environment says about an external program that tests need. `None`: they are to be skipped.
///
/// # Errors
/// A path that leads nowhere; no path at all where continuous integration runs, which skips nothing.
pub fn installed(variable: &str) -> io::Result<Option<PathBuf>> {
    match std::env::var_os(variable).filter(|value| !value.is_empty()) {
        Some(path) if Path::new(&path).exists() => Ok(Some(path.into())),
        Some(path) => Err(problem(format!("{variable} names {}, which does not exist", Path::new(&path).display()))),
        None if std::env::var_os("CI").is_some_and(|value| value == "true") => {
            Err(problem(format!("{variable} is not set, and CI skips nothing; run the tests with `make test`")))
        }
        None => Ok(None),
    }
}

/// A store's process that is coming up.
struct Starting {
    name: &'static str,
    keeper: Keeper,
    begun: Instant,
}

impl Starting {
    fn new(name: &'static str, helper: &Path, program: &Program) -> io::Result<Self> {
        Ok(Self { name, keeper: Keeper::start(helper, program)?, begun: Instant::now() })
    }

    /// Waits a moment before the next look, unless there is nothing to wait for any more.
    async fn pause(&mut self, why: impl Display) -> io::Result<()> {
        let name = self.name;
        if !self.keeper.is_running()? {
            return Err(problem(format!("{name} stopped at once ({why}): {}", self.keeper.log_tail())));
        }
        if self.begun.elapsed() > START_LIMIT {
            let tail = self.keeper.log_tail();
            return Err(problem(format!("{name} did not come up in {START_LIMIT:?} ({why}): {tail}")));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        Ok(())
    }
}

fn problem(what: impl Into<String>) -> io::Error {
    io::Error::other(what.into())
}

fn pairs(variables: &[(&str, &str)]) -> Vec<(String, String)> {
    variables.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string())).collect()
}

/// The files anywhere below a folder, relative to it, with `/` between the parts, sorted.
///
/// # Errors
/// The disk's.
pub fn files(folder: &Path) -> io::Result<Vec<String>> {
    let (mut found, mut left) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(next) = left.pop() {
        for entry in std::fs::read_dir(next)? {
            let path = entry?.path();
            if path.is_dir() {
                left.push(path);
            } else if let Ok(inside) = path.strip_prefix(folder) {
                let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
                found.push(parts.join("/"));
            }
        }
    }
    found.sort();
    Ok(found)
}
