//! Where things stand under a root. Pure.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::id;
use crate::model::{EntityKind, TypeRef};

/// The manifest dataset.
pub const MANIFEST: &str = "__manifest";
/// The recovery log dataset.
pub const RECOVERIES: &str = "_graph_commit_recoveries.lance";
/// The folder of intents.
pub const INTENTS: &str = "__recovery";
/// The folder of the documents that make branches and tags exist.
pub const REFS: &str = "_refs";
/// The folder of branch documents.
pub const BRANCHES: &str = "_refs/branches";
/// The folder of tag documents.
pub const TAGS: &str = "_refs/tags";
/// The folder of the documents that say what running reads hold.
pub const READERS: &str = "_refs/readers";
/// The marker a cleanup moves before it removes anything.
pub const RETENTION: &str = "_refs/retention.json";

/// Everything but what is safe in a file name on every system.
const NAME: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

/// The `n`-th candidate for a type's dataset: a path that is taken by something else is skipped.
pub fn dataset(type_ref: &TypeRef, n: u32) -> String {
    use std::hash::Hasher;
    let mut hash = fnv::FnvHasher::default();
    hash.write(type_ref.name.as_bytes());
    let folder = match type_ref.kind {
        EntityKind::Node => "nodes",
        EntityKind::Edge => "edges",
    };
    match n {
        0 => format!("{folder}/{:016x}", hash.finish()),
        n => format!("{folder}/{:016x}-{n}", hash.finish()),
    }
}

/// The document with which the store's conditions are probed. `unique` must be nobody else's.
pub fn probe(unique: &str) -> String {
    format!("{REFS}/probe-{unique}")
}

/// The document of a branch.
pub fn branch(name: &str) -> String {
    named(BRANCHES, name)
}

/// The document of a tag.
pub fn tag(name: &str) -> String {
    named(TAGS, name)
}

fn named(folder: &str, name: &str) -> String {
    // A name of dots alone would mean another folder.
    let encoded = utf8_percent_encode(name, NAME).to_string();
    let safe = if encoded.bytes().all(|b| b == b'.') { encoded.replace('.', "%2E") } else { encoded };
    format!("{folder}/{safe}.json")
}

/// The document of a reader's lease.
pub fn reader(lease: &str) -> String {
    format!("{READERS}/{lease}.json")
}

/// The branch a document below [`BRANCHES`] is about; `None` if it is no branch document.
pub fn branch_of(file: &str) -> Option<String> {
    name_of(file)
}

/// The tag a document below [`TAGS`] is about; `None` if it is no tag document.
pub fn tag_of(file: &str) -> Option<String> {
    name_of(file)
}

fn name_of(file: &str) -> Option<String> {
    let encoded = file.strip_suffix(".json")?;
    percent_decode_str(encoded).decode_utf8().ok().map(|n| n.into_owned())
}

/// The name of the claim on the turn after `version` of a branch: whoever creates this document holds
/// the turn, and no other name can claim it.
pub fn claim_id(branch_id: &str, version: u64) -> String {
    id::derived(&["claim", branch_id, &version.to_string()])
}

/// The document of a claim.
pub fn intent(claim_id: &str) -> String {
    format!("{INTENTS}/{claim_id}.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_never_leave_their_folder() {
        for name in ["main", "review/1", "a b", "50%", "..", ".", "ünï", "a.json", "x%2Fy", "CON"] {
            for (path, folder, back) in [
                (branch(name), "_refs/branches/", branch_of as fn(&str) -> Option<String>),
                (tag(name), "_refs/tags/", tag_of),
            ] {
                let file = path.strip_prefix(folder).unwrap();
                assert!(!file.contains('/'), "{path}");
                assert_eq!(back(file).as_deref(), Some(name));
            }
        }
    }

    #[test]
    fn dataset_paths_are_fixed() {
        assert_eq!(dataset(&TypeRef::node("Person"), 0), "nodes/40d76f1f51639ec0");
        assert_eq!(dataset(&TypeRef::edge("Person"), 2), "edges/40d76f1f51639ec0-2");
    }

    #[test]
    fn a_claim_belongs_to_one_version_of_one_incarnation() {
        assert_eq!(claim_id("b", 7), claim_id("b", 7));
        assert_ne!(claim_id("b", 7), claim_id("b", 8));
        assert_ne!(claim_id("b", 7), claim_id("c", 7));
    }
}
