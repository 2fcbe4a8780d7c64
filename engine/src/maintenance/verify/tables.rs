//! The table states that live branches pin: that they open, how many rows they have, what stands above them.

use std::collections::{BTreeMap, HashMap};

use super::{VerifyReport, damage};
use crate::error::Result;
use crate::format::snapshot_json;
use crate::limits;
use crate::manifest::Snapshot;
use crate::model::TypeRef;
use crate::store::lance::{Table, TableAt};
use crate::txn::Core;

/// Every table state seen so far.
#[derive(Default)]
pub(super) struct Tables {
    states: HashMap<TableAt, Option<Table>>,
    /// The newest pinned version of each dataset's line, with the branch that pins it.
    lines: BTreeMap<(String, Option<String>), Line>,
}

#[derive(Clone)]
struct Line {
    version: u64,
    branch: String,
    type_ref: TypeRef,
}

impl Tables {
    /// How many states there are.
    pub fn count(&self) -> usize {
        self.states.len()
    }

    /// Opens what a snapshot pins. States that do not open are reported and left out.
    pub async fn open(
        &mut self,
        core: &Core,
        snapshot: &Snapshot,
        report: &mut VerifyReport,
    ) -> Result<HashMap<TypeRef, Table>> {
        let branch = snapshot.branch.name.as_str();
        let mut open = HashMap::new();
        for pin in snapshot.pins() {
            let Some(at) = &pin.at else {
                if pin.rows > 0 {
                    report.add("I1", branch, format!("{} has {} rows but no dataset", pin.type_ref, pin.rows));
                }
                continue;
            };
            self.note(at, branch, &pin.type_ref);
            if !self.states.contains_key(at) {
                let table = match core.store.open_table(at).await {
                    Ok(Some(table)) => Ok(table),
                    Ok(None) => Err("it does not exist".to_string()),
                    Err(e) => Err(damage(core, e).await?.message().to_string()),
                };
                if let Err(why) = &table {
                    let what =
                        format!("{} version {} of {} does not open: {why}", pin.type_ref, at.version, at.location);
                    report.add("I1", branch, what);
                }
                self.states.insert(at.clone(), table.ok());
            }
            let Some(Some(table)) = self.states.get(at) else {
                continue;
            };
            if table.rows() != pin.rows {
                let what = format!("{} is recorded with {} rows and has {}", pin.type_ref, pin.rows, table.rows());
                report.add("I1", branch, what);
            }
            open.insert(pin.type_ref.clone(), table.clone());
        }
        Ok(open)
    }

    fn note(&mut self, at: &TableAt, branch: &str, type_ref: &TypeRef) {
        let name = (at.location.clone(), at.branch.clone());
        let pinned = Line { version: at.version, branch: branch.to_string(), type_ref: type_ref.clone() };
        let line = self.lines.entry(name).or_insert_with(|| pinned.clone());
        if line.version < pinned.version {
            *line = pinned;
        }
    }

    /// Checks that this engine made every version above the newest pinned one of each line. Those are
    /// abandoned, or being published right now.
    pub async fn check_lines(&self, core: &Core, report: &mut VerifyReport) -> Result<()> {
        for ((location, lance_branch), line) in &self.lines {
            let newest = match core.store.open_newest(location, lance_branch.as_deref()).await {
                Ok(Some(newest)) => newest.version(),
                // That the pinned version does not open is reported already.
                Ok(None) => continue,
                Err(e) => {
                    let e = damage(core, e).await?;
                    report.add("I1", &line.branch, format!("{location} does not open: {}", e.message()));
                    continue;
                }
            };
            if newest < line.version {
                let what = format!("{} is pinned at version {} but ends at {newest}", line.type_ref, line.version);
                report.add("I1", &line.branch, what);
            }
            let last = newest.min(line.version.saturating_add(limits::MAX_VERIFIED_VERSIONS));
            for version in line.version + 1..=last {
                let at = TableAt { location: location.clone(), branch: lance_branch.clone(), version };
                if !is_ours(core, &at).await? {
                    let what = format!(
                        "drift: {} is published at version {}, and nothing explains version {version} above it; \
                         run `omnigraph repair`",
                        line.type_ref, line.version
                    );
                    report.add("I1", &line.branch, what);
                    break;
                }
            }
        }
        Ok(())
    }
}

async fn is_ours(core: &Core, at: &TableAt) -> Result<bool> {
    let properties = match core.store.open_table(at).await {
        Ok(Some(table)) => table.properties().await,
        Ok(None) => return Ok(false),
        Err(e) => Err(e),
    };
    match properties {
        Ok(properties) => Ok(properties.contains_key(snapshot_json::OPERATION)),
        Err(e) => {
            damage(core, e).await?;
            Ok(false)
        }
    }
}
