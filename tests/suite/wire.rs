//! What arrives malformed, half, or from somebody who went away.

use futures::StreamExt;
use omnigraph_client::{Client, ErrorReason, LoadSource, proto};
use omnigraph_service::{Config, Running, Server};
use omnigraph_tests::{SOCIAL, memory_root, person};

async fn served() -> (Running, Client, omnigraph_client::Graph) {
    let server = Server::bind(Config::new(memory_root("wire"))).await.unwrap();
    let client = Client::connect(server.uri()).await.unwrap();
    client.create_graph("social", SOCIAL).await.unwrap();
    let graph = client.graph("social");
    (server, client, graph)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_tickets_descriptors_tokens_and_ids_are_invalid_arguments() {
    let (server, _client, graph) = served().await;
    graph.load(LoadSource::from(person("a", 1))).send().await.unwrap();
    let mut flight = graph.raw().flight();
    let mut random = fastrand::Rng::with_seed(3);
    let mut garbage: Vec<Vec<u8>> = vec![Vec::new(), b"x".to_vec(), vec![0xff; 40]];
    garbage.extend((0..50).map(|n| (0..n * 3).map(|_| random.u8(..)).collect()));
    // A real ticket with one byte changed must never do more than fail or read.
    let plan = graph.scan("Person").plan().await.unwrap();
    let real = plan.endpoints()[0].ticket.clone().unwrap().ticket.to_vec();
    for bytes in &garbage {
        let ticket = arrow_flight::Ticket { ticket: bytes.clone().into() };
        let error = flight.do_get(ticket).await.unwrap_err();
        assert_eq!(error.code(), tonic::Code::InvalidArgument, "{bytes:?}: {error:?}");
        let descriptor = arrow_flight::FlightDescriptor::new_cmd(bytes.clone());
        let error = flight.get_flight_info(descriptor).await.unwrap_err();
        assert_eq!(error.code(), tonic::Code::InvalidArgument, "{bytes:?}: {error:?}");
    }
    for at in 0..real.len() {
        let mut bent = real.clone();
        bent[at] ^= 0x55;
        if let Ok(answer) = flight.do_get(arrow_flight::Ticket { ticket: bent.into() }).await {
            let mut stream = answer.into_inner();
            while let Some(Ok(_)) = stream.next().await {}
        }
    }
    let page = proto::ListCommitsRequest {
        graph: "social".into(),
        page_token: "nonsense".into(),
        ..proto::ListCommitsRequest::default()
    };
    let error = graph.raw().commit().list_commits(page).await.unwrap_err();
    assert_eq!(error.code(), tonic::Code::InvalidArgument);
    let selector = omnigraph_client::Selector::Commit("nonsense".into());
    assert!(graph.commit(selector).await.unwrap_err().is(ErrorReason::InvalidArgument));
    assert_eq!(graph.scan("Person").send().await.unwrap().collect_all().await.unwrap().len(), 1);
    server.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_load_that_is_broken_off_leaves_nothing_and_the_next_one_works() {
    let (server, _client, graph) = served().await;
    let head = graph.branch("main").await.unwrap().head;
    for chunks in [1, 2, 5] {
        let good = (0..chunks).map(|n| Ok(bytes::Bytes::from(person(&format!("p{n}"), 1))));
        let broken = good.chain([Err(std::io::Error::other("the file went away"))]);
        let source = LoadSource::stream(futures::stream::iter(broken));
        assert!(graph.load(source).send().await.is_err());
    }
    assert_eq!(graph.branch("main").await.unwrap().head, head);
    graph.load(LoadSource::from(person("a", 1))).send().await.unwrap();
    server.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_goes_away_leaves_no_effect_or_a_complete_commit() {
    let (server, _client, graph) = served().await;
    for n in 0..30_u64 {
        let text: String = (0..200).map(|i| person(&format!("c{n}-{i}"), 1)).collect();
        let request = format!("cancel-{n}");
        let load = graph.load(LoadSource::from(text)).request_id(&request).send();
        let _ = tokio::time::timeout(std::time::Duration::from_micros(n * 700), load).await;
    }
    // Whatever was armed is finished by the server, perhaps later: one state is looked at, from both sides.
    let after = graph.load(LoadSource::from(person("after", 1))).send().await.unwrap().receipt.commit_id;
    let scan = graph.scan("Person").columns(["slug"]).commit(&after).send().await.unwrap();
    let rows: usize = scan.collect_all().await.unwrap().iter().map(|b| b.num_rows()).sum();
    let commits: Vec<omnigraph_client::Commit> =
        futures::TryStreamExt::try_collect(graph.list_commits("main")).await.unwrap();
    let loads = commits.iter().filter(|c| c.id < after && c.request_id.starts_with("cancel-")).count();
    assert_eq!(rows, loads * 200 + 1);
    server.shutdown().await.unwrap();
}
