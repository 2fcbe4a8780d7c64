//! Random histories compared, step by step, with a small model in memory. The seed is printed; setting
//! `OMNIGRAPH_TEST_SEED` repeats a run.

use std::collections::BTreeMap;

use omnigraph_engine::model::{
    Actor, Change, CompareOp, EdgePolicy, EntityWrite, LoadMode, Predicate, ReadSelector, Target, TypeRef, Value,
    WriteOptions,
};
use omnigraph_engine::{Access, Graph, Reason};
use omnigraph_tests::{SOCIAL, content, engine, graph, head, load, person};

/// What a branch holds.
#[derive(Clone, Debug, Default, PartialEq)]
struct State {
    people: BTreeMap<String, i64>,
    edges: BTreeMap<String, (String, String)>,
}

impl State {
    fn lines(&self) -> Vec<String> {
        let people = self.people.iter().map(|(slug, age)| format!("P {slug} {age}"));
        let edges = self.edges.iter().map(|(id, (a, b))| format!("K {id} {a} {b}"));
        let mut lines: Vec<String> = people.chain(edges).collect();
        lines.sort();
        lines
    }

    fn remove_person(&mut self, slug: &str) {
        self.people.remove(slug);
        self.edges.retain(|_, (a, b)| a != slug && b != slug);
    }
}

/// The export in the model's terms.
async fn lines(graph: &Graph, selector: &ReadSelector) -> Vec<String> {
    let mut out: Vec<String> = content(graph, selector)
        .await
        .unwrap()
        .iter()
        .map(|line| {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            let text = |v: &serde_json::Value| v.as_str().unwrap().to_string();
            match record.get("edge") {
                None => format!("P {} {}", text(&record["data"]["slug"]), record["data"]["age"]),
                Some(_) => {
                    format!("K {} {} {}", text(&record["data"]["id"]), text(&record["from"]), text(&record["to"]))
                }
            }
        })
        .collect();
    out.sort();
    out
}

struct Run {
    random: fastrand::Rng,
    graph: Graph,
    branches: BTreeMap<String, State>,
    /// States that must stay readable: the commit and what it showed.
    past: Vec<(String, Vec<String>)>,
    next_edge: u32,
}

impl Run {
    fn branch(&mut self) -> String {
        let names: Vec<String> = self.branches.keys().cloned().collect();
        names[self.random.usize(..names.len())].clone()
    }

    fn slug(&mut self) -> String {
        format!("p{}", self.random.u32(0..8))
    }

    async fn step(&mut self) -> String {
        let branch = self.branch();
        match self.random.u32(0..10) {
            0 | 1 => self.upsert(&branch).await,
            2 | 3 => self.edge(&branch).await,
            4 => self.delete(&branch).await,
            5 => self.update(&branch).await,
            6 => self.append(&branch).await,
            7 => self.merge(&branch).await,
            8 => self.fork(&branch).await,
            _ => self.drop_branch(&branch).await,
        }
    }

    async fn mutate(&self, branch: &str, change: Change) -> Result<(), Reason> {
        self.graph.mutate(vec![change], &WriteOptions::on(branch)).await.map(|_| ()).map_err(|e| e.reason())
    }

    fn state(&mut self, branch: &str) -> &mut State {
        self.branches.get_mut(branch).unwrap()
    }

    async fn upsert(&mut self, branch: &str) -> String {
        let (slug, age) = (self.slug(), self.random.i64(0..150));
        let properties =
            BTreeMap::from([("slug".to_string(), Value::String(slug.clone())), ("age".to_string(), Value::I64(age))]);
        let write = EntityWrite { type_ref: TypeRef::node("Person"), id: None, endpoints: None, properties };
        self.mutate(branch, Change::Upsert(write)).await.unwrap();
        self.state(branch).people.insert(slug.clone(), age);
        format!("upsert {slug}={age} on {branch}")
    }

    async fn edge(&mut self, branch: &str) -> String {
        let (a, b) = (self.slug(), self.slug());
        self.next_edge += 1;
        let id = format!("e{}", self.next_edge);
        let write = EntityWrite {
            type_ref: TypeRef::edge("Knows"),
            id: Some(id.clone()),
            endpoints: Some((a.clone(), b.clone())),
            properties: BTreeMap::new(),
        };
        let done = self.mutate(branch, Change::Insert(write)).await;
        let state = self.state(branch);
        // Uniqueness is checked before endpoints; a pair that stands has both.
        let expected = if state.edges.values().any(|e| *e == (a.clone(), b.clone())) {
            Err(Reason::UniqueViolation)
        } else if !state.people.contains_key(&a) || !state.people.contains_key(&b) {
            Err(Reason::EndpointMissing)
        } else {
            Ok(())
        };
        let label = format!("edge {id} {a}->{b} on {branch}: {done:?}");
        assert_eq!(done, expected, "{label}");
        if done.is_ok() {
            state.edges.insert(id, (a, b));
        }
        label
    }

    async fn delete(&mut self, branch: &str) -> String {
        let slug = self.slug();
        let target = Target::Ids(vec![slug.clone()]);
        let change = Change::Delete { type_ref: TypeRef::node("Person"), target, edges: EdgePolicy::Cascade };
        self.mutate(branch, change).await.unwrap();
        self.state(branch).remove_person(&slug);
        format!("delete {slug} on {branch}")
    }

    async fn update(&mut self, branch: &str) -> String {
        let (least, age) = (self.random.i64(0..150), self.random.i64(0..150));
        let target =
            Target::Where(Predicate::Compare { property: "age".into(), op: CompareOp::Ge, value: Value::I64(least) });
        let set = BTreeMap::from([("age".to_string(), Value::I64(age))]);
        self.mutate(branch, Change::Update { type_ref: TypeRef::node("Person"), target, set }).await.unwrap();
        for old in self.state(branch).people.values_mut().filter(|old| **old >= least) {
            *old = age;
        }
        format!("update >={least} to {age} on {branch}")
    }

    async fn append(&mut self, branch: &str) -> String {
        let slugs: Vec<String> = (0..3).map(|_| self.slug()).collect();
        let text: String = slugs.iter().map(|s| person(s, 7)).collect();
        let done = load(&self.graph, branch, LoadMode::Append, &text).await.map(|_| ());
        let state = self.state(branch);
        let mut unique = slugs.clone();
        unique.sort();
        unique.dedup();
        let clean = unique.len() == slugs.len() && slugs.iter().all(|s| !state.people.contains_key(s));
        assert_eq!(done.is_ok(), clean, "append {slugs:?} on {branch}: {done:?}");
        if clean {
            state.people.extend(slugs.iter().map(|s| (s.clone(), 7)));
        }
        format!("append {slugs:?} on {branch}: {clean}")
    }

    async fn merge(&mut self, branch: &str) -> String {
        let (slug, age) = (self.slug(), self.random.i64(0..150));
        load(&self.graph, branch, LoadMode::Merge, &person(&slug, age as i32)).await.unwrap();
        self.state(branch).people.insert(slug.clone(), age);
        format!("merge {slug}={age} on {branch}")
    }

    async fn fork(&mut self, branch: &str) -> String {
        let name = format!("b{}", self.random.u32(0..4));
        let done = self.graph.create_branch(&name, &head(branch), &Actor::default()).await;
        assert_eq!(done.is_ok(), !self.branches.contains_key(&name), "fork {name}: {done:?}");
        if done.is_ok() {
            let state = self.branches[branch].clone();
            self.branches.insert(name.clone(), state);
        }
        format!("fork {name} from {branch}")
    }

    async fn drop_branch(&mut self, branch: &str) -> String {
        if branch != "main" && self.random.bool() {
            self.graph.delete_branch(branch, false, &Actor::default()).await.unwrap();
            self.branches.remove(branch);
            // States of a branch that is gone need not stay readable.
            self.past.clear();
        }
        format!("drop {branch}")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_histories_agree_with_a_model_in_memory() {
    let seed = std::env::var("OMNIGRAPH_TEST_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(20_260_101);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for history in 0..4 {
        let mut run = Run {
            random: random.fork(),
            graph: graph("model", SOCIAL).await.unwrap(),
            branches: BTreeMap::from([("main".to_string(), State::default())]),
            past: Vec::new(),
            next_edge: 0,
        };
        for step in 0..60 {
            if step % 20 == 10 {
                // Another process takes over.
                let root = run.graph.root().to_string();
                run.graph = engine().open(&root, Access::ReadWrite).await.unwrap();
            }
            let what = run.step().await;
            for (branch, state) in &run.branches {
                let found = lines(&run.graph, &head(branch)).await;
                assert_eq!(found, state.lines(), "history {history} step {step}: {what}; looking at {branch}");
            }
            let at = run.graph.snapshot(&head("main")).await.unwrap().head().to_string();
            run.past.push((at, run.branches["main"].lines()));
        }
        for (commit, expected) in run.past.iter().step_by(7) {
            assert_eq!(&lines(&run.graph, &ReadSelector::Commit(commit.clone())).await, expected, "{commit}");
        }
        let report = run.graph.verify().await.unwrap();
        assert!(report.is_clean(), "history {history}: {report:#?}");
    }
}
