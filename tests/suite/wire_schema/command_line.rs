//! The same with commands.

use std::path::Path;
use std::time::Duration;

use omnigraph_tests::servers::job::{self, Ended, Job};
use serde_json::Value as Json;

use super::*;

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

    /// What a `schema` command answers that ends with this code.
    async fn schema(&self, code: i32, words: &[&str]) -> Ended {
        let ended = self.run(2, &[&["schema"], words].concat()).await;
        assert_eq!(ended.code, Some(code), "{words:?}: {} {}", ended.out, ended.err);
        ended
    }

    async fn json(&self, code: i32, words: &[&str]) -> Json {
        serde_json::from_str(&self.schema(code, &[words, &["--json"]].concat()).await.out).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_changes_a_graph_in_files() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("social.omni").display().to_string();
    let cli = Cli { home, graph: vec![root] };
    let schema = cli.file("social.pg", SOCIAL);
    assert_eq!(cli.run(1, &["init", "--schema", &schema]).await.code, Some(0));
    changes(&cli).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_changes_a_graph_on_a_server() {
    let server = Server::bind(Config::new(memory_root("schema-cli"))).await.unwrap();
    Client::connect(server.uri()).await.unwrap().create_graph("social", SOCIAL).await.unwrap();
    let graph = ["--server", &server.uri(), "--graph", "social"].map(ToString::to_string).to_vec();
    let cli = Cli { home: tempfile::tempdir().unwrap(), graph };
    changes(&cli).await;
    server.shutdown().await.unwrap();
}

async fn changes(cli: &Cli) {
    let people = cli.file("people.jsonl", &(person("ada", 36) + &person("bob", 120)));
    assert_eq!(cli.run(1, &["load", &people]).await.code, Some(0));
    let (wish, narrow) = (cli.file("wish.pg", &wanted()), cli.file("narrow.pg", &with("0..150", "0..99")));

    let plan = cli.json(0, &["plan", &wish]).await;
    assert_eq!((&plan["branch"], &plan["refused"], &plan["loses_data"]), (&"main".into(), &0.into(), &true.into()));
    let text = cli.schema(0, &["plan", &wish]).await.out;
    assert!(text.contains("rewrites 2 rows, 16 B") && text.contains("metadata only, loses data"), "{text}");
    let head = plan["head"].as_str().unwrap();
    assert!(text.contains(&format!("--expected-head {head}\n")) && !text.contains('\u{1b}'), "{text}");

    // Refused: the answer is the plan, for either command.
    for words in [&["plan", &narrow][..], &["apply", &narrow], &["apply", &narrow, "--yes"]] {
        let refused = cli.json(4, words).await;
        assert_eq!((&refused["refused"], &refused["head"]), (&1.into(), &head.into()), "{refused}");
        assert_eq!(refused["steps"][0]["refusal"]["code"], "RANGE_VIOLATED");
        let text = cli.schema(4, words).await;
        assert!(text.out.contains("refused, RANGE_VIOLATED: ") && text.err.contains("SCHEMA_REFUSED"), "{}", text.err);
        assert!(!text.out.contains("--expected-head"));
    }

    // Without consent nothing is lost.
    let asked = cli.schema(5, &["apply", &wish, "--json"]).await;
    assert_eq!(serde_json::from_str::<Json>(&asked.out).unwrap()["head"], head);
    assert!(asked.err.contains("node:Person.email") && asked.err.contains("--yes"), "{}", asked.err);
    let words = ["apply", &wish, "--yes", "--expected-head", head, "--message", "years", "--request-id", "r1"];
    let applied = cli.json(0, &words).await;
    assert_eq!((&applied["receipt"]["changed"], &applied["receipt"]["parents"][0]), (&true.into(), &head.into()));
    assert_eq!(applied["steps"], plan["steps"]);
    let again = cli.json(0, &words).await;
    assert_eq!((&again["receipt"]["replayed"], &again["steps"]), (&true.into(), &Json::Array(Vec::new())));
    cli.schema(4, &["apply", &narrow, "--yes", "--expected-head", head]).await;
    assert!(cli.schema(0, &["plan", &wish]).await.out.starts_with("nothing to do: branch main has this schema"));

    let back = with("age: I32?", "age: I32?  level: I64 @default(3)").replace("email: String?", "");
    let back = cli.file("back.pg", &back.replace("@unique(email)", ""));
    let renamed = cli.json(0, &["plan", &back, "--rename", "Person.years=age"]).await;
    let renames = renamed["steps"].as_array().unwrap().iter().filter(|step| step["action"] == "rename");
    assert_eq!(renames.map(|step| step["subject"].as_str().unwrap()).collect::<Vec<_>>(), ["node:Person.years"]);
    cli.schema(2, &["plan", &back, "--rename", "Person.years"]).await;
    cli.schema(3, &["plan", &back, "--rename", "Person.nothing=age"]).await;

    let first = format!("commit:{head}");
    let diff = cli.json(0, &["diff", &first, "main"]).await;
    assert_eq!((&diff["before"], &diff["steps"][0]["cost"]), (&head.into(), &Json::Null));
    let text = cli.schema(0, &["diff", &first, "main"]).await.out;
    assert!(text.lines().any(|line| line.starts_with("~ node:Person.age")), "{text}");
    assert!(text.lines().any(|line| line.starts_with("- node:Person.email")), "{text}");
    let then = cli.schema(0, &["show", "--commit", head]).await.out;
    assert!(then.contains("age: I32?") && !then.contains("Company"), "{then}");
}
