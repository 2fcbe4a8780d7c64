//! Rankings: how far two vectors are apart, how well a text answers words, and how two rankings become one.
//!
//! Whoever finds rows, by reading all of them or through an index, ranks them with these functions. They take whole
//! numbers and the values themselves and compute with 64 bits in a fixed order, so a ranking does not depend on how
//! its rows were found.

use super::index::Metric;

/// How soon repeating a word stops to count, as BM25 names it.
const K1: f64 = 1.2;

/// How much of a text's length counts, as BM25 names it.
const B: f64 = 0.75;

/// What reciprocal rank fusion adds to every rank, so that the very first ones do not outweigh the rest.
const FUSION_RANK: f64 = 60.0;

/// Sums kept side by side, so that the compiler can add several numbers at once.
const LANES: usize = 8;

/// A vector that others are compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    metric: Metric,
    query: Vec<f32>,
    square: f64,
}

impl Measure {
    /// Compares with `query`.
    pub fn new(metric: Metric, query: Vec<f32>) -> Self {
        let square = dot(&query, &query);
        Self { metric, query, square }
    }

    /// Whether anything can be compared with it: by their angle, vectors of length zero cannot.
    pub fn is_defined(&self) -> bool {
        self.metric != Metric::Cosine || self.square > 0.0
    }

    /// The distance of a vector of the same length; smaller is nearer. `None` if it is not defined: the angle of a
    /// vector of length zero.
    ///
    /// By [`Metric::Cosine`] one minus the cosine of the angle, by [`Metric::L2`] the square of the Euclidean
    /// distance, by [`Metric::Dot`] one minus the inner product.
    pub fn distance(&self, vector: &[f32]) -> Option<f32> {
        let distance = match self.metric {
            Metric::Cosine => {
                let norms = (self.square * dot(vector, vector)).sqrt();
                if norms == 0.0 {
                    return None;
                }
                (1.0 - dot(&self.query, vector) / norms).clamp(0.0, 2.0)
            }
            Metric::L2 => sum(&self.query, vector, |a, b| (a - b) * (a - b)),
            Metric::Dot => 1.0 - dot(&self.query, vector),
        };
        Some((distance as f32).clamp(f32::MIN, f32::MAX))
    }
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    sum(a, b, |a, b| a * b)
}

/// The sum of a term over two vectors, always added up in the same order.
fn sum(a: &[f32], b: &[f32], term: impl Fn(f64, f64) -> f64) -> f64 {
    let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = a.remainder().iter().zip(b.remainder()).map(|(x, y)| term(f64::from(*x), f64::from(*y))).sum::<f64>();
    let mut lanes = [0.0_f64; LANES];
    for (xs, ys) in a.zip(b) {
        for ((lane, x), y) in lanes.iter_mut().zip(xs).zip(ys) {
            *lane += term(f64::from(*x), f64::from(*y));
        }
    }
    lanes.iter().sum::<f64>() + rest
}

/// What BM25 has to know of all texts of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Corpus {
    /// Texts that have a word.
    pub texts: u64,
    /// Words of all of them, repeated ones included.
    pub words: u64,
}

impl Corpus {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { texts: self.texts + other.texts, words: self.words + other.words }
    }

    /// What a word adds to the score of a text of `length` words that has it `count` times, if `holding` of all texts
    /// have it: Okapi BM25 with k1 = 1.2 and b = 0.75, rare words counting for
    /// ln(1 + (texts - holding + 0.5) / (holding + 0.5)), which is never negative.
    pub fn score(&self, holding: u64, count: u32, length: u32) -> f64 {
        if self.texts == 0 || self.words == 0 {
            return 0.0;
        }
        let (texts, holding, count) = (self.texts as f64, holding as f64, f64::from(count));
        let rarity = (1.0 + (texts - holding + 0.5).max(0.0) / (holding + 0.5)).ln();
        let average = self.words as f64 / texts;
        let norm = K1 * (1.0 - B + B * f64::from(length) / average);
        rarity * count * (K1 + 1.0) / (count + norm)
    }
}

/// What the rank in one ranking, counted from 1, adds to the relevance of a row among several: reciprocal rank fusion.
pub fn fused(rank: usize) -> f64 {
    1.0 / (FUSION_RANK + rank as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_that_hand_and_pencil_give() {
        for (metric, a, b, expected) in [
            (Metric::Cosine, [1.0, 0.0], [3.0, 0.0], Some(0.0)),
            (Metric::Cosine, [1.0, 0.0], [0.0, 2.0], Some(1.0)),
            (Metric::Cosine, [1.0, 0.0], [-2.0, 0.0], Some(2.0)),
            (Metric::Cosine, [3.0, 4.0], [4.0, 3.0], Some(0.04)),
            (Metric::Cosine, [1.0, 0.0], [0.0, 0.0], None),
            (Metric::Cosine, [0.1, 0.7], [0.1, 0.7], Some(0.0)),
            (Metric::L2, [1.0, 2.0], [4.0, 6.0], Some(25.0)),
            (Metric::L2, [0.0, 0.0], [0.0, 0.0], Some(0.0)),
            (Metric::L2, [f32::MAX, 0.0], [f32::MIN, 0.0], Some(f32::MAX)),
            (Metric::Dot, [1.0, 2.0], [3.0, 4.0], Some(-10.0)),
            (Metric::Dot, [1.0, 2.0], [0.0, 0.0], Some(1.0)),
        ] {
            let found = Measure::new(metric, a.to_vec()).distance(&b);
            assert_eq!(found, expected, "{metric:?} of {a:?} and {b:?}");
        }
        assert!(!Measure::new(Metric::Cosine, vec![0.0; 3]).is_defined());
        assert!(Measure::new(Metric::Dot, vec![0.0; 3]).is_defined());
    }

    #[test]
    fn long_vectors_are_summed_whole() {
        for length in [1, 7, 8, 9, 16, 100] {
            let ones = vec![1.0; length];
            assert_eq!(Measure::new(Metric::Dot, ones.clone()).distance(&ones), Some(1.0 - length as f32));
        }
    }

    #[test]
    fn scores_are_those_of_bm25() {
        // Three texts of 2, 4 and 6 words; one of them has the word, twice, and is of average length.
        let corpus = Corpus { texts: 2, words: 6 }.and(Corpus { texts: 1, words: 6 });
        let rarity = (1.0_f64 + 2.5 / 1.5).ln();
        assert!((corpus.score(1, 2, 4) - rarity * 4.4 / 3.2).abs() < 1e-12);
        assert!(corpus.score(1, 2, 2) > corpus.score(1, 2, 6), "a short text says it louder");
        assert!(corpus.score(1, 3, 4) > corpus.score(1, 2, 4), "more often is more");
        assert!(corpus.score(3, 1, 4) > 0.0, "a word that all have still counts");
        assert_eq!(Corpus::default().score(0, 1, 1), 0.0);
    }

    #[test]
    fn early_ranks_add_more() {
        assert_eq!(fused(1), 1.0 / 61.0);
        assert!(fused(1) > fused(2) && fused(10_000) > 0.0);
    }
}
