//! Entities of one type, a page at a time.

use std::collections::HashSet;

use omnigraph_engine::error::{Error, Reason, Result};
use omnigraph_engine::model::{Entity, Predicate, TypeRef};
use omnigraph_engine::{Graph, Snapshot};
use omnigraph_proto::v1;
use omnigraph_proto::v1::get_entities_request::Filter;
use prost::Message;

use super::{Read, read};
use crate::convert::{entity, predicate};
use crate::limits::RESPONSE_BYTES;
use crate::page::{self, Listing, Position};
use crate::state::State;

/// Which entities, checked.
enum Wanted {
    /// These, each once, in the order of the request.
    Ids(Vec<String>),
    /// All for which it holds, in the order of their ids.
    Where(Option<Predicate>),
}

/// A page before it is answered.
struct Page {
    entities: Vec<v1::Entity>,
    /// Where the next page begins; `None` if this is the last.
    next: Option<Position>,
}

/// `GetEntities`.
pub(super) async fn get(state: &State, mut request: v1::GetEntitiesRequest) -> Result<v1::GetEntitiesResponse> {
    let size = page::size(std::mem::take(&mut request.page_size));
    let token = std::mem::take(&mut request.page_token);
    let listing = Listing::new("GetEntities", &request);
    let position = listing.open(&token)?;
    let type_ref = entity::type_to_engine("", request.kind, &request.type_name)?;
    let wanted = match request.filter {
        Some(Filter::Ids(ids)) => Wanted::Ids(distinct(ids.ids)),
        Some(Filter::Predicate(p)) => Wanted::Where(Some(predicate::to_engine(p)?)),
        None => Wanted::Where(None),
    };
    let read = match &position {
        None => read(state, &request.graph, request.selector).await?,
        Some(position) => resume(state, &request.graph, position).await?,
    };
    let keep = columns(&read.snapshot, &type_ref, request.properties)?;
    let from = position.unwrap_or_default();
    let page = match wanted {
        Wanted::Ids(ids) => by_ids(&read, &type_ref, &ids, &from, size, keep.as_ref()).await?,
        Wanted::Where(p) => by_predicate(&read, &type_ref, p.as_ref(), &from, size, keep.as_ref()).await?,
    };
    let manifest_branch = read.snapshot.branch.lance_branch.clone().unwrap_or_default();
    let seal = |next| {
        let read = Some(read.named.clone());
        listing.seal(&Position { read, manifest_branch, ..next })
    };
    let next_page_token = page.next.map(seal).unwrap_or_default();
    Ok(v1::GetEntitiesResponse { entities: page.entities, next_page_token, read: Some(read.named) })
}

/// The version that the first page saw.
async fn resume(state: &State, graph: &str, position: &Position) -> Result<Read> {
    let graph: Graph = state.graph(graph).await?;
    let named = position.read.clone().ok_or_else(|| page::refused("token is damaged"))?;
    let line = (!position.manifest_branch.is_empty()).then_some(position.manifest_branch.as_str());
    let snapshot = graph.snapshot_at(line, named.manifest_version).await?;
    if snapshot.head() != named.id {
        return Err(page::refused("token belongs to a graph of this id that was removed"));
    }
    Ok(Read { graph, snapshot, named })
}

/// The properties to answer; `None` for all.
fn columns(snapshot: &Snapshot, type_ref: &TypeRef, properties: Vec<String>) -> Result<Option<HashSet<String>>> {
    let ty = snapshot.ty(type_ref)?;
    for name in &properties {
        if ty.property(name).is_none() {
            let known: Vec<&str> = ty.properties.iter().map(|p| p.name.as_str()).collect();
            let what = format!("{} has no property {name:?}; it has {}", ty.name, known.join(", "));
            return Err(Error::new(Reason::PropertyNotFound, what).with("type", &ty.name).with("property", name));
        }
    }
    Ok((!properties.is_empty()).then(|| properties.into_iter().collect()))
}

fn distinct(ids: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    ids.into_iter().filter(|id| seen.insert(id.clone())).collect()
}

async fn by_ids(
    read: &Read,
    type_ref: &TypeRef,
    ids: &[String],
    from: &Position,
    size: usize,
    keep: Option<&HashSet<String>>,
) -> Result<Page> {
    let start = usize::try_from(from.done).map_or(ids.len(), |done| done.min(ids.len()));
    let rest = &ids[start..];
    let asked = &rest[..size.min(rest.len())];
    let found = read.graph.get(&read.snapshot, type_ref, asked).await?;
    let (entities, left) = fill(found, keep);
    let done = match left {
        // Goes on with the first entity that had no room.
        Some(id) => asked.iter().position(|asked| *asked == id).unwrap_or(asked.len()),
        None => asked.len(),
    };
    let more = done < rest.len();
    let next = Position { done: (start + done) as u64, ..Position::default() };
    Ok(Page { entities, next: more.then_some(next) })
}

async fn by_predicate(
    read: &Read,
    type_ref: &TypeRef,
    predicate: Option<&Predicate>,
    from: &Position,
    size: usize,
    keep: Option<&HashSet<String>>,
) -> Result<Page> {
    let after = (!from.after.is_empty()).then_some(from.after.as_str());
    // One more than fits tells whether more follow.
    let mut found = read.graph.find(&read.snapshot, type_ref, predicate, after, size + 1).await?;
    let more = found.len() > size;
    found.truncate(size);
    let (entities, left) = fill(found, keep);
    let next = match entities.last() {
        Some(last) if more || left.is_some() => Some(Position { after: last.id.clone(), ..Position::default() }),
        _ => None,
    };
    Ok(Page { entities, next })
}

/// As many entities as one answer has room for, but at least one, and the id of the first left out.
fn fill(found: Vec<Entity>, keep: Option<&HashSet<String>>) -> (Vec<v1::Entity>, Option<String>) {
    let mut entities = Vec::with_capacity(found.len());
    let mut bytes = 0;
    for mut entity in found {
        if let Some(keep) = keep {
            entity.properties.retain(|name, _| keep.contains(name));
        }
        let message = entity::to_proto(entity);
        bytes += message.encoded_len();
        if bytes > RESPONSE_BYTES && !entities.is_empty() {
            return (entities, Some(message.id));
        }
        entities.push(message);
    }
    (entities, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use omnigraph_engine::model::Value;
    use std::collections::BTreeMap;

    fn entity(id: &str, bytes: usize) -> Entity {
        let properties =
            BTreeMap::from([("a".to_string(), Value::String("x".repeat(bytes))), ("b".to_string(), Value::Null)]);
        Entity { type_ref: TypeRef::node("P"), id: id.into(), endpoints: None, properties }
    }

    #[test]
    fn a_page_is_cut_where_it_would_become_too_large() {
        let half = RESPONSE_BYTES / 2;
        let (entities, left) = fill(vec![entity("1", half), entity("2", half), entity("3", 1)], None);
        assert_eq!((entities.len(), left.as_deref()), (1, Some("2")));
        let (entities, left) = fill(vec![entity("1", RESPONSE_BYTES * 2), entity("2", 1)], None);
        assert_eq!((entities.len(), left.as_deref()), (1, Some("2")));
        let (entities, left) = fill(vec![entity("1", 1), entity("2", 1)], None);
        assert_eq!((entities.len(), left), (2, None));
    }

    #[test]
    fn only_properties_that_were_asked_for_are_answered() {
        let keep = HashSet::from(["b".to_string()]);
        let (entities, _) = fill(vec![entity("1", 1)], Some(&keep));
        assert_eq!(entities[0].properties.keys().collect::<Vec<_>>(), ["b"]);
        assert_eq!(distinct(["b", "a", "b"].map(String::from).to_vec()), ["b", "a"]);
    }
}
