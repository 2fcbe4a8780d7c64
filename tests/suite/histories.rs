//! Random histories of branches compared, step by step, with a small model in memory: what every branch shows, what a
//! merge, a revert or a cherry-pick makes of it and what stands against it, and how any two states differ.
//!
//! The seed is printed; `OMNIGRAPH_TEST_SEED` repeats a run, and `OMNIGRAPH_TEST_STEPS` says how many steps every
//! history has.

mod model;
mod past;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use omnigraph_engine::maintenance::cleanup::CleanupOptions;
use omnigraph_engine::model::{
    Actor, DiffFilter, EntityChange, Granularity, LoadMode, MergeHow, MergePreview, MergeRequest, MergeResult,
    ReadSelector, Side, TypeCounts, WriteOptions,
};
use omnigraph_engine::{Access, Error, Graph, Reason, Result};
use omnigraph_tests::{content, create, head, load, memory_root};

use self::model::{How, Merged, Origin, State};
use self::past::{Node, Past};
use crate::merge::{TEAM, change, shown};
use crate::sand::Sand;

const NAMES: [&str; 5] = ["main", "one", "two", "three", "four"];
const PEOPLE: u32 = 5;

struct Run {
    random: fastrand::Rng,
    clock: Arc<Sand>,
    graph: Graph,
    past: Past,
    /// Live branches and their heads.
    heads: BTreeMap<String, String>,
    tags: BTreeMap<String, String>,
    /// Whether a cleanup may have removed commits that nobody needs.
    cleaned: bool,
    tally: BTreeMap<&'static str, u64>,
}

impl Run {
    async fn begin(mut random: fastrand::Rng) -> Self {
        let clock = Sand::now();
        let root = memory_root(&format!("histories-{}", random.u32(..)));
        let graph = create(&clock.engine(), &root, TEAM).await.unwrap();
        let first = graph.branch("main").await.unwrap().head;
        let node = Node { parents: Vec::new(), state: State::new(), physical: false };
        let past = Past { commits: BTreeMap::from([(first.clone(), node)]) };
        let heads = BTreeMap::from([("main".to_string(), first)]);
        let (tags, tally) = (BTreeMap::new(), BTreeMap::new());
        let mut run = Self { random, clock, graph, past, heads, tags, cleaned: false, tally };
        let people = (0..PEOPLE).map(|p| format!("P p{p} a=0 b=v0"));
        let edges = ["K k0 p0 p1", "K k1 p1 p2 w=1", "C p0 p1", "N n0 t=t0", "M m0 n0 p3"].map(String::from);
        run.write_lines("main", people.chain(edges).collect()).await;
        for name in ["one", "two"] {
            run.fork_at(name, head("main"), run.heads["main"].clone()).await;
        }
        run
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.random.usize(..of.len())].clone()
    }

    fn branch(&mut self) -> String {
        let names: Vec<String> = self.heads.keys().cloned().collect();
        self.pick(&names)
    }

    /// A commit that a live branch has seen.
    fn commit(&mut self) -> String {
        let branch = self.branch();
        let all: Vec<String> = self.past.ancestors(&self.heads[&branch]).into_iter().collect();
        // Newer ones more often.
        let from = all.len().saturating_sub(6);
        if self.random.bool() { self.pick(&all[from..]) } else { self.pick(&all) }
    }

    fn count(&mut self, what: &'static str) {
        *self.tally.entry(what).or_default() += 1;
    }

    fn state(&self, branch: &str) -> &State {
        self.past.state(&self.heads[branch])
    }

    /// Notes a commit that became a branch's head.
    fn made(&mut self, branch: &str, id: &str, merged: Option<String>, state: State) {
        let before = self.heads.insert(branch.to_string(), id.to_string()).unwrap();
        let parents = std::iter::once(before).chain(merged).collect();
        self.past.commits.insert(id.to_string(), Node { parents, state, physical: false });
    }

    async fn step(&mut self) -> String {
        match self.random.u32(0..100) {
            0..32 => self.write().await,
            32..34 => self.reload().await,
            34..44 => self.fork().await,
            44..73 => self.merge().await,
            73..76 => self.drop_branch().await,
            76..80 => self.revert().await,
            80..84 => self.cherry_pick().await,
            84..87 => self.restore().await,
            87..91 => self.optimize().await,
            91..93 => self.clean_up().await,
            93..95 => self.tag().await,
            95..96 => self.reopen().await,
            _ => self.diff().await,
        }
    }

    fn person(&mut self) -> String {
        format!("p{}", self.random.u32(..PEOPLE))
    }

    /// Something to write: often to what is there already, so that sides meet.
    fn line(&mut self) -> Vec<String> {
        let (p, q, n) = (self.person(), self.person(), self.random.u32(..3));
        let value = self.pick(&["null".to_string(), format!("v{n}")]);
        let number = self.pick(&["null".to_string(), n.to_string()]);
        match self.random.u32(0..21) {
            0..3 => vec![format!("P {p} a={n}")],
            3 | 4 => vec![format!("P {p} b={value}")],
            5 | 6 => vec![format!("P {p} mail=m{}", self.random.u32(..8))],
            7 => vec![format!("P {p} mail=null")],
            8 => vec![format!("P {p} x={number}")],
            9 => vec![format!("P {p} y={number}")],
            10 => vec![format!("P {p} x={n} y={}", self.random.u32(..3))],
            11 | 12 => vec![format!("-P {p}")],
            13 => vec![format!("K k{n} {p} {q}")],
            14 => vec![format!("K k{n} {p} {q} w={n}")],
            15 => vec![format!("-K k{n}")],
            16..18 => vec![format!("C {p} {q} w={number}")],
            18 => vec![format!("-C {p} {q}")],
            _ => match self.random.u32(0..4) {
                0 => vec![format!("N n{n} t=t{n}"), format!("M m{n} n{n} {p}")],
                1 => vec![format!("M o{n} n{n} {p}")],
                2 => vec![format!("-M o{n}")],
                _ => vec![format!("-N n{n}")],
            },
        }
    }

    async fn write(&mut self) -> String {
        let branch = self.branch();
        let lines: Vec<String> = (0..=self.random.u32(..3)).flat_map(|_| self.line()).collect();
        self.write_lines(&branch, lines).await
    }

    async fn write_lines(&mut self, branch: &str, lines: Vec<String>) -> String {
        let mut after = self.state(branch).clone();
        let mut sound = true;
        for line in &lines {
            model::apply(&mut after, line);
            sound &= model::is_sound(&after);
        }
        let what = format!("write {lines:?} on {branch}");
        let changes = lines.iter().map(|line| change(line)).collect();
        let done = self.graph.mutate(changes, &WriteOptions::on(branch)).await;
        match done {
            Ok(receipt) if receipt.changed => {
                assert!(model::is_sound(&after), "{what}");
                self.made(branch, &receipt.commit.id, None, after);
                self.count("writes");
            }
            Ok(_) => assert_eq!(&after, self.state(branch), "{what}"),
            Err(e) => {
                // A node may be missing that a step in between needs although another step makes it.
                assert!(!sound, "{what}: {e}");
                self.count("refused writes");
            }
        }
        what
    }

    /// Writes everything of a branch again as it is.
    async fn reload(&mut self) -> String {
        let branch = self.branch();
        let all = content(&self.graph, &head(&branch)).await.unwrap().join("\n");
        if !all.is_empty() {
            let receipt = load(&self.graph, &branch, LoadMode::Overwrite, &all).await.unwrap();
            if receipt.changed {
                let state = self.state(&branch).clone();
                self.made(&branch, &receipt.commit.id, None, state);
            }
        }
        format!("reload {branch}")
    }

    async fn fork(&mut self) -> String {
        let name = self.pick(&NAMES).to_string();
        let (selector, commit) = self.somewhere();
        self.fork_at(&name, selector, commit).await
    }

    async fn fork_at(&mut self, name: &str, selector: ReadSelector, commit: String) -> String {
        let what = format!("fork {name} from {selector:?}");
        let done = self.graph.create_branch(name, &selector, &Actor::default()).await;
        if self.heads.contains_key(name) {
            assert_eq!(done.unwrap_err().reason(), Reason::BranchExists, "{what}");
        } else if self.there(&selector, &done, &what) {
            self.heads.insert(name.to_string(), commit);
        }
        what
    }

    /// A state that can be named, with its commit.
    fn somewhere(&mut self) -> (ReadSelector, String) {
        match self.random.u32(0..4) {
            0 => {
                let commit = self.commit();
                (ReadSelector::Commit(commit.clone()), commit)
            }
            1 if !self.tags.is_empty() => {
                let tags: Vec<(String, String)> = self.tags.clone().into_iter().collect();
                let (tag, commit) = self.pick(&tags);
                (ReadSelector::Tag(tag), commit)
            }
            _ => {
                let branch = self.branch();
                (head(&branch), self.heads[&branch].clone())
            }
        }
    }

    /// Whether something was there. Only a single commit may be gone, and only after a cleanup.
    fn there<T: std::fmt::Debug>(&self, selector: &ReadSelector, done: &Result<T>, what: &str) -> bool {
        match (done, selector) {
            (Ok(_), _) => true,
            (Err(e), ReadSelector::Commit(_)) if self.cleaned && e.reason() == Reason::CommitNotFound => false,
            (Err(e), _) => panic!("{what}: {e}"),
        }
    }

    async fn drop_branch(&mut self) -> String {
        let name = self.branch();
        if name != "main" {
            self.graph.delete_branch(&name, false, &Actor::default()).await.unwrap();
            self.heads.remove(&name);
        }
        format!("drop {name}")
    }

    fn how(&mut self) -> (How, MergeHow) {
        let theirs = self.pick(&[None, None, None, Some(true), Some(false)]);
        let whole = self.random.u32(..5) == 0;
        let strategy = theirs.map(|theirs| if theirs { Side::Source } else { Side::Target });
        let granularity = if whole { Granularity::Entity } else { Granularity::Property };
        (How { theirs, whole }, MergeHow { granularity, strategy, resolutions: Vec::new() })
    }

    async fn merge(&mut self) -> String {
        let (source, target) = (self.branch(), self.branch());
        if source == target {
            return "nothing".to_string();
        }
        let (how, asked) = self.how();
        let what = format!("merge {source} into {target}, {how:?}");
        let theirs = self.heads[&source].clone();
        let expected = self.past.forecast(&theirs, &self.heads[&target], how);
        if self.past.depth(&theirs, &self.heads[&target]) > 1 {
            self.count("merges with several bases");
        }
        let preview =
            self.graph.preview_merge(&source, &target, &asked).await.unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(preview.summary.outcome.as_str(), expected.outcome, "{what}");
        assert_eq!(preview.summary.base, expected.base, "{what}");
        self.expect_previewed(&preview, &target, &expected.merged, &what);
        let request = MergeRequest { source: source.clone(), how: asked, ..MergeRequest::default() };
        let done = self.graph.merge(&request, &WriteOptions::on(target.as_str())).await;
        if let Some(done) = self.expect_done(done, &target, &expected.merged, &what) {
            assert_eq!((done.outcome.as_str(), &done.base), (expected.outcome, &expected.base), "{what}");
            if expected.outcome == "already_up_to_date" {
                assert!(!done.receipt.changed, "{what}");
                return what;
            }
            let parents = [self.heads[&target].clone(), theirs.clone()];
            assert_eq!(done.receipt.commit.parents, parents, "{what}");
            self.made(&target, &done.receipt.commit.id, Some(theirs), expected.merged.state);
            self.count(expected.outcome);
        }
        what
    }

    fn expect_previewed(&mut self, preview: &MergePreview, target: &str, expected: &Merged, what: &str) {
        let mut found: Vec<String> = crate::merge::short(&preview.conflicts);
        found.sort();
        assert_eq!(found, expected.clashes, "{what}");
        if expected.clashes.is_empty() {
            assert_eq!(preview.summary.settled, expected.settled, "{what}");
            let counts = model::counts(self.state(target), &expected.state);
            assert_eq!(counted(&preview.summary.counts), counts, "{what}");
        }
    }

    /// Checks that something was done or refused as expected. What was done, if it was.
    fn expect_done(
        &mut self,
        done: Result<MergeResult>,
        target: &str,
        expected: &Merged,
        what: &str,
    ) -> Option<MergeResult> {
        match done {
            Ok(done) => {
                assert!(expected.clashes.is_empty(), "{what}: {:?}", expected.clashes);
                assert!(model::is_sound(&expected.state), "{what}: the model is wrong");
                let counts = model::counts(self.state(target), &expected.state);
                if done.receipt.changed {
                    assert_eq!(counted(&done.receipt.commit.counts), counts, "{what}");
                } else {
                    assert!(counts.is_empty(), "{what}: {counts:?}");
                }
                Some(done)
            }
            Err(e) => {
                assert_eq!(e.reason(), Reason::MergeConflict, "{what}: {e}");
                assert_eq!(e.metadata()["conflicts"], expected.clashes.len().to_string(), "{what}: {e}");
                for clash in expected.clashes.iter().filter_map(|clash| clash.split_whitespace().next()) {
                    self.count(match clash {
                        "orphan_edge" => "orphans",
                        "unique_violation" => "unique violations",
                        "cardinality_violation" => "cardinality violations",
                        _ => "divergences",
                    });
                }
                self.count("conflicts");
                None
            }
        }
    }

    /// What makes a change of a commit, or its opposite, on a branch.
    async fn picked(
        &mut self,
        base: &str,
        theirs: &str,
        branch: &str,
        what: &str,
        done: impl AsyncFnOnce(&Graph, MergeHow, WriteOptions) -> Result<MergeResult>,
    ) {
        let (how, asked) = self.how();
        let origin = Origin::One(self.past.state(base));
        let expected = model::merge(&origin, self.state(branch), self.past.state(theirs), how);
        let what = format!("{what}, {how:?}");
        let done = done(&self.graph, asked, WriteOptions::on(branch)).await;
        if matches!(&done, Err(e) if self.cleaned && e.reason() == Reason::CommitNotFound) {
            return;
        }
        if let Some(done) = self.expect_done(done, branch, &expected, &what)
            && done.receipt.changed
        {
            assert_eq!(done.settled, expected.settled, "{what}");
            assert_eq!(done.receipt.commit.parents, [self.heads[branch].clone()], "{what}");
            self.made(branch, &done.receipt.commit.id, None, expected.state);
            self.count("picks");
        }
    }

    async fn revert(&mut self) -> String {
        let (commit, branch) = (self.commit(), self.branch());
        let what = format!("revert {commit} on {branch}");
        if let Some(parent) = self.past.commits[&commit].parents.first().cloned() {
            let revert =
                async |g: &Graph, how: MergeHow, options: WriteOptions| g.revert(&commit, &how, &options).await;
            self.picked(&commit, &parent, &branch, &what, revert).await;
        }
        what
    }

    async fn cherry_pick(&mut self) -> String {
        let (commit, branch) = (self.commit(), self.branch());
        let what = format!("pick {commit} on {branch}");
        if let Some(parent) = self.past.commits[&commit].parents.first().cloned() {
            let pick =
                async |g: &Graph, how: MergeHow, options: WriteOptions| g.cherry_pick(&commit, &how, &options).await;
            self.picked(&parent, &commit, &branch, &what, pick).await;
        }
        what
    }

    async fn restore(&mut self) -> String {
        let branch = self.branch();
        let (selector, commit) = self.somewhere();
        let what = format!("restore {branch} to {selector:?}");
        let done = self.graph.restore(&selector, &WriteOptions::on(branch.as_str())).await;
        if self.there(&selector, &done, &what) {
            let (done, state) = (done.unwrap(), self.past.state(&commit).clone());
            assert_eq!(done.receipt.changed, state != *self.state(&branch), "{what}");
            if done.receipt.changed {
                self.made(&branch, &done.receipt.commit.id, None, state);
                self.count("restores");
            }
        }
        what
    }

    async fn optimize(&mut self) -> String {
        let branch = self.branch();
        self.graph.optimize(&branch, 2).await.unwrap();
        let now = self.graph.branch(&branch).await.unwrap().head;
        if now != self.heads[&branch] {
            let state = self.state(&branch).clone();
            self.made(&branch, &now, None, state);
            self.past.commits.get_mut(&now).unwrap().physical = true;
            self.count("rewrites");
        }
        format!("optimize {branch}")
    }

    async fn clean_up(&mut self) -> String {
        self.clock.later(Duration::from_secs(3 * 3_600));
        let keep = self.random.u64(1..4);
        let options = CleanupOptions { keep: Some(keep), confirm: true, concurrency: 2, ..CleanupOptions::default() };
        let report = self.graph.cleanup(&options).await.unwrap();
        assert_eq!(report.errors(), 0, "{report:#?}");
        self.cleaned = true;
        *self.tally.entry("commits cleaned up").or_default() += report.commits_removed;
        format!("clean up, keep {keep}")
    }

    async fn tag(&mut self) -> String {
        let name = format!("t{}", self.random.u32(..3));
        if self.tags.remove(&name).is_some() {
            self.graph.delete_tag(&name).await.unwrap();
            return format!("untag {name}");
        }
        let (selector, commit) = self.somewhere();
        let what = format!("tag {name} at {selector:?}");
        let done = self.graph.create_tag(&name, &selector, "", &Actor::default()).await;
        if self.there(&selector, &done, &what) {
            assert_eq!(done.unwrap().commit, commit);
            self.tags.insert(name, commit);
        }
        what
    }

    async fn reopen(&mut self) -> String {
        self.graph = self.clock.engine().open(self.graph.root(), Access::ReadWrite).await.unwrap();
        "reopen".to_string()
    }

    async fn diff(&mut self) -> String {
        let [(before, a), (after, b)] = [self.somewhere(), self.somewhere()];
        let what = format!("diff {before:?} {after:?}");
        let found: Result<Vec<EntityChange>, Error> = async {
            let diff = self.graph.diff(&before, &after, &DiffFilter::default()).await?;
            diff.changes.try_collect().await
        }
        .await;
        let is_commit = |selector: &ReadSelector| matches!(selector, ReadSelector::Commit(_));
        let weakest = if is_commit(&before) { &before } else { &after };
        if self.there(weakest, &found, &what) {
            assert_eq!(told(&found.unwrap()), differing(self.past.state(&a), self.past.state(&b)), "{what}");
            self.count("diffs");
        }
        what
    }

    async fn check(&self, what: &str) {
        for branch in self.heads.keys() {
            assert_eq!(shown(&self.graph, branch).await, model::lines(self.state(branch)), "{what}: {branch}");
        }
    }

    async fn check_all(&self, what: &str) {
        let report = self.graph.verify().await.unwrap();
        assert!(report.is_clean() && report.pending == 0, "{what}: {report:#?}");
        let live: BTreeSet<String> = self.graph.branches().await.unwrap().into_iter().map(|b| b.name).collect();
        assert_eq!(live, self.heads.keys().cloned().collect(), "{what}");
        for (branch, head) in &self.heads {
            let found = self.graph.ancestors(branch, None, 100_000).await.unwrap();
            let expected: Vec<String> = self.past.ancestors(head).into_iter().rev().collect();
            assert_eq!(found.iter().map(|c| c.id.clone()).collect::<Vec<_>>(), expected, "{what}: {branch}");
            for commit in found {
                assert_eq!(commit.parents, self.past.commits[&commit.id].parents, "{what}: {}", commit.id);
            }
        }
        for (tag, commit) in &self.tags {
            let found = crate::merge::at(&self.graph, &ReadSelector::Tag(tag.clone())).await;
            assert_eq!(found, model::lines(self.past.state(commit)), "{what}: {tag}");
        }
    }
}

fn counted(counts: &[TypeCounts]) -> BTreeMap<String, [u64; 3]> {
    counts.iter().map(|c| (c.type_ref.name.clone(), [c.inserted, c.updated, c.deleted])).collect()
}

/// A difference as what goes and what comes.
fn told(changes: &[EntityChange]) -> Vec<String> {
    let line = |c: &EntityChange| {
        let told = [&c.before, &c.after].map(|side| crate::merge::brief(side.as_ref()));
        format!("{}/{} {} -> {}", c.type_ref.name, c.id, told[0], told[1])
    };
    changes.iter().map(line).collect()
}

fn differing(before: &State, after: &State) -> Vec<String> {
    let brief = |image: Option<&model::Image>| {
        let Some(image) = image else { return "none".to_string() };
        let ends = image.get("src").map(|src| format!("{src}->{}", image["dst"]));
        let rest = image.iter().filter(|(part, _)| !["src", "dst"].contains(*part));
        ends.into_iter().chain(rest.map(|(part, value)| format!("{part}={value}"))).collect::<Vec<_>>().join(" ")
    };
    let keys: BTreeSet<&model::Key> = before.keys().chain(after.keys()).collect();
    let differ = keys.into_iter().filter(|key| before.get(*key) != after.get(*key));
    differ.map(|key| format!("{}/{} {} -> {}", key.1, key.2, brief(before.get(key)), brief(after.get(key)))).collect()
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|text| text.parse().ok())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_branches_and_merges_agree_with_a_model_in_memory() {
    let seed = number("OMNIGRAPH_TEST_SEED").unwrap_or(20_260_102);
    let steps = number("OMNIGRAPH_TEST_STEPS").unwrap_or(90);
    println!("seed {seed}, {steps} steps");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut tally: BTreeMap<&'static str, u64> = BTreeMap::new();
    for history in 0..3 {
        let mut run = Run::begin(random.fork()).await;
        for step in 0..steps {
            let what = format!("seed {seed}, history {history}, step {step}: {}", run.step().await);
            run.check(&what).await;
            if step % 15 == 14 || step + 1 == steps {
                run.check_all(&what).await;
            }
        }
        run.tally.iter().for_each(|(what, n)| *tally.entry(what).or_default() += n);
    }
    println!("{tally:?}");
}

/// A graph with a random history of so many steps, and the time it goes by.
pub(crate) async fn grown(seed: u64, steps: usize) -> (Graph, Arc<Sand>) {
    let mut run = Run::begin(fastrand::Rng::with_seed(seed)).await;
    for _ in 0..steps {
        run.step().await;
    }
    println!("seed {seed}, {steps} steps: {:?}", run.tally);
    (run.graph, run.clock)
}
