//! Merges, tags and protection beside others who change what they are about. Whatever the order, everybody gets what
//! some order of one after the other would have given, and every commit that was acknowledged is in the lineage once.

use std::collections::BTreeMap;
use std::time::Instant;

use omnigraph_engine::Error;
use omnigraph_engine::model::{CommitInfo, Receipt, SchemaApply, WriteOptions};

use super::upkeep::{ALIVE, LONG, MORTAL, clean};
use super::*;
use crate::explore::{Cast, Play, Run, explore_each, judge, play, whole};
use crate::parted::{Seen, Setup, ahead, apart, lineage, made, merge, seen, three, write};
use crate::stage::{Choice, Stage, changes};
use crate::stock::{Place, Stock};

const GONE: &[Reason] = &[Reason::BranchNotFound, Reason::BranchClosed];

// What is written can be told by its request, and by a person of that name.
const MERGE_B: Role = writer(deed!(g => async move { merge(&g, "b", "main", "b-in").await }), ("main", "<b-in>"), NONE);
const MERGE_DOOMED: Role = Role { may_fail: GONE, ..MERGE_B };
const MERGE_C: Role = writer(deed!(g => async move { merge(&g, "c", "main", "c-in").await }), ("main", "<c-in>"), NONE);
const MERGE_INTO_T: Role = writer(deed!(g => async move { merge(&g, "b", "t", "b-in").await }), ("t", "<b-in>"), NONE);
const PUT_LATE: Role =
    writer(deed!(g => async move { write(&g, "main", "late", &person("late", 1)).await }), ("main", "<late>"), NONE);
const PUT_LATE_ON_T: Role =
    writer(deed!(g => async move { write(&g, "t", "late", &person("late", 1)).await }), ("t", "<late>"), NONE);
const PUT_LATE_ON_B: Role =
    writer(deed!(g => async move { write(&g, "b", "late", &person("late", 1)).await }), ("b", "<late>"), NONE);
const PUT_IF_ALLOWED: Role = Role { may_fail: &[Reason::BranchProtected], ..PUT_LATE_ON_B };
const PROTECT_MAIN: Role =
    silent(deed!(g => async move { g.protect_branch("main", true, &Actor::default()).await }), NONE);
const PROTECT_B: Role = silent(deed!(g => async move { g.protect_branch("b", true, &Actor::default()).await }), GONE);
const DELETE_IF_ALLOWED: Role = Role { may_fail: &[Reason::BranchProtected], ..DELETE_B };
const TAG_B: Role =
    silent(deed!(g => async move { g.create_tag("old", &head("b"), "", &Actor::default()).await }), GONE);

const EVOLVE: Role = writer(deed!(g => async move { evolve(&g, "main", "level").await }), ("main", "<level>"), NONE);
const EVOLVE_ELSE: Role = writer(deed!(g => async move { evolve(&g, "main", "rank").await }), ("main", "<rank>"), NONE);
const EVOLVE_B: Role = writer(deed!(g => async move { evolve(&g, "b", "level").await }), ("b", "<level>"), NONE);

/// Gives a branch a schema in which people have one property more, and no other that they did not have at first.
async fn evolve(g: &Graph, branch: &str, property: &str) -> Result<Receipt> {
    let text = SOCIAL.replacen("age: I32?", &format!("age: I32?\n {property}: I32 @default(3)"), 1);
    let apply = SchemaApply { wish: omnigraph_engine::schema::parse(&text)?.into(), consent: true };
    let options = WriteOptions { request_id: property.into(), ..WriteOptions::on(branch) };
    g.apply_schema(&apply, &options).await.map(|(receipt, _)| receipt)
}

/// Two who meet on a graph.
#[derive(Clone, Copy)]
struct Meeting {
    name: &'static str,
    before: Setup,
    roles: &'static [Role],
}

fn meetings_of_merges() -> Vec<Meeting> {
    let meet = |name, before, roles| Meeting { name, before, roles };
    vec![
        meet("merge beside a write to its target", apart, &[MERGE_INTO_T, PUT_LATE_ON_T]),
        meet("fast-forward beside a write to its target", ahead, &[MERGE_B, PUT_LATE]),
        meet("merge beside a write to its source", three, &[MERGE_B, PUT_LATE_ON_B]),
        meet("merges of two sources", three, &[MERGE_B, MERGE_C]),
        meet("merge beside the deletion of its source", three, &[MERGE_DOOMED, DELETE_B]),
        meet("merge beside the protection of its target", three, &[MERGE_B, PROTECT_MAIN]),
    ]
}

fn meetings_of_schemas() -> Vec<Meeting> {
    let meet = |name, before, roles| Meeting { name, before, roles };
    vec![
        meet("change of schema beside a write", ahead, &[EVOLVE, PUT_LATE]),
        meet("change of schema beside another", ahead, &[EVOLVE, EVOLVE_ELSE]),
        meet("change of schema beside a merge", three, &[EVOLVE, MERGE_B]),
        meet("change of the schema of a source beside its merge", three, &[EVOLVE_B, MERGE_B]),
    ]
}

fn meetings_of_names() -> Vec<Meeting> {
    let meet = |name, roles| Meeting { name, before: ahead, roles };
    vec![
        meet("write beside the protection of its branch", &[PUT_IF_ALLOWED, PROTECT_B]),
        meet("deletion beside the protection of its branch", &[DELETE_IF_ALLOWED, PROTECT_B]),
        meet("tag beside the deletion of its branch", &[TAG_B, DELETE_B]),
    ]
}

/// Who of them succeeded, and what there is then.
type Come = (Vec<bool>, Seen);

/// What deeds one after the other come to, for every order of some or all of them.
async fn serially(stock: &Stock, roles: &[Role]) -> Vec<Come> {
    let orders: &[&[usize]] = &[&[], &[0], &[1], &[0, 1], &[1, 0]];
    let mut out = Vec::new();
    for order in orders {
        let place = stock.put_back(LONG).await;
        let mut done = vec![false; roles.len()];
        for &i in *order {
            done[i] = (roles[i].does)(place.open().await).await.is_ok();
        }
        out.push((done, seen(&place.open().await).await.unwrap()));
    }
    out
}

/// A meeting, and what it may come to.
struct Met<'a> {
    meeting: Meeting,
    bounds: Bounds,
    model: &'a Stock,
    serial: &'a [Come],
    stock: Option<Stock>,
}

impl Play for Met<'_> {
    async fn perform(&mut self, beginning: &[Choice]) -> Run {
        if self.stock.is_none() {
            self.stock = Some(self.model.twin("met").await);
        }
        let (Some(stock), Meeting { name, roles, .. }, bounds) = (&self.stock, self.meeting, self.bounds) else {
            unreachable!()
        };
        let place = stock.put_back(LONG).await;
        let witness = place.open().await;
        witness.branches().await.unwrap();
        let stage = Stage::at(roles.len(), &place, changes);
        let (run, ending) = play(&stage, Cast { name, root: &stock.root, roles, bounds }, beginning).await;
        place.clock.later(bounds.lease);
        let concluded = self.conclude(stock, &witness, &place, ending).await;
        concluded.unwrap_or_else(|e| panic!("{name}, {bounds:?}, {:?}: {e}\n{}", run.taken, stage.trace()));
        run
    }
}

type Checked = std::result::Result<(), String>;

fn failed(what: &str) -> impl FnOnce(Error) -> String {
    move |e| format!("{what}: {e}")
}

impl Met<'_> {
    /// Recovers as a process that comes later would, checks what it finds, and goes on.
    async fn conclude(&self, stock: &Stock, witness: &Graph, place: &Place, mut ending: Ending) -> Checked {
        let later = place.engine().open(&place.root, Access::ReadWrite).await.map_err(failed("open"))?;
        whole(&later).await?;
        let found = seen(&later).await.map_err(failed("read"))?;
        for branch in ["main", "b", "c", "t"].into_iter().filter(|branch| found.branches.contains_key(*branch)) {
            let all = lineage(&later, branch).await?;
            check_merges(stock, &all)?;
            let mut lines = found.branches[branch].1.clone();
            let is_late = lines.iter().any(|line| line.contains("\"late\""));
            if is_late != all.iter().any(|commit| commit.request_id == "late") {
                return Err(format!("{branch} shows something else than its lineage says: {lines:#?}, {all:#?}"));
            }
            lines.extend(all.iter().map(|commit| format!("<{}>", commit.request_id)));
            ending.contents.insert(branch, lines);
        }
        for (i, role) in self.meeting.roles.iter().enumerate() {
            judge(role, &ending, i)?;
        }
        let fits = |(done, then): &&Come| {
            let told = |i: usize| ending.dead[i] || done[i] == ending.outcomes[i].is_ok();
            (0..done.len()).all(told) && *then == found
        };
        if !self.serial.iter().any(|one| fits(&one)) {
            return Err(format!("no order of one after the other comes to this: {found:#?}, {ending:#?}"));
        }
        self.go_on(witness, &later, place, &found).await
    }

    /// Everybody goes on without being opened again, and what tags name outlasts a cleanup.
    async fn go_on(&self, witness: &Graph, later: &Graph, place: &Place, found: &Seen) -> Checked {
        let (protected, _) = found.branches["main"];
        match load(witness, "main", LoadMode::Merge, &person("after", 1)).await {
            Ok(_) if !protected => {}
            Err(e) if protected && e.reason() == Reason::BranchProtected => {}
            other => return Err(format!("the next write: {other:?}")),
        }
        if !found.tags.is_empty() {
            place.clock.later(LONG);
            clean(later.clone()).await.map_err(failed("the next cleanup"))?;
            if seen(witness).await.map_err(failed("reading after a cleanup"))?.tags != found.tags {
                return Err("a tag shows something else after a cleanup".to_string());
            }
        }
        if crate::deep() { whole(witness).await } else { Ok(()) }
    }
}

/// Every merge has the head of a source as its second parent: the one there was, or the write that came after it.
fn check_merges(stock: &Stock, all: &[CommitInfo]) -> Checked {
    let by_id: BTreeMap<&str, &CommitInfo> = all.iter().map(|commit| (commit.id.as_str(), commit)).collect();
    for merge in all.iter().filter(|commit| commit.operation == "merge") {
        let source = &merge.request_id[..1];
        let brought = by_id[merge.parents[1].as_str()];
        let is_late = ["late", "level"].contains(&brought.request_id.as_str()) && brought.branch == source;
        if brought.id != stock.heads[source] && !is_late {
            return Err(format!("a merge has other parents: {merge:#?}, {brought:#?}"));
        }
    }
    Ok(())
}

fn sweep_meetings(meetings: Vec<Meeting>, bounds: Bounds, what: &str) {
    let begun = Instant::now();
    let mut total = Tally::default();
    for meeting in meetings.into_iter().filter(|meeting| is_asked_for(meeting.name)) {
        let at = Instant::now();
        let model = &alone(made("met", meeting.before));
        let serial = &alone(serially(model, meeting.roles));
        let tally = explore_each(|| Met { meeting, bounds, model, serial, stock: None });
        println!("{what}: {}: {} orders, {} steps, {:?}", meeting.name, tally.runs, tally.steps, at.elapsed());
        total.runs += tally.runs;
        total.steps += tally.steps;
    }
    let Tally { runs, steps } = total;
    crate::tell(&format!("{what}: {runs} orders of two processes, {steps} steps in {:?}", begun.elapsed()));
}

fn sweep_both(meetings: fn() -> Vec<Meeting>, what: &str) {
    sweep_meetings(meetings(), Bounds { switches: switches(1), ..ALIVE }, what);
    if crate::deep() {
        sweep_meetings(meetings(), Bounds { switches: switches(0), ..MORTAL }, &format!("mortal {what}"));
    }
}

#[test]
fn orders_of_a_merge_and_others_at_work() {
    sweep_both(meetings_of_merges, "merges");
}

#[test]
fn orders_of_a_change_of_schema_and_others_at_work() {
    sweep_both(meetings_of_schemas, "schemas");
}

#[test]
fn orders_of_what_is_done_to_a_branch_as_a_whole() {
    sweep_both(meetings_of_names, "names");
}
