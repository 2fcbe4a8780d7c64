//! What writes ask for: conditions, operations, load modes and formats.

use omnigraph_engine::data::{Compression, InputFormat};
use omnigraph_engine::error::{Error, Reason, Result};
use omnigraph_engine::model::{
    Actor, Change, EdgePolicy, EntityKind, EntityWrite, LoadMode, Target, TypeRef, WriteOptions,
};
use omnigraph_proto::v1::operation::Kind;
use omnigraph_proto::{feature, v1};

use super::{entity, invalid, predicate, required, set, value};

/// Refuses behaviours that this server does not know.
///
/// # Errors
/// [`Reason::UnsupportedFeature`] naming the first.
pub fn check_features(required: &[String]) -> Result<()> {
    match feature::first_unknown(required) {
        None => Ok(()),
        Some(name) => {
            let what = format!("this server does not know the required feature {name:?}; nothing was done");
            Err(Error::new(Reason::UnsupportedFeature, what).with("feature", name))
        }
    }
}

/// The graph and the options of a write by `actor`.
///
/// # Errors
/// [`Reason::InvalidArgument`] if they or the graph are not set, [`Reason::UnsupportedFeature`].
pub fn options_to_engine(options: Option<v1::WriteOptions>, actor: Actor) -> Result<(String, WriteOptions)> {
    let options = set("options", options)?;
    check_features(&options.required_features)?;
    required("options.graph", &options.graph)?;
    let out = WriteOptions {
        branch: options.branch,
        expected_head: options.expected_head,
        request_id: options.request_id,
        message: options.message,
        actor,
    };
    Ok((options.graph, out))
}

/// The steps of a mutation.
///
/// # Errors
/// [`Reason::InvalidArgument`] naming what is missing, and what values and filters may get wrong.
pub fn operations_to_engine(operations: Vec<v1::Operation>) -> Result<Vec<Change>> {
    let step = |(i, operation)| change_to_engine(&format!("operations[{i}]"), operation);
    operations.into_iter().enumerate().map(step).collect()
}

/// One step of a mutation; `path` is where the request has it.
///
/// # Errors
/// As [`operations_to_engine`].
pub fn change_to_engine(path: &str, operation: v1::Operation) -> Result<Change> {
    Ok(match set(path, operation.kind)? {
        Kind::InsertNode(v) => {
            let path = format!("{path}.insert_node");
            Change::Insert(draft(&path, TypeRef::node(v.type_name), v.id, None, v.properties)?)
        }
        Kind::UpsertNode(v) => {
            let path = format!("{path}.upsert_node");
            Change::Upsert(draft(&path, TypeRef::node(v.type_name), v.id, None, v.properties)?)
        }
        Kind::InsertEdge(v) => {
            let path = format!("{path}.insert_edge");
            required(&format!("{path}.from_id"), &v.from_id)?;
            required(&format!("{path}.to_id"), &v.to_id)?;
            let ends = Some((v.from_id, v.to_id));
            Change::Insert(draft(&path, TypeRef::edge(v.type_name), v.id, ends, v.properties)?)
        }
        Kind::UpsertEdge(v) => {
            let path = format!("{path}.upsert_edge");
            let ends = upsert_ends(&path, v.from_id, v.to_id)?;
            Change::Upsert(draft(&path, TypeRef::edge(v.type_name), v.id, ends, v.properties)?)
        }
        Kind::Update(v) => {
            let path = format!("{path}.update");
            if v.set.is_empty() {
                return Err(invalid(format!("{path}.set"), "must name at least one property"));
            }
            Change::Update {
                type_ref: entity::type_to_engine(&format!("{path}."), v.kind, &v.type_name)?,
                target: target(&format!("{path}.target"), v.target)?,
                set: value::properties_to_engine(&format!("{path}.set"), v.set)?,
            }
        }
        Kind::Delete(v) => {
            let path = format!("{path}.delete");
            Change::Delete {
                type_ref: entity::type_to_engine(&format!("{path}."), v.kind, &v.type_name)?,
                target: target(&format!("{path}.target"), v.target)?,
                edges: edge_policy(&format!("{path}.edges"), v.edges)?,
            }
        }
    })
}

fn draft(
    path: &str,
    type_ref: TypeRef,
    id: String,
    endpoints: Option<(String, String)>,
    properties: std::collections::BTreeMap<String, v1::Value>,
) -> Result<EntityWrite> {
    required(&format!("{path}.type_name"), &type_ref.name)?;
    Ok(EntityWrite {
        type_ref,
        id: (!id.is_empty()).then_some(id),
        endpoints,
        properties: value::properties_to_engine(&format!("{path}.properties"), properties)?,
    })
}

/// Both ends or neither: the engine moves an edge as a whole.
fn upsert_ends(path: &str, from: String, to: String) -> Result<Option<(String, String)>> {
    match (from.is_empty(), to.is_empty()) {
        (true, true) => Ok(None),
        (false, false) => Ok(Some((from, to))),
        (true, false) => Err(invalid(format!("{path}.from_id"), "give both ends of the edge, or neither")),
        (false, true) => Err(invalid(format!("{path}.to_id"), "give both ends of the edge, or neither")),
    }
}

fn target(path: &str, target: Option<v1::Target>) -> Result<Target> {
    match set(path, target.and_then(|t| t.kind))? {
        v1::target::Kind::Ids(ids) => Ok(Target::Ids(ids.ids)),
        v1::target::Kind::Predicate(p) => Ok(Target::Where(predicate::to_engine(p)?)),
    }
}

fn edge_policy(field: &str, policy: i32) -> Result<EdgePolicy> {
    match v1::EdgePolicy::try_from(policy) {
        Ok(v1::EdgePolicy::Unspecified | v1::EdgePolicy::Cascade) => Ok(EdgePolicy::Cascade),
        Ok(v1::EdgePolicy::Restrict) => Ok(EdgePolicy::Restrict),
        Err(_) => Err(unknown(field, policy)),
    }
}

/// A step as a message.
pub fn change_to_proto(change: Change) -> v1::Operation {
    let kind = match change {
        Change::Insert(w) => match write_parts(w) {
            (EntityKind::Node, type_name, id, _, properties) => {
                Kind::InsertNode(v1::InsertNode { type_name, id, properties })
            }
            (EntityKind::Edge, type_name, id, (from_id, to_id), properties) => {
                Kind::InsertEdge(v1::InsertEdge { type_name, id, from_id, to_id, properties })
            }
        },
        Change::Upsert(w) => match write_parts(w) {
            (EntityKind::Node, type_name, id, _, properties) => {
                Kind::UpsertNode(v1::UpsertNode { type_name, id, properties })
            }
            (EntityKind::Edge, type_name, id, (from_id, to_id), properties) => {
                Kind::UpsertEdge(v1::UpsertEdge { type_name, id, from_id, to_id, properties })
            }
        },
        Change::Update { type_ref, target, set } => Kind::Update(v1::Update {
            kind: entity::kind_to_proto(type_ref.kind),
            type_name: type_ref.name,
            target: Some(target_to_proto(target)),
            set: value::properties_to_proto(set),
        }),
        Change::Delete { type_ref, target, edges } => Kind::Delete(v1::Delete {
            kind: entity::kind_to_proto(type_ref.kind),
            type_name: type_ref.name,
            target: Some(target_to_proto(target)),
            edges: match edges {
                EdgePolicy::Cascade => v1::EdgePolicy::Cascade,
                EdgePolicy::Restrict => v1::EdgePolicy::Restrict,
            }
            .into(),
        }),
    };
    v1::Operation { kind: Some(kind) }
}

type WriteParts = (EntityKind, String, String, (String, String), std::collections::BTreeMap<String, v1::Value>);

fn write_parts(w: EntityWrite) -> WriteParts {
    let ends = w.endpoints.unwrap_or_default();
    let properties = value::properties_to_proto(w.properties);
    (w.type_ref.kind, w.type_ref.name, w.id.unwrap_or_default(), ends, properties)
}

fn target_to_proto(target: Target) -> v1::Target {
    let kind = match target {
        Target::Ids(ids) => v1::target::Kind::Ids(v1::EntityIds { ids }),
        Target::Where(p) => v1::target::Kind::Predicate(predicate::to_proto(p)),
    };
    v1::Target { kind: Some(kind) }
}

/// What a load does with entities that exist.
///
/// # Errors
/// [`Reason::InvalidArgument`] for a mode this server does not know.
pub fn mode_to_engine(field: &str, mode: i32) -> Result<LoadMode> {
    match v1::LoadMode::try_from(mode) {
        Ok(v1::LoadMode::Unspecified | v1::LoadMode::Append) => Ok(LoadMode::Append),
        Ok(v1::LoadMode::Merge) => Ok(LoadMode::Merge),
        Ok(v1::LoadMode::Overwrite) => Ok(LoadMode::Overwrite),
        Err(_) => Err(unknown(field, mode)),
    }
}

/// The form of a load's bytes, their compression, and the type they are of where the form does not say.
///
/// # Errors
/// [`Reason::InvalidArgument`] for a format or compression this server does not know, and for a type that
/// is missing or not wanted.
pub fn format_to_engine(header: &v1::LoadHeader) -> Result<(InputFormat, Compression, Option<TypeRef>)> {
    let format = match v1::LoadFormat::try_from(header.format) {
        Ok(v1::LoadFormat::Unspecified | v1::LoadFormat::Jsonl) => InputFormat::Jsonl,
        Ok(v1::LoadFormat::ArrowIpc) => InputFormat::ArrowIpc,
        Ok(v1::LoadFormat::Parquet) => InputFormat::Parquet,
        Ok(v1::LoadFormat::Csv) => InputFormat::Csv,
        Err(_) => return Err(unknown("header.format", header.format)),
    };
    let compression = match v1::Compression::try_from(header.compression) {
        Ok(v1::Compression::Unspecified) => Compression::Auto,
        Ok(v1::Compression::None) => Compression::None,
        Ok(v1::Compression::Gzip) => Compression::Gzip,
        Ok(v1::Compression::Zstd) => Compression::Zstd,
        Err(_) => return Err(unknown("header.compression", header.compression)),
    };
    let type_ref = if format == InputFormat::Jsonl {
        if header.kind != 0 || !header.type_name.is_empty() {
            return Err(invalid("header.type_name", "JSON records name their own types; leave it out"));
        }
        None
    } else {
        Some(entity::type_to_engine("header.", header.kind, &header.type_name)?)
    };
    Ok((format, compression, type_ref))
}

fn unknown(field: &str, number: i32) -> Error {
    invalid(field, format!("{number} has no meaning this server knows"))
}

#[cfg(test)]
mod tests;
