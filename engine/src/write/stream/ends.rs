//! Endpoints and cardinality over a whole load: nodes may come after their edges, so both are decided at
//! the end.

use std::collections::{BTreeMap, HashMap, HashSet};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use futures::TryStreamExt;

use super::TypeLoad;
use super::merge::{Part, Parts, ends_of};
use crate::data::Violations;
use crate::error::{Reason, Result};
use crate::format::arrow::{DST, ID, SRC};
use crate::manifest::View;
use crate::model::{EntityKind, EntityType, LoadMode, TypeRef};
use crate::store::lance::Table;
use crate::store::lance::keys::{KeyHash, hash_rows, hash_text};
use crate::store::lance::scan::Scan;
use crate::txn::Core;
use crate::write::{constraints, probe, target};

/// Texts of endpoints kept for messages; beyond that a message names the record only.
const TEXTS_KEPT: usize = 100_000;

/// What edges of the input refer to, and how many edges each counted source gets.
#[derive(Default)]
pub(super) struct Ends {
    needed: BTreeMap<TypeRef, HashMap<KeyHash, (u64, Option<String>)>>,
    texts: usize,
    added: BTreeMap<TypeRef, HashMap<String, u64>>,
    vacated: BTreeMap<TypeRef, HashMap<String, u64>>,
}

/// The image a load leaves.
pub(super) struct Images<'a> {
    pub core: &'a Core,
    pub view: &'a View,
    pub mode: LoadMode,
    pub types: &'a BTreeMap<TypeRef, TypeLoad>,
}

impl Ends {
    /// Notes the ends of a part's edges.
    pub fn note(&mut self, ty: &EntityType, part: &Part) -> Result<()> {
        let Some(ends) = &ty.endpoints else {
            return Ok(());
        };
        let (sources, destinations) = ends_of(&part.batch)?;
        for (node, ids) in [(&ends.from, sources), (&ends.to, destinations)] {
            let needed = self.needed.entry(TypeRef::node(node)).or_default();
            for (id, record) in ids.iter().zip(&part.records) {
                let id = id.unwrap_or_default();
                let texts = &mut self.texts;
                needed.entry(hash_text(id)).or_insert_with(|| {
                    *texts += 1;
                    (*record, (*texts <= TEXTS_KEPT).then(|| id.to_string()))
                });
            }
        }
        if ty.cardinality.is_some() {
            count(self.added.entry(ty.type_ref()).or_default(), sources);
        }
        Ok(())
    }

    /// Notes the sources that updated edges leave.
    pub fn note_vacated(&mut self, ty: &EntityType, parts: &Parts) -> Result<()> {
        if let Some(old) = parts.updates.vacated.as_ref().and_then(|c| c.as_string_opt::<i32>()) {
            count(self.vacated.entry(ty.type_ref()).or_default(), old);
        }
        Ok(())
    }

    /// Checks everything against the image the load leaves.
    pub async fn check(self, images: &Images<'_>, reads: &mut Vec<TypeRef>, violations: &mut Violations) -> Result<()> {
        for (node, needed) in &self.needed {
            let missing = images.missing(node, needed, reads).await?;
            for key in missing {
                if let Some((record, text)) = needed.get(&key) {
                    let id = text.as_ref().map_or_else(|| "an endpoint".to_string(), |t| format!("{t:?}"));
                    violations
                        .at_record(*record, Reason::EndpointMissing, || format!("{} {id} does not exist", node.name));
                }
            }
        }
        if images.mode == LoadMode::Overwrite {
            images.stranded(reads, violations).await?;
        }
        for edge in images.view.snapshot.schema.types.iter().filter(|t| t.cardinality.is_some()) {
            let none = HashMap::new();
            let added = self.added.get(&edge.type_ref()).unwrap_or(&none);
            let vacated = self.vacated.get(&edge.type_ref()).unwrap_or(&none);
            images.cardinality(edge, added, vacated, reads, violations).await?;
        }
        Ok(())
    }
}

fn count(counts: &mut HashMap<String, u64>, ids: &arrow_array::StringArray) {
    for id in ids.iter().flatten() {
        match counts.get_mut(id) {
            Some(n) => *n += 1,
            None => {
                counts.insert(id.to_string(), 1);
            }
        }
    }
}

impl Images<'_> {
    fn replaced(&self, type_ref: &TypeRef) -> bool {
        self.mode == LoadMode::Overwrite && self.types.contains_key(type_ref)
    }

    /// Stored rows of a type that the load does not replace as a whole.
    async fn stored(&self, type_ref: &TypeRef) -> Result<Option<Table>> {
        if self.replaced(type_ref) {
            return Ok(None);
        }
        target::pinned(self.core, &self.view.snapshot, type_ref).await
    }

    async fn missing(
        &self,
        node: &TypeRef,
        needed: &HashMap<KeyHash, (u64, Option<String>)>,
        reads: &mut Vec<TypeRef>,
    ) -> Result<Vec<KeyHash>> {
        let new = self.types.get(node).map(|t| &t.seen);
        let rest: Vec<KeyHash> = needed.keys().filter(|k| new.is_none_or(|seen| !seen.contains(k))).copied().collect();
        if rest.is_empty() {
            return Ok(rest);
        }
        reads.push(node.clone());
        match self.stored(node).await? {
            Some(table) if table.rows() > 0 => {
                let found = probe::existing(self.core, &table, &rest).await?;
                Ok(rest.into_iter().filter(|k| !found.contains_key(k)).collect())
            }
            _ => Ok(rest),
        }
    }

    /// Edges that stay but lose an end because its type was replaced.
    async fn stranded(&self, reads: &mut Vec<TypeRef>, violations: &mut Violations) -> Result<()> {
        for edge in self.view.snapshot.schema.types.iter().filter(|t| t.kind == EntityKind::Edge) {
            let Some(ends) = &edge.endpoints else {
                continue;
            };
            let replaced: Vec<(&str, &HashSet<KeyHash>)> = [(SRC, &ends.from), (DST, &ends.to)]
                .into_iter()
                .filter_map(|(column, node)| self.types.get(&TypeRef::node(node)).map(|load| (column, &load.seen)))
                .collect();
            if replaced.is_empty() {
                continue;
            }
            // Also when there is no edge yet: one that appears meanwhile could lose its end.
            reads.push(edge.type_ref());
            let Some(table) = self.stored(&edge.type_ref()).await? else {
                continue;
            };
            let scan = Scan { columns: vec![ID.to_string(), SRC.to_string(), DST.to_string()], ..Scan::default() };
            let mut batches = table.scan(scan).await?;
            while let Some(batch) = batches.try_next().await? {
                for (column, seen) in &replaced {
                    report_stranded(edge, &batch, column, seen, violations)?;
                }
            }
        }
        Ok(())
    }

    async fn cardinality(
        &self,
        edge: &EntityType,
        added: &HashMap<String, u64>,
        vacated: &HashMap<String, u64>,
        reads: &mut Vec<TypeRef>,
        violations: &mut Violations,
    ) -> Result<()> {
        let (Some(bounds), Some(ends)) = (edge.cardinality, &edge.endpoints) else {
            return Ok(());
        };
        let source = TypeRef::node(&ends.from);
        let nodes_replaced = self.replaced(&source);
        // With a minimum, every new source counts, also one without edges; its id is known by hash only.
        let new_sources = self.types.get(&source).filter(|_| bounds.min > 0).map(|t| &t.seen);
        let everything = self.replaced(&edge.type_ref()) || nodes_replaced || new_sources.is_some();
        let touched: HashSet<&String> = added.keys().chain(vacated.keys()).collect();
        if touched.is_empty() && new_sources.is_none() {
            return Ok(());
        }
        let mut counts: HashMap<String, u64> = touched.iter().map(|s| ((*s).clone(), 0)).collect();
        reads.push(edge.type_ref());
        if let Some(table) = self.stored(&edge.type_ref()).await? {
            stored_counts(&table, &mut counts, everything).await?;
        }
        for (id, n) in vacated {
            if let Some(total) = counts.get_mut(id) {
                *total = total.saturating_sub(*n);
            }
        }
        for (id, n) in added {
            *counts.entry(id.clone()).or_default() += n;
        }
        for (id, n) in &counts {
            constraints::report(&edge.name, bounds, id, *n, violations);
        }
        if let Some(new) = new_sources {
            let counted: HashSet<KeyHash> = counts.keys().map(|id| hash_text(id)).collect();
            let bare = new.iter().filter(|k| !counted.contains(k)).count();
            if bare > 0 {
                violations.add(Reason::CardinalityViolation, || {
                    (
                        edge.name.clone(),
                        format!(
                            "{bare} nodes of {} would have no edge, at least {} is required",
                            ends.from, bounds.min
                        ),
                    )
                });
            }
        }
        Ok(())
    }
}

/// Adds the stored edges of the counted sources, or of all.
async fn stored_counts(table: &Table, counts: &mut HashMap<String, u64>, all: bool) -> Result<()> {
    let scan = Scan { columns: vec![SRC.to_string()], ..Scan::default() };
    let mut batches = table.scan(scan).await?;
    while let Some(batch) = batches.try_next().await? {
        let Some(sources) = batch.column_by_name(SRC).and_then(|c| c.as_string_opt::<i32>()) else {
            continue;
        };
        for id in sources.iter().flatten() {
            match counts.get_mut(id) {
                Some(n) => *n += 1,
                None if all => {
                    counts.insert(id.to_string(), 1);
                }
                None => {}
            }
        }
    }
    Ok(())
}

fn report_stranded(
    edge: &EntityType,
    batch: &RecordBatch,
    column: &str,
    seen: &HashSet<KeyHash>,
    violations: &mut Violations,
) -> Result<()> {
    let keys = hash_rows(batch, &[column.to_string()])?;
    for (row, key) in keys.into_iter().enumerate() {
        if key.is_none_or(|k| !seen.contains(&k)) {
            let text = |name: &str| {
                batch
                    .column_by_name(name)
                    .and_then(|c| c.as_string_opt::<i32>())
                    .map(|c| c.value(row).to_string())
                    .unwrap_or_default()
            };
            violations.add(Reason::EndpointMissing, || {
                (
                    format!("{} {:?}", edge.name, text(ID)),
                    format!(
                        "its {column} {:?} would not exist any more; load the edges together with the nodes",
                        text(column)
                    ),
                )
            });
        }
    }
    Ok(())
}
