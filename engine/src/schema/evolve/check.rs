//! Whether the rows that are there satisfy what a new schema asks of them. Each check reads its own columns once.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema as ArrowSchema};
use futures::TryStreamExt;

use super::image;
use super::steps::{Check, Source};
use crate::data::{RowChecker, Violations};
use crate::error::{Error, Result};
use crate::format::arrow::{ID, SRC, logical_type};
use crate::limits;
use crate::model::{Cardinality, EntityType, Property, PropertyType, ScalarType};
use crate::store::lance::Table;
use crate::store::lance::filter;
use crate::store::lance::keys::{KeyHash, hash_rows, hash_text};
use crate::store::lance::scan::{ROW_ADDRESS, Scan};

/// The rows of one type, and the type they are to become.
pub(crate) struct Rows<'a> {
    /// The type as it will be.
    pub ty: &'a EntityType,
    /// Where its columns come from.
    pub columns: &'a [Source],
    /// The table as it is; `None` if the type has none.
    pub table: Option<&'a Table>,
    /// What is changed of the table at the same time.
    pub changed: Overlay,
    /// Of an edge type: the table of the nodes its edges start at, as it is.
    pub sources: Option<&'a Table>,
    /// What is changed of that table at the same time; only ids are looked at.
    pub changed_sources: Overlay,
}

/// Rows that take the place of stored ones.
#[derive(Debug, Default)]
pub(crate) struct Overlay {
    /// The ids whose stored rows do not count.
    pub hidden: HashSet<String>,
    /// Rows as they will be.
    pub rows: Vec<RecordBatch>,
}

/// What stands against a check: how many, and the first of them.
#[derive(Debug, Default)]
pub(crate) struct Offenders {
    total: u64,
    first: Vec<String>,
}

impl Offenders {
    fn add(&mut self, what: impl FnOnce() -> String) {
        self.total += 1;
        if self.first.len() < limits::MAX_NAMED_OFFENDERS {
            self.first.push(what());
        }
    }

    /// A sentence that names the first; `None` if there are none.
    pub fn sentence(&self, ty: &EntityType) -> Option<String> {
        let more = self.total.saturating_sub(self.first.len() as u64);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let listed = self.first.join("; ");
        (self.total > 0).then(|| {
            format!("{} of {} stand against it: {listed}{more}. Change them first, then try again", self.total, ty.name)
        })
    }
}

impl Rows<'_> {
    /// What stands against a check.
    ///
    /// # Errors
    /// The store's.
    pub async fn offenders(&self, check: &Check) -> Result<Offenders> {
        match check {
            Check::Cardinality => return self.cardinality().await,
            Check::Unique(columns) => return self.unique(columns).await,
            Check::Required(name) if self.is_blob(name) => return self.missing_blobs(name).await,
            _ => {}
        }
        let (name, reduced) = self.reduced(check)?;
        let checker = RowChecker::new(&reduced)?;
        let mut offenders = Offenders::default();
        let columns = vec![ID.to_string(), name];
        self.each(&columns, |batch, _| {
            let rows: Vec<u64> = (0..batch.num_rows() as u64).collect();
            let mut violations = Violations::default();
            checker.check(&without_id(batch)?, None, &rows, &mut violations)?;
            for violation in violations.listed() {
                let row = violation.field.strip_prefix("record ").and_then(|n| n.parse::<usize>().ok());
                let id = row.map_or_else(String::new, |row| id_of(batch, row));
                let found = violation.description.split_once(": ").map_or("", |(_, found)| found);
                offenders.add(|| format!("{id:?}: {found}"));
            }
            offenders.total += violations.total() - violations.listed().len() as u64;
            Ok(())
        })
        .await?;
        Ok(offenders)
    }

    fn is_blob(&self, name: &str) -> bool {
        self.ty.property(name).is_some_and(|p| p.ty == PropertyType::Scalar(ScalarType::Blob))
    }

    async fn missing_blobs(&self, name: &str) -> Result<Offenders> {
        let source = self.source(name)?.1;
        let mut offenders = Offenders::default();
        for batch in &self.changed.rows {
            let column = column(batch, name)?;
            for row in (0..batch.num_rows()).filter(|row| column.is_null(*row)) {
                offenders.add(|| format!("{:?}: found nothing, expected a blob", id_of(batch, row)));
            }
        }
        if let (Some(table), [from]) = (self.table, image::reads(source).as_slice()) {
            let filter = Some(filter::is_null(from));
            let scan = Scan { columns: vec![ID.to_string()], filter, ordered: true, ..Scan::default() };
            let mut batches = table.scan(scan).await?;
            while let Some(batch) = batches.try_next().await? {
                let batch = self.without_hidden(batch)?;
                for row in 0..batch.num_rows() {
                    offenders.add(|| format!("{:?}: found nothing, expected a blob", id_of(&batch, row)));
                }
            }
        }
        Ok(offenders)
    }

    fn source(&self, name: &str) -> Result<(&Property, &Source)> {
        let found = self.ty.properties.iter().zip(self.columns).find(|(property, _)| property.name == name);
        found.ok_or_else(|| Error::internal(format!("a check names {name:?}, which {} lacks", self.ty.name)))
    }

    /// The type with nothing but the property and the rule that is checked.
    fn reduced(&self, check: &Check) -> Result<(String, EntityType)> {
        let mut ty = EntityType {
            key: Vec::new(),
            unique: Vec::new(),
            ranges: Vec::new(),
            checks: Vec::new(),
            ..self.ty.clone()
        };
        let absent = || Error::internal("a check names a rule that is not declared");
        let name = match check {
            Check::Required(name) | Check::Members(name) => name.clone(),
            Check::Range(at) => {
                let range = self.ty.ranges.get(*at).ok_or_else(absent)?;
                ty.ranges.push(range.clone());
                range.property.clone()
            }
            Check::Pattern(at) => {
                let pattern = self.ty.checks.get(*at).ok_or_else(absent)?;
                ty.checks.push(pattern.clone());
                pattern.property.clone()
            }
            Check::Unique(_) | Check::Cardinality => return Err(absent()),
        };
        ty.properties.retain(|p| p.name == name);
        for property in &mut ty.properties {
            property.nullable = !matches!(check, Check::Required(_));
            if !matches!(check, Check::Members(_)) && matches!(property.ty, PropertyType::Enum(_)) {
                property.ty = PropertyType::Scalar(ScalarType::String);
            }
        }
        Ok((name, ty))
    }

    async fn unique(&self, columns: &[String]) -> Result<Offenders> {
        let mut seen: HashMap<KeyHash, Place> = HashMap::new();
        let mut twins: Vec<(Place, Place)> = Vec::new();
        let mut total = 0;
        let mut wanted = vec![ID.to_string()];
        wanted.extend(columns.iter().cloned());
        self.each(&wanted, |batch, places| {
            for (key, place) in hash_rows(batch, columns)?.into_iter().zip(places) {
                let Some(key) = key else { continue };
                if let Some(other) = seen.insert(key, *place) {
                    total += 1;
                    if twins.len() < limits::MAX_NAMED_OFFENDERS {
                        twins.push((other, *place));
                    }
                }
            }
            Ok(())
        })
        .await?;
        let mut offenders = Offenders { total, first: Vec::new() };
        for (a, b) in twins {
            let (a, b) = (self.id_at(a).await?, self.id_at(b).await?);
            offenders.first.push(format!("{a:?} and {b:?} share ({})", columns.join(", ")));
        }
        Ok(offenders)
    }

    async fn id_at(&self, place: Place) -> Result<String> {
        match (place, self.table) {
            (Place::Stored(address), Some(table)) => Ok(id_of(&table.take(&[address], &[ID.to_string()]).await?, 0)),
            (Place::Changed(batch, row), _) => {
                Ok(self.changed.rows.get(batch).map_or_else(String::new, |b| id_of(b, row)))
            }
            (Place::Stored(_), None) => Ok(String::new()),
        }
    }

    async fn cardinality(&self) -> Result<Offenders> {
        let bounds = self.ty.cardinality.unwrap_or(Cardinality { min: 0, max: None });
        let mut degrees: HashMap<KeyHash, u64> = HashMap::new();
        self.each(&[SRC.to_string()], |batch, _| {
            for src in batch.column_by_name(SRC).and_then(|c| c.as_string_opt::<i32>()).into_iter().flatten().flatten()
            {
                *degrees.entry(hash_text(src)).or_default() += 1;
            }
            Ok(())
        })
        .await?;
        let mut offenders = Offenders::default();
        let mut look = |id: &str| {
            let count = degrees.get(&hash_text(id)).copied().unwrap_or(0);
            if count < bounds.min || bounds.max.is_some_and(|max| count > max) {
                offenders.add(|| format!("{id:?} has {count} edges"));
            }
        };
        if let Some(sources) = self.sources {
            let scan = Scan { columns: vec![ID.to_string()], ordered: true, ..Scan::default() };
            let mut batches = sources.scan(scan).await?;
            while let Some(batch) = batches.try_next().await? {
                let ids = (0..batch.num_rows()).map(|row| id_of(&batch, row));
                ids.filter(|id| !self.changed_sources.hidden.contains(id)).for_each(|id| look(&id));
            }
        }
        for batch in &self.changed_sources.rows {
            (0..batch.num_rows()).for_each(|row| look(&id_of(batch, row)));
        }
        Ok(offenders)
    }

    /// Reads these columns of every row, as they will be, and tells where the rows are.
    async fn each(&self, columns: &[String], mut f: impl FnMut(&RecordBatch, &[Place]) -> Result<()>) -> Result<()> {
        for (at, batch) in self.changed.rows.iter().enumerate() {
            let picked = columns.iter().map(|name| batch.schema().index_of(name)).collect::<Result<Vec<_>, _>>();
            let picked = picked.and_then(|picked| batch.project(&picked));
            let picked = picked.map_err(|e| Error::internal("changed rows lack a column").caused_by(e))?;
            let places: Vec<Place> = (0..batch.num_rows()).map(|row| Place::Changed(at, row)).collect();
            f(&picked, &places)?;
        }
        let Some(table) = self.table else { return Ok(()) };
        let system = image::system_columns(self.ty.kind);
        let mut reads: Vec<String> = Vec::new();
        let mut makers = Vec::with_capacity(columns.len());
        for name in columns {
            if system.contains(&name.as_str()) {
                reads.push(name.clone());
                makers.push((Field::new(name, arrow_schema::DataType::Utf8, true), None));
            } else {
                let (property, source) = self.source(name)?;
                reads.extend(image::reads(source));
                let field = Field::new(name, logical_type(&property.ty), true);
                makers.push((field, Some(image::maker(property, source)?)));
            }
        }
        reads.push(ID.to_string());
        reads.sort();
        reads.dedup();
        let schema = Arc::new(ArrowSchema::new(makers.iter().map(|(field, _)| field.clone()).collect::<Vec<_>>()));
        let mut batches =
            table.scan(Scan { columns: reads, with_address: true, ordered: true, ..Scan::default() }).await?;
        while let Some(batch) = batches.try_next().await? {
            let batch = self.without_hidden(batch)?;
            let made = makers.iter().map(|(field, make)| match make {
                Some(make) => make(&batch),
                None => column(&batch, field.name()),
            });
            let made = RecordBatch::try_new(schema.clone(), made.collect::<Result<Vec<_>>>()?)
                .map_err(|e| Error::internal("the columns to check do not go together").caused_by(e))?;
            let addresses = column(&batch, ROW_ADDRESS)?;
            let addresses = addresses
                .as_primitive_opt::<UInt64Type>()
                .ok_or_else(|| Error::internal("row addresses are no numbers"))?;
            let places: Vec<Place> = addresses.values().iter().map(|address| Place::Stored(*address)).collect();
            f(&made, &places)?;
        }
        Ok(())
    }

    fn without_hidden(&self, batch: RecordBatch) -> Result<RecordBatch> {
        if self.changed.hidden.is_empty() {
            return Ok(batch);
        }
        let seen = (0..batch.num_rows()).map(|row| Some(!self.changed.hidden.contains(&id_of(&batch, row))));
        arrow_select::filter::filter_record_batch(&batch, &seen.collect())
            .map_err(|e| Error::internal("a batch does not filter").caused_by(e))
    }
}

/// Where a row is.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// At an address of the table.
    Stored(u64),
    /// In a batch of changed rows.
    Changed(usize, usize),
}

fn column(batch: &RecordBatch, name: &str) -> Result<ArrayRef> {
    batch.column_by_name(name).cloned().ok_or_else(|| Error::internal(format!("a scan lacks the column {name:?}")))
}

fn id_of(batch: &RecordBatch, row: usize) -> String {
    let ids = batch.column_by_name(ID).and_then(|column| column.as_string_opt::<i32>());
    ids.filter(|ids| row < ids.len()).map(|ids| ids.value(row).to_string()).unwrap_or_default()
}

/// Ids were checked when they were written.
fn without_id(batch: &RecordBatch) -> Result<RecordBatch> {
    let rest: Vec<usize> = (1..batch.num_columns()).collect();
    batch.project(&rest).map_err(|e| Error::internal("a batch does not project").caused_by(e))
}
