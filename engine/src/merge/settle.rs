//! The caller's word on conflicts, by entity. Pure.

use std::collections::{BTreeSet, HashMap};

use super::decide::Word;
use crate::error::{Error, Reason, Result};
use crate::limits;
use crate::manifest::Snapshot;
use crate::model::{EntityKind, MergeHow, Resolution, Side, TypeRef};

/// See the module header.
#[derive(Debug, Default)]
pub(super) struct Words {
    by_entity: HashMap<(TypeRef, String), Own>,
}

#[derive(Debug, Default)]
struct Own {
    whole: Option<Side>,
    properties: Vec<(String, Side)>,
}

impl Words {
    /// Takes note of all resolutions.
    ///
    /// # Errors
    /// [`Reason::LimitExceeded`] for too many, [`Reason::TypeNotFound`] and [`Reason::PropertyNotFound`] for a name
    /// that means nothing, [`Reason::InvalidArgument`] for two that contradict each other or a strategy that is no side.
    pub fn new(how: &MergeHow, snapshot: &Snapshot) -> Result<Self> {
        if how.strategy == Some(Side::Base) {
            return Err(Error::new(Reason::InvalidArgument, "a merge's strategy is ours or theirs; base is none"));
        }
        if how.resolutions.len() > limits::MAX_RESOLUTIONS {
            return Err(Error::new(
                Reason::LimitExceeded,
                format!(
                    "{} resolutions are too many; at most {} are taken",
                    how.resolutions.len(),
                    limits::MAX_RESOLUTIONS
                ),
            ));
        }
        let mut words = Self::default();
        for resolution in &how.resolutions {
            words.add(resolution, snapshot)?;
        }
        Ok(words)
    }

    fn add(&mut self, resolution: &Resolution, snapshot: &Snapshot) -> Result<()> {
        let ty = snapshot.ty(&resolution.type_ref)?;
        if let Some(property) = &resolution.property {
            let is_end = ty.kind == EntityKind::Edge && (property == "src" || property == "dst");
            if !is_end && ty.property(property).is_none() {
                return Err(crate::store::lance::filter::unknown_property(ty, property));
            }
        }
        let own = self.by_entity.entry((ty.type_ref(), resolution.id.clone())).or_default();
        let earlier = match &resolution.property {
            None => own.whole.replace(resolution.take),
            Some(property) => match own.properties.iter_mut().find(|(name, _)| name == property) {
                Some((_, side)) => Some(std::mem::replace(side, resolution.take)),
                None => {
                    own.properties.push((property.clone(), resolution.take));
                    None
                }
            },
        };
        match earlier {
            Some(side) if side != resolution.take => Err(Error::new(
                Reason::InvalidArgument,
                format!("two resolutions of {} {:?} contradict each other", resolution.type_ref, resolution.id),
            )),
            _ => Ok(()),
        }
    }

    /// The word on one entity.
    pub fn on(&self, type_ref: &TypeRef, id: &str) -> Word<'_> {
        match self.by_entity.get(&(type_ref.clone(), id.to_string())) {
            Some(own) => Word { whole: own.whole, properties: &own.properties },
            None => Word::default(),
        }
    }

    /// The resolutions of these entities, as many as are kept with a commit.
    pub fn used(how: &MergeHow, entities: &BTreeSet<(TypeRef, String)>) -> Vec<Resolution> {
        let used = how.resolutions.iter().filter(|r| entities.contains(&(r.type_ref.clone(), r.id.clone())));
        used.take(limits::MAX_KEPT_RESOLUTIONS).cloned().collect()
    }
}
