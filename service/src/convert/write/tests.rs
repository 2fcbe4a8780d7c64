//! Steps of a mutation survive the way there and back; half a step is refused by path.

use super::*;
use omnigraph_engine::model::{Predicate, Value};
use std::collections::BTreeMap;

fn steps() -> Vec<Change> {
    let properties = BTreeMap::from([("big".to_string(), Value::U64(u64::MAX)), ("gone".to_string(), Value::Null)]);
    let node = |id: Option<&str>| EntityWrite {
        type_ref: TypeRef::node("repoName"),
        id: id.map(str::to_string),
        endpoints: None,
        properties: properties.clone(),
    };
    let edge =
        |endpoints| EntityWrite { type_ref: TypeRef::edge("order"), id: None, endpoints, properties: BTreeMap::new() };
    let ends = Some(("a".to_string(), "b/ü".to_string()));
    vec![
        Change::Insert(node(None)),
        Change::Insert(edge(ends.clone())),
        Change::Upsert(node(Some("x"))),
        Change::Upsert(edge(None)),
        Change::Upsert(edge(ends)),
        Change::Update { type_ref: TypeRef::edge("order"), target: Target::Ids(vec!["1".into()]), set: properties },
        Change::Delete {
            type_ref: TypeRef::node("repoName"),
            target: Target::Where(Predicate::And(Vec::new())),
            edges: EdgePolicy::Restrict,
        },
        Change::Delete {
            type_ref: TypeRef::node("repoName"),
            target: Target::Ids(Vec::new()),
            edges: EdgePolicy::Cascade,
        },
    ]
}

#[test]
fn steps_come_back() {
    let there: Vec<_> = steps().into_iter().map(change_to_proto).collect();
    assert_eq!(operations_to_engine(there).unwrap(), steps());
}

/// The field that is blamed for a step, which stands second in its request.
fn blamed(kind: Option<Kind>) -> String {
    let node = v1::InsertNode { type_name: "P".into(), ..Default::default() };
    let good = v1::Operation { kind: Some(Kind::InsertNode(node)) };
    let error = operations_to_engine(vec![good, v1::Operation { kind }]).unwrap_err();
    error.metadata()["field"].clone()
}

#[test]
fn half_an_entity_is_refused_by_path() {
    let edge = v1::InsertEdge { type_name: "E".into(), ..Default::default() };
    let upsert = v1::UpsertEdge { type_name: "E".into(), from_id: "a".into(), ..Default::default() };
    assert_eq!(blamed(None), "operations[1]");
    assert_eq!(blamed(Some(Kind::InsertNode(Default::default()))), "operations[1].insert_node.type_name");
    assert_eq!(blamed(Some(Kind::InsertEdge(edge))), "operations[1].insert_edge.from_id");
    assert_eq!(blamed(Some(Kind::UpsertEdge(upsert))), "operations[1].upsert_edge.to_id");
}

#[test]
fn half_an_update_or_delete_is_refused_by_path() {
    let ids = Some(v1::Target { kind: Some(v1::target::Kind::Ids(v1::EntityIds::default())) });
    let set = BTreeMap::from([("p".to_string(), value::to_proto(Value::Null))]);
    let update = v1::Update { kind: 1, type_name: "P".into(), ..Default::default() };
    let delete = v1::Delete { kind: 1, type_name: "P".into(), ..Default::default() };
    let setless = v1::Update { target: ids.clone(), ..update.clone() };
    assert_eq!(blamed(Some(Kind::Update(setless))), "operations[1].update.set");
    assert_eq!(blamed(Some(Kind::Update(v1::Update { set, ..update }))), "operations[1].update.target");
    assert_eq!(blamed(Some(Kind::Delete(delete.clone()))), "operations[1].delete.target");
    let kindless = v1::Delete { kind: 0, target: ids.clone(), ..delete.clone() };
    assert_eq!(blamed(Some(Kind::Delete(kindless))), "operations[1].delete.kind");
    let policy = v1::Delete { edges: 9, target: ids, ..delete };
    assert_eq!(blamed(Some(Kind::Delete(policy))), "operations[1].delete.edges");
}

#[test]
fn options_need_a_graph_and_known_features() {
    let actor = || Actor("ada".into());
    assert_eq!(options_to_engine(None, actor()).unwrap_err().metadata()["field"], "options");
    let whole = v1::WriteOptions {
        graph: "g".into(),
        branch: "b/1".into(),
        expected_head: "h".into(),
        request_id: "r".into(),
        message: "m".into(),
        required_features: vec!["request_id".into()],
    };
    let (graph, options) = options_to_engine(Some(whole.clone()), actor()).unwrap();
    assert_eq!((graph.as_str(), options.branch_name(), &options.actor), ("g", "b/1", &actor()));
    let unknown = v1::WriteOptions { required_features: vec!["warp".into()], ..whole };
    let error = options_to_engine(Some(unknown), actor()).unwrap_err();
    assert_eq!(error.reason(), Reason::UnsupportedFeature);
    assert_eq!(error.metadata()["feature"], "warp");
}

#[test]
fn formats_of_one_type_need_it_and_records_refuse_it() {
    let header =
        |format, kind, name: &str| v1::LoadHeader { format, kind, type_name: name.into(), ..Default::default() };
    assert_eq!(format_to_engine(&header(0, 0, "")).unwrap().0, InputFormat::Jsonl);
    let (format, compression, type_ref) = format_to_engine(&header(2, 2, "Knows")).unwrap();
    assert_eq!((format, compression), (InputFormat::ArrowIpc, Compression::Auto));
    assert_eq!(type_ref, Some(TypeRef::edge("Knows")));
    for bad in [header(1, 1, ""), header(1, 0, "P"), header(3, 0, "P"), header(4, 1, ""), header(99, 1, "P")] {
        assert_eq!(format_to_engine(&bad).unwrap_err().reason(), Reason::InvalidArgument);
    }
    assert!(mode_to_engine("header.mode", 9).is_err());
    assert_eq!(mode_to_engine("header.mode", 0).unwrap(), LoadMode::Append);
}
