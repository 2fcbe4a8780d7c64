//! What the rows of a type come to, whatever their order: how many there are, and the sum of their hashes.
//!
//! A change of a table changes its digest by what goes and what comes, so a digest follows a history without reading
//! it again.

use std::collections::HashMap;
use std::sync::Arc;

use futures::TryStreamExt;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::entity;
use crate::data::entity_at;
use crate::error::Result;
use crate::limits;
use crate::manifest::Snapshot;
use crate::model::{EntityType, TypeRef};
use crate::read::scan::{self, ScanRequest};
use crate::store::lance::TableAt;
use crate::txn::Core;

/// See the module header. As JSON `[count, sum]`, the sum in 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "(u64, String)", try_from = "(u64, String)")]
pub(super) struct Digest {
    count: u64,
    sum: u128,
}

impl Digest {
    /// A row, by its text, comes.
    pub(super) fn add(&mut self, row: &[u8]) {
        self.count = self.count.wrapping_add(1);
        self.sum = self.sum.wrapping_add(hash(row));
    }

    /// A row, by its text, goes.
    pub(super) fn take(&mut self, row: &[u8]) {
        self.count = self.count.wrapping_sub(1);
        self.sum = self.sum.wrapping_sub(hash(row));
    }

    /// Whether there are no rows.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The first half of the SHA-256 of a row's text, as a number with its first byte as the highest.
fn hash(row: &[u8]) -> u128 {
    let full: [u8; 32] = Sha256::digest(row).into();
    full.iter().take(16).fold(0, |sum, byte| (sum << 8) | u128::from(*byte))
}

impl From<Digest> for (u64, String) {
    fn from(digest: Digest) -> Self {
        (digest.count, format!("{:032x}", digest.sum))
    }
}

impl TryFrom<(u64, String)> for Digest {
    type Error = std::num::ParseIntError;

    fn try_from((count, text): (u64, String)) -> Result<Self, Self::Error> {
        Ok(Self { count, sum: u128::from_str_radix(&text, 16)? })
    }
}

/// The digests of table states.
#[derive(Debug, Default)]
pub(super) struct Digests {
    known: HashMap<TableAt, Digest>,
}

impl Digests {
    /// What a type comes to in a state; read if it is not known.
    ///
    /// # Errors
    /// [`crate::error::Reason::TypeNotFound`]; the store's.
    pub(super) async fn of(&mut self, core: &Arc<Core>, state: &Snapshot, type_ref: &TypeRef) -> Result<Digest> {
        let Some(at) = &state.pin(type_ref)?.at else {
            return Ok(Digest::default());
        };
        if let Some(known) = self.known.get(at) {
            return Ok(*known);
        }
        let found = read(core, state, state.ty(type_ref)?).await?;
        self.note(at, found);
        Ok(found)
    }

    /// Remembers what a table state comes to.
    pub(super) fn note(&mut self, at: &TableAt, digest: Digest) {
        if self.known.len() >= limits::MAX_KNOWN_DIGESTS {
            self.known.clear();
        }
        self.known.insert(at.clone(), digest);
    }
}

async fn read(core: &Arc<Core>, state: &Snapshot, ty: &EntityType) -> Result<Digest> {
    let mut digest = Digest::default();
    let mut text = Vec::new();
    let mut batches = scan::scan(core, state, &everything(ty), None).await?.batches;
    while let Some(batch) = batches.try_next().await? {
        for row in 0..batch.num_rows() {
            text.clear();
            entity::write(ty, &entity_at(ty, &batch, row)?, &mut text)?;
            digest.add(&text);
        }
    }
    Ok(digest)
}

/// A scan of a whole type.
pub(super) fn everything(ty: &EntityType) -> ScanRequest {
    ScanRequest { type_ref: ty.type_ref(), columns: Vec::new(), predicate: None, order: Vec::new(), limit: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_does_not_matter_and_what_goes_is_as_if_it_never_came() {
        let (mut one, mut other) = (Digest::default(), Digest::default());
        for row in ["a", "b", "b"] {
            one.add(row.as_bytes());
        }
        for row in ["b", "a", "c", "b"] {
            other.add(row.as_bytes());
        }
        assert_ne!(one, other);
        other.take(b"c");
        assert_eq!(one, other);
        other.take(b"a");
        other.add(b"A");
        assert_ne!(one, other, "as many rows, and others");
        for row in ["A", "b", "b"] {
            other.take(row.as_bytes());
        }
        assert!(other.is_empty());
    }

    #[test]
    fn the_hash_and_its_text_are_fixed() {
        let mut digest = Digest::default();
        digest.add(b"abc");
        let text = serde_json::to_string(&digest).unwrap();
        assert_eq!(text, r#"[1,"ba7816bf8f01cfea414140de5dae2223"]"#);
        assert_eq!(serde_json::from_str::<Digest>(&text).unwrap(), digest);
        assert!(serde_json::from_str::<Digest>(r#"[1,"x"]"#).is_err());
    }
}
