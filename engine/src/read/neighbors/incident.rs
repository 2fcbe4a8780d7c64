//! The edges of one type at some nodes.

use std::collections::{BTreeMap, HashSet};

use arrow_array::RecordBatch;
use futures::TryStreamExt;

use super::Direction;
use crate::error::{Error, Result};
use crate::format::arrow::{DST, ID, SRC};
use crate::limits;
use crate::model::{EntityType, TypeRef};
use crate::read::get::{addresses, texts};
use crate::store::lance::scan::Scan;
use crate::store::lance::{Table, filter};

/// A table with fewer rows per node asked about is read once instead of being searched chunk by chunk.
const ROWS_PER_NODE: u64 = 100;

/// One edge.
pub(super) struct Incident {
    pub src: String,
    pub dst: String,
    pub address: u64,
}

/// The `count` edges with the smallest ids that leave or enter the frontier and are not `known`. Holds no
/// more than that, however many there are.
pub(super) async fn incident<T>(
    table: &Table,
    edge: &EntityType,
    direction: Direction,
    frontier: &BTreeMap<TypeRef, Vec<String>>,
    known: &BTreeMap<String, T>,
    count: usize,
) -> Result<BTreeMap<String, Incident>> {
    let ends = edge.endpoints.as_ref().ok_or_else(|| Error::internal(format!("{} has no ends", edge.type_ref())))?;
    let mut found: BTreeMap<String, Incident> = BTreeMap::new();
    let mut keep = |batch: &RecordBatch, near: &str, nodes: Option<&HashSet<&str>>| -> Result<()> {
        let (ids, src, dst) = (texts(batch, ID)?, texts(batch, SRC)?, texts(batch, DST)?);
        let (near, addresses) = (if near == SRC { &src } else { &dst }, addresses(batch)?);
        for row in 0..batch.num_rows() {
            let id = ids.value(row);
            let wanted = nodes.is_none_or(|nodes| nodes.contains(near.value(row)));
            let full = found.len() >= count && found.last_key_value().is_some_and(|(last, _)| id >= last.as_str());
            if !wanted || full || known.contains_key(id) || found.contains_key(id) {
                continue;
            }
            let (src, dst) = (src.value(row).to_string(), dst.value(row).to_string());
            found.insert(id.to_string(), Incident { src, dst, address: addresses.value(row) });
            if found.len() > count {
                found.pop_last();
            }
        }
        Ok(())
    };
    for (near, node) in [(SRC, &ends.from), (DST, &ends.to)] {
        let wrong_way = if near == SRC { Direction::In } else { Direction::Out };
        let Some(nodes) = frontier.get(&TypeRef::node(node)).filter(|_| direction != wrong_way) else {
            continue;
        };
        let few = nodes.len() <= limits::FILTER_IDS;
        if few || table.rows() / nodes.len() as u64 > ROWS_PER_NODE {
            for chunk in nodes.chunks(limits::FILTER_IDS) {
                let filter = filter::any_of(near, chunk.iter().cloned());
                let mut batches = table.scan(Scan { filter: Some(filter), ..ends_of_edges() }).await?;
                while let Some(batch) = batches.try_next().await? {
                    keep(&batch, near, None)?;
                }
            }
        } else {
            let nodes: HashSet<&str> = nodes.iter().map(String::as_str).collect();
            let mut batches = table.scan(ends_of_edges()).await?;
            while let Some(batch) = batches.try_next().await? {
                keep(&batch, near, Some(&nodes))?;
            }
        }
    }
    Ok(found)
}

fn ends_of_edges() -> Scan {
    Scan { columns: [ID, SRC, DST].map(ToString::to_string).to_vec(), with_address: true, ..Scan::default() }
}
