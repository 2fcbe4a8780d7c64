//! The rules, one situation after the other. Times are seconds; lines are named by a letter, main by nothing.

use super::*;
use crate::model::Actor;

const NOW: i64 = 10_000;

fn micros(seconds: i64) -> i64 {
    seconds * 1_000_000
}

fn line_name(line: &str) -> Option<String> {
    (!line.is_empty()).then(|| line.to_string())
}

/// `7` is a version of main, `B7` one of line B.
fn state(text: &str) -> State {
    let line = text.trim_end_matches(char::is_numeric);
    State { lance_branch: line_name(line), manifest_version: text[line.len()..].parse().unwrap() }
}

fn commit(text: &str, seconds: i64) -> Arc<CommitInfo> {
    let State { lance_branch, manifest_version } = state(text);
    Arc::new(CommitInfo {
        id: format!("{seconds:08}-{text}"),
        parents: Vec::new(),
        branch: String::new(),
        actor: Actor::default(),
        created_at: micros(seconds),
        message: String::new(),
        request_id: String::new(),
        operation: "load".to_string(),
        counts: Vec::new(),
        manifest_version,
        lance_branch,
        merge: None,
        imported: None,
    })
}

/// A branch whose lineage is these states, each made a second after the one before, from `start` on.
fn branch(name: &str, lineage: &[&str], start: i64) -> Branch {
    let head = state(lineage.last().unwrap());
    let lineage = lineage.iter().zip(start..).map(|(text, at)| commit(text, at)).collect();
    Branch {
        name: name.to_string(),
        lance_branch: head.lance_branch,
        head: head.manifest_version,
        forked_from: None,
        lineage,
    }
}

fn forked(branch: Branch, line: &str, head: u64, origin: &str) -> Branch {
    Branch { lance_branch: line_name(line), head, forked_from: Some(state(origin)), ..branch }
}

/// A line of these versions, all stored long ago.
fn line(name: &str, versions: std::ops::RangeInclusive<u64>, origin: Option<&str>) -> Line {
    Line {
        lance_branch: line_name(name),
        origin: origin.map(state),
        made_at: 0,
        versions: versions.map(|version| (version, 0)).collect(),
    }
}

fn pin(text: &str) -> Pin {
    let State { lance_branch, manifest_version } = state(text);
    Pin { lance_branch, manifest_version, why: "tag".to_string() }
}

fn keep(n: u64) -> Policy {
    Policy { keep: Some(n), older_than: None }
}

fn older(seconds: u64) -> Policy {
    Policy { keep: None, older_than: Some(Duration::from_secs(seconds)) }
}

fn input(policy: Policy, branches: Vec<Branch>, lines: Vec<Line>) -> Input {
    Input {
        policy,
        branches,
        lines,
        now: micros(NOW),
        grace: Duration::from_secs(60),
        orphan_grace: Duration::from_secs(3_600),
        ..Input::default()
    }
}

/// Main with ten commits, made at `start` and every second after.
fn main_of_ten(policy: Policy, start: i64) -> Input {
    let main = branch("main", &["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"], start);
    input(policy, vec![main], vec![line("", 1..=10, None)])
}

fn text(state: &State) -> String {
    format!("{}{}", state.lance_branch.as_deref().unwrap_or_default(), state.manifest_version)
}

/// `6:fork 10:head+keep`, main first.
fn staying(verdict: &Verdict) -> String {
    let reasons = |r: &Reasons| r.iter().map(Why::as_str).collect::<Vec<_>>().join("+");
    let all: Vec<String> = verdict.stays.iter().map(|(state, r)| format!("{}:{}", text(state), reasons(r))).collect();
    all.join(" ")
}

fn going(verdict: &Verdict) -> String {
    verdict.goes.iter().map(text).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn expect(input: &Input, stays: &str, goes: &str) {
    let verdict = decide(input);
    assert_eq!((staying(&verdict).as_str(), going(&verdict).as_str()), (stays, goes));
    assert!(verdict.goes.iter().all(|state| !verdict.stays.contains_key(state)));
}

#[test]
fn the_policy_counts_commits_and_their_age() {
    for (policy, start, stays, goes) in [
        (keep(1), 0, "10:head+keep", "1 2 3 4 5 6 7 8 9"),
        (keep(3), 0, "8:keep 9:keep 10:head+keep", "1 2 3 4 5 6 7"),
        (keep(10), 0, "1:keep 2:keep 3:keep 4:keep 5:keep 6:keep 7:keep 8:keep 9:keep 10:head+keep", ""),
        (keep(u64::MAX), 0, "1:keep 2:keep 3:keep 4:keep 5:keep 6:keep 7:keep 8:keep 9:keep 10:head+keep", ""),
        // Made at 1000..=1009: at 10000 the youngest is 8991 old.
        (older(8_994), 1_000, "8:age 9:age 10:head+age", "1 2 3 4 5 6 7"),
        (older(8_993), 1_000, "9:age 10:head+age", "1 2 3 4 5 6 7 8"),
        (older(1), 1_000, "10:head", "1 2 3 4 5 6 7 8 9"),
        // Both have to let it go.
        (Policy { keep: Some(2), ..older(8_994) }, 1_000, "8:age 9:keep+age 10:head+keep+age", "1 2 3 4 5 6 7"),
        (Policy { keep: Some(3), ..older(1) }, 1_000, "8:keep 9:keep 10:head+keep", "1 2 3 4 5 6 7"),
        // Nobody said that anything may go.
        (Policy::default(), 0, "1:keep 2:keep 3:keep 4:keep 5:keep 6:keep 7:keep 8:keep 9:keep 10:head+keep", ""),
    ] {
        expect(&main_of_ten(policy, start), stays, goes);
    }
}

#[test]
fn a_state_stays_until_it_was_superseded_long_enough_ago() {
    // 8 was superseded by 9 at NOW - 60, and 9 by 10 at NOW - 59.
    let mut graph = main_of_ten(keep(1), NOW - 68);
    expect(&graph, "9:grace 10:head+keep", "1 2 3 4 5 6 7 8");
    // The store got 4 later than its commit says: whoever made it has a clock that is behind.
    graph.lines[0].versions.insert(4, micros(NOW - 59));
    expect(&graph, "3:grace 9:grace 10:head+keep", "1 2 4 5 6 7 8");
    // Where a version is gone already, the next one counts.
    graph.lines[0].versions.remove(&4);
    graph.lines[0].versions.insert(5, micros(NOW + 1_000));
    expect(&graph, "3:grace 9:grace 10:head+keep", "1 2 5 6 7 8");
}

#[test]
fn branches_count_what_they_inherited_and_keep_where_they_began() {
    let main = branch("main", &["1", "2", "3", "4", "5", "6", "7"], 0);
    let own = forked(branch("b", &["1", "2", "3", "B4", "B5"], 0), "B", 5, "3");
    let fresh = forked(branch("c", &["1", "2", "3", "4", "5"], 0), "C", 5, "5");
    let lines = vec![line("", 1..=7, None), line("B", 3..=5, Some("3")), line("C", 5..=5, Some("5"))];
    let graph = input(keep(3), vec![main, own, fresh], lines);
    expect(&graph, "3:keep+fork 4:keep 5:keep+fork 6:keep 7:head+keep B4:keep B5:head+keep C5:head", "1 2 B3");
    let graph = Input { policy: keep(1), ..graph };
    expect(&graph, "3:fork 5:keep+fork 7:head+keep B5:head+keep C5:head", "1 2 4 6 B3 B4");
    let verdict = decide(&graph);
    let told: Vec<_> = verdict.branches.iter().map(|b| (b.name.as_str(), b.kept, b.removed)).collect();
    assert_eq!(told, [("main", 3, 4), ("b", 2, 3), ("c", 2, 3)]);
    assert_eq!((verdict.kept, verdict.removed), (4, 5));
    assert_eq!(verdict.branches[1].oldest.as_ref().unwrap().manifest_version, 3);
}

#[test]
fn lines_without_a_branch_stay_as_far_as_somebody_began_there() {
    let main = || branch("main", &["1", "2", "3", "4"], 0);
    // B was deleted at B5; C was made from its B4, D from C.
    let child = forked(branch("c", &["1", "2", "B3", "B4"], 0), "C", 4, "B4");
    let lines = || vec![line("", 1..=4, None), line("B", 2..=5, Some("2")), line("C", 4..=4, Some("B4"))];
    let graph = input(keep(1), vec![main(), child], lines());
    expect(&graph, "2:fork 4:head+keep B4:keep+fork C4:head", "1 3 B2 B3");
    // Without C nothing of B stays but its end, which goes with the whole line.
    let graph = input(keep(1), vec![main()], lines());
    expect(&graph, "4:head+keep", "1 2 3 B2 B3 B4");
    // C is gone too, but D was made from it.
    let grandchild = forked(branch("d", &["1", "2", "B3", "B4", "C5"], 0), "D", 5, "C5");
    let mut three = lines();
    three[2] = line("C", 4..=6, Some("B4"));
    three.push(line("D", 5..=5, Some("C5")));
    let graph = input(keep(1), vec![main(), grandchild], three);
    expect(&graph, "2:fork 4:head+keep B4:fork C5:keep+fork D5:head", "1 3 B2 B3 C4");
}

#[test]
fn a_line_that_no_branch_is_on_keeps_its_origin_for_a_while() {
    let main = || branch("main", &["1", "2", "3", "4"], 0);
    let made = |seconds: i64, versions| Line { made_at: micros(seconds), ..line("B", versions, Some("2")) };
    let graph = |b: Line| input(keep(1), vec![main()], vec![line("", 1..=4, None), b]);
    expect(&graph(made(NOW - 3_599, 2..=2)), "2:fork 4:head+keep", "1 3");
    expect(&graph(made(NOW - 3_600, 2..=2)), "4:head+keep", "1 2 3");
    // What counts is when it was used last.
    let mut left = made(0, 2..=3);
    expect(&graph(left.clone()), "4:head+keep", "1 2 3 B2");
    left.versions.insert(3, micros(NOW - 3_599));
    expect(&graph(left), "2:fork 4:head+keep", "1 3 B2");
}

#[test]
fn what_somebody_holds_stays() {
    let mut graph = main_of_ten(keep(1), 0);
    graph.leases = vec![pin("2"), pin("9")];
    graph.intents = vec![pin("10"), pin("11")];
    graph.pins = vec![pin("4"), pin("2"), pin("X7")];
    graph.lines[0].versions.remove(&9);
    // 9 is gone already; 11 and line X are newer than the listing.
    expect(&graph, "2:reader+tag 4:tag 10:head+keep+intent 11:intent X7:tag", "1 3 5 6 7 8");
    assert_eq!(decide(&graph).removed, 6);
}

#[test]
fn the_end_of_a_line_stays_readable_while_a_history_names_it() {
    // B's document was removed by force: no closing version, and C was made from its last one.
    let main = branch("main", &["1", "2", "3", "4"], 0);
    let child = forked(branch("c", &["1", "2", "B3", "C4", "C5", "C6"], 0), "C", 6, "B3");
    let lines = vec![line("", 1..=4, None), line("B", 2..=3, Some("2")), line("C", 3..=6, Some("B3"))];
    let mut graph = input(keep(1), vec![main, child], lines);
    expect(&graph, "2:fork 4:head+keep B3:fork+newest C6:head+keep", "1 3 B2 C3 C4 C5");
    graph.branches[1].forked_from = Some(state("2"));
    graph.lines[2].origin = Some(state("2"));
    expect(&graph, "2:fork 4:head+keep B3:newest C6:head+keep", "1 3 B2 C3 C4 C5");
}

#[test]
fn a_head_that_is_newer_than_the_listing_stays_and_a_second_look_finds_nothing() {
    let mut graph = main_of_ten(keep(2), 0);
    graph.lines[0].versions = (1..=8).map(|v| (v, 0)).collect();
    expect(&graph, "9:keep 10:head+keep", "1 2 3 4 5 6 7");
    let verdict = decide(&graph);
    for state in &verdict.goes {
        graph.lines[0].versions.remove(&state.manifest_version);
    }
    expect(&graph, "9:keep 10:head+keep", "");
    assert_eq!(decide(&graph).removed, 0);
}

#[test]
fn what_an_earlier_look_did_not_let_go_stays_this_time() {
    let mut graph = main_of_ten(keep(8), 0);
    graph.lines.push(line("B", 2..=5, Some("2")));
    let first = decide(&graph);
    assert_eq!(going(&first), "1 2 B2 B3 B4");
    // Three commits later, 3 to 5 would go, and one version of B came into being.
    graph.branches = vec![branch("main", &["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13"], 0)];
    graph.lines = vec![line("", 1..=13, None), line("B", 2..=6, Some("2"))];
    graph.only = Some(first.goes);
    let second = decide(&graph);
    assert_eq!(going(&second), "1 B2 B3 B4");
    let kept =
        "2:fork 3:grace 4:grace 5:grace 6:keep 7:keep 8:keep 9:keep 10:keep 11:keep 12:keep 13:head+keep B5:grace";
    assert_eq!(staying(&second), kept);
}

/// A line of a table: versions, shown, forks, intents; then what stays and goes.
type Case = (std::ops::RangeInclusive<u64>, &'static [u64], &'static [u64], &'static [u64], &'static str, &'static str);

#[test]
fn versions_of_tables_follow_what_is_shown() {
    let cases: [Case; 8] = [
        (1..=5, &[5], &[], &[], "5:head", "1 2 3 4"),
        (1..=5, &[2, 5], &[], &[], "2:head 5:head", "1 3 4"),
        // What is newer than everything shown belongs to a writer at work, or is abandoned.
        (1..=7, &[3, 5], &[], &[], "3:head 5:head 6:newest 7:newest", "1 2 4"),
        (1..=5, &[5], &[2], &[], "2:fork 5:head", "1 3 4"),
        (1..=5, &[4], &[4], &[3, 4], "3:intent 4:head+fork+intent 5:newest", "1 2"),
        // Nothing shows it, but forks begin there.
        (1..=5, &[], &[1, 3], &[], "1:fork 3:fork 4:newest 5:newest", "2"),
        // Nothing shows it at all: left alone.
        (1..=3, &[], &[], &[2], "1:newest 2:intent 3:newest", ""),
        // The listing was made before the newest one shown.
        (1..=4, &[2, 9], &[], &[], "2:head", "1 3 4"),
    ];
    for (versions, shown, forks, intents, stays, goes) in cases {
        let line = TableLine {
            versions: versions.collect(),
            shown: shown.iter().map(|v| (*v, Reasons::from([Why::Head]))).collect(),
            forks: forks.iter().copied().collect(),
            intents: intents.iter().copied().collect(),
        };
        let verdict = decide_table(&line);
        let told: Vec<String> = verdict
            .stays
            .iter()
            .map(|(v, r)| format!("{v}:{}", r.iter().map(Why::as_str).collect::<Vec<_>>().join("+")))
            .collect();
        let gone: Vec<String> = verdict.goes.iter().map(ToString::to_string).collect();
        assert_eq!((told.join(" ").as_str(), gone.join(" ").as_str()), (stays, goes), "{line:?}");
    }
}
