//! Child processes that see nothing of this one's environment or terminal, and what they printed.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Variables that are handed on: where programs and temporary files are.
const HANDED_ON: [&str; 2] = ["PATH", "TMPDIR"];

/// A command with this environment and a home of its own, so that no configuration, credential or proxy of
/// whoever runs the tests is used.
pub fn isolated(program: &Path, home: &Path, environment: &[(String, String)]) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    for name in HANDED_ON {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    // In a group of its own, so that whoever interrupts the tests at a terminal leaves the order of ending to us.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.env("HOME", home).envs(environment.iter().map(|(name, value)| (name, value)));
    command
}

/// A child process. Dropping it kills it.
#[derive(Debug)]
pub struct Job {
    child: Child,
    out: File,
    err: File,
}

/// A child process that is over.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its exit code; `None` if it was killed.
    pub code: Option<i32>,
    /// What it wrote to standard output.
    pub out: String,
    /// What it wrote to standard error.
    pub err: String,
}

impl Job {
    /// Starts it, without input. What it prints goes to files, so that it never waits for a reader.
    ///
    /// # Errors
    /// The system's.
    pub fn start(mut command: Command) -> io::Result<Self> {
        let (out, err) = (tempfile::tempfile()?, tempfile::tempfile()?);
        let child = command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(err.try_clone()?).spawn()?;
        Ok(Self { child, out, err })
    }

    /// Waits until it ends.
    ///
    /// # Errors
    /// It took longer than `limit` and was killed, or the system's.
    pub async fn ended(self, limit: Duration) -> io::Result<Ended> {
        let ended = self.ended_or_killed(limit).await?;
        match ended.code {
            Some(_) => Ok(ended),
            None => Err(io::Error::other(format!("killed from outside or not done in {limit:?}: {}", ended.err))),
        }
    }

    /// Kills it if it has not ended by then.
    ///
    /// # Errors
    /// The system's.
    pub async fn ended_or_killed(mut self, after: Duration) -> io::Result<Ended> {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if begun.elapsed() >= after {
                self.child.kill()?;
                break self.child.wait()?;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        Ok(Ended { code: status.code(), out: text(&self.out)?, err: text(&self.err)? })
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(mut file: &File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
