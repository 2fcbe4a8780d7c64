//! Search: the entities whose vectors are nearest to one, those whose texts best answer some words, and those that do
//! both.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Float32Array, Float64Array, RecordBatch, UInt32Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use futures::{StreamExt, TryStreamExt};

use super::batch::{conform, schema_of, split};
use super::scan::{Rows, columns_of, hold};
use crate::error::{Error, Reason, Result};
use crate::format::arrow::ID;
use crate::limits;
use crate::manifest::{Snapshot, TablePin};
use crate::model::index::{metric_of, wanted};
use crate::model::rank::{Measure, fused};
use crate::model::{EntityType, IndexMethod, Metric, Predicate, PropertyType, ScalarType, TypeRef};
use crate::store::lance::search::Found;
use crate::store::lance::search::nearest::NearestScan;
use crate::store::lance::search::text::{TextColumn, TextScan};
use crate::store::lance::{Table, filter};
use crate::txn::Core;

/// The column of a vector's distance: smaller is nearer. See [`Metric`].
pub const DISTANCE: &str = "_distance";

/// The column of a text's BM25 score: larger is better.
pub const SCORE: &str = "_score";

/// The column of what both rankings together say: larger is better.
pub const RELEVANCE: &str = "_relevance";

/// What to look for: a vector, words, or both.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchRequest {
    /// The type.
    pub type_ref: TypeRef,
    /// Rank by the distance of vectors.
    pub vector: Option<VectorQuery>,
    /// Rank by the words of texts.
    pub text: Option<TextQuery>,
    /// Only entities for which this holds; it is applied before any are chosen.
    pub filter: Option<Predicate>,
    /// Columns in order; empty means all: `id`, `src`, `dst`, then the properties.
    pub columns: Vec<String>,
    /// Hits at most: 1 to [`limits::MAX_SEARCH_RESULTS`].
    pub limit: u64,
}

impl SearchRequest {
    /// How many columns of ranks a result has, after those of the entities.
    pub fn ranks(&self) -> usize {
        match (&self.vector, &self.text) {
            (Some(_), Some(_)) => 3,
            (None, None) => 0,
            _ => 1,
        }
    }
}

/// A vector to be near to.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorQuery {
    /// The property, of the type Vector.
    pub property: String,
    /// The vector, as long as the property's, of finite numbers.
    pub query: Vec<f32>,
    /// How vectors are compared; `None` for the way the property's index does, by cosine if it says nothing.
    pub metric: Option<Metric>,
}

/// Words to look for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextQuery {
    /// The properties to look in, of the type String. Empty means those with a text index, and if there are none, all.
    pub properties: Vec<String>,
    /// The words, as somebody wrote them.
    pub query: String,
}

/// The columns of a search's result: those of the entities, then [`DISTANCE`] if it is for a vector, [`SCORE`] if it
/// is for words, and [`RELEVANCE`] if it is for both. Reads nothing.
///
/// # Errors
/// As [`search`].
pub fn schema(snapshot: &Snapshot, request: &SearchRequest) -> Result<SchemaRef> {
    Ok(Checked::new(snapshot, request)?.schema)
}

/// The best entities, best first, those as good by id; the same on every call.
///
/// A null vector and a null text match nothing, nor does a vector of length zero by [`Metric::Cosine`]. A text matches
/// if it has any of the words; words differ neither by case, accents and English endings, and the most frequent
/// English ones count as none. The score is Okapi BM25, summed over the properties, with counts over all entities of
/// the type in this snapshot.
///
/// For a vector and words, each ranking chooses [`limits::FUSION_DEPTH_FACTOR`] times as many entities as are wanted,
/// [`limits::MIN_FUSION_DEPTH`] at least; an entity's relevance is the sum of 1 / (60 + its rank) over the rankings
/// that chose it, and the value of one that did not is null.
///
/// Indexes change how long it takes. Texts are ranked exactly with any; vectors that an index covers are found with
/// high probability, and their distances are exact.
///
/// # Errors
/// [`Reason::TypeNotFound`], [`Reason::PropertyNotFound`], [`Reason::InvalidPredicate`],
/// [`Reason::InvalidArgument`] for a property of another type, an empty text, a vector without a direction or a limit
/// of 0, [`Reason::TypeMismatch`] for a vector of another length or with a number that is not finite,
/// [`Reason::LimitExceeded`]; the store's.
pub async fn search(core: &Arc<Core>, snapshot: &Snapshot, request: &SearchRequest) -> Result<Rows> {
    let checked = Checked::new(snapshot, request)?;
    let schema = checked.schema.clone();
    let Some(at) = &checked.pin.at else {
        return Ok(Rows { schema, batches: futures::stream::empty().boxed() });
    };
    let held = hold(core, snapshot).await?;
    let table = core.table(at).await?;
    let hits = checked.find(core, &table, request).await?;
    let run = if checked.has_blobs() { limits::TAKE_BLOB_ROWS } else { limits::TAKE_ROWS };
    let runs: Vec<Vec<Hit>> = hits.chunks(run).map(<[Hit]>::to_vec).collect();
    let answer =
        Arc::new(Answer { table, columns: checked.columns, entities: checked.entities, schema: schema.clone() });
    let batches = futures::stream::iter(runs)
        .then(move |hits| {
            let answer = answer.clone();
            async move { answer.rows(&hits).await }
        })
        .map_ok(|batch| futures::stream::iter(split(batch).into_iter().map(Ok)))
        .try_flatten()
        .boxed();
    Ok(Rows { schema, batches: held.over(batches) })
}

/// A request that fits the schema.
struct Checked<'a> {
    pin: &'a TablePin,
    ty: &'a EntityType,
    metric: Metric,
    texts: Vec<String>,
    columns: Vec<String>,
    // Of the entities' own columns.
    entities: SchemaRef,
    schema: SchemaRef,
}

impl<'a> Checked<'a> {
    fn new(snapshot: &'a Snapshot, request: &SearchRequest) -> Result<Self> {
        let ty = snapshot.ty(&request.type_ref)?;
        let pin = snapshot.pin(&request.type_ref)?;
        check_limit(request.limit)?;
        let metric = match &request.vector {
            Some(vector) => check_vector(ty, vector)?,
            None => Metric::default(),
        };
        let texts = match &request.text {
            Some(text) => check_text(ty, text)?,
            None => Vec::new(),
        };
        if request.vector.is_none() && request.text.is_none() {
            let what = "a search is for a vector, for words, or for both; give one of them, or scan instead";
            return Err(Error::new(Reason::InvalidArgument, what).with("field", "vector"));
        }
        if let Some(predicate) = &request.filter {
            filter::translate(ty, predicate)?;
        }
        let columns = columns_of(ty, &request.columns)?;
        let entities = schema_of(ty, &columns)?;
        let schema = with_ranks(&entities, request)?;
        Ok(Self { pin, ty, metric, texts, columns, entities, schema })
    }

    fn has_blobs(&self) -> bool {
        let blob = |column: &String| {
            self.ty.property(column).is_some_and(|p| matches!(p.ty, PropertyType::Scalar(ScalarType::Blob)))
        };
        self.columns.iter().any(blob)
    }

    async fn find(&self, core: &Core, table: &Table, request: &SearchRequest) -> Result<Vec<Hit>> {
        let both = request.vector.is_some() && request.text.is_some();
        let deep = (request.limit * limits::FUSION_DEPTH_FACTOR).max(limits::MIN_FUSION_DEPTH);
        let count = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX);
        let (limit, depth) = (count(request.limit), count(if both { deep } else { request.limit }));
        let predicate = request.filter.as_ref();
        let condition = predicate.map(|p| filter::translate(self.ty, p)).transpose()?;
        let near = async {
            let Some(vector) = &request.vector else { return Ok(Vec::new()) };
            let scan = NearestScan {
                column: vector.property.clone(),
                query: vector.query.clone(),
                metric: self.metric,
                filter: condition.clone(),
                limit: depth,
                index: self.index_of(&vector.property, IndexMethod::Vector),
            };
            table.nearest(scan).await
        };
        let said = async {
            let Some(text) = &request.text else { return Ok(Vec::new()) };
            let column =
                |name: &String| TextColumn { name: name.clone(), index: self.index_of(name, IndexMethod::Inverted) };
            let columns = self.texts.iter().map(column).collect();
            let scan = TextScan { columns, query: text.query.clone(), filter: condition.clone(), limit: depth };
            table.text(&core.texts, &scan).await
        };
        let (near, said) = futures::try_join!(near, said)?;
        Ok(combine(near, said, both, limit))
    }

    /// The name of the index that a property should have.
    fn index_of(&self, property: &str, method: IndexMethod) -> Option<String> {
        wanted(self.ty).into_iter().find(|w| w.column == property && w.method == method).map(|w| w.name)
    }
}

fn check_limit(limit: u64) -> Result<()> {
    let most = limits::MAX_SEARCH_RESULTS;
    if limit == 0 {
        let what = format!("a search for 0 hits finds nothing; ask for 1 to {most}");
        return Err(Error::new(Reason::InvalidArgument, what).with("field", "limit"));
    }
    if limit > most {
        let what = format!("a search answers {most} hits at most, and {limit} were asked for; scan for more rows");
        return Err(Error::new(Reason::LimitExceeded, what).with("limit", most).with("found", limit));
    }
    Ok(())
}

fn invalid(ty: &EntityType, property: &str, what: String) -> Error {
    Error::new(Reason::InvalidArgument, what).with("type", ty.type_ref()).with("property", property)
}

/// Says how the vectors are compared.
fn check_vector(ty: &EntityType, vector: &VectorQuery) -> Result<Metric> {
    let name = vector.property.as_str();
    let property = ty.property(name).ok_or_else(|| filter::unknown_property(ty, name))?;
    let PropertyType::Vector(length) = property.ty else {
        let what = format!("{name} of {} has no vectors; name a property of the type Vector", ty.type_ref());
        return Err(invalid(ty, name, what));
    };
    let mismatch = |what: String, found: String| {
        Error::new(Reason::TypeMismatch, what)
            .with("type", ty.type_ref())
            .with("property", name)
            .with("expected", format!("a Vector of {length} finite numbers"))
            .with("found", found)
    };
    let given = vector.query.len();
    if given != length as usize {
        let what = format!("{name} of {} has vectors of {length} numbers; give as many, not {given}", ty.type_ref());
        return Err(mismatch(what, format!("{given} numbers")));
    }
    if let Some(at) = vector.query.iter().position(|number| !number.is_finite()) {
        let what = format!("number {at} of the vector for {name} is not finite; give {length} finite numbers");
        return Err(mismatch(what, "NaN or an infinity".to_string()));
    }
    let metric = vector.metric.unwrap_or_else(|| metric_of(ty, name));
    if !Measure::new(metric, vector.query.clone()).is_defined() {
        let what =
            format!("the vector for {name} is all zeros and has no direction; give another, or compare by l2 or dot");
        return Err(invalid(ty, name, what));
    }
    Ok(metric)
}

/// Says in which properties the words are looked for.
fn check_text(ty: &EntityType, text: &TextQuery) -> Result<Vec<String>> {
    if text.query.trim().is_empty() {
        let what = "the text to search for is empty; give some words, or leave the text out";
        return Err(Error::new(Reason::InvalidArgument, what).with("field", "text"));
    }
    let (bytes, most) = (text.query.len(), limits::MAX_SEARCH_TEXT_BYTES);
    if bytes > most {
        let what = format!("the text to search for has {bytes} bytes, and {most} are allowed; give fewer words");
        return Err(Error::new(Reason::LimitExceeded, what).with("limit", most).with("found", bytes));
    }
    let names = if text.properties.is_empty() { usual_texts(ty) } else { text.properties.clone() };
    if names.is_empty() {
        let what = format!("{} has no property of the type String to look for words in", ty.type_ref());
        return Err(Error::new(Reason::InvalidArgument, what).with("type", ty.type_ref()));
    }
    let (found, most) = (names.len(), limits::MAX_SEARCH_PROPERTIES);
    if found > most {
        let what =
            format!("a search looks for words in {most} properties at most, not {found}; name those that matter");
        return Err(Error::new(Reason::LimitExceeded, what).with("limit", most).with("found", found));
    }
    let mut seen = HashSet::with_capacity(found);
    for name in &names {
        let property = ty.property(name).ok_or_else(|| filter::unknown_property(ty, name))?;
        if !is_text(&property.ty) {
            let what = format!("{name} of {} has no texts; name properties of the type String", ty.type_ref());
            return Err(invalid(ty, name, what));
        }
        if !seen.insert(name.as_str()) {
            return Err(invalid(ty, name, format!("{name} would count twice; name it once")));
        }
    }
    Ok(names)
}

fn is_text(ty: &PropertyType) -> bool {
    matches!(ty, PropertyType::Scalar(ScalarType::String))
}

/// Properties with a text index; if there are none, all texts.
fn usual_texts(ty: &EntityType) -> Vec<String> {
    let indexed: HashSet<String> =
        wanted(ty).into_iter().filter(|w| w.method == IndexMethod::Inverted).map(|w| w.column).collect();
    let texts = ty.properties.iter().filter(|p| is_text(&p.ty));
    texts.map(|p| p.name.clone()).filter(|name| indexed.is_empty() || indexed.contains(name)).collect()
}

/// The columns of the entities and of the ranks.
fn with_ranks(entities: &SchemaRef, request: &SearchRequest) -> Result<SchemaRef> {
    let both = request.vector.is_some() && request.text.is_some();
    let mut fields: Vec<Arc<Field>> = entities.fields().iter().cloned().collect();
    let ranks = [
        (DISTANCE, DataType::Float32, request.vector.is_some(), both),
        (SCORE, DataType::Float32, request.text.is_some(), both),
        (RELEVANCE, DataType::Float64, both, false),
    ];
    for (name, ty, _, nullable) in ranks.into_iter().filter(|(_, _, there, _)| *there) {
        if entities.fields().find(name).is_some() {
            let what = format!("the result would have two columns named {name}; name the columns you want without it");
            return Err(Error::new(Reason::InvalidArgument, what).with("property", name));
        }
        fields.push(Arc::new(Field::new(name, ty, nullable)));
    }
    Ok(Arc::new(Schema::new(fields)))
}

/// An entity that was found.
#[derive(Clone, Debug, PartialEq)]
struct Hit {
    id: String,
    address: u64,
    distance: Option<f32>,
    score: Option<f32>,
    relevance: Option<f64>,
}

/// One ranking, or two made one, best first.
fn combine(near: Vec<Found>, said: Vec<Found>, both: bool, limit: usize) -> Vec<Hit> {
    let hit = |found: Found| Hit { id: found.id, address: found.address, distance: None, score: None, relevance: None };
    let mut hits: Vec<Hit> = Vec::with_capacity(near.len() + said.len());
    let mut places: HashMap<u64, usize> = HashMap::new();
    for (rank, found) in near.into_iter().enumerate() {
        places.insert(found.address, hits.len());
        let (distance, relevance) = (Some(found.value), both.then(|| fused(rank + 1)));
        hits.push(Hit { distance, relevance, ..hit(found) });
    }
    for (rank, found) in said.into_iter().enumerate() {
        let (score, more) = (Some(found.value), both.then(|| fused(rank + 1)));
        match places.get(&found.address).and_then(|place| hits.get_mut(*place)) {
            Some(known) => {
                known.score = score;
                known.relevance = known.relevance.zip(more).map(|(a, b)| a + b);
            }
            None => hits.push(Hit { score, relevance: more, ..hit(found) }),
        }
    }
    if both {
        hits.sort_by(most_relevant_first);
    }
    hits.truncate(limit);
    hits
}

fn most_relevant_first(a: &Hit, b: &Hit) -> Ordering {
    let of = |hit: &Hit| hit.relevance.unwrap_or(0.0);
    of(b).total_cmp(&of(a)).then_with(|| a.id.cmp(&b.id))
}

/// What hits are read from.
struct Answer {
    table: Table,
    columns: Vec<String>,
    entities: SchemaRef,
    schema: SchemaRef,
}

impl Answer {
    /// Whole rows of a run of hits, in their order.
    async fn rows(&self, hits: &[Hit]) -> Result<RecordBatch> {
        let mut addresses: Vec<u64> = hits.iter().map(|hit| hit.address).collect();
        addresses.sort_unstable();
        let mut columns = self.columns.clone();
        if !columns.iter().any(|c| c == ID) {
            columns.push(ID.to_string());
        }
        let read = self.table.take(&addresses, &columns).await?;
        let vanished = || Error::internal("rows vanished between finding and reading them");
        let ids = read.column_by_name(ID).and_then(|c| c.as_string_opt::<i32>()).ok_or_else(vanished)?;
        let places: HashMap<&str, u32> = ids.iter().flatten().zip(0..).collect();
        let order = hits.iter().map(|hit| places.get(hit.id.as_str()).copied()).collect::<Option<Vec<u32>>>();
        let order = UInt32Array::from(order.ok_or_else(vanished)?);
        let ordered = arrow_select::take::take_record_batch(&read, &order)
            .map_err(|e| Error::internal("rows cannot be put in order").caused_by(e))?;
        let entities = conform(&ordered, &self.entities)?;
        let mut arrays: Vec<ArrayRef> = entities.columns().to_vec();
        for field in self.schema.fields().iter().skip(arrays.len()) {
            arrays.push(match field.name().as_str() {
                DISTANCE => Arc::new(hits.iter().map(|hit| hit.distance).collect::<Float32Array>()),
                SCORE => Arc::new(hits.iter().map(|hit| hit.score).collect::<Float32Array>()),
                _ => Arc::new(hits.iter().map(|hit| hit.relevance).collect::<Float64Array>()),
            });
        }
        RecordBatch::try_new(self.schema.clone(), arrays)
            .map_err(|e| Error::internal("hits do not have the schema of their search").caused_by(e))
    }
}

#[cfg(test)]
mod tests;
