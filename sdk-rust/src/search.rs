//! Search: entities near a vector, entities whose texts answer some words, or both.

use omnigraph_proto::v1 as wire;

use crate::client::{Graph, unary};
use crate::commits::CommitRef;
use crate::entity::{Entity, EntityKind, TypeRef};
use crate::error::{Error, Result};
use crate::maintenance::IndexMetric;
use crate::predicate::Predicate;
use crate::retry::Safety;
use crate::scan::Batches;
use crate::selector::{Selector, choose_version};

/// Hits of a search that says nothing about how many it wants.
const DEFAULT_LIMIT: u32 = 10;

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResults {
    /// The version read.
    pub read: CommitRef,
    /// The hits, best first; those as good by id.
    pub hits: Vec<Hit>,
    /// Whether hits at the end were left out because the answer would have become too large for one message.
    /// [`Search::batches`] has them all.
    pub truncated: bool,
}

/// An entity that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The entity.
    pub entity: Entity,
    /// Distance of its vector; smaller is nearer. `None` if the search has no vector or did not choose it by that.
    pub distance: Option<f32>,
    /// BM25 score of its texts; larger is better. `None` if the search has no words or did not choose it by them.
    pub score: Option<f32>,
    /// What both rankings say together; larger is better. `None` unless the search is for a vector and words.
    pub relevance: Option<f64>,
}

/// A search while it is being described, from [`Graph::search`].
#[derive(Clone, Debug)]
#[must_use = "nothing is asked before `send` or `batches`"]
pub struct Search {
    graph: Graph,
    selector: Selector,
    type_ref: TypeRef,
    vector: Option<(String, Vec<f32>)>,
    metric: Option<IndexMetric>,
    words: Option<String>,
    within: Vec<String>,
    predicate: Option<Predicate>,
    properties: Vec<String>,
    columns: Vec<String>,
    limit: u32,
}

impl Search {
    choose_version!();

    /// Ranks by how near the vectors of a property are to this one, which has to be as long.
    pub fn nearest(mut self, property: impl Into<String>, vector: impl Into<Vec<f32>>) -> Self {
        self.vector = Some((property.into(), vector.into()));
        self
    }

    /// How vectors are compared. Without it as the indexes of the property say, by cosine if they say nothing.
    pub fn metric(mut self, metric: IndexMetric) -> Self {
        self.metric = Some(metric);
        self
    }

    /// Ranks by how well texts answer these words. An entity matches if it has any of them; case, accents and English
    /// endings make no difference.
    pub fn text(mut self, words: impl Into<String>) -> Self {
        self.words = Some(words.into());
        self
    }

    /// Looks for the words in these properties. Without it in those with a text index, and if there are none, in all
    /// texts.
    pub fn within<N: Into<String>>(mut self, properties: impl IntoIterator<Item = N>) -> Self {
        self.within = properties.into_iter().map(Into::into).collect();
        self
    }

    /// Only entities that satisfy a condition; it holds before any are chosen. Several conditions all have to hold.
    pub fn filter(mut self, condition: Predicate) -> Self {
        self.predicate = Some(match self.predicate {
            Some(before) => before.and(condition),
            None => condition,
        });
        self
    }

    /// Only these properties. Without it all are answered.
    pub fn properties<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.properties = names.into_iter().map(Into::into).collect();
        self
    }

    /// Only these columns in [`Search::batches`], in this order: `id`, for edges `src` and `dst`, and properties.
    /// Without it `id`, the ends, and the properties.
    pub fn columns<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.columns = names.into_iter().map(Into::into).collect();
        self
    }

    /// Hits at most, 1 to 10,000; 10 without it.
    pub fn limit(mut self, hits: u32) -> Self {
        self.limit = hits;
        self
    }

    /// Asks.
    ///
    /// # Errors
    /// The version, the type or a property does not exist or is of another type, or the vector, the words, the
    /// condition or the limit do not fit.
    pub async fn send(self) -> Result<SearchResults> {
        let search = self.wire();
        let ask = wire::SearchRequest {
            graph: self.graph.id,
            selector: Some(self.selector.into()),
            kind: self.type_ref.kind.to_wire(),
            type_name: self.type_ref.name,
            search: Some(search),
            predicate: self.predicate.map(Predicate::into_wire),
            properties: self.properties,
            limit: self.limit,
        };
        let answer = unary!(self.graph.core, Safety::Repeatable, graph.search(ask))?;
        let hits = answer.hits.into_iter().map(Hit::read).collect::<Result<_>>()?;
        Ok(SearchResults { read: CommitRef::read(answer.read)?, hits, truncated: answer.truncated })
    }

    /// Asks for the hits as record batches over Flight. After the columns of the entities come `_distance`, `_score`
    /// and `_relevance`, as far as the search has them.
    ///
    /// # Errors
    /// As [`Search::send`].
    pub async fn batches(self) -> Result<Batches> {
        let search = self.wire();
        let columns = match (self.columns.is_empty(), self.properties.is_empty()) {
            (false, _) => self.columns,
            (true, true) => Vec::new(),
            (true, false) => {
                let ends: &[&str] = match self.type_ref.kind {
                    EntityKind::Node => &["id"],
                    EntityKind::Edge => &["id", "src", "dst"],
                };
                ends.iter().map(ToString::to_string).chain(self.properties).collect()
            }
        };
        let scan = self.graph.scan(self.type_ref).at(self.selector).columns(columns).limit(u64::from(self.limit));
        let scan = match self.predicate {
            Some(condition) => scan.filter(condition),
            None => scan,
        };
        scan.searching(search).send().await
    }

    fn wire(&self) -> wire::Search {
        let metric = match self.metric {
            None => wire::VectorMetric::Unspecified,
            Some(IndexMetric::Cosine) => wire::VectorMetric::Cosine,
            Some(IndexMetric::L2) => wire::VectorMetric::L2,
            Some(IndexMetric::Dot) => wire::VectorMetric::Dot,
        };
        // What is said of a vector or of words that are not there reaches the server, which says what is missing.
        let vector = (self.vector.is_some() || self.metric.is_some()).then(|| {
            let (property, elements) = self.vector.clone().unwrap_or_default();
            wire::VectorQuery { property, elements, metric: metric.into() }
        });
        let text = (self.words.is_some() || !self.within.is_empty()).then(|| {
            let query = self.words.clone().unwrap_or_default();
            wire::TextQuery { properties: self.within.clone(), query }
        });
        wire::Search { vector, text }
    }
}

impl Hit {
    fn read(hit: wire::SearchHit) -> Result<Self> {
        let entity = hit.entity.ok_or_else(|| Error::malformed("a hit without an entity"))?;
        Ok(Self { entity: entity.into(), distance: hit.distance, score: hit.score, relevance: hit.relevance })
    }
}

impl Graph {
    /// Begins a search of one type: for a vector, for words, or for both.
    ///
    /// ```no_run
    /// # async fn example(graph: omnigraph_client::Graph) -> omnigraph_client::Result<()> {
    /// use omnigraph_client::prop;
    ///
    /// // Words, in some properties.
    /// let found = graph.search("Person").text("analytical engine").within(["bio"]).send().await?;
    ///
    /// // A vector and words; the filter holds before hits are chosen.
    /// let found = graph
    ///     .search("Person")
    ///     .nearest("face", [0.1, 0.7, 0.2])
    ///     .text("mathematician")
    ///     .filter(prop("born").is_not_null())
    ///     .limit(20)
    ///     .send()
    ///     .await?;
    /// for hit in &found.hits {
    ///     println!("{} {:?}", hit.entity.id, hit.relevance);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// As record batches, with the ranks as columns:
    ///
    /// ```no_run
    /// # async fn example(graph: omnigraph_client::Graph) -> omnigraph_client::Result<()> {
    /// let batches = graph.search("Person").nearest("face", [0.1, 0.7, 0.2]).limit(1_000).batches().await?;
    /// assert!(batches.schema().column_with_name("_distance").is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn search(&self, type_ref: impl Into<TypeRef>) -> Search {
        Search {
            graph: self.clone(),
            selector: Selector::default(),
            type_ref: type_ref.into(),
            vector: None,
            metric: None,
            words: None,
            within: Vec::new(),
            predicate: None,
            properties: Vec::new(),
            columns: Vec::new(),
            limit: DEFAULT_LIMIT,
        }
    }
}
