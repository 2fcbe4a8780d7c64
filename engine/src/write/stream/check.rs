//! Uniqueness over a whole load: inside the input, and against stored rows that stay.

use std::collections::{HashMap, HashSet};

use super::merge::Part;
use crate::data::Violations;
use crate::error::{Reason, Result};
use crate::model::EntityType;
use crate::store::lance::Table;
use crate::store::lance::keys::{KeyHash, hash_rows};
use crate::txn::Core;

/// The unique tuples of one type's rows in the input, with the record of each.
#[derive(Default)]
pub(super) struct Uniques {
    seen: Vec<HashMap<KeyHash, u64>>,
}

impl Uniques {
    pub fn new(ty: &EntityType) -> Self {
        Self { seen: ty.unique.iter().map(|_| HashMap::new()).collect() }
    }

    /// Notes a part's tuples and reports those that stand twice in the input. Nulls are exempt.
    pub fn note(&mut self, ty: &EntityType, part: &Part, violations: &mut Violations) -> Result<()> {
        for (columns, seen) in ty.unique.iter().zip(&mut self.seen) {
            for (key, record) in hash_rows(&part.batch, columns)?.into_iter().zip(&part.records) {
                if let Some(key) = key
                    && let Some(other) = seen.insert(key, *record)
                {
                    violations.at_record(*record, Reason::UniqueViolation, || {
                        format!("{} would share its ({}) with record {other}", ty.name, columns.join(", "))
                    });
                }
            }
        }
        Ok(())
    }

    /// Reports tuples that a stored row has which is not replaced.
    pub async fn check(
        &self,
        core: &Core,
        table: Option<&Table>,
        replaced: &HashSet<u64>,
        ty: &EntityType,
        violations: &mut Violations,
    ) -> Result<()> {
        let Some(table) = table.filter(|t| t.rows() > 0) else {
            return Ok(());
        };
        for (columns, seen) in ty.unique.iter().zip(&self.seen) {
            let index = core.key_index(table, columns);
            let mut index = index.lock().await;
            index.follow(table).await?;
            for (key, record) in seen {
                if index.get(*key).is_some_and(|address| !replaced.contains(&address)) {
                    violations.at_record(*record, Reason::UniqueViolation, || {
                        format!("{} would share its ({}) with a stored entity", ty.name, columns.join(", "))
                    });
                }
            }
        }
        Ok(())
    }
}
