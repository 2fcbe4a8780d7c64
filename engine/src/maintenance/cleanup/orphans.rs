//! What nothing refers to: lines of deleted branches, forks and datasets of writes that were never published.
//!
//! All of it is left alone for [`limits::ORPHAN_GRACE`] after the store last got anything of it, since a writer makes
//! such things before anything refers to them.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};

use super::{guard, plan};
use crate::error::{Error, Result};
use crate::limits;
use crate::store::lance::clean::{Contents, Fork};
use crate::txn::Core;

/// The folders of the datasets of types.
const FOLDERS: [&str; 2] = ["nodes", "edges"];

/// The forks of a dataset that are neither needed nor new, registered or not, in an order in which they can be removed.
///
/// # Errors
/// The store's.
pub(super) async fn find(
    core: &Core,
    location: &str,
    forks: &[Fork],
    needed: &BTreeSet<String>,
    now: i64,
) -> Result<Vec<String>> {
    let folders = core.store.folder(&format!("{location}/tree")).await?.folders;
    let found = folders.iter().filter_map(|path| path.rsplit('/').next()).map(ToString::to_string);
    let mut names: BTreeSet<String> = forks.iter().map(|fork| fork.name.clone()).chain(found).collect();
    names.retain(|name| !needed.contains(name));
    let mut old = BTreeSet::new();
    for name in names {
        let registered = forks.iter().find(|fork| fork.name == name);
        if registered.is_some_and(|fork| !is_old(fork.created_at, now)) {
            continue;
        }
        let newest = core.store.fork_contents(location, &name).await?.newest();
        let is_there = registered.is_some() || newest.is_some();
        if is_there && newest.is_none_or(|newest| is_old(newest, now)) {
            old.insert(name);
        }
    }
    Ok(in_order(forks, old))
}

/// Without those that a fork was made from which stays; forks of others come first.
fn in_order(forks: &[Fork], mut old: BTreeSet<String>) -> Vec<String> {
    let parents = |of: &dyn Fn(&Fork) -> bool| -> BTreeSet<String> {
        forks.iter().filter(|fork| of(fork)).filter_map(|fork| fork.parent.clone()).collect()
    };
    loop {
        let stay = parents(&|fork| !old.contains(&fork.name));
        let before = old.len();
        old.retain(|name| !stay.contains(name));
        if old.len() == before {
            break;
        }
    }
    let mut order = Vec::with_capacity(old.len());
    while !old.is_empty() {
        let inner = parents(&|fork| old.contains(&fork.name));
        let (rest, leaves): (BTreeSet<String>, BTreeSet<String>) = old.into_iter().partition(|n| inner.contains(n));
        // Forks that claim each other as their origin are beyond repair.
        if leaves.is_empty() {
            break;
        }
        order.extend(leaves);
        old = rest;
    }
    order
}

/// The datasets of types that are neither known nor new, by location.
///
/// # Errors
/// The store's.
pub(super) async fn datasets(
    core: &Core,
    known: &BTreeSet<String>,
    now: i64,
    concurrency: usize,
) -> Result<Vec<String>> {
    let mut unknown = Vec::new();
    for folder in FOLDERS {
        unknown
            .extend(core.store.folder(folder).await?.folders.into_iter().filter(|location| !known.contains(location)));
    }
    let found: Vec<Option<String>> = futures::stream::iter(unknown)
        .map(|location| async move {
            let contents = core.store.contents(&location).await?;
            let gone = core.store.is_removed_dataset(&location, &contents);
            Ok::<_, Error>((!gone && !is_recent(&contents, now)).then_some(location))
        })
        .buffered(concurrency)
        .try_collect()
        .await?;
    Ok(found.into_iter().flatten().collect())
}

/// Removes a fork that is still what it was taken for, or with `really` off finds out what that would free. Returns its
/// bytes; `None` if somebody uses it after all.
///
/// # Errors
/// The store's.
pub(super) async fn remove_fork(core: &Core, location: &str, name: &str, really: bool) -> Result<Option<u64>> {
    let contents = core.store.fork_contents(location, name).await?;
    if really {
        let named = guard::intents(core).await?;
        let is_named = named.iter().any(|intent| {
            intent.branch.lance_branch.as_deref() == Some(name)
                || plan::named_tables(intent).iter().any(|at| at.branch.as_deref() == Some(name))
        });
        if is_named || is_recent(&contents, core.now()) {
            return Ok(None);
        }
        core.store.delete_fork(location, name).await?;
    }
    Ok(Some(contents.bytes()))
}

/// As [`remove_fork`], for a dataset.
///
/// # Errors
/// The store's.
pub(super) async fn remove_dataset(core: &Core, location: &str, really: bool) -> Result<Option<u64>> {
    let contents = core.store.contents(location).await?;
    if !really {
        return Ok(Some(contents.bytes()));
    }
    let named = guard::intents(core).await?;
    let is_named = named.iter().flat_map(plan::named_tables).any(|at| at.location == location);
    if is_named || is_recent(&contents, core.now()) {
        return Ok(None);
    }
    core.store.remove_dataset(location, &contents).await.map(Some)
}

fn is_recent(contents: &Contents, now: i64) -> bool {
    contents.newest().is_some_and(|newest| !is_old(newest, now))
}

fn is_old(then: i64, now: i64) -> bool {
    now.saturating_sub(then) >= micros(limits::ORPHAN_GRACE)
}

/// A duration in the unit of times.
pub(super) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fork(name: &str, parent: &str) -> Fork {
        let parent = (!parent.is_empty()).then(|| parent.to_string());
        Fork { name: name.to_string(), parent, parent_version: 1, created_at: 0 }
    }

    #[test]
    fn forks_go_before_what_they_were_made_from_and_only_if_nothing_stays_on_it() {
        let forks = [fork("A", ""), fork("B", "A"), fork("C", "B"), fork("D", "A"), fork("E", "")];
        for (old, order) in
            [("A B C D E", "C D E B A"), ("A B C E", "C E B"), ("A B D E", "D E"), ("A", ""), ("C X", "C X"), ("", "")]
        {
            let old = old.split_whitespace().map(ToString::to_string).collect();
            assert_eq!(in_order(&forks, old).join(" "), order);
        }
        let circle = [fork("A", "B"), fork("B", "A")];
        assert!(in_order(&circle, BTreeSet::from(["A".to_string(), "B".to_string()])).is_empty());
    }
}
