//! The JSON form of a mutation becomes typed steps. Its shape is documented in `docs/cli.md`. Types and
//! properties that are not declared pass through, so that the write itself says what is wrong with them.

use std::collections::BTreeMap;

use omnigraph_engine::model::{Change, EdgePolicy, EntityKind, EntityWrite, Target, TypeRef, Value};
use serde::Deserialize;
use serde_json::Value as Json;

use crate::failure::{Failure, Result};
use crate::target::Reader;
use crate::{filter, literal};

type Properties = BTreeMap<String, Json>;

#[derive(Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Operation {
    Insert(Write),
    Upsert(Write),
    Update(Update),
    Delete(Delete),
}

/// The record form of the data format, with the id beside the data as well.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Write {
    r#type: Option<String>,
    edge: Option<String>,
    id: Option<String>,
    from: Option<String>,
    to: Option<String>,
    #[serde(default)]
    data: Properties,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Update {
    r#type: Option<String>,
    edge: Option<String>,
    ids: Option<Vec<String>>,
    r#where: Option<String>,
    set: Properties,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Delete {
    r#type: Option<String>,
    edge: Option<String>,
    ids: Option<Vec<String>>,
    r#where: Option<String>,
    edges: Option<Edges>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Edges {
    Cascade,
    Restrict,
}

/// Reads the steps of a mutation for the schema of what it will be applied to.
pub(crate) fn read(text: &str, reader: &Reader) -> Result<Vec<Change>> {
    let wrong = |why: &str| {
        Failure::usage(format!(
            "the mutation is not {{\"operations\":[…]}} or […]: {why}; see `omnigraph mutate --help`"
        ))
    };
    let document: Json = serde_json::from_str(text).map_err(|e| wrong(&e.to_string()))?;
    let operations = match document {
        Json::Array(operations) => operations,
        Json::Object(mut members) => match (members.remove("operations"), members.keys().next()) {
            (_, Some(other)) => return Err(wrong(&format!("{other:?} has no meaning"))),
            (Some(Json::Array(operations)), None) => operations,
            _ => return Err(wrong("the operations are missing")),
        },
        _ => return Err(wrong("it is neither an object nor an array")),
    };
    let read = |(at, json): (usize, Json)| {
        let change = Operation::deserialize(json).map_err(|e| e.to_string());
        let change = change.map_err(Failure::usage).and_then(|operation| change_of(operation, reader));
        change.map_err(|failure| match failure.reason() {
            // What the graph says stays as it is.
            Some(_) => failure,
            None => Failure::new(failure.exit(), format!("operation {}: {}", at + 1, failure.message())),
        })
    };
    operations.into_iter().enumerate().map(read).collect()
}

fn change_of(operation: Operation, reader: &Reader) -> Result<Change> {
    match operation {
        Operation::Insert(write) => Ok(Change::Insert(write_of(write, reader)?)),
        Operation::Upsert(write) => Ok(Change::Upsert(write_of(write, reader)?)),
        Operation::Update(update) => {
            let type_ref = type_of(update.r#type, update.edge)?;
            let target = target_of(update.ids, update.r#where, &type_ref, reader)?;
            let set = values_of(update.set, &type_ref, reader)?;
            Ok(Change::Update { type_ref, target, set })
        }
        Operation::Delete(delete) => {
            let type_ref = type_of(delete.r#type, delete.edge)?;
            if delete.edges.is_some() && type_ref.kind == EntityKind::Edge {
                return Err(Failure::usage(
                    "\"edges\" says what becomes of a node's edges and means nothing for edges",
                ));
            }
            let target = target_of(delete.ids, delete.r#where, &type_ref, reader)?;
            let edges = match delete.edges {
                Some(Edges::Restrict) => EdgePolicy::Restrict,
                Some(Edges::Cascade) | None => EdgePolicy::Cascade,
            };
            Ok(Change::Delete { type_ref, target, edges })
        }
    }
}

fn type_of(node: Option<String>, edge: Option<String>) -> Result<TypeRef> {
    match (node, edge) {
        (Some(name), None) => Ok(TypeRef::node(name)),
        (None, Some(name)) => Ok(TypeRef::edge(name)),
        _ => Err(Failure::usage("name a node type as \"type\" or an edge type as \"edge\"")),
    }
}

fn write_of(write: Write, reader: &Reader) -> Result<EntityWrite> {
    let type_ref = type_of(write.r#type, write.edge)?;
    let mut data = write.data;
    let inside = match data.remove("id") {
        None | Some(Json::Null) => None,
        Some(Json::String(id)) => Some(id),
        Some(other) => return Err(Failure::usage(format!("an id is a text, found {other}"))),
    };
    if let (Some(one), Some(other)) = (&write.id, &inside)
        && one != other
    {
        return Err(Failure::usage(format!("two different ids, {one:?} and {other:?}")));
    }
    let endpoints = match (type_ref.kind, write.from, write.to) {
        (EntityKind::Node, None, None) | (EntityKind::Edge, None, None) => None,
        (EntityKind::Edge, Some(from), Some(to)) => Some((from, to)),
        (EntityKind::Edge, ..) => {
            return Err(Failure::usage("an edge has both \"from\" and \"to\""));
        }
        (EntityKind::Node, ..) => {
            return Err(Failure::usage("a node has neither \"from\" nor \"to\""));
        }
    };
    Ok(EntityWrite { id: write.id.or(inside), endpoints, properties: values_of(data, &type_ref, reader)?, type_ref })
}

fn target_of(
    ids: Option<Vec<String>>,
    condition: Option<String>,
    type_ref: &TypeRef,
    reader: &Reader,
) -> Result<Target> {
    match (ids, condition) {
        (Some(ids), None) => Ok(Target::Ids(ids)),
        (None, Some(condition)) => Ok(Target::Where(filter::read_one(&condition, reader, type_ref)?)),
        _ => Err(Failure::usage("say which entities: either \"ids\" or \"where\"")),
    }
}

fn values_of(properties: Properties, type_ref: &TypeRef, reader: &Reader) -> Result<BTreeMap<String, Value>> {
    let value = |(name, json): (String, Json)| {
        let ty = reader.schema.get(type_ref).and_then(|ty| ty.property(&name)).map(|p| &p.ty);
        let value = literal::from_json(&json, ty);
        let value = value.map_err(|why| Failure::usage(format!("{}.{name}: {why}", type_ref.name)))?;
        Ok((name, value))
    };
    properties.into_iter().map(value).collect()
}
