//! The conditions of documents: on local disk, in memory, and on a store that ignores them.

use async_trait::async_trait;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, PutMultipartOptions, PutPayload,
    PutResult,
};

use super::*;

fn local() -> (tempfile::TempDir, ObjectLog) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let os = Arc::new(object_store::local::LocalFileSystem::new());
    let base = Path::from_filesystem_path(&root).unwrap();
    (dir, ObjectLog::new(os, base, Some(root)))
}

fn memory(os: impl ObjectStore) -> ObjectLog {
    ObjectLog::new(Arc::new(os), Path::from("root"), None)
}

async fn one_winner(log: &ObjectLog) {
    let name = "_refs/branches/x.json";
    let put = |text: &str| {
        let (log, bytes) = (log.clone(), Bytes::from(text.to_string()));
        async move { log.create_if_absent("_refs/branches/x.json", bytes).await.unwrap() }
    };
    let (a, b) = tokio::join!(put("a"), put("b"));
    assert_ne!(a, b);
    let read = log.read(name).await.unwrap().unwrap();
    let replace = |text: &str| {
        let (log, read, bytes) = (log.clone(), read.clone(), Bytes::from(text.to_string()));
        async move { log.replace_if_match("_refs/branches/x.json", &read, bytes).await.unwrap() }
    };
    let (c, d) = tokio::join!(replace("c"), replace("d"));
    assert_ne!(c, d);
    assert_eq!(log.list("_refs/branches").await.unwrap(), ["x.json"]);
    log.delete(name).await.unwrap();
    log.delete(name).await.unwrap();
    // What was deleted is not brought back by who read it before.
    assert_eq!(replace("e").await, Put::Refused);
    assert!(log.read(name).await.unwrap().is_none());
    assert!(log.list("_refs/branches").await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_conditional_writes_one_is_refused() {
    let (_dir, log) = local();
    for _ in 0..20 {
        one_winner(&log).await;
        one_winner(&memory(InMemory::new())).await;
    }
}

#[tokio::test]
async fn only_a_local_disk_removes_what_is_still_as_it_was_read() {
    let (_dir, disk) = local();
    let name = "_refs/branches/x.json";
    for (log, removes) in [(disk, Put::Done), (memory(InMemory::new()), Put::Refused)] {
        assert_eq!(log.deletes_conditionally(), removes == Put::Done);
        log.create_if_absent(name, Bytes::from_static(b"a")).await.unwrap();
        let old = log.read(name).await.unwrap().unwrap();
        assert_eq!(log.replace_if_match(name, &old, Bytes::from_static(b"b")).await.unwrap(), Put::Done);
        assert_eq!(log.delete_if_match(name, &old).await.unwrap(), Put::Refused);
        let new = log.read(name).await.unwrap().unwrap();
        assert_eq!(new.bytes, "b");
        assert_eq!(log.delete_if_match(name, &new).await.unwrap(), removes);
        assert_eq!(log.read(name).await.unwrap().is_none(), removes == Put::Done);
        assert_eq!(log.delete_if_match(name, &new).await.unwrap(), Put::Refused);
    }
}

#[tokio::test]
async fn a_probe_passes_mannered_stores_and_leaves_nothing() {
    let (_dir, log) = local();
    for log in [log, memory(InMemory::new())] {
        log.probe("_refs/probe-1").await.unwrap();
        assert!(log.read("_refs/probe-1").await.unwrap().is_none());
    }
}

#[tokio::test]
async fn a_probe_refuses_a_store_that_overwrites_and_leaves_nothing() {
    for ignores_updates_only in [false, true] {
        let log = memory(Careless { inner: InMemory::new(), ignores_updates_only });
        let error = log.probe("_refs/probe-1").await.unwrap_err();
        assert_eq!(error.reason(), Reason::StoreLacksConditionalPut, "{error}");
        assert!(log.read("_refs/probe-1").await.unwrap().is_none());
    }
}

/// A store that accepts conditions and pays no heed to them.
#[derive(Debug)]
struct Careless {
    inner: InMemory,
    ignores_updates_only: bool,
}

impl std::fmt::Display for Careless {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("careless")
    }
}

#[async_trait]
impl ObjectStore for Careless {
    async fn put_opts(&self, path: &Path, data: PutPayload, opts: PutOptions) -> object_store::Result<PutResult> {
        let mode = match opts.mode {
            PutMode::Create if self.ignores_updates_only => PutMode::Create,
            _ => PutMode::Overwrite,
        };
        self.inner.put_opts(path, data, PutOptions { mode, ..opts }).await
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        opts: PutMultipartOptions,
    ) -> object_store::Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(path, opts).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> object_store::Result<GetResult> {
        self.inner.get_opts(path, options).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, object_store::Result<Path>>,
    ) -> BoxStream<'static, object_store::Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> object_store::Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> object_store::Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
