//! History: single commits and the commits of a branch.

use std::time::SystemTime;

use omnigraph_proto::v1 as wire;
use omnigraph_proto::v1::get_commit_request::Target;

use crate::client::{Graph, Listing, pages, unary};
use crate::conflict::MergeNote;
use crate::error::{Error, Result};
use crate::receipt::TypeCounts;
use crate::retry::Safety;
use crate::selector::Selector;
use crate::time;

/// The version a read used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitRef {
    /// The commit.
    pub id: String,
    /// The branch through which it was found; empty if it was named by id or by tag.
    pub branch: String,
    /// The branch's incarnation; empty for main.
    pub branch_id: String,
    /// Version of the graph's manifest. Only comparable within one branch incarnation.
    pub manifest_version: u64,
}

impl CommitRef {
    pub(crate) fn read(commit: Option<wire::CommitRef>) -> Result<Self> {
        let commit = commit.ok_or_else(|| Error::malformed("it does not say which version was read"))?;
        Ok(Self {
            id: commit.id,
            branch: commit.branch,
            branch_id: commit.branch_id,
            manifest_version: commit.manifest_version,
        })
    }
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its id, a ULID greater than those of its parents.
    pub id: String,
    /// Its parents, first parent first. Empty for the first commit of the graph.
    pub parents: Vec<String>,
    /// Name that the branch it was made on had then.
    pub branch: String,
    /// Incarnation of that branch; empty for main.
    pub branch_id: String,
    /// Who made it; `None` if not known.
    pub actor: Option<String>,
    /// When it was made.
    pub created_at: SystemTime,
    /// Note of the writer; empty if there is none.
    pub message: String,
    /// Request id of the writer; empty if there is none.
    pub request_id: String,
    /// What kind of operation made it, for people.
    pub operation: String,
    /// What it changed, one entry for each type concerned.
    pub counts: Vec<TypeCounts>,
    /// Version of the manifest that holds it, on the lineage of its branch.
    pub manifest_version: u64,
    /// What a merge, a revert or a cherry-pick remembers; `None` for all other commits.
    pub merge: Option<MergeNote>,
}

impl From<wire::Commit> for Commit {
    fn from(commit: wire::Commit) -> Self {
        Self {
            id: commit.id,
            parents: commit.parent_ids,
            branch: commit.branch,
            branch_id: commit.branch_id,
            actor: commit.actor.map(|actor| actor.id),
            created_at: time::from_wire(commit.created_at),
            message: commit.message,
            request_id: commit.request_id,
            operation: commit.operation,
            counts: commit.counts.into_iter().map(Into::into).collect(),
            manifest_version: commit.manifest_version,
            merge: commit.merge.map(Into::into),
        }
    }
}

impl Graph {
    /// The commit a selector names.
    ///
    /// # Errors
    /// `COMMIT_NOT_FOUND`, `BRANCH_NOT_FOUND`.
    pub async fn commit(&self, selector: Selector) -> Result<Commit> {
        self.get_commit(Target::Selector(selector.into())).await
    }

    /// The commit a write left on a branch (empty: main) under its request id. This is how the outcome of an
    /// interrupted write is found.
    ///
    /// # Errors
    /// `COMMIT_NOT_FOUND` if the write made no commit, or it is no longer kept.
    pub async fn commit_by_request(&self, branch: impl Into<String>, request_id: impl Into<String>) -> Result<Commit> {
        let request = wire::RequestRef { branch: branch.into(), request_id: request_id.into() };
        self.get_commit(Target::Request(request)).await
    }

    async fn get_commit(&self, target: Target) -> Result<Commit> {
        let ask = wire::GetCommitRequest { graph: self.id.clone(), target: Some(target) };
        let answer = unary!(self.core, Safety::Repeatable, commit.get_commit(ask))?;
        let commit = answer.commit.ok_or_else(|| Error::malformed("no commit"))?;
        Ok(commit.into())
    }

    /// The commits of a branch (empty: main), newest first, those it shares with its parent branch included.
    /// The listing goes back from the head at the moment of its first page.
    ///
    /// ```no_run
    /// # async fn example(graph: omnigraph_client::Graph) -> omnigraph_client::Result<()> {
    /// use futures::TryStreamExt;
    ///
    /// let mut commits = graph.list_commits("main");
    /// while let Some(commit) = commits.try_next().await? {
    ///     println!("{} {}", commit.id, commit.message);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn list_commits(&self, branch: impl Into<String>) -> Listing<Commit> {
        self.listed(branch.into(), false)
    }

    /// All ancestors of the head of a branch (empty: main), the head included: its commits, and those that merges
    /// brought in. Newest first by id; a commit never comes before a descendant.
    ///
    /// ```no_run
    /// # async fn example(graph: omnigraph_client::Graph) -> omnigraph_client::Result<()> {
    /// use futures::TryStreamExt;
    ///
    /// let mut commits = graph.list_ancestors("main");
    /// while let Some(commit) = commits.try_next().await? {
    ///     println!("{} from {}", commit.id, commit.parents.join(" and "));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn list_ancestors(&self, branch: impl Into<String>) -> Listing<Commit> {
        self.listed(branch.into(), true)
    }

    fn listed(&self, branch: String, all_ancestors: bool) -> Listing<Commit> {
        let graph = self.clone();
        pages(move |page_token| {
            let (graph, branch) = (graph.clone(), branch.clone());
            async move {
                let ask = wire::ListCommitsRequest { graph: graph.id, branch, page_size: 0, page_token, all_ancestors };
                let answer = unary!(graph.core, Safety::Repeatable, commit.list_commits(ask))?;
                let commits = answer.commits.into_iter().map(Into::into).collect();
                Ok((commits, answer.next_page_token))
            }
        })
    }
}
