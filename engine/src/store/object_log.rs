//! Small documents with conditional writes: branch references and intents.
//!
//! On object stores the conditions are the store's own conditional puts. On local disk creation is the
//! file system's exclusive link, and replacement is guarded by an OS file lock, so both hold across
//! processes. A document's tag identifies its content; it has no meaning beyond equality.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, UpdateVersion};

use crate::error::redact::redact;
use crate::error::{Error, Reason, Result};

/// A document as read.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its bytes.
    pub bytes: Bytes,
    tag: Tag,
}

#[derive(Clone, Debug, PartialEq)]
enum Tag {
    Store(UpdateVersion),
    Content(u64),
}

/// What a conditional write did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// The document now holds our bytes.
    Done,
    /// The condition did not hold; nothing was written.
    Refused,
}

/// The documents under one root.
#[derive(Clone, Debug)]
pub struct ObjectLog {
    os: Arc<dyn ObjectStore>,
    base: Path,
    local: Option<PathBuf>,
}

impl ObjectLog {
    pub(in crate::store) fn new(os: Arc<dyn ObjectStore>, base: Path, local: Option<PathBuf>) -> Self {
        Self { os, base, local }
    }

    /// The object of a document. Names are made by the format layer and are kept as they are: joining
    /// segments would encode them once more.
    fn path(&self, name: &str) -> Result<Path> {
        let full = match self.base.as_ref() {
            "" => name.to_string(),
            base => format!("{base}/{name}"),
        };
        Path::parse(&full).map_err(|e| Error::internal(format!("{name:?} is no object name")).caused_by(e))
    }

    /// Reads a document; `None` if it does not exist.
    ///
    /// # Errors
    /// The store's.
    pub async fn read(&self, name: &str) -> Result<Option<Document>> {
        let got = match self.os.get(&self.path(name)?).await {
            Ok(got) => got,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(e) => return Err(convert(e)),
        };
        let version = UpdateVersion { e_tag: got.meta.e_tag.clone(), version: got.meta.version.clone() };
        let bytes = got.bytes().await.map_err(convert)?;
        let tag = match self.local {
            Some(_) => Tag::Content(content_tag(&bytes)),
            None => Tag::Store(version),
        };
        Ok(Some(Document { bytes, tag }))
    }

    /// Writes a document only if none of this name exists. An answer that was lost is read back: the
    /// bytes must be unique to this call, so finding them means it was ours.
    ///
    /// # Errors
    /// The store's, when neither the write nor the read-back got an answer.
    pub async fn create_if_absent(&self, name: &str, bytes: Bytes) -> Result<Put> {
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        let failure = match self.os.put_opts(&self.path(name)?, bytes.clone().into(), options).await {
            Ok(_) => return Ok(Put::Done),
            Err(e @ (object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. })) => {
                (Put::Refused, e)
            }
            Err(e) => (Put::Done, e),
        };
        match (self.read(name).await?, failure) {
            (Some(found), _) if found.bytes == bytes => Ok(Put::Done),
            (Some(_), _) | (None, (Put::Refused, _)) => Ok(Put::Refused),
            (None, (_, e)) => Err(convert(e)),
        }
    }

    /// Replaces a document only if it is still the one that was read.
    ///
    /// # Errors
    /// The store's.
    pub async fn replace_if_match(&self, name: &str, read: &Document, bytes: Bytes) -> Result<Put> {
        if let Some(local) = &self.local {
            return replace_local(local.clone(), name.to_string(), read.tag.clone(), bytes).await;
        }
        let Tag::Store(version) = &read.tag else {
            return Err(Error::internal("a local document tag met a remote store"));
        };
        let options = PutOptions { mode: PutMode::Update(version.clone()), ..PutOptions::default() };
        match self.os.put_opts(&self.path(name)?, bytes.clone().into(), options).await {
            Ok(_) => Ok(Put::Done),
            Err(e) => match self.read(name).await? {
                Some(found) if found.bytes == bytes => Ok(Put::Done),
                Some(found) if found.tag == read.tag => Err(convert(e)),
                _ => Ok(Put::Refused),
            },
        }
    }

    /// Removes a document only if it is still the one that was read. Object stores keep no such condition: there
    /// nothing is ever removed this way, and the answer is [`Put::Refused`].
    ///
    /// # Errors
    /// The local disk's.
    pub async fn delete_if_match(&self, name: &str, read: &Document) -> Result<Put> {
        match &self.local {
            Some(root) => delete_local(root.clone(), name.to_string(), read.tag.clone()).await,
            None => Ok(Put::Refused),
        }
    }

    /// Whether [`ObjectLog::delete_if_match`] ever removes anything.
    pub fn deletes_conditionally(&self) -> bool {
        self.local.is_some()
    }

    /// Removes a document; its absence is fine.
    ///
    /// # Errors
    /// The store's.
    pub async fn delete(&self, name: &str) -> Result<()> {
        // Not between a replacement's look and its write, which would bring the document back.
        let _lock = match &self.local {
            Some(root) => Some(lock(root.clone()).await?),
            None => None,
        };
        match self.os.delete(&self.path(name)?).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(e) => Err(convert(e)),
        }
    }

    /// Checks that the store keeps the two conditions that commits rely on: it does not create what exists,
    /// and does not replace what is no longer what was read. Writes one document named `name`, which nobody
    /// else may use, and removes it.
    ///
    /// # Errors
    /// [`Reason::StoreLacksConditionalPut`] if it ignores either, or the store's.
    pub async fn probe(&self, name: &str) -> Result<()> {
        let kept = self.keeps_conditions(name).await;
        let removed = self.delete(name).await;
        if kept? {
            return removed;
        }
        Err(Error::new(
            Reason::StoreLacksConditionalPut,
            "the store ignores the conditions of writes (If-None-Match, If-Match): it would let two writers \
             overwrite each other's commits. Nothing was changed; use a store that keeps them",
        ))
    }

    async fn keeps_conditions(&self, name: &str) -> Result<bool> {
        let bytes = |text: &'static str| Bytes::from_static(text.as_bytes());
        if self.create_if_absent(name, bytes("first")).await? != Put::Done {
            return Err(Error::internal(format!("the probe document {name:?} exists")));
        }
        if self.create_if_absent(name, bytes("second")).await? != Put::Refused {
            return Ok(false);
        }
        let Some(first) = self.read(name).await? else {
            return Ok(false);
        };
        if self.replace_if_match(name, &first, bytes("third")).await? != Put::Done {
            return Ok(false);
        }
        Ok(self.replace_if_match(name, &first, bytes("fourth")).await? == Put::Refused)
    }

    /// The names of the documents directly or indirectly below `folder`, sorted, relative to it.
    ///
    /// # Errors
    /// The store's.
    pub async fn list(&self, folder: &str) -> Result<Vec<String>> {
        let prefix = self.path(folder)?;
        let found = self.os.list(Some(&prefix)).try_collect::<Vec<_>>().await;
        let metas = match found {
            Ok(metas) => metas,
            Err(object_store::Error::NotFound { .. }) => Vec::new(),
            Err(e) => return Err(convert(e)),
        };
        let mut names: Vec<String> = metas
            .iter()
            .filter_map(|m| {
                let parts: Vec<_> = m.location.prefix_match(&prefix)?.map(|p| p.as_ref().to_string()).collect();
                let name = parts.join("/");
                (!name.is_empty()).then_some(name)
            })
            .collect();
        names.sort();
        Ok(names)
    }
}

fn content_tag(bytes: &[u8]) -> u64 {
    use std::hash::Hasher;
    let mut hasher = fnv::FnvHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

/// Keeps other processes and tasks from replacing or deleting documents of a local root until dropped.
async fn lock(root: PathBuf) -> Result<std::fs::File> {
    blocking(move || lock_now(&root)).await
}

/// The one file whose lock guards a local root's documents.
const LOCK: &str = ".lock";

/// Where a replacement is written before it takes its place. One is enough: the lock is held.
const STAGED: &str = ".staged";

fn lock_now(root: &std::path::Path) -> std::io::Result<std::fs::File> {
    let folder = root.join(crate::format::paths::REFS);
    std::fs::create_dir_all(&folder)?;
    let file = std::fs::File::options().create(true).truncate(false).write(true).open(folder.join(LOCK))?;
    file.lock()?;
    Ok(file)
}

async fn replace_local(root: PathBuf, name: String, tag: Tag, bytes: Bytes) -> Result<Put> {
    blocking(move || {
        let path = local_path(&root, &name);
        let _lock = lock_now(&root)?;
        if !holds(&path, &tag)? {
            return Ok(Put::Refused);
        }
        let staged = root.join(crate::format::paths::REFS).join(STAGED);
        let mut file = std::fs::File::create(&staged)?;
        std::io::Write::write_all(&mut file, &bytes)?;
        // The rename must not become durable before the bytes it points at.
        file.sync_all()?;
        std::fs::rename(&staged, &path)?;
        Ok(Put::Done)
    })
    .await
}

async fn delete_local(root: PathBuf, name: String, tag: Tag) -> Result<Put> {
    blocking(move || {
        let path = local_path(&root, &name);
        let _lock = lock_now(&root)?;
        if !holds(&path, &tag)? {
            return Ok(Put::Refused);
        }
        std::fs::remove_file(&path)?;
        Ok(Put::Done)
    })
    .await
}

fn local_path(root: &std::path::Path, name: &str) -> PathBuf {
    name.split('/').fold(root.to_path_buf(), |path, part| path.join(part))
}

/// Whether a file has the content of this tag. Only under the lock does that stay so.
fn holds(path: &std::path::Path, tag: &Tag) -> std::io::Result<bool> {
    match std::fs::read(path) {
        Ok(current) => Ok(Tag::Content(content_tag(&current)) == *tag),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> std::io::Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|e| Error::internal("work on a document was cancelled").caused_by(e))?
        .map_err(|e| Error::new(Reason::StoreUnavailable, format!("the local disk failed: {e}")).caused_by(e))
}

pub(in crate::store) fn convert(error: object_store::Error) -> Error {
    let message = match &error {
        object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => {
            "the object store refused the credentials; check them and the bucket's policy".to_string()
        }
        object_store::Error::NotFound { path, .. } => format!("the object {path} is missing"),
        other => format!("the object store failed: {}", redact(&first_line(&other.to_string()))),
    };
    Error::new(Reason::StoreUnavailable, message).caused_by(error)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(300).collect()
}

#[cfg(test)]
mod tests;
