//! Where the graphs of a cluster are stored: `<storage>/graphs/<id>.omni`. Reads one key of one file and
//! nothing else of a cluster's configuration.

use std::path::Path;

use crate::failure::{Failure, Result};

/// The file in a cluster's folder that says where its storage is.
const FILE: &str = "cluster.yaml";

/// The storage of a cluster that is given by its folder or its storage's URI.
pub(crate) fn storage(cluster: &str) -> Result<String> {
    if cluster.contains("://") {
        return Ok(cluster.to_string());
    }
    let folder = Path::new(cluster);
    let file = folder.join(FILE);
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(cluster.to_string()),
        Err(e) => return Err(Failure::io(format!("cannot read {}", file.display()), &e)),
    };
    let Some(storage) = storage_key(&text) else {
        return Ok(cluster.to_string());
    };
    // A relative storage is meant from the file, not from where the command happens to run.
    if storage.contains("://") || Path::new(&storage).is_absolute() {
        return Ok(storage);
    }
    let storage = storage.strip_prefix("file:").unwrap_or(&storage);
    folder
        .join(storage)
        .to_str()
        .map(ToString::to_string)
        .ok_or_else(|| Failure::usage(format!("{} is not UTF-8", folder.display())))
}

/// The value of the top-level key `storage`, if there is one.
fn storage_key(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix("storage:"))?.trim();
    let quoted = |quote: char| value.strip_prefix(quote)?.split_once(quote).map(|(inside, _)| inside);
    let plain = || value.split(" #").next().unwrap_or_default().trim_end();
    let value = quoted('"').or_else(|| quoted('\'')).unwrap_or_else(plain);
    (!value.is_empty() && !value.starts_with('#')).then(|| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_found_and_unquoted() {
        for (text, expected) in [
            ("storage: s3://b/p\n", Some("s3://b/p")),
            ("# head\nlisten: x\nstorage:   './data #1'  # note\n", Some("./data #1")),
            ("storage: \"a b\"", Some("a b")),
            ("storage: data # note", Some("data")),
            ("  storage: nested", None),
            ("storage:\n", None),
            ("storage: # later", None),
        ] {
            assert_eq!(storage_key(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_folder_without_the_file_is_the_storage() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        assert_eq!(storage(path).unwrap(), path);
        std::fs::write(folder.path().join(FILE), "storage: ./data\n").unwrap();
        assert_eq!(storage(path).unwrap(), format!("{path}/./data"));
        assert_eq!(storage("s3://b/p").unwrap(), "s3://b/p");
    }
}
