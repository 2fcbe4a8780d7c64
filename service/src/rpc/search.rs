//! Entities nearest to a vector, entities whose texts answer some words.

use std::collections::HashSet;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, RecordBatch};
use futures::TryStreamExt;
use omnigraph_engine::data::entity_at;
use omnigraph_engine::error::Result;
use omnigraph_engine::model::EntityType;
use omnigraph_engine::read::search::{DISTANCE, RELEVANCE, SCORE, SearchRequest};
use omnigraph_proto::v1;
use prost::Message;

use super::read;
use crate::convert::{entity, search};
use crate::limits::RESPONSE_BYTES;
use crate::state::State;

/// `Search`.
pub(super) async fn get(state: &State, mut request: v1::SearchRequest) -> Result<v1::SearchResponse> {
    let (graph, selector) = (std::mem::take(&mut request.graph), request.selector.take());
    let question = search::to_engine(request)?;
    let read = read(state, &graph, selector).await?;
    let ty = read.snapshot.ty(&question.type_ref)?;
    let mut batches = read.graph.search(&read.snapshot, &question).await?.batches;
    let mut room = Room::new(RESPONSE_BYTES);
    let mut hits = Vec::new();
    while let Some(batch) = batches.try_next().await? {
        for row in 0..batch.num_rows() {
            let hit = hit(ty, &batch, row, &question)?;
            if !room.takes(hit.encoded_len()) {
                return Ok(v1::SearchResponse { read: Some(read.named), hits, truncated: true });
            }
            hits.push(hit);
        }
    }
    Ok(v1::SearchResponse { read: Some(read.named), hits, truncated: false })
}

/// What one answer has room for; the first thing always fits.
struct Room {
    left: usize,
    empty: bool,
}

impl Room {
    fn new(left: usize) -> Self {
        Self { left, empty: true }
    }

    fn takes(&mut self, bytes: usize) -> bool {
        let fits = self.empty || bytes <= self.left;
        (self.left, self.empty) = (self.left.saturating_sub(bytes), false);
        fits
    }
}

fn hit(ty: &EntityType, batch: &RecordBatch, row: usize, question: &SearchRequest) -> Result<v1::SearchHit> {
    let mut found = entity_at(ty, batch, row)?;
    if !question.columns.is_empty() {
        let asked: HashSet<&str> = question.columns.iter().map(String::as_str).collect();
        found.properties.retain(|name, _| asked.contains(name.as_str()));
    }
    let both = question.vector.is_some() && question.text.is_some();
    Ok(v1::SearchHit {
        entity: Some(entity::to_proto(found)),
        distance: single(batch, DISTANCE, row),
        score: single(batch, SCORE, row),
        relevance: if both { double(batch, RELEVANCE, row) } else { None },
    })
}

fn single(batch: &RecordBatch, column: &str, row: usize) -> Option<f32> {
    let ranks = batch.column_by_name(column)?.as_primitive_opt::<Float32Type>()?;
    ranks.is_valid(row).then(|| ranks.value(row))
}

fn double(batch: &RecordBatch, column: &str, row: usize) -> Option<f64> {
    let ranks = batch.column_by_name(column)?.as_primitive_opt::<Float64Type>()?;
    ranks.is_valid(row).then(|| ranks.value(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_hit_always_has_room() {
        let mut room = Room::new(10);
        assert!(room.takes(20));
        assert!(!room.takes(1));
        let mut room = Room::new(10);
        assert!(room.takes(4) && room.takes(6));
        assert!(!room.takes(1));
    }
}
