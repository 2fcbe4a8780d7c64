//! Every module opens with a `//!` header that says what it is for.

use crate::{Offence, Tree};

/// Sources without a header, or with one that says nothing.
pub fn check(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    for source in &tree.sources {
        let header = source.text.lines().map(str::trim).skip_while(|line| line.is_empty());
        let said: Vec<&str> = header.map_while(|line| line.strip_prefix("//!")).collect();
        let said = said.join(" ");
        let what = match said.trim() {
            "" => "no module header",
            text if text.to_lowercase().starts_with("placeholder") => "placeholder module header",
            _ => continue,
        };
        offences.push(Offence::new(
            &source.path,
            1,
            what,
            "open the file with `//!` lines: what it is for and what it may not do",
        ));
    }
    offences
}
