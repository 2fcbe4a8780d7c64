//! Parts of the benchmark that take a graph of their own.

pub mod merging;
pub mod searching;
pub mod upkeep;

use std::path::Path;
use std::time::Duration;

/// What a part can fail with.
pub type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Names and measured values, printed at the end.
#[derive(Default)]
pub struct Table(Vec<(String, String)>);

impl Table {
    /// Adds a line.
    pub fn row(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.push((name.into(), value.into()));
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let width = self.0.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, value) in &self.0 {
            writeln!(f, "{name:<width$}  {value}")?;
        }
        Ok(())
    }
}

/// The middle one.
pub fn median(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort();
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// Files below a folder, and their bytes.
///
/// # Errors
/// The file system's.
pub fn usage(folder: &Path) -> Outcome<(u64, u64)> {
    let (mut files, mut bytes) = (0, 0);
    if !folder.exists() {
        return Ok((0, 0));
    }
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            let inner = usage(&entry.path())?;
            files += inner.0;
            bytes += inner.1;
        } else {
            files += 1;
            bytes += entry.metadata()?.len();
        }
    }
    Ok((files, bytes))
}
