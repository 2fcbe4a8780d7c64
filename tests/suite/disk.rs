//! The same on a real disk, where names become files and other processes are real ones.

use omnigraph_engine::model::{Actor, LoadMode};
use omnigraph_engine::{Access, Reason};
use omnigraph_tests::{SOCIAL, content, create, engine, head, load, person};

#[tokio::test]
async fn branches_with_any_name_live_on_disk_and_are_seen_by_others() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("a folder/graph").display().to_string();
    let graph = create(&engine(), &root, SOCIAL).await.unwrap();
    load(&graph, "main", LoadMode::Append, &person("a", 1)).await.unwrap();
    let names = ["review", "review/1", "50%", "a b", "ünï.json", "x%2Fy", ".dot"];
    for name in names {
        graph.create_branch(name, &head("main"), &Actor::default()).await.unwrap();
        load(&graph, name, LoadMode::Append, &person("b", 2)).await.unwrap();
    }
    let other = engine().open(&root, Access::ReadWrite).await.unwrap();
    let mut found: Vec<String> = other.branches().await.unwrap().into_iter().map(|b| b.name).collect();
    found.retain(|n| n != "main");
    let mut expected: Vec<String> = names.iter().map(ToString::to_string).collect();
    expected.sort();
    assert_eq!(found, expected);
    for name in names {
        assert_eq!(content(&other, &head(name)).await.unwrap().len(), 2, "{name}");
        other.delete_branch(name, false, &Actor::default()).await.unwrap();
        let error = graph.snapshot(&head(name)).await.unwrap_err();
        assert_eq!(error.reason(), Reason::BranchNotFound, "{name}");
        graph.create_branch(name, &head("main"), &Actor::default()).await.unwrap();
        assert_eq!(content(&other, &head(name)).await.unwrap().len(), 1, "{name} starts afresh");
    }
    assert!(other.verify().await.unwrap().is_clean());
}

#[tokio::test]
async fn one_root_has_one_identity_however_it_is_spelled() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("g").display().to_string();
    let engine = engine();
    let graph = create(&engine, &root, SOCIAL).await.unwrap();
    let spellings = [format!("{root}/"), format!("{}/./x/../g", folder.path().display()), format!("file://{root}")];
    for (n, spelling) in spellings.iter().enumerate() {
        let same = engine.open(spelling, Access::ReadWrite).await.unwrap();
        assert_eq!(same.root(), graph.root());
        load(&same, "main", LoadMode::Append, &person(&format!("p{n}"), 1)).await.unwrap();
    }
    assert_eq!(content(&graph, &head("main")).await.unwrap().len(), 3);
    assert_eq!(create(&engine, &spellings[0], SOCIAL).await.unwrap_err().reason(), Reason::GraphExists);
}

#[tokio::test]
async fn damage_and_foreign_files_are_named_not_guessed_at() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("g").display().to_string();
    let graph = create(&engine(), &root, SOCIAL).await.unwrap();
    load(&graph, "main", LoadMode::Append, &person("a", 1)).await.unwrap();
    graph.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    // An intent nobody can read does not stop anything but what it names, and goes if it names no live turn.
    std::fs::create_dir_all(format!("{root}/__recovery")).unwrap();
    std::fs::write(format!("{root}/__recovery/01ARZ3NDEKTSV4RRFFQ69G5FAV.json"), "garbage").unwrap();
    assert!(!graph.verify().await.unwrap().is_clean(), "verify reports the unreadable intent");
    load(&graph, "main", LoadMode::Append, &person("b", 1)).await.unwrap();
    let other = engine().open(&root, Access::ReadWrite).await.unwrap();
    assert!(other.verify().await.unwrap().is_clean());
    // A damaged branch document concerns that branch, and force removes it.
    std::fs::write(format!("{root}/_refs/branches/b.json"), "{").unwrap();
    let fresh = engine().open(&root, Access::ReadWrite).await.unwrap();
    assert_eq!(fresh.snapshot(&head("b")).await.unwrap_err().reason(), Reason::DataCorrupt);
    assert_eq!(fresh.delete_branch("b", false, &Actor::default()).await.unwrap_err().reason(), Reason::DataCorrupt);
    fresh.delete_branch("b", true, &Actor::default()).await.unwrap();
    fresh.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    assert_eq!(content(&fresh, &head("b")).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_graph_made_again_at_the_same_root_shows_nothing_of_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    for root in [folder.path().join("g").display().to_string(), omnigraph_tests::memory_root("again")] {
        let server = engine();
        let old = create(&server, &root, SOCIAL).await.unwrap();
        for n in 0..5 {
            load(&old, "main", LoadMode::Append, &person(&format!("old{n}"), n)).await.unwrap();
        }
        for n in 1..=6 {
            let version = omnigraph_engine::model::ReadSelector::Version { branch: "main".into(), version: n };
            content(&old, &version).await.unwrap();
        }
        server.remove(&root).await.unwrap();
        drop(old);
        // Another process makes the new one, so that this one knows nothing of its versions.
        let other = engine();
        let new = create(&other, &root, SOCIAL).await.unwrap();
        for n in 0..5 {
            load(&new, "main", LoadMode::Append, &person(&format!("new{n}"), n)).await.unwrap();
        }
        let seen = server.open(&root, Access::ReadWrite).await.unwrap();
        assert_eq!(content(&seen, &head("main")).await.unwrap(), content(&new, &head("main")).await.unwrap());
        for n in 1..=6 {
            let version = omnigraph_engine::model::ReadSelector::Version { branch: "main".into(), version: n };
            assert_eq!(content(&seen, &version).await.unwrap(), content(&new, &version).await.unwrap(), "version {n}");
        }
        load(&seen, "main", LoadMode::Append, &person("last", 1)).await.unwrap();
        assert!(seen.verify().await.unwrap().is_clean());
    }
}
