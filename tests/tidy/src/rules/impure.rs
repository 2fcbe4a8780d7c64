//! Library code takes time, ids and chance as arguments, and neither prints nor panics on a whim.

use crate::paths::{Name, Use};
use crate::{Offence, Source, Tree};

const LIBRARIES: [&str; 5] = ["engine/src/", "service/src/", "sdk-rust/src/", "cli/src/", "proto/src/"];
/// Modules of a library that hold the injected clock and ids.
const SOURCES_OF_CHANCE: [&str; 2] = ["clock.rs", "id.rs"];
/// The modules of the command line that write to the terminal.
const OUTPUT: &str = "cli/src/output";

const PRINTING: [&str; 4] = ["print", "println", "eprint", "eprintln"];
const UNFINISHED: [&str; 3] = ["dbg", "todo", "unimplemented"];
const WALL_CLOCK: [[&str; 2]; 4] = [["SystemTime", "now"], ["Utc", "now"], ["Local", "now"], ["Timestamp", "now"]];
const FRESH_IDS: [[&str; 2]; 4] = [["Ulid", "new"], ["Generator", "new"], ["Uuid", "new_v4"], ["Uuid", "now_v7"]];
const CHANCE: [&str; 3] = ["rand", "fastrand", "getrandom"];

/// Printing, panicking shortcuts, and hidden sources of time, ids and chance.
pub fn check(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    for source in &tree.sources {
        let Some(inside) = LIBRARIES.iter().find_map(|library| source.path.strip_prefix(library)) else {
            continue;
        };
        for name in &source.names {
            if source.is_test_line(name.line) {
                continue;
            }
            if let Some((what, fix)) = judge(source, inside, name) {
                offences.push(Offence::new(&source.path, name.line, what, fix));
            }
        }
    }
    offences
}

fn judge(source: &Source, inside: &str, name: &Name) -> Option<(String, &'static str)> {
    let spelled = name.segments.join("::");
    if name.usage == Use::Macro {
        if PRINTING.contains(&name.last()) && !source.path.starts_with(OUTPUT) {
            let fix = "log with tracing, or write through cli/src/output";
            return Some((format!("`{spelled}!` prints"), fix));
        }
        if UNFINISHED.contains(&name.last()) {
            let fix = "finish it or return a typed error";
            return Some((format!("`{spelled}!` in library code"), fix));
        }
        return None;
    }
    if is_unwrap(name) {
        let fix = "return an error with `?`, or `expect` with the reason it cannot fail";
        return Some((format!("`{}` in library code", name.last()), fix));
    }
    if SOURCES_OF_CHANCE.contains(&inside) {
        return None;
    }
    if WALL_CLOCK.iter().any(|call| name.ends_with(call)) {
        let fix = "take the time from the injected clock (`clock.rs`)";
        return Some((format!("`{spelled}` reads the wall clock"), fix));
    }
    let fix = "take ids and chance from the injected source (`id.rs`)";
    if FRESH_IDS.iter().any(|call| name.ends_with(call)) {
        return Some((format!("`{spelled}` makes an id"), fix));
    }
    let path = name.segments.len() > 1 && !name.member;
    if path && CHANCE.contains(&name.first()) {
        return Some((format!("`{spelled}` is chance"), fix));
    }
    None
}

/// `.unwrap()` and `Option::unwrap` as a value.
fn is_unwrap(name: &Name) -> bool {
    let empty_call = name.usage == Use::Call { empty: true };
    name.last() == "unwrap" && ((name.member && empty_call) || name.segments.len() > 1)
}
