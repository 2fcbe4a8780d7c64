//! Changes of schema: how they are asked for, and their steps.

use omnigraph_engine::error::Result;
use omnigraph_engine::model::{
    Refusal, RefusalCode, Rename, SchemaPlan, SchemaStep, SchemaWish, StepAction, StepWork, Subject,
};
use omnigraph_engine::schema as text;
use omnigraph_proto::v1;
use omnigraph_proto::v1::schema_change::{Action, Cost};

use super::{entity, required, schema, set};

/// The schema that a branch should have.
///
/// # Errors
/// [`omnigraph_engine::Reason::InvalidSchema`] naming every offender;
/// [`omnigraph_engine::Reason::InvalidArgument`] for a schema that is missing and for half a rename.
pub fn wish_to_engine(definition: Option<v1::SchemaDefinition>, renames: Vec<v1::SchemaRename>) -> Result<SchemaWish> {
    let schema = schema::definition_to_engine(Some(set("schema", definition)?))?;
    let rename = |(i, rename)| rename_to_engine(&format!("renames[{i}]"), rename);
    let renames = renames.into_iter().enumerate().map(rename).collect::<Result<_>>()?;
    Ok(SchemaWish { schema, renames })
}

/// A change of name.
///
/// # Errors
/// [`omnigraph_engine::Reason::InvalidArgument`] naming what is missing.
pub fn rename_to_engine(path: &str, rename: v1::SchemaRename) -> Result<Rename> {
    let field = format!("{path}.type");
    let ty = set(&field, rename.r#type)?;
    let type_ref = entity::type_to_engine(&format!("{field}."), ty.kind, &ty.type_name)?;
    required(&format!("{path}.new_name"), &rename.new_name)?;
    let property = (!rename.property.is_empty()).then_some(rename.property);
    Ok(Rename { type_ref, property, to: rename.new_name })
}

/// A change of name as a message.
pub fn rename_to_proto(rename: Rename) -> v1::SchemaRename {
    v1::SchemaRename {
        r#type: Some(entity::type_to_proto(&rename.type_ref)),
        property: rename.property.unwrap_or_default(),
        new_name: rename.to,
    }
}

/// A plan as an answer. `read` names the version that was compared.
pub fn plan_to_proto(plan: SchemaPlan, read: v1::CommitRef) -> v1::PlanSchemaResponse {
    v1::PlanSchemaResponse {
        read: Some(read),
        changes: plan.steps.into_iter().map(step_to_proto).collect(),
        source: text::print(&plan.schema),
        schema: Some(schema::to_proto(&plan.schema)),
    }
}

/// A step as a message.
pub fn step_to_proto(step: SchemaStep) -> v1::SchemaChange {
    let (cost, entities_touched, bytes_written) = match step.work {
        StepWork::Metadata => (Cost::Metadata, 0, 0),
        StepWork::Check { rows } => (Cost::Check, rows, 0),
        StepWork::Rewrite { rows, bytes } => (Cost::Rewrite, rows, bytes),
    };
    let (type_ref, property, interface) = match step.subject {
        Subject::Interface(name) => (None, String::new(), name),
        Subject::Type(type_ref) => (Some(type_ref), String::new(), String::new()),
        Subject::Property(type_ref, property) => (Some(type_ref), property, String::new()),
    };
    let refused = step.refusal.is_some();
    let (code, remedy) = match step.refusal {
        None => (v1::RefusalCode::Unspecified, String::new()),
        Some(Refusal { code, remedy }) => (code_to_proto(code), remedy),
    };
    v1::SchemaChange {
        action: action_to_proto(step.action).into(),
        r#type: type_ref.as_ref().map(entity::type_to_proto),
        property,
        description: step.description,
        destructive: step.loses_data,
        refused,
        entities_touched,
        cost: cost.into(),
        bytes_written,
        interface,
        code: code.into(),
        remedy,
    }
}

/// A step that lies between two versions as a message: it was taken, and what it cost is not known.
pub fn difference_to_proto(step: SchemaStep) -> v1::SchemaChange {
    let taken = SchemaStep { work: StepWork::Metadata, loses_data: false, refusal: None, ..step };
    v1::SchemaChange { cost: Cost::Unspecified.into(), ..step_to_proto(taken) }
}

fn action_to_proto(action: StepAction) -> Action {
    match action {
        StepAction::Add => Action::Add,
        StepAction::Drop => Action::Drop,
        StepAction::Rename => Action::Rename,
        StepAction::Alter => Action::Alter,
    }
}

fn code_to_proto(code: RefusalCode) -> v1::RefusalCode {
    match code {
        RefusalCode::KeyChanged => v1::RefusalCode::KeyChanged,
        RefusalCode::EndpointsChanged => v1::RefusalCode::EndpointsChanged,
        RefusalCode::TypeChanged => v1::RefusalCode::TypeChanged,
        RefusalCode::RequiredWithoutDefault => v1::RefusalCode::RequiredWithoutDefault,
        RefusalCode::NullFound => v1::RefusalCode::NullFound,
        RefusalCode::EnumValueInUse => v1::RefusalCode::EnumValueInUse,
        RefusalCode::RangeViolated => v1::RefusalCode::RangeViolated,
        RefusalCode::CheckViolated => v1::RefusalCode::CheckViolated,
        RefusalCode::UniqueViolated => v1::RefusalCode::UniqueViolated,
        RefusalCode::CardinalityViolated => v1::RefusalCode::CardinalityViolated,
        RefusalCode::BadDefault => v1::RefusalCode::BadDefault,
    }
}

#[cfg(test)]
mod tests;
