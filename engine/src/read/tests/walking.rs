//! Neighbourhoods, compared with a walk in memory.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::{Fixture, company, edge, people, person};
use crate::error::Reason;
use crate::limits;
use crate::model::TypeRef;
use crate::read::neighbors::{Direction, Neighborhood, NeighborsQuery, neighbors};

fn query(start: &[(&str, &str)], direction: Direction, hops: u32, limit: usize) -> NeighborsQuery {
    NeighborsQuery {
        start: start.iter().map(|(ty, id)| (TypeRef::node(*ty), id.to_string())).collect(),
        edges: Vec::new(),
        direction,
        hops,
        limit,
    }
}

async fn walk(fixture: &Fixture, query: &NeighborsQuery) -> Neighborhood {
    neighbors(&fixture.core, &fixture.snapshot().await, query).await.unwrap()
}

/// `type/id@hop` of nodes and edges.
fn shown(found: &Neighborhood) -> (Vec<String>, Vec<String>) {
    let show = |(e, hop): &(crate::model::Entity, u32)| format!("{}/{}@{hop}", e.type_ref.name, e.id);
    (found.nodes.iter().map(show).collect(), found.edges.iter().map(show).collect())
}

#[tokio::test]
async fn ids_belong_to_their_type() {
    let text = person("x", json!({}))
        + &person("y", json!({}))
        + &company("x")
        + &edge("WorksAt", "w", "y", "x")
        + &edge("Knows", "k", "x", "y");
    let fixture = people(&[text]).await;
    let (nodes, edges) = shown(&walk(&fixture, &query(&[("Person", "y")], Direction::Out, 3, 100)).await);
    assert_eq!((nodes, edges), (vec!["Company/x@1".to_string()], vec!["WorksAt/w@1".to_string()]));
    let (nodes, _) = shown(&walk(&fixture, &query(&[("Company", "x")], Direction::In, 1, 100)).await);
    assert_eq!(nodes, ["Person/y@1"]);
    let found = walk(&fixture, &query(&[("Company", "x"), ("Company", "x")], Direction::Both, 9, 100)).await;
    assert_eq!(
        shown(&found),
        (vec!["Person/y@1".into(), "Person/x@2".into()], vec!["WorksAt/w@1".into(), "Knows/k@2".into()])
    );
    assert!(!found.truncated);
}

#[tokio::test]
async fn loops_parallel_edges_and_edge_types_are_followed_as_asked() {
    let text = person("p", json!({}))
        + &person("q", json!({}))
        + &company("c")
        + &edge("Knows", "loop", "p", "p")
        + &edge("Knows", "k1", "p", "q")
        + &edge("Knows", "k2", "p", "q")
        + &edge("WorksAt", "w", "p", "c");
    let fixture = people(&[text]).await;
    let mut query = query(&[("Person", "p")], Direction::Both, 5, 100);
    let (nodes, edges) = shown(&walk(&fixture, &query).await);
    assert_eq!(nodes, ["Company/c@1", "Person/q@1"]);
    assert_eq!(edges, ["Knows/k1@1", "Knows/k2@1", "Knows/loop@1", "WorksAt/w@1"]);
    query.edges = vec![TypeRef::edge("knows"), TypeRef::edge("Knows")];
    assert_eq!(shown(&walk(&fixture, &query).await).1.len(), 3);
    query.direction = Direction::In;
    let (nodes, edges) = shown(&walk(&fixture, &query).await);
    assert_eq!((nodes.len(), edges), (0, vec!["Knows/loop@1".to_string()]));
}

#[tokio::test]
async fn wrong_queries_are_refused() {
    let fixture = people(&[person("p", json!({}))]).await;
    let snapshot = fixture.snapshot().await;
    let good = query(&[("Person", "p")], Direction::Out, 1, 1);
    let found = walk(&fixture, &good).await;
    assert_eq!(found, Neighborhood::default());
    let start = |ty: TypeRef, id: &str| NeighborsQuery { start: vec![(ty, id.into())], ..good.clone() };
    let cases = [
        (NeighborsQuery { start: Vec::new(), ..good.clone() }, Reason::InvalidArgument),
        (NeighborsQuery { hops: 0, ..good.clone() }, Reason::InvalidArgument),
        (NeighborsQuery { limit: 0, ..good.clone() }, Reason::InvalidArgument),
        (NeighborsQuery { hops: limits::MAX_HOPS + 1, ..good.clone() }, Reason::LimitExceeded),
        (NeighborsQuery { limit: limits::MAX_NEIGHBORS + 1, ..good.clone() }, Reason::LimitExceeded),
        (NeighborsQuery { edges: vec![TypeRef::edge("Nope")], ..good.clone() }, Reason::TypeNotFound),
        (NeighborsQuery { edges: vec![TypeRef::node("Person")], ..good.clone() }, Reason::InvalidArgument),
        (start(TypeRef::node("Person"), "q"), Reason::EntityNotFound),
        (start(TypeRef::node("Company"), "p"), Reason::EntityNotFound),
        (start(TypeRef::edge("Knows"), "p"), Reason::InvalidArgument),
        (start(TypeRef::node("Nope"), "p"), Reason::TypeNotFound),
    ];
    for (query, reason) in cases {
        let refused = neighbors(&fixture.core, &snapshot, &query).await.unwrap_err();
        assert_eq!(refused.reason(), reason, "{query:?}");
    }
}

/// Edges of people by number: id, from, to.
type Edges = Vec<(String, u32, u32)>;

fn reference(
    edges: &Edges,
    start: u32,
    direction: Direction,
    hops: u32,
) -> (BTreeMap<u32, u32>, BTreeMap<String, u32>) {
    let (mut nodes, mut followed) = (BTreeMap::from([(start, 0)]), BTreeMap::new());
    let mut frontier = BTreeSet::from([start]);
    for hop in 1..=hops {
        let mut next = BTreeSet::new();
        for (id, from, to) in edges {
            let out = direction != Direction::In && frontier.contains(from);
            let into = direction != Direction::Out && frontier.contains(to);
            if out || into {
                followed.entry(id.clone()).or_insert(hop);
                for node in [*from, *to] {
                    if let std::collections::btree_map::Entry::Vacant(new) = nodes.entry(node) {
                        new.insert(hop);
                        next.insert(node);
                    }
                }
            }
        }
        frontier = next;
    }
    nodes.remove(&start);
    (nodes, followed)
}

#[tokio::test]
async fn random_graphs_are_walked_as_in_memory_and_limits_cut_a_beginning() {
    let mut random = fastrand::Rng::with_seed(7);
    let count = 2_500;
    let edges: Edges = (0..6_000).map(|n| (format!("e{n:05}"), random.u32(0..count), random.u32(0..count))).collect();
    let nodes: String = (0..count).map(|n| person(&format!("n{n:04}"), json!({"age": n}))).collect();
    let line = |(id, from, to): &(String, u32, u32)| edge("Knows", id, &format!("n{from:04}"), &format!("n{to:04}"));
    let texts =
        [nodes + &edges[..3_000].iter().map(line).collect::<String>(), edges[3_000..].iter().map(line).collect()];
    let fixture = people(&texts).await;
    let cases = [(5, Direction::Out, 4), (5, Direction::In, 3), (9, Direction::Both, 12), (7, Direction::Both, 2)];
    for (at, direction, hops) in cases {
        let start = if direction == Direction::In { edges[at].2 } else { edges[at].1 };
        let (expected, followed) = reference(&edges, start, direction, hops);
        let mut query = query(&[("Person", &format!("n{start:04}"))], direction, hops, limits::MAX_NEIGHBORS);
        let all = walk(&fixture, &query).await;
        assert!(!all.truncated);
        let ids = |hop: u32| expected.iter().filter(move |(_, h)| **h == hop).map(|(n, h)| (format!("n{n:04}"), *h));
        let expected: Vec<_> = (1..=hops).flat_map(ids).collect();
        assert_eq!(all.nodes.iter().map(|(e, h)| (e.id.clone(), *h)).collect::<Vec<_>>(), expected);
        let mut by_hop: Vec<_> = followed.into_iter().map(|(id, hop)| (hop, id)).collect();
        by_hop.sort();
        assert_eq!(all.edges.iter().map(|(e, h)| (*h, e.id.clone())).collect::<Vec<_>>(), by_hop);
        assert!(all.edges.len() > 2);
        for limit in [1, 2, 7, 100, all.nodes.len() + all.edges.len()] {
            query.limit = limit;
            let cut = walk(&fixture, &query).await;
            let size = cut.nodes.len() + cut.edges.len();
            assert_eq!(cut.truncated, limit < all.nodes.len() + all.edges.len());
            assert!(size <= limit && (size + 1 >= limit || !cut.truncated));
            assert_eq!(cut.edges, all.edges[..cut.edges.len()]);
            let known: BTreeSet<&str> = cut.nodes.iter().map(|(n, _)| n.id.as_str()).collect();
            let start = format!("n{start:04}");
            for (edge, _) in &cut.edges {
                let (src, dst) = edge.endpoints.clone().unwrap();
                assert!([src, dst].iter().all(|end| *end == start || known.contains(end.as_str())));
            }
        }
    }
}
