//! Each rule fires on a bad sample and is silent on a good one.

use omnigraph_tidy::{Offence, Tree, report, rules};

const PACKAGE: &str =
    "[package]\nname = \"x\"\nlicense = \"Apache-2.0\"\ndescription = \"x\"\n[lints]\nworkspace = true\n";

/// Checks that `check` finds exactly these `path:line`s, in any order.
#[track_caller]
fn expect(check: fn(&Tree) -> Vec<Offence>, files: &[(&str, &str)], places: &[&str]) {
    let tree = Tree::from_texts(files.iter().copied());
    assert!(tree.unparsed.is_empty(), "{}", report(&tree.unparsed));
    let offences = check(&tree);
    let mut found: Vec<String> = offences.iter().map(|offence| format!("{}:{}", offence.file, offence.line)).collect();
    found.sort();
    assert_eq!(found, places, "\n{}", report(&offences));
}

fn function(lines: usize, above: &str) -> String {
    let body = "    step();\n".repeat(lines - 2);
    format!("{above}pub async fn work() {{\n{body}}}\n")
}

#[test]
fn a_long_file_is_found() {
    let at_limit = "// line\n".repeat(600);
    let over = "// line\n".repeat(601);
    expect(rules::size::check, &[("a.rs", &at_limit), ("b.rs", &over), ("c.md", &over)], &["b.rs:1"]);
}

#[test]
fn a_long_function_is_found_and_a_reason_excuses_some_of_it() {
    let check = rules::size::check;
    expect(check, &[("a.rs", &function(70, ""))], &[]);
    expect(check, &[("a.rs", &function(71, "/// Doc.\n"))], &["a.rs:2"]);
    let reason = "// long: one step after another\n#[inline]\n/// Doc.\n";
    expect(check, &[("a.rs", &function(100, reason))], &[]);
    expect(check, &[("a.rs", &function(101, reason))], &["a.rs:4"]);
    let elsewhere = "// long: another function's\n\n";
    expect(check, &[("a.rs", &function(71, elsewhere))], &["a.rs:3"]);
    expect(check, &[("a.rs", &function(71, "// long:\n"))], &["a.rs:2"]);
}

#[test]
fn long_methods_and_nested_functions_are_found() {
    let method = format!("impl X {{\n{}}}\n", function(71, ""));
    let default = format!("trait X {{\n{}}}\n", function(71, "").replace("pub ", ""));
    let nested = format!("mod m {{\n{}}}\n", function(71, ""));
    expect(
        rules::size::check,
        &[("a.rs", &method), ("b.rs", &default), ("c.rs", &nested)],
        &["a.rs:2", "b.rs:2", "c.rs:2"],
    );
}

#[test]
fn a_long_inline_test_module_is_found() {
    let body = "    const X: u8 = 1;\n".repeat(80);
    let inline = format!("#[cfg(test)]\nmod tests {{\n{body}}}\n");
    let plain = format!("mod tables {{\n{body}}}\n");
    expect(rules::size::check, &[("a.rs", &inline), ("b.rs", &plain)], &["a.rs:2"]);
}

#[test]
fn a_missing_or_empty_header_is_found() {
    let files = [
        ("a.rs", "fn f() {}\n"),
        ("b.rs", "//! Placeholder.\n"),
        ("c.rs", "\n//! Says what it is for.\nfn f() {}\n"),
        ("d.rs", "//!\nfn f() {}\n"),
    ];
    expect(rules::header::check, &files, &["a.rs:1", "b.rs:1", "d.rs:1"]);
}

#[test]
fn upward_uses_are_found_however_they_are_spelled() {
    let root = "pub use graph::{Graph, open::OpenOptions};\npub use error::Error;\n";
    let files = [
        ("engine/src/lib.rs", root),
        ("engine/src/format/paths.rs", "use crate::store::Store;\n"),
        ("engine/src/model/value.rs", "use crate::{error::Error,\n    write::insert};\n"),
        ("engine/src/txn/plan.rs", "fn f() { crate::graph::open(); }\n"),
        ("engine/src/store/mod.rs", "type T = Vec<super::txn::Plan>;\n"),
        ("engine/src/id.rs", "wrap! { crate::model::X }\n"),
        ("engine/src/read/get.rs", "use crate::Graph;\nuse crate::Error;\n"),
        ("engine/src/manifest/heads.rs", "use super::super::recovery::sweep;\n"),
    ];
    expect(
        rules::layers::check,
        &files,
        &[
            "engine/src/format/paths.rs:1",
            "engine/src/id.rs:1",
            "engine/src/manifest/heads.rs:1",
            "engine/src/model/value.rs:2",
            "engine/src/read/get.rs:1",
            "engine/src/store/mod.rs:1",
            "engine/src/txn/plan.rs:1",
        ],
    );
}

#[test]
fn downward_uses_and_tests_are_free() {
    let tested = "use crate::model::value;\nuse super::read::get;\n#[cfg(test)]\nmod tests { use crate::graph::Graph; }\n#[cfg(test)]\nmod helpers;\n";
    let files = [
        ("engine/src/write.rs", tested),
        ("engine/src/write/helpers.rs", "use crate::engine::Engine;\n"),
        ("engine/src/write/helpers/more.rs", "use crate::engine::Engine;\n"),
        ("engine/src/format/stamp/tests.rs", "use crate::graph::Graph;\n"),
        ("engine/src/store/lance/open.rs", "use super::stage;\npub(crate) fn f() {}\n"),
    ];
    expect(rules::layers::check, &files, &[]);
}

#[test]
fn a_module_without_a_layer_is_found() {
    let files = [("engine/src/util.rs", "fn f() {}\n")];
    expect(rules::layers::check, &files, &["engine/src/util.rs:1"]);
}

#[test]
fn storage_libraries_outside_the_store_are_found() {
    let files = [
        ("engine/src/txn/stage.rs", "use lance::Dataset;\nuse lance_io::x;\n"),
        ("engine/src/store/memory.rs", "use object_store::ObjectStore;\n"),
        ("service/src/config.rs", "type S = dyn object_store::ObjectStore;\n"),
        ("engine/src/write/load.rs", "use crate::store::{lance::open, Store};\nfn f(x: X) { x.lance_branch.get(); }\n"),
        ("tests/lance/append.rs", "use lance::Dataset;\n"),
    ];
    expect(
        rules::boundaries::check,
        &files,
        &["engine/src/txn/stage.rs:1", "engine/src/txn/stage.rs:2", "service/src/config.rs:1"],
    );
}

#[test]
fn wire_libraries_in_the_engine_and_the_engine_in_clients_are_found() {
    let files = [
        ("engine/src/error/mod.rs", "use tonic::Code;\nuse prost_types::Any;\n"),
        ("sdk-rust/src/lib.rs", "use omnigraph_engine::Graph;\nuse tonic::Code;\n"),
        ("cli/src/main.rs", "use omnigraph_engine::Graph;\n"),
    ];
    expect(
        rules::boundaries::check,
        &files,
        &["engine/src/error/mod.rs:1", "engine/src/error/mod.rs:2", "sdk-rust/src/lib.rs:1"],
    );
}

#[test]
fn a_status_made_elsewhere_is_found() {
    let makes = "fn f() -> Status { tonic::Status::internal(\"x\") }\n";
    let takes = "fn f(s: Status) -> Code { s.code() }\n#[test]\nfn t() { Status::ok(\"\"); }\n";
    let files = [
        ("service/src/status.rs", makes),
        ("service/src/rpc/graph.rs", makes),
        ("service/src/rpc/branch.rs", takes),
        ("service/src/page.rs", "fn f() { x.map_err(Status::from_error) }\n"),
    ];
    expect(rules::boundaries::check, &files, &["service/src/page.rs:1", "service/src/rpc/graph.rs:1"]);
}

#[test]
fn impure_library_code_is_found() {
    let bad = "fn f() {\n println!(\"x\");\n x.unwrap();\n SystemTime::now();\n chrono::Utc::now();\n Ulid::new();\n fastrand::u8(..);\n todo!();\n y.map(Option::unwrap);\n}\n";
    let places = (2..=9).map(|line| format!("engine/src/txn/commit.rs:{line}"));
    let places: Vec<String> = places.collect();
    let places: Vec<&str> = places.iter().map(String::as_str).collect();
    expect(rules::impure::check, &[("engine/src/txn/commit.rs", bad), ("tests/e2e/load.rs", bad)], &places);
}

#[test]
fn injected_modules_output_and_tests_are_free() {
    let files = [
        ("engine/src/clock.rs", "fn now() { SystemTime::now(); }\n"),
        ("engine/src/id.rs", "fn id() { Ulid::new(); fastrand::u64(..); }\n"),
        ("cli/src/output.rs", "fn f() { println!(); }\n"),
        ("cli/src/output_table.rs", "fn f() { eprintln!(); }\n"),
        (
            "engine/src/read/scan.rs",
            "fn f() { x.unwrap_or(1); w.now(); rand(); }\n#[tokio::test]\nasync fn t() { x.unwrap(); }\n",
        ),
    ];
    expect(rules::impure::check, &files, &[]);
}

#[test]
fn forbidden_words_in_comments_are_found() {
    let rust = "// TODO later\n/* see RFC-12 */\n/// Since 2024-01-31.\nfn f() {} // (#17)\n//! fixed in issue 9\n";
    let rust = rust.replace("//! fixed", "// fixed");
    let files = [("a.rs", rust.as_str()), ("b.proto", "// FIXME\n"), ("c.sh", "x=1 # XXX\n")];
    expect(rules::words::check, &files, &["a.rs:1", "a.rs:2", "a.rs:3", "a.rs:4", "a.rs:5", "b.proto:1", "c.sh:1"]);
}

#[test]
fn samples_and_standards_in_comments_are_free() {
    let text = "/// RFC 3339, as in `2013-01-31`, and UTF-8.\n/// ```\n/// date(2013-01-31) // #1\n/// ```\nconst X: &str = \"TODO 2024-01-31 #12\";\n";
    expect(rules::words::check, &[("a.rs", text)], &[]);
}

#[test]
fn paths_of_a_machine_are_found() {
    let work = ["cd /wo", "rk/x\n"].concat();
    let home = ["ok\npath = \"/ro", "ot/.cargo\"\n"].concat();
    let inside = ["https://example.org/wo", "rk/x ./wo", "rk/y\n"].concat();
    let files = [("a.sh", work.as_str()), ("b.toml", home.as_str()), ("c.md", inside.as_str())];
    expect(rules::absolute::check, &files, &["a.sh:1", "b.toml:2"]);
}

#[test]
fn careless_manifests_are_found() {
    let root = "[workspace.package]\nlicense = \"Apache-2.0\"\n";
    let good = "[package]\nlicense.workspace = true\ndescription = \"x\"\n[lints]\nworkspace = true\n[dependencies]\nurl.workspace = true\nhttp = { workspace = true }\n";
    let bad = "[package]\nlicense = \"MIT\"\n[dependencies]\nlance-io.workspace = true\nurl = \"2\"\n";
    let engine = "[package]\nlicense.workspace = true\ndescription = \"x\"\n[lints]\nworkspace = true\n[dependencies]\nlance.workspace = true\ntonic.workspace = true\n";
    let files =
        [("Cargo.toml", root), ("good/Cargo.toml", good), ("bad/Cargo.toml", bad), ("engine/Cargo.toml", engine)];
    expect(
        rules::manifests::check,
        &files,
        &[
            "bad/Cargo.toml:1",
            "bad/Cargo.toml:1",
            "bad/Cargo.toml:1",
            "bad/Cargo.toml:4",
            "bad/Cargo.toml:5",
            "engine/Cargo.toml:8",
        ],
    );
}

#[test]
fn a_forgotten_source_is_found() {
    let manifest = format!("{PACKAGE}[[test]]\nname = \"e2e\"\npath = \"e2e/main.rs\"\n");
    let files = [
        ("tests/Cargo.toml", manifest.as_str()),
        ("tests/src/lib.rs", "mod helpers;\ninclude!(\"made.rs\");\nmod a { mod b; }\n"),
        ("tests/src/helpers.rs", "mod server;\n"),
        ("tests/src/helpers/server.rs", ""),
        ("tests/src/made.rs", ""),
        ("tests/src/a/b.rs", ""),
        ("tests/src/bin/bench.rs", ""),
        ("tests/e2e/main.rs", "mod load;\n#[path = \"../shared/odd.rs\"]\nmod odd;\n"),
        ("tests/e2e/load.rs", ""),
        ("tests/e2e/forgotten.rs", ""),
        ("tests/shared/odd.rs", ""),
        ("tests/tests/found.rs", ""),
        ("tests/tests/more/main.rs", "mod part;\n"),
        ("tests/tests/more/part.rs", ""),
        ("tests/tests/more/lost.rs", ""),
    ];
    expect(rules::mounts::check, &files, &["tests/e2e/forgotten.rs:1", "tests/tests/more/lost.rs:1"]);
}
