//! Graphs on real object stores, worked on by processes of the command line that know nothing of each other.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use futures::future::join_all;
use omnigraph_tests::servers::job::{self, Ended, Job};
use omnigraph_tests::servers::{ObjectStore, azurite, files, installed, s3rver, weed};
use omnigraph_tests::{SOCIAL, knows, person};
use serde_json::Value as Json;
use tokio::sync::OnceCell;

/// Carries the command line and the keeper of the stores. Cargo builds it together with this test; the
/// binaries of other packages may be missing or old.
const HELPER: &str = env!("CARGO_BIN_EXE_omnigraph-soak");

/// How long one command may take on a busy machine.
const COMMAND_LIMIT: Duration = Duration::from_secs(60);

/// Exit codes of the command line.
const NOT_FOUND: Option<i32> = Some(3);
const CONFLICT: Option<i32> = Some(4);

/// The program a test needs, or `None` with a line that says why the test does nothing.
fn program(variable: &str) -> Option<PathBuf> {
    let found = installed(variable).unwrap();
    if found.is_none() {
        println!("skipped: {variable} is not set; `make test` installs the program and sets it");
    }
    found
}

/// The S3 store of all tests here, each below a prefix of its own.
async fn seaweed() -> Option<&'static ObjectStore> {
    static STORE: OnceCell<Option<ObjectStore>> = OnceCell::const_new();
    let start = || async {
        let program = program(weed::VARIABLE)?;
        Some(weed::start(Path::new(HELPER), &program, "graphs").await.unwrap())
    };
    STORE.get_or_init(start).await.as_ref()
}

/// The command line, with a store in its environment and files to hand to it.
struct Cli<'a> {
    store: &'a ObjectStore,
    home: tempfile::TempDir,
}

impl<'a> Cli<'a> {
    fn new(store: &'a ObjectStore) -> Self {
        Self { store, home: tempfile::tempdir().unwrap() }
    }

    /// A file with this text, as an argument.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.home.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = job::isolated(Path::new(HELPER), self.home.path(), &self.store.environment);
        command.arg("cli").args(words);
        command
    }

    async fn ended(&self, command: Command) -> Ended {
        let ended = Job::start(command).unwrap().ended(COMMAND_LIMIT).await.unwrap();
        self.check_secrets(&ended);
        ended
    }

    fn check_secrets(&self, ended: &Ended) {
        for secret in self.store.secrets {
            assert!(!ended.out.contains(secret) && !ended.err.contains(secret), "a secret was printed: {ended:?}");
        }
    }

    async fn run(&self, words: &[&str]) -> Ended {
        self.ended(self.command(words)).await
    }

    /// What a command that succeeds answers.
    async fn answer(&self, words: &[&str]) -> String {
        let ended = self.run(words).await;
        assert_eq!(ended.code, Some(0), "{words:?}: {}", ended.err);
        ended.out
    }

    async fn json(&self, words: &[&str]) -> Json {
        let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
        serde_json::from_str(&self.answer(&words).await).unwrap()
    }

    async fn init(&self, root: &str) -> String {
        let schema = self.file("social.pg", SOCIAL);
        commit_of(&self.json(&["init", root, "--schema", &schema]).await)
    }

    /// The keys of all people, sorted, as often as they are there.
    async fn people(&self, root: &str, version: &[&str]) -> Vec<String> {
        let words = ["scan", root, "Person", "--columns", "slug", "--order-by", "slug"];
        let rows = self.json(&[&words, version].concat()).await;
        rows.as_array().unwrap().iter().map(|row| row["slug"].as_str().unwrap().to_string()).collect()
    }

    /// Whether every invariant of the graph holds and nothing is left to recover.
    async fn verify(&self, root: &str) {
        let report = self.json(&["verify", root]).await;
        assert_eq!((&report["clean"], &report["pending"]), (&true.into(), &0.into()), "{report}");
    }
}

fn commit_of(outcome: &Json) -> String {
    assert_eq!(outcome["changed"], true, "{outcome}");
    outcome["commit"].as_str().unwrap().to_string()
}

const MUTATION: &str = r#"[
    {"update": {"type": "Person", "ids": ["ada"], "set": {"age": 37}}},
    {"insert": {"type": "Person", "data": {"slug": "edsger"}}},
    {"delete": {"type": "Person", "ids": ["grace"]}}
]"#;

/// Every step is a process of its own, so each finds what the one before left in the store.
async fn walk(store: &ObjectStore, root: &str) {
    let cli = Cli::new(store);
    let made = cli.init(root).await;
    let input = person("ada", 36) + &person("grace", 85) + &knows("ada", "grace");
    let loaded = commit_of(&cli.json(&["load", root, &cli.file("people.jsonl", &input)]).await);

    cli.json(&["branch", "create", root, "review/1"]).await;
    let changed = cli.json(&["mutate", root, "--branch", "review/1", "--inline", MUTATION]).await;
    let changed = commit_of(&changed);
    assert_eq!(cli.people(root, &[]).await, ["ada", "grace"]);
    assert_eq!(cli.people(root, &["--branch", "review/1"]).await, ["ada", "edsger"]);
    let ada = cli.json(&["get", root, "Person", "ada", "--branch", "review/1"]).await;
    assert_eq!(ada[0]["data"]["age"], 37, "{ada}");

    let exported = cli.answer(&["export", root]).await;
    assert_eq!(exported.lines().count(), 3, "{exported}");
    let exported = cli.answer(&["export", root, "--branch", "review/1"]).await;
    assert_eq!(exported.lines().count(), 2, "{exported}");

    assert_eq!(cli.people(root, &["--commit", &loaded]).await, ["ada", "grace"]);
    let snapshot = cli.json(&["snapshot", root, "--commit", &made]).await;
    assert_eq!(snapshot["commit"], made, "{snapshot}");
    let rows = snapshot["tables"].as_array().unwrap().iter().map(|table| table["rows"].as_u64().unwrap());
    assert_eq!(rows.sum::<u64>(), 0, "{snapshot}");
    let log = cli.json(&["commit", "list", root, "--branch", "review/1"]).await;
    let log: Vec<&str> = log.as_array().unwrap().iter().map(|commit| commit["id"].as_str().unwrap()).collect();
    assert_eq!(log, [&changed, &loaded, &made]);

    cli.verify(root).await;
    cli.json(&["branch", "delete", root, "review/1", "--yes"]).await;
    let gone = cli.run(&["get", root, "Person", "ada", "--branch", "review/1"]).await;
    assert_eq!(gone.code, NOT_FOUND, "{}", gone.err);
    cli.verify(root).await;

    // Errors and logs are where credentials get out.
    let nowhere = cli.run(&["scan", &format!("{root}/nothing"), "Person"]).await;
    assert_eq!(nowhere.code, NOT_FOUND, "{}", nowhere.err);
    let mut talkative = cli.command(&["get", root, "Person", "ada"]);
    talkative.env("OMNIGRAPH_LOG", "debug");
    assert_eq!(cli.ended(talkative).await.code, Some(0));
}

#[tokio::test]
async fn s3_processes_work_on_one_graph_one_after_the_other() {
    if let Some(store) = seaweed().await {
        walk(store, &format!("{}/walk/g", store.url)).await;
    }
}

#[tokio::test]
async fn azure_processes_work_on_one_graph_one_after_the_other() {
    if let Some(program) = program(azurite::VARIABLE) {
        let store = azurite::start(Path::new(HELPER), &program, "graphs").await.unwrap();
        walk(&store, &format!("{}/walk/g", store.url)).await;
    }
}

const WRITERS: usize = 3;
const LOADS: usize = 8;

/// When a load is killed, in milliseconds: from before it has opened the graph to about when it is done.
const DEATHS: [u64; 6] = [120, 250, 400, 600, 850, 1_200];

/// Two people in one load.
fn pair(name: &str) -> [String; 2] {
    [format!("{name}-a"), format!("{name}-b")]
}

impl Cli<'_> {
    /// A load of two people under a request id.
    fn load_pair(&self, root: &str, name: &str) -> Command {
        let [a, b] = pair(name);
        let file = self.file(&format!("{name}.jsonl"), &(person(&a, 1) + &person(&b, 2)));
        self.command(&["load", root, &file, "--request-id", name, "--json"])
    }

    /// Loads after each other. One that other writers kept from its turn is made again, as its error says.
    async fn loads(&self, root: &str, writer: usize) -> Vec<(String, String)> {
        let mut acknowledged = Vec::new();
        for n in 0..LOADS {
            let name = format!("w{writer}-{n}");
            let mut attempts = 0;
            let done = loop {
                let ended = self.ended(self.load_pair(root, &name)).await;
                if ended.code == Some(0) {
                    break ended;
                }
                attempts += 1;
                assert!(attempts < 5 && ended.err.contains("TOO_MUCH_CONTENTION"), "{name}: {}", ended.err);
            };
            acknowledged.push((name, commit_of(&serde_json::from_str(&done.out).unwrap())));
        }
        acknowledged
    }

    /// Loads that are killed, and which of them were done before.
    async fn deaths(&self, root: &str) -> Vec<(String, Option<String>)> {
        let mut met = Vec::new();
        for after in DEATHS {
            let name = format!("killed-{after}");
            let victim = Job::start(self.load_pair(root, &name)).unwrap();
            let ended = victim.ended_or_killed(Duration::from_millis(after)).await.unwrap();
            self.check_secrets(&ended);
            assert!(matches!(ended.code, None | Some(0)), "{name}: {}", ended.err);
            let done = ended.code.map(|_| commit_of(&serde_json::from_str(&ended.out).unwrap()));
            met.push((name, done));
        }
        met
    }
}

#[tokio::test]
async fn s3_writers_lose_nothing_while_others_are_killed() {
    let Some(store) = seaweed().await else { return };
    let root = format!("{}/crowd/g", store.url);
    let cli = Cli::new(store);
    cli.init(&root).await;
    let writers = join_all((0..WRITERS).map(|writer| cli.loads(&root, writer)));
    let (written, met) = tokio::join!(writers, cli.deaths(&root));

    // The next writer needs no help.
    let last = cli.ended(cli.load_pair(&root, "last")).await;
    assert_eq!(last.code, Some(0), "{}", last.err);
    let mut acknowledged = written.concat();
    acknowledged.push(("last".to_string(), commit_of(&serde_json::from_str(&last.out).unwrap())));
    let found = cli.people(&root, &[]).await;
    let mut unsure = Vec::new();
    for (name, done) in met {
        match done {
            Some(commit) => acknowledged.push((name, commit)),
            None => unsure.push(name),
        }
    }
    let survived: Vec<&String> = unsure.iter().filter(|name| found.contains(&pair(name)[0])).collect();
    println!(
        "{} loads acknowledged, {} killed, {} of those finished",
        acknowledged.len(),
        unsure.len(),
        survived.len()
    );
    let mut expected: Vec<String> =
        acknowledged.iter().map(|(name, _)| name).chain(survived).flat_map(|n| pair(n)).collect();
    expected.sort();
    assert_eq!(found, expected, "every pair is there once and whole, or not at all");

    let log = cli.json(&["commit", "list", &root, "--limit", "500"]).await;
    let commits = log.as_array().unwrap();
    for (name, commit) in &acknowledged {
        let under = commits.iter().filter(|c| c["request_id"] == **name).map(|c| c["id"].as_str().unwrap());
        assert_eq!(under.collect::<Vec<_>>(), [commit], "{name} is one commit");
    }
    cli.verify(&root).await;
}

#[tokio::test]
async fn a_store_that_ignores_conditions_is_refused_and_left_as_it_was() {
    let Some(program) = program(s3rver::VARIABLE) else { return };
    let (store, endpoint) = s3rver::start(Path::new(HELPER), &program, "graphs").await.unwrap();
    let cli = Cli::new(&store);
    let refused = |ended: &Ended| {
        assert_eq!(ended.code, CONFLICT, "{ended:?}");
        assert!(ended.err.contains("STORE_LACKS_CONDITIONAL_PUT"), "{}", ended.err);
    };
    let root = format!("{}/made/g", store.url);
    let schema = cli.file("social.pg", SOCIAL);
    refused(&cli.run(&["init", &root, "--schema", &schema]).await);
    assert_eq!(s3rver::objects(&store).unwrap(), [""; 0]);

    // A graph that was brought there may be read and not written.
    let folder = cli.home.path().join("brought");
    let local = folder.display().to_string();
    cli.init(&local).await;
    let input = cli.file("people.jsonl", &person("ada", 36));
    cli.json(&["load", &local, &input]).await;
    for name in files(&folder).unwrap() {
        endpoint.put(&format!("brought/g/{name}"), std::fs::read(folder.join(&name)).unwrap()).await.unwrap();
    }
    let before = s3rver::objects(&store).unwrap();
    let root = format!("{}/brought/g", store.url);
    let more = cli.file("more.jsonl", &person("grace", 85));
    refused(&cli.run(&["load", &root, &more]).await);
    refused(&cli.run(&["branch", "create", &root, "review"]).await);
    assert_eq!(s3rver::objects(&store).unwrap(), before);
    assert_eq!(cli.people(&root, &[]).await, ["ada"]);
}
