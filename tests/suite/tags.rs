//! Tags: that they name one commit for as long as they stand, whatever becomes of branches and whoever cleans up; and
//! the protection of branches and tags.

mod bases;
mod beside;
mod protection;

use std::path::Path;

use omnigraph_engine::model::{Actor, LoadMode, ReadSelector, TagInfo};
use omnigraph_engine::{Access, Graph, Reason, limits};
use omnigraph_tests::{content, head, load, person};

use crate::cleanup::{HOUR, Place, at, expect_settled, history, keep, people, reclaimed, row};

async fn tag(graph: &Graph, name: &str, at: &ReadSelector) -> TagInfo {
    graph.create_tag(name, at, "", &Actor("ada".into())).await.unwrap()
}

fn tagged(name: &str) -> ReadSelector {
    ReadSelector::Tag(name.to_string())
}

async fn names(graph: &Graph) -> Vec<String> {
    graph.tags().await.unwrap().into_iter().map(|tag| tag.name).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tag_names_one_commit_for_ever() {
    let place = Place::memory("named");
    let g = place.create().await;
    people(&g, "main", 0..3).await;
    let commits = history(&g, "main").await;
    let seen = content(&g, &at(&commits[3])).await.unwrap();
    let made = g.create_tag("releases/1 ü%", &head("main"), "as sent", &Actor("ada".into())).await.unwrap();
    assert_eq!((made.commit.as_str(), made.branch.as_str(), made.protected), (commits[3].id.as_str(), "main", false));
    assert_eq!((made.message.as_str(), made.actor.0.as_str()), ("as sent", "ada"));
    let old = tag(&g, "before", &at(&commits[1])).await;
    assert_eq!(old.commit, commits[1].id);
    // A tag of a tag names its commit, and tags share no names with branches.
    assert_eq!(tag(&g, "main", &tagged("before")).await.commit, commits[1].id);
    people(&g, "main", 3..6).await;
    for graph in [&g, &place.open().await] {
        assert_eq!(names(graph).await, ["before", "main", "releases/1 ü%"]);
        assert_eq!(graph.tag("releases/1 ü%").await.unwrap(), made);
        assert_eq!(content(graph, &tagged("releases/1 ü%")).await.unwrap(), seen);
        assert_eq!(graph.snapshot(&tagged("before")).await.unwrap().head(), commits[1].id);
    }
    g.create_branch("again", &tagged("before"), &Actor::default()).await.unwrap();
    let again = g.branch("again").await.unwrap();
    assert_eq!((again.head.as_str(), again.forked_from.as_str()), (commits[1].id.as_str(), commits[1].id.as_str()));
    people(&g, "again", 0..1).await;
    assert_eq!(content(&g, &head("again")).await.unwrap().len(), 2);
    assert_eq!(content(&g, &tagged("before")).await.unwrap().len(), 1);
    assert_eq!(g.verify().await.unwrap().problems, Vec::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_a_tag_is_refused() {
    let place = Place::memory("refused");
    let g = place.create().await;
    tag(&g, "v1", &head("main")).await;
    let long = "x".repeat(limits::MAX_NAME_BYTES + 1);
    for name in ["", " v", "a//b", "/a", "..", "__v", "a\nb", long.as_str()] {
        let error = g.create_tag(name, &head("main"), "", &Actor::default()).await.unwrap_err();
        assert_eq!(error.reason(), Reason::InvalidName, "{name:?}");
        assert!(error.message().contains("usable tag name"), "{error}");
        assert_eq!(g.tag(name).await.unwrap_err().reason(), Reason::InvalidName, "{name:?}");
    }
    let message = "x".repeat(limits::MAX_MESSAGE_BYTES + 1);
    let error = g.create_tag("v2", &head("main"), &message, &Actor::default()).await.unwrap_err();
    assert_eq!(error.reason(), Reason::LimitExceeded);
    let nobodys = ReadSelector::Commit("01J9ZZZZZZZZZZZZZZZZZZZZZZ".into());
    for (name, at, reason) in [
        ("v1", head("main"), Reason::TagExists),
        ("v2", nobodys, Reason::CommitNotFound),
        ("v2", head("b"), Reason::BranchNotFound),
        ("v2", tagged("v3"), Reason::TagNotFound),
    ] {
        assert_eq!(g.create_tag(name, &at, "", &Actor::default()).await.unwrap_err().reason(), reason, "{at:?}");
    }
    let near = g.tag("v2").await.unwrap_err();
    assert_eq!(near.reason(), Reason::TagNotFound);
    assert!(near.message().contains("did you mean \"v1\"?"), "{near}");
    let reader = place.engine().open(&place.root, Access::ReadOnly).await.unwrap();
    assert_eq!(reader.tag("v1").await.unwrap(), g.tag("v1").await.unwrap());
    for error in [
        reader.create_tag("v2", &head("main"), "", &Actor::default()).await.unwrap_err(),
        reader.protect_tag("v1", true).await.unwrap_err(),
        reader.delete_tag("v1").await.unwrap_err(),
    ] {
        assert_eq!(error.reason(), Reason::ReadOnly);
    }
    assert_eq!(names(&g).await, ["v1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_tags_name_is_free_at_once() {
    let folder = tempfile::tempdir().unwrap();
    for place in [Place::memory("reuse"), Place::disk(&folder)] {
        let (g, other) = (place.create().await, place.open().await);
        let first = tag(&g, "v1", &head("main")).await;
        people(&g, "main", 0..1).await;
        assert_eq!(other.delete_tag("v1").await.unwrap(), first);
        for graph in [&g, &other] {
            assert_eq!(graph.tag("v1").await.unwrap_err().reason(), Reason::TagNotFound);
            assert_eq!(graph.delete_tag("v1").await.unwrap_err().reason(), Reason::TagNotFound);
            assert_eq!(graph.protect_tag("v1", true).await.unwrap_err().reason(), Reason::TagNotFound);
            assert_eq!(graph.snapshot(&tagged("v1")).await.unwrap_err().reason(), Reason::TagNotFound);
            assert!(names(graph).await.is_empty());
        }
        let second = tag(&g, "v1", &head("main")).await;
        assert_ne!(second.commit, first.commit);
        assert_eq!(other.tag("v1").await.unwrap(), second);
        // Of two at once, one is told that the name is taken.
        other.delete_tag("v1").await.unwrap();
        let (at, actor) = (head("main"), Actor::default());
        let (a, b) = tokio::join!(g.create_tag("v1", &at, "a", &actor), other.create_tag("v1", &at, "a", &actor));
        assert_eq!(usize::from(a.is_ok()) + usize::from(b.is_ok()), 1, "{a:?} {b:?}");
        assert_eq!(a.and(b).unwrap_err().reason(), Reason::TagExists);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tag_outlives_its_branch_and_every_cleanup() {
    let place = Place::memory("outlives");
    let g = place.create().await;
    people(&g, "main", 0..2).await;
    g.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    people(&g, "b", 0..4).await;
    let b = history(&g, "b").await;
    let kept = b[b.len() - 2].clone();
    let seen = content(&g, &at(&kept)).await.unwrap();
    tag(&g, "kept", &at(&kept)).await;
    g.delete_branch("b", false, &Actor::default()).await.unwrap();
    // What the tag's commit descends from is found as well, as long as it is there.
    assert_eq!(g.commit(&b[4].id).await.unwrap(), b[4]);
    assert_eq!(content(&g, &at(&b[4])).await.unwrap().len(), 4);
    // The name means another branch by now.
    g.create_branch("b", &head("main"), &Actor::default()).await.unwrap();
    people(&g, "main", 2..5).await;
    for _ in 0..2 {
        place.later(2 * HOUR);
        let report = g.cleanup(&keep(1)).await.unwrap();
        assert_eq!((report.errors(), reclaimed(&report, "branch")), (0, 0), "{report:?}");
        for graph in [&g, &place.open().await] {
            assert_eq!(content(graph, &tagged("kept")).await.unwrap(), seen);
            assert_eq!(content(graph, &at(&kept)).await.unwrap(), seen);
            assert_eq!(graph.commit(&kept.id).await.unwrap(), kept);
            let gone = content(graph, &at(&b[4])).await.unwrap_err();
            assert_eq!(gone.reason(), Reason::CommitNotFound);
            assert!(gone.message().contains("a cleanup removed it"), "{gone}");
            let lost = graph.commit(&b[b.len() - 1].id).await.unwrap_err();
            assert_eq!(lost.reason(), Reason::CommitNotFound);
            assert!(lost.message().contains("nor a tag"), "{lost}");
        }
    }
    expect_settled(&place, &keep(1)).await;
    g.create_branch("again", &tagged("kept"), &Actor::default()).await.unwrap();
    people(&g, "again", 0..1).await;
    assert_eq!(content(&g, &head("again")).await.unwrap().len(), seen.len() + 1);
    g.delete_branch("again", false, &Actor::default()).await.unwrap();

    g.delete_tag("kept").await.unwrap();
    place.later(2 * HOUR);
    let report = g.cleanup(&keep(1)).await.unwrap();
    assert_eq!((report.errors(), reclaimed(&report, "branch"), reclaimed(&report, "fork")), (0, 2, 2), "{report:?}");
    assert_eq!(content(&g, &at(&kept)).await.unwrap_err().reason(), Reason::CommitNotFound);
    expect_settled(&place, &keep(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_report_says_which_tag_holds_what() {
    let place = Place::memory("holds");
    let g = place.create().await;
    people(&g, "main", 0..2).await;
    let note = "{\"type\":\"Note\",\"data\":{\"text\":\"x\"}}\n";
    load(&g, "main", LoadMode::Append, note).await.unwrap();
    people(&g, "main", 2..5).await;
    let commits = history(&g, "main").await;
    let seen = content(&g, &at(&commits[3])).await.unwrap();
    tag(&g, "first", &at(&commits[1])).await;
    tag(&g, "note", &at(&commits[3])).await;
    tag(&g, "note too", &at(&commits[3])).await;
    place.later(2 * HOUR);
    for confirm in [false, true] {
        let options = omnigraph_engine::maintenance::cleanup::CleanupOptions { confirm, ..keep(1) };
        let report = g.cleanup(&options).await.unwrap();
        assert_eq!((report.errors(), report.commits_kept, report.commits_removed), (0, 3, 4), "{report:?}");
        let held = |table: &str| {
            let versions = row(&report, table).versions_kept.iter();
            let held = versions.filter(|(why, _)| why.starts_with("tag "));
            held.map(|(why, count)| format!("{why}: {count}")).collect::<Vec<_>>()
        };
        let all = ["tag first: 1", "tag note: 1", "tag note too: 1"];
        assert_eq!(held("__manifest"), all);
        assert_eq!(held("node:Person"), all);
        assert_eq!(held("node:Note"), ["tag note: 1", "tag note too: 1"]);
    }
    assert_eq!(content(&g, &tagged("note")).await.unwrap(), seen);
    // A state that two tags name goes with the second.
    for (name, removed) in [("note", 0), ("note too", 1), ("first", 1)] {
        g.delete_tag(name).await.unwrap();
        place.later(2 * HOUR);
        let report = g.cleanup(&keep(1)).await.unwrap();
        assert_eq!((report.errors(), report.commits_removed), (0, removed), "{name}: {report:?}");
    }
    expect_settled(&place, &keep(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tag_of_what_is_gone_is_in_nobodys_way_and_one_that_cannot_be_read_in_everybodys() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::disk(&folder);
    let g = place.create().await;
    people(&g, "main", 0..5).await;
    let commits = history(&g, "main").await;
    tag(&g, "lost", &at(&commits[4])).await;
    let file = Path::new(&place.root).join("_refs/tags/lost.json");
    let good = std::fs::read_to_string(&file).unwrap();
    place.later(2 * HOUR);
    assert_eq!(g.cleanup(&keep(1)).await.unwrap().errors(), 0);
    // Nothing that is gone can be tagged.
    let error = g.create_tag("late", &at(&commits[2]), "", &Actor::default()).await.unwrap_err();
    assert_eq!((error.reason(), &error.metadata()["oldest_retained"]), (Reason::CommitNotFound, &commits[4].id));
    assert_eq!(names(&g).await, ["lost"]);

    let (now, then) = (commits[4].manifest_version, commits[2].manifest_version);
    let wrong = good
        .replace(&commits[4].id, &commits[2].id)
        .replace(&format!("\"manifest_version\":{now}"), &format!("\"manifest_version\":{then}"));
    assert_ne!(wrong, good);
    std::fs::write(&file, wrong).unwrap();
    let error = g.snapshot(&tagged("lost")).await.unwrap_err();
    assert_eq!((error.reason(), error.metadata()["tag"].as_str()), (Reason::CommitNotFound, "lost"));
    let problems = g.verify().await.unwrap().problems;
    assert!(problems.len() == 1 && problems[0].detail.contains("tag \"lost\""), "{problems:?}");
    let report = g.cleanup(&keep(1)).await.unwrap();
    assert_eq!((report.errors(), report.commits_kept), (0, 1), "{report:?}");
    assert!(!row(&report, "__manifest").versions_kept.contains_key("tag lost"), "{report:?}");

    std::fs::write(&file, "{").unwrap();
    for confirm in [false, true] {
        let options = omnigraph_engine::maintenance::cleanup::CleanupOptions { confirm, ..keep(1) };
        let error = g.cleanup(&options).await.unwrap_err();
        assert_eq!(error.reason(), Reason::DataCorrupt);
        assert!(error.message().contains("tag \"lost\"") && error.message().contains("nothing was removed"), "{error}");
    }
    assert!(names(&g).await.is_empty());
    assert_eq!(g.delete_tag("lost").await.unwrap_err().reason(), Reason::DataCorrupt);
    std::fs::remove_file(&file).unwrap();
    expect_settled(&place, &keep(1)).await;
}
