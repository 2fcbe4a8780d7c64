//! The repository keeps its own rules. One test a rule, so that a failure names it.

use std::path::Path;
use std::sync::OnceLock;

use omnigraph_tidy::{Offence, Tree, report, rules};

fn tree() -> &'static Tree {
    static TREE: OnceLock<Tree> = OnceLock::new();
    TREE.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        Tree::read(&root).expect("the repository is readable")
    })
}

fn assert_none(offences: &[Offence]) {
    let count = offences.len();
    assert!(offences.is_empty(), "{count} offences:\n{}", report(offences));
}

#[test]
fn the_tree_was_read() {
    let names = ["engine/src/lib.rs", "service/src/lib.rs", "Cargo.toml"];
    for name in names {
        assert!(tree().text(name).is_some(), "{name} was not read");
    }
}

#[test]
fn every_source_parses() {
    assert_none(&tree().unparsed);
}

#[test]
fn files_and_functions_are_small() {
    assert_none(&rules::size::check(tree()));
}

#[test]
fn every_module_has_a_header() {
    assert_none(&rules::header::check(tree()));
}

#[test]
fn engine_modules_use_lower_layers_only() {
    assert_none(&rules::layers::check(tree()));
}

#[test]
fn libraries_are_named_only_where_they_belong() {
    assert_none(&rules::boundaries::check(tree()));
}

#[test]
fn library_code_is_given_time_ids_and_chance() {
    assert_none(&rules::impure::check(tree()));
}

#[test]
fn comments_hold_no_tickets_dates_or_promises() {
    assert_none(&rules::words::check(tree()));
}

#[test]
fn no_file_names_a_machine() {
    assert_none(&rules::absolute::check(tree()));
}

#[test]
fn manifests_say_licence_lints_and_shared_versions() {
    assert_none(&rules::manifests::check(tree()));
}

#[test]
fn no_source_is_forgotten() {
    assert_none(&rules::mounts::check(tree()));
}
