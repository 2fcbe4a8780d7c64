//! Asks a plan about every request and fails those it names.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use futures::{StreamExt, TryFutureExt, TryStreamExt};
use lance_io::object_store::WrappingObjectStore;
use object_store::list::PaginatedListStore;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions,
    PutOptions, PutPayload, PutResult, RenameOptions, Result, UploadPart,
};

use crate::failpoint::{Call, Dead, FaultPlan};

impl From<Dead> for object_store::Error {
    fn from(_: Dead) -> Self {
        Self::Generic { store: "fault", source: "injected failure".into() }
    }
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

impl FaultStore {
    /// Asks about a listing when its first entry is asked for.
    fn listed(
        &self,
        prefix: Option<&Path>,
        list: impl FnOnce(&dyn ObjectStore) -> BoxStream<'static, Result<ObjectMeta>> + Send + 'static,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        let (plan, inner) = (self.plan.clone(), self.inner.clone());
        let prefix = prefix.map(ToString::to_string).unwrap_or_default();
        let asked = async move {
            plan.wait("LIST", &prefix).await;
            plan.read(Call::List, "LIST", &prefix)?;
            let found = list(inner.as_ref());
            Ok::<_, object_store::Error>(found.map_ok(move |meta| dated(&plan, meta)))
        };
        asked.try_flatten_stream().boxed()
    }
}

/// An object as the plan dates it.
fn dated(plan: &FaultPlan, meta: ObjectMeta) -> ObjectMeta {
    match plan.stored_at(meta.location.as_ref(), meta.last_modified.timestamp_micros()) {
        None => meta,
        Some(micros) => {
            let mut dated = ObjectMeta { last_modified: Default::default(), ..meta };
            dated.last_modified += Duration::from_micros(u64::try_from(micros).unwrap_or(0));
            dated
        }
    }
}

#[async_trait]
impl ObjectStore for FaultStore {
    async fn put_opts(&self, path: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        self.plan.wait("PUT", path.as_ref()).await;
        let lost = self.plan.mutate(Call::Put, "PUT", path.as_ref())?;
        self.plan.wrote(path.as_ref(), payload.content_length());
        let done = self.inner.put_opts(path, payload, opts).await;
        if lost { Err(self.plan.lost().into()) } else { done }
    }

    async fn put_multipart_opts(&self, path: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.plan.read(Call::Put, "PUT-MULTIPART", path.as_ref())?;
        let inner = self.inner.put_multipart_opts(path, opts).await?;
        Ok(Box::new(FaultUpload { plan: self.plan.clone(), path: path.to_string(), inner }))
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        let verb = if options.head { "HEAD" } else { "GET" };
        self.plan.wait(verb, path.as_ref()).await;
        self.plan.read(Call::Get, verb, path.as_ref())?;
        let head = options.head;
        let found = self.inner.get_opts(path, options).await?;
        if !head {
            self.plan.got(found.range.end.saturating_sub(found.range.start));
        }
        Ok(GetResult { meta: dated(&self.plan, found.meta), ..found })
    }

    async fn get_ranges(&self, path: &Path, ranges: &[std::ops::Range<u64>]) -> Result<Vec<bytes::Bytes>> {
        self.plan.wait("GET-RANGES", path.as_ref()).await;
        self.plan.read(Call::Get, "GET-RANGES", path.as_ref())?;
        self.plan.got(ranges.iter().map(|range| range.end.saturating_sub(range.start)).sum());
        self.inner.get_ranges(path, ranges).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let plan = self.plan.clone();
        let inner = self.inner.clone();
        locations
            .then(move |location| {
                let plan = plan.clone();
                let inner = inner.clone();
                async move {
                    let path = location?;
                    plan.wait("DELETE", path.as_ref()).await;
                    let lost = plan.mutate(Call::Delete, "DELETE", path.as_ref())?;
                    let done = object_store::ObjectStoreExt::delete(&inner, &path).await;
                    if lost { Err(plan.lost().into()) } else { done.map(|()| path) }
                }
            })
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let below = prefix.cloned();
        self.listed(prefix, move |inner| inner.list(below.as_ref()))
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        let (below, offset) = (prefix.cloned(), offset.clone());
        self.listed(prefix, move |inner| inner.list_with_offset(below.as_ref(), &offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.plan.wait("LISTDIR", prefix.map_or("", |p| p.as_ref())).await;
        self.plan.read(Call::List, "LISTDIR", prefix.map_or("", |p| p.as_ref()))?;
        let mut found = self.inner.list_with_delimiter(prefix).await?;
        found.objects = found.objects.into_iter().map(|meta| dated(&self.plan, meta)).collect();
        Ok(found)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.plan.wait("COPY", to.as_ref()).await;
        let lost = self.plan.mutate(Call::Put, "COPY", to.as_ref())?;
        let done = self.inner.copy_opts(from, to, options).await;
        if lost { Err(self.plan.lost().into()) } else { done }
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.plan.wait("RENAME", to.as_ref()).await;
        let lost = self.plan.mutate(Call::Put, "RENAME", to.as_ref())?;
        let done = self.inner.rename_opts(from, to, options).await;
        if lost { Err(self.plan.lost().into()) } else { done }
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
        match self.plan.mutate(Call::Put, "PUT-PART", &self.path) {
            Ok(lost) => {
                self.plan.wrote(&self.path, data.content_length());
                let part = self.inner.put_part(data);
                let plan = self.plan.clone();
                Box::pin(async move {
                    let done = part.await;
                    if lost { Err(plan.lost().into()) } else { done }
                })
            }
            Err(e) => Box::pin(async move { Err(e.into()) }),
        }
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.plan.wait("PUT-COMPLETE", &self.path).await;
        let lost = self.plan.mutate(Call::Put, "PUT-COMPLETE", &self.path)?;
        let done = self.inner.complete().await;
        if lost { Err(self.plan.lost().into()) } else { done }
    }

    async fn abort(&mut self) -> Result<()> {
        self.inner.abort().await
    }
}
