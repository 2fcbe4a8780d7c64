//! The engine's types and the client's, one for the other. Pure; nothing is lost that a command shows.

pub(super) mod evolve;
pub(super) mod history;

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use omnigraph_client as client;
use omnigraph_engine::data::{Compression, InputFormat};
use omnigraph_engine::format::recovery_row::RecoveredTable;
use omnigraph_engine::model::branch::MAIN;
use omnigraph_engine::model::{
    Actor, BranchInfo, Change, CommitInfo, CompareOp, EdgePolicy, Entity, EntityKind, EntityWrite, LoadMode, Metric,
    Predicate, ReadSelector, Target, TypeCounts, TypeRef, Value,
};
use omnigraph_engine::read::neighbors::{Direction, Neighborhood, NeighborsQuery};
use omnigraph_engine::read::scan::ScanRequest;
use omnigraph_engine::read::search::SearchRequest;

use super::recovery::Recovery;
use super::{About, Outcome};
use crate::failure::{Failure, Result};

fn micros(moment: SystemTime) -> i64 {
    let clamp = |micros: u128| i64::try_from(micros).unwrap_or(i64::MAX);
    match moment.duration_since(UNIX_EPOCH) {
        Ok(after) => clamp(after.as_micros()),
        Err(before) => -clamp(before.duration().as_micros()),
    }
}

fn moment(micros: i64) -> SystemTime {
    let distance = Duration::from_micros(micros.unsigned_abs());
    let moment = if micros < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) };
    moment.unwrap_or(UNIX_EPOCH)
}

pub(super) fn type_in(type_ref: client::TypeRef) -> TypeRef {
    match type_ref.kind {
        client::EntityKind::Node => TypeRef::node(type_ref.name),
        client::EntityKind::Edge => TypeRef::edge(type_ref.name),
    }
}

pub(super) fn type_out(type_ref: &TypeRef) -> client::TypeRef {
    match type_ref.kind {
        EntityKind::Node => client::TypeRef::node(&type_ref.name),
        EntityKind::Edge => client::TypeRef::edge(&type_ref.name),
    }
}

fn value_in(value: client::Value) -> Value {
    match value {
        client::Value::Null => Value::Null,
        client::Value::Bool(v) => Value::Bool(v),
        client::Value::I64(v) => Value::I64(v),
        client::Value::U64(v) => Value::U64(v),
        client::Value::F64(v) => Value::F64(v),
        client::Value::String(v) => Value::String(v),
        client::Value::Bytes(v) => Value::Bytes(v),
        client::Value::Date(v) => Value::Date(v),
        client::Value::Timestamp(v) => Value::Timestamp(v),
        client::Value::List(v) => Value::List(v.into_iter().map(value_in).collect()),
        client::Value::Vector(v) => Value::Vector(v),
    }
}

fn value_out(value: Value) -> client::Value {
    match value {
        Value::Null => client::Value::Null,
        Value::Bool(v) => client::Value::Bool(v),
        Value::I64(v) => client::Value::I64(v),
        Value::U64(v) => client::Value::U64(v),
        Value::F64(v) => client::Value::F64(v),
        Value::String(v) => client::Value::String(v),
        Value::Bytes(v) => client::Value::Bytes(v),
        Value::Date(v) => client::Value::Date(v),
        Value::Timestamp(v) => client::Value::Timestamp(v),
        Value::List(v) => client::Value::List(v.into_iter().map(value_out).collect()),
        Value::Vector(v) => client::Value::Vector(v),
    }
}

fn set_out(properties: BTreeMap<String, Value>) -> impl Iterator<Item = (String, client::Value)> {
    properties.into_iter().map(|(name, value)| (name, value_out(value)))
}

pub(super) fn entity_in(entity: client::Entity) -> Entity {
    Entity {
        type_ref: type_in(entity.type_ref),
        id: entity.id,
        endpoints: entity.endpoints,
        properties: entity.properties.into_iter().map(|(name, value)| (name, value_in(value))).collect(),
    }
}

fn counts_in(counts: Vec<client::TypeCounts>) -> Vec<TypeCounts> {
    let counts = counts.into_iter().map(|c| TypeCounts {
        type_ref: type_in(c.type_ref),
        inserted: c.inserted,
        updated: c.updated,
        deleted: c.deleted,
    });
    counts.collect()
}

fn actor_in(actor: Option<String>) -> Actor {
    actor.filter(|id| !id.is_empty()).map_or_else(Actor::default, Actor)
}

pub(super) fn receipt_in(receipt: client::Receipt) -> Outcome {
    Outcome {
        commit: receipt.commit_id,
        parents: receipt.parents,
        branch: receipt.branch,
        changed: receipt.changed,
        replayed: receipt.replayed,
        counts: counts_in(receipt.counts),
        created_at: receipt.created_at.map(micros),
    }
}

pub(super) fn commit_in(commit: client::Commit) -> CommitInfo {
    CommitInfo {
        id: commit.id,
        parents: commit.parents,
        branch: commit.branch,
        actor: actor_in(commit.actor),
        created_at: micros(commit.created_at),
        message: commit.message,
        request_id: commit.request_id,
        operation: commit.operation,
        counts: counts_in(commit.counts),
        manifest_version: commit.manifest_version,
        // Not in the contract, and not shown.
        lance_branch: None,
        merge: commit.merge.map(|note| Box::new(history::note_in(note))),
        imported: None,
    }
}

pub(super) fn branch_in(branch: client::Branch) -> BranchInfo {
    let main = branch.name == MAIN && branch.branch_id.is_empty();
    BranchInfo {
        branch_id: if main { MAIN.to_string() } else { branch.branch_id },
        name: branch.name,
        parent: branch.parent,
        forked_from: branch.forked_from,
        head: branch.head.id,
        created_at: micros(branch.created_at),
        actor: actor_in(branch.actor),
        protected: branch.protected,
    }
}

pub(super) fn about_in(info: client::GraphInfo) -> About {
    About {
        id: Some(info.id),
        root: info.root_uri,
        stamp: info.storage_stamp,
        head: info.head.id,
        created_at: micros(info.created_at),
    }
}

pub(super) fn recovery_in(recovery: client::Recovery) -> Recovery {
    let main = recovery.branch == MAIN && recovery.branch_id.is_empty();
    let tables = recovery.tables.into_iter().map(|table| RecoveredTable {
        table_key: table.table,
        location: table.location,
        base_version: table.base_version,
        observed: table.found.as_str().to_string(),
    });
    Recovery {
        operation: recovery.operation_id,
        label: recovery.label,
        branch_id: if main { MAIN.to_string() } else { recovery.branch_id },
        branch: recovery.branch,
        base_version: recovery.base_version,
        actor: recovery.actor.unwrap_or_default(),
        outcome: recovery.outcome.as_str().to_string(),
        commit: recovery.commit_id,
        tables: tables.collect(),
        recovered_at: micros(recovery.recovered_at),
        recovered_by: recovery.recovered_by,
    }
}

/// A version selector is resolved before, since the contract has none; it names the branch here.
pub(super) fn selector_out(selector: &ReadSelector) -> client::Selector {
    match selector.clone() {
        ReadSelector::Branch(name) | ReadSelector::Version { branch: name, .. } => client::Selector::Branch(name),
        ReadSelector::Commit(id) => client::Selector::Commit(id),
        ReadSelector::Tag(name) => client::Selector::Tag(name),
        ReadSelector::BranchAsOf { branch, micros } => client::Selector::AsOf { branch, moment: moment(micros) },
        ReadSelector::AtLeast { branch, commit } => client::Selector::AtLeast { branch, commit },
    }
}

fn predicate_out(predicate: Predicate) -> client::Predicate {
    use client::{Predicate as P, prop};
    match predicate {
        Predicate::And(members) => P::all(members.into_iter().map(predicate_out)),
        Predicate::Or(members) => P::any(members.into_iter().map(predicate_out)),
        Predicate::Not(member) => !predicate_out(*member),
        Predicate::In { property, values } => prop(property).is_in(values.into_iter().map(value_out)),
        Predicate::IsNull { property } => prop(property).is_null(),
        Predicate::StartsWith { property, prefix } => prop(property).starts_with(prefix),
        Predicate::Contains { property, substring } => prop(property).contains(substring),
        Predicate::Compare { property, op, value } => {
            let (property, value) = (prop(property), value_out(value));
            match op {
                CompareOp::Eq => property.eq(value),
                CompareOp::Ne => property.ne(value),
                CompareOp::Lt => property.lt(value),
                CompareOp::Le => property.le(value),
                CompareOp::Gt => property.gt(value),
                CompareOp::Ge => property.ge(value),
            }
        }
    }
}

pub(super) fn scan_out(graph: &client::Graph, request: &ScanRequest) -> Result<client::Scan> {
    let mut scan = graph.scan(type_out(&request.type_ref)).columns(&request.columns);
    if let Some(predicate) = &request.predicate {
        scan = scan.filter(predicate_out(predicate.clone()));
    }
    for key in &request.order {
        scan = match key.descending {
            true => scan.order_by_descending(&key.property),
            false => scan.order_by(&key.property),
        };
    }
    match request.limit {
        // The contract writes zero for no limit.
        Some(0) => Err(Failure::usage("--limit 0 asks for nothing; leave it out for all rows")),
        Some(rows) => Ok(scan.limit(rows)),
        None => Ok(scan),
    }
}

pub(super) fn search_out(graph: &client::Graph, request: &SearchRequest) -> client::Search {
    // More than fits is more than is allowed, and is refused as such.
    let limit = u32::try_from(request.limit).unwrap_or(u32::MAX);
    let mut search = graph.search(type_out(&request.type_ref)).columns(&request.columns).limit(limit);
    if let Some(vector) = &request.vector {
        search = search.nearest(&vector.property, vector.query.as_slice());
        search = match vector.metric {
            None => search,
            Some(Metric::Cosine) => search.metric(client::IndexMetric::Cosine),
            Some(Metric::L2) => search.metric(client::IndexMetric::L2),
            Some(Metric::Dot) => search.metric(client::IndexMetric::Dot),
        };
    }
    if let Some(text) = &request.text {
        search = search.text(&text.query).within(&text.properties);
    }
    match &request.filter {
        Some(filter) => search.filter(predicate_out(filter.clone())),
        None => search,
    }
}

pub(super) fn neighbors_out(graph: &client::Graph, query: &NeighborsQuery) -> Result<client::NeighborsRead> {
    let mut start = query.start.iter();
    let (first, id) = start.next().ok_or_else(|| Failure::usage("give at least one node to start from"))?;
    let mut read = graph.neighbors(&first.name, id);
    for (type_ref, id) in start {
        read = read.and_from(&type_ref.name, id);
    }
    let direction = match query.direction {
        Direction::Out => client::Direction::Out,
        Direction::In => client::Direction::In,
        Direction::Both => client::Direction::Both,
    };
    let limit = u32::try_from(query.limit).unwrap_or(u32::MAX);
    let edges = query.edges.iter().map(|edge| &edge.name);
    Ok(read.edges(edges).direction(direction).hops(query.hops).limit(limit))
}

pub(super) fn neighborhood_in(found: client::Neighborhood) -> Neighborhood {
    let all =
        |neighbors: Vec<client::Neighbor>| neighbors.into_iter().map(|n| (entity_in(n.entity), n.distance)).collect();
    Neighborhood { nodes: all(found.nodes), edges: all(found.edges), truncated: found.truncated }
}

fn entity_out(write: EntityWrite) -> client::EntityWrite {
    let entity = client::EntityWrite::new(type_out(&write.type_ref), write.endpoints);
    entity.id(write.id.unwrap_or_default()).set_all(set_out(write.properties))
}

fn target_out(type_ref: &TypeRef, target: Target) -> client::Target {
    match target {
        Target::Ids(ids) => client::Target::ids(type_out(type_ref), ids),
        Target::Where(predicate) => client::Target::matching(type_out(type_ref), predicate_out(predicate)),
    }
}

pub(super) fn change_out(mutation: client::Mutation, change: Change) -> Result<client::Mutation> {
    Ok(match change {
        Change::Insert(write) => mutation.insert(entity_out(write)),
        Change::Upsert(write) => mutation.upsert(entity_out(write)),
        Change::Update { type_ref, target, set } => mutation.update(target_out(&type_ref, target), set_out(set)),
        Change::Delete { type_ref, target, edges } => {
            let edges = match edges {
                EdgePolicy::Cascade => client::EdgePolicy::Cascade,
                EdgePolicy::Restrict => client::EdgePolicy::Restrict,
            };
            mutation.delete_with(target_out(&type_ref, target), edges)
        }
    })
}

pub(super) fn mode_out(mode: LoadMode) -> client::LoadMode {
    match mode {
        LoadMode::Append => client::LoadMode::Append,
        LoadMode::Merge => client::LoadMode::Merge,
        LoadMode::Overwrite => client::LoadMode::Overwrite,
    }
}

pub(super) fn format_out(format: InputFormat) -> client::LoadFormat {
    match format {
        InputFormat::Jsonl => client::LoadFormat::Jsonl,
        InputFormat::Csv => client::LoadFormat::Csv,
        InputFormat::ArrowIpc => client::LoadFormat::ArrowIpc,
        InputFormat::Parquet => client::LoadFormat::Parquet,
    }
}

pub(super) fn compression_out(compression: Compression) -> client::Compression {
    match compression {
        Compression::Auto => client::Compression::Auto,
        Compression::None => client::Compression::None,
        Compression::Gzip => client::Compression::Gzip,
        Compression::Zstd => client::Compression::Zstd,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_as_they_went() {
        for value in [
            Value::Null,
            Value::I64(i64::MIN),
            Value::U64(u64::MAX),
            Value::Date(-1),
            Value::Timestamp(i64::MAX),
            Value::List(vec![Value::String("a".into()), Value::Bool(true)]),
            Value::Vector(vec![0.5]),
        ] {
            assert_eq!(value_in(value_out(value.clone())), value);
        }
    }

    #[test]
    fn moments_come_back_as_they_went() {
        for count in [0, 1, -1, 1_700_000_000_123_456] {
            assert_eq!(micros(moment(count)), count);
        }
    }
}
