//! The branches: which live, whether each opens, whether each has a line of its own. The tags: whether what each names
//! opens.

use std::collections::{HashMap, HashSet};

use super::{VerifyReport, damage};
use crate::error::{Error, Reason, Result};
use crate::format::paths;
use crate::manifest::branches::{self, RefEntry};
use crate::manifest::tags::{self, TagEntry};
use crate::manifest::{BranchIdentity, View, resolve};
use crate::model::branch::MAIN;
use crate::store::lance::TableAt;
use crate::txn::Core;

/// Checks branches and tags. Returns the views of main and of every live branch that opens, main first.
pub(super) async fn check(core: &Core, report: &mut VerifyReport) -> Result<Vec<View>> {
    let mut views = Vec::new();
    match resolve::newest(&core.store, &BranchIdentity::main()).await {
        Ok(Some(view)) => views.push(view),
        Ok(None) => {
            let what = format!("there is no graph at {}", core.store.root().uri());
            return Err(Error::new(Reason::GraphNotFound, what));
        }
        Err(e) => {
            let e = damage(core, e).await?;
            report.add("I6", MAIN, format!("the branch cannot be opened: {}", e.message()));
        }
    }
    let entries = live(core, report).await?;
    for (line, names) in shared_lines(&entries) {
        for name in &names[1..] {
            report.add("I6", name, format!("it shares the line {line} of the manifest with branch {:?}", names[0]));
        }
    }
    for entry in entries {
        match resolve::newest(&core.store, &entry.identity()).await {
            // Deleted; whoever meets it next finishes that.
            Ok(Some(view)) if view.snapshot.is_closed() => {}
            Ok(Some(view)) => views.push(view),
            Ok(None) if lives(core, &entry).await? => {
                report.add("I6", &entry.name, "its lineage is gone; `branch delete --force` removes its name");
            }
            Ok(None) => {}
            Err(e) => {
                let e = damage(core, e).await?;
                report.add("I6", &entry.name, format!("the branch cannot be opened: {}", e.message()));
            }
        }
    }
    check_tags(core, report).await?;
    Ok(views)
}

/// Checks that the documents of tags can be read, that what they name is there, and that every table opens that it
/// shows. Of a table that several tags show, the first tells.
async fn check_tags(core: &Core, report: &mut VerifyReport) -> Result<()> {
    for file in core.store.log().list(paths::TAGS).await? {
        if paths::tag_of(&file).is_none() {
            report.add("I6", "", format!("{}/{file} is no tag document", paths::TAGS));
        }
    }
    let mut opened = HashSet::new();
    for (name, entry) in tags::every(&core.store).await? {
        let problem = match entry {
            Ok(entry) if entry.doc.deleted => None,
            Ok(entry) => match wrong_with(core, &entry, &mut opened).await {
                Ok(problem) => problem.map(|problem| (entry.doc.branch, problem)),
                Err(e) => Some((entry.doc.branch, damage(core, e).await?.message().to_string())),
            },
            Err(e) => Some((String::new(), e.message().to_string())),
        };
        if let Some((branch, problem)) = problem {
            report.add("I6", &branch, format!("tag {name:?}: {problem}"));
        }
    }
    Ok(())
}

/// What is wrong with the state that a tag names.
async fn wrong_with(core: &Core, tag: &TagEntry, opened: &mut HashSet<TableAt>) -> Result<Option<String>> {
    let version = tag.doc.manifest_version;
    let Some(view) = resolve::at(&core.store, &tag.identity(), version).await? else {
        // It may have been deleted since.
        let now = tags::read(&core.store, &tag.name).await?;
        let stands = now.is_some_and(|now| !now.doc.deleted && now.doc.tag_id == tag.doc.tag_id);
        return Ok(stands.then(|| format!("version {version} of the manifest, which it names, is gone")));
    };
    if view.snapshot.head() != tag.doc.commit {
        let (head, commit) = (view.snapshot.head(), &tag.doc.commit);
        return Ok(Some(format!("it names commit {commit}, and version {version} of the manifest shows {head}")));
    }
    for (key, at) in view.snapshot.pins().filter_map(|pin| Some((&pin.type_ref, pin.at.clone()?))) {
        if opened.insert(at.clone()) && core.store.open_table(&at).await?.is_none() {
            return Ok(Some(format!("{key} version {} of {} does not exist", at.version, at.location)));
        }
    }
    Ok(None)
}

/// The documents of live branches by name.
async fn live(core: &Core, report: &mut VerifyReport) -> Result<Vec<RefEntry>> {
    let mut entries = Vec::new();
    for file in core.store.log().list(paths::BRANCHES).await? {
        let Some(name) = paths::branch_of(&file) else {
            report.add("I6", "", format!("{}/{file} is no branch document", paths::BRANCHES));
            continue;
        };
        match branches::read(&core.store, &name).await {
            Ok(Some(entry)) if !entry.doc.deleted => entries.push(entry),
            Ok(_) => {}
            Err(e) if e.reason() == Reason::DataCorrupt => report.add("I6", &name, e.message()),
            Err(e) => return Err(e),
        }
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

async fn lives(core: &Core, entry: &RefEntry) -> Result<bool> {
    let now = branches::read(&core.store, &entry.name).await?;
    Ok(now.is_some_and(|now| !now.doc.deleted && now.doc.branch_id == entry.doc.branch_id))
}

/// Lines that more than one branch claims, with the branches.
fn shared_lines(entries: &[RefEntry]) -> Vec<(String, Vec<String>)> {
    let mut lines: HashMap<&str, Vec<String>> = HashMap::new();
    for entry in entries {
        lines.entry(&entry.doc.lance_branch).or_default().push(entry.name.clone());
    }
    let mut shared: Vec<_> =
        lines.into_iter().filter(|(_, names)| names.len() > 1).map(|(line, names)| (line.to_string(), names)).collect();
    shared.sort_unstable();
    shared
}
