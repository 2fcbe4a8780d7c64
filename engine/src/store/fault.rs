//! Counts every request to the store and fails chosen ones. Owned by one engine, so tests run in
//! parallel; never consulted in production, where no plan is installed.
//!
//! A plan can model a process that dies at the k-th mutating call: that call and all later ones fail,
//! reads included. The call itself either never reaches the store or lands and loses its reply.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::BoxStream;
use lance_io::object_store::WrappingObjectStore;
use object_store::list::PaginatedListStore;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result, UploadPart,
};

/// Requests so far, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Reads of objects or ranges, existence checks included.
    pub gets: u64,
    /// Writes of objects, parts included.
    pub puts: u64,
    /// Listings.
    pub lists: u64,
    /// Deletions.
    pub deletes: u64,
    /// Bytes written.
    pub bytes_put: u64,
    /// Bytes written below `__manifest`.
    pub manifest_bytes_put: u64,
}

impl Requests {
    /// All requests.
    pub fn total(&self) -> u64 {
        self.gets + self.puts + self.lists + self.deletes
    }

    /// What was added since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            gets: self.gets - earlier.gets,
            puts: self.puts - earlier.puts,
            lists: self.lists - earlier.lists,
            deletes: self.deletes - earlier.deletes,
            bytes_put: self.bytes_put - earlier.bytes_put,
            manifest_bytes_put: self.manifest_bytes_put - earlier.manifest_bytes_put,
        }
    }
}

/// The counters and the planned failure of one engine's stores.
#[derive(Debug, Default)]
pub struct FaultPlan {
    gets: AtomicU64,
    puts: AtomicU64,
    lists: AtomicU64,
    deletes: AtomicU64,
    bytes_put: AtomicU64,
    manifest_bytes_put: AtomicU64,
    // Mutating calls left before the failure; negative means none is planned.
    fuse: AtomicI64,
    lands: AtomicBool,
    once: AtomicBool,
    dead: AtomicBool,
    armed: AtomicBool,
    trace: std::sync::Mutex<Option<Vec<String>>>,
}

impl FaultPlan {
    /// Counts only.
    pub fn counting() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// Dies at the `k`-th mutating call from now, counted from zero. With `lands` the call takes effect
    /// and its reply is lost.
    pub fn die_at(&self, k: u64, lands: bool) {
        self.fuse.store(i64::try_from(k).unwrap_or(i64::MAX), Ordering::SeqCst);
        self.lands.store(lands, Ordering::SeqCst);
        self.once.store(false, Ordering::SeqCst);
        self.armed.store(true, Ordering::SeqCst);
    }

    /// Fails the `k`-th mutating call from now and none after it.
    pub fn fail_once_at(&self, k: u64, lands: bool) {
        self.die_at(k, lands);
        self.once.store(true, Ordering::SeqCst);
    }

    /// Whether the planned failure has happened.
    pub fn fired(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    /// Fails every call from now on.
    pub fn die(&self) {
        self.dead.store(true, Ordering::SeqCst);
    }

    /// Requests so far.
    pub fn requests(&self) -> Requests {
        Requests {
            gets: self.gets.load(Ordering::SeqCst),
            puts: self.puts.load(Ordering::SeqCst),
            lists: self.lists.load(Ordering::SeqCst),
            deletes: self.deletes.load(Ordering::SeqCst),
            bytes_put: self.bytes_put.load(Ordering::SeqCst),
            manifest_bytes_put: self.manifest_bytes_put.load(Ordering::SeqCst),
        }
    }

    /// Starts recording one line per request.
    pub fn start_trace(&self) {
        if let Ok(mut trace) = self.trace.lock() {
            *trace = Some(Vec::new());
        }
    }

    /// The lines recorded since [`FaultPlan::start_trace`].
    pub fn take_trace(&self) -> Vec<String> {
        self.trace.lock().ok().and_then(|mut t| t.take()).unwrap_or_default()
    }

    fn note(&self, verb: &str, path: &str) {
        if let Ok(mut trace) = self.trace.lock()
            && let Some(lines) = trace.as_mut()
        {
            lines.push(format!("{verb} {path}"));
        }
    }

    fn read(&self, counter: &AtomicU64, verb: &str, path: &str) -> Result<()> {
        counter.fetch_add(1, Ordering::SeqCst);
        self.note(verb, path);
        if self.dead.load(Ordering::SeqCst) && !self.once.load(Ordering::SeqCst) {
            return Err(dead());
        }
        Ok(())
    }

    /// Decides one mutating call: `Ok(true)` means it must land and then fail.
    fn mutate(&self, counter: &AtomicU64, verb: &str, path: &str) -> Result<bool> {
        counter.fetch_add(1, Ordering::SeqCst);
        self.note(verb, path);
        if self.dead.load(Ordering::SeqCst) {
            return if self.once.load(Ordering::SeqCst) { Ok(false) } else { Err(dead()) };
        }
        if self.armed.load(Ordering::SeqCst) && self.fuse.fetch_sub(1, Ordering::SeqCst) == 0 {
            self.dead.store(true, Ordering::SeqCst);
            return if self.lands.load(Ordering::SeqCst) { Ok(true) } else { Err(dead()) };
        }
        Ok(false)
    }

    fn wrote(&self, path: &str, bytes: usize) {
        self.bytes_put.fetch_add(bytes as u64, Ordering::SeqCst);
        if path.contains("__manifest") {
            self.manifest_bytes_put.fetch_add(bytes as u64, Ordering::SeqCst);
        }
    }
}

fn dead() -> object_store::Error {
    object_store::Error::Generic { store: "fault", source: "injected failure".into() }
}

/// Installs a plan on every store it wraps.
#[derive(Debug)]
pub(in crate::store) struct Shared(pub Arc<FaultPlan>);

impl WrappingObjectStore for Shared {
    fn wrap(&self, _prefix: &str, original: Arc<dyn ObjectStore>) -> Arc<dyn ObjectStore> {
        Arc::new(FaultStore { plan: self.0.clone(), inner: original })
    }

    fn wrap_paginated(
        &self,
        _prefix: &str,
        _original: Arc<dyn PaginatedListStore>,
    ) -> Option<Arc<dyn PaginatedListStore>> {
        None
    }
}

#[derive(Debug)]
struct FaultStore {
    plan: Arc<FaultPlan>,
    inner: Arc<dyn ObjectStore>,
}

impl std::fmt::Display for FaultStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "fault({})", self.inner)
    }
}

#[async_trait]
impl ObjectStore for FaultStore {
    async fn put_opts(&self, path: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        let lost = self.plan.mutate(&self.plan.puts, "PUT", path.as_ref())?;
        self.plan.wrote(path.as_ref(), payload.content_length());
        let done = self.inner.put_opts(path, payload, opts).await?;
        if lost { Err(dead()) } else { Ok(done) }
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.plan.read(&self.plan.puts, "PUT-MULTIPART", path.as_ref())?;
        let inner = self.inner.put_multipart_opts(path, opts).await?;
        Ok(Box::new(FaultUpload { plan: self.plan.clone(), path: path.to_string(), inner }))
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        let verb = if options.head { "HEAD" } else { "GET" };
        self.plan.read(&self.plan.gets, verb, path.as_ref())?;
        self.inner.get_opts(path, options).await
    }

    async fn get_ranges(&self, path: &Path, ranges: &[std::ops::Range<u64>]) -> Result<Vec<bytes::Bytes>> {
        self.plan.read(&self.plan.gets, "GET-RANGES", path.as_ref())?;
        self.inner.get_ranges(path, ranges).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let plan = self.plan.clone();
        let inner = self.inner.clone();
        locations
            .then(move |location| {
                let plan = plan.clone();
                let inner = inner.clone();
                async move {
                    let path = location?;
                    let lost = plan.mutate(&plan.deletes, "DELETE", path.as_ref())?;
                    object_store::ObjectStoreExt::delete(&inner, &path).await?;
                    if lost { Err(dead()) } else { Ok(path) }
                }
            })
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.plan.read(&self.plan.lists, "LIST", prefix.map_or("", |p| p.as_ref())) {
            Ok(()) => self.inner.list(prefix),
            Err(e) => futures::stream::once(async { Err(e) }).boxed(),
        }
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.plan.read(&self.plan.lists, "LIST", prefix.map_or("", |p| p.as_ref())) {
            Ok(()) => self.inner.list_with_offset(prefix, offset),
            Err(e) => futures::stream::once(async { Err(e) }).boxed(),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.plan.read(&self.plan.lists, "LISTDIR", prefix.map_or("", |p| p.as_ref()))?;
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        let lost = self.plan.mutate(&self.plan.puts, "COPY", to.as_ref())?;
        self.inner.copy_opts(from, to, options).await?;
        if lost { Err(dead()) } else { Ok(()) }
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        let lost = self.plan.mutate(&self.plan.puts, "RENAME", to.as_ref())?;
        self.inner.rename_opts(from, to, options).await?;
        if lost { Err(dead()) } else { Ok(()) }
    }
}

#[derive(Debug)]
struct FaultUpload {
    plan: Arc<FaultPlan>,
    path: String,
    inner: Box<dyn MultipartUpload>,
}

#[async_trait]
impl MultipartUpload for FaultUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        match self.plan.mutate(&self.plan.puts, "PUT-PART", &self.path) {
            Ok(lost) => {
                self.plan.wrote(&self.path, data.content_length());
                let part = self.inner.put_part(data);
                Box::pin(async move {
                    part.await?;
                    if lost { Err(dead()) } else { Ok(()) }
                })
            }
            Err(e) => Box::pin(async { Err(e) }),
        }
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let lost = self.plan.mutate(&self.plan.puts, "PUT-COMPLETE", &self.path)?;
        let done = self.inner.complete().await?;
        if lost { Err(dead()) } else { Ok(done) }
    }

    async fn abort(&mut self) -> Result<()> {
        self.inner.abort().await
    }
}
