//! Schemas: the message form of what `.pg` text says.
//!
//! Answers list interfaces and types by name. A request may leave out what types have from their
//! interfaces; it is filled in as the text form does. Rules about schemas are the engine's; here is only
//! what a message can get wrong and an engine schema cannot say.

mod embedding;
mod to_engine;
mod to_proto;

use omnigraph_engine::error::{Error, Reason, Result, Violation};
use omnigraph_engine::model::Schema;
use omnigraph_engine::schema;
use omnigraph_proto::v1;
use omnigraph_proto::v1::schema_definition::Form;

pub use to_engine::to_engine;
pub use to_proto::to_proto;

/// The checked schema of a definition. Not set: a schema without types.
///
/// # Errors
/// [`Reason::InvalidSchema`] naming every offender, as a path into the message or by line and column.
pub fn definition_to_engine(definition: Option<v1::SchemaDefinition>) -> Result<Schema> {
    let Some(definition) = definition else {
        return Ok(Schema::default());
    };
    match definition.form {
        None => Err(super::invalid("schema", "must be given as source text or as a message")),
        Some(Form::Source(text)) => schema::parse(&text),
        Some(Form::Schema(message)) => {
            let nodes = message.node_types.len();
            let converted = to_engine(message)?;
            schema::ensure_valid(&converted).map_err(|e| in_message(&e, nodes))?;
            Ok(converted)
        }
    }
}

/// The engine keeps node and edge types in one list; a caller looks for them in two.
fn in_message(error: &Error, nodes: usize) -> Error {
    let path = |field: &str| -> String {
        let index = field.strip_prefix("types[").and_then(|rest| rest.split_once(']'));
        match index.and_then(|(i, rest)| Some((i.parse::<usize>().ok()?, rest))) {
            Some((i, rest)) if i < nodes => format!("schema.node_types[{i}]{rest}"),
            Some((i, rest)) => format!("schema.edge_types[{}]{rest}", i - nodes),
            None => format!("schema.{field}"),
        }
    };
    let violations = error.violations().iter().map(|v| Violation { field: path(&v.field), ..v.clone() });
    let moved = Error::new(error.reason(), error.message()).with_violations(violations.collect());
    error.metadata().iter().fold(moved, |e, (key, value)| e.with(key, value))
}

/// Collects what is wrong with a message.
#[derive(Default)]
struct Problems(Vec<Violation>);

impl Problems {
    fn report(&mut self, field: String, description: impl Into<String>) {
        let description = description.into();
        self.0.push(Violation { field, description, reason: Reason::InvalidSchema });
    }

    fn into_result(mut self) -> Result<()> {
        let total = self.0.len();
        if total == 0 {
            return Ok(());
        }
        self.0.truncate(omnigraph_engine::limits::MAX_REPORTED_VIOLATIONS);
        let what = format!("the schema message has {total} parts that make no sense");
        Err(Error::new(Reason::InvalidSchema, what).with("problems", total).with_violations(self.0))
    }
}

#[cfg(test)]
mod tests;
