//! Branches and history as the contract says it: differences, merges, tags and followers through the generated stubs.

use omnigraph_client::{Client, LoadSource, node, proto};
use omnigraph_service::{Config, Running, Server};
use omnigraph_tests::{SOCIAL, memory_root, person};

async fn served() -> (Running, Client, omnigraph_client::Graph) {
    let server = Server::bind(Config::new(memory_root("review"))).await.unwrap();
    let client = Client::connect(server.uri()).await.unwrap();
    client.create_graph("social", SOCIAL).await.unwrap();
    let graph = client.graph("social");
    (server, client, graph)
}

fn on(branch: &str) -> Option<proto::WriteOptions> {
    Some(proto::WriteOptions { graph: "social".into(), branch: branch.into(), ..Default::default() })
}

/// Gives Ada an age on a branch, and tells the commit.
async fn age(graph: &omnigraph_client::Graph, branch: &str, age: i64) -> String {
    let write = graph.mutate().upsert(node("Person").set("slug", "ada").set("age", age)).branch(branch);
    write.send().await.unwrap().receipt.commit_id
}

/// What Ada's age is.
async fn aged(graph: &omnigraph_client::Graph) -> Option<proto::value::Kind> {
    let filter = proto::get_entities_request::Filter::Ids(proto::EntityIds { ids: vec!["ada".into()] });
    let request = proto::GetEntitiesRequest {
        graph: "social".into(),
        kind: proto::EntityKind::Node.into(),
        type_name: "Person".into(),
        filter: Some(filter),
        ..Default::default()
    };
    let found = graph.raw().graph().get_entities(request).await.unwrap().into_inner().entities;
    found[0].properties["age"].kind.clone()
}

fn years(age: i64) -> Option<proto::value::Kind> {
    Some(proto::value::Kind::Int64Value(age))
}

/// Main and `review` with an age each that the other does not have.
async fn parted(graph: &omnigraph_client::Graph) -> (String, String) {
    graph.load(LoadSource::from(person("ada", 1))).send().await.unwrap();
    graph.create_branch("review", omnigraph_client::Selector::default()).await.unwrap();
    (age(graph, "main", 2).await, age(graph, "review", 3).await)
}

fn reason(status: &tonic::Status) -> String {
    omnigraph_client::Error::from(status.clone()).reason_text().to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conflict_is_previewed_settled_and_remembered() {
    use proto::preview_merge_response::Part;
    let (server, _client, graph) = served().await;
    let (ours, theirs) = parted(&graph).await;
    let asked =
        proto::PreviewMergeRequest { graph: "social".into(), source_branch: "review".into(), ..Default::default() };
    let mut answer = graph.raw().branch().preview_merge(asked).await.unwrap().into_inner();
    let Some(Part::Summary(summary)) = answer.message().await.unwrap().unwrap().part else { panic!("no summary") };
    assert_eq!((summary.outcome(), summary.conflicts), (proto::MergeOutcome::Merged, 1));
    assert_eq!((&summary.source_commit_id, &summary.target_commit_id), (&theirs, &ours));
    let Some(Part::Conflict(conflict)) = answer.message().await.unwrap().unwrap().part else { panic!("no conflict") };
    assert_eq!(conflict.kind(), proto::ConflictKind::DivergentUpdate);
    assert_eq!((conflict.id.as_str(), conflict.properties.as_slice()), ("ada", &["age".to_string()][..]));
    assert!(answer.message().await.unwrap().is_none());

    let mut merge = proto::MergeBranchRequest { options: on(""), source_branch: "review".into(), ..Default::default() };
    let refused = graph.raw().branch().merge_branch(merge.clone()).await.unwrap_err();
    assert_eq!((refused.code(), reason(&refused).as_str()), (tonic::Code::FailedPrecondition, "MERGE_CONFLICT"));
    let take = proto::Resolution {
        r#type: conflict.r#type,
        id: "ada".into(),
        property: "age".into(),
        take: proto::Side::Theirs.into(),
    };
    merge.how = Some(proto::MergeHow { resolutions: vec![take.clone()], ..Default::default() });
    merge.delete_source = true;
    let merged = graph.raw().branch().merge_branch(merge).await.unwrap().into_inner();
    let receipt = merged.receipt.clone().unwrap();
    assert_eq!(receipt.parent_ids, [ours.clone(), theirs.clone()]);
    assert_eq!((merged.base_commit_id, merged.conflicts_settled), (summary.base_commit_id, 1));
    assert!(merged.source_deletion.unwrap().deleted);
    assert_eq!(aged(&graph).await, years(3));
    let head = proto::GetCommitRequest { graph: "social".into(), target: None };
    let note = graph.raw().commit().get_commit(head).await.unwrap().into_inner().commit.unwrap().merge.unwrap();
    assert_eq!((note.source_branch.as_str(), note.resolutions), ("review", vec![take]));
    let listed =
        |all_ancestors| proto::ListCommitsRequest { graph: "social".into(), all_ancestors, ..Default::default() };
    let mut ids = Vec::new();
    for all in [false, true] {
        let page = graph.raw().commit().list_commits(listed(all)).await.unwrap().into_inner().commits;
        ids.push(page.into_iter().map(|c| c.id).collect::<Vec<_>>());
    }
    assert!(!ids[0].contains(&theirs) && ids[1].contains(&theirs) && ids[1].len() == ids[0].len() + 1);
    assert!(ids[1].is_sorted_by(|a, b| a > b));
    server.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_are_taken_back_made_again_and_restored() {
    let (server, _client, graph) = served().await;
    let (ours, theirs) = parted(&graph).await;
    let mut branch = graph.raw().branch();
    let pick = proto::CherryPickCommitRequest { options: on("main"), commit_id: theirs.clone(), how: None };
    let refused = branch.cherry_pick_commit(pick.clone()).await.unwrap_err();
    assert_eq!(reason(&refused), "MERGE_CONFLICT");
    let how = Some(proto::MergeHow { strategy: proto::Strategy::Theirs.into(), ..Default::default() });
    let picked = branch.cherry_pick_commit(proto::CherryPickCommitRequest { how, ..pick }).await.unwrap().into_inner();
    assert_eq!((picked.conflicts_settled, aged(&graph).await), (1, years(3)));
    let commit_id = picked.receipt.unwrap().commit_id;
    let revert = proto::RevertCommitRequest { options: on("main"), commit_id, how: None };
    let reverted = branch.revert_commit(revert).await.unwrap().into_inner();
    assert_eq!((reverted.outcome(), aged(&graph).await), (proto::MergeOutcome::Merged, years(2)));
    let version =
        |id: &str| proto::ReadSelector { selector: Some(proto::read_selector::Selector::CommitId(id.to_string())) };
    let restore = |to| proto::RestoreBranchRequest { options: on("main"), to };
    let restored = branch.restore_branch(restore(Some(version(&theirs)))).await.unwrap().into_inner();
    assert_eq!((&restored.source_commit_id, aged(&graph).await), (&theirs, years(3)));
    let again = branch.restore_branch(restore(Some(version(&theirs)))).await.unwrap().into_inner();
    assert!(!again.receipt.unwrap().changed);
    let nothing = branch.restore_branch(restore(Some(proto::ReadSelector::default()))).await.unwrap_err();
    assert_eq!(nothing.code(), tonic::Code::InvalidArgument);
    let unheard = proto::RevertCommitRequest { options: on("main"), commit_id: String::new(), how: None };
    assert_eq!(branch.revert_commit(unheard).await.unwrap_err().code(), tonic::Code::InvalidArgument);
    assert_ne!(ours, theirs);
    server.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn protection_refuses_deletion_and_direct_writes() {
    let (server, _client, graph) = served().await;
    parted(&graph).await;
    let (mut branch, mut commit) = (graph.raw().branch(), graph.raw().commit());
    let protect = |protected| proto::ProtectBranchRequest { graph: "social".into(), name: "review".into(), protected };
    assert!(branch.protect_branch(protect(true)).await.unwrap().into_inner().branch.unwrap().protected);
    let write = graph.mutate().insert(node("Note").set("text", "x")).branch("review").send().await.unwrap_err();
    assert_eq!(write.reason_text(), "BRANCH_PROTECTED");
    let delete = |name: &str| proto::DeleteBranchRequest { graph: "social".into(), name: name.into(), force: false };
    for name in ["review", "main"] {
        let refused = branch.delete_branch(delete(name)).await.unwrap_err();
        assert_eq!((refused.code(), reason(&refused).as_str()), (tonic::Code::FailedPrecondition, "BRANCH_PROTECTED"));
    }
    branch.protect_branch(protect(false)).await.unwrap();
    branch.delete_branch(delete("review")).await.unwrap();

    let named = |name: &str| proto::CreateTagRequest {
        graph: "social".into(),
        name: name.into(),
        message: "m".into(),
        target: None,
    };
    let head = graph.branch("main").await.unwrap().head.id;
    let tag = commit.create_tag(named("v/1")).await.unwrap().into_inner().tag.unwrap();
    assert_eq!((tag.commit_id, tag.branch.as_str(), tag.message.as_str()), (head, "main", "m"));
    assert_eq!(reason(&commit.create_tag(named("v/1")).await.unwrap_err()), "TAG_EXISTS");
    commit.create_tag(named("v/2")).await.unwrap();
    let mut page = proto::ListTagsRequest { graph: "social".into(), page_size: 1, ..Default::default() };
    let first = commit.list_tags(page.clone()).await.unwrap().into_inner();
    page.page_token = first.next_page_token;
    let second = commit.list_tags(page).await.unwrap().into_inner();
    assert_eq!((first.tags[0].name.as_str(), second.tags[0].name.as_str()), ("v/1", "v/2"));
    assert!(second.next_page_token.is_empty());
    let protect = |protected| proto::ProtectTagRequest { graph: "social".into(), name: "v/1".into(), protected };
    let delete = || proto::DeleteTagRequest { graph: "social".into(), name: "v/1".into() };
    assert!(commit.protect_tag(protect(true)).await.unwrap().into_inner().tag.unwrap().protected);
    assert_eq!(reason(&commit.delete_tag(delete()).await.unwrap_err()), "TAG_PROTECTED");
    commit.protect_tag(protect(false)).await.unwrap();
    commit.delete_tag(delete()).await.unwrap();
    let gone = proto::GetTagRequest { graph: "social".into(), name: "v/1".into() };
    assert_eq!(reason(&commit.get_tag(gone).await.unwrap_err()), "TAG_NOT_FOUND");
    server.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn followers_are_bounded_leave_room_for_others_and_end_with_their_server() {
    use proto::watch_commits_request::Start;
    use proto::watch_commits_response::Part;
    let config = Config { max_watchers: 1, ..Config::new(memory_root("wire-watch")) };
    let server = Server::bind(config).await.unwrap();
    let client = Client::connect(server.uri()).await.unwrap();
    client.create_graph("social", SOCIAL).await.unwrap();
    let graph = client.graph("social");
    let start = Some(Start::Beginning(()));
    let request =
        proto::WatchCommitsRequest { graph: "social".into(), start, with_changes: true, ..Default::default() };
    let mut followed = graph.raw().commit().watch_commits(request.clone()).await.unwrap().into_inner();
    let refused = graph.raw().commit().watch_commits(request).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::ResourceExhausted, "{refused:?}");
    let text: String = (0..2500).map(|n| person(&format!("p{n:04}"), 1)).collect();
    let loaded = graph.load(LoadSource::from(text)).send().await.unwrap().receipt.commit_id;
    let (mut told, mut open, mut sizes) = (Vec::new(), String::new(), Vec::new());
    while told.last() != Some(&loaded) {
        match followed.message().await.unwrap().unwrap().part.unwrap() {
            Part::Begin(commit) => open = commit.id,
            Part::Changes(batch) => sizes.push(batch.changes.len()),
            Part::End(at) => {
                assert!(!at.cursor.is_empty());
                told.push(std::mem::take(&mut open));
            }
            Part::Idle(_) => assert!(open.is_empty()),
            Part::Schema(steps) => panic!("no schema changed: {steps:?}"),
        }
    }
    assert_eq!(told.len(), 2);
    assert!(sizes.iter().all(|n| (1..=1000).contains(n)), "{sizes:?}");
    assert_eq!(sizes.iter().sum::<usize>(), 2500);
    let last = tokio::spawn(async move {
        loop {
            match followed.message().await {
                Ok(Some(_)) => {}
                ended => return ended,
            }
        }
    });
    server.shutdown().await.unwrap();
    assert_eq!(last.await.unwrap().unwrap_err().code(), tonic::Code::Unavailable);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn differences_come_in_order_after_their_header() {
    use proto::list_changes_request::Scope;
    use proto::list_changes_response::Part;
    let (server, _client, graph) = served().await;
    let text: String = (0..1500).map(|n| person(&format!("p{n:04}"), 1)).collect();
    let loaded = graph.load(LoadSource::from(text)).send().await.unwrap().receipt;
    let scope = Some(Scope::CommitId(loaded.commit_id.clone()));
    let request = proto::ListChangesRequest { graph: "social".into(), scope, ..Default::default() };
    let mut answer = graph.raw().commit().list_changes(request.clone()).await.unwrap().into_inner();
    let Some(Part::Header(header)) = answer.message().await.unwrap().unwrap().part else { panic!("no header") };
    assert_eq!(header.after.unwrap().id, loaded.commit_id);
    assert_eq!(header.before.unwrap().id, loaded.parents[0]);
    let (mut ids, mut batches) = (Vec::new(), 0);
    while let Some(message) = answer.message().await.unwrap() {
        let Some(Part::Batch(batch)) = message.part else { panic!("a second header") };
        assert!(batch.changes.len() <= 1000);
        batches += 1;
        ids.extend(batch.changes.into_iter().map(|change| {
            assert!(change.before.is_none() && change.changed_properties.is_empty());
            change.after.unwrap().id
        }));
    }
    assert_eq!((ids.len(), batches), (1500, 2));
    assert!(ids.is_sorted());
    let unscoped = proto::ListChangesRequest { scope: None, ..request };
    let error = graph.raw().commit().list_changes(unscoped).await.unwrap_err();
    assert_eq!(error.code(), tonic::Code::InvalidArgument);
    server.shutdown().await.unwrap();
}
