//! Making single steps.

use crate::model::{EntityType, Refusal, RefusalCode, SchemaStep, StepAction, StepWork, Subject, TypeRef};

/// Makes the steps of one type.
#[derive(Debug)]
pub(super) struct TypeSteps(TypeRef);

impl TypeSteps {
    /// For a type, by its name before the change.
    pub fn of(ty: &EntityType) -> Self {
        Self(ty.type_ref())
    }

    /// A step that costs nothing and loses nothing.
    pub fn step(&self, action: StepAction, property: Option<&str>, description: String) -> SchemaStep {
        SchemaStep {
            action,
            subject: match property {
                None => Subject::Type(self.0.clone()),
                Some(property) => Subject::Property(self.0.clone(), property.to_string()),
            },
            description,
            work: StepWork::Metadata,
            loses_data: false,
            refusal: None,
        }
    }
}

/// What can be said of a step afterwards.
pub(super) trait StepOf {
    /// It cannot be taken.
    fn refuse(&mut self, code: RefusalCode, remedy: String);
}

impl StepOf for SchemaStep {
    fn refuse(&mut self, code: RefusalCode, remedy: String) {
        self.refusal = Some(Refusal { code, remedy });
    }
}
