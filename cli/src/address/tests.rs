//! Which word is the target, and which flags are refused.

use super::*;
use crate::args::PlaceArgs;
use crate::failure::Exit;

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(ToString::to_string).collect()
}

fn server(url: &str) -> Settings {
    Settings { server: Some(url.into()), graph: Some("g".into()), ..Settings::default() }
}

fn scope(graph: Option<&str>, place: PlaceArgs) -> ScopeArgs {
    ScopeArgs { graph: graph.map(Into::into), place }
}

fn storage(root: &str) -> Address {
    Address::Storage { root: root.into() }
}

fn remote(url: &str, graph: &str) -> Address {
    Address::Server { url: url.into(), graph: Some(graph.into()) }
}

fn found(scope: &ScopeArgs, settings: &Settings, text: &str, takes: &Words) -> (Address, Vec<String>) {
    resolve(scope, settings, words(text), takes).unwrap()
}

#[test]
fn the_first_word_is_the_target_where_nothing_else_names_one() {
    let (none, scope) = (Settings::default(), ScopeArgs::default());
    let one = Words::exactly(1, "FILE");
    let many = Words::at_least(2, "TYPE ID...");
    assert_eq!(found(&scope, &none, "g.omni f.jsonl", &one), (storage("g.omni"), words("f.jsonl")));
    assert_eq!(found(&scope, &none, "file:./g f", &one), (storage("./g"), words("f")));
    assert_eq!(found(&scope, &none, "file:///g f", &one), (storage("file:///g"), words("f")));
    assert_eq!(found(&scope, &none, "g Person a b", &many), (storage("g"), words("Person a b")));
    assert_eq!(resolve(&scope, &none, words("f.jsonl"), &one).unwrap_err().exit(), Exit::Usage);
}

#[test]
fn a_configured_place_leaves_the_words_alone_unless_one_is_a_place() {
    let (env, scope) = (server("http://h:1"), ScopeArgs::default());
    let one = Words::exactly(1, "FILE");
    let many = Words::at_least(2, "TYPE ID...");
    let there = remote("http://h:1", "g");
    assert_eq!(found(&scope, &env, "./f.jsonl", &one), (there.clone(), words("./f.jsonl")));
    assert_eq!(found(&scope, &env, "./g f.jsonl", &one), (storage("./g"), words("f.jsonl")));
    assert_eq!(found(&scope, &env, "Person a b", &many), (there, words("Person a b")));
    assert_eq!(found(&scope, &env, "s3://b/g Person a", &many), (storage("s3://b/g"), words("Person a")));
}

#[test]
fn servers_are_named_by_flag_or_word() {
    let none = Settings::default();
    let scope = scope(Some("x"), PlaceArgs { server: Some("http://h:1".into()), ..PlaceArgs::default() });
    let one = Words::exactly(1, "FILE");
    assert_eq!(found(&scope, &none, "./f", &one), (remote("http://h:1", "x"), words("./f")));
    let scope = ScopeArgs { graph: Some("x".into()), ..ScopeArgs::default() };
    assert_eq!(found(&scope, &none, "https://h f", &one), (remote("https://h", "x"), words("f")));
}

#[test]
fn flags_without_a_meaning_are_refused() {
    let none = Settings::default();
    let one = Words::exactly(1, "FILE");
    let refused = |scope: ScopeArgs, text: &str| {
        let failure = resolve(&scope, &none, words(text), &one).unwrap_err();
        assert_eq!(failure.exit(), Exit::Usage, "{}", failure.message());
    };
    let some = || Some("x".to_string());
    refused(scope(Some("x"), PlaceArgs::default()), "./g f");
    refused(scope(None, PlaceArgs { token: some(), ..PlaceArgs::default() }), "./g f");
    refused(scope(None, PlaceArgs { timeout: Some(1), ..PlaceArgs::default() }), "./g f");
    refused(scope(None, PlaceArgs { server: some(), cluster: some(), ..PlaceArgs::default() }), "f");
    refused(scope(None, PlaceArgs { cluster: some(), ..PlaceArgs::default() }), "f");
    refused(ScopeArgs::default(), "./g f extra");
}

#[test]
fn graphs_of_a_cluster_have_their_place_below_its_storage() {
    let scope = scope(Some("social"), PlaceArgs { cluster: Some("s3://b/p/".into()), ..PlaceArgs::default() });
    let (address, _) = found(&scope, &Settings::default(), "", &Words::NONE);
    assert_eq!(address, storage("s3://b/p/graphs/social.omni"));
}

#[test]
fn direct_commands_refuse_servers_and_say_what_to_use() {
    let direct = |scope: &ScopeArgs, settings: &Settings, text: &str| {
        resolve_direct("verify", "", scope, settings, words(text), &Words::NONE)
    };
    let none = Settings::default();
    let flag = scope(None, PlaceArgs { server: Some("http://h:1".into()), ..PlaceArgs::default() });
    for failure in
        [direct(&flag, &none, "").unwrap_err(), direct(&ScopeArgs::default(), &none, "https://h:1").unwrap_err()]
    {
        assert_eq!(failure.exit(), Exit::Usage);
        assert!(failure.message().contains("--cluster"), "{}", failure.message());
    }
    let root = direct(&ScopeArgs::default(), &server("http://h:1"), "./g").unwrap().0;
    assert_eq!(root, "./g");
}
