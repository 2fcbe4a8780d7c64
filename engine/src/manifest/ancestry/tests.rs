//! Histories as text: `D B C` is commit D with the parents B and C; ids are in the order of the alphabet.

use std::cell::Cell;
use std::collections::HashMap;

use super::*;
use crate::model::Actor;

type Known = HashMap<String, Arc<CommitInfo>>;

fn commit(id: &str, parents: Vec<String>) -> CommitInfo {
    CommitInfo {
        id: id.to_string(),
        parents,
        branch: "main".into(),
        actor: Actor::default(),
        created_at: 0,
        message: String::new(),
        request_id: String::new(),
        operation: "load".into(),
        counts: Vec::new(),
        manifest_version: 1,
        lance_branch: None,
        merge: None,
        imported: None,
    }
}

fn history(text: &str) -> Known {
    let one = |line: &str| {
        let mut words = line.split_whitespace().map(ToString::to_string);
        let id = words.next().unwrap();
        (id.clone(), Arc::new(commit(&id, words.collect())))
    };
    text.split(',').map(one).collect()
}

/// All ancestors of a commit, itself included.
fn above(known: &Known, head: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![head.to_string()];
    while let Some(id) = open.pop() {
        let Some(commit) = known.get(&id) else { continue };
        if found.insert(id) {
            open.extend(commit.parents.iter().cloned());
        }
    }
    found
}

/// By the definition.
fn best(known: &Known, left: &str, right: &str) -> Vec<String> {
    let common: BTreeSet<String> = above(known, left).intersection(&above(known, right)).cloned().collect();
    let is_best = |id: &&String| !common.iter().any(|other| other != *id && above(known, other).contains(*id));
    common.iter().filter(is_best).rev().cloned().collect()
}

/// What a branch whose head this is knows: the chain of first parents, and the rest as brought in.
fn lineage(known: &Known, head: &str) -> Lineage {
    let mut own = BTreeSet::new();
    let mut next = known.get(head);
    while let Some(commit) = next {
        own.insert(commit.id.clone());
        next = commit.parents.first().and_then(|id| known.get(id));
    }
    let commits = above(known, head);
    Lineage::of(commits.iter().map(|id| (known[id].as_ref().clone(), !own.contains(id))))
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(ToString::to_string).collect()
}

#[test]
fn the_nearest_common_ancestors_of_known_shapes() {
    let criss_cross = "A, B A, C A, D B C, E C B, F D, G E";
    let repeated = "A, B A, C A, D C B, E B, F D E, G E, H F";
    let third = "A, B A, C A, D A, E B D, F C D, G E, H F";
    for (shape, text, left, right, bases) in [
        ("one commit", "A", "A", "A", "A"),
        ("a line", "A, B A, C B", "C", "B", "B"),
        ("a fork", "A, B A, C B, D B, E C", "E", "D", "B"),
        ("a fork of a fork", "A, B A, C A, D B, E D", "E", "C", "A"),
        ("merged once", "A, B A, C A, D C B, E B", "D", "E", "B"),
        ("merged again and again", repeated, "H", "G", "E"),
        ("merged to and fro", "A, B A, C A, D C B, E B D, F D", "E", "F", "D"),
        ("criss-cross", criss_cross, "F", "G", "C B"),
        ("criss-cross, then merged", "A, B A, C A, D B C, E C B, F D E, G E", "F", "G", "E"),
        ("a third branch in both", third, "G", "H", "D"),
        ("a third branch of which one has more", "A, B A, C A, D C, E B C, F A D", "E", "F", "C"),
        ("only the beginning in common", "A, B A, C B, D A, E D", "C", "E", "A"),
        ("nothing in common", "A, B, C A, D B", "C", "D", ""),
    ] {
        let known = history(text);
        assert_eq!(best(&known, left, right), words(bases), "{shape}: the test is wrong");
        let (ours, theirs) = (lineage(&known, left), lineage(&known, right));
        assert_eq!(nearest_common(&ours, left, &theirs, right), words(bases), "{shape}");
        assert_eq!(nearest_common(&theirs, right, &ours, left), words(bases), "{shape}, the other way round");
    }
}

#[test]
fn a_commit_that_nobody_knows_has_nothing_in_common_with_any() {
    let known = history("A, B A");
    let get = |id: &str| known.get(id).cloned();
    assert!(nearest(get, "X", "B").is_empty() && nearest(get, "X", "X").is_empty());
    assert!(bases(&["X", "B"], get).is_empty());
}

#[test]
fn what_a_merge_brings_in_is_what_the_other_side_lacks() {
    let text = "A, B A, C A, D B, E D C, F C, G E F";
    let known = history(text);
    for (head, have, expected) in
        [("G", "C", "B D E F G"), ("E", "F", "B D E"), ("F", "E", "F"), ("E", "E", ""), ("C", "G", ""), ("X", "A", "")]
    {
        let from = lineage(&known, head);
        let found = missing(&from, head, &lineage(&known, have));
        assert_eq!(found.iter().map(|c| c.id.clone()).collect::<Vec<_>>(), words(expected), "{head} without {have}");
    }
}

#[test]
fn what_is_brought_in_has_an_end() {
    let id = |n: usize| format!("{n:08}");
    let parents = |n: usize| n.checked_sub(1).map(id).into_iter().collect();
    let chain = (0..limits::MAX_BROUGHT_IN + 5).map(|n| (commit(&id(n), parents(n)), false));
    let from = Lineage::of(chain);
    let found = missing(&from, &id(limits::MAX_BROUGHT_IN + 4), &Lineage::default());
    assert_eq!(found.len(), limits::MAX_BROUGHT_IN + 1);
    let most = missing(&from, &id(limits::MAX_BROUGHT_IN - 1), &Lineage::default());
    assert_eq!(most.len(), limits::MAX_BROUGHT_IN);
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

/// A history of a few branches that fork and merge at random; the heads of its branches.
fn random(dice: &mut Dice) -> (Known, Vec<String>) {
    let mut known = Known::new();
    let mut heads: Vec<String> = Vec::new();
    for n in 0..2 + dice.roll(24) {
        let id = format!("{n:03}");
        let mut parents = Vec::new();
        let on = dice.roll(6);
        if on < heads.len() {
            parents.push(heads[on].clone());
            let other = dice.roll(heads.len() * 2);
            // Now and then a branch that has ended since, or an older commit, is merged.
            let merged = match dice.roll(4) {
                0 => Some(format!("{:03}", dice.roll(n))),
                _ => heads.get(other).cloned(),
            };
            parents.extend(merged.filter(|merged| *merged != parents[0]));
            heads[on] = id.clone();
        } else {
            parents.extend((n > 0).then(|| format!("{:03}", dice.roll(n))));
            heads.push(id.clone());
        }
        known.insert(id.clone(), Arc::new(commit(&id, parents)));
    }
    (known, heads)
}

#[test]
fn random_histories_agree_with_the_definition() {
    let mut dice = Dice(7);
    let (mut several, mut pairs) = (0, 0);
    for round in 0..1_500 {
        let (known, heads) = random(&mut dice);
        let (left, right) = (&heads[dice.roll(heads.len())], &heads[dice.roll(heads.len())]);
        let expected = best(&known, left, right);
        let (ours, theirs) = (lineage(&known, left), lineage(&known, right));
        assert_eq!(nearest_common(&ours, left, &theirs, right), expected, "round {round}: {known:?}");
        several += usize::from(expected.len() > 1);
        let lacks: Vec<String> = above(&known, left).difference(&above(&known, right)).cloned().collect();
        let found: Vec<String> = missing(&ours, left, &theirs).iter().map(|c| c.id.clone()).collect();
        assert_eq!(found, lacks, "round {round}");

        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let found = bases(&heads, |id| known.get(id).cloned());
        let mut wanted = BTreeSet::new();
        for (position, left) in heads.iter().enumerate() {
            for right in &heads[position + 1..] {
                wanted.extend(best(&known, left, right));
                pairs += 1;
            }
        }
        let told: Vec<String> = found.iter().map(|base| base.commit.id.clone()).collect();
        assert_eq!(told, wanted.into_iter().rev().collect::<Vec<_>>(), "round {round}: {known:?}");
        for Base { commit, between: (a, b) } in &found {
            assert!(a < b && best(&known, heads[*a], heads[*b]).contains(&commit.id), "round {round}");
        }
    }
    assert!(several > 20 && pairs > 1_000, "the histories are too simple: {several} of {pairs}");
}

#[test]
fn walks_end_where_the_answer_is() {
    let mut known: Known = Known::new();
    let id = |n: usize| format!("{n:06}");
    for n in 0..5_000_usize {
        let parents = n.checked_sub(1).map(id).into_iter().collect();
        known.insert(id(n), Arc::new(commit(&id(n), parents)));
    }
    // Twenty branches that begin a little before the end, two commits each.
    let mut heads = vec![id(4_999)];
    for n in (5_000..5_040).step_by(2) {
        known.insert(id(n), Arc::new(commit(&id(n), vec![id(4_990)])));
        known.insert(id(n + 1), Arc::new(commit(&id(n + 1), vec![id(n)])));
        heads.push(id(n + 1));
    }
    let asked = Cell::new(0);
    let get = |id: &str| {
        asked.set(asked.get() + 1);
        known.get(id).cloned()
    };
    assert_eq!(nearest(get, &heads[0], &heads[1]), [id(4_990)]);
    assert!(asked.get() < 20, "{}", asked.get());
    asked.set(0);
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let found = bases(&heads, get);
    assert_eq!(
        found.iter().map(|base| (base.commit.id.clone(), base.between)).collect::<Vec<_>>(),
        [(id(4_990), (0, 1))]
    );
    assert!(asked.get() < 60, "{}", asked.get());
}
