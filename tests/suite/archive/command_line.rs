//! Archives through the command line.

use std::path::Path;
use std::time::Duration;

use omnigraph_tests::servers::job::{self, Ended, Job};
use omnigraph_tests::{SOCIAL, person};
use serde_json::Value as Json;

async fn run(home: &Path, words: &[&str]) -> Ended {
    let mut command = job::isolated(Path::new(env!("CARGO_BIN_EXE_omnigraph-soak")), home, &[]);
    command.arg("cli").args(words).current_dir(home);
    Job::start(command).unwrap().ended(Duration::from_secs(60)).await.unwrap()
}

async fn json(home: &Path, words: &[&str]) -> Json {
    let ended = run(home, &[words, &["--json"]].concat()).await;
    assert_eq!(ended.code, Some(0), "{words:?}: {}", ended.err);
    serde_json::from_str(&ended.out).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_graph_moves_through_a_file() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    std::fs::write(home.join("s.pg"), SOCIAL).unwrap();
    std::fs::write(home.join("p.jsonl"), person("ada", 36)).unwrap();
    assert_eq!(run(home, &["init", "./old.omni", "--schema", "s.pg"]).await.code, Some(0));
    let loaded = json(home, &["load", "./old.omni", "p.jsonl", "--actor", "ada", "-m", "first"]).await;
    json(home, &["branch", "create", "./old.omni", "review"]).await;

    let written = json(home, &["export", "--all", "./old.omni", "--file", "a.zst"]).await;
    let size = std::fs::metadata(home.join("a.zst")).unwrap().len();
    assert_eq!(written["bytes"], size);
    assert_eq!(std::fs::read(home.join("a.zst")).unwrap()[..4], [0x28, 0xb5, 0x2f, 0xfd]);
    let report = json(home, &["import", "a.zst", "./new.omni"]).await;
    assert_eq!((&report["branches"], &report["from_storage_stamp"]), (&2.into(), &4.into()));
    let made = report["commits"].as_array().unwrap().iter().find(|pair| pair["imported"] == loaded["commit"]).unwrap();
    let commit = json(home, &["commit", "show", "./new.omni", made["commit"].as_str().unwrap()]).await;
    assert_eq!((&commit["actor"], &commit["message"]), (&"ada".into(), &"first".into()));
    assert_eq!(commit["imported"]["id"], loaded["commit"]);
    assert_eq!(commit["imported"]["created_at"], loaded["created_at"]);
    let text = run(home, &["commit", "show", "./new.omni", made["commit"].as_str().unwrap()]).await.out;
    assert!(text.contains(&format!("imported from     {}", loaded["commit"].as_str().unwrap())), "{text}");
    assert_eq!(run(home, &["export", "./old.omni"]).await.out, run(home, &["export", "./new.omni"]).await.out);
    assert_eq!(run(home, &["verify", "./new.omni"]).await.code, Some(0));

    let plain = run(home, &["export", "--all", "./old.omni"]).await;
    assert!(plain.out.starts_with("{\"archive\":{\"format\":1,\"stamp\":4,") && plain.out.ends_with("\"}}\n"));
    for (words, code) in [
        (&["import", "a.zst", "./new.omni"][..], 4),
        (&["import", "p.jsonl", "./other.omni"], 1),
        (&["import", "nowhere", "./other.omni"], 3),
        (&["import", "a.zst", "http://host:1"], 2),
        (&["export", "--all", "--server", "http://host:1", "--graph", "g"], 2),
        (&["export", "--all", "./old.omni", "--branch", "review"], 2),
    ] {
        let ended = run(home, words).await;
        assert_eq!(ended.code, Some(code), "{words:?}: {} {}", ended.out, ended.err);
    }
    assert!(!home.join("other.omni/__manifest").exists());
}
