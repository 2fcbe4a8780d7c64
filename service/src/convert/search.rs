//! Searches.

use omnigraph_engine::error::{Error, Reason, Result};
use omnigraph_engine::model::{EntityKind, Metric, Predicate, TypeRef};
use omnigraph_engine::read::search::{SearchRequest, TextQuery, VectorQuery};
use omnigraph_proto::v1;

use super::{entity, invalid, predicate, required, set};

/// What a search looks for, and how it is answered: whole entities, or those of their properties that are named.
///
/// # Errors
/// [`Reason::InvalidArgument`] naming what is missing or unknown; [`Reason::InvalidPredicate`],
/// [`Reason::LimitExceeded`].
pub fn to_engine(request: v1::SearchRequest) -> Result<SearchRequest> {
    let type_ref = entity::type_to_engine("", request.kind, &request.type_name)?;
    let filter = request.predicate.map(predicate::to_engine).transpose()?;
    let ends: &[&str] = match (request.properties.as_slice(), type_ref.kind) {
        ([], _) => &[],
        (_, EntityKind::Node) => &["id"],
        (_, EntityKind::Edge) => &["id", "src", "dst"],
    };
    for (i, name) in request.properties.iter().enumerate() {
        required(&format!("properties[{i}]"), name)?;
    }
    let columns = ends.iter().map(ToString::to_string).chain(request.properties).collect();
    whole(type_ref, set("search", request.search)?, filter, columns, u64::from(request.limit))
}

/// What a command that has a search looks for.
///
/// # Errors
/// As [`to_engine`], and [`Reason::InvalidArgument`] for an order beside the search.
pub fn command_to_engine(command: v1::ScanCommand) -> Result<SearchRequest> {
    let type_ref = entity::type_to_engine("", command.kind, &command.type_name)?;
    if !command.order_by.is_empty() {
        return Err(invalid("order_by", "a search has an order of its own, the best first; leave this one out"));
    }
    for (i, column) in command.columns.iter().enumerate() {
        required(&format!("columns[{i}]"), column)?;
    }
    let filter = command.predicate.map(predicate::to_engine).transpose()?;
    whole(type_ref, set("search", command.search)?, filter, command.columns, command.limit)
}

fn whole(
    type_ref: TypeRef,
    search: v1::Search,
    filter: Option<Predicate>,
    columns: Vec<String>,
    limit: u64,
) -> Result<SearchRequest> {
    let vector = search.vector.map(vector).transpose()?;
    let text = search.text.map(|text| TextQuery { properties: text.properties, query: text.query });
    Ok(SearchRequest { type_ref, vector, text, filter, columns, limit })
}

fn vector(message: v1::VectorQuery) -> Result<VectorQuery> {
    required("search.vector.property", &message.property)?;
    let metric = metric(message.metric)?;
    Ok(VectorQuery { property: message.property, query: message.elements, metric })
}

/// `None` leaves it to the property.
fn metric(number: i32) -> Result<Option<Metric>> {
    match v1::VectorMetric::try_from(number) {
        Ok(v1::VectorMetric::Unspecified) => Ok(None),
        Ok(v1::VectorMetric::Cosine) => Ok(Some(Metric::Cosine)),
        Ok(v1::VectorMetric::L2) => Ok(Some(Metric::L2)),
        Ok(v1::VectorMetric::Dot) => Ok(Some(Metric::Dot)),
        Err(_) => {
            let what = format!("search.vector.metric: {number} has no meaning this server knows");
            Err(Error::new(Reason::InvalidArgument, what).with("field", "search.vector.metric"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search() -> v1::Search {
        let vector = v1::VectorQuery { property: "face".into(), elements: vec![1.0], metric: 2 };
        v1::Search { vector: Some(vector), text: None }
    }

    fn request() -> v1::SearchRequest {
        v1::SearchRequest { kind: 1, type_name: "P".into(), search: Some(search()), limit: 3, ..Default::default() }
    }

    fn field(error: &Error) -> &str {
        error.metadata()["field"].as_str()
    }

    #[test]
    fn searches_say_what_they_look_for() {
        let whole = to_engine(request()).unwrap();
        assert_eq!((whole.limit, whole.columns.len()), (3, 0));
        assert_eq!(whole.vector.unwrap().metric, Some(Metric::L2));
        let some = v1::SearchRequest { kind: 2, properties: vec!["since".into()], ..request() };
        assert_eq!(to_engine(some).unwrap().columns, ["id", "src", "dst", "since"]);
        let none = v1::SearchRequest { search: None, ..request() };
        assert_eq!(field(&to_engine(none).unwrap_err()), "search");
        let mut nameless = search();
        nameless.vector.as_mut().unwrap().property.clear();
        let error = to_engine(v1::SearchRequest { search: Some(nameless), ..request() }).unwrap_err();
        assert_eq!(field(&error), "search.vector.property");
        let mut odd = search();
        odd.vector.as_mut().unwrap().metric = 9;
        let error = to_engine(v1::SearchRequest { search: Some(odd), ..request() }).unwrap_err();
        assert_eq!(field(&error), "search.vector.metric");
    }

    #[test]
    fn commands_with_a_search_have_no_other_order() {
        let command =
            v1::ScanCommand { kind: 1, type_name: "P".into(), search: Some(search()), limit: 7, ..Default::default() };
        assert_eq!(command_to_engine(command.clone()).unwrap().limit, 7);
        let order_by = vec![v1::OrderBy { property: "age".into(), descending: false }];
        let error = command_to_engine(v1::ScanCommand { order_by, ..command }).unwrap_err();
        assert_eq!(field(&error), "order_by");
    }
}
