//! Asks a plan about every request and fails those it names.

use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::BoxStream;
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
        self.plan.read(Call::Get, verb, path.as_ref())?;
        self.inner.get_opts(path, options).await
    }

    async fn get_ranges(&self, path: &Path, ranges: &[std::ops::Range<u64>]) -> Result<Vec<bytes::Bytes>> {
        self.plan.read(Call::Get, "GET-RANGES", path.as_ref())?;
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
        match self.plan.read(Call::List, "LIST", prefix.map_or("", |p| p.as_ref())) {
            Ok(()) => self.inner.list(prefix),
            Err(e) => futures::stream::once(async move { Err(e.into()) }).boxed(),
        }
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.plan.read(Call::List, "LIST", prefix.map_or("", |p| p.as_ref())) {
            Ok(()) => self.inner.list_with_offset(prefix, offset),
            Err(e) => futures::stream::once(async move { Err(e.into()) }).boxed(),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.plan.read(Call::List, "LISTDIR", prefix.map_or("", |p| p.as_ref()))?;
        self.inner.list_with_delimiter(prefix).await
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
