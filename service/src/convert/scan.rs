//! Scans and neighbourhoods.

use std::collections::HashSet;

use omnigraph_engine::error::{Error, Reason, Result};
use omnigraph_engine::limits::{MAX_HOPS, MAX_NEIGHBORS};
use omnigraph_engine::model::{OrderBy, TypeRef};
use omnigraph_engine::read::neighbors::{Direction, NeighborsQuery};
use omnigraph_engine::read::scan::ScanRequest;
use omnigraph_proto::v1;

use super::{entity, invalid, predicate, required};
use crate::limits::DEFAULT_NEIGHBORS;

/// What a scan reads.
///
/// # Errors
/// [`Reason::InvalidArgument`] naming what is missing, or a column that is asked for twice;
/// [`Reason::InvalidPredicate`], [`Reason::LimitExceeded`].
pub fn to_engine(command: v1::ScanCommand) -> Result<ScanRequest> {
    let type_ref = entity::type_to_engine("", command.kind, &command.type_name)?;
    let mut seen = HashSet::new();
    for (i, column) in command.columns.iter().enumerate() {
        required(&format!("columns[{i}]"), column)?;
        if !seen.insert(column) {
            return Err(invalid(format!("columns[{i}]"), format!("{column:?} is asked for twice")));
        }
    }
    let mut order = Vec::with_capacity(command.order_by.len());
    for (i, key) in command.order_by.into_iter().enumerate() {
        required(&format!("order_by[{i}].property"), &key.property)?;
        order.push(OrderBy { property: key.property, descending: key.descending });
    }
    Ok(ScanRequest {
        type_ref,
        columns: command.columns,
        predicate: command.predicate.map(predicate::to_engine).transpose()?,
        order,
        limit: (command.limit > 0).then_some(command.limit),
    })
}

/// What a neighbourhood is asked about.
///
/// # Errors
/// [`Reason::InvalidArgument`] naming what is missing or unknown, [`Reason::LimitExceeded`] for more hops
/// than can be asked for.
pub fn neighbors_to_engine(request: v1::NeighborsRequest) -> Result<NeighborsQuery> {
    if request.start.is_empty() {
        return Err(invalid("start", "must name at least one node"));
    }
    let mut start = Vec::with_capacity(request.start.len());
    for (i, node) in request.start.into_iter().enumerate() {
        required(&format!("start[{i}].type_name"), &node.type_name)?;
        required(&format!("start[{i}].id"), &node.id)?;
        start.push((TypeRef::node(node.type_name), node.id));
    }
    let mut edges = Vec::with_capacity(request.edge_types.len());
    for (i, name) in request.edge_types.into_iter().enumerate() {
        required(&format!("edge_types[{i}]"), &name)?;
        edges.push(TypeRef::edge(name));
    }
    if request.hops > MAX_HOPS {
        let what = format!("a neighbourhood reaches {MAX_HOPS} hops at most, and {} were asked for", request.hops);
        return Err(Error::new(Reason::LimitExceeded, what)
            .with("limit", "neighbors_hops")
            .with("value", request.hops)
            .with("max", MAX_HOPS));
    }
    let limit = match request.limit {
        0 => DEFAULT_NEIGHBORS,
        n => usize::try_from(n).map_or(MAX_NEIGHBORS, |n| n.min(MAX_NEIGHBORS)),
    };
    Ok(NeighborsQuery { start, edges, direction: direction(request.direction)?, hops: request.hops.max(1), limit })
}

fn direction(number: i32) -> Result<Direction> {
    match v1::Direction::try_from(number) {
        Ok(v1::Direction::Unspecified | v1::Direction::Out) => Ok(Direction::Out),
        Ok(v1::Direction::In) => Ok(Direction::In),
        Ok(v1::Direction::Both) => Ok(Direction::Both),
        Err(_) => Err(invalid("direction", format!("{number} has no meaning this server knows"))),
    }
}

#[cfg(test)]
mod tests;
