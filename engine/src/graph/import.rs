//! Making a graph of an archive, or none.

use std::sync::Arc;

use super::create;
use crate::archive::{Import, ImportReport};
use crate::data::Source;
use crate::error::{Error, Reason, Result};
use crate::format::paths;
use crate::manifest::{BranchIdentity, resolve};
use crate::model::Actor;
use crate::txn::Core;

/// See [`crate::Engine::import`].
///
/// # Errors
/// See there.
pub async fn import(core: &Arc<Core>, source: Source, actor: &Actor) -> Result<ImportReport> {
    ensure_empty(core).await?;
    let archive = Import::open(source).await?;
    create::begin(core, archive.genesis(actor)?).await?;
    match archive.run(core, actor).await {
        Ok(report) => Ok(report),
        Err(e) => Err(take_back(core, e).await),
    }
}

/// What fails is removed with everything below the root, so nothing else may be there.
async fn ensure_empty(core: &Core) -> Result<()> {
    let root = core.store.root().uri();
    if resolve::newest(&core.store, &BranchIdentity::main()).await?.is_some() {
        let what = format!("a graph stands at {root} already; import into another root");
        return Err(Error::new(Reason::GraphExists, what).with("root", root));
    }
    let found = core.store.folder("").await?;
    if found.folders.is_empty() && found.files.count == 0 {
        return Ok(());
    }
    let what = format!("{root} holds files already; import into a root that is empty");
    Err(Error::new(Reason::InvalidArgument, what).with("root", root))
}

async fn take_back(core: &Core, failure: Error) -> Error {
    let root = core.store.root().uri();
    let told = match core.store.remove_all(paths::MANIFEST).await {
        Ok(()) => format!("{}; nothing was imported", failure.message()),
        Err(e) => format!(
            "{}; what was imported until then could not be removed ({}) and is not whole: run `omnigraph graph delete \
             {root} --yes`",
            failure.message(),
            e.message()
        ),
    };
    let mut error = Error::new(failure.reason(), told).with_violations(failure.violations().to_vec());
    for (key, value) in failure.metadata() {
        error = error.with(key, value);
    }
    error.caused_by(failure)
}
