//! Text indexes as they are stored: for every word the texts that hold it, how often, and how long they are.
//!
//! They are read directly, since what Lance's own search makes of them is a ranking over all that was ever indexed:
//! counts of rows that are gone or have changed since stay in them. Here a text counts if its row is, in the version
//! that is read, in a fragment that the part of the index covers; a row that several texts claim to be of is looked
//! at itself. What these files hold is a matter of Lance's version; files of a kind that is not known here are not
//! used.

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::sync::Arc;

use ::lance::Dataset;
use ::lance::dataset::index::LanceIndexStoreExt;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, UInt32Type, UInt64Type};
use lance_index::scalar::inverted::{
    DOCS_FILE, INVERT_LIST_FILE, LENGTH_COL, MAX_SCORE_COL, METADATA_FILE, NUM_TOKEN_COL, POSTING_BLOCK_SIZE_KEY,
    POSTING_COL, POSTING_TAIL_CODEC_FIXED32_V1, POSTING_TAIL_CODEC_KEY, POSTING_TAIL_CODEC_VARINT_DELTA_V1,
    PostingList, PostingTailCodec, TOKEN_SET_FORMAT_KEY, TOKENS_FILE, TokenSet, TokenSetFormat,
};
use lance_index::scalar::lance_format::LanceIndexStore;
use lance_index::scalar::{IndexReader, IndexStore};
use lance_table::format::IndexMetadata;
use moka::future::Cache;

use super::counts::{Counts, Hit};
use super::words::{Words, means_the_same};
use super::{covered_by, fragment_of};
use crate::error::{Error, Result};
use crate::limits;
use crate::model::rank::Corpus;
use crate::store::lance::scan::ROW_ID;
use crate::store::lance::{Table, TableAt, error};

/// The address of a text whose row is gone, or that is not to be trusted.
const GONE: u64 = u64::MAX;

/// What an entry of the cache takes at least.
const ENTRY_BYTES: usize = 256;

/// Documents in a block of postings, unless the file says otherwise.
const USUAL_BLOCK: usize = 128;

/// What is read of the documents.
const OF_DOCUMENTS: &[&str] = &[ROW_ID, NUM_TOKEN_COL];

/// What is read of the list of a word.
const OF_LIST: &[&str] = &[POSTING_COL, MAX_SCORE_COL, LENGTH_COL];

/// What was read of the text indexes of one graph. Cheap to clone.
#[derive(Clone)]
pub struct TextIndexes {
    // By the id of the part of an index; its files never change.
    files: Cache<String, Arc<Files>>,
    // By table state and name. `None`: not to be used.
    views: Cache<(TableAt, String), Option<Arc<View>>>,
}

impl fmt::Debug for TextIndexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextIndexes").finish_non_exhaustive()
    }
}

/// The files of one part of an index.
struct Files {
    partitions: Vec<Partition>,
}

/// What is in one set of files.
struct Partition {
    words: TokenSet,
    postings: Arc<dyn IndexReader>,
    codec: PostingTailCodec,
    block: usize,
    // By document: the stable id of its row, and its words.
    rows: Vec<u64>,
    lengths: Vec<u32>,
}

/// What an index says of one version of a table.
#[derive(Default)]
pub(super) struct View {
    /// The fragments it speaks for.
    pub covered: HashSet<u64>,
    /// Addresses of rows in them that have to be looked at.
    pub doubtful: Vec<u64>,
    corpus: Corpus,
    parts: Vec<(Arc<Files>, Vec<Vec<u64>>)>,
}

impl Default for TextIndexes {
    fn default() -> Self {
        let weight = |bytes: usize| u32::try_from(bytes + ENTRY_BYTES).unwrap_or(u32::MAX);
        let files = Cache::builder()
            .weigher(move |_: &String, files: &Arc<Files>| weight(files.bytes()))
            .max_capacity(limits::TEXT_INDEX_CACHE_BYTES)
            .build();
        let views = Cache::builder()
            .weigher(move |_: &(TableAt, String), view: &Option<Arc<View>>| {
                weight(view.as_ref().map_or(0, |view| view.bytes()))
            })
            .max_capacity(limits::TEXT_INDEX_CACHE_BYTES)
            .build();
        Self { files, views }
    }
}

impl TextIndexes {
    /// What the index of this name says of a table; `None` if there is none that can be used.
    pub(super) async fn view(&self, table: &Table, name: &str) -> Result<Option<Arc<View>>> {
        let key = (table.at().clone(), name.to_string());
        if let Some(view) = self.views.get(&key).await {
            return Ok(view);
        }
        let view = self.look(table, name).await?.map(Arc::new);
        self.views.insert(key, view.clone()).await;
        Ok(view)
    }

    /// Leaves an index of a table aside from now on.
    pub(super) async fn distrust(&self, table: &Table, name: &str) {
        self.views.insert((table.at().clone(), name.to_string()), None).await;
    }

    async fn look(&self, table: &Table, name: &str) -> Result<Option<View>> {
        let (parts, covered) = table.index_parts(name).await?;
        let mut view = View::default();
        for part in &parts {
            let Some(files) = self.files(&table.dataset, part).await? else {
                tracing::debug!(index = %name, part = %part.uuid, "a text index is of another kind; it is not used");
                continue;
            };
            let covers = covered_by(part, &covered);
            let mut here = Vec::with_capacity(files.partitions.len());
            for partition in &files.partitions {
                let found = table.addresses_of(&partition.rows).await?.into_iter();
                let mine = found.map(|a| a.filter(|a| covers.contains(&fragment_of(*a))).unwrap_or(GONE));
                here.push(mine.collect());
            }
            view.covered.extend(covers);
            view.parts.push((files, here));
        }
        if view.parts.is_empty() {
            return Ok(None);
        }
        view.settle();
        Ok(Some(view))
    }

    async fn files(&self, dataset: &Dataset, part: &IndexMetadata) -> Result<Option<Arc<Files>>> {
        let key = part.uuid.to_string();
        if let Some(files) = self.files.get(&key).await {
            return Ok(Some(files));
        }
        let Some(files) = Files::read(dataset, part).await?.map(Arc::new) else { return Ok(None) };
        self.files.insert(key, files.clone()).await;
        Ok(Some(files))
    }
}

impl Files {
    /// `None` for files of a kind that is not known here, or of other words.
    async fn read(dataset: &Dataset, part: &IndexMetadata) -> Result<Option<Self>> {
        let store = LanceIndexStore::from_dataset_for_existing(dataset, part).await.map_err(error::convert)?;
        let about = store.open_index_file(METADATA_FILE).await.map_err(error::convert)?;
        let said = &about.schema().metadata;
        let (Some(parameters), Some(partitions)) = (said.get("params"), said.get("partitions")) else {
            return Ok(None);
        };
        let ids = serde_json::from_str::<Vec<u64>>(partitions);
        let format = said.get(TOKEN_SET_FORMAT_KEY).map_or(Ok(TokenSetFormat::Arrow), |name| name.parse());
        let (true, Ok(ids), Ok(format)) = (means_the_same(parameters), ids, format) else {
            return Ok(None);
        };
        let mut partitions = Vec::with_capacity(ids.len());
        for id in ids {
            match Partition::read(&store, id, format).await? {
                Some(partition) => partitions.push(partition),
                None => return Ok(None),
            }
        }
        Ok(Some(Self { partitions }))
    }

    fn bytes(&self) -> usize {
        self.partitions.iter().map(|p| 24 * p.words.len() + 12 * p.rows.len()).sum()
    }
}

impl Partition {
    async fn read(store: &LanceIndexStore, id: u64, format: TokenSetFormat) -> Result<Option<Self>> {
        let open = |file: &str| {
            let path = format!("part_{id}_{file}");
            async move { store.open_index_file(&path).await.map_err(error::convert) }
        };
        let postings = open(INVERT_LIST_FILE).await?;
        let said = &postings.schema().metadata;
        let codec = match said.get(POSTING_TAIL_CODEC_KEY).map(String::as_str) {
            None | Some(POSTING_TAIL_CODEC_FIXED32_V1) => PostingTailCodec::Fixed32,
            Some(POSTING_TAIL_CODEC_VARINT_DELTA_V1) => PostingTailCodec::VarintDelta,
            Some(_) => return Ok(None),
        };
        let block = said.get(POSTING_BLOCK_SIZE_KEY).map_or(Ok(USUAL_BLOCK), |size| size.parse());
        let (Ok(block), true) = (block, postings.schema().field(POSTING_COL).is_some()) else {
            return Ok(None);
        };
        let words = TokenSet::load(open(TOKENS_FILE).await?, format).await.map_err(error::convert)?;
        let documents = open(DOCS_FILE).await?;
        let all = 0..documents.num_rows();
        let documents = documents.read_range(all, Some(OF_DOCUMENTS)).await.map_err(error::convert)?;
        let rows = documents.column_by_name(ROW_ID).and_then(|c| c.as_primitive_opt::<UInt64Type>());
        let lengths = documents.column_by_name(NUM_TOKEN_COL).and_then(|c| c.as_primitive_opt::<UInt32Type>());
        let (Some(rows), Some(lengths)) = (rows, lengths) else { return Ok(None) };
        let (rows, lengths) = (rows.values().to_vec(), lengths.values().to_vec());
        Ok(Some(Self { words, postings, codec, block, rows, lengths }))
    }

    /// The documents that hold a word, with how often.
    async fn postings(&self, word: &str) -> Result<Vec<(usize, u32)>> {
        let Some(row) = self.words.get(word).and_then(|id| usize::try_from(id).ok()) else {
            return Ok(Vec::new());
        };
        let batch = self.postings.read_range(row..row + 1, Some(OF_LIST)).await.map_err(error::convert)?;
        let wrong = || Error::internal("a text index has no list where it says that there is one");
        let score = batch.column_by_name(MAX_SCORE_COL).and_then(|c| c.as_primitive_opt::<Float32Type>());
        let length = batch.column_by_name(LENGTH_COL).and_then(|c| c.as_primitive_opt::<UInt32Type>());
        let (Some(score), Some(length), 1) = (score, length, batch.num_rows()) else { return Err(wrong()) };
        let (score, length) = (score.value(0), length.value(0));
        if length == 0 {
            return Ok(Vec::new());
        }
        let list = PostingList::from_batch_with_tail_codec(&batch, Some(score), Some(length), self.codec, self.block);
        let list = list.map_err(error::convert)?;
        let found: Vec<(usize, u32)> =
            list.iter().filter_map(|(document, count, _)| Some((usize::try_from(document).ok()?, count))).collect();
        if found.len() != length as usize || found.iter().any(|(document, _)| *document >= self.rows.len()) {
            return Err(wrong());
        }
        Ok(found)
    }
}

impl View {
    /// Finds rows that several texts claim to be of, and counts the texts of all others.
    fn settle(&mut self) {
        let live = self.parts.iter().flat_map(|(_, here)| here.iter().flatten()).filter(|a| **a != GONE);
        let mut live: Vec<u64> = live.copied().collect();
        live.sort_unstable();
        let twice: BTreeSet<u64> = live.windows(2).filter(|w| w[0] == w[1]).map(|w| w[0]).collect();
        for (files, here) in &mut self.parts {
            for (partition, addresses) in files.partitions.iter().zip(here) {
                for (address, length) in addresses.iter_mut().zip(&partition.lengths) {
                    if twice.contains(address) || *length == 0 {
                        *address = GONE;
                    }
                    if *address != GONE {
                        self.corpus = self.corpus.and(Corpus { texts: 1, words: u64::from(*length) });
                    }
                }
            }
        }
        self.doubtful = twice.into_iter().collect();
    }

    /// Counts words in the texts that the index can speak for.
    pub(super) async fn count(&self, words: &Words) -> Result<Counts> {
        let mut counts = Counts { corpus: self.corpus, hits: Vec::new() };
        for (word, text) in words.all().iter().enumerate() {
            for (files, here) in &self.parts {
                for (partition, addresses) in files.partitions.iter().zip(here) {
                    for (document, count) in partition.postings(text).await? {
                        let known = addresses.get(document).zip(partition.lengths.get(document));
                        if let Some((address, length)) = known.filter(|(address, _)| **address != GONE) {
                            counts.hits.push(Hit { address: *address, word, count, length: *length });
                        }
                    }
                    counts.ensure_bounded()?;
                }
            }
        }
        Ok(counts)
    }

    fn bytes(&self) -> usize {
        let parts = self.parts.iter();
        parts.map(|(files, here)| files.bytes() + here.iter().map(|addresses| 8 * addresses.len()).sum::<usize>()).sum()
    }
}
