//! Tags: names for commits that never move, and that keep their commits from being cleaned up.

use std::time::SystemTime;

use omnigraph_proto::v1 as wire;

use crate::client::{Graph, Listing, pages, unary};
use crate::error::{Error, Result};
use crate::retry::Safety;
use crate::selector::Selector;
use crate::time;

/// A name for a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Its name, any valid text, slashes included.
    pub name: String,
    /// The commit it names.
    pub commit_id: String,
    /// Branch on which the commit was found when the tag was made; it may be gone.
    pub branch: String,
    /// When it was made.
    pub created_at: SystemTime,
    /// Who made it; `None` if not known.
    pub actor: Option<String>,
    /// Note of who made it; empty if there is none.
    pub message: String,
    /// Whether it refuses to be deleted.
    pub protected: bool,
}

impl Tag {
    fn read(tag: Option<wire::Tag>) -> Result<Self> {
        let tag = tag.ok_or_else(|| Error::malformed("no tag"))?;
        Ok(Self {
            name: tag.name,
            commit_id: tag.commit_id,
            branch: tag.branch,
            created_at: time::from_wire(tag.created_at),
            actor: tag.actor.map(|actor| actor.id),
            message: tag.message,
            protected: tag.protected,
        })
    }
}

impl Graph {
    /// Names the commit of a version, for ever. `message` is stored with the tag; empty for none. Not repeated by the
    /// client: the second of two calls answers `TAG_EXISTS`.
    ///
    /// ```no_run
    /// # async fn example(graph: omnigraph_client::Graph) -> omnigraph_client::Result<()> {
    /// use omnigraph_client::Selector;
    ///
    /// let tag = graph.create_tag("release-1", Selector::default(), "what was shipped").await?;
    /// let rows = graph.scan("Person").at(Selector::Tag(tag.name)).send().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `TAG_EXISTS`, `INVALID_NAME`, or the version does not exist.
    pub async fn create_tag(&self, name: impl Into<String>, at: Selector, message: impl Into<String>) -> Result<Tag> {
        let ask = wire::CreateTagRequest {
            graph: self.id.clone(),
            name: name.into(),
            target: Some(at.into()),
            message: message.into(),
        };
        let answer = unary!(self.core, Safety::Once, commit.create_tag(ask))?;
        Tag::read(answer.tag)
    }

    /// A tag.
    ///
    /// # Errors
    /// `TAG_NOT_FOUND`.
    pub async fn tag(&self, name: impl Into<String>) -> Result<Tag> {
        let ask = wire::GetTagRequest { graph: self.id.clone(), name: name.into() };
        let answer = unary!(self.core, Safety::Repeatable, commit.get_tag(ask))?;
        Tag::read(answer.tag)
    }

    /// The tags, by name.
    pub fn list_tags(&self) -> Listing<Tag> {
        let graph = self.clone();
        pages(move |page_token| {
            let graph = graph.clone();
            async move {
                let ask = wire::ListTagsRequest { graph: graph.id, page_size: 0, page_token };
                let answer = unary!(graph.core, Safety::Repeatable, commit.list_tags(ask))?;
                let tags = answer.tags.into_iter().map(|tag| Tag::read(Some(tag)));
                Ok((tags.collect::<Result<Vec<_>>>()?, answer.next_page_token))
            }
        })
    }

    /// Sets or lifts a tag's protection against being deleted.
    ///
    /// # Errors
    /// `TAG_NOT_FOUND`.
    pub async fn protect_tag(&self, name: impl Into<String>, protected: bool) -> Result<Tag> {
        let ask = wire::ProtectTagRequest { graph: self.id.clone(), name: name.into(), protected };
        let answer = unary!(self.core, Safety::Repeatable, commit.protect_tag(ask))?;
        Tag::read(answer.tag)
    }

    /// Deletes a tag. Its commit stays for as long as anything else keeps it. Not repeated by the client: the second of
    /// two calls answers `TAG_NOT_FOUND`.
    ///
    /// # Errors
    /// `TAG_NOT_FOUND`, `TAG_PROTECTED`.
    pub async fn delete_tag(&self, name: impl Into<String>) -> Result<Tag> {
        let ask = wire::DeleteTagRequest { graph: self.id.clone(), name: name.into() };
        let answer = unary!(self.core, Safety::Once, commit.delete_tag(ask))?;
        Tag::read(answer.tag)
    }
}
