//! How long a file, a function and an inline test module may be.

use crate::source::Block;
use crate::{Offence, Source, Tree};

/// Lines of a source file.
pub const FILE: usize = 600;
/// Lines of a function, from its signature to its closing brace.
pub const FUNCTION: usize = 70;
/// Lines of a function that says why it is long.
pub const EXPLAINED_FUNCTION: usize = 100;
/// Lines of a test module inside the file it tests.
pub const INLINE_TESTS: usize = 80;
/// Opens the reason for a long function, in a comment directly above it.
pub const REASON: &str = "// long:";

const SOURCE_EXTENSIONS: [&str; 7] = [".rs", ".proto", ".py", ".ts", ".go", ".sh", ".java"];

/// Files, functions and inline test modules over their limits.
pub fn check(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    for file in &tree.texts {
        let lines = file.text.lines().count();
        let source = SOURCE_EXTENSIONS.iter().any(|extension| file.path.ends_with(extension));
        if source && lines > FILE {
            offences.push(Offence::new(
                &file.path,
                1,
                format!("file of {lines} lines, limit {FILE}"),
                "split it by noun, and move unit tests to a sibling `tests.rs`",
            ));
        }
    }
    for source in &tree.sources {
        let lines: Vec<&str> = source.text.lines().collect();
        let functions = source.functions.iter();
        offences.extend(functions.filter_map(|function| long_function(source, &lines, function)));
        let modules = source.inline_modules.iter();
        offences.extend(modules.filter_map(|module| long_test_module(source, module)));
    }
    offences
}

fn long_function(source: &Source, lines: &[&str], function: &Block) -> Option<Offence> {
    let explained = has_reason(lines, function);
    let limit = if explained { EXPLAINED_FUNCTION } else { FUNCTION };
    let length = function.length();
    if length <= limit {
        return None;
    }
    let fix = if explained {
        "split it; no reason allows more".to_owned()
    } else {
        format!("split it, or say why above it with `{REASON} …` ({EXPLAINED_FUNCTION} at most)")
    };
    Some(Offence::new(
        &source.path,
        *function.lines.start(),
        format!("function `{}` of {length} lines, limit {limit}", function.name),
        fix,
    ))
}

/// Looks at the comment lines that touch the function: among its attributes and right above them.
fn has_reason(lines: &[&str], function: &Block) -> bool {
    let line_at = |line: usize| lines.get(line - 1).map_or("", |line| line.trim());
    let is_reason = |line: &str| {
        let reason = line.strip_prefix(REASON);
        reason.is_some_and(|reason| !reason.trim().is_empty())
    };
    let above = (1..function.top).rev().map(line_at);
    let above = above.take_while(|line| line.starts_with("//"));
    let between = (function.top..*function.lines.start()).map(line_at);
    above.chain(between).any(is_reason)
}

fn long_test_module(source: &Source, module: &Block) -> Option<Offence> {
    let (start, length) = (*module.lines.start(), module.length());
    let inline_test = !source.all_test && source.is_test_line(start);
    if !inline_test || length <= INLINE_TESTS {
        return None;
    }
    let name = &module.name;
    Some(Offence::new(
        &source.path,
        start,
        format!("test module `{name}` of {length} lines inside its subject, limit {INLINE_TESTS}"),
        "move it to a sibling `tests.rs`",
    ))
}
