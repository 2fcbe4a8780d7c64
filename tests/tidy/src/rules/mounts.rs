//! No forgotten files: every Rust source is reached from a target of its package.

use std::collections::BTreeSet;

use toml::{Table, Value};

use crate::source::join;
use crate::{Offence, Tree};

/// Sections of a manifest that name targets by path, with the folder where cargo finds more.
const TARGETS: [(&str, &str, &str); 4] = [
    ("bin", "autobins", "src/bin"),
    ("test", "autotests", "tests"),
    ("example", "autoexamples", "examples"),
    ("bench", "autobenches", "benches"),
];

/// Sources that no target mounts, and mounts without a file.
pub fn check(tree: &Tree) -> Vec<Offence> {
    let sources: BTreeSet<&str> = tree.sources.iter().map(|s| s.path.as_str()).collect();
    let mut reached = BTreeSet::new();
    let mut next: Vec<String> = roots(tree, &sources).into_iter().collect();
    while let Some(path) = next.pop() {
        if !reached.insert(path.clone()) {
            continue;
        }
        let mounts = tree.source(&path).map(|source| &source.mounts);
        for mount in mounts.into_iter().flatten() {
            let found = mount.candidates.iter();
            next.extend(found.filter(|path| sources.contains(path.as_str())).cloned());
        }
    }
    let forgotten = sources.iter().filter(|path| !reached.contains(**path));
    forgotten
        .map(|path| {
            Offence::new(
                *path,
                1,
                "no target mounts this file, so nothing in it runs",
                "declare it with `mod` in its parent, or delete it",
            )
        })
        .collect()
}

/// The root file of every target of every package.
fn roots(tree: &Tree, sources: &BTreeSet<&str>) -> BTreeSet<String> {
    let mut roots = BTreeSet::new();
    for file in &tree.texts {
        let Some(folder) = file.path.strip_suffix("Cargo.toml") else {
            continue;
        };
        let Ok(manifest) = file.text.parse::<Table>() else {
            continue;
        };
        if manifest.contains_key("package") {
            let folder = folder.trim_end_matches('/');
            package_roots(folder, &manifest, sources, &mut roots);
        }
    }
    roots
}

fn package_roots(folder: &str, manifest: &Table, sources: &BTreeSet<&str>, roots: &mut BTreeSet<String>) {
    let package = manifest.get("package").and_then(Value::as_table);
    for fixed in ["src/lib.rs", "src/main.rs", "build.rs"] {
        roots.insert(join(folder, fixed));
    }
    if let Some(path) = path_of(manifest.get("lib")) {
        roots.insert(join(folder, path));
    }
    for (section, switch, found_in) in TARGETS {
        let targets = manifest.get(section).and_then(Value::as_array);
        for target in targets.into_iter().flatten() {
            if let Some(path) = path_of(Some(target)) {
                roots.insert(join(folder, path));
            }
        }
        let found = package.and_then(|package| package.get(switch)?.as_bool());
        if found == Some(false) {
            continue;
        }
        let found_in = join(folder, found_in);
        let inside = |path: &&&str| is_found(path, &found_in);
        roots.extend(sources.iter().filter(inside).map(ToString::to_string));
    }
}

fn path_of(target: Option<&Value>) -> Option<&str> {
    target?.get("path")?.as_str()
}

/// `folder/name.rs` or `folder/name/main.rs`.
fn is_found(path: &str, folder: &str) -> bool {
    let below = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
    below.is_some_and(|below| {
        let parts: Vec<&str> = below.split('/').collect();
        parts.len() == 1 || (parts.len() == 2 && parts[1] == "main.rs")
    })
}
