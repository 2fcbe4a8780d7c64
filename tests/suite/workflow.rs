//! A review from beginning to end, as the documentation tells it: with the command line on files and against a server,
//! and with the client.

mod command_line;

use std::path::Path;
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use omnigraph_client::{
    ChangeKind, Client, ConflictKind, ErrorReason, LoadSource, MergeOutcome, Resolution, Selector, Side, Target, node,
};
use omnigraph_service::{Config, Server};
use omnigraph_tests::servers::job::{self, Ended, Job};
use omnigraph_tests::{SOCIAL, knows, memory_root, person};
use serde_json::Value as Json;

const LIMIT: Duration = Duration::from_secs(60);

/// The command line, in processes of its own, on one graph.
struct Cli {
    home: tempfile::TempDir,
    /// How the graph is named.
    graph: Vec<String>,
}

impl Cli {
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.home.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// Runs a command; what stands for the graph goes behind its `verbs` words.
    async fn run(&self, verbs: usize, words: &[&str]) -> Ended {
        let mut command = job::isolated(Path::new(env!("CARGO_BIN_EXE_omnigraph-soak")), self.home.path(), &[]);
        command.arg("cli").args(&words[..verbs]).args(&self.graph).args(&words[verbs..]);
        Job::start(command).unwrap().ended(LIMIT).await.unwrap()
    }

    /// What a command of two words answers that succeeds.
    async fn text(&self, words: &[&str]) -> String {
        let ended = self.run(2, words).await;
        assert_eq!(ended.code, Some(0), "{words:?}: {}", ended.err);
        ended.out
    }

    async fn json(&self, words: &[&str]) -> Json {
        serde_json::from_str(&self.text(&[words, &["--json"]].concat()).await).unwrap()
    }

    /// The lines of JSON that a command of two words answers.
    async fn lines(&self, words: &[&str]) -> Vec<Json> {
        let text = self.text(&[words, &["--json"]].concat()).await;
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// What a command answers that is refused with this code and reason.
    async fn refused(&self, verbs: usize, words: &[&str], code: i32, reason: Option<&str>) -> Ended {
        let ended = self.run(verbs, &[words, &["--json"]].concat()).await;
        assert_eq!(ended.code, Some(code), "{words:?}: {} {}", ended.out, ended.err);
        let error: Json = serde_json::from_str(ended.err.lines().last().unwrap()).unwrap();
        assert_eq!(error["error"]["reason"].as_str(), reason, "{words:?}: {error}");
        ended
    }

    /// Gives Ada an age on a branch.
    async fn age(&self, branch: &str, age: i32) {
        let update = format!(r#"[{{"update": {{"type": "Person", "ids": ["ada"], "set": {{"age": {age}}}}}}}]"#);
        let words = ["mutate", "--branch", branch, "--inline", &update, "--message", "a birthday"];
        let done = self.run(1, &words).await;
        assert_eq!(done.code, Some(0), "{}", done.err);
    }

    /// Ada's age, at the version that some flags name.
    async fn aged(&self, version: &[&str]) -> i64 {
        let found = self.run(1, &[&["get", "Person", "ada", "--json"], version].concat()).await;
        let found: Json = serde_json::from_str(&found.out).unwrap();
        found[0]["data"]["age"].as_i64().unwrap()
    }

    async fn head(&self, branch: &str) -> String {
        self.json(&["branch", "show", branch]).await["head"].as_str().unwrap().to_string()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_reviews_a_graph_in_files() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("social.omni").display().to_string();
    let cli = Cli { home, graph: vec![root] };
    let schema = cli.file("social.pg", SOCIAL);
    assert_eq!(cli.run(1, &["init", "--schema", &schema]).await.code, Some(0));
    command_line::review(&cli).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_reviews_a_graph_on_a_server() {
    let server = Server::bind(Config::new(memory_root("workflow"))).await.unwrap();
    Client::connect(server.uri()).await.unwrap().create_graph("social", SOCIAL).await.unwrap();
    let graph = ["--server", &server.uri(), "--graph", "social"].map(ToString::to_string).to_vec();
    let cli = Cli { home: tempfile::tempdir().unwrap(), graph };
    command_line::review(&cli).await;
    server.shutdown().await.unwrap();
}

async fn age(graph: &omnigraph_client::Graph, branch: &str, age: i32) -> String {
    let update = graph.mutate().update(Target::ids("Person", ["ada"]), [("age", age)]).branch(branch);
    update.send().await.unwrap().receipt.commit_id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_reviews_merges_and_takes_back() {
    let server = Server::bind(Config::new(memory_root("workflow"))).await.unwrap();
    let client = Client::builder(server.uri()).actor("ada").connect().await.unwrap();
    client.create_graph("social", SOCIAL).await.unwrap();
    let graph = client.graph("social");
    let text = person("ada", 36) + &person("bob", 1) + &knows("ada", "bob");
    graph.load(LoadSource::from(text)).send().await.unwrap();
    graph.create_branch("review", Selector::default()).await.unwrap();
    let ours = age(&graph, "main", 37).await;
    age(&graph, "review", 38).await;
    let delete = graph.mutate().delete(Target::ids("Person", ["bob"])).insert(node("Person").set("slug", "grace"));
    let theirs = delete.branch("review").send().await.unwrap().receipt.commit_id;

    let review = Selector::Branch("review".into());
    let difference = graph.changes(Selector::default(), review).send().await.unwrap();
    assert_eq!((difference.before.unwrap().id, difference.after.id), (ours.clone(), theirs.clone()));
    let changes: Vec<_> = difference.changes.try_collect().await.unwrap();
    let told: Vec<_> = changes.iter().map(|c| (c.kind(), c.type_ref.to_string(), c.id.as_str())).collect();
    assert_eq!(
        told[..3].iter().map(|(kind, _, id)| (*kind, *id)).collect::<Vec<_>>(),
        [(ChangeKind::Update, "ada"), (ChangeKind::Delete, "bob"), (ChangeKind::Insert, "grace"),]
    );
    assert_eq!((told.len(), told[3].0, told[3].1.as_str()), (4, ChangeKind::Delete, "edge:Knows"));
    assert_eq!(changes[0].changed, ["age"]);
    let only = graph.changes_of(&theirs).of_kind(ChangeKind::Insert).of_type("Person").send().await.unwrap();
    assert_eq!(only.changes.map_ok(|c| c.id).try_collect::<Vec<_>>().await.unwrap(), ["grace"]);

    let preview = graph.preview_merge("review").into("main").send().await.unwrap();
    assert_eq!((preview.summary.conflicts, preview.conflicts.len()), (1, 1));
    let conflict = &preview.conflicts[0];
    assert_eq!(
        (conflict.kind, conflict.properties.as_slice()),
        (ConflictKind::DivergentUpdate, &["age".to_string()][..])
    );
    let years = [&conflict.base, &conflict.ours, &conflict.theirs];
    let years = years.map(|side| side.as_ref().unwrap().get("age").unwrap().as_i64().unwrap());
    assert_eq!(years, [36, 37, 38]);
    let refused = graph.merge("review").send().await.unwrap_err();
    assert!(refused.is(ErrorReason::MergeConflict), "{refused:?}");
    let merge = || {
        let take = Resolution::property("Person", "ada", "age", Side::Theirs);
        let merge = graph.merge("review").into("main").resolve(take).expected_source_head(&theirs);
        merge.request_id("merge-1").delete_source().send()
    };
    let merged = merge().await.unwrap();
    assert_eq!((merged.outcome, merged.conflicts_settled), (MergeOutcome::Merged, 1));
    assert_eq!(merged.receipt.parents, [ours, theirs.clone()]);
    assert!(merged.source_deletion.as_ref().unwrap().deleted);
    let again = merge().await.unwrap();
    assert!(again.receipt.replayed && again.receipt.commit_id == merged.receipt.commit_id, "{again:?}");

    let commit = graph.commit(Selector::Commit(merged.receipt.commit_id.clone())).await.unwrap();
    assert_eq!(commit.merge.unwrap().resolutions, [Resolution::property("Person", "ada", "age", Side::Theirs)]);
    let ancestors: Vec<String> = graph.list_ancestors("main").map_ok(|c| c.id).try_collect().await.unwrap();
    assert!(ancestors.contains(&theirs) && ancestors.is_sorted_by(|a, b| a > b));
    let tag = graph.create_tag("merged", Selector::default(), "").await.unwrap();
    assert_eq!((&tag.commit_id, tag.actor.as_deref()), (&merged.receipt.commit_id, Some("ada")));
    let reverted = graph.revert(&tag.commit_id).message("wrong").send().await.unwrap();
    assert_eq!(reverted.receipt.parents, [tag.commit_id]);
    let restored = graph.restore("main", Selector::Tag("merged".into())).send().await.unwrap();
    let same = graph.changes(Selector::Tag("merged".into()), Selector::default()).send().await.unwrap();
    assert_eq!((same.changes.count().await, restored.receipt.changed), (0, true));
    graph.protect_branch("main", true).await.unwrap();
    let refused = graph.mutate().insert(node("Note").set("text", "x")).send().await.unwrap_err();
    assert!(refused.is(ErrorReason::BranchProtected), "{refused:?}");
    server.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_goes_on_when_its_server_comes_back() {
    let config = Config::new(memory_root("workflow"));
    let server = Server::bind(config.clone()).await.unwrap();
    let (address, uri) = (server.local_addr(), server.uri());
    let client = Client::connect(&uri).await.unwrap();
    client.create_graph("social", SOCIAL).await.unwrap();
    let graph = client.graph("social");
    graph.load(LoadSource::from(person("ada", 36))).send().await.unwrap();
    let mut commits = graph.watch("main").with_changes().of_type("Person").commits();
    // Before anything is told, the start is the head of the moment in which the stream is first read.
    assert!(futures::poll!(commits.next()).is_pending());
    let follower = tokio::spawn(async move {
        let mut told = Vec::new();
        while told.len() < 3 {
            told.push(commits.try_next().await.unwrap().unwrap());
        }
        (told, commits.cursor().map(ToString::to_string))
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let mut made = vec![age(&graph, "main", 37).await];
    server.shutdown().await.unwrap();
    let server = Server::bind(Config { listen: address, ..config }).await.unwrap();
    made.push(age(&graph, "main", 38).await);
    let note = graph.mutate().insert(node("Note").set("text", "x")).send().await.unwrap();
    made.push(note.receipt.commit_id);
    let (told, cursor) = tokio::time::timeout(LIMIT, follower).await.unwrap().unwrap();
    assert_eq!(told.iter().map(|block| &block.commit.id).collect::<Vec<_>>(), made.iter().collect::<Vec<_>>());
    assert_eq!(told.iter().map(|block| block.changes.len()).collect::<Vec<_>>(), [1, 1, 0]);
    assert_eq!(cursor.as_deref(), Some(told[2].cursor.as_str()));
    let resumed = graph.watch("main").with_changes().of_type("Person").cursor(&told[0].cursor).commits();
    let next: Vec<_> = resumed.take(2).map_ok(|block| block.commit.id).try_collect().await.unwrap();
    assert_eq!(next, made[1..]);
    server.shutdown().await.unwrap();
}
