//! On a real disk: that nothing changes where nothing may, that everything goes which should, and the command line.

use std::collections::BTreeMap;
use std::path::Path;

use omnigraph_engine::format::intent_json::{self, BaseDoc, BranchDoc, IntentDoc, WriterDoc};
use omnigraph_engine::format::paths;
use omnigraph_engine::model::{Actor, TypeRef};
use omnigraph_tests::head;
use omnigraph_tests::servers::job::{self, Ended, Job};

use super::*;

/// Every file below a folder with its bytes.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut out = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => {
                    out.insert(path.display().to_string(), std::fs::read(&path).unwrap());
                }
            }
        }
    }
    out
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_preview_changes_nothing_and_says_what_would_happen() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::disk(&folder);
    let g = place.create().await;
    people(&g, "main", 0..6).await;
    g.create_branch("gone", &head("main"), &Actor::default()).await.unwrap();
    people(&g, "gone", 0..2).await;
    // Only this branch ever had a note.
    let note = "{\"type\":\"Note\",\"data\":{\"text\":\"x\"}}\n";
    load(&g, "gone", LoadMode::Append, note).await.unwrap();
    let notes = |snapshot: omnigraph_engine::Snapshot| {
        snapshot.pin(&TypeRef::node("Note")).unwrap().at.clone().unwrap().location
    };
    let lost = notes(g.snapshot(&head("gone")).await.unwrap());
    g.delete_branch("gone", false, &Actor::default()).await.unwrap();
    place.later(2 * HOUR);
    let before = files(Path::new(&place.root));
    let preview = g.cleanup(&CleanupOptions { confirm: false, ..keep(2) }).await.unwrap();
    assert!(preview.preview && preview.errors() == 0, "{preview:?}");
    assert_eq!(files(Path::new(&place.root)), before);

    let done = g.cleanup(&keep(2)).await.unwrap();
    assert_eq!(done.errors(), 0, "{done:?}");
    assert_eq!((preview.commits_kept, preview.commits_removed), (done.commits_kept, done.commits_removed));
    for stats in &preview.tables {
        let same = row(&done, &stats.table_key);
        assert_eq!(stats.old_versions_removed, same.old_versions_removed, "{}", stats.table_key);
        assert_eq!(stats.versions_kept, same.versions_kept, "{}", stats.table_key);
    }
    for (what, count) in [("branch", 1), ("fork", 1), ("dataset", 1)] {
        assert_eq!((reclaimed(&preview, what), reclaimed(&done, what)), (count, count), "{what}: {done:?}");
    }
    // On a local disk the document that the deleted branch left goes too.
    assert_eq!(reclaimed(&done, "marker"), 1);
    assert!(!Path::new(&place.root).join("_refs/branches/gone.json").exists());
    g.create_branch("gone", &head("main"), &Actor::default()).await.unwrap();
    assert_eq!(content(&g, &head("gone")).await.unwrap().len(), 6);
    // A path is never used again for something else, so that nobody takes one for the other.
    assert_eq!(files(&Path::new(&place.root).join(&lost)).len(), 1);
    load(&g, "main", LoadMode::Append, note).await.unwrap();
    assert_ne!(notes(g.snapshot(&head("main")).await.unwrap()), lost);
    assert_eq!(g.cleanup(&keep(3)).await.unwrap().errors(), 0);
    expect_settled(&place, &keep(3)).await;
}

/// Checks that a cleanup refuses for this reason, naming something, and leaves everything as it is.
async fn expect_refused(place: &Place, graph: &Graph, reason: Reason, named: &str) {
    let before = files(Path::new(&place.root));
    for confirm in [false, true] {
        let error = graph.cleanup(&CleanupOptions { confirm, ..keep(1) }).await.unwrap_err();
        assert_eq!(error.reason(), reason, "{error}");
        assert!(error.message().contains(named), "{error}");
        assert_eq!(files(Path::new(&place.root)), before);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_understood_stands_in_the_way_of_everything() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::disk(&folder);
    let g = place.create().await;
    people(&g, "main", 0..4).await;
    g.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    place.later(2 * HOUR);
    let snapshot = g.snapshot(&head("main")).await.unwrap();
    let claim = paths::claim_id("main", snapshot.version);
    let file = Path::new(&place.root).join(paths::intent(&claim));
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "garbage").unwrap();
    expect_refused(&place, &g, Reason::RecoveryRequired, &claim).await;
    // Somebody elsewhere is at it, and does not come to an end.
    let intent = IntentDoc {
        format: IntentDoc::FORMAT,
        operation_id: "01J9ZZZZZZZZZZZZZZZZZZZZZZ".into(),
        label: "load".into(),
        actor: "ada".into(),
        writer: WriterDoc {
            id: "W".into(),
            host: "elsewhere".into(),
            pid: 1,
            started: 1,
            lease_until: place.clock.now_micros() + 3_600_000_000,
        },
        branch: BranchDoc { name: "main".into(), branch_id: "main".into(), lance_branch: None },
        base: BaseDoc { manifest_version: snapshot.version, head: snapshot.head().to_string() },
        commit: "01J9ZZZZZZZZZZZZZZZZZZZZZZ".into(),
        tables: Vec::new(),
        rows: Vec::new(),
    };
    assert_eq!(intent.claim_id(), claim);
    std::fs::write(&file, intent_json::encode(&intent).unwrap()).unwrap();
    expect_refused(&place, &g, Reason::RecoveryRequired, "01J9ZZZZZZZZZZZZZZZZZZZZZZ").await;
    std::fs::remove_file(&file).unwrap();

    let document = Path::new(&place.root).join("_refs/branches/b.json");
    let good = std::fs::read(&document).unwrap();
    std::fs::write(&document, "{").unwrap();
    expect_refused(&place, &g, Reason::DataCorrupt, "\"b\"").await;
    std::fs::write(&document, &good).unwrap();

    // Somebody deletes a row behind omnigraph's back.
    let pin = snapshot.pin(&TypeRef::node("Person")).unwrap().at.clone().unwrap();
    let mut dataset = lance::Dataset::open(&format!("{}/{}", place.root, pin.location)).await.unwrap();
    dataset.delete("slug = 'main1'").await.unwrap();
    expect_refused(&place, &g, Reason::Drift, "node:Person").await;
}

/// Runs the command line and waits for its end.
async fn cli(home: &Path, words: &[&str]) -> Ended {
    let mut command = job::isolated(Path::new(env!("CARGO_BIN_EXE_omnigraph-soak")), home, &[]);
    command.arg("cli").args(words);
    Job::start(command).unwrap().ended(Duration::from_secs(60)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_asks_for_a_policy_and_for_confirmation() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::disk(&folder);
    let g = place.create().await;
    people(&g, "main", 0..3).await;
    let root = place.root.as_str();
    for words in [
        &["cleanup", root][..],
        &["cleanup", root, "--keep", "0"],
        &["cleanup", root, "--older-than", "soon"],
        &["cleanup", "--server", "http://localhost:1", "--graph", "g", "--keep", "3"],
        &["cleanup", "http://localhost:1", "--keep", "3"],
    ] {
        let ended = cli(folder.path(), words).await;
        assert_eq!(ended.code, Some(2), "{words:?}: {ended:?}");
    }
    // Nobody is there to be asked.
    let ended = cli(folder.path(), &["cleanup", "s3://bucket/g.omni", "--keep", "3", "--confirm"]).await;
    assert_eq!(ended.code, Some(5), "{ended:?}");
    let preview = cli(folder.path(), &["cleanup", root, "--keep", "2", "--older-than", "1d12h"]).await;
    assert_eq!(preview.code, Some(0), "{preview:?}");
    assert!(preview.out.contains("repeat it with --confirm"), "{preview:?}");
    assert!(preview.err.contains(root) && preview.err.contains("warning"), "{preview:?}");
    let quiet = cli(folder.path(), &["cleanup", root, "--keep", "2", "--json", "--quiet", "--confirm"]).await;
    assert_eq!((quiet.code, quiet.err.as_str()), (Some(0), ""), "{quiet:?}");
    let report: serde_json::Value = serde_json::from_str(&quiet.out).unwrap();
    // All of it happened a moment ago.
    assert_eq!(report["preview"], false, "{report}");
    assert_eq!(report["commits_removed"], 0, "{report}");
    assert_eq!(report["commits_kept"], 4, "{report}");
    assert_eq!(g.verify().await.unwrap().problems, Vec::new());
}
