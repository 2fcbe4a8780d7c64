//! A storage with the servers in front of it, each a process that can be killed and comes back elsewhere.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use omnigraph_client::{Client, Graph, RetryPolicy};
use serde_json::Value as Json;

use super::Outcome;
use super::ledger::Ledger;
use crate::servers::job::{self, Ended, Job};
use crate::servers::keep::{Keeper, Program};

/// The graph's id on every server.
pub(crate) const GRAPH: &str = "soak";

/// How long a server may take to come up.
const START_LIMIT: Duration = Duration::from_secs(60);

/// How long a command over the files of the graph may take.
const COMMAND_LIMIT: Duration = Duration::from_secs(900);

/// Time for one attempt of a call. Longer than a dead writer's claim is honoured.
pub(crate) const ATTEMPT_LIMIT: Duration = Duration::from_secs(30);

/// The programs under test.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    /// Carries the keeper, so that no server outlives the run.
    pub(crate) helper: PathBuf,
    pub(crate) server: PathBuf,
    pub(crate) cli: PathBuf,
}

impl Programs {
    /// Those that were built together with this one.
    pub(crate) fn beside(this: &Path) -> Outcome<Self> {
        let folder = this.parent().ok_or("this program is in no folder")?;
        let find = |name: &str| {
            let path = folder.join(name);
            if path.exists() {
                return Ok(path);
            }
            Err(format!("{} is missing; build it with `cargo build --workspace --bins`", path.display()))
        };
        Ok(Self { helper: this.to_path_buf(), server: find("omnigraph-server")?, cli: find("omnigraph")? })
    }
}

/// A storage, its servers, and what the graph in it must hold.
#[derive(Debug)]
pub(crate) struct Place {
    /// For people.
    pub(crate) name: &'static str,
    /// Its branches that are there from beginning to end, main first.
    pub(crate) lasting: Vec<String>,
    /// See [`Ledger`].
    pub(crate) ledger: Ledger,
    storage: String,
    environment: Vec<(String, String)>,
    folder: PathBuf,
    programs: Programs,
    members: Vec<Member>,
    calm: bool,
}

#[derive(Debug, Default)]
struct Member {
    process: tokio::sync::Mutex<Process>,
    client: Mutex<Option<Client>>,
}

#[derive(Debug, Default)]
struct Process {
    keeper: Option<Keeper>,
    starts: u32,
    log: PathBuf,
}

impl Place {
    /// A place without servers. `folder` takes their logs.
    pub(crate) fn new(
        name: &'static str,
        lasting: Vec<String>,
        members: usize,
        storage: String,
        environment: Vec<(String, String)>,
        folder: PathBuf,
        programs: Programs,
    ) -> Self {
        let members = (0..members).map(|_| Member::default()).collect();
        Self { name, lasting, ledger: Ledger::default(), storage, environment, folder, programs, members, calm: false }
    }

    /// Nothing is killed here, so nobody but the client itself repeats a call, and no call may fail.
    pub(crate) fn calm(mut self) -> Self {
        self.calm = true;
        self
    }

    /// See [`Place::calm`].
    pub(crate) fn is_calm(&self) -> bool {
        self.calm
    }

    /// The folder that holds everything, if it is on this machine's disk.
    pub(crate) fn local_folder(&self) -> Option<&Path> {
        (!self.storage.contains("://")).then(|| Path::new(&self.storage))
    }

    /// How many servers it has.
    pub(crate) fn size(&self) -> usize {
        self.members.len()
    }

    /// The graph through one of the servers; a number beyond the last begins again with the first.
    pub(crate) fn graph(&self, at: usize) -> Option<Graph> {
        self.client(at).map(|client| client.graph(GRAPH))
    }

    /// The client of one of the servers.
    pub(crate) fn client(&self, at: usize) -> Option<Client> {
        let member = &self.members[at % self.members.len()];
        member.client.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Starts every server that does not run.
    pub(crate) async fn start(&self) -> Outcome {
        for (at, member) in self.members.iter().enumerate() {
            let mut process = member.process.lock().await;
            if process.keeper.is_none() {
                self.launch(at, &mut process).await?;
            }
        }
        Ok(())
    }

    /// Kills a server in whatever it is doing and starts it again on another port.
    pub(crate) async fn restart(&self, at: usize) -> Outcome {
        let mut process = self.members[at].process.lock().await;
        if let Some(keeper) = &mut process.keeper
            && !keeper.is_running()?
        {
            self.ledger.violation(format!("server {at} stopped by itself; see {}", process.log.display()));
        }
        // SIGKILL: it cannot be told from a crash.
        process.keeper = None;
        self.ledger.book().counts.kills += 1;
        self.launch(at, &mut process).await
    }

    /// Kills all servers for good.
    pub(crate) async fn stop(&self) {
        for member in &self.members {
            member.process.lock().await.keeper = None;
        }
    }

    async fn launch(&self, at: usize, process: &mut Process) -> Outcome {
        process.starts += 1;
        let stem = format!("{}-{at}-{}", self.name, process.starts);
        let port_file = self.folder.join(format!("{stem}.port"));
        process.log = self.folder.join(format!("{stem}.log"));
        let words = ["--listen", "127.0.0.1:0", "--log", "info,lance=warn", "--storage", &self.storage];
        let told = ["--port-file".into(), port_file.clone().into_os_string()];
        let program = Program {
            program: self.programs.server.clone(),
            arguments: words.into_iter().map(Into::into).chain(told).collect(),
            environment: self.environment.clone(),
            folder: self.folder.clone(),
            log: process.log.clone(),
            remove: Vec::new(),
        };
        let keeper = process.keeper.insert(Keeper::start(&self.programs.helper, &program)?);
        let begun = Instant::now();
        let port: u16 = loop {
            if let Ok(text) = std::fs::read_to_string(&port_file)
                && let Ok(port) = text.trim().parse()
            {
                break port;
            }
            if !keeper.is_running()? {
                return Err(format!("a server did not start; see {}", process.log.display()).into());
            }
            if begun.elapsed() > START_LIMIT {
                return Err(
                    format!("a server did not come up in {START_LIMIT:?}; see {}", process.log.display()).into()
                );
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        let client = Client::builder(format!("http://127.0.0.1:{port}"))
            .actor("soak")
            .timeout(ATTEMPT_LIMIT)
            .connect_timeout(Duration::from_secs(5))
            .retry(match self.calm {
                true => RetryPolicy::default(),
                // The run repeats calls itself, so that it can count them and turn to another server.
                false => RetryPolicy::none(),
            })
            .connect_lazy()?;
        *self.members[at].client.lock().unwrap_or_else(PoisonError::into_inner) = Some(client);
        Ok(())
    }

    /// What the command line answers about the graph's files, and its exit code.
    pub(crate) async fn command(&self, words: &[&str]) -> Outcome<(Option<i32>, Json)> {
        let ended = self.carry_out(words).await?;
        match serde_json::from_str(&ended.out) {
            Ok(answer) => Ok((ended.code, answer)),
            Err(_) => Err(format!("`omnigraph {}` answered: {}{}", words.join(" "), ended.out, ended.err).into()),
        }
    }

    /// Runs the command line over the graph's files, whatever comes of it.
    pub(crate) async fn carry_out(&self, words: &[&str]) -> Outcome<Ended> {
        let mut command = job::isolated(&self.programs.cli, &self.folder, &self.environment);
        command.args(words).args(["--cluster", &self.storage, "--graph", GRAPH, "--json"]);
        Ok(Job::start(command)?.ended(COMMAND_LIMIT).await?)
    }
}
