//! Several processes on one store, moved one step at a time.
//!
//! An actor is a process of the model: an engine of its own whose calls that others could see wait at a gate.
//! The stage lets exactly one of them go on at a time and waits until everybody stands still again, so that a
//! run is a sequence of choices that can be repeated. Time is the stage's too: nobody waits for a clock.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use omnigraph_engine::clock::Clock;
use omnigraph_engine::failpoint::{FaultPlan, Gate, is_look};
use omnigraph_engine::id::SeededIds;
use omnigraph_engine::{Engine, EngineOptions};
use tokio::sync::{Notify, oneshot};

use crate::stock::{Place, Sandglass};

/// Where the stage's time begins, microseconds since the epoch.
const DAWN: i64 = 1_700_000_000_000_000;

/// Nobody takes this long between two calls unless something is stuck.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the stage can do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The actor's call goes on.
    Go(usize),
    /// The actor wakes although its time has not come: somebody did something meanwhile.
    Wake(usize),
    /// The actor dies before its call reaches the store.
    Die(usize),
    /// The actor's call reaches the store and the actor dies before it learns so.
    DieLanded(usize),
}

impl Choice {
    pub(crate) fn actor(self) -> usize {
        match self {
            Self::Go(a) | Self::Wake(a) | Self::Die(a) | Self::DieLanded(a) => a,
        }
    }

    pub(crate) fn is_death(self) -> bool {
        matches!(self, Self::Die(_) | Self::DieLanded(_))
    }
}

/// Which calls wait to be chosen, by actor, verb and path.
pub(crate) type Sight = fn(usize, &str, &str) -> bool;

type Turn = BoxFuture<'static, ()>;

#[derive(Debug)]
enum Wait {
    /// Between two deeds.
    Deed(oneshot::Sender<()>),
    /// At a call that others could see.
    Call(oneshot::Sender<()>),
    /// At a call that could see what others did.
    Look(oneshot::Sender<()>),
    /// Until a time, since so many steps were made.
    Sleep { until: i64, since: u64, go: oneshot::Sender<()> },
}

#[derive(Debug, Default)]
struct Actor {
    waits: Vec<Wait>,
    done: bool,
}

#[derive(Debug)]
struct Scene {
    clock: Arc<Sandglass>,
    steps: u64,
    actors: Vec<Actor>,
    trace: Vec<String>,
}

/// See the module header. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    scene: Arc<Mutex<Scene>>,
    moved: Arc<Notify>,
    plans: Vec<Arc<FaultPlan>>,
    sight: Sight,
}

tokio::task_local! {
    /// Where the actor stands whose deed the task is.
    static PLACE: (Stage, usize);
}

/// Waits to be chosen in the midst of a deed, as somebody does who takes his time.
pub(crate) async fn pause() {
    if let Ok((stage, actor)) = PLACE.try_with(Clone::clone) {
        stage.step(actor).await;
    }
}

impl Stage {
    pub(crate) fn new(actors: usize) -> Self {
        let plans = (0..actors).map(|_| FaultPlan::counting()).collect();
        Self::with(plans, Sandglass::at(DAWN), changes)
    }

    /// A stage where it is as late as at a place, and `sight` tells which calls wait.
    pub(crate) fn at(actors: usize, place: &Place, sight: Sight) -> Self {
        let plan = || {
            let plan = FaultPlan::counting();
            plan.date(Arc::new(place.dates.clone()));
            plan
        };
        Self::with((0..actors).map(|_| plan()).collect(), place.clock.clone(), sight)
    }

    fn with(plans: Vec<Arc<FaultPlan>>, clock: Arc<Sandglass>, sight: Sight) -> Self {
        let actors = plans.iter().map(|_| Actor::default()).collect();
        let scene = Scene { clock, steps: 0, actors, trace: Vec::new() };
        Self { scene: Arc::new(Mutex::new(scene)), moved: Arc::default(), plans, sight }
    }

    fn scene(&self) -> MutexGuard<'_, Scene> {
        self.scene.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The engine of an actor. Its calls are not held back before it is [`Stage::raise`]d.
    pub(crate) fn engine(&self, actor: usize, seed: u64, claim_lease: Duration) -> Engine {
        Engine::new(EngineOptions {
            clock: Arc::new(StageClock { stage: self.clone(), actor }),
            ids: Arc::new(SeededIds::new(seed)),
            faults: Some(self.plans[actor].clone()),
            claim_lease,
        })
    }

    /// From now on the actor's calls wait to be chosen.
    pub(crate) fn admit(&self, actor: usize) {
        self.plans[actor].set_gate(Some(Arc::new(StageGate { stage: self.clone(), actor })));
    }

    /// The actor waits to be chosen before it does anything more.
    pub(crate) async fn step(&self, actor: usize) {
        self.wait(actor, "its next deed", |_, go| Wait::Deed(go)).await;
    }

    /// Does an actor's deed, which may [`pause`].
    pub(crate) fn act<F: Future>(&self, actor: usize, deed: F) -> impl Future<Output = F::Output> + use<F> {
        PLACE.scope((self.clone(), actor), deed)
    }

    /// Whether the actor was chosen to die.
    pub(crate) fn is_dead(&self, actor: usize) -> bool {
        self.plans[actor].fired()
    }

    /// The actor has nothing left to do once this is dropped, whatever ended it.
    pub(crate) fn leaving(&self, actor: usize) -> Leaving {
        Leaving { stage: self.clone(), actor }
    }

    /// Takes the place of a dead actor: a new process with calls of its own.
    pub(crate) fn reborn(&mut self, actor: usize) {
        self.plans[actor] = FaultPlan::counting();
        self.scene().actors[actor] = Actor::default();
    }

    fn wait(&self, actor: usize, what: &str, kind: impl FnOnce(&Scene, oneshot::Sender<()>) -> Wait) -> Turn {
        let (go, gone) = oneshot::channel();
        let mut scene = self.scene();
        let wait = kind(&scene, go);
        scene.actors[actor].waits.push(wait);
        scene.trace.push(format!("  {actor} is at {what}"));
        drop(scene);
        self.moved.notify_one();
        async move {
            // A stage that is gone lets everybody go.
            let _ = gone.await;
        }
        .boxed()
    }

    /// Waits until nobody moves. `false` once everybody is done.
    pub(crate) async fn settle(&self) -> bool {
        let still = async {
            loop {
                let moved = self.moved.notified();
                if self.scene().actors.iter().all(|a| a.done || !a.waits.is_empty()) {
                    return;
                }
                moved.await;
            }
        };
        if tokio::time::timeout(PATIENCE, still).await.is_err() {
            panic!("an actor is stuck:\n{}", self.trace());
        }
        self.scene().actors.iter().any(|a| !a.done)
    }

    /// What can be done next, given that everybody stands still. Deaths are offered if `mortal`.
    pub(crate) fn choices(&self, mortal: bool) -> Vec<Choice> {
        let scene = self.scene();
        let mut out = Vec::new();
        for (i, actor) in scene.actors.iter().enumerate().filter(|(_, a)| !a.done) {
            match actor.waits.first() {
                Some(Wait::Call(_) | Wait::Look(_) | Wait::Deed(_)) => out.push(Choice::Go(i)),
                Some(Wait::Sleep { since, .. }) if *since < scene.steps => out.push(Choice::Wake(i)),
                _ => {}
            }
        }
        if mortal {
            for (i, _) in scene.actors.iter().enumerate().filter(|(_, a)| !a.done) {
                if matches!(scene.actors[i].waits.first(), Some(Wait::Call(_))) {
                    out.extend([Choice::Die(i), Choice::DieLanded(i)]);
                }
            }
        }
        if out.is_empty() {
            // Everybody sleeps and nothing has happened since: time passes.
            let sleepers = scene.actors.iter().enumerate().filter(|(_, a)| !a.done);
            let first = sleepers.filter_map(|(i, a)| match a.waits.first() {
                Some(Wait::Sleep { until, .. }) => Some((*until, i)),
                _ => None,
            });
            out.extend(first.min().map(|(_, i)| Choice::Wake(i)));
        }
        out
    }

    /// Does one of them. An actor that dies is gone when this returns, whatever is left of its work.
    pub(crate) async fn take(&self, choice: Choice) {
        self.let_go(choice);
        if choice.is_death() {
            let actor = choice.actor();
            if tokio::time::timeout(PATIENCE, self.plans[actor].death()).await.is_err() {
                panic!("an actor does not die:\n{}", self.trace());
            }
            self.scene().actors[actor].done = true;
        }
    }

    fn let_go(&self, choice: Choice) {
        let actor = choice.actor();
        match choice {
            Choice::Die(_) => self.plans[actor].die_at(0, false),
            Choice::DieLanded(_) => self.plans[actor].die_at(0, true),
            Choice::Go(_) | Choice::Wake(_) => {}
        }
        let mut scene = self.scene();
        scene.trace.push(format!("{choice:?}"));
        if scene.actors[actor].waits.is_empty() {
            return;
        }
        let go = match scene.actors[actor].waits.remove(0) {
            Wait::Call(go) | Wait::Deed(go) => {
                scene.steps += 1;
                go
            }
            Wait::Look(go) => go,
            Wait::Sleep { until, since, go } => {
                if since == scene.steps {
                    scene.clock.reach(until);
                }
                go
            }
        };
        drop(scene);
        let _ = go.send(());
    }

    /// What happened so far, a line each.
    pub(crate) fn trace(&self) -> String {
        self.scene().trace.join("\n")
    }
}

/// See [`Stage::leaving`].
#[derive(Debug)]
pub(crate) struct Leaving {
    stage: Stage,
    actor: usize,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.stage.scene().actors[self.actor].done = true;
        self.stage.moved.notify_one();
    }
}

#[derive(Debug)]
struct StageGate {
    stage: Stage,
    actor: usize,
}

/// Changes whose order among those of others can matter: files with names that nobody else uses are written whenever
/// their writer likes.
pub(crate) fn changes(_: usize, verb: &str, path: &str) -> bool {
    // A scratch version has a random number, and a name that says so.
    let scratch = path.rsplit('/').next().is_some_and(|file| file.starts_with('d'));
    let shared = path.contains("/_versions/") && !scratch || path.contains("/__recovery/") || path.contains("g/_refs/");
    shared && !is_look(verb)
}

impl Gate for StageGate {
    fn pass(&self, verb: &str, path: &str) -> BoxFuture<'static, ()> {
        if !(self.stage.sight)(self.actor, verb, path) || self.stage.plans[self.actor].fired() {
            return futures::future::ready(()).boxed();
        }
        let looks = is_look(verb);
        self.stage.wait(
            self.actor,
            &format!("{verb} {path}"),
            |_, go| if looks { Wait::Look(go) } else { Wait::Call(go) },
        )
    }
}

#[derive(Debug)]
struct StageClock {
    stage: Stage,
    actor: usize,
}

impl Clock for StageClock {
    fn now_micros(&self) -> i64 {
        self.stage.scene().clock.now_micros()
    }

    /// Nothing happens in the background, which would depend on how fast the machine is.
    fn pace(&self, _: Duration) -> BoxFuture<'static, ()> {
        futures::future::pending().boxed()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        if self.stage.plans[self.actor].fired() {
            return futures::future::ready(()).boxed();
        }
        let time = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX).max(1);
        self.stage.wait(self.actor, "a pause", |scene, go| Wait::Sleep {
            until: scene.clock.now_micros().saturating_add(time),
            since: scene.steps,
            go,
        })
    }
}
