//! Groups of flags that several commands share. Meaning is given to them elsewhere.

use clap::Args;
use omnigraph_engine::model::branch::MAIN;
use omnigraph_engine::model::key::text;
use omnigraph_engine::model::{Actor, ReadSelector, WriteOptions};

use crate::failure::{Failure, Result};

/// Flags of every command.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct GlobalArgs {
    /// Answer JSON on stdout, and errors as JSON on stderr
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say nothing but the answer and errors
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Profile of the configuration file [env: OMNIGRAPH_PROFILE]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) profile: Option<String>,
}

/// Which graph, and who asks.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Target")]
pub(crate) struct ScopeArgs {
    /// Id of the graph on the server or in the cluster [env: OMNIGRAPH_GRAPH]
    #[arg(long, value_name = "ID")]
    pub(crate) graph: Option<String>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

/// Where graphs are, and who asks.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Target")]
pub(crate) struct PlaceArgs {
    /// Server that holds the graph, http(s)://host:port [env: OMNIGRAPH_SERVER]
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// Folder or storage URI of a cluster, to work on its files directly [env: OMNIGRAPH_CLUSTER]
    #[arg(long, value_name = "DIR|URI")]
    pub(crate) cluster: Option<String>,
    /// Bearer token for the server [env: OMNIGRAPH_TOKEN]
    #[arg(long, value_name = "TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// Who asks; stored with what is written [env: OMNIGRAPH_ACTOR]
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    /// Seconds for one attempt of a call to a server [env: OMNIGRAPH_TIMEOUT]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
}

/// Which version a read looks at.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Version")]
pub(crate) struct VersionArgs {
    /// Branch to read [default: main]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["commit", "tag"])]
    pub(crate) branch: Option<String>,
    /// Commit to read
    #[arg(long, value_name = "ID", conflicts_with_all = ["tag", "at", "at_version"])]
    pub(crate) commit: Option<String>,
    /// Tag to read
    #[arg(long, value_name = "NAME", conflicts_with_all = ["at", "at_version"])]
    pub(crate) tag: Option<String>,
    /// Read the branch as it was at this time, RFC 3339, or a day as it began
    #[arg(long, value_name = "TIME", conflicts_with = "at_version")]
    pub(crate) at: Option<String>,
    /// Read the branch at this version of its manifest
    #[arg(long = "version", id = "at_version", value_name = "N")]
    pub(crate) version: Option<u64>,
}

impl VersionArgs {
    /// What the flags name.
    pub(crate) fn selector(&self) -> Result<ReadSelector> {
        let branch = self.branch.clone().unwrap_or_else(|| MAIN.to_string());
        if let Some(name) = &self.tag {
            return Ok(ReadSelector::Tag(name.clone()));
        }
        Ok(match (&self.commit, &self.at, self.version) {
            (Some(id), _, _) => ReadSelector::Commit(id.clone()),
            (_, Some(at), _) => ReadSelector::BranchAsOf { branch, micros: micros(at)? },
            (_, _, Some(version)) => ReadSelector::Version { branch, version },
            _ => ReadSelector::Branch(branch),
        })
    }
}

fn micros(text: &str) -> Result<i64> {
    moment(text).map_err(|why| {
        Failure::usage(format!("--at {text:?} is no time: {why}; write 2013-01-31T09:30:00Z or 2013-01-31"))
    })
}

/// A moment, or the beginning of a day in UTC, in microseconds since the epoch; or why it is none.
pub(crate) fn moment(text: &str) -> Result<i64, &'static str> {
    const DAY: i64 = 86_400_000_000;
    match text::parse_date(text) {
        Some(days) => Ok(i64::from(days) * DAY),
        None => text::parse_datetime(text),
    }
}

/// What a write says about itself, and where it goes.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Write")]
pub(crate) struct WriteArgs {
    /// Branch to write to [default: main]
    #[arg(long, value_name = "NAME")]
    pub(crate) branch: Option<String>,
    #[command(flatten)]
    pub(crate) note: NoteArgs,
}

/// What a write says about itself.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Write")]
pub(crate) struct NoteArgs {
    /// Write only while this commit is the branch's head
    #[arg(long, alias = "expected-head", value_name = "COMMIT")]
    pub(crate) expect_head: Option<String>,
    /// Name of this write: repeated with the same name it has no second effect
    #[arg(long, value_name = "ID")]
    pub(crate) request_id: Option<String>,
    /// Note to store with the commit
    #[arg(long, short, value_name = "TEXT")]
    pub(crate) message: Option<String>,
}

impl WriteArgs {
    /// The branch's name.
    pub(crate) fn branch(&self) -> &str {
        self.branch.as_deref().unwrap_or(MAIN)
    }

    /// The engine's form, for this actor.
    pub(crate) fn options(&self, actor: Actor) -> WriteOptions {
        self.note.options(self.branch(), actor)
    }
}

impl NoteArgs {
    /// The engine's form, for a write to this branch by this actor.
    pub(crate) fn options(&self, branch: &str, actor: Actor) -> WriteOptions {
        WriteOptions {
            branch: branch.to_string(),
            expected_head: self.expect_head.clone().unwrap_or_default(),
            request_id: self.request_id.clone().unwrap_or_default(),
            message: self.message.clone().unwrap_or_default(),
            actor,
        }
    }
}

/// Consent to destroy something.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ConsentArgs {
    /// Agree to destroy something without being asked
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_moments_or_days() {
        assert_eq!(micros("1970-01-02").unwrap(), 86_400_000_000);
        assert_eq!(micros("1970-01-01T00:00:01Z").unwrap(), 1_000_000);
        assert!(micros("yesterday").is_err());
    }
}
