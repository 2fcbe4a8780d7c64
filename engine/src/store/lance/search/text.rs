//! The rows whose texts best answer some words.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use ::lance::deps::datafusion::prelude::Expr;
use arrow_array::{Array, RecordBatch};

use super::counts::Counts;
use super::inverted::{TextIndexes, View};
use super::words::{Counted, Words};
use super::{Found, addresses, highest_first, ids_by_address, texts};
use crate::error::{Error, Reason, Result};
use crate::model::rank::Corpus;
use crate::store::lance::Table;

/// What to look for.
#[derive(Clone, Debug)]
pub struct TextScan {
    /// The columns to look in, each once. A row's score is the sum of its scores in them.
    pub columns: Vec<TextColumn>,
    /// The words, as somebody wrote them.
    pub query: String,
    /// Only rows for which this is true.
    pub filter: Option<Expr>,
    /// At most this many rows.
    pub limit: usize,
}

/// A column of texts.
#[derive(Clone, Debug)]
pub struct TextColumn {
    /// Its name.
    pub name: String,
    /// The name of its text index, if it should have one.
    pub index: Option<String>,
}

type Scores = HashMap<u64, f64, BuildHasherDefault<rustc_hash::FxHasher>>;

/// What the score of a text in one column depends on besides the text.
struct Weights {
    corpus: Corpus,
    // Texts that have each word.
    holding: Vec<u64>,
}

impl Weights {
    fn of(counts: &Counts, words: usize) -> Self {
        let mut holding = vec![0; words];
        for hit in &counts.hits {
            if let Some(texts) = holding.get_mut(hit.word) {
                *texts += 1;
            }
        }
        Self { corpus: counts.corpus, holding }
    }

    fn score(&self, word: usize, count: u32, length: u32) -> f64 {
        self.corpus.score(self.holding.get(word).copied().unwrap_or(0), count, length)
    }

    /// Adds what a text scores, in the order in which hits are added.
    fn add(&self, counted: &Counted, score: &mut f64) {
        for (word, count) in counted.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            *score += self.score(word, *count, counted.length);
        }
    }
}

impl Table {
    /// The rows that have any of the words in any of the columns, highest score first, rows of one score by id. Null
    /// texts are never among them. The counts that scores depend on are over all rows, whether or not the filter
    /// holds for them.
    ///
    /// # Errors
    /// [`Reason::LimitExceeded`] for words that are too many or too frequent; a column or filter that does not fit, or
    /// the store's.
    pub async fn text(&self, indexes: &TextIndexes, scan: &TextScan) -> Result<Vec<Found>> {
        let words = Words::of(&scan.query)?;
        if words.all().is_empty() || scan.limit == 0 {
            return Ok(Vec::new());
        }
        if let Some(found) = self.ranked(Some(indexes), scan, &words).await? {
            return Ok(found);
        }
        for name in scan.columns.iter().filter_map(|column| column.index.as_ref()) {
            let table = &self.at.location;
            tracing::warn!(%table, index = %name, "a text index disagrees with the texts; it is not used");
            indexes.distrust(self, name).await;
        }
        let found = self.ranked(None, scan, &words).await?;
        found.ok_or_else(|| Error::internal("texts disagree with themselves"))
    }

    /// `None` if an index says of a row that was found what the row itself does not.
    async fn ranked(
        &self,
        indexes: Option<&TextIndexes>,
        scan: &TextScan,
        words: &Words,
    ) -> Result<Option<Vec<Found>>> {
        let mut scores = Scores::default();
        let mut weights = Vec::with_capacity(scan.columns.len());
        let mut indexed = false;
        for column in &scan.columns {
            let (counts, by_index) = self.counted(indexes, column, words).await?;
            indexed |= by_index;
            let number = words.all().len();
            let work = tokio::task::spawn_blocking(move || tally(&counts, number, scores));
            let (weight, sum) = work.await.map_err(|e| Error::internal("scoring texts broke off").caused_by(e))?;
            weights.push(weight);
            scores = sum;
        }
        if let Some(filter) = scan.filter.as_ref().filter(|_| !scores.is_empty()) {
            let allowed = self.addresses_where(filter.clone()).await?;
            scores.retain(|address, _| allowed.binary_search(address).is_ok());
        }
        let found = self.highest(&scores, scan.limit).await?;
        if indexed && !self.confirmed(&found, &scores, scan, words, &weights).await? {
            return Ok(None);
        }
        Ok(Some(found))
    }

    /// Counts the words in one column, and tells whether an index helped.
    async fn counted(
        &self,
        indexes: Option<&TextIndexes>,
        column: &TextColumn,
        words: &Words,
    ) -> Result<(Counts, bool)> {
        let known = match (indexes, &column.index) {
            (Some(indexes), Some(name)) => self.known(indexes, name, words).await?,
            _ => None,
        };
        let Some((view, mut counts)) = known else {
            return Ok((self.count_words(&column.name, None, words).await?, false));
        };
        let rest = self.fragments_but(&view.covered);
        if !rest.is_empty() {
            counts.absorb(self.count_words(&column.name, Some(rest), words).await?)?;
        }
        counts.absorb(self.count_words_at(&column.name, &view.doubtful, words).await?)?;
        Ok((counts, true))
    }

    /// What an index has counted already.
    async fn known(&self, indexes: &TextIndexes, name: &str, words: &Words) -> Result<Option<(Arc<View>, Counts)>> {
        let asked = async {
            let Some(view) = indexes.view(self, name).await? else { return Ok(None) };
            let counts = view.count(words).await?;
            Ok::<_, Error>(Some((view, counts)))
        };
        match asked.await {
            Err(e) if e.reason() != Reason::LimitExceeded => {
                tracing::warn!(index = %name, error = %e, "an index cannot be used; the texts are read instead");
                Ok(None)
            }
            other => other,
        }
    }

    /// The rows of the highest scores, in order.
    async fn highest(&self, scores: &Scores, limit: usize) -> Result<Vec<Found>> {
        let mut rows: Vec<(f32, u64)> = scores.iter().map(|(address, score)| (*score as f32, *address)).collect();
        if rows.len() > limit {
            let (_, (least, _), _) = rows.select_nth_unstable_by(limit - 1, |a, b| b.0.total_cmp(&a.0));
            // Which of the rows with the least score belong to it, their ids decide.
            let least = *least;
            rows.retain(|(score, _)| *score >= least);
        }
        let addresses: Vec<u64> = rows.iter().map(|(_, address)| *address).collect();
        let mut ids = ids_by_address(&self.rows_at(&addresses, &[]).await?)?;
        let mut found = Vec::with_capacity(rows.len());
        for (value, address) in rows {
            let id = ids.remove(&address).ok_or_else(|| Error::internal("a row vanished while it was ranked"))?;
            found.push(Found { id, address, value });
        }
        found.sort_unstable_by(highest_first);
        found.truncate(limit);
        Ok(found)
    }

    /// Whether the texts of the rows that were found are as the counts say.
    async fn confirmed(
        &self,
        found: &[Found],
        scores: &Scores,
        scan: &TextScan,
        words: &Words,
        weights: &[Weights],
    ) -> Result<bool> {
        let rows: Vec<u64> = found.iter().map(|row| row.address).collect();
        let columns: Vec<&str> = scan.columns.iter().map(|column| column.name.as_str()).collect();
        let mut words = words.clone();
        for batch in self.rows_at(&rows, &columns).await? {
            let addresses = addresses(&batch)?;
            for (row, address) in addresses.values().iter().enumerate() {
                let score = score_of(&batch, row, &columns, weights, &mut words)?;
                if scores.get(address) != Some(&score) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// The score of one row, from its texts.
fn score_of(batch: &RecordBatch, row: usize, columns: &[&str], weights: &[Weights], words: &mut Words) -> Result<f64> {
    let mut score = 0.0;
    for (column, weights) in columns.iter().zip(weights) {
        let texts = texts(batch, column)?;
        if texts.is_valid(row) {
            weights.add(&words.count(texts.value(row))?, &mut score);
        }
    }
    Ok(score)
}

/// Adds what every text of a column scores.
fn tally(counts: &Counts, words: usize, mut scores: Scores) -> (Weights, Scores) {
    let weights = Weights::of(counts, words);
    for hit in &counts.hits {
        *scores.entry(hit.address).or_insert(0.0) += weights.score(hit.word, hit.count, hit.length);
    }
    (weights, scores)
}
