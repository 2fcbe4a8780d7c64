//! How much room things take in the store: what lies under a folder, what each line of a dataset has, and which
//! of its files a version refers to.
//!
//! A line is a dataset's main lineage or one of its branches. Its files are named after the line that wrote them;
//! a fork refers to its origin's files until it rewrites them. Everything is learned from listings and manifests.
//! No data is read and nothing is written.

use std::collections::{HashMap, HashSet};

use ::lance::index::DatasetIndexExt;
use futures::StreamExt;
use lance_table::io::deletion::relative_deletion_file_path;
use object_store::ObjectMeta;
use object_store::path::Path;

use super::{Table, error};
use crate::error::{Error, Reason, Result};
use crate::limits;
use crate::store::{Store, object_log};

/// The folder of a dataset that holds its branches.
const BRANCHES: &str = "tree";
/// The folder of data files, each with a folder of large values beside it.
const DATA: &str = "data";
/// The folder of indexes, one folder a part.
const INDEXES: &str = "_indices";
/// The folder of versions.
const VERSIONS: &str = "_versions";
/// The folder of transactions.
const TRANSACTIONS: &str = "_transactions";
/// The folder that says which branches a dataset has.
const REFS: &str = "_refs";
/// Where looking for the newest version begins on stores that list in no order.
const HINT: &str = "latest_version_hint.json";

/// Some files: how many, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// How many.
    pub count: u64,
    /// Their bytes together.
    pub bytes: u64,
}

impl Files {
    /// Counts others in.
    pub fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    /// These without some of them.
    #[must_use]
    pub fn less(self, other: Self) -> Self {
        Self { count: self.count.saturating_sub(other.count), bytes: self.bytes.saturating_sub(other.bytes) }
    }
}

/// What one line of a dataset has in the store.
#[derive(Clone, Debug, Default)]
pub struct LineFiles {
    /// All its files.
    pub all: Files,
    /// Versions that exist.
    pub versions: u64,
    /// Files that every version needs.
    pub shared: Files,
    // The others, by what is referred to as a whole.
    units: HashMap<String, Files>,
}

impl LineFiles {
    /// Counts a file in. `path` is relative to the line.
    fn note(&mut self, path: &str, bytes: u64) {
        let file = Files { count: 1, bytes };
        self.all.add(file);
        match unit(path) {
            Some(unit) => {
                self.versions += u64::from(is_version(path));
                self.units.entry(unit).or_default().add(file);
            }
            None => self.shared.add(file),
        }
    }

    /// Those of its files that a version refers to, or another line's version does.
    pub fn referred(&self, units: &HashSet<String>) -> Files {
        let mut sum = Files::default();
        units.iter().filter_map(|unit| self.units.get(unit)).for_each(|files| sum.add(*files));
        sum
    }
}

/// What a version refers to as a whole and this file belongs to; `None` if every version needs the file.
fn unit(path: &str) -> Option<String> {
    let (folder, rest) = path.split_once('/').unwrap_or(("", path));
    let first = rest.split('/').next().unwrap_or_default();
    match folder {
        REFS => None,
        VERSIONS if rest == HINT => None,
        DATA => Some(data_unit(first)),
        INDEXES => Some(format!("{INDEXES}/{first}")),
        _ => Some(path.to_string()),
    }
}

/// A data file together with the large values beside it.
fn data_unit(file: &str) -> String {
    format!("{DATA}/{}", file.strip_suffix(".lance").unwrap_or(file))
}

/// Whether a file is a version that others can open. Scratch versions have names that are no numbers.
fn is_version(path: &str) -> bool {
    let name = path.strip_prefix(VERSIONS).and_then(|rest| rest.strip_prefix('/'));
    name.and_then(|n| n.strip_suffix(".manifest")).is_some_and(|n| n.parse::<u64>().is_ok())
}

/// What a folder holds.
#[derive(Clone, Debug, Default)]
pub struct Folder {
    /// The folders directly in it, as paths below the root, in order.
    pub folders: Vec<String>,
    /// The files directly in it.
    pub files: Files,
}

/// The lines of one dataset by name; `None` is its main line.
pub type Lines = HashMap<Option<String>, LineFiles>;

impl Store {
    /// What is directly in a folder below the root; the empty path is the root itself. One listing.
    ///
    /// # Errors
    /// The store's.
    pub async fn folder(&self, path: &str) -> Result<Folder> {
        let prefix = self.place(path)?;
        let found = match self.inner.os.inner.list_with_delimiter(Some(&prefix)).await {
            Ok(found) => found,
            Err(object_store::Error::NotFound { .. }) => return Ok(Folder::default()),
            Err(e) => return Err(object_log::convert(e)),
        };
        let mut out = Folder::default();
        out.folders.extend(found.common_prefixes.iter().filter_map(|p| below(p, &self.inner.base)));
        out.folders.sort_unstable();
        found.objects.iter().for_each(|object| out.files.add(Files { count: 1, bytes: object.size }));
        Ok(out)
    }

    /// Everything directly or indirectly in a folder below the root. Costs as much as listing its files.
    ///
    /// # Errors
    /// The store's.
    pub async fn files_below(&self, path: &str) -> Result<Files> {
        let mut sum = Files::default();
        self.each_below(path, |_, object| {
            sum.add(Files { count: 1, bytes: object.size });
            Ok(())
        })
        .await?;
        Ok(sum)
    }

    /// The lines of the dataset at a location. Costs as much as listing its files, and keeps about 100 bytes in
    /// memory for each.
    ///
    /// # Errors
    /// [`Reason::LimitExceeded`] for more than [`limits::MAX_LISTED_FILES`] of them; the store's.
    pub async fn lines(&self, location: &str) -> Result<Lines> {
        let mut lines = Lines::new();
        let mut total = 0_usize;
        self.each_below(location, |path, object| {
            total += 1;
            if total > limits::MAX_LISTED_FILES {
                return Err(too_many(location));
            }
            let (line, file) = split_line(path);
            lines.entry(line.map(ToString::to_string)).or_default().note(file, object.size);
            Ok(())
        })
        .await?;
        Ok(lines)
    }

    /// Calls `f` with every file below a folder and its path relative to that folder.
    async fn each_below(&self, path: &str, mut f: impl FnMut(&str, &ObjectMeta) -> Result<()> + Send) -> Result<()> {
        let prefix = self.place(path)?;
        let mut found = self.inner.os.inner.list(Some(&prefix));
        while let Some(object) = found.next().await {
            let object = match object {
                Ok(object) => object,
                // It went away meanwhile.
                Err(object_store::Error::NotFound { .. }) => continue,
                Err(e) => return Err(object_log::convert(e)),
            };
            if let Some(relative) = below(&object.location, &prefix) {
                f(&relative, &object)?;
            }
        }
        Ok(())
    }

    fn place(&self, path: &str) -> Result<Path> {
        let full = match (self.inner.base.as_ref(), path) {
            (base, "") => base.to_string(),
            ("", path) => path.to_string(),
            (base, path) => format!("{base}/{path}"),
        };
        Path::parse(&full).map_err(|e| Error::internal(format!("{path:?} is no folder name")).caused_by(e))
    }
}

/// A path relative to one that it is below of.
fn below(path: &Path, prefix: &Path) -> Option<String> {
    let parts: Vec<String> = path.prefix_match(prefix)?.map(|part| part.as_ref().to_string()).collect();
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// The line that a file of a dataset belongs to, and the file's path on it.
fn split_line(path: &str) -> (Option<&str>, &str) {
    let on_branch = path.strip_prefix(BRANCHES).and_then(|rest| rest.strip_prefix('/'));
    match on_branch.and_then(|rest| rest.split_once('/')) {
        Some((line, file)) => (Some(line), file),
        None => (None, path),
    }
}

/// The line of a dataset that an address recorded in one of its versions names; `None` if it is elsewhere.
fn line_at(address: &str, location: &str) -> Option<Option<String>> {
    let address = address.trim_end_matches('/');
    let is_dataset = |text: &str| text.strip_suffix(location).is_some_and(|rest| rest.ends_with('/'));
    if is_dataset(address) {
        return Some(None);
    }
    let (dataset, line) = address.rsplit_once('/')?;
    let dataset = dataset.strip_suffix(BRANCHES)?.strip_suffix('/')?;
    is_dataset(dataset).then(|| Some(line.to_string()))
}

fn too_many(location: &str) -> Error {
    let max = limits::MAX_LISTED_FILES;
    let what = format!(
        "the dataset {location} has more than {max} files, too many to tell them apart; `omnigraph optimize` \
         makes fewer of those that are in use"
    );
    Error::new(Reason::LimitExceeded, what).with("limit", "listed_files").with("max", max)
}

/// What a version refers to, by the line that holds it.
#[derive(Clone, Debug, Default)]
pub struct References(HashMap<Option<String>, HashSet<String>>);

impl References {
    fn add(&mut self, line: Option<&Option<String>>, unit: String) {
        if let Some(line) = line {
            self.0.entry(line.clone()).or_default().insert(unit);
        }
    }

    /// The files it refers to: those on one of the lines, and those on all others.
    pub fn files(&self, lines: &Lines, own: Option<&str>) -> (Files, Files) {
        let (mut here, mut elsewhere) = (Files::default(), Files::default());
        for (line, units) in &self.0 {
            let files = lines.get(line).map(|l| l.referred(units)).unwrap_or_default();
            if line.as_deref() == own { here.add(files) } else { elsewhere.add(files) }
        }
        (here, elsewhere)
    }
}

impl Table {
    /// The files this version refers to, itself and its transaction included. One request at most.
    ///
    /// # Errors
    /// The store's.
    pub async fn references(&self) -> Result<References> {
        let manifest = self.dataset.manifest();
        let own = Some(self.at.branch.clone());
        let bases: HashMap<u32, Option<Option<String>>> =
            manifest.base_paths.iter().map(|(id, base)| (*id, line_at(&base.path, &self.at.location))).collect();
        let line = |base: Option<u32>| match base {
            None => own.as_ref(),
            Some(id) => bases.get(&id).and_then(Option::as_ref),
        };
        let mut out = References::default();
        for fragment in manifest.fragments.iter() {
            for file in fragment.referenced_lance_files() {
                let first = file.path.split('/').next().unwrap_or_default();
                out.add(line(file.base_id), data_unit(first));
            }
            if let Some(deleted) = &fragment.deletion_file {
                out.add(line(deleted.base_id), relative_deletion_file_path(fragment.id, deleted));
            }
        }
        for part in self.dataset.load_indices().await.map_err(error::convert)?.iter() {
            out.add(line(part.base_id), format!("{INDEXES}/{}", part.uuid));
        }
        if let Some(name) = self.dataset.manifest_location().path.filename() {
            out.add(own.as_ref(), format!("{VERSIONS}/{name}"));
        }
        if let Some(name) = &manifest.transaction_file {
            out.add(own.as_ref(), format!("{TRANSACTIONS}/{name}"));
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_belong_to_a_line_and_to_what_is_referred_to_as_a_whole() {
        for (path, line, unit_of, version) in [
            ("data/0a.lance", None, Some("data/0a"), false),
            ("data/0a/01.blob", None, Some("data/0a"), false),
            ("tree/01B/data/0a.lance", Some("01B"), Some("data/0a"), false),
            ("tree/01B/_versions/18446744073709551612.manifest", Some("01B"), None, true),
            ("_versions/18446744073709551612.manifest", None, None, true),
            ("_versions/d9223372036854775999.manifest", None, None, false),
            ("_versions/.tmp_1.manifest_5", None, None, false),
            ("_transactions/3-0a.txn", None, None, false),
            ("_deletions/0-1-2.arrow", None, None, false),
            ("_indices/uuid/page.lance", None, Some("_indices/uuid"), false),
            ("stray", None, None, false),
        ] {
            let (found, file) = split_line(path);
            assert_eq!(found, line, "{path}");
            assert_eq!(unit(file).as_deref(), Some(unit_of.unwrap_or(file)), "{path}");
            assert_eq!(is_version(file), version, "{path}");
        }
        for shared in ["_refs/branches/b.json", "_versions/latest_version_hint.json"] {
            assert_eq!(unit(shared), None, "{shared}");
        }
    }

    #[test]
    fn addresses_of_origins_name_lines() {
        let line = |address: &str| line_at(address, "nodes/1");
        assert_eq!(line("/data/g/nodes/1"), Some(None));
        assert_eq!(line("s3://bucket/g/nodes/1/"), Some(None));
        assert_eq!(line("/data/g/nodes/1/tree/01B"), Some(Some("01B".to_string())));
        for elsewhere in
            ["/data/g/nodes/1-1", "/data/g/nodes/11", "/g/xnodes/1", "/data/g/nodes/2/tree/01B", "", "tree"]
        {
            assert_eq!(line(elsewhere), None, "{elsewhere}");
        }
    }

    #[test]
    fn a_line_adds_up() {
        let mut line = LineFiles::default();
        for (path, bytes) in [
            ("data/a.lance", 10),
            ("data/a/1.blob", 5),
            ("data/b.lance", 20),
            ("_versions/1.manifest", 1),
            ("_versions/2.manifest", 1),
            ("_refs/branches/x.json", 3),
        ] {
            line.note(path, bytes);
        }
        assert_eq!((line.all, line.versions), (Files { count: 6, bytes: 40 }, 2));
        assert_eq!(line.shared, Files { count: 1, bytes: 3 });
        let mut references = References::default();
        references.add(Some(&None), "data/a".into());
        references.add(Some(&None), "data/missing".into());
        references.add(Some(&Some("b".into())), "data/b".into());
        references.add(None, "data/b".into());
        let other = line.clone();
        let lines = Lines::from([(None, line), (Some("b".to_string()), other)]);
        let expected = (Files { count: 2, bytes: 15 }, Files { count: 1, bytes: 20 });
        assert_eq!(references.files(&lines, None), expected);
        assert_eq!(references.files(&lines, Some("c")), (Files::default(), Files { count: 3, bytes: 35 }));
    }
}
