//! Processes that do not outlive the one that wants them. A small process of our own stands between: it holds
//! the wanted one by its handle and ends it when its standard input closes, which the system does even for a
//! process that is killed.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use super::job;

/// The first word that makes the helper program the process in between.
pub const WORD: &str = "keep";

/// How often the process in between looks whether the wanted one still runs.
const LOOK: Duration = Duration::from_millis(50);

/// Bytes of a log that an error quotes.
const TAIL: usize = 2_000;

/// A program to run.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// What it finds in its environment.
    pub environment: Vec<(String, String)>,
    /// Its working folder and home.
    pub folder: PathBuf,
    /// File that takes its output.
    pub log: PathBuf,
    /// What is removed when it is over: files, and folders with all they hold.
    pub remove: Vec<PathBuf>,
}

/// A running program. Dropping this kills it (SIGKILL) and waits until it is gone.
#[derive(Debug)]
pub struct Keeper {
    child: Child,
    open: Option<ChildStdin>,
    log: PathBuf,
    remove: Vec<PathBuf>,
}

impl Keeper {
    /// Starts a program. `helper` is the binary that carries [`run`].
    ///
    /// # Errors
    /// The system's.
    pub fn start(helper: &Path, program: &Program) -> io::Result<Self> {
        let output = File::create(&program.log)?;
        let mut command = job::isolated(helper, &program.folder, &program.environment);
        command.arg(WORD).args(&program.remove).arg("--").arg(&program.program).args(&program.arguments);
        command.current_dir(&program.folder).stdin(Stdio::piped()).stdout(output.try_clone()?).stderr(output);
        let mut child = command.spawn()?;
        let open = child.stdin.take();
        Ok(Self { child, open, log: program.log.clone(), remove: program.remove.clone() })
    }

    /// Whether it still runs.
    ///
    /// # Errors
    /// The system's.
    pub fn is_running(&mut self) -> io::Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// The end of what it printed.
    pub fn log_tail(&self) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&text[text.len().saturating_sub(TAIL)..]).into_owned()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.open.take());
        // The process in between ends at once; if it is gone already, so is what it held.
        let _ = self.child.wait();
        self.remove.iter().for_each(|path| remove(path));
    }
}

/// The process in between: `PATH... -- PROGRAM ARGUMENT...`. Runs the program until standard input closes, then
/// kills it and removes the paths. If the program ends by itself, so does this, with a failure.
pub fn run(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let paths: Vec<PathBuf> = words.by_ref().take_while(|word| word != "--").map(PathBuf::from).collect();
    let Some(program) = words.next() else {
        return ExitCode::from(2);
    };
    let Ok(mut child) = Command::new(program).args(words).stdin(Stdio::null()).spawn() else {
        return ExitCode::FAILURE;
    };
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        // Nothing is ever written: this returns when the other end is closed.
        let _ = io::stdin().read(&mut [0]);
        let _ = tell.send(());
    });
    while told.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        if !matches!(child.try_wait(), Ok(None)) {
            return ExitCode::FAILURE;
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    paths.iter().for_each(|path| remove(path));
    ExitCode::SUCCESS
}

/// What cannot be removed is left; it is in a temporary folder.
fn remove(path: &Path) {
    if path.is_dir() {
        let _ = std::fs::remove_dir_all(path);
    } else {
        let _ = std::fs::remove_file(path);
    }
}
