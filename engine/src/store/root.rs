//! One spelling for every graph root. Pure, but for resolving symbolic links of local paths.
//!
//! Lance compares dataset addresses as strings when it decides what a branch still needs, and the
//! engine keys its registries by them, so two spellings of one place must become one here.

use std::path::{Component, Path, PathBuf};

use crate::error::{Error, Reason, Result};

/// Schemes whose stores refuse to create what exists already, which every commit relies on.
const SCHEMES: &[&str] = &["file", "s3", "gs", "az", "memory", "shared-memory"];

/// A canonical root: absolute, no dot segments, no symbolic links, no trailing slash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Root {
    uri: String,
    local: Option<PathBuf>,
}

impl Root {
    /// Reads a local path or a URI.
    ///
    /// # Errors
    /// [`Reason::UnsupportedScheme`] for a scheme outside the list, [`Reason::InvalidArgument`] for a
    /// text that is neither.
    pub fn parse(text: &str) -> Result<Self> {
        if text.trim().is_empty() {
            return Err(Error::new(Reason::InvalidArgument, "the graph's root is empty"));
        }
        match text.split_once("://") {
            None => Self::local(Path::new(text)),
            Some(("file", rest)) => {
                let decoded = percent_encoding::percent_decode_str(rest)
                    .decode_utf8()
                    .map_err(|_| bad(text, "its path is not UTF-8"))?;
                if !decoded.starts_with('/') {
                    return Err(bad(text, "a file URI needs an absolute path: file:///path"));
                }
                Self::local(Path::new(decoded.as_ref()))
            }
            Some((scheme, rest)) if SCHEMES.contains(&scheme) => Self::remote(text, scheme, rest),
            Some((scheme, _)) => Err(Error::new(
                Reason::UnsupportedScheme,
                format!(
                    "{text:?}: the scheme {scheme:?} is not supported; use a local path or one of {}",
                    SCHEMES.join("://, ") + "://"
                ),
            )
            .with("scheme", scheme)),
        }
    }

    fn remote(text: &str, scheme: &str, rest: &str) -> Result<Self> {
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.is_empty() || authority.contains('@') {
            return Err(bad(text, "the bucket is missing or carries credentials"));
        }
        if path.contains(['?', '#']) {
            return Err(bad(text, "queries and fragments have no meaning here"));
        }
        let mut segments = Vec::new();
        for segment in path.split('/') {
            match segment {
                "" | "." => {}
                ".." => {
                    if segments.pop().is_none() {
                        return Err(bad(text, "it climbs above the bucket"));
                    }
                }
                other => segments.push(other),
            }
        }
        if segments.is_empty() {
            return Err(bad(text, "a graph needs a path below the bucket"));
        }
        Ok(Self { uri: format!("{scheme}://{authority}/{}", segments.join("/")), local: None })
    }

    fn local(path: &Path) -> Result<Self> {
        let absolute = std::path::absolute(path)
            .map_err(|e| bad(&path.display().to_string(), &format!("it has no absolute form: {e}")))?;
        let mut clean = PathBuf::new();
        for part in absolute.components() {
            match part {
                Component::ParentDir => {
                    clean.pop();
                }
                Component::CurDir => {}
                other => clean.push(other),
            }
        }
        let resolved = resolve_links(&clean);
        let text = resolved.to_str().ok_or_else(|| bad(&path.display().to_string(), "it is not UTF-8"))?.to_string();
        if text == "/" {
            return Err(bad("/", "a graph cannot be the root of the file system"));
        }
        Ok(Self { uri: text, local: Some(resolved) })
    }

    /// The canonical text, as given to the store.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The store's scheme and bucket, if it is a remote one whose manners are to be checked.
    pub fn remote_store(&self) -> Option<&str> {
        let (scheme, rest) = self.uri.split_once("://")?;
        if matches!(scheme, "memory" | "shared-memory") {
            return None;
        }
        let bucket = rest.split('/').next().unwrap_or_default();
        self.uri.get(..scheme.len() + "://".len() + bucket.len())
    }

    /// The folder of a local root.
    pub fn local_path(&self) -> Option<PathBuf> {
        self.local.clone()
    }

    /// The address of a dataset below the root, on one of its Lance branches.
    pub fn dataset(&self, location: &str, lance_branch: Option<&str>) -> String {
        match lance_branch {
            None => format!("{}/{location}", self.uri),
            Some(branch) => format!("{}/{location}/tree/{branch}", self.uri),
        }
    }
}

/// Resolves links in the longest part of `path` that exists.
fn resolve_links(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    let mut existing = path.to_path_buf();
    loop {
        if let Ok(real) = existing.canonicalize() {
            return missing.iter().rev().fold(real, |p: PathBuf, name| p.join(name));
        }
        match (existing.file_name().map(ToOwned::to_owned), existing.parent()) {
            (Some(name), Some(parent)) => {
                missing.push(name);
                existing = parent.to_path_buf();
            }
            _ => return path.to_path_buf(),
        }
    }
}

fn bad(text: &str, why: &str) -> Error {
    Error::new(Reason::InvalidArgument, format!("{text:?} is not a usable graph root: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_local_place_become_one() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap();
        std::fs::create_dir(real.join("g")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(real.join("g"), real.join("link")).unwrap();
        let plain = Root::parse(real.join("g").to_str().unwrap()).unwrap();
        for other in ["g/", "./g", "x/../g", "link", "link/"] {
            let text = format!("{}/{other}", real.display());
            assert_eq!(Root::parse(&text).unwrap(), plain, "{text}");
            assert_eq!(Root::parse(&format!("file://{text}")).unwrap(), plain, "file://{text}");
        }
    }

    #[test]
    fn remote_roots_are_cleaned_and_bad_ones_refused() {
        let root = Root::parse("s3://bucket//a/./b/../c/").unwrap();
        assert_eq!(root.uri(), "s3://bucket/a/c");
        assert_eq!(root.remote_store(), Some("s3://bucket"));
        assert_eq!(Root::parse("az://container/x/g").unwrap().remote_store(), Some("az://container"));
        for mannered in ["shared-memory://a/b", "/tmp/x"] {
            assert_eq!(Root::parse(mannered).unwrap().remote_store(), None, "{mannered}");
        }
        assert_eq!(root.dataset("nodes/x", Some("b")), "s3://bucket/a/c/nodes/x/tree/b");
        for (text, reason) in [
            ("ftp://x/y", Reason::UnsupportedScheme),
            ("http://x/y", Reason::UnsupportedScheme),
            ("s3://bucket", Reason::InvalidArgument),
            ("s3:///x", Reason::InvalidArgument),
            ("s3://key:secret@bucket/x", Reason::InvalidArgument),
            ("s3://bucket/../x", Reason::InvalidArgument),
            ("file://relative", Reason::InvalidArgument),
            ("", Reason::InvalidArgument),
            ("/", Reason::InvalidArgument),
        ] {
            assert_eq!(Root::parse(text).unwrap_err().reason(), reason, "{text}");
        }
    }
}
