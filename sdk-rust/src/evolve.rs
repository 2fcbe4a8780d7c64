//! Changes of schema: what one would come to, making it, and how two versions differ.

use omnigraph_proto::v1 as wire;
use omnigraph_proto::v1::schema_definition::Form;

use crate::client::{Graph, unary};
use crate::commits::CommitRef;
use crate::entity::TypeRef;
use crate::error::{Error, Result};
use crate::receipt::{Receipt, WriteOptions, describe_write};
use crate::retry::Safety;
use crate::selector::Selector;
use crate::step::SchemaStep;

/// A schema as it is written down: `.pg` text, or a message.
#[derive(Clone, Debug, PartialEq)]
pub enum SchemaSource {
    /// `.pg` text. `@was("Old")` on a type or a property says what it was called.
    Text(String),
    /// A message. Types and properties with stable ids are the graph's own of the same ids, whatever their names.
    Message(wire::Schema),
}

impl From<&str> for SchemaSource {
    fn from(text: &str) -> Self {
        Self::Text(text.to_string())
    }
}

impl From<String> for SchemaSource {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<wire::Schema> for SchemaSource {
    fn from(message: wire::Schema) -> Self {
        Self::Message(message)
    }
}

impl SchemaSource {
    fn into_wire(self) -> wire::SchemaDefinition {
        let form = match self {
            Self::Text(text) => Form::Source(text),
            Self::Message(message) => Form::Schema(message),
        };
        wire::SchemaDefinition { form: Some(form) }
    }
}

/// A change of name that keeps data and history.
///
/// ```
/// use omnigraph_client::Rename;
///
/// let human = Rename::of_type("Person", "Human");
/// let years = Rename::of_property("Person", "age", "years");
/// assert_eq!((human.property, years.property.as_deref()), (None, Some("age")));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rename {
    /// The type, by its name before the change.
    pub type_ref: TypeRef,
    /// The property, by its name before the change; `None` renames the type.
    pub property: Option<String>,
    /// The name after the change.
    pub to: String,
}

impl Rename {
    /// Another name for a type.
    pub fn of_type(type_ref: impl Into<TypeRef>, to: impl Into<String>) -> Self {
        Self { type_ref: type_ref.into(), property: None, to: to.into() }
    }

    /// Another name for a property.
    pub fn of_property(type_ref: impl Into<TypeRef>, property: impl Into<String>, to: impl Into<String>) -> Self {
        Self { property: Some(property.into()), ..Self::of_type(type_ref, to) }
    }

    fn into_wire(self) -> wire::SchemaRename {
        wire::SchemaRename {
            r#type: Some(self.type_ref.into_wire()),
            property: self.property.unwrap_or_default(),
            new_name: self.to,
        }
    }
}

/// The methods of everything that wants a schema. The type needs a field `renames`.
macro_rules! rename_things {
    () => {
        /// Reads this change of name as a rename, beside those named before. Without it, and without `@was` or stable
        /// ids in the schema, a name that went and a name that came are a drop and an addition.
        #[must_use]
        pub fn rename(mut self, rename: Rename) -> Self {
            self.renames.push(rename);
            self
        }
    };
}

fn on_wire(renames: Vec<Rename>) -> Vec<wire::SchemaRename> {
    renames.into_iter().map(Rename::into_wire).collect()
}

fn steps(changes: Vec<wire::SchemaChange>) -> Vec<SchemaStep> {
    changes.into_iter().map(SchemaStep::from).collect()
}

/// The steps from the schema of a branch's head to a wanted one.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaPlan {
    /// The version whose schema was compared. Its id as `expected_head` carries the plan out as it was seen.
    pub read: CommitRef,
    /// The steps in the order in which they would be applied. Empty: nothing to do.
    pub steps: Vec<SchemaStep>,
    /// The schema as it would be, with the stable ids of what stays.
    pub schema: wire::Schema,
    /// The same as `.pg` text, in canonical layout and without comments.
    pub source: String,
}

impl SchemaPlan {
    /// Whether the graph cannot take a step, so that the whole change would be refused.
    pub fn is_refused(&self) -> bool {
        self.steps.iter().any(|step| step.refusal.is_some())
    }

    /// Whether a step needs consent.
    pub fn loses_data(&self) -> bool {
        self.steps.iter().any(|step| step.loses_data)
    }
}

/// What a change of schema did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaApplied {
    /// What was written.
    pub receipt: Receipt,
    /// The steps that were taken. Empty if nothing changed or the receipt is replayed.
    pub steps: Vec<SchemaStep>,
}

impl AsRef<Receipt> for SchemaApplied {
    fn as_ref(&self) -> &Receipt {
        &self.receipt
    }
}

/// How the schema of one version differs from that of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaDiff {
    /// The version before.
    pub before: CommitRef,
    /// The version after.
    pub after: CommitRef,
    /// The steps from the one to the other, without their costs, losses and refusals. Empty: both have the same schema.
    pub steps: Vec<SchemaStep>,
}

/// A question for what a change of schema would come to, from [`Graph::plan_schema`].
#[derive(Clone, Debug)]
#[must_use = "nothing is asked before `send`"]
pub struct PlanSchema {
    graph: Graph,
    branch: String,
    schema: SchemaSource,
    renames: Vec<Rename>,
}

impl PlanSchema {
    rename_things!();

    /// Compares with the head of this branch. Without a choice it is main.
    pub fn branch(mut self, name: impl Into<String>) -> Self {
        self.branch = name.into();
        self
    }

    /// Asks.
    ///
    /// # Errors
    /// `INVALID_SCHEMA` naming every offender; `TYPE_NOT_FOUND` or `PROPERTY_NOT_FOUND` for a rename of what is not
    /// there; `BRANCH_NOT_FOUND`. What stands against the change is in the answer.
    pub async fn send(self) -> Result<SchemaPlan> {
        let ask = wire::PlanSchemaRequest {
            graph: self.graph.id,
            branch: self.branch,
            schema: Some(self.schema.into_wire()),
            renames: on_wire(self.renames),
        };
        let answer = unary!(self.graph.core, Safety::Repeatable, graph.plan_schema(ask))?;
        Ok(SchemaPlan {
            read: CommitRef::read(answer.read)?,
            steps: steps(answer.changes),
            schema: answer.schema.ok_or_else(|| Error::malformed("a plan has no schema"))?,
            source: answer.source,
        })
    }
}

/// A change of schema while it is being described, from [`Graph::apply_schema`]. Nothing happens before
/// [`ApplySchema::send`].
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `send`"]
pub struct ApplySchema {
    graph: Graph,
    options: WriteOptions,
    schema: SchemaSource,
    renames: Vec<Rename>,
    consent: bool,
}

impl ApplySchema {
    describe_write!();
    rename_things!();

    /// Agrees to steps that lose data. Without it they are refused.
    pub fn allow_data_loss(mut self) -> Self {
        self.consent = true;
        self
    }

    /// Gives the branch the schema, and changes its data accordingly, as one commit or not at all.
    ///
    /// # Errors
    /// As [`PlanSchema::send`], and with nothing changed: `SCHEMA_REFUSED` with every step the graph cannot take,
    /// `CONFIRMATION_REQUIRED` with every step that loses data, `HEAD_MOVED`.
    pub async fn send(self) -> Result<SchemaApplied> {
        let safety = Safety::of_write(&self.options.request_id);
        let ask = wire::ApplySchemaRequest {
            options: Some(self.options.into_wire(&self.graph.id)),
            schema: Some(self.schema.into_wire()),
            renames: on_wire(self.renames),
            allow_destructive: self.consent,
        };
        let answer = unary!(self.graph.core, safety, graph.apply_schema(ask))?;
        Ok(SchemaApplied { receipt: Receipt::read(answer.receipt)?, steps: steps(answer.changes) })
    }
}

impl Graph {
    /// Asks what it would take to give a branch another schema, and what stands against it. Writes nothing and
    /// promises nothing.
    ///
    /// ```no_run
    /// # async fn example(graph: omnigraph_client::Graph, wanted: &str) -> omnigraph_client::Result<()> {
    /// let plan = graph.plan_schema(wanted).branch("main").send().await?;
    /// for step in &plan.steps {
    ///     println!("{} {}: {}", step.action.as_str(), step.subject, step.description);
    /// }
    /// if !plan.is_refused() {
    ///     graph.apply_schema(wanted).expected_head(&plan.read.id).send().await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn plan_schema(&self, schema: impl Into<SchemaSource>) -> PlanSchema {
        PlanSchema { graph: self.clone(), branch: String::new(), schema: schema.into(), renames: Vec::new() }
    }

    /// Begins to give a branch another schema.
    ///
    /// ```no_run
    /// # async fn example(graph: omnigraph_client::Graph, wanted: &str) -> omnigraph_client::Result<()> {
    /// use omnigraph_client::{ErrorReason, Rename};
    ///
    /// let change = graph
    ///     .apply_schema(wanted)
    ///     .rename(Rename::of_property("Person", "age", "years"))
    ///     .message("ages are years")
    ///     .request_id("schema-7");
    /// match change.send().await {
    ///     Ok(applied) => println!("{}", applied.receipt.commit_id),
    ///     Err(error) if error.is(ErrorReason::SchemaRefused) => println!("{error}"),
    ///     Err(error) => return Err(error),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn apply_schema(&self, schema: impl Into<SchemaSource>) -> ApplySchema {
        ApplySchema {
            graph: self.clone(),
            options: WriteOptions::new(),
            schema: schema.into(),
            renames: Vec::new(),
            consent: false,
        }
    }

    /// How the schema of one version differs from that of another, which may be of different branches. What was
    /// renamed in between is told as renamed.
    ///
    /// # Errors
    /// A version does not exist.
    pub async fn diff_schemas(&self, before: Selector, after: Selector) -> Result<SchemaDiff> {
        let ask =
            wire::DiffSchemasRequest { graph: self.id.clone(), before: Some(before.into()), after: Some(after.into()) };
        let answer = unary!(self.core, Safety::Repeatable, graph.diff_schemas(ask))?;
        Ok(SchemaDiff {
            before: CommitRef::read(answer.before)?,
            after: CommitRef::read(answer.after)?,
            steps: steps(answer.changes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_goes_in_the_form_it_has() {
        let text = SchemaSource::from("node A {}").into_wire().form;
        assert_eq!(text, Some(Form::Source("node A {}".into())));
        let message = wire::Schema { node_types: vec![wire::NodeType::default()], ..wire::Schema::default() };
        assert_eq!(SchemaSource::from(message.clone()).into_wire().form, Some(Form::Schema(message)));
    }

    #[test]
    fn a_rename_names_what_was() {
        let told = on_wire(vec![Rename::of_type("edge:Knows", "Met"), Rename::of_property("Person", "age", "years")]);
        let kinds: Vec<_> = told.iter().map(|r| r.r#type.as_ref().map(wire::TypeRef::kind)).collect();
        assert_eq!(kinds, [Some(wire::EntityKind::Edge), Some(wire::EntityKind::Node)]);
        assert_eq!((told[0].property.as_str(), told[0].new_name.as_str()), ("", "Met"));
        assert_eq!((told[1].property.as_str(), told[1].new_name.as_str()), ("age", "years"));
    }
}
