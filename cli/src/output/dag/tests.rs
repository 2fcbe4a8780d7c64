//! Drawings of small histories, sign by sign.

use super::*;

/// Draws commits written `id: parent parent`, newest first, and writes each commit's id behind its dot.
fn drawn(history: &[&str]) -> String {
    let commits: Vec<(String, Vec<String>)> = history
        .iter()
        .map(|line| {
            let (id, parents) = line.split_once(':').unwrap();
            (id.to_string(), parents.split_whitespace().map(ToString::to_string).collect())
        })
        .collect();
    let nodes: Vec<Node<'_>> = commits.iter().map(|(id, parents)| Node { id, parents }).collect();
    let row = |row: &Row| match row.commit {
        Some(at) => format!("{} {}\n", row.text(Paint::Plain), nodes[at].id),
        None => format!("{}\n", row.text(Paint::Plain)),
    };
    draw(&nodes).iter().map(row).collect()
}

/// Compares with a drawing that is indented by eight spaces.
fn check(history: &[&str], drawing: &str) {
    let lines = drawing.lines().filter_map(|line| line.strip_prefix("        ")).filter(|line| !line.is_empty());
    let expected: String = lines.map(|line| format!("{line}\n")).collect();
    assert_eq!(drawn(history), expected, "\n{}", drawn(history));
}

#[test]
fn a_straight_line_is_one_lane() {
    check(
        &["c: b", "b: a", "a:"],
        "
        ● c
        ● b
        ● a
        ",
    );
}

#[test]
fn nothing_is_drawn_of_nothing() {
    assert_eq!(drawn(&[]), "");
}

#[test]
fn a_fork_and_its_merge() {
    check(
        &["m: b f", "f: a", "b: a", "a:"],
        "
        ● m
        ├─╮
        │ ● f
        ● │ b
        ├─╯
        ● a
        ",
    );
}

#[test]
fn merges_that_cross() {
    check(
        &["h: x2 y2", "y2: y1 x1", "x2: x1 y1", "y1: a", "x1: a", "a:"],
        "
        ● h
        ├─╮
        │ ● y2
        │ ├─╮
        ● │ │ x2
        ├─┤ │
        │ ● │ y1
        ├─┼─╯
        ● │ x1
        ├─╯
        ● a
        ",
    );
}

#[test]
fn several_lanes_join_in_one_row_and_their_columns_are_used_again() {
    check(
        &["m3: m2 f3", "m2: m1 f2", "m1: a f1", "f3: a", "f2: a", "f1: a", "a: r", "r: q p", "q:", "p:"],
        "
        ● m3
        ├─╮
        ● │ m2
        ├─┼─╮
        ● │ │ m1
        ├─┼─┼─╮
        │ ● │ │ f3
        │ │ ● │ f2
        │ │ │ ● f1
        ├─┴─┴─╯
        ● a
        ● r
        ├─╮
        ● │ q
          ● p
        ",
    );
}

#[test]
fn a_lane_to_the_left_is_taken_when_it_is_free() {
    check(
        &["m: a b", "a:", "b: c d", "d:", "c:"],
        "
        ● m
        ├─╮
        ● │ a
          ● b
        ╭─┤
        ● │ d
          ● c
        ",
    );
}

/// A branch that was brought up to date from the lane to its left.
#[test]
fn a_parent_that_another_lane_waits_for_is_met_there() {
    check(
        &["m: b f2", "f2: f1 b", "b: a", "f1: a", "a:"],
        "
        ● m
        ├─╮
        │ ● f2
        ├─┤
        ● │ b
        │ ● f1
        ├─╯
        ● a
        ",
    );
}

#[test]
fn a_history_that_is_cut_off_leaves_its_lanes_open() {
    check(
        &["m: b f", "f: a"],
        "
        ● m
        ├─╮
        │ ● f
        ",
    );
}

#[test]
fn heads_that_have_nothing_in_common_stand_side_by_side() {
    check(
        &["b: a", "y: x", "a:", "x:"],
        "
        ● b
        │ ● y
        ● │ a
          ● x
        ",
    );
}

#[test]
fn every_lane_has_a_colour_of_its_own() {
    let parents = ["b".to_string(), "f".to_string()];
    let rows = draw(&[Node { id: "m", parents: &parents }, Node { id: "f", parents: &[] }]);
    let (own, other) = (Ink::nth(0), Ink::nth(1));
    let line = |ink, sign| Paint::Coloured.with(ink, sign);
    assert_eq!(rows[0].text(Paint::Coloured), line(own, "●"));
    assert_eq!(rows[1].text(Paint::Coloured), format!("{}{}{}", line(own, "├"), line(other, "─"), line(other, "╮")));
    assert_eq!(rows[2].text(Paint::Coloured), format!("{} {}", line(own, "│"), line(other, "●")));
}
