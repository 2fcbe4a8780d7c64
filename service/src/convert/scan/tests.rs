//! Scans and neighbourhoods say what they read, within bounds.

use super::*;

fn command() -> v1::ScanCommand {
    v1::ScanCommand { graph: "g".into(), kind: 1, type_name: "P".into(), ..Default::default() }
}

#[test]
fn scans_name_what_they_read() {
    let request = to_engine(command()).unwrap();
    assert_eq!((request.type_ref, request.limit), (TypeRef::node("P"), None));
    let columns = ["order", "id", "order"].map(String::from).to_vec();
    let error = to_engine(v1::ScanCommand { columns, ..command() }).unwrap_err();
    assert_eq!(error.metadata()["field"], "columns[2]");
    let order_by = vec![v1::OrderBy::default()];
    let error = to_engine(v1::ScanCommand { order_by, ..command() }).unwrap_err();
    assert_eq!(error.metadata()["field"], "order_by[0].property");
    assert!(to_engine(v1::ScanCommand { kind: 0, ..command() }).is_err());
}

#[test]
fn neighbourhoods_have_a_start_and_bounds() {
    let start = vec![v1::NodeRef { type_name: "P".into(), id: "a".into() }];
    let request = v1::NeighborsRequest { start, limit: u32::MAX, ..Default::default() };
    let query = neighbors_to_engine(request.clone()).unwrap();
    assert_eq!((query.hops, query.limit, query.direction), (1, MAX_NEIGHBORS, Direction::Out));
    let none = v1::NeighborsRequest { start: Vec::new(), ..request.clone() };
    assert_eq!(neighbors_to_engine(none).unwrap_err().metadata()["field"], "start");
    let far = v1::NeighborsRequest { hops: MAX_HOPS + 1, ..request.clone() };
    assert_eq!(neighbors_to_engine(far).unwrap_err().reason(), Reason::LimitExceeded);
    assert!(neighbors_to_engine(v1::NeighborsRequest { direction: 9, ..request }).is_err());
}
