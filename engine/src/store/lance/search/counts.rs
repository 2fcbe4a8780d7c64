//! Counting words by reading texts.

use arrow_array::{Array, RecordBatch};
use futures::{StreamExt, TryStreamExt};

use super::words::Words;
use super::{addresses, texts};
use crate::error::{Error, Reason, Result};
use crate::limits;
use crate::model::rank::Corpus;
use crate::store::lance::Table;
use crate::store::lance::scan::Scan;

/// A word of the question in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    /// The row.
    pub address: u64,
    /// The word's place in the question.
    pub word: usize,
    /// How often it is there.
    pub count: u32,
    /// Words of the text in all.
    pub length: u32,
}

/// What was counted in several texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// The texts in all.
    pub corpus: Corpus,
    /// Every word of the question in every text; those of one text in the question's order.
    pub hits: Vec<Hit>,
}

impl Counts {
    /// Adds what was counted in other texts.
    ///
    /// # Errors
    /// [`Reason::LimitExceeded`].
    pub fn absorb(&mut self, other: Self) -> Result<()> {
        self.corpus = self.corpus.and(other.corpus);
        self.hits.extend(other.hits);
        self.ensure_bounded()
    }

    /// # Errors
    /// [`Reason::LimitExceeded`] for more than is kept in memory.
    pub fn ensure_bounded(&self) -> Result<()> {
        if self.hits.len() <= limits::MAX_WORD_HITS {
            return Ok(());
        }
        let limit = limits::MAX_WORD_HITS;
        let what = format!(
            "the words of the search are in more than {limit} places; leave the most frequent ones out, or search \
             fewer properties"
        );
        Err(Error::new(Reason::LimitExceeded, what).with("limit", limit))
    }
}

impl Table {
    /// Counts words in the texts of some fragments, of all if none are named.
    pub(super) async fn count_words(&self, column: &str, fragments: Option<Vec<u64>>, words: &Words) -> Result<Counts> {
        let read = Scan { columns: vec![column.to_string()], fragments, with_address: true, ..Scan::default() };
        let mut counted = self
            .scan(read)
            .await?
            .map(|batch| {
                let (column, mut words) = (column.to_string(), words.clone());
                async move {
                    let batch = batch?;
                    let work = tokio::task::spawn_blocking(move || count_in(&batch, &column, &mut words));
                    work.await.map_err(|e| Error::internal("counting words broke off").caused_by(e))?
                }
            })
            .buffer_unordered(limits::SEARCH_TASKS);
        let mut counts = Counts::default();
        while let Some(more) = counted.try_next().await? {
            counts.absorb(more)?;
        }
        Ok(counts)
    }

    /// Counts words in the texts of single rows.
    pub(super) async fn count_words_at(&self, column: &str, rows: &[u64], words: &Words) -> Result<Counts> {
        let mut words = words.clone();
        let mut counts = Counts::default();
        for batch in self.rows_at(rows, &[column]).await? {
            counts.absorb(count_in(&batch, column, &mut words)?)?;
        }
        Ok(counts)
    }
}

fn count_in(batch: &RecordBatch, column: &str, words: &mut Words) -> Result<Counts> {
    let (texts, addresses) = (texts(batch, column)?, addresses(batch)?);
    let mut counts = Counts::default();
    for row in (0..batch.num_rows()).filter(|row| texts.is_valid(*row)) {
        let counted = words.count(texts.value(row))?;
        if counted.length == 0 {
            continue;
        }
        counts.corpus = counts.corpus.and(Corpus { texts: 1, words: u64::from(counted.length) });
        let (address, length) = (addresses.value(row), counted.length);
        let there = counted.counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
        counts.hits.extend(there.map(|(word, count)| Hit { address, word, count, length }));
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use arrow_array::{StringArray, UInt64Array};
    use arrow_schema::{DataType, Field, Schema};

    use crate::store::lance::scan::ROW_ADDRESS;

    #[test]
    fn texts_without_words_are_no_texts() {
        let schema =
            Schema::new(vec![Field::new("bio", DataType::Utf8, true), Field::new(ROW_ADDRESS, DataType::UInt64, true)]);
        let texts = vec![Some("red cat, red dog"), None, Some(""), Some("the !"), Some("blue cat")];
        let batch = RecordBatch::try_new(
            Arc::new(schema),
            vec![Arc::new(StringArray::from(texts)), Arc::new(UInt64Array::from(vec![5, 6, 7, 8, 9]))],
        )
        .unwrap();
        let mut words = Words::of("cat red").unwrap();
        let counts = count_in(&batch, "bio", &mut words).unwrap();
        assert_eq!(counts.corpus, Corpus { texts: 2, words: 6 });
        let hit = |address, word, count, length| Hit { address, word, count, length };
        assert_eq!(counts.hits, [hit(5, 0, 1, 4), hit(5, 1, 2, 4), hit(9, 0, 1, 2)]);
        assert!(count_in(&batch, "nope", &mut words).is_err());
    }
}
