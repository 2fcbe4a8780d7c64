//! The files under judgement: read from disk once, or made up by a test.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use walkdir::{DirEntry, WalkDir};

use crate::Offence;
use crate::source::{Source, module_dir};

/// Folders that hold no work of ours: build output, generated code, installed packages.
const SKIPPED_FOLDERS: [&str; 5] = ["target", "gen", "node_modules", "venv", "__pycache__"];
/// Hidden names that are ours; all other hidden names are skipped.
const KEPT_HIDDEN: [&str; 6] = [".ci", ".github", ".cargo", ".editorconfig", ".gitattributes", ".gitignore"];
/// Files written by tools.
const SKIPPED_FILES: [&str; 1] = ["Cargo.lock"];

/// One text file.
#[derive(Clone, Debug)]
pub struct Text {
    /// Path from the root, with forward slashes.
    pub path: String,
    /// The whole content.
    pub text: String,
}

/// Every text file of the repository, and the Rust sources among them in parsed form.
#[derive(Default)]
pub struct Tree {
    /// All text files, by path.
    pub texts: Vec<Text>,
    /// The Rust sources that parse.
    pub sources: Vec<Source>,
    /// One offence for each Rust source that does not parse.
    pub unparsed: Vec<Offence>,
}

impl Tree {
    /// Reads the tree below `root`. Files that are not UTF-8 are passed over.
    ///
    /// # Errors
    /// When a folder or file cannot be read.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut texts = Vec::new();
        let walk = WalkDir::new(root).sort_by_file_name().into_iter();
        for entry in walk.filter_entry(|entry| entry.depth() == 0 || is_ours(entry)) {
            let entry = entry?;
            if !entry.file_type().is_file() {
                continue;
            }
            let bytes = std::fs::read(entry.path())?;
            let Ok(text) = String::from_utf8(bytes) else {
                continue;
            };
            let below_root = entry.path().strip_prefix(root).unwrap_or(entry.path());
            let parts: Vec<_> = below_root.components().map(|part| part.as_os_str().to_string_lossy()).collect();
            texts.push(Text { path: parts.join("/"), text });
        }
        Ok(Self::new(texts))
    }

    /// A tree of the given `(path, content)` pairs.
    pub fn from_texts<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let texts = files.into_iter().map(|(path, text)| Text { path: path.to_owned(), text: text.to_owned() });
        Self::new(texts.collect())
    }

    fn new(texts: Vec<Text>) -> Self {
        let mut tree = Self { texts, ..Self::default() };
        for text in tree.texts.iter().filter(|text| text.path.ends_with(".rs")) {
            match Source::parse(text) {
                Ok(source) => tree.sources.push(source),
                Err(error) => tree.unparsed.push(Offence::new(
                    &text.path,
                    error.span().start().line,
                    format!("does not parse: {error}"),
                    "make it valid Rust",
                )),
            }
        }
        tree.spread_test_marks();
        tree
    }

    /// The content of the file at `path`.
    pub fn text(&self, path: &str) -> Option<&str> {
        let found = self.texts.iter().find(|text| text.path == path)?;
        Some(&found.text)
    }

    /// The parsed source at `path`.
    pub fn source(&self, path: &str) -> Option<&Source> {
        self.sources.iter().find(|source| source.path == path)
    }

    /// A file mounted under `#[cfg(test)]`, and all that it mounts, is test code as a whole.
    fn spread_test_marks(&mut self) {
        let known: BTreeSet<&str> = self.sources.iter().map(|s| s.path.as_str()).collect();
        let mut files = BTreeSet::new();
        let mut folders = BTreeSet::new();
        for source in &self.sources {
            for mount in source.mounts.iter().filter(|mount| mount.test) {
                for candidate in &mount.candidates {
                    if known.contains(candidate.as_str()) {
                        files.insert(candidate.clone());
                        folders.insert(format!("{}/", module_dir(candidate)));
                    }
                }
            }
        }
        for source in &mut self.sources {
            let below = folders.iter().any(|folder| source.path.starts_with(folder.as_str()));
            source.all_test |= below || files.contains(&source.path);
        }
    }
}

fn is_ours(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy();
    if name.starts_with('.') {
        return KEPT_HIDDEN.contains(&name.as_ref());
    }
    if entry.file_type().is_dir() {
        return !SKIPPED_FOLDERS.contains(&name.as_ref());
    }
    !SKIPPED_FILES.contains(&name.as_ref())
}
