//! Archives that are not whole, and roots that are not empty: no graph is made, and nothing is left behind.

use omnigraph_engine::model::{Actor, LoadMode};
use omnigraph_engine::{Access, Reason};
use omnigraph_tests::{create, engine, head, knows, load, memory_root, person};

use super::{archive, compare, try_import};

async fn sample() -> (omnigraph_engine::Graph, Vec<u8>) {
    let graph = create(&engine(), &memory_root("damage"), omnigraph_tests::SOCIAL).await.unwrap();
    let text = person("ada", 36) + &person("bob", 1) + &knows("ada", "bob");
    load(&graph, "main", LoadMode::Append, &text).await.unwrap();
    graph.create_branch("side", &head("main"), &Actor::default()).await.unwrap();
    load(&graph, "side", LoadMode::Merge, &person("ada", 37)).await.unwrap();
    load(&graph, "main", LoadMode::Merge, &person("grace", 85)).await.unwrap();
    let bytes = archive(&graph, false).await;
    (graph, bytes)
}

/// The archive with one of its lines in another form, and the checksum that goes with it.
fn with_line(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    assert!(text.contains(from), "{from} is not in {text}");
    text.replacen(from, to, 1).into_bytes()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_archive_makes_no_graph_and_names_the_line() {
    let (old, bytes) = sample().await;
    let root = memory_root("damaged");
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
    let cut = |at: usize| bytes[..at].to_vec();
    let whole_lines = |n: usize| bytes.split_inclusive(|byte| *byte == b'\n').take(n).flatten().copied().collect();
    let mut cases: Vec<(Vec<u8>, Reason)> = vec![
        (Vec::new(), Reason::InvalidRecord),
        (b"{\"type\":\"Person\",\"data\":{}}\n".to_vec(), Reason::InvalidRecord),
        (with_line(&bytes, "\"format\":1", "\"format\":9"), Reason::StorageStampTooNew),
        (with_line(&bytes, "\"age\":37", "\"age\":38"), Reason::InvalidRecord),
        (with_line(&bytes, "\"slug\":\"bob\"", "\"slog\":\"bob\""), Reason::InvalidRecord),
        (with_line(&bytes, "\"sha256\":\"", "\"sha256\":\"0"), Reason::InvalidRecord),
        (with_line(&bytes, "{\"set\":", "{\"new\":"), Reason::InvalidRecord),
        ([&bytes[..], b"{\"gone\":\"ada\"}\n"].concat(), Reason::InvalidRecord),
        (cut(bytes.len() - 1), Reason::InvalidRecord),
        (cut(bytes.len() / 2), Reason::InvalidRecord),
    ];
    cases.extend((1..lines).map(|n| (whole_lines(n), Reason::InvalidRecord)));
    for (case, reason) in cases {
        let end = String::from_utf8_lossy(&case[case.len().saturating_sub(60)..]).into_owned();
        let error = try_import(&engine(), &root, case).await.unwrap_err();
        assert_eq!(error.reason(), reason, "…{end}: {error}");
        assert!(error.metadata().contains_key("line") && error.message().contains("line "), "…{end}: {error}");
        let gone = engine().open(&root, Access::ReadOnly).await.unwrap_err();
        assert_eq!(gone.reason(), Reason::GraphNotFound, "…{end}");
    }
    let (new, report) = try_import(&engine(), &root, bytes).await.unwrap();
    compare(&old, &new, &report).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_root_that_is_not_empty_stays_as_it_is() {
    let (_, bytes) = sample().await;
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("mine.txt"), "mine").unwrap();
    let root = home.path().display().to_string();
    let refused = try_import(&engine(), &root, bytes.clone()).await.unwrap_err();
    assert_eq!(refused.reason(), Reason::InvalidArgument);
    let refused = try_import(&engine(), &root, b"{}\n".to_vec()).await.unwrap_err();
    assert_eq!(refused.reason(), Reason::InvalidArgument);
    assert_eq!(std::fs::read_to_string(home.path().join("mine.txt")).unwrap(), "mine");
    let below = home.path().join("g").display().to_string();
    try_import(&engine(), &below, bytes.clone()).await.unwrap();
    let refused = try_import(&engine(), &below, bytes).await.unwrap_err();
    assert_eq!(refused.reason(), Reason::GraphExists);
    let there = engine().open(&below, Access::ReadOnly).await.unwrap();
    assert_eq!(there.branches().await.unwrap().len(), 2);
}
