//! What is within some steps of some nodes.

use omnigraph_engine::error::Result;
use omnigraph_engine::read::neighbors::Neighborhood;
use omnigraph_proto::v1;
use prost::Message;

use super::read;
use crate::convert::{entity, scan};
use crate::limits::RESPONSE_BYTES;
use crate::state::State;

/// `Neighbors`.
pub(super) async fn get(state: &State, mut request: v1::NeighborsRequest) -> Result<v1::NeighborsResponse> {
    let (graph, selector) = (std::mem::take(&mut request.graph), request.selector.take());
    let query = scan::neighbors_to_engine(request)?;
    let read = read(state, &graph, selector).await?;
    let found = read.graph.neighbors(&read.snapshot, &query).await?;
    Ok(fill(found, read.named, RESPONSE_BYTES))
}

/// As much of a neighbourhood as one answer has room for: by distance, and at each distance nodes before
/// edges, so that every edge that is answered has both its ends.
fn fill(found: Neighborhood, read: v1::CommitRef, room: usize) -> v1::NeighborsResponse {
    let message = |(entity, distance)| v1::Neighbor { entity: Some(entity::to_proto(entity)), distance };
    let mut nodes = found.nodes.into_iter().map(message).peekable();
    let mut edges = found.edges.into_iter().map(message).peekable();
    let mut out = v1::NeighborsResponse { read: Some(read), truncated: found.truncated, ..Default::default() };
    let mut bytes = 0;
    loop {
        let node_first = match (nodes.peek(), edges.peek()) {
            (Some(node), Some(edge)) => node.distance <= edge.distance,
            (node, _) => node.is_some(),
        };
        let next = if node_first { nodes.next() } else { edges.next() };
        let Some(next) = next else { return out };
        bytes += next.encoded_len();
        if bytes > room && !(out.nodes.is_empty() && out.edges.is_empty()) {
            out.truncated = true;
            return out;
        }
        if node_first { out.nodes.push(next) } else { out.edges.push(next) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use omnigraph_engine::model::{Entity, TypeRef};
    use std::collections::BTreeMap;

    fn found() -> Neighborhood {
        let entity =
            |type_ref, id: &str, endpoints| Entity { type_ref, id: id.into(), endpoints, properties: BTreeMap::new() };
        let node = |id: &str, distance| (entity(TypeRef::node("P"), id, None), distance);
        let edge = |id: &str, from: &str, to: &str, distance| {
            (entity(TypeRef::edge("E"), id, Some((from.to_string(), to.to_string()))), distance)
        };
        Neighborhood {
            nodes: vec![node("b", 1), node("c", 1), node("d", 2)],
            edges: vec![edge("1", "a", "b", 1), edge("2", "a", "c", 1), edge("3", "c", "d", 2)],
            truncated: false,
        }
    }

    #[test]
    fn every_edge_that_is_answered_has_both_its_ends() {
        for room in 0..200 {
            let out = fill(found(), v1::CommitRef::default(), room);
            let ids: Vec<_> = out.nodes.iter().filter_map(|n| n.entity.as_ref()).map(|e| e.id.clone()).collect();
            for edge in out.edges.iter().filter_map(|e| e.entity.as_ref()) {
                for end in [&edge.from_id, &edge.to_id] {
                    assert!(end == "a" || ids.contains(end), "{end} with room for {room}");
                }
            }
            assert!(!out.nodes.is_empty());
            assert_eq!(out.truncated, out.nodes.len() + out.edges.len() < 6);
        }
        assert_eq!(fill(found(), v1::CommitRef::default(), usize::MAX).edges.len(), 3);
    }
}
