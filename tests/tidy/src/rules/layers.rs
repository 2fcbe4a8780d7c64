//! The layers of the engine: a module uses its own layer and those below.

use std::collections::HashMap;

use crate::paths::Name;
use crate::{Offence, Source, Tree};

/// Root of the modules that have layers.
const ROOT: &str = "engine/src/";

/// Top-level modules of the engine, highest layer first.
pub const TABLE: [(u8, &[&str]); 8] = [
    (7, &["engine", "graph"]),
    (6, &["write", "read", "branch", "merge", "schema", "history", "archive", "maintenance"]),
    (5, &["txn", "recovery"]),
    (4, &["manifest", "intent"]),
    (3, &["store"]),
    (2, &["data", "format"]),
    (1, &["model"]),
    (0, &["error", "id", "clock", "limits", "options", "failpoint", "metrics"]),
];

/// Upward uses, and modules without a layer.
pub fn check(tree: &Tree) -> Vec<Offence> {
    let exported = exports(tree);
    let mut offences = Vec::new();
    for source in &tree.sources {
        let Some(module) = module_of(&source.path) else {
            continue;
        };
        let Some(layer) = layer_of(&module[0]) else {
            offences.push(Offence::new(
                &source.path,
                1,
                format!("module `{}` has no layer", module[0]),
                "put it under an existing noun, or give it a row in the table of tests/tidy and ARCHITECTURE.md",
            ));
            continue;
        };
        for name in &source.names {
            if source.is_test_line(name.line) {
                continue;
            }
            offences.extend(judge(source, &module, layer, name, &exported));
        }
    }
    offences
}

fn judge(
    source: &Source,
    module: &[String],
    layer: u8,
    name: &Name,
    exported: &HashMap<String, String>,
) -> Option<Offence> {
    let target = resolve(module, &name.segments)?;
    let target = exported.get(&target).unwrap_or(&target);
    let above = layer_of(target).filter(|above| *above > layer)?;
    Some(Offence::new(
        &source.path,
        name.line,
        format!(
            "`{}` (layer {layer}) uses `{}`, which is `{target}` (layer {above})",
            module[0],
            name.segments.join("::"),
        ),
        "pass the value in, or move the shared part down",
    ))
}

fn layer_of(module: &str) -> Option<u8> {
    let row = TABLE.iter().find(|(_, modules)| modules.contains(&module))?;
    Some(row.0)
}

/// `engine/src/write/insert.rs` is `["write", "insert"]`; the crate root has no module.
fn module_of(path: &str) -> Option<Vec<String>> {
    let inside = path.strip_prefix(ROOT)?.strip_suffix(".rs")?;
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    if inside == "lib" {
        return None;
    }
    Some(inside.split('/').map(str::to_owned).collect())
}

/// The top-level name that a path starting with `crate`, `self` or `super` leads to.
fn resolve(module: &[String], path: &[String]) -> Option<String> {
    let first = path.first()?;
    let supers = path.iter().take_while(|part| *part == "super").count();
    match first.as_str() {
        "crate" => path.get(1).cloned(),
        "self" => Some(module[0].clone()),
        "super" if supers >= module.len() => path.get(supers).cloned(),
        "super" => Some(module[0].clone()),
        _ => None,
    }
}

/// Names that the crate root hands on, with the module each comes from.
fn exports(tree: &Tree) -> HashMap<String, String> {
    let Some(root) = tree.source("engine/src/lib.rs") else {
        return HashMap::new();
    };
    let mut exported = HashMap::new();
    for name in &root.names {
        let local = ["crate", "self"].contains(&name.first());
        let path = &name.segments[usize::from(local)..];
        if let [module, .., last] = path
            && layer_of(module).is_some()
            && layer_of(last).is_none()
        {
            exported.insert(last.clone(), module.clone());
        }
    }
    exported
}
