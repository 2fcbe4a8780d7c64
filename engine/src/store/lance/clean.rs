//! What a cleanup sees of datasets, and what it takes away: versions of one line, forks, the files of datasets that
//! nothing refers to.
//!
//! Which versions go is decided above and given to Lance as an exact set; Lance finds the files that nothing needs
//! any more, and keeps what registered forks refer to. Files that no version refers to are left alone for Lance's own
//! seven days, since a writer may be about to commit them.

use std::collections::BTreeSet;

use ::lance::dataset::cleanup::{CleanupPolicy, RemovalStats};
use ::lance::dataset::refs::check_valid_branch;
use futures::{FutureExt, StreamExt, TryStreamExt};
use lance_table::io::commit::{ManifestNamingScheme, VERSIONS_DIR};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStoreExt};

use super::{Table, error};
use crate::error::{Error, Reason, Result};
use crate::limits;
use crate::store::{Store, object_log};

/// Settings by which Lance removes versions on its own. This engine never writes them.
const AUTO_CLEANUP: &str = "lance.auto_cleanup.";

/// One version that exists on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionFile {
    /// Its number.
    pub version: u64,
    /// When the store got it, microseconds since the epoch.
    pub stored_at: i64,
}

/// A registered fork of a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    /// Its name.
    pub name: String,
    /// The line it was forked from; `None` for the main one.
    pub parent: Option<String>,
    /// The version it was forked from, which is also the number of its first one.
    pub parent_version: u64,
    /// When it was made, microseconds since the epoch, in whole seconds.
    pub created_at: i64,
}

/// What a cleanup of one line removed, or would.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Bytes.
    pub bytes: u64,
    /// Versions.
    pub versions: u64,
    /// Files that could not be removed. The next cleanup tries again.
    pub failed: u64,
}

impl From<RemovalStats> for Removed {
    fn from(stats: RemovalStats) -> Self {
        Self { bytes: stats.bytes_removed, versions: stats.old_versions, failed: stats.failed_deletes }
    }
}

/// The objects below a folder.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    objects: Vec<ObjectMeta>,
}

impl Contents {
    /// How many.
    pub fn count(&self) -> usize {
        self.objects.len()
    }

    /// Their bytes.
    pub fn bytes(&self) -> u64 {
        self.objects.iter().map(|o| o.size).sum()
    }

    /// When the store got the newest, microseconds since the epoch; `None` if there is none.
    pub fn newest(&self) -> Option<i64> {
        self.objects.iter().map(|o| o.last_modified.timestamp_micros()).max()
    }
}

impl Store {
    /// The versions of a line, in order. One listing; reads none of them.
    ///
    /// # Errors
    /// The store's.
    pub async fn version_files(&self, location: &str, branch: Option<&str>) -> Result<Vec<VersionFile>> {
        let line = line_folder(location, branch);
        let found = self.contents(&format!("{line}/{VERSIONS_DIR}")).await?;
        let mut versions: Vec<VersionFile> = found.objects.iter().filter_map(version_file).collect();
        versions.sort_unstable_by_key(|v| v.version);
        Ok(versions)
    }

    /// Removes scratch versions that their makers left behind before a time, in microseconds since the epoch; with
    /// `really` off, finds out what that would free.
    ///
    /// # Errors
    /// The store's.
    pub async fn clean_scratch(
        &self,
        location: &str,
        branch: Option<&str>,
        before: i64,
        really: bool,
    ) -> Result<Removed> {
        let line = line_folder(location, branch);
        let found = self.contents(&format!("{line}/{VERSIONS_DIR}")).await?;
        let is_left = |o: &ObjectMeta| is_scratch(o) && o.last_modified.timestamp_micros() <= before;
        let left = found.objects.into_iter().filter(is_left).map(|o| (o.location, o.size)).collect::<Vec<_>>();
        let bytes = match really {
            true => self.remove_objects(left).await?,
            false => left.iter().map(|(_, size)| size).sum(),
        };
        Ok(Removed { bytes, ..Removed::default() })
    }

    /// The registered forks of a dataset, by name; none if there is no dataset. Costs a few requests a fork.
    ///
    /// # Errors
    /// The store's.
    pub async fn forks(&self, location: &str) -> Result<Vec<Fork>> {
        let Some(table) = self.open_newest(location, None).await? else {
            return Ok(Vec::new());
        };
        let found = table.dataset.branches().list().await.map_err(error::convert)?;
        let mut forks: Vec<Fork> = found
            .into_iter()
            .map(|(name, fork)| Fork {
                name,
                parent: fork.parent_branch,
                parent_version: fork.parent_version,
                created_at: i64::try_from(fork.create_at).unwrap_or(i64::MAX).saturating_mul(1_000_000),
            })
            .collect();
        forks.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(forks)
    }

    /// Everything directly or indirectly below a folder.
    ///
    /// # Errors
    /// The store's.
    pub async fn contents(&self, folder: &str) -> Result<Contents> {
        let prefix = self.object_path(folder)?;
        match self.inner.os.inner.list(Some(&prefix)).try_collect().await {
            Ok(objects) => Ok(Contents { objects }),
            Err(object_store::Error::NotFound { .. }) => Ok(Contents::default()),
            Err(e) => Err(object_log::convert(e)),
        }
    }

    /// Everything a fork of a dataset has of its own.
    ///
    /// # Errors
    /// The store's.
    pub async fn fork_contents(&self, location: &str, name: &str) -> Result<Contents> {
        self.contents(&line_folder(location, Some(name))).await
    }

    /// Removes exactly these versions of a line with what only they need; with `really` off, finds out what that
    /// would remove. The newest version of the line stays whatever the set says. What registered forks refer to stays.
    ///
    /// # Errors
    /// [`Reason::Drift`] if the dataset is set up to remove versions on its own; the store's.
    pub async fn clean_line(
        &self,
        location: &str,
        branch: Option<&str>,
        versions: &BTreeSet<u64>,
        really: bool,
    ) -> Result<Removed> {
        let Some(table) = self.open_newest(location, branch).await? else {
            return Ok(Removed::default());
        };
        table.ensure_unattended()?;
        // Every field is set: the default policy would remove all versions but the newest.
        let policy = CleanupPolicy {
            before_timestamp: None,
            before_version: None,
            versions: Some(versions.iter().copied().collect()),
            delete_unverified: false,
            error_if_tagged_old_versions: false,
            clean_referenced_branches: false,
            delete_rate_limit: None,
        };
        let operation = table.dataset.cleanup(policy);
        let stats = if really {
            operation.execute().boxed().await.map_err(error::convert)?
        } else {
            operation.explain().boxed().await.map_err(error::convert)?.stats
        };
        Ok(stats.into())
    }

    /// Removes a fork with everything it has of its own, registered or not. Refused while forks of it exist.
    ///
    /// # Errors
    /// [`Reason::Internal`] for a name this engine does not make; the store's.
    pub async fn delete_fork(&self, location: &str, name: &str) -> Result<()> {
        check_valid_branch(name).map_err(error::convert)?;
        // The folder of a name with slashes may hold other forks.
        if name.contains('/') {
            return Err(Error::internal(format!("{name:?} is no name of a fork that this engine made")));
        }
        let Some(table) = self.open_newest(location, None).await? else {
            return Ok(());
        };
        let mut handle = table.dataset.as_ref().clone();
        handle.force_delete_branch(name).boxed().await.map_err(error::convert)
    }

    /// Whether nothing is left of a dataset but what [`Store::remove_dataset`] leaves.
    pub fn is_removed_dataset(&self, location: &str, found: &Contents) -> bool {
        found.count() == 0 || found.count() == 1 && self.lasting(location, found).is_some()
    }

    /// Removes what was found of a dataset that nothing refers to, and nothing that came since. If it ever had a
    /// second version, the file of its newest stays: its path is then never used again, since running processes
    /// know tables by path and version.
    ///
    /// Returns the bytes removed.
    ///
    /// # Errors
    /// The store's, after the other objects were tried.
    pub async fn remove_dataset(&self, location: &str, found: &Contents) -> Result<u64> {
        let lasting = self.lasting(location, found);
        let goes = found.objects.iter().filter(|o| lasting.as_ref() != Some(&o.location));
        let goes = goes.map(|o| (o.location.clone(), o.size));
        // Without a version nobody begins to use the dataset, so the other files are nobody's by then.
        let versions = format!("/{VERSIONS_DIR}/");
        let (first, rest): (Vec<_>, Vec<_>) = goes.partition(|(path, _)| path.as_ref().contains(&versions));
        let bytes = self.remove_objects(first).await? + self.remove_objects(rest).await?;
        self.prune(location).await;
        Ok(bytes)
    }

    /// Removes objects, given with their sizes. An error is told after all were tried.
    async fn remove_objects(&self, objects: Vec<(Path, u64)>) -> Result<u64> {
        let done: Vec<(object_store::Result<()>, u64)> = futures::stream::iter(objects)
            .map(|(path, size)| async move { (self.inner.os.inner.delete(&path).await, size) })
            .buffer_unordered(limits::DELETES_AT_ONCE)
            .collect()
            .await;
        let mut bytes = 0;
        let mut failure = None;
        for (outcome, size) in done {
            match outcome {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => bytes += size,
                Err(e) => failure = Some(object_log::convert(e)),
            }
        }
        failure.map_or(Ok(bytes), Err)
    }

    /// The file that keeps a dataset's path taken.
    fn lasting(&self, location: &str, found: &Contents) -> Option<Path> {
        let folder = self.object_path(&format!("{location}/{VERSIONS_DIR}")).ok()?;
        let own = found.objects.iter().filter(|o| o.location.prefix_matches(&folder));
        let newest = own.filter_map(|o| Some((version_file(o)?.version, &o.location))).max_by_key(|(v, _)| *v);
        newest.filter(|(version, _)| *version > 1).map(|(_, path)| path.clone())
    }

    /// Removes folders of a local root that hold nothing any more.
    async fn prune(&self, location: &str) {
        let Some(root) = self.root().local_path() else { return };
        let folder = location.split('/').fold(root, |path, part| path.join(part));
        // What stays behind is an empty folder.
        let _ = tokio::task::spawn_blocking(move || remove_empty(&folder)).await;
    }

    fn object_path(&self, below: &str) -> Result<Path> {
        let full = match self.inner.base.as_ref() {
            "" => below.to_string(),
            base => format!("{base}/{below}"),
        };
        Path::parse(&full).map_err(|e| Error::internal(format!("{below:?} is no folder name")).caused_by(e))
    }
}

impl Table {
    /// Refuses a dataset that removes versions by itself with every commit.
    fn ensure_unattended(&self) -> Result<()> {
        match self.dataset.manifest().config.keys().find(|key| key.starts_with(AUTO_CLEANUP)) {
            None => Ok(()),
            Some(key) => Err(Error::new(
                Reason::Drift,
                format!(
                    "the dataset {} has the setting {key}, by which Lance removes versions on its own; omnigraph never \
                     writes it. Remove it, then run the cleanup again",
                    self.at.location
                ),
            )
            .with("location", &self.at.location)),
        }
    }
}

fn line_folder(location: &str, branch: Option<&str>) -> String {
    match branch {
        None => location.to_string(),
        Some(branch) => format!("{location}/tree/{branch}"),
    }
}

/// The version an object is; `None` for other files and for scratch versions.
fn version_file(object: &ObjectMeta) -> Option<VersionFile> {
    let name = object.location.filename()?;
    let version = ManifestNamingScheme::detect_scheme(name)?.parse_version(name)?;
    Some(VersionFile { version, stored_at: object.last_modified.timestamp_micros() })
}

/// Whether it is a version that only its maker sees.
fn is_scratch(object: &ObjectMeta) -> bool {
    let name = object.location.filename().unwrap_or_default();
    let number = name.strip_prefix('d').and_then(|rest| rest.strip_suffix(".manifest"));
    number.is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
}

fn remove_empty(folder: &std::path::Path) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())) {
        remove_empty(&entry.path());
    }
    // Refused for a folder that holds anything.
    let _ = std::fs::remove_dir(folder);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str) -> ObjectMeta {
        ObjectMeta {
            location: Path::from(format!("g/nodes/1/_versions/{name}")),
            last_modified: Default::default(),
            size: 1,
            e_tag: None,
            version: None,
        }
    }

    #[test]
    fn versions_are_told_from_other_files() {
        for (name, version) in [
            ("18446744073709551612.manifest", Some(3)),
            ("7.manifest", Some(7)),
            ("d9223372036854775999.manifest", None),
            ("latest_version_hint.json", None),
            (".tmp_1.manifest_5", None),
        ] {
            assert_eq!(version_file(&object(name)).map(|v| v.version), version, "{name}");
        }
    }
}
