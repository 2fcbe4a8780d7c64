//! Branches: make, look at, list, protect, delete.

use std::time::SystemTime;

use omnigraph_proto::v1 as wire;

use crate::client::{Graph, Listing, pages, unary};
use crate::commits::CommitRef;
use crate::error::{Error, Result};
use crate::retry::Safety;
use crate::selector::Selector;
use crate::time;

/// A branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Its name, any valid text, slashes included.
    pub name: String,
    /// Its incarnation, another for each time a name is used; empty for main.
    pub branch_id: String,
    /// Branch it was made from; empty for main, and if it was made from a commit or a tag.
    pub parent: String,
    /// Commit it started at; empty for main.
    pub forked_from: String,
    /// Its newest commit.
    pub head: CommitRef,
    /// When it was made.
    pub created_at: SystemTime,
    /// Who made it; `None` if not known.
    pub actor: Option<String>,
    /// Whether it refuses to be deleted and to be written to other than by merges and maintenance.
    pub protected: bool,
}

impl Branch {
    fn read(branch: Option<wire::Branch>) -> Result<Self> {
        let branch = branch.ok_or_else(|| Error::malformed("no branch"))?;
        Ok(Self {
            name: branch.name,
            branch_id: branch.branch_id,
            parent: branch.parent,
            forked_from: branch.forked_from,
            head: CommitRef::read(branch.head)?,
            created_at: time::from_wire(branch.created_at),
            actor: branch.actor.map(|actor| actor.id),
            protected: branch.protected,
        })
    }
}

/// What became of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletedBranch {
    /// The last commit that readers could see; empty if its lineage could not be read.
    pub head: String,
    /// The incarnation that was deleted.
    pub branch_id: String,
}

impl Graph {
    /// Makes a branch that starts at a version. Atomic and cheap, whatever the size of the graph. Not repeated
    /// by the client: the second of two calls answers `BRANCH_EXISTS`.
    ///
    /// ```no_run
    /// # async fn example(graph: omnigraph_client::Graph) -> omnigraph_client::Result<()> {
    /// use omnigraph_client::Selector;
    ///
    /// graph.create_branch("review/spring", Selector::default()).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `BRANCH_EXISTS`, `INVALID_NAME`, or the version does not exist.
    pub async fn create_branch(&self, name: impl Into<String>, from: Selector) -> Result<Branch> {
        let ask = wire::CreateBranchRequest { graph: self.id.clone(), name: name.into(), source: Some(from.into()) };
        let answer = unary!(self.core, Safety::Once, branch.create_branch(ask))?;
        Branch::read(answer.branch)
    }

    /// A branch and its head. An empty name means main.
    ///
    /// # Errors
    /// `BRANCH_NOT_FOUND`.
    pub async fn branch(&self, name: impl Into<String>) -> Result<Branch> {
        let ask = wire::GetBranchRequest { graph: self.id.clone(), name: name.into() };
        let answer = unary!(self.core, Safety::Repeatable, branch.get_branch(ask))?;
        Branch::read(answer.branch)
    }

    /// The live branches by name, main included.
    pub fn list_branches(&self) -> Listing<Branch> {
        let graph = self.clone();
        pages(move |page_token| {
            let graph = graph.clone();
            async move {
                let ask = wire::ListBranchesRequest { graph: graph.id, page_size: 0, page_token };
                let answer = unary!(graph.core, Safety::Repeatable, branch.list_branches(ask))?;
                let branches = answer.branches.into_iter().map(|branch| Branch::read(Some(branch)));
                Ok((branches.collect::<Result<Vec<_>>>()?, answer.next_page_token))
            }
        })
    }

    /// Sets or lifts a branch's protection: a protected branch cannot be deleted, and takes no writes but merges and
    /// maintenance. A commit of the branch that changes no content, unless it is so already.
    ///
    /// # Errors
    /// `BRANCH_NOT_FOUND`.
    pub async fn protect_branch(&self, name: impl Into<String>, protected: bool) -> Result<Branch> {
        let ask = wire::ProtectBranchRequest { graph: self.id.clone(), name: name.into(), protected };
        let answer = unary!(self.core, Safety::Repeatable, branch.protect_branch(ask))?;
        Branch::read(answer.branch)
    }

    /// Deletes a branch. Branches made from it, and commits they share with it, stay. `force` deletes one whose
    /// lineage can no longer be read. Not repeated by the client: the second of two calls answers
    /// `BRANCH_NOT_FOUND`.
    ///
    /// # Errors
    /// `BRANCH_NOT_FOUND`; `BRANCH_PROTECTED` for main, and for a branch that is protected.
    pub async fn delete_branch(&self, name: impl Into<String>, force: bool) -> Result<DeletedBranch> {
        let ask = wire::DeleteBranchRequest { graph: self.id.clone(), name: name.into(), force };
        let answer = unary!(self.core, Safety::Once, branch.delete_branch(ask))?;
        Ok(DeletedBranch { head: answer.head_commit_id, branch_id: answer.branch_id })
    }
}
