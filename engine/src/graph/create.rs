//! Creating a graph.

use std::sync::Arc;

use crate::archive::Genesis;
use crate::error::{Error, Reason, Result};
use crate::format::commit_row::{self, CommitExtras};
use crate::format::type_json;
use crate::id;
use crate::limits;
use crate::manifest::publish::{self, Published};
use crate::manifest::snapshot::table_row;
use crate::manifest::{BranchIdentity, resolve};
use crate::model::{Actor, CommitInfo, Receipt, Schema};
use crate::schema;
use crate::txn::Core;

/// Creates the graph below the core's root.
///
/// # Errors
/// [`Reason::GraphExists`], [`Reason::InvalidSchema`], [`Reason::StoreLacksConditionalPut`], [`Reason::InDoubt`] with the commit's id if the
/// store did not say whether the creation landed, or the store's.
pub async fn create(core: &Arc<Core>, schema: Schema, actor: &Actor, message: &str) -> Result<Receipt> {
    begin(core, Genesis { schema, actor: actor.clone(), message: message.to_string(), imported: None }).await
}

/// As [`create`], with what else the first commit may say.
///
/// # Errors
/// See there.
pub async fn begin(core: &Arc<Core>, genesis: Genesis) -> Result<Receipt> {
    let Genesis { mut schema, actor, message, imported } = genesis;
    schema::ensure_valid(&schema)?;
    schema::evolve::strip(&mut schema);
    if message.len() > limits::MAX_MESSAGE_BYTES {
        return Err(Error::new(
            Reason::LimitExceeded,
            format!("the message is longer than {} bytes", limits::MAX_MESSAGE_BYTES),
        ));
    }
    core.store.ensure_conditional(&core.fresh_id()).await?;
    schema::assign_ids(&mut schema, &mut || core.fresh_id());
    let now = core.now();
    let commit = CommitInfo {
        id: id::fresh(core.options.ids.as_ref(), now),
        parents: Vec::new(),
        branch: crate::model::branch::MAIN.to_string(),
        actor,
        created_at: now,
        message,
        request_id: String::new(),
        operation: "init".to_string(),
        counts: Vec::new(),
        manifest_version: 1,
        lance_branch: None,
        merge: None,
        imported: imported.map(Box::new),
    };
    let mut rows = schema.types.iter().map(table_row).collect::<Result<Vec<_>>>()?;
    let interfaces = schema.interfaces.iter().map(type_json::encode_interface).collect();
    rows.push(commit_row::encode(&commit, &CommitExtras { interfaces: Some(interfaces), ..CommitExtras::default() })?);
    let failure = match publish::create(&core.store, &rows).await {
        Ok(Published::Landed(view)) => {
            let (line, _) = core.heads.head(&commit.branch).await?;
            line.offer(&view);
            return Ok(Receipt { commit, changed: true, replayed: false, steps: Vec::new(), records: 0 });
        }
        Ok(Published::Lost) => None,
        Err(e) => Some(e),
    };
    // Somebody's graph stands there, or the answer was lost: the genesis commit tells.
    match (resolve::at(&core.store, &BranchIdentity::main(), 1).await, failure) {
        (Ok(Some(view)), _) if view.snapshot.head() == commit.id => {
            Ok(Receipt { commit, changed: true, replayed: false, steps: Vec::new(), records: 0 })
        }
        (Ok(None), Some(failure)) => Err(failure),
        (Ok(_), _) => Err(Error::new(
            Reason::GraphExists,
            format!("a graph stands at {} already; open it, or choose another root", core.store.root().uri()),
        )
        .with("root", core.store.root().uri())),
        (Err(e), None) => Err(e),
        (Err(_), Some(failure)) => Err(Error::new(
            Reason::InDoubt,
            format!(
                "the store did not say whether the graph at {} was created; open it to see",
                core.store.root().uri()
            ),
        )
        .with("commit_id", &commit.id)
        .caused_by(failure)),
    }
}
