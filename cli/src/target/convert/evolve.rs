//! Changes of schema: the client's form for the engine's, and the other way.

use omnigraph_client as client;
use omnigraph_engine::model::{Refusal, RefusalCode, Rename, SchemaStep, StepAction, StepWork, Subject};

use super::{type_in, type_out};
use crate::failure::{Exit, Failure, Result};
use crate::target::Plan;

pub(in crate::target) fn rename_out(rename: &Rename) -> client::Rename {
    let (type_ref, property) = (type_out(&rename.type_ref), rename.property.clone());
    client::Rename { type_ref, property, to: rename.to.clone() }
}

/// A plan is to be judged, so nothing in it may be unknown here.
pub(in crate::target) fn plan_in(plan: client::SchemaPlan) -> Result<Plan> {
    let unknown = |step: &&client::SchemaStep| {
        step.action == client::StepAction::Unknown
            || step.cost == client::StepCost::Unknown
            || step.refusal.as_ref().is_some_and(|refusal| refusal.code == client::RefusalCode::Unknown)
    };
    if let Some(step) = plan.steps.iter().find(unknown) {
        let what = format!("the server plans something that this release does not know, for {}", step.subject);
        return Err(Failure::new(Exit::Failed, what));
    }
    let steps = plan.steps.into_iter().map(step_in).collect();
    Ok(Plan { head: plan.read.id, steps, source: plan.source })
}

/// A step that was taken, or lies between two versions: it is told, whatever a newer server calls it.
pub(in crate::target) fn step_in(step: client::SchemaStep) -> SchemaStep {
    SchemaStep {
        action: match step.action {
            client::StepAction::Add => StepAction::Add,
            client::StepAction::Drop => StepAction::Drop,
            client::StepAction::Rename => StepAction::Rename,
            client::StepAction::Alter | client::StepAction::Unknown => StepAction::Alter,
        },
        subject: match step.subject {
            client::Subject::Interface(name) => Subject::Interface(name),
            client::Subject::Type(type_ref) => Subject::Type(type_in(type_ref)),
            client::Subject::Property(type_ref, property) => Subject::Property(type_in(type_ref), property),
        },
        description: step.description,
        work: match step.cost {
            client::StepCost::Metadata | client::StepCost::Unknown => StepWork::Metadata,
            client::StepCost::Check { rows } => StepWork::Check { rows },
            client::StepCost::Rewrite { rows, bytes } => StepWork::Rewrite { rows, bytes },
        },
        loses_data: step.loses_data,
        refusal: step.refusal.and_then(|r| Some(Refusal { code: code_in(r.code)?, remedy: r.remedy })),
    }
}

fn code_in(code: client::RefusalCode) -> Option<RefusalCode> {
    use client::RefusalCode as C;
    Some(match code {
        C::Unknown => return None,
        C::KeyChanged => RefusalCode::KeyChanged,
        C::EndpointsChanged => RefusalCode::EndpointsChanged,
        C::TypeChanged => RefusalCode::TypeChanged,
        C::RequiredWithoutDefault => RefusalCode::RequiredWithoutDefault,
        C::NullFound => RefusalCode::NullFound,
        C::EnumValueInUse => RefusalCode::EnumValueInUse,
        C::RangeViolated => RefusalCode::RangeViolated,
        C::CheckViolated => RefusalCode::CheckViolated,
        C::UniqueViolated => RefusalCode::UniqueViolated,
        C::CardinalityViolated => RefusalCode::CardinalityViolated,
        C::BadDefault => RefusalCode::BadDefault,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(refusal: Option<client::Refusal>) -> client::SchemaStep {
        client::SchemaStep {
            action: client::StepAction::Drop,
            subject: client::Subject::Property(client::TypeRef::edge("Knows"), "since".into()),
            description: "what happens".into(),
            cost: client::StepCost::Rewrite { rows: 3, bytes: 24 },
            loses_data: true,
            refusal,
        }
    }

    fn plan(step: client::SchemaStep) -> Result<Plan> {
        let read =
            client::CommitRef { id: "C".into(), branch: "main".into(), branch_id: String::new(), manifest_version: 7 };
        let (schema, source) = (client::proto::Schema::default(), "node A {}\n".to_string());
        plan_in(client::SchemaPlan { read, steps: vec![step], schema, source })
    }

    #[test]
    fn steps_are_told_as_the_engine_tells_them() {
        let refusal = client::Refusal { code: client::RefusalCode::NullFound, remedy: "why".into() };
        let plan = plan(step(Some(refusal))).unwrap();
        let told = &plan.steps[0];
        assert_eq!((plan.head.as_str(), told.action, told.loses_data), ("C", StepAction::Drop, true));
        assert_eq!(
            (told.subject.to_string().as_str(), told.description.as_str()),
            ("edge:Knows.since", "what happens")
        );
        assert_eq!(told.work, StepWork::Rewrite { rows: 3, bytes: 24 });
        let expected = Refusal { code: RefusalCode::NullFound, remedy: "why".into() };
        assert_eq!((told.refusal.as_ref(), plan.refused()), (Some(&expected), 1));
    }

    #[test]
    fn a_plan_that_cannot_be_judged_is_none() {
        let unknown = client::Refusal { code: client::RefusalCode::Unknown, remedy: String::new() };
        for step in [
            step(Some(unknown)),
            client::SchemaStep { action: client::StepAction::Unknown, ..step(None) },
            client::SchemaStep { cost: client::StepCost::Unknown, ..step(None) },
        ] {
            assert!(plan(step.clone()).unwrap_err().message().contains("edge:Knows.since"));
            assert_eq!(step_in(step).refusal, None);
        }
        assert_eq!(plan(step(None)).unwrap().losing().count(), 1);
    }
}
