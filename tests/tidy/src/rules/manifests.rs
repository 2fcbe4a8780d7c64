//! What every `Cargo.toml` says: licence, lints, and one version of each dependency.

use toml::{Table, Value};

use crate::{Offence, Tree};

/// The licence of everything in the workspace.
const LICENCE: &str = "Apache-2.0";
const DEPENDENCIES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];
/// Packages that may depend on the storage library.
const MAY_STORE: [&str; 2] = ["engine/Cargo.toml", "tests/Cargo.toml"];

/// Manifests that miss a duty.
pub fn check(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    let root = tree.text("Cargo.toml").and_then(|text| text.parse::<Table>().ok());
    let is_manifest = |path: &str| path == "Cargo.toml" || path.ends_with("/Cargo.toml");
    for file in tree.texts.iter().filter(|file| is_manifest(&file.path)) {
        let manifest = Manifest { path: &file.path, text: &file.text };
        match file.text.parse::<Table>() {
            Ok(table) => manifest.check(&table, root.as_ref(), &mut offences),
            Err(error) => {
                offences.push(Offence::new(&file.path, 1, format!("not TOML: {}", error.message()), "mend it"))
            }
        }
    }
    offences
}

struct Manifest<'t> {
    path: &'t str,
    text: &'t str,
}

impl Manifest<'_> {
    fn check(&self, table: &Table, root: Option<&Table>, offences: &mut Vec<Offence>) {
        let Some(package) = table.get("package").and_then(Value::as_table) else {
            return;
        };
        let shared = root.and_then(|root| root.get("workspace")?.get("package")?.as_table());
        let licence = inherited(package, shared, "license");
        if licence.and_then(Value::as_str) != Some(LICENCE) {
            offences.push(self.offence(
                "[package]",
                "no licence, or another than the workspace's",
                "write `license.workspace = true`",
            ));
        }
        if inherited(package, shared, "description").is_none() {
            offences.push(self.offence("[package]", "no description", "say what the package is"));
        }
        let lints = table.get("lints").and_then(|lints| lints.get("workspace")?.as_bool());
        if lints != Some(true) {
            offences.push(self.offence("[lints]", "own lints", "write `[lints] workspace = true`"));
        }
        for kind in DEPENDENCIES {
            if let Some(dependencies) = table.get(kind).and_then(Value::as_table) {
                self.dependencies(dependencies, offences);
            }
        }
    }

    fn dependencies(&self, dependencies: &Table, offences: &mut Vec<Offence>) {
        for (name, entry) in dependencies {
            let shared = entry.get("workspace").and_then(Value::as_bool);
            if shared != Some(true) {
                offences.push(self.offence(
                    name,
                    &format!("`{name}` has a version of its own"),
                    "put the version in the workspace and write `name.workspace = true`",
                ));
            }
            let storage = name == "object_store" || name == "lance" || name.starts_with("lance-");
            if storage && !MAY_STORE.contains(&self.path) {
                offences.push(self.offence(
                    name,
                    &format!("depends on `{name}`"),
                    "only the engine (and its tests) depend on the storage library",
                ));
            }
            let wire = name.starts_with("tonic") || name.starts_with("prost");
            if wire && self.path.starts_with("engine/") {
                offences.push(self.offence(
                    name,
                    &format!("the engine depends on `{name}`"),
                    "the engine knows no wire format",
                ));
            }
        }
    }

    /// An offence at the first line that opens with `key`.
    fn offence(&self, key: &str, what: &str, fix: &str) -> Offence {
        let mut lines = self.text.lines();
        let line = lines.position(|line| line.trim_start().starts_with(key));
        Offence::new(self.path, line.map_or(1, |index| index + 1), what, fix)
    }
}

/// The package's own value, or the workspace's where the package says so.
fn inherited<'t>(package: &'t Table, shared: Option<&'t Table>, key: &str) -> Option<&'t Value> {
    let own = package.get(key)?;
    match own.get("workspace").and_then(Value::as_bool) {
        Some(true) => shared?.get(key),
        _ => Some(own),
    }
}
