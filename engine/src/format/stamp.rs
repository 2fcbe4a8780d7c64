//! The storage format stamp: one number that says which shapes a graph was written in.

use std::collections::HashMap;

use crate::error::{Error, Reason, Result};

/// Key of the stamp in the manifest's schema metadata.
pub const KEY: &str = "omnigraph:internal_schema_version";
/// The only format this release reads and writes.
pub const CURRENT: u32 = 4;

/// The metadata a new manifest carries.
pub fn metadata() -> HashMap<String, String> {
    HashMap::from([(KEY.to_string(), CURRENT.to_string())])
}

/// Decides whether this release may read a manifest with this metadata.
///
/// # Errors
/// [`Reason::StorageStampTooOld`], [`Reason::StorageStampTooNew`] or [`Reason::TornInit`], each with the
/// remedy.
pub fn check(metadata: &HashMap<String, String>, root: &str) -> Result<u32> {
    let torn = |what: &str| {
        Error::new(
            Reason::TornInit,
            format!(
                "{root} holds a manifest {what}: an interrupted creation or foreign files. If nothing in \
                 it is needed, remove the folder and create the graph again"
            ),
        )
        .with("root", root)
    };
    let text = metadata.get(KEY).ok_or_else(|| torn("without a format stamp"))?;
    let stamp: u32 = text.parse().map_err(|_| torn(&format!("whose format stamp {text:?} is no number")))?;
    match stamp.cmp(&CURRENT) {
        std::cmp::Ordering::Equal => Ok(stamp),
        std::cmp::Ordering::Less => Err(Error::new(
            Reason::StorageStampTooOld,
            format!(
                "{root} has storage format {stamp}; this release reads only {CURRENT}. Write an archive with the \
                 release that wrote the graph (`omnigraph export --all {root} --file graph.zst`) and make a new graph of \
                 it with this one (`omnigraph import graph.zst NEW_ROOT`)"
            ),
        )
        .with("stamp", stamp)
        .with("served", CURRENT)),
        std::cmp::Ordering::Greater => Err(Error::new(
            Reason::StorageStampTooNew,
            format!("{root} has storage format {stamp}; this release reads only {CURRENT}: upgrade omnigraph first"),
        )
        .with("stamp", stamp)
        .with("served", CURRENT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stamp_but_the_current_one_is_refused_with_its_own_reason() {
        let at = |text: &str| HashMap::from([(KEY.to_string(), text.to_string())]);
        assert_eq!(check(&metadata(), "r").unwrap(), CURRENT);
        assert_eq!(check(&at("3"), "r").unwrap_err().reason(), Reason::StorageStampTooOld);
        assert_eq!(check(&at("5"), "r").unwrap_err().reason(), Reason::StorageStampTooNew);
        for torn in ["abc", "", "-1", "99999999999999"] {
            assert_eq!(check(&at(torn), "r").unwrap_err().reason(), Reason::TornInit, "{torn}");
        }
        assert_eq!(check(&HashMap::new(), "r").unwrap_err().reason(), Reason::TornInit);
    }
}
