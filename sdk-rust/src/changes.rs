//! Differences: between two versions, and what a commit changed.

use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use omnigraph_proto::v1 as wire;
use omnigraph_proto::v1::list_changes_request::Scope;
use omnigraph_proto::v1::list_changes_response::Part;

use crate::client::Graph;
use crate::commits::CommitRef;
use crate::entity::{Entity, TypeRef};
use crate::error::{Error, Result};
use crate::selector::Selector;
use crate::step::SchemaStep;

/// What happened to an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChangeKind {
    /// It exists only after.
    Insert,
    /// It exists before and after, and differs.
    Update,
    /// It exists only before.
    Delete,
}

impl ChangeKind {
    /// Its name in lower case, `insert`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }

    fn to_wire(self) -> i32 {
        match self {
            Self::Insert => wire::ChangeKind::Insert.into(),
            Self::Update => wire::ChangeKind::Update.into(),
            Self::Delete => wire::ChangeKind::Delete.into(),
        }
    }
}

/// How one entity differs between two versions. At least one side is there.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityChange {
    /// Its type.
    pub type_ref: TypeRef,
    /// Its id.
    pub id: String,
    /// The entity before; `None` if it was inserted.
    pub before: Option<Entity>,
    /// The entity after; `None` if it was deleted.
    pub after: Option<Entity>,
    /// For an update, the properties that differ, in declared order; before them `src` and `dst` if an edge's ends
    /// differ. Empty for inserts and deletes.
    pub changed: Vec<String>,
}

impl EntityChange {
    /// What happened.
    pub fn kind(&self) -> ChangeKind {
        match (&self.before, &self.after) {
            (None, _) => ChangeKind::Insert,
            (Some(_), None) => ChangeKind::Delete,
            (Some(_), Some(_)) => ChangeKind::Update,
        }
    }

    pub(crate) fn read(change: wire::Change) -> Result<Self> {
        let (before, after) = (change.before.map(Entity::from), change.after.map(Entity::from));
        let Some(one) = after.as_ref().or(before.as_ref()) else {
            return Err(Error::malformed("a change has neither side"));
        };
        let (type_ref, id) = (one.type_ref.clone(), one.id.clone());
        Ok(Self { type_ref, id, before, after, changed: change.changed_properties })
    }
}

/// What of a difference is wanted, while it is being described.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) types: Vec<TypeRef>,
    pub(crate) kinds: Vec<ChangeKind>,
    pub(crate) ids: Vec<String>,
}

impl Wanted {
    pub(crate) fn into_wire(self) -> wire::ChangeFilter {
        wire::ChangeFilter {
            types: self.types.into_iter().map(TypeRef::into_wire).collect(),
            kinds: self.kinds.into_iter().map(ChangeKind::to_wire).collect(),
            ids: self.ids,
        }
    }
}

/// The methods that choose which changes are wanted. The type needs a field `wanted`.
macro_rules! choose_changes {
    () => {
        /// Only entities of this type, beside those named before. Without any it is all types.
        #[must_use]
        pub fn of_type(mut self, type_ref: impl Into<$crate::TypeRef>) -> Self {
            self.wanted.types.push(type_ref.into());
            self
        }

        /// Only this kind of change, beside those named before. Without any it is all kinds.
        #[must_use]
        pub fn of_kind(mut self, kind: $crate::ChangeKind) -> Self {
            self.wanted.kinds.push(kind);
            self
        }

        /// Only entities of these ids, whatever their type, beside those named before. Without any it is all entities.
        #[must_use]
        pub fn ids<I: Into<String>>(mut self, ids: impl IntoIterator<Item = I>) -> Self {
            self.wanted.ids.extend(ids.into_iter().map(Into::into));
            self
        }
    };
}

pub(crate) use choose_changes;

/// A difference under way.
pub struct Changes {
    /// The version before; `None` stands for an empty graph.
    pub before: Option<CommitRef>,
    /// The version after.
    pub after: CommitRef,
    /// How the schema changed. What went with a type or a property is not told entity by entity.
    pub schema: Vec<SchemaStep>,
    /// The changes, nodes before edges, by type and id. Complete only if the stream ends without an error; dropping it
    /// stops the work.
    pub changes: BoxStream<'static, Result<EntityChange>>,
}

/// A question for a difference, from [`Graph::changes`] and [`Graph::changes_of`].
#[derive(Clone, Debug)]
#[must_use = "nothing is asked before `send`"]
pub struct ChangesRead {
    graph: Graph,
    scope: Scope,
    wanted: Wanted,
}

impl ChangesRead {
    choose_changes!();

    /// Asks.
    ///
    /// # Errors
    /// A version does not exist; `TYPE_NOT_FOUND` for a type that neither version declares.
    pub async fn send(self) -> Result<Changes> {
        let ask = wire::ListChangesRequest {
            graph: self.graph.id,
            scope: Some(self.scope),
            filter: Some(self.wanted.into_wire()),
        };
        let core = &self.graph.core;
        let call = |ask| {
            let mut stub = core.commit();
            async move { stub.list_changes(ask).await }
        };
        let mut answers = core.streaming(ask, call).await?.map_err(Error::from_status);
        let header = match answers.try_next().await?.and_then(|answer| answer.part) {
            Some(Part::Header(header)) => header,
            _ => return Err(Error::malformed("a difference begins without its header")),
        };
        let batches = answers.map(|answer| match answer?.part {
            Some(Part::Batch(batch)) => batch.changes.into_iter().map(EntityChange::read).collect(),
            _ => Err(Error::malformed("a difference holds something that is no change")),
        });
        let changes = batches.map_ok(|batch: Vec<EntityChange>| stream::iter(batch.into_iter().map(Ok))).try_flatten();
        Ok(Changes {
            before: header.before.map(|before| CommitRef::read(Some(before))).transpose()?,
            after: CommitRef::read(header.after)?,
            schema: header.schema_changes.into_iter().map(SchemaStep::from).collect(),
            changes: changes.boxed(),
        })
    }
}

impl Graph {
    /// Asks what differs between two versions, which may be of different branches. Only what a reader can see counts.
    ///
    /// ```no_run
    /// # async fn example(graph: omnigraph_client::Graph) -> omnigraph_client::Result<()> {
    /// use futures::TryStreamExt;
    /// use omnigraph_client::{ChangeKind, Selector};
    ///
    /// let review = Selector::Branch("review".into());
    /// let difference = graph.changes(Selector::default(), review).of_kind(ChangeKind::Update).send().await?;
    /// let mut changes = difference.changes;
    /// while let Some(change) = changes.try_next().await? {
    ///     println!("{}/{}: {}", change.type_ref, change.id, change.changed.join(", "));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn changes(&self, before: Selector, after: Selector) -> ChangesRead {
        let range = wire::ChangeRange { before: Some(before.into()), after: Some(after.into()) };
        ChangesRead { graph: self.clone(), scope: Scope::Range(range), wanted: Wanted::default() }
    }

    /// Asks what a commit changed against its first parent; the first commit of the graph against an empty graph.
    ///
    /// ```no_run
    /// # async fn example(graph: omnigraph_client::Graph, commit: &str) -> omnigraph_client::Result<()> {
    /// use futures::TryStreamExt;
    ///
    /// let changes: Vec<_> = graph.changes_of(commit).send().await?.changes.try_collect().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn changes_of(&self, commit: impl Into<String>) -> ChangesRead {
        ChangesRead { graph: self.clone(), scope: Scope::CommitId(commit.into()), wanted: Wanted::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(id: &str) -> wire::Entity {
        wire::Entity {
            kind: wire::EntityKind::Node.into(),
            type_name: "Person".into(),
            id: id.into(),
            ..Default::default()
        }
    }

    #[test]
    fn the_kind_of_a_change_follows_from_its_sides() {
        let (before, after) = (Some(person("ada")), Some(person("ada")));
        for (before, after, kind) in [
            (None, after.clone(), Some(ChangeKind::Insert)),
            (before.clone(), None, Some(ChangeKind::Delete)),
            (before, after, Some(ChangeKind::Update)),
            (None, None, None),
        ] {
            let change = EntityChange::read(wire::Change { before, after, changed_properties: Vec::new() });
            assert_eq!(change.as_ref().ok().map(EntityChange::kind), kind);
            assert!(change.is_err() || change.is_ok_and(|change| change.type_ref == TypeRef::node("Person")));
        }
    }

    #[test]
    fn a_filter_names_types_with_their_kind() {
        let wanted =
            Wanted { types: vec![TypeRef::edge("Knows")], kinds: vec![ChangeKind::Delete], ids: vec!["a".into()] };
        let filter = wanted.into_wire();
        assert_eq!(filter.types[0].kind(), wire::EntityKind::Edge);
        assert_eq!(
            (filter.kinds().collect::<Vec<_>>(), filter.ids),
            (vec![wire::ChangeKind::Delete], vec!["a".to_string()])
        );
    }
}
