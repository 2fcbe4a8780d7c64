//! Other people's clients: a scan read by pyarrow's Flight client.

use std::process::Command;

use omnigraph_client::{Client, LoadSource};
use omnigraph_service::{Config, Server};
use omnigraph_tests::{SOCIAL, memory_root, person};

const SCRIPT: &str = r#"
import sys
import pyarrow.flight as flight
client = flight.connect(sys.argv[1])
info = client.get_flight_info(flight.FlightDescriptor.for_path("social", "main", "Person"))
tables = [client.do_get(endpoint.ticket).read_all() for endpoint in info.endpoints]
rows = sum(table.num_rows for table in tables)
ages = sum(sum(v for v in table.column("age").to_pylist() if v is not None) for table in tables)
names = [field.name for field in info.schema]
assert names[:2] == ["id", "slug"], names
assert info.total_records == rows, (info.total_records, rows)
schema = client.get_schema(flight.FlightDescriptor.for_path("social", "main", "Person")).schema
assert schema.names == names
assert any(f.descriptor.path for f in client.list_flights())
print(rows, ages)
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pyarrow_reads_a_scan() {
    let Some(python) = std::env::var_os("OMNIGRAPH_TEST_PYTHON") else {
        println!("skipped: OMNIGRAPH_TEST_PYTHON names no interpreter with pyarrow; `make test` sets one up");
        return;
    };
    let server = Server::bind(Config::new(memory_root("python"))).await.unwrap();
    let client = Client::connect(server.uri()).await.unwrap();
    client.create_graph("social", SOCIAL).await.unwrap();
    let graph = client.graph("social");
    let input: String = (0..1_000).map(|n| person(&format!("p{n}"), n % 100)).collect();
    graph.load(LoadSource::from(input)).send().await.unwrap();
    let uri = server.uri().replace("http://", "grpc://");
    let output = tokio::task::spawn_blocking(move || Command::new(python).args(["-c", SCRIPT, &uri]).output())
        .await
        .unwrap()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "1000 49500");
    server.shutdown().await.unwrap();
}
