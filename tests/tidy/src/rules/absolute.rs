//! No file names a folder of one particular machine.

use crate::{Offence, Tree};

/// Folders that exist on somebody's machine only. Split, so that this file does not hold them.
const FOLDERS: [[&str; 2]; 4] = [["/wo", "rk/"], ["/ro", "ot/"], ["/home", "/"], ["/Use", "rs/"]];

/// Absolute paths of a machine, in any text file.
pub fn check(tree: &Tree) -> Vec<Offence> {
    let folders = FOLDERS.map(|halves| halves.concat());
    let mut offences = Vec::new();
    for file in &tree.texts {
        for (index, line) in file.text.lines().enumerate() {
            for folder in folders.iter().filter(|folder| names(line, folder)) {
                offences.push(Offence::new(
                    &file.path,
                    index + 1,
                    format!("absolute path `{folder}`"),
                    "use a path relative to the repository, a variable or a temporary folder",
                ));
            }
        }
    }
    offences
}

/// Whether the folder stands at the start of a path and not inside a longer one or a URL.
fn names(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && !"._-/}$)*".contains(c)) || line[..at].ends_with("file://")
    })
}
