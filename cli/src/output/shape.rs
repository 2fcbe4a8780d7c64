//! The JSON forms of everything a command answers. They are documented in `docs/cli.md` and stable: members
//! may be added, none is renamed or removed. Pure.

use omnigraph_engine::maintenance::optimize::OptimizeReport;
use omnigraph_engine::maintenance::verify::VerifyReport;
use omnigraph_engine::model::{
    BranchInfo, CommitInfo, Entity, EntityKind, EntityType, IndexDecl, Metric, ReadSelector, Schema, TypeCounts,
    TypeRef,
};
use omnigraph_engine::read::neighbors::Neighborhood;
use serde_json::{Map, Value as Json, json};

use super::merge;
use crate::failure::Failure;
use crate::literal::{datetime, to_json, type_name};
use crate::target::{About, Outcome, Recovery, Stored};

/// Counts of types that changed, nodes before edges, each by name.
pub(crate) fn in_order(counts: &[TypeCounts]) -> Vec<&TypeCounts> {
    let changed = counts.iter().filter(|c| c.inserted + c.updated + c.deleted > 0);
    let mut counts: Vec<&TypeCounts> = changed.collect();
    counts.sort_by(|a, b| a.type_ref.cmp(&b.type_ref));
    counts
}

/// Counts, one entry for each type that changed.
pub(crate) fn counts(counts: &[TypeCounts]) -> Json {
    let one = |c: &&TypeCounts| {
        json!({
            "kind": c.type_ref.kind.as_str(),
            "type": c.type_ref.name,
            "inserted": c.inserted,
            "updated": c.updated,
            "deleted": c.deleted,
        })
    };
    in_order(counts).iter().map(one).collect()
}

/// Empty text as null.
pub(crate) fn some(text: &str) -> Json {
    if text.is_empty() { Json::Null } else { json!(text) }
}

/// What a write did.
pub(crate) fn outcome(outcome: &Outcome) -> Json {
    json!({
        "commit": outcome.commit,
        "parents": outcome.parents,
        "branch": outcome.branch,
        "changed": outcome.changed,
        "replayed": outcome.replayed,
        "created_at": outcome.created_at.map(datetime),
        "counts": counts(&outcome.counts),
    })
}

/// A commit.
pub(crate) fn commit(commit: &CommitInfo) -> Json {
    json!({
        "id": commit.id,
        "parents": commit.parents,
        "branch": commit.branch,
        "actor": commit.actor.0,
        "created_at": datetime(commit.created_at),
        "message": some(&commit.message),
        "request_id": some(&commit.request_id),
        "operation": commit.operation,
        "manifest_version": commit.manifest_version,
        "counts": counts(&commit.counts),
        "merge": commit.merge.as_deref().map(merge::note_json),
        "imported": commit.imported.as_deref().map(|from| json!({"id": from.id, "created_at": datetime(from.created_at)})),
    })
}

/// A branch.
pub(crate) fn branch(branch: &BranchInfo) -> Json {
    json!({
        "name": branch.name,
        "branch_id": branch.branch_id,
        "parent": some(&branch.parent),
        "forked_from": some(&branch.forked_from),
        "head": branch.head,
        "created_at": datetime(branch.created_at),
        "actor": branch.actor.0,
        "protected": branch.protected,
    })
}

/// An entity, in the form that a load reads.
pub(crate) fn entity(entity: &Entity, schema: &Schema) -> Json {
    let mut record = Map::new();
    match (entity.type_ref.kind, &entity.endpoints) {
        (EntityKind::Node, _) => {
            record.insert("type".into(), json!(entity.type_ref.name));
        }
        (EntityKind::Edge, endpoints) => {
            record.insert("edge".into(), json!(entity.type_ref.name));
            if let Some((from, to)) = endpoints {
                record.insert("from".into(), json!(from));
                record.insert("to".into(), json!(to));
            }
        }
    }
    let mut data = Map::new();
    data.insert("id".into(), json!(entity.id));
    let ty = schema.get(&entity.type_ref);
    for name in property_order(entity, ty) {
        if let Some(value) = entity.properties.get(name) {
            let ty = ty.and_then(|ty| ty.property(name)).map(|property| &property.ty);
            data.insert(name.to_string(), to_json(value, ty));
        }
    }
    record.insert("data".into(), Json::Object(data));
    Json::Object(record)
}

/// Names of an entity's properties: declared ones in declared order, then others by name.
pub(crate) fn property_order<'a>(entity: &'a Entity, ty: Option<&'a EntityType>) -> Vec<&'a str> {
    let declared = ty.into_iter().flat_map(|ty| ty.properties.iter().map(|property| property.name.as_str()));
    let mut names: Vec<&str> = declared.filter(|name| entity.properties.contains_key(*name)).collect();
    let others = entity.properties.keys().map(String::as_str);
    let others: Vec<&str> = others.filter(|name| !names.contains(name)).collect();
    names.extend(others);
    names
}

/// What is near.
pub(crate) fn neighborhood(commit: &str, found: &Neighborhood, schema: &Schema) -> Json {
    let all = |neighbors: &[(Entity, u32)]| -> Json {
        let one = |(neighbor, distance): &(Entity, u32)| {
            let mut json = entity(neighbor, schema);
            json["distance"] = json!(distance);
            json
        };
        neighbors.iter().map(one).collect()
    };
    json!({
        "commit": commit,
        "nodes": all(&found.nodes),
        "edges": all(&found.edges),
        "truncated": found.truncated,
    })
}

/// The branch a selector goes through, if it does.
fn branch_of(selector: &ReadSelector) -> Option<&str> {
    match selector {
        ReadSelector::Branch(branch)
        | ReadSelector::BranchAsOf { branch, .. }
        | ReadSelector::AtLeast { branch, .. }
        | ReadSelector::Version { branch, .. } => Some(branch),
        ReadSelector::Commit(_) | ReadSelector::Tag(_) => None,
    }
}

/// How a version is stored.
pub(crate) fn stored(stored: &Stored, selector: &ReadSelector) -> Json {
    let tables = stored.tables.iter().map(|table| {
        json!({
            "kind": table.type_ref.kind.as_str(),
            "type": table.type_ref.name,
            "location": table.location,
            "lance_branch": table.lance_branch,
            "version": table.version,
            "rows": table.rows,
        })
    });
    json!({
        "commit": stored.commit,
        "branch": branch_of(selector),
        "root": stored.root,
        "storage_stamp": stored.stamp,
        "manifest_branch": stored.manifest_branch,
        "manifest_version": stored.manifest_version,
        "tables": tables.collect::<Vec<_>>(),
    })
}

/// A graph.
pub(crate) fn about(about: &About) -> Json {
    json!({
        "graph": about.id,
        "root": about.root,
        "storage_stamp": about.stamp,
        "head": about.head,
        "created_at": datetime(about.created_at),
    })
}

/// A schema: its text, and its types for programs.
pub(crate) fn schema(commit: &str, source: &str, schema: &Schema) -> Json {
    let types = schema.types.iter().map(|ty| {
        let properties = ty.properties.iter().map(
            |property| json!({"name": property.name, "type": type_name(&property.ty), "nullable": property.nullable}),
        );
        json!({
            "kind": ty.kind.as_str(),
            "type": ty.name,
            "from": ty.endpoints.as_ref().map(|ends| &ends.from),
            "to": ty.endpoints.as_ref().map(|ends| &ends.to),
            "key": ty.key,
            "properties": properties.collect::<Vec<_>>(),
            "indexes": ty.indexes.iter().map(index).collect::<Vec<_>>(),
        })
    });
    json!({"commit": commit, "source": source, "types": types.collect::<Vec<_>>()})
}

/// A declared index. No kind: whatever suits its columns; no metric: the default.
fn index(index: &IndexDecl) -> Json {
    json!({
        "columns": index.columns,
        "kind": some(index.kind.as_str()),
        "metric": index.metric.map(Metric::as_str),
    })
}

/// What a check found.
pub(crate) fn report(root: &str, report: &VerifyReport) -> Json {
    let problems = report
        .problems
        .iter()
        .map(|problem| json!({"invariant": problem.invariant, "branch": problem.branch, "detail": problem.detail}));
    json!({
        "root": root,
        "clean": report.is_clean(),
        "branches": report.branches,
        "tables": report.tables,
        "commits": report.commits,
        "pending": report.pending,
        "problems": problems.collect::<Vec<_>>(),
    })
}

/// A recovery.
pub(crate) fn recovery(recovery: &Recovery) -> Json {
    let tables = recovery.tables.iter().map(|table| {
        json!({
            "table_key": table.table_key,
            "location": table.location,
            "base_version": table.base_version,
            "observed": table.observed,
        })
    });
    json!({
        "operation": recovery.operation,
        "label": recovery.label,
        "branch": recovery.branch,
        "branch_id": recovery.branch_id,
        "base_version": recovery.base_version,
        "actor": recovery.actor,
        "outcome": recovery.outcome,
        "commit": some(&recovery.commit),
        "tables": tables.collect::<Vec<_>>(),
        "recovered_at": datetime(recovery.recovered_at),
        "recovered_by": recovery.recovered_by,
    })
}

/// What an optimize did to a branch.
pub(crate) fn optimized(report: &OptimizeReport) -> Json {
    let tables = report.tables.iter().map(|table| {
        let pending = table
            .pending_indexes
            .iter()
            .map(|p| json!({"columns": p.columns, "method": p.method.as_str(), "reason": p.reason}));
        json!({
            "table_key": table.table_key,
            "fragments_removed": table.fragments_removed,
            "fragments_added": table.fragments_added,
            "committed": table.committed,
            "skipped": table.skipped.map(|s| s.as_str()),
            "manifest_version": table.manifest_version,
            "lance_head_version": table.lance_head_version,
            "pending_indexes": pending.collect::<Vec<_>>(),
        })
    });
    json!({
        "branch": report.branch,
        "commit": report.commit,
        "tables": tables.collect::<Vec<_>>(),
        "error": null,
    })
}

/// A branch that could not be optimized.
pub(crate) fn not_optimized(branch: &str, failure: &Failure) -> Json {
    let error = json!({"reason": failure.reason(), "message": failure.message()});
    json!({"branch": branch, "commit": null, "tables": [], "error": error})
}

/// What was deleted.
pub(crate) fn deleted(what: &str, name: &str) -> Json {
    json!({"deleted": {what: name}})
}

/// A type with its kind, for people.
pub(crate) fn type_text(type_ref: &TypeRef) -> String {
    type_ref.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use omnigraph_engine::model::Value;
    use std::collections::BTreeMap;

    #[test]
    fn a_schema_lists_its_indexes() {
        let source =
            r#"node A { a: String @index @index(kind="text") v: Vector(2) @index(metric="dot") @index(v, a) }"#;
        let read = omnigraph_engine::schema::parse(source).unwrap();
        let shown = schema("c", source, &read);
        assert_eq!(
            shown["types"][0]["indexes"],
            json!([
                {"columns": ["a"], "kind": null, "metric": null},
                {"columns": ["a"], "kind": "text", "metric": null},
                {"columns": ["v"], "kind": null, "metric": "dot"},
                {"columns": ["v", "a"], "kind": null, "metric": null},
            ])
        );
    }

    #[test]
    fn an_entity_has_the_form_of_a_record() {
        let schema = omnigraph_engine::schema::parse("node A { z: I32? a: String? } edge E: A -> A {}");
        let schema = schema.unwrap();
        let node = Entity {
            type_ref: TypeRef::node("A"),
            id: "1".into(),
            endpoints: None,
            properties: BTreeMap::from([("a".into(), Value::Null), ("z".into(), Value::I64(2))]),
        };
        assert_eq!(entity(&node, &schema), json!({"type": "A", "data": {"id": "1", "z": 2, "a": null}}));
        assert_eq!(property_order(&node, schema.get(&TypeRef::node("A"))), ["z", "a"]);
        let edge = Entity {
            type_ref: TypeRef::edge("E"),
            id: "2".into(),
            endpoints: Some(("1".into(), "1".into())),
            properties: BTreeMap::new(),
        };
        assert_eq!(entity(&edge, &schema), json!({"edge": "E", "from": "1", "to": "1", "data": {"id": "2"}}));
    }
}
