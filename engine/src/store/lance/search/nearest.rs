//! The rows whose vectors are nearest to one.
//!
//! Where there is an index, it proposes more rows than are wanted from what it covers; their vectors are read and
//! compared exactly, as are those of all rows that it does not cover. Filters hold before rows are chosen.

use std::collections::HashSet;
use std::sync::Arc;

use ::lance::deps::datafusion::prelude::Expr;
use ::lance::index::DatasetIndexInternalExt;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, UInt64Type};
use arrow_array::{Array, Float32Array, RecordBatch};
use futures::{StreamExt, TryStreamExt};
use lance_index::IndexType;
use lance_index::metrics::NoOpMetricsCollector;

use super::{Found, addresses, fragment_of, keep_first, nearest_first, texts};
use crate::error::{Error, Result};
use crate::format::arrow::ID;
use crate::limits;
use crate::model::Metric;
use crate::model::rank::Measure;
use crate::store::lance::scan::{ROW_ID, Scan, start};
use crate::store::lance::{Table, error};

/// What to look for.
#[derive(Clone, Debug)]
pub struct NearestScan {
    /// The column, of vectors as long as the query.
    pub column: String,
    /// The vector they are compared with.
    pub query: Vec<f32>,
    /// How they are compared.
    pub metric: Metric,
    /// Only rows for which this is true.
    pub filter: Option<Expr>,
    /// At most this many rows.
    pub limit: usize,
    /// The name of the column's index, if it should have one.
    pub index: Option<String>,
}

/// An index that fits the question.
struct Usable {
    covered: HashSet<u64>,
    candidates: usize,
    probes: usize,
}

impl Table {
    /// The nearest rows, nearest first, rows as near by id. Null vectors are never among them.
    ///
    /// # Errors
    /// A column or filter that does not fit, or the store's.
    pub async fn nearest(&self, scan: NearestScan) -> Result<Vec<Found>> {
        let measure = Arc::new(Measure::new(scan.metric, scan.query.clone()));
        if scan.limit == 0 || !measure.is_defined() {
            return Ok(Vec::new());
        }
        let (mut best, rest) = match self.proposed(&scan, &measure).await? {
            Some((best, covered)) => (best, Some(self.fragments_but(&covered))),
            None => (Vec::new(), None),
        };
        if rest.as_ref().is_none_or(|fragments| !fragments.is_empty()) {
            best.extend(self.compared(&scan, &measure, rest).await?);
        }
        keep_first(&mut best, scan.limit, nearest_first);
        best.sort_unstable_by(nearest_first);
        Ok(best)
    }

    /// What an index has to offer from the fragments it covers; `None` if there is none that can be used.
    async fn proposed(&self, scan: &NearestScan, measure: &Measure) -> Result<Option<(Vec<Found>, HashSet<u64>)>> {
        let Some(name) = &scan.index else { return Ok(None) };
        let proposal = async {
            let Some(usable) = self.usable(name, scan).await? else { return Ok(None) };
            let row_ids = self.propose(scan, &usable).await?;
            Ok::<_, Error>(Some((usable.covered, row_ids)))
        };
        let (covered, row_ids) = match proposal.await {
            Ok(Some(proposal)) => proposal,
            Ok(None) => return Ok(None),
            Err(e) => {
                tracing::warn!(index = %name, error = %e, "an index cannot be used; the rows are read instead");
                return Ok(None);
            }
        };
        // What was proposed may be about a row as it was; it is compared as it is, and where it is.
        let here = self.addresses_of(&row_ids).await?.into_iter().flatten();
        let here: HashSet<u64> = here.filter(|address| covered.contains(&fragment_of(*address))).collect();
        let here: Vec<u64> = here.into_iter().collect();
        let mut best = Vec::with_capacity(here.len());
        for batch in self.rows_at(&here, &[&scan.column]).await? {
            best.extend(nearest_of(&batch, &scan.column, measure, scan.limit)?);
        }
        Ok(Some((best, covered)))
    }

    /// Whether the index compares as the question does, and how to ask it.
    async fn usable(&self, name: &str, scan: &NearestScan) -> Result<Option<Usable>> {
        let (parts, covered) = self.index_parts(name).await?;
        let Some(part) = parts.first() else { return Ok(None) };
        let rows = usize::try_from(self.rows_in(&covered)).unwrap_or(usize::MAX);
        let opened = self.dataset.open_vector_index(&scan.column, &part.uuid, &NoOpMetricsCollector).await;
        let opened = opened.map_err(error::convert)?;
        if opened.metric_type().to_string() != scan.metric.as_str() {
            return Ok(None);
        }
        let factor = match opened.index_type() {
            IndexType::IvfHnswSq | IndexType::IvfHnswFlat | IndexType::IvfFlat | IndexType::IvfSq => {
                limits::VECTOR_CANDIDATES
            }
            _ => limits::COMPRESSED_VECTOR_CANDIDATES,
        };
        let candidates = scan.limit.saturating_mul(factor).max(limits::MIN_VECTOR_CANDIDATES);
        if candidates >= rows / 2 {
            // Reading everything is less work.
            return Ok(None);
        }
        let probes = opened.total_partitions().div_ceil(limits::VECTOR_PROBE_SHARE).max(limits::MIN_VECTOR_PROBES);
        Ok(Some(Usable { covered, candidates, probes }))
    }

    /// Stable ids of the rows an index takes for the nearest in what it covers.
    async fn propose(&self, scan: &NearestScan, usable: &Usable) -> Result<Vec<u64>> {
        let metric = scan.metric.as_str().try_into();
        let metric = metric.map_err(|e| Error::internal("a metric without a name in Lance").caused_by(e))?;
        let fragments = self.dataset.fragments().iter().filter(|f| usable.covered.contains(&f.id)).cloned().collect();
        let query = Float32Array::from(scan.query.clone());
        let mut scanner = self.dataset.scan();
        scanner.project(&[ROW_ID]).map_err(error::convert)?;
        scanner.prefilter(true).with_fragments(fragments).disable_scoring_autoprojection();
        if let Some(filter) = &scan.filter {
            scanner.filter_expr(filter.clone());
        }
        scanner
            .nearest(&scan.column, &query, usable.candidates)
            .map_err(error::convert)?
            .distance_metric(metric)
            .minimum_nprobes(usable.probes)
            .ef(usable.candidates.max(limits::VECTOR_SEARCH_BREADTH));
        let mut batches = start(&scanner).await?;
        let mut out = Vec::with_capacity(usable.candidates);
        while let Some(batch) = batches.try_next().await? {
            let ids = batch.column_by_name(ROW_ID).and_then(|c| c.as_primitive_opt::<UInt64Type>());
            let ids = ids.ok_or_else(|| Error::internal("a search returned no row ids"))?;
            out.extend(ids.iter().flatten());
        }
        Ok(out)
    }

    /// The nearest rows of some fragments, all of them if none are named, by reading them.
    async fn compared(
        &self,
        scan: &NearestScan,
        measure: &Arc<Measure>,
        fragments: Option<Vec<u64>>,
    ) -> Result<Vec<Found>> {
        let read = Scan {
            columns: vec![ID.to_string(), scan.column.clone()],
            filter: scan.filter.clone(),
            fragments,
            with_address: true,
            ..Scan::default()
        };
        let (column, limit) = (scan.column.clone(), scan.limit);
        let mut ranked = self
            .scan(read)
            .await?
            .map(|batch| {
                let (column, measure) = (column.clone(), measure.clone());
                async move {
                    let batch = batch?;
                    let work = tokio::task::spawn_blocking(move || nearest_of(&batch, &column, &measure, limit));
                    work.await.map_err(|e| Error::internal("comparing vectors broke off").caused_by(e))?
                }
            })
            .buffer_unordered(limits::SEARCH_TASKS);
        let mut best = Vec::new();
        while let Some(found) = ranked.try_next().await? {
            best.extend(found);
            keep_first(&mut best, limit, nearest_first);
        }
        Ok(best)
    }
}

/// The nearest rows of a batch, in no order.
fn nearest_of(batch: &RecordBatch, column: &str, measure: &Measure, limit: usize) -> Result<Vec<Found>> {
    let wrong = || Error::internal(format!("a scan returned no vectors in {column}"));
    let vectors = batch.column_by_name(column).and_then(|c| c.as_fixed_size_list_opt()).ok_or_else(wrong)?;
    let numbers = vectors.values().as_primitive_opt::<Float32Type>().ok_or_else(wrong)?.values();
    let length = usize::try_from(vectors.value_length()).map_err(|_| wrong())?;
    let mut near: Vec<(f32, usize)> = Vec::with_capacity(batch.num_rows());
    for row in (0..batch.num_rows()).filter(|row| vectors.is_valid(*row)) {
        let vector = numbers.get(row * length..(row + 1) * length).ok_or_else(wrong)?;
        near.extend(measure.distance(vector).map(|distance| (distance, row)));
    }
    let (ids, addresses) = (texts(batch, ID)?, addresses(batch)?);
    let id = |row: &usize| ids.value(*row);
    if near.len() > limit && limit > 0 {
        near.select_nth_unstable_by(limit - 1, |(a, i), (b, j)| a.total_cmp(b).then_with(|| id(i).cmp(id(j))));
        near.truncate(limit);
    }
    let found = |(value, row): (f32, usize)| Found { id: id(&row).to_string(), address: addresses.value(row), value };
    Ok(near.into_iter().map(found).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{FixedSizeListArray, StringArray, UInt64Array};
    use arrow_schema::{DataType, Field, Schema};

    use crate::store::lance::scan::ROW_ADDRESS;

    #[test]
    fn a_batch_gives_its_nearest_and_leaves_nulls_and_zeros_out() {
        let rows = [Some([1.0, 0.0]), None, Some([0.0, 0.0]), Some([2.0, 0.0]), Some([0.0, 1.0])];
        let vectors = rows.iter().map(|row| row.map(|[a, b]| vec![Some(a), Some(b)]));
        let vectors = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(vectors, 2);
        let schema = Schema::new(vec![
            Field::new(ID, DataType::Utf8, false),
            Field::new("face", vectors.data_type().clone(), true),
            Field::new(ROW_ADDRESS, DataType::UInt64, true),
        ]);
        let batch = RecordBatch::try_new(
            Arc::new(schema),
            vec![
                Arc::new(StringArray::from(vec!["e", "d", "c", "b", "a"])),
                Arc::new(vectors),
                Arc::new(UInt64Array::from(vec![10, 11, 12, 13, 14])),
            ],
        )
        .unwrap();
        let measure = Measure::new(Metric::Cosine, vec![5.0, 0.0]);
        let near = |batch: &RecordBatch, limit| {
            let mut rows = nearest_of(batch, "face", &measure, limit).unwrap();
            rows.sort_unstable_by(nearest_first);
            rows.into_iter().map(|r| (r.id, r.address, r.value)).collect::<Vec<_>>()
        };
        let row = |id: &str, address, value| (id.to_string(), address, value);
        assert_eq!(near(&batch, 9), [row("b", 13, 0.0), row("e", 10, 0.0), row("a", 14, 1.0)]);
        assert_eq!(near(&batch, 1), [row("b", 13, 0.0)]);
        assert_eq!(near(&batch.slice(3, 2), 9), [row("b", 13, 0.0), row("a", 14, 1.0)]);
    }
}
