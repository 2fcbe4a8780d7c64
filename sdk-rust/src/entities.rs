//! Single entities, by id or by condition. For many rows, a scan is the better way.

use omnigraph_proto::v1 as wire;
use omnigraph_proto::v1::get_entities_request::Filter;

use crate::client::{Graph, Listing, pages, unary};
use crate::entity::{Entity, TypeRef};
use crate::error::Result;
use crate::predicate::Predicate;
use crate::retry::Safety;
use crate::selector::{Selector, choose_version};

/// A question for entities, from [`Graph::get`] and [`Graph::find`].
#[derive(Clone, Debug)]
#[must_use = "nothing is asked before `send` or `stream`"]
pub struct EntitiesRead {
    graph: Graph,
    selector: Selector,
    type_ref: TypeRef,
    filter: Option<Filter>,
    properties: Vec<String>,
    page_size: u32,
}

impl EntitiesRead {
    choose_version!();

    /// Only those that satisfy a condition. Replaces ids.
    pub fn matching(mut self, condition: Predicate) -> Self {
        self.filter = Some(Filter::Predicate(condition.into_wire()));
        self
    }

    /// Only these properties. Without it all are answered.
    pub fn properties<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.properties = names.into_iter().map(Into::into).collect();
        self
    }

    /// Entities in one page at most; the server's choice without it.
    pub fn page_size(mut self, entities: u32) -> Self {
        self.page_size = entities;
        self
    }

    /// Asks, page by page as the stream is read. All pages see the version of the first.
    pub fn stream(self) -> Listing<Entity> {
        pages(move |page_token| {
            let read = self.clone();
            async move {
                let ask = wire::GetEntitiesRequest {
                    graph: read.graph.id,
                    selector: Some(read.selector.into()),
                    kind: read.type_ref.kind.to_wire(),
                    type_name: read.type_ref.name,
                    properties: read.properties,
                    page_size: read.page_size,
                    page_token,
                    filter: read.filter,
                };
                let answer = unary!(read.graph.core, Safety::Repeatable, graph.get_entities(ask))?;
                let entities = answer.entities.into_iter().map(Into::into).collect();
                Ok((entities, answer.next_page_token))
            }
        })
    }

    /// Asks for all of them and keeps them in memory.
    ///
    /// # Errors
    /// The version, the type or a property does not exist, or the condition does not fit.
    pub async fn send(self) -> Result<Vec<Entity>> {
        use futures::TryStreamExt;
        self.stream().try_collect().await
    }
}

impl Graph {
    /// Asks for entities by id. They come in this order, and those that do not exist are left out.
    ///
    /// ```no_run
    /// # async fn example(graph: omnigraph_client::Graph) -> omnigraph_client::Result<()> {
    /// let people = graph.get("Person", ["ada", "grace"]).send().await?;
    /// let edges = graph.get("edge:Knows", ["01J9Z3K8QW5T7V9X1A2B3C4D5E"]).send().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn get<I: Into<String>>(&self, type_ref: impl Into<TypeRef>, ids: impl IntoIterator<Item = I>) -> EntitiesRead {
        let ids = ids.into_iter().map(Into::into).collect();
        self.entities(type_ref.into(), Some(Filter::Ids(wire::EntityIds { ids })))
    }

    /// Asks for the entities of a type, or those that satisfy a condition.
    ///
    /// ```no_run
    /// # async fn example(graph: omnigraph_client::Graph) -> omnigraph_client::Result<()> {
    /// use futures::TryStreamExt;
    /// use omnigraph_client::prop;
    ///
    /// let mut adults = graph.find("Person").matching(prop("age").ge(18)).stream();
    /// while let Some(person) = adults.try_next().await? {
    ///     println!("{}", person.id);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn find(&self, type_ref: impl Into<TypeRef>) -> EntitiesRead {
        self.entities(type_ref.into(), None)
    }

    fn entities(&self, type_ref: TypeRef, filter: Option<Filter>) -> EntitiesRead {
        EntitiesRead {
            graph: self.clone(),
            selector: Selector::default(),
            type_ref,
            filter,
            properties: Vec::new(),
            page_size: 0,
        }
    }
}
