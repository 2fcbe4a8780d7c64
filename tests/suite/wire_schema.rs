//! Changes of schema as the contract says it: with the client, with the generated stubs, and with the command line on
//! files and against a server.

mod command_line;

use omnigraph_client::{
    Client, ErrorReason, LoadSource, RefusalCode, Rename, SchemaSource, SchemaStep, Selector, StepAction, StepCost,
    node, proto,
};
use omnigraph_service::{Config, Running, Server};
use omnigraph_tests::{SOCIAL, memory_root, person};

async fn served() -> (Running, Client, omnigraph_client::Graph) {
    let server = Server::bind(Config::new(memory_root("wire-schema"))).await.unwrap();
    let client = Client::connect(server.uri()).await.unwrap();
    client.create_graph("social", SOCIAL).await.unwrap();
    let graph = client.graph("social");
    graph.load(LoadSource::from(person("ada", 36) + &person("bob", 120))).send().await.unwrap();
    (server, client, graph)
}

/// The schema with another text in place of one that it has.
fn with(old: &str, new: &str) -> String {
    assert!(SOCIAL.contains(old), "{old}");
    SOCIAL.replace(old, new)
}

/// Ages are called years, there are companies and a level, and nobody has an address any more.
fn wanted() -> String {
    with("age: I32?", "years: I32? @was(\"age\")  level: I64 @default(3)")
        .replace("@range(age,", "@range(years,")
        .replace("email: String?", "")
        .replace("@unique(email)", "")
        + "node Company { name: String @key }\n"
}

async fn head(graph: &omnigraph_client::Graph, branch: &str) -> String {
    graph.branch(branch).await.unwrap().head.id
}

/// The step of this kind about this.
fn step<'a>(steps: &'a [SchemaStep], action: StepAction, subject: &str) -> &'a SchemaStep {
    let found = steps.iter().find(|step| step.action == action && step.subject.to_string() == subject);
    found.unwrap_or_else(|| panic!("no step {} of {subject}: {steps:#?}", action.as_str()))
}

fn years(entity: &omnigraph_client::Entity, property: &str) -> Option<i64> {
    entity.get(property).and_then(omnigraph_client::Value::as_i64)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_tells_what_it_would_take_and_writes_nothing() {
    let (server, _client, graph) = served().await;
    let before = head(&graph, "main").await;
    let plan = graph.plan_schema(wanted()).send().await.unwrap();
    assert_eq!((plan.read.id.as_str(), plan.read.branch.as_str()), (before.as_str(), "main"));
    let steps = &plan.steps;
    assert_eq!(step(steps, StepAction::Rename, "node:Person.age").cost, StepCost::Metadata);
    assert_eq!(step(steps, StepAction::Add, "node:Company").cost, StepCost::Metadata);
    let level = step(steps, StepAction::Add, "node:Person.level");
    assert_eq!((level.cost, level.loses_data), (StepCost::Rewrite { rows: 2, bytes: 16 }, false));
    let email = step(steps, StepAction::Drop, "node:Person.email");
    assert_eq!((email.cost, email.loses_data), (StepCost::Metadata, true));
    assert!(steps.iter().all(|step| !step.description.is_empty()));
    assert!(plan.loses_data() && !plan.is_refused());

    // What stays keeps its stable id, whatever its name.
    let now = graph.schema().send().await.unwrap().schema;
    let id_of = |schema: &proto::Schema, name: &str| {
        let person = schema.node_types.iter().find(|t| t.name == "Person").unwrap();
        let property = person.properties.iter().find(|p| p.name == name).unwrap();
        (person.stable_id.clone(), property.stable_id.clone())
    };
    assert_eq!(id_of(&plan.schema, "years"), id_of(&now, "age"));
    assert!(!id_of(&now, "age").1.is_empty());
    assert!(plan.source.contains("years: I32?") && !plan.source.contains("@was"), "{}", plan.source);

    assert_eq!(head(&graph, "main").await, before);
    assert_eq!(graph.schema().send().await.unwrap().schema, now);
    let same = graph.plan_schema(now).send().await.unwrap();
    assert_eq!((same.steps, same.read.id), (Vec::new(), before));
    server.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_one_commit_and_old_commits_keep_their_schema() {
    let (server, _client, graph) = served().await;
    let before = head(&graph, "main").await;
    let change = || graph.apply_schema(wanted()).expected_head(&before).message("years").request_id("schema-1");
    let error = change().send().await.unwrap_err();
    assert!(error.is(ErrorReason::ConfirmationRequired), "{error:?}");
    assert_eq!(error.metadata()["field"], "allow_destructive");
    assert!(error.violations().iter().any(|v| v.field == "node:Person.email"), "{error}");
    assert_eq!(head(&graph, "main").await, before);

    let applied = change().allow_data_loss().send().await.unwrap();
    assert!(applied.receipt.changed && !applied.receipt.replayed);
    assert_eq!((applied.receipt.parents.as_slice(), applied.steps.is_empty()), (&[before.clone()][..], false));
    step(&applied.steps, StepAction::Rename, "node:Person.age");
    let commit = graph.commit(Selector::Commit(applied.receipt.commit_id.clone())).await.unwrap();
    assert_eq!((commit.message.as_str(), commit.request_id.as_str()), ("years", "schema-1"));

    let now = graph.get("Person", ["ada"]).at_least(&applied).send().await.unwrap();
    assert_eq!((years(&now[0], "years"), years(&now[0], "level")), (Some(36), Some(3)));
    assert!(now[0].get("age").is_none() && now[0].get("email").is_none());
    let then = graph.get("Person", ["ada"]).commit(&before).send().await.unwrap();
    assert_eq!((years(&then[0], "age"), then[0].get("years")), (Some(36), None));
    let write = node("Person").set("slug", "eve").set("years", 20);
    graph.mutate().insert(write).insert(node("Company").set("name", "acme")).send().await.unwrap();
    let eve = graph.get("Person", ["eve"]).send().await.unwrap();
    assert_eq!(years(&eve[0], "level"), Some(3), "new entities get the default, too");

    // The same request again, although the branch has moved on.
    let again = change().allow_data_loss().send().await.unwrap();
    assert!(again.receipt.replayed && again.steps.is_empty());
    assert_eq!(again.receipt.commit_id, applied.receipt.commit_id);
    // The same schema again, as another request.
    let same = graph.apply_schema(wanted()).send().await.unwrap();
    assert!(!same.receipt.changed && same.steps.is_empty(), "{same:?}");
    server.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_graph_cannot_take_is_listed_with_a_remedy() {
    let (server, _client, graph) = served().await;
    let before = head(&graph, "main").await;
    let wanted = with("slug: String @key", "slug: String")
        .replace("name: String?", "name: String? @key")
        .replace("name: String? @key", "name: String  title: String @key");
    let wanted = wanted.replace("@range(age, 0..150)", "@range(age, 0..99)");
    let plan = graph.plan_schema(wanted.as_str()).send().await.unwrap();
    assert!(plan.is_refused());
    let range = step(&plan.steps, StepAction::Alter, "node:Person.age");
    assert_eq!(range.cost, StepCost::Check { rows: 2 });
    let refusal = range.refusal.clone().unwrap();
    assert_eq!(refusal.code, RefusalCode::RangeViolated);
    assert!(refusal.remedy.contains("bob"), "{refusal:?}");
    let refused: Vec<_> = plan.steps.iter().filter(|step| step.refusal.is_some()).collect();

    for consent in [false, true] {
        let change = graph.apply_schema(wanted.as_str());
        let change = if consent { change.allow_data_loss() } else { change };
        let error = change.send().await.unwrap_err();
        assert!(error.is(ErrorReason::SchemaRefused), "{error:?}");
        assert_eq!(error.code(), omnigraph_client::Code::FailedPrecondition);
        let told: Vec<_> = error.violations().iter().map(|v| (v.field.clone(), v.description.clone())).collect();
        let expected = refused.iter().map(|step| {
            let refusal = step.refusal.as_ref().unwrap();
            (step.subject.to_string(), format!("{}: {}", refusal.code.as_str(), refusal.remedy))
        });
        assert_eq!(told, expected.collect::<Vec<_>>());
        let first = refused[0].refusal.as_ref().unwrap();
        assert_eq!(error.metadata()["steps"], refused.len().to_string());
        assert_eq!(error.metadata()["code"], first.code.as_str());
        assert_eq!(error.metadata()["subject"], refused[0].subject.to_string());
    }
    let codes: Vec<_> = refused.iter().map(|step| step.refusal.as_ref().unwrap().code).collect();
    assert!(codes.contains(&RefusalCode::KeyChanged) && codes.contains(&RefusalCode::RangeViolated), "{codes:?}");
    assert_eq!(head(&graph, "main").await, before);
    server.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_is_bound_to_its_head_and_a_branch_is_changed_alone() {
    let (server, _client, graph) = served().await;
    graph.create_branch("review", Selector::default()).await.unwrap();
    let more = SOCIAL.to_string() + "node Company {}";
    let plan = graph.plan_schema(more.as_str()).branch("review").send().await.unwrap();
    let write = graph.mutate().insert(node("Note").set("text", "x")).branch("review");
    write.send().await.unwrap();
    let late =
        graph.apply_schema(more.as_str()).branch("review").expected_head(&plan.read.id).send().await.unwrap_err();
    assert!(late.is(ErrorReason::HeadMoved), "{late:?}");
    assert_eq!(late.metadata()["expected"], plan.read.id);
    let plan = graph.plan_schema(more.as_str()).branch("review").send().await.unwrap();
    let applied = graph.apply_schema(more.as_str()).branch("review").expected_head(&plan.read.id).send().await.unwrap();
    assert_eq!(applied.steps, plan.steps);
    assert!(!graph.schema().send().await.unwrap().source.contains("Company"));
    assert!(graph.schema().branch("review").send().await.unwrap().source.contains("Company"));
    let nowhere = graph.plan_schema(SOCIAL).branch("nowhere").send().await.unwrap_err();
    assert!(nowhere.is(ErrorReason::BranchNotFound), "{nowhere:?}");
    graph.protect_branch("review", true).await.unwrap();
    let kept = graph.apply_schema(SOCIAL).branch("review").allow_data_loss().send().await.unwrap_err();
    assert!(kept.is(ErrorReason::BranchProtected), "{kept:?}");
    server.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn renames_are_told_by_request_by_text_and_by_stable_id() {
    let (server, _client, graph) = served().await;
    let text = with("age: I32?", "years: I32?").replace("@range(age,", "@range(years,");
    let guess = graph.plan_schema(text.as_str()).send().await.unwrap();
    step(&guess.steps, StepAction::Drop, "node:Person.age");
    let mut message = graph.schema().send().await.unwrap().schema;
    let person = message.node_types.iter_mut().find(|t| t.name == "Person").unwrap();
    person.properties.iter_mut().find(|p| p.name == "age").unwrap().name = "years".into();
    for constraint in &mut person.constraints {
        if let Some(proto::constraint::Kind::Range(range)) = &mut constraint.kind {
            range.property = "years".into();
        }
    }
    let rename = Rename::of_property("Person", "age", "years");
    for plan in [
        graph.plan_schema(text.as_str()).rename(rename.clone()),
        graph.plan_schema(text.replace("years: I32?", "years: I32? @was(\"age\")")),
        graph.plan_schema(SchemaSource::Message(message)),
    ] {
        let plan = plan.send().await.unwrap();
        assert_eq!(plan.steps.len(), 1, "{:#?}", plan.steps);
        step(&plan.steps, StepAction::Rename, "node:Person.age");
    }
    let of_nothing = [
        (Rename::of_type("Persn", "Human"), ErrorReason::TypeNotFound),
        (Rename::of_property("Person", "agee", "years"), ErrorReason::PropertyNotFound),
        (Rename::of_property("Person", "age", ""), ErrorReason::InvalidArgument),
    ];
    for (rename, reason) in of_nothing {
        let error = graph.plan_schema(text.as_str()).rename(rename.clone()).send().await.unwrap_err();
        assert!(error.is(reason), "{error:?}");
        let error = graph.apply_schema(text.as_str()).rename(rename).send().await.unwrap_err();
        assert!(error.is(reason), "{error:?}");
    }
    server.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schemas_of_two_versions_are_compared_by_stable_id() {
    let (server, _client, graph) = served().await;
    let before = head(&graph, "main").await;
    graph.create_branch("review", Selector::default()).await.unwrap();
    let applied = graph.apply_schema(wanted()).branch("review").allow_data_loss().send().await.unwrap();
    let review = Selector::Branch("review".into());
    let diff = graph.diff_schemas(Selector::default(), review.clone()).await.unwrap();
    assert_eq!((&diff.before.id, &diff.after.id), (&before, &applied.receipt.commit_id));
    assert_eq!((diff.before.branch.as_str(), diff.after.branch.as_str()), ("main", "review"));
    step(&diff.steps, StepAction::Rename, "node:Person.age");
    step(&diff.steps, StepAction::Drop, "node:Person.email");
    step(&diff.steps, StepAction::Add, "node:Company");
    for step in &diff.steps {
        assert_eq!((step.cost, step.loses_data, &step.refusal), (StepCost::Unknown, false, &None));
    }
    let back = graph.diff_schemas(review.clone(), Selector::Commit(before)).await.unwrap();
    step(&back.steps, StepAction::Rename, "node:Person.years");
    step(&back.steps, StepAction::Add, "node:Person.email");
    assert_eq!(back.after.branch, "");
    assert!(graph.diff_schemas(review.clone(), review).await.unwrap().steps.is_empty());
    let nowhere = graph.diff_schemas(Selector::default(), Selector::Tag("v9".into())).await.unwrap_err();
    assert!(nowhere.is(ErrorReason::TagNotFound), "{nowhere:?}");
    server.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_changes_name_what_is_wrong() {
    let (server, _client, graph) = served().await;
    let plan = |schema| proto::PlanSchemaRequest { graph: "social".into(), schema, ..Default::default() };
    for schema in [None, Some(proto::SchemaDefinition { form: None })] {
        let status = graph.raw().graph().plan_schema(plan(schema.clone())).await.unwrap_err();
        assert_eq!(omnigraph_client::Error::from(status).metadata()["field"], "schema");
        let options = Some(proto::WriteOptions { graph: "social".into(), ..Default::default() });
        let apply = proto::ApplySchemaRequest { options, schema, allow_destructive: true, ..Default::default() };
        let status = graph.raw().graph().apply_schema(apply).await.unwrap_err();
        assert_eq!(
            omnigraph_client::Error::from(status).metadata()["field"],
            "schema",
            "nothing is dropped by omission"
        );
    }
    let unheard = graph.raw().graph().apply_schema(proto::ApplySchemaRequest::default()).await.unwrap_err();
    assert_eq!(omnigraph_client::Error::from(unheard).metadata()["field"], "options");
    let wrong = graph.plan_schema("node Person {\n  slug: Strin @key\n}").send().await.unwrap_err();
    assert!(wrong.is(ErrorReason::InvalidSchema), "{wrong:?}");
    assert_eq!(wrong.metadata()["line"], "2");
    server.shutdown().await.unwrap();
}
