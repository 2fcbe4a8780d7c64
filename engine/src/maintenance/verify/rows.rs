//! What the rows of a branch's tables say: unique ids, keys, constraints, the ends of edges.
//!
//! Tables are streamed; only hashes of ids and unique values are kept.

use std::collections::{BTreeSet, HashMap, HashSet};

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use futures::TryStreamExt;

use super::{Tally, VerifyReport, damage};
use crate::data::{RowChecker, Violations, value_at};
use crate::error::{Error, Result};
use crate::format::arrow::{DST, ID, SRC};
use crate::maintenance::progress::Observer;
use crate::manifest::Snapshot;
use crate::model::key::{KeySource, id_of, key_sources};
use crate::model::{EntityKind, EntityType, PropertyType, ScalarType, TypeRef, Value};
use crate::store::lance::keys::{KeyHash, hash_rows};
use crate::store::lance::scan::Scan;
use crate::store::lance::{Table, TableAt, filter};
use crate::txn::Core;

type Hashes = HashSet<KeyHash>;

/// What was checked already: branches share tables, and the same state is the same state.
#[derive(Default)]
pub(super) struct Content {
    seen: HashSet<Subject>,
}

/// A table state under a declaration, with the states its ends are in.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Subject {
    at: TableAt,
    declaration: String,
    ends: Vec<Option<TableAt>>,
}

impl Content {
    /// Checks what a snapshot shows, as far as no branch before showed the same. The observer is told that each of its
    /// types is done.
    pub async fn check(
        &mut self,
        core: &Core,
        snapshot: &Snapshot,
        tables: &HashMap<TypeRef, Table>,
        report: &mut VerifyReport,
        observer: &dyn Observer,
    ) -> Result<()> {
        let of = |kind| snapshot.schema.types.iter().filter(move |t| t.kind == kind);
        let mut edges: Vec<(&EntityType, &Table)> = Vec::new();
        let mut needed: BTreeSet<TypeRef> = BTreeSet::new();
        for ty in of(EntityKind::Edge) {
            match tables.get(&ty.type_ref()) {
                Some(table) if self.seen.insert(subject(snapshot, ty, table)) => {
                    needed.extend(ends(ty));
                    edges.push((ty, table));
                }
                _ => observer.table_done(&ty.type_ref().to_string()),
            }
        }
        let mut nodes: HashMap<TypeRef, Hashes> = HashMap::new();
        for ty in of(EntityKind::Node) {
            let type_ref = ty.type_ref();
            let key = type_ref.to_string();
            let Some(table) = tables.get(&type_ref) else {
                observer.table_done(&key);
                continue;
            };
            let new = self.seen.insert(subject(snapshot, ty, table));
            if new || needed.contains(&type_ref) {
                observer.table_begun(&key);
                let mut check = TableCheck::new(snapshot, ty, table)?;
                check.run(core, None).await?;
                let ids = if new { check.finish(report) } else { check.ids };
                if needed.contains(&type_ref) {
                    nodes.insert(type_ref, ids);
                }
            }
            observer.table_done(&key);
        }
        for (ty, table) in edges {
            let key = ty.type_ref().to_string();
            observer.table_begun(&key);
            let mut check = TableCheck::new(snapshot, ty, table)?;
            check.run(core, Some(&nodes)).await?;
            check.finish(report);
            observer.table_done(&key);
        }
        Ok(())
    }
}

fn subject(snapshot: &Snapshot, ty: &EntityType, table: &Table) -> Subject {
    let key = ty.type_ref().to_string();
    let declared = snapshot.doc().tables.iter().find(|t| t.key == key);
    let pin = |end: TypeRef| snapshot.pin(&end).ok().and_then(|p| p.at.clone());
    Subject {
        at: table.at().clone(),
        declaration: declared.map(|t| t.decl.clone()).unwrap_or_default(),
        ends: ends(ty).into_iter().map(pin).collect(),
    }
}

/// The node types of an edge type's ends, source first; none for a node type.
fn ends(ty: &EntityType) -> Vec<TypeRef> {
    ty.endpoints.iter().flat_map(|e| [TypeRef::node(&e.from), TypeRef::node(&e.to)]).collect()
}

/// One pass over one table.
struct TableCheck<'a> {
    branch: &'a str,
    ty: &'a EntityType,
    table: &'a Table,
    checker: RowChecker,
    key: Vec<KeySource>,
    ids: Hashes,
    unique: Vec<(&'a [String], Hashes)>,
    degrees: HashMap<KeyHash, u64>,
    rows: u64,
    content: Tally,
    storage: Tally,
}

impl<'a> TableCheck<'a> {
    fn new(snapshot: &'a Snapshot, ty: &'a EntityType, table: &'a Table) -> Result<Self> {
        // Blob payloads say nothing about constraints; reading them all would cost most of the time.
        let mut plain = ty.clone();
        plain.properties.retain(|p| !is_blob(&p.ty));
        Ok(Self {
            branch: &snapshot.branch.name,
            ty,
            table,
            checker: RowChecker::new(&plain)?,
            key: key_sources(ty)?,
            ids: Hashes::new(),
            unique: ty.unique.iter().map(|columns| (columns.as_slice(), Hashes::new())).collect(),
            degrees: HashMap::new(),
            rows: 0,
            content: Tally::default(),
            storage: Tally::default(),
        })
    }

    /// Reads the table. `nodes` holds the ids of the node types that edges can end at.
    async fn run(&mut self, core: &Core, nodes: Option<&HashMap<TypeRef, Hashes>>) -> Result<()> {
        if let Err(e) = self.read(nodes).await {
            let e = damage(core, e).await?;
            self.storage.add(|| format!("it cannot be read: {}", e.message()));
            return Ok(());
        }
        let (found, recorded) = (self.rows, self.table.rows());
        if found != recorded {
            self.storage.add(|| format!("its fragments say {recorded} rows, and {found} are there"));
        }
        if let Some(nodes) = nodes {
            self.check_degrees(nodes);
        }
        Ok(())
    }

    async fn read(&mut self, nodes: Option<&HashMap<TypeRef, Hashes>>) -> Result<()> {
        let plain = |name: &&str| self.ty.property(name).is_none_or(|p| !is_blob(&p.ty));
        let columns = self.ty.columns().filter(plain).map(ToString::to_string).collect();
        let mut batches = self.table.scan(Scan { columns, ordered: true, ..Scan::default() }).await?;
        while let Some(batch) = batches.try_next().await? {
            self.rows += batch.num_rows() as u64;
            self.check_rows(&batch)?;
            self.check_unique(&batch)?;
            if let Some(nodes) = nodes {
                self.check_ends(&batch, nodes)?;
            }
        }
        for property in self.ty.properties.iter().filter(|p| is_blob(&p.ty) && !p.nullable) {
            let missing = self.table.count(Some(filter::is_null(&property.name))).await?;
            if missing > 0 {
                self.content.add(|| format!("{missing} rows lack the required {}", property.name));
            }
        }
        Ok(())
    }

    fn check_rows(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows: Vec<u64> = (0..batch.num_rows() as u64).collect();
        let mut violations = Violations::default();
        self.checker.check(batch, None, &rows, &mut violations)?;
        for violation in violations.listed() {
            let row = violation.field.strip_prefix("record ").and_then(|n| n.parse().ok());
            let id = row.map(|row| shown(batch, ID, row)).transpose()?.unwrap_or_default();
            self.content.add(|| format!("{id}: {}", violation.description));
        }
        self.content.total += violations.total() - violations.listed().len() as u64;
        if self.key.is_empty() {
            return Ok(());
        }
        for row in 0..batch.num_rows() {
            // What is missing from a key is reported as a missing value already.
            let Ok(derived) = self.derive(batch, row) else {
                continue;
            };
            if text(batch, ID, row)? != Some(derived.as_str()) {
                let id = shown(batch, ID, row)?;
                self.content.add(|| format!("{id}: the id does not follow from the key, which makes {derived:?}"));
            }
        }
        Ok(())
    }

    fn derive(&self, batch: &RecordBatch, row: usize) -> Result<String> {
        let mut values: HashMap<&str, Value> = HashMap::with_capacity(self.key.len());
        for source in &self.key {
            let text = PropertyType::Scalar(ScalarType::String);
            let (name, ty) = match source {
                KeySource::Src => (SRC, &text),
                KeySource::Dst => (DST, &text),
                KeySource::Property(at) => (self.ty.properties[*at].name.as_str(), &self.ty.properties[*at].ty),
            };
            values.insert(name, value_at(column(batch, name)?, ty, row)?);
        }
        id_of(self.ty, |name| values.get(name))
    }

    fn check_unique(&mut self, batch: &RecordBatch) -> Result<()> {
        for (row, hash) in hash_rows(batch, &[ID.to_string()])?.into_iter().enumerate() {
            if hash.is_some_and(|hash| !self.ids.insert(hash)) {
                let id = shown(batch, ID, row)?;
                self.content.add(|| format!("the id {id} is there more than once"));
            }
        }
        for (columns, seen) in &mut self.unique {
            for (row, hash) in hash_rows(batch, columns)?.into_iter().enumerate() {
                if hash.is_some_and(|hash| !seen.insert(hash)) {
                    let id = shown(batch, ID, row)?;
                    self.content.add(|| format!("{id}: another row has the same ({})", columns.join(", ")));
                }
            }
        }
        Ok(())
    }

    fn check_ends(&mut self, batch: &RecordBatch, nodes: &HashMap<TypeRef, Hashes>) -> Result<()> {
        for (name, node) in [SRC, DST].into_iter().zip(ends(self.ty)) {
            let known = nodes.get(&node);
            for (row, hash) in hash_rows(batch, &[name.to_string()])?.into_iter().enumerate() {
                let exists = hash.is_some_and(|hash| known.is_some_and(|known| known.contains(&hash)));
                if !exists {
                    let (id, end) = (shown(batch, ID, row)?, shown(batch, name, row)?);
                    self.content.add(|| format!("{id}: its {name} {end} is no {node}"));
                }
            }
        }
        let Some(cardinality) = self.ty.cardinality else {
            return Ok(());
        };
        for (row, hash) in hash_rows(batch, &[SRC.to_string()])?.into_iter().enumerate() {
            let Some(hash) = hash else { continue };
            let degree = self.degrees.entry(hash).or_default();
            *degree += 1;
            if let Some(max) = cardinality.max
                && *degree == max + 1
            {
                let src = shown(batch, SRC, row)?;
                self.content.add(|| format!("{src} has more than {max} edges"));
            }
        }
        Ok(())
    }

    fn check_degrees(&mut self, nodes: &HashMap<TypeRef, Hashes>) {
        let Some(min) = self.ty.cardinality.map(|c| c.min).filter(|min| *min > 0) else {
            return;
        };
        let Some(from) = ends(self.ty).into_iter().next() else {
            return;
        };
        let degree = |node: &&KeyHash| self.degrees.get(*node).copied().unwrap_or(0);
        let few = nodes.get(&from).map_or(0, |ids| ids.iter().filter(|n| degree(n) < min).count());
        if few > 0 {
            self.content.add(|| format!("{few} nodes of {from} have fewer than {min} edges"));
        }
    }

    /// Reports what was found and hands the ids on.
    fn finish(self, report: &mut VerifyReport) -> Hashes {
        let place = self.ty.type_ref().to_string();
        self.storage.report(report, "I1", self.branch, &place);
        self.content.report(report, "I4", self.branch, &place);
        self.ids
    }
}

fn is_blob(ty: &PropertyType) -> bool {
    matches!(ty, PropertyType::Scalar(ScalarType::Blob))
}

fn column<'b>(batch: &'b RecordBatch, name: &str) -> Result<&'b dyn Array> {
    let found = batch.column_by_name(name).map(|c| c.as_ref() as &dyn Array);
    found.ok_or_else(|| Error::internal(format!("a scan returned no column {name}")))
}

/// A text cell; `None` for null.
fn text<'b>(batch: &'b RecordBatch, name: &str, row: usize) -> Result<Option<&'b str>> {
    let texts = column(batch, name)?.as_string_opt::<i32>().filter(|texts| row < texts.len());
    let texts = texts.ok_or_else(|| Error::internal(format!("column {name} of a scan is no text")))?;
    Ok(texts.is_valid(row).then(|| texts.value(row)))
}

/// A text cell, quoted.
fn shown(batch: &RecordBatch, name: &str, row: usize) -> Result<String> {
    Ok(text(batch, name, row)?.map_or_else(|| "null".to_string(), |text| format!("{text:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_lists_some_and_counts_all() {
        let mut tally = Tally::default();
        for n in 0..100 {
            tally.add(|| format!("p{n}"));
        }
        let mut report = VerifyReport::default();
        tally.report(&mut report, "I4", "main", "node:P");
        assert_eq!(report.problems.len(), crate::limits::MAX_TABLE_PROBLEMS + 1);
        assert_eq!(report.problems[0].detail, "node:P: p0");
        assert!(report.problems.last().unwrap().detail.contains("80 more"));
    }
}
