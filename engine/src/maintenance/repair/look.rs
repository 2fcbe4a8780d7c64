//! What a repair sees of the tables of a branch. Reads versions and what made them, never rows; changes nothing.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use futures::StreamExt;

use super::classify::{self, Classification, MadeBy, Step, classify};
use crate::error::{Error, Reason, Result};
use crate::format::arrow::storage_schema;
use crate::format::snapshot_json;
use crate::limits;
use crate::maintenance::progress::Observer;
use crate::manifest::View;
use crate::manifest::snapshot::TablePin;
use crate::model::{EntityType, TypeRef};
use crate::store::lance::commit::Standing;
use crate::store::lance::{Table, TableAt};
use crate::txn::{Core, PinMove};

/// What is known of one table.
#[derive(Clone, Debug)]
pub(super) struct Looked {
    pub type_ref: TypeRef,
    pub classification: Classification,
    /// What is published.
    pub pinned: Option<TableAt>,
    /// The newest version; none if it was not looked at.
    pub head: Option<u64>,
    /// The names of what made the versions above, in order; not all if they are many.
    pub operations: Vec<String>,
    /// What to publish, if that is possible at all.
    pub candidate: Option<PinMove>,
    /// What went wrong or stands in the way.
    pub error: Option<String>,
}

impl Looked {
    fn new(pin: &TablePin) -> Self {
        let inherited = pin.at.is_some() && !pin.owned;
        Self {
            type_ref: pin.type_ref.clone(),
            classification: if inherited { Classification::Inherited } else { Classification::None },
            pinned: pin.at.clone(),
            head: None,
            operations: Vec::new(),
            candidate: None,
            error: None,
        }
    }

    /// What to do about it.
    pub fn step(&self, force: bool) -> Step {
        match classify::step(self.classification, force) {
            Step::Publish if self.candidate.is_none() => Step::Refuse,
            step => step,
        }
    }

    /// Whether anything stands above what is published.
    pub fn drifts(&self) -> bool {
        !matches!(self.classification, Classification::None | Classification::Inherited)
    }
}

/// Looks at the tables that a branch shows, or at some of them. One that cannot be examined says so and stops nobody.
///
/// # Errors
/// The store's, if it answers nothing at all.
pub(super) async fn look(
    core: &Core,
    view: &View,
    only: Option<&BTreeSet<TypeRef>>,
    observer: &dyn Observer,
) -> Result<BTreeMap<TypeRef, Looked>> {
    let wanted = view.snapshot.pins().filter(|pin| only.is_none_or(|only| only.contains(&pin.type_ref)));
    let seen: Vec<(TablePin, Option<Result<Seen>>)> = futures::stream::iter(wanted.cloned().collect::<Vec<_>>())
        .map(|pin| async move {
            let key = pin.type_ref.to_string();
            let seen = match pin.at.as_ref().filter(|_| pin.owned) {
                Some(at) => {
                    observer.table_begun(&key);
                    Some(see(core, at).await)
                }
                None => None,
            };
            observer.table_done(&key);
            (pin, seen)
        })
        .buffer_unordered(limits::MAINTENANCE_CONCURRENCY)
        .collect()
        .await;
    // After the versions: whoever made one and has no intent any more is decided. A store that does not answer ends
    // it here, so what failed above concerns one table.
    let pending = pending(core).await?;
    let mut out = BTreeMap::new();
    for (pin, seen) in seen {
        let ty = view.snapshot.ty(&pin.type_ref)?;
        let looked = match seen {
            None => Looked::new(&pin),
            Some(Ok(seen)) => judge(ty, &pin, &seen, &pending),
            Some(Err(e)) => Looked {
                classification: Classification::Unverifiable,
                error: Some(format!("{} [{}]", e.message(), e.reason())),
                ..Looked::new(&pin)
            },
        };
        out.insert(pin.type_ref, looked);
    }
    Ok(out)
}

/// The newest version of a line, and what made those above the published one.
struct Seen {
    newest: Table,
    /// The published version, if it opens and is not the newest.
    published: Option<Table>,
    /// In order; empty if they are too many.
    above: Vec<Result<Standing, String>>,
}

async fn see(core: &Core, at: &TableAt) -> Result<Seen> {
    let newest = core.store.open_newest(&at.location, at.branch.as_deref()).await?;
    let newest = newest.ok_or_else(|| Error::new(Reason::DataCorrupt, format!("no dataset is at {}", at.location)))?;
    let count = newest.version().saturating_sub(at.version);
    if count == 0 {
        return Ok(Seen { newest, published: None, above: Vec::new() });
    }
    let versions = if count > limits::MAX_VERIFIED_VERSIONS { 0..0 } else { at.version + 1..newest.version() + 1 };
    let line = &newest;
    let above = futures::stream::iter(versions)
        .map(|version| async move { standing(line, version).await })
        .buffered(limits::MAINTENANCE_CONCURRENCY)
        .collect()
        .await;
    // Only to compare with: what is wrong with it does not change what stands above.
    let published = core.store.open_table(at).await.ok().flatten();
    Ok(Seen { newest, published, above })
}

/// What made a version, or why nobody can tell.
async fn standing(newest: &Table, version: u64) -> Result<Standing, String> {
    match newest.standing_at(version).await {
        Ok(Some(standing)) => Ok(standing),
        Ok(None) => Err(format!("version {version} does not say what made it")),
        Err(e) => Err(format!("version {version} cannot be read: {}", e.message())),
    }
}

/// The transactions of every operation that is not decided.
async fn pending(core: &Core) -> Result<HashSet<String>> {
    let mut found = HashSet::new();
    for claim in core.intents.list().await? {
        match core.intents.read(&claim).await {
            Ok(intent) => found.extend(intent.into_iter().flat_map(|i| i.tables).flat_map(|table| table.effects)),
            // What it names, nobody knows; the next writer of its branch undoes it.
            Err(e) if matches!(e.reason(), Reason::DataCorrupt | Reason::StorageStampTooNew) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(found)
}

fn judge(ty: &EntityType, pin: &TablePin, seen: &Seen, pending: &HashSet<String>) -> Looked {
    let head = seen.newest.version();
    let mut looked = Looked { head: Some(head), ..Looked::new(pin) };
    let pinned = pin.at.as_ref().map_or(0, |at| at.version);
    if head < pinned {
        looked.classification = Classification::Unverifiable;
        looked.error = Some(format!("version {pinned} is published and gone; the newest that stands is {head}"));
        return looked;
    }
    let count = head - pinned;
    looked.operations = seen.above.iter().take(limits::MAX_LISTED_OPERATIONS).map(name).collect();
    if count > limits::MAX_VERIFIED_VERSIONS {
        looked.classification = Classification::Unverifiable;
        let most = limits::MAX_VERIFIED_VERSIONS;
        looked.error =
            Some(format!("{count} versions stand above the published one; more than {most} are not examined"));
    } else {
        let made: Vec<MadeBy> = seen.above.iter().map(|standing| made_by(standing, pending)).collect();
        looked.classification = classify(&made, seen.newest.rows() == pin.rows);
        looked.error = seen.above.iter().find_map(|standing| standing.as_ref().err().cloned());
        if looked.classification == Classification::Suspicious && classify(&made, true) != Classification::Suspicious {
            looked.error = Some(format!("its rewrites made {} rows of {}", seen.newest.rows(), pin.rows));
        }
    }
    let unchecked = matches!(looked.classification, Classification::Suspicious | Classification::Unverifiable);
    let misfit = if unchecked { misfit(ty, &seen.newest, seen.published.as_ref()) } else { None };
    match misfit {
        Some(why) => looked.error = Some(why),
        None if unchecked || looked.classification == Classification::VerifiedMaintenance => {
            let (type_ref, at) = (pin.type_ref.clone(), seen.newest.at().clone());
            looked.candidate = Some(PinMove { type_ref, at, rows: seen.newest.rows(), inherited_from: None });
        }
        None => {}
    }
    looked
}

/// The name of what made a version.
fn name(standing: &Result<Standing, String>) -> String {
    standing.as_ref().map_or_else(|_| "unreadable".to_string(), |standing| standing.operation.clone())
}

fn made_by(standing: &Result<Standing, String>, pending: &HashSet<String>) -> MadeBy {
    match standing {
        Err(_) => MadeBy::Unknown,
        Ok(standing) if standing.properties.contains_key(snapshot_json::OPERATION) => {
            MadeBy::Us { pending: pending.contains(&standing.uuid) }
        }
        Ok(standing) => MadeBy::Others { keeps_rows: standing.keeps_rows },
    }
}

/// Why a version cannot be published whatever anybody agrees to.
fn misfit(ty: &EntityType, head: &Table, published: Option<&Table>) -> Option<String> {
    let wanted = storage_schema(ty);
    let found = head.arrow_schema();
    let names = |schema: &arrow_schema::Schema| {
        schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>().join(", ")
    };
    if !head.has_fields_of(&wanted) {
        return Some(format!(
            "version {} cannot be published: its columns ({}) are not those that omnigraph made for the type ({})",
            head.version(),
            names(&found),
            names(&wanted)
        ));
    }
    let published = published?.arrow_schema();
    found.fields().iter().find_map(|field| {
        let before = published.field_with_name(field.name()).ok()?;
        (before.data_type() != field.data_type()).then(|| {
            format!(
                "version {} cannot be published: its column {} holds {} instead of {}",
                head.version(),
                field.name(),
                field.data_type(),
                before.data_type()
            )
        })
    })
}
