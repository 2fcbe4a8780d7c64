//! Lasting pins: what tags name, and the states from which merges of live branches would begin.
//!
//! A merge compares both sides with their nearest common ancestors, so it needs those as long as both branches live.
//! All pairs of branches are covered by one walk ([`ancestry::bases`]), which goes no further back than the oldest of
//! them, so there is no limit to the pairs; criss-cross merges take a few walks more. Where branches only forked, these
//! are the states they were forked from, which stay anyway; a pin is made for those that merges moved on. Tags keep
//! what they name and nothing before it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::limits;
use crate::maintenance::retention::{Branch, Line, Pin, State};
use crate::manifest::ancestry::{self, Base};
use crate::manifest::tags::{self, TagEntry};
use crate::model::CommitInfo;
use crate::txn::Core;

/// Every ancestor of the head of a live branch, by id.
pub(super) type Known = HashMap<String, Arc<CommitInfo>>;

/// The tags.
///
/// # Errors
/// [`crate::error::Reason::DataCorrupt`] or [`crate::error::Reason::StorageStampTooNew`] naming one that cannot be
/// read: what it keeps is not known. The store's.
pub(super) async fn all_tags(core: &Core) -> Result<Vec<TagEntry>> {
    let mut found = Vec::new();
    for (name, entry) in tags::every(&core.store).await? {
        found.push(entry.map_err(|e| unreadable(&name, e))?);
    }
    found.retain(|entry| !entry.doc.deleted);
    Ok(found)
}

fn unreadable(tag: &str, cause: Error) -> Error {
    let what =
        format!("tag {tag:?} cannot be read, so what it keeps is not known; nothing was removed: {}", cause.message());
    Error::new(cause.reason(), what).with("tag", tag).caused_by(cause)
}

/// The state a tag names.
pub(super) fn state_of(tag: &TagEntry) -> State {
    State { lance_branch: tag.doc.lance_branch.clone(), manifest_version: tag.doc.manifest_version }
}

/// The pins. `heads` are the newest commits of `branches`, one each; `lines` are those that exist. What is on a line
/// that is gone is gone, too.
pub(super) fn pins(
    tags: &[TagEntry],
    branches: &[Branch],
    heads: &[String],
    known: &Known,
    lines: &[Line],
) -> Vec<Pin> {
    let made_since = branches.iter().map(|branch| &branch.lance_branch);
    let there: BTreeSet<&Option<String>> = lines.iter().map(|line| &line.lance_branch).chain(made_since).collect();
    let named = tags.iter().map(|tag| (state_of(tag), format!("tag {}", tag.name)));
    let pins = named.chain(bases(branches, heads, known)).filter(|(state, _)| there.contains(&state.lance_branch));
    pins.map(|(state, why)| Pin { lance_branch: state.lance_branch, manifest_version: state.manifest_version, why })
        .collect()
}

/// The states where branches would be compared, each with the first two of them. Where two have several nearest common
/// ancestors, a merge also asks what those come from, and so on.
fn bases(branches: &[Branch], heads: &[String], known: &Known) -> Vec<(State, String)> {
    let own = branches.iter().map(|b| State { lance_branch: b.lance_branch.clone(), manifest_version: b.head });
    let kept: BTreeSet<State> = own.chain(branches.iter().filter_map(|b| b.forked_from.clone())).collect();
    let pair = |&(a, b): &(usize, usize)| Some((branches.get(a)?.name.as_str(), branches.get(b)?.name.as_str()));
    let mut level = steps(heads.iter().map(String::as_str), known);
    let mut whose: Vec<Option<(&str, &str)>> = level.iter().map(|base| pair(&base.between)).collect();
    let mut found: BTreeMap<State, String> = BTreeMap::new();
    for _ in 0..limits::MAX_MERGE_BASES {
        let before = found.len();
        for (base, pair) in level.iter().zip(&whose) {
            if let Some((a, b)) = pair {
                found.entry(State::of(&base.commit)).or_insert_with(|| format!("base of {a} and {b}"));
            }
        }
        if found.len() == before {
            break;
        }
        let next = steps(level.iter().map(|base| base.commit.id.as_str()), known);
        whose = next.iter().map(|base| whose.get(base.between.0).copied().flatten()).collect();
        level = next;
    }
    found.into_iter().filter(|(state, _)| !kept.contains(state)).collect()
}

fn steps<'a>(heads: impl Iterator<Item = &'a str>, known: &Known) -> Vec<Base> {
    let heads: Vec<&str> = heads.collect();
    ancestry::bases(&heads, |id| known.get(id).cloned())
}

#[cfg(test)]
mod tests;
