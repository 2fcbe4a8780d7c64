//! Which states merges of live branches would begin from.

use super::*;
use crate::model::Actor;

/// `3d main:4 2c 2b` is commit 3d, version 4 of main's line, with the parents 2c and 2b.
fn known(text: &str) -> Known {
    let one = |line: &str| {
        let mut words = line.split_whitespace();
        let (id, at) = (words.next().unwrap(), words.next().unwrap());
        let State { lance_branch, manifest_version } = state(at);
        let commit = CommitInfo {
            id: id.into(),
            parents: words.map(Into::into).collect(),
            branch: "any".into(),
            actor: Actor::default(),
            created_at: 0,
            message: String::new(),
            request_id: String::new(),
            operation: "load".into(),
            counts: Vec::new(),
            manifest_version,
            lance_branch,
            merge: None,
            imported: None,
        };
        (id.to_string(), Arc::new(commit))
    };
    text.split(',').map(one).collect()
}

fn state(at: &str) -> State {
    let (line, version) = at.split_once(':').unwrap();
    let lance_branch = (line != "main").then(|| line.to_string());
    State { lance_branch, manifest_version: version.parse().unwrap() }
}

fn branch(name: &str, head: &str, forked_from: Option<&str>) -> Branch {
    let State { lance_branch, manifest_version } = state(head);
    let forked_from = forked_from.map(state);
    Branch { name: name.into(), lance_branch, head: manifest_version, forked_from, lineage: Vec::new() }
}

fn lines(names: &[&str]) -> Vec<Line> {
    let line = |name: &&str| Line {
        lance_branch: (*name != "main").then(|| (*name).to_string()),
        origin: None,
        made_at: 0,
        versions: BTreeMap::new(),
    };
    names.iter().map(line).collect()
}

fn told(branches: &[Branch], heads: &[&str], known: &Known, lines: &[Line]) -> Vec<String> {
    let heads: Vec<String> = heads.iter().map(ToString::to_string).collect();
    let pins = pins(&[], branches, &heads, known, lines);
    pins.into_iter()
        .map(|p| format!("{}:{} {}", p.lance_branch.unwrap_or("main".into()), p.manifest_version, p.why))
        .collect()
}

#[test]
fn forks_need_no_pins_and_merges_do() {
    // B and C were forked at 2a. What B had at 3b is in main, and in C, which was made and merged after that.
    let history =
        known("1a main:1, 2a main:2 1a, 3b B:3 2a, 4c C:3 2a, 5a main:3 2a 3b, 6b B:4 3b, 7c C:4 4c 3b, 8a main:4 5a");
    let forked = [branch("main", "main:2", None), branch("b", "B:3", Some("main:2"))];
    assert!(told(&forked, &["2a", "3b"], &history, &lines(&["main", "B"])).is_empty());
    let [main, b, c] =
        [branch("main", "main:4", None), branch("b", "B:4", Some("main:2")), branch("c", "C:4", Some("main:2"))];
    let all = lines(&["main", "B", "C"]);
    let merged = told(&[main.clone(), b.clone(), c.clone()], &["8a", "6b", "7c"], &history, &all);
    assert_eq!(merged, ["B:3 base of main and b"]);
    // Also when the branch it was made on is gone, for as long as its line is there.
    let both = [main, c];
    assert_eq!(told(&both, &["8a", "7c"], &history, &all), ["B:3 base of main and c"]);
    assert!(told(&both, &["8a", "7c"], &history, &lines(&["main", "C"])).is_empty());
    assert!(told(&[b], &["6b"], &history, &all).is_empty());
}

#[test]
fn a_criss_cross_keeps_both_sides_and_what_they_come_from() {
    let history = known(
        "1a main:1, 2a main:2 1a, 3b B:3 2a, 4a main:3 2a, 5a main:4 4a 3b, 6b B:4 3b 4a, 7a main:5 5a, 8b B:5 6b, \
         9c C:2 1a",
    );
    let [main, b, c] =
        [branch("main", "main:5", None), branch("b", "B:5", Some("main:1")), branch("c", "C:2", Some("main:1"))];
    let all = lines(&["main", "B", "C"]);
    let told = told(&[main, b, c], &["7a", "8b", "9c"], &history, &all);
    let pair = "base of main and b";
    assert_eq!(told, [format!("main:2 {pair}"), format!("main:3 {pair}"), format!("B:3 {pair}")]);
}
