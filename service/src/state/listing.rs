//! Which graphs there are: the folders `<id>.omni` below `<storage>/graphs`.

use omnigraph_engine::engine::graph_root;
use omnigraph_engine::error::{Error, Reason, Result};
use omnigraph_engine::store::Stores;
use omnigraph_engine::store::root::Root;

/// What ends the name of a graph's folder.
const SUFFIX: &str = ".omni";

/// Whether the storage has folders that can be listed. Storage in memory has none.
pub(super) fn can_list(storage: &str) -> bool {
    !storage.starts_with("memory:") && !storage.starts_with("shared-memory:")
}

/// The ids of the graphs in a storage; `None` if it cannot be listed.
///
/// # Errors
/// The store's.
pub(super) async fn graphs(storage: &str) -> Result<Option<Vec<String>>> {
    if !can_list(storage) {
        return Ok(None);
    }
    // A graph id that is always valid gives the folder of all graphs.
    let sample = Root::parse(&graph_root(storage, "x")?)?;
    match sample.local_path().and_then(|path| path.parent().map(std::path::Path::to_path_buf)) {
        Some(folder) => local(folder).await.map(Some),
        None => remote(storage).await.map(Some),
    }
}

async fn local(folder: std::path::PathBuf) -> Result<Vec<String>> {
    let failed = |e: std::io::Error| {
        Error::new(Reason::StoreUnavailable, format!("the graphs cannot be listed: {e}")).caused_by(e)
    };
    let mut entries = match tokio::fs::read_dir(folder).await {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(failed(e)),
    };
    let mut ids = Vec::new();
    while let Some(entry) = entries.next_entry().await.map_err(failed)? {
        ids.extend(entry.file_name().to_str().and_then(id_of));
    }
    ids.sort();
    Ok(ids)
}

/// Reads the names of everything below the folder, since the store's interface lists whole trees.
async fn remote(storage: &str) -> Result<Vec<String>> {
    let root = Root::parse(storage).map_err(|e| {
        let what = "graphs directly below a bucket cannot be listed; use a storage with a path below it";
        Error::new(Reason::NotImplemented, what).caused_by(e)
    })?;
    let names = Stores::new(None).open(root).await?.log().list("graphs").await?;
    let mut ids: Vec<String> = names.iter().filter_map(|name| id_of(name.split('/').next()?)).collect();
    ids.dedup();
    Ok(ids)
}

/// The id that a folder's name holds, if it is the folder of a graph.
fn id_of(name: &str) -> Option<String> {
    let id = name.strip_suffix(SUFFIX)?;
    graph_root("x", id).is_ok().then(|| id.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn folders_of_graphs_are_listed_and_others_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let storage = dir.path().to_str().unwrap();
        assert_eq!(graphs(storage).await.unwrap(), Some(Vec::new()));
        for name in ["b.omni", "a-1.omni", "other", ".omni", "UPPER.omni", "b.omni.tmp"] {
            std::fs::create_dir_all(dir.path().join("graphs").join(name)).unwrap();
        }
        assert_eq!(graphs(storage).await.unwrap(), Some(vec!["a-1".to_string(), "b".to_string()]));
        assert_eq!(graphs("shared-memory://x").await.unwrap(), None);
    }
}
