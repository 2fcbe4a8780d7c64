//! Building indexes over one version of a table, without committing them.
//!
//! An index belongs to the fragments it was built over. It stays right on any later version for those of them
//! that are still there unchanged; what it says of the others is left out when it is put in place, and whoever
//! asks reads those rows instead. So building takes as long as it takes, beside any number of writers.

use std::collections::{HashMap, HashSet};

use ::lance::dataset::transaction::{Operation, TransactionBuilder};
use ::lance::index::DatasetIndexExt;
use ::lance::index::optimize::plan_optimize_indices;
use ::lance::index::vector::VectorIndexParams;
use lance_index::optimize::OptimizeOptions;
use lance_index::scalar::inverted::builder::is_staged_path;
use lance_index::scalar::{BuiltinIndexType, InvertedIndexParams, ScalarIndexParams};
use lance_index::vector::hnsw::builder::HnswBuildParams;
use lance_index::vector::ivf::IvfBuildParams;
use lance_index::vector::pq::PQBuildParams;
use lance_index::vector::sq::builder::SQBuildParams;
use lance_index::{IndexParams, IndexType, is_system_index};
use lance_table::format::{Fragment, IndexMetadata};

use super::compact::Compacted;
use super::stage::Staged;
use super::{Table, error};
use crate::error::{Error, Result};
use crate::limits;
use crate::model::{IndexMethod, WantedIndex};

/// One index of a table version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexState {
    /// Its name.
    pub name: String,
    /// Parts it consists of.
    pub segments: usize,
    /// Fragments it covers.
    pub fragments: HashSet<u64>,
    /// Bytes of its files.
    pub bytes: u64,
}

/// Index files that no version refers to yet.
#[derive(Clone, Debug, Default)]
pub struct BuiltIndexes {
    new: Vec<IndexMetadata>,
    // Parts that new ones of the same name take in.
    replaced: HashSet<String>,
    // Parts that go without a successor.
    dropped: HashSet<String>,
    // The fragments they were built over, as they were.
    over: HashMap<u64, Fragment>,
}

/// The parts of every index that stand in a version, or will once staged work is in place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StandingIndexes(Vec<IndexMetadata>);

impl StandingIndexes {
    /// Whether they are the same parts.
    pub fn same_parts(&self, other: &Self) -> bool {
        let ids = |parts: &[IndexMetadata]| parts.iter().map(|p| p.uuid.to_string()).collect::<HashSet<_>>();
        ids(&self.0) == ids(&other.0)
    }
}

impl BuiltIndexes {
    /// Whether there is nothing to put in place.
    pub fn is_empty(&self) -> bool {
        self.new.is_empty() && self.dropped.is_empty()
    }

    /// Takes over what `other` has, which was built over the same version.
    pub fn absorb(&mut self, other: Self) {
        self.new.extend(other.new);
        self.replaced.extend(other.replaced);
        self.dropped.extend(other.dropped);
        self.over.extend(other.over);
    }
}

/// What building a set of indexes came to.
#[derive(Debug, Default)]
pub struct Building {
    /// What was built.
    pub built: BuiltIndexes,
    /// Names of those that could not be built, with the reason.
    pub failed: Vec<(String, String)>,
}

impl Table {
    /// The indexes of this version by name.
    ///
    /// # Errors
    /// The store's.
    pub async fn indexes(&self) -> Result<HashMap<String, IndexState>> {
        let present: HashSet<u64> = self.dataset.fragments().iter().map(|f| f.id).collect();
        let mut out: HashMap<String, IndexState> = HashMap::new();
        for part in self.dataset.load_indices().await.map_err(error::convert)?.iter() {
            let state = out.entry(part.name.clone()).or_insert_with(|| IndexState {
                name: part.name.clone(),
                segments: 0,
                fragments: HashSet::new(),
                bytes: 0,
            });
            state.segments += 1;
            state.bytes += part.files.iter().flatten().map(|f| f.size_bytes).sum::<u64>();
            let covers = part.fragment_bitmap.iter().flat_map(|bitmap| bitmap.iter().map(u64::from));
            state.fragments.extend(covers.filter(|id| present.contains(id)));
        }
        Ok(out)
    }

    /// Rows of some of the fragments.
    pub fn rows_in(&self, fragments: &HashSet<u64>) -> u64 {
        self.fragments().iter().filter(|f| fragments.contains(&f.id)).map(|f| f.live_rows).sum()
    }

    /// Builds indexes that do not exist. One that fails does not keep the others from being built.
    pub async fn build_indexes(&self, wanted: &[WantedIndex], vectors: u64) -> Building {
        let mut building = Building::default();
        for index in wanted {
            match self.build(index, vectors).await {
                Ok(metadata) => building.built.new.push(metadata),
                Err(e) => building.failed.push((index.name.clone(), e.message().to_string())),
            }
        }
        building.built.over = self.over();
        building
    }

    async fn build(&self, index: &WantedIndex, vectors: u64) -> Result<IndexMetadata> {
        let (ty, params) = parameters(index, vectors)?;
        let mut dataset = self.dataset.as_ref().clone();
        dataset
            .create_index_builder(&[index.column.as_str()], ty, params.as_ref())
            .name(index.name.clone())
            .replace(true)
            .execute_uncommitted()
            .await
            .map_err(error::convert)
    }

    /// Makes indexes that exist cover every row. One that fails does not keep the others from it.
    pub async fn extend_indexes(&self, states: &[(&IndexState, &WantedIndex)]) -> Building {
        let mut building = Building::default();
        for (state, wanted) in states {
            // Only fragments that the same parts cover are rewritten together, so parts are merged. Some gather
            // first: those of vectors, which are dear to merge, and those of words and labels, of which Lance
            // keeps what updated rows said before when it merges them, so that they are built anew instead.
            let built_anew = matches!(wanted.method, IndexMethod::Inverted | IndexMethod::LabelList);
            let gathers = built_anew || wanted.method == IndexMethod::Vector;
            let is_full = state.segments >= limits::MAX_INDEX_SEGMENTS;
            let done = if built_anew && is_full {
                self.rebuild(wanted).await
            } else {
                let merge = if gathers && !is_full { 0 } else { state.segments };
                self.extend(&OptimizeOptions::merge(merge).index_names(vec![state.name.clone()])).await
            };
            match done {
                Ok(built) => building.built.absorb(built),
                Err(e) => building.failed.push((state.name.clone(), e.message().to_string())),
            }
        }
        building.built.over = self.over();
        building
    }

    /// Builds an index anew in place of all its parts.
    async fn rebuild(&self, wanted: &WantedIndex) -> Result<BuiltIndexes> {
        let standing = self.standing_indexes().await?;
        let parts = standing.0.iter().filter(|part| part.name == wanted.name);
        Ok(BuiltIndexes {
            replaced: parts.map(|part| part.uuid.to_string()).collect(),
            new: vec![self.build(wanted, 0).await?],
            ..BuiltIndexes::default()
        })
    }

    async fn extend(&self, options: &OptimizeOptions) -> Result<BuiltIndexes> {
        let dataset = self.dataset.as_ref();
        let plan = plan_optimize_indices(dataset, options).await.map_err(error::convert)?;
        let mut parts = Vec::with_capacity(plan.tasks.len());
        for task in &plan.tasks {
            parts.extend(task.execute(dataset).await.map_err(error::convert)?);
        }
        let mut built = BuiltIndexes::default();
        for merge in &plan.merges {
            let Some(result) = merge.execute(dataset, &parts).await.map_err(error::convert)? else { continue };
            let mut segment = result.segment;
            if let Some(files) = segment.files.as_mut() {
                // An inverted index leaves what it was assembled from behind.
                files.retain(|file| !is_staged_path(&file.path));
            }
            built.replaced.extend(result.replaces.iter().map(ToString::to_string));
            built.new.push(segment);
        }
        Ok(built)
    }

    /// Leaves out the indexes of this version whose names are none of these.
    pub fn drop_indexes_but(&self, standing: &StandingIndexes, names: &HashSet<&str>) -> BuiltIndexes {
        let undeclared = standing.0.iter().filter(|part| !names.contains(part.name.as_str()));
        BuiltIndexes { dropped: undeclared.map(|part| part.uuid.to_string()).collect(), ..BuiltIndexes::default() }
    }

    fn over(&self) -> HashMap<u64, Fragment> {
        self.dataset.fragments().iter().map(|f| (f.id, f.clone())).collect()
    }

    /// The parts of this version's indexes.
    ///
    /// # Errors
    /// The store's.
    pub async fn standing_indexes(&self) -> Result<StandingIndexes> {
        let parts = self.dataset.load_indices().await.map_err(error::convert)?;
        Ok(StandingIndexes(parts.iter().filter(|part| !is_system_index(part)).cloned().collect()))
    }

    /// The transaction that puts built indexes in place on top of this version, once it also has what `arriving`
    /// brings and the indexes in `standing`, and what stands then. `None` if nothing is of use to it.
    pub fn stage_indexes(
        &self,
        built: &BuiltIndexes,
        standing: &StandingIndexes,
        arriving: Option<&Compacted>,
    ) -> Option<(Staged, StandingIndexes)> {
        let arriving = arriving.into_iter().flat_map(Compacted::new_fragments);
        let present: HashMap<u64, &Fragment> =
            self.dataset.fragments().iter().chain(arriving).map(|f| (f.id, f)).collect();
        let unchanged = |id: u64| match (present.get(&id), built.over.get(&id)) {
            (Some(now), Some(then)) => now.files == then.files && now.deletion_file == then.deletion_file,
            _ => false,
        };
        let mut new = Vec::with_capacity(built.new.len());
        for part in &built.new {
            let mut part = part.clone();
            if let Some(bitmap) = part.fragment_bitmap.as_mut() {
                let gone: Vec<u32> = bitmap.iter().filter(|id| !unchanged(u64::from(*id))).collect();
                for id in gone {
                    bitmap.remove(id);
                }
                if bitmap.is_empty() {
                    continue;
                }
            }
            part.dataset_version = self.version();
            new.push(part);
        }
        let succeeded = |part: &IndexMetadata| new.iter().any(|n| n.name == part.name);
        let goes = |part: &IndexMetadata| {
            let id = part.uuid.to_string();
            built.dropped.contains(&id) || (built.replaced.contains(&id) && succeeded(part))
        };
        let (removed, mut rest): (Vec<_>, Vec<_>) = standing.0.iter().cloned().partition(goes);
        if new.is_empty() && removed.is_empty() {
            return None;
        }
        rest.extend(new.iter().cloned());
        let operation = Operation::CreateIndex { new_indices: new, removed_indices: removed };
        let transaction = TransactionBuilder::new(self.version(), operation).build();
        Some((Staged::new(transaction, self.rows()), StandingIndexes(rest)))
    }
}

/// Lance's kind and parameters for an index over `vectors` vectors, if it is one over vectors.
fn parameters(index: &WantedIndex, vectors: u64) -> Result<(IndexType, Box<dyn IndexParams>)> {
    let scalar = |ty: BuiltinIndexType| Box::new(ScalarIndexParams::for_builtin(ty)) as Box<dyn IndexParams>;
    Ok(match index.method {
        IndexMethod::BTree => (IndexType::BTree, scalar(BuiltinIndexType::BTree)),
        IndexMethod::Bitmap => (IndexType::Bitmap, scalar(BuiltinIndexType::Bitmap)),
        IndexMethod::LabelList => (IndexType::LabelList, scalar(BuiltinIndexType::LabelList)),
        IndexMethod::Ngram => (IndexType::NGram, scalar(BuiltinIndexType::NGram)),
        IndexMethod::Inverted => (IndexType::Inverted, Box::new(InvertedIndexParams::default())),
        IndexMethod::Vector => {
            let metric = index
                .metric
                .as_str()
                .try_into()
                .map_err(|e| Error::internal("a metric without a name in Lance").caused_by(e))?;
            let (hnsw, ivf) = (HnswBuildParams::default(), IvfBuildParams::default());
            let params = if vectors <= limits::MAX_HNSW_VECTORS {
                VectorIndexParams::with_ivf_hnsw_sq_params(metric, ivf, hnsw, SQBuildParams::default())
            } else {
                VectorIndexParams::with_ivf_pq_params(metric, ivf, PQBuildParams::default())
            };
            (IndexType::Vector, Box::new(params))
        }
    })
}
