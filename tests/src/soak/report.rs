//! What a soak tells: a line now and then, and a table in the end.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use super::ledger::Counts;
use super::place::Place;

/// Tells something.
pub(crate) fn say(line: &str) {
    // A closed pipe ends the output, not the run.
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// How far the run is.
pub(crate) fn progress(places: &[Arc<Place>], elapsed: Duration) {
    let mut line = format!("{:>5} s", elapsed.as_secs());
    for place in places {
        let counts = place.ledger.book().counts;
        let violations = place.ledger.violated();
        line.push_str(&format!(
            "  {}: {} commits, {} kills, {violations} violations",
            place.name, counts.acknowledged, counts.kills
        ));
    }
    say(&line);
}

/// A row of the table.
type Row = (&'static str, fn(&Counts) -> String);

const ROWS: [Row; 11] = [
    ("commits acknowledged", |c| c.acknowledged.to_string()),
    ("  of those after a repetition", |c| c.replayed.to_string()),
    ("commits found in history", |c| c.commits.to_string()),
    ("retries", |c| c.retries.to_string()),
    ("conflicts", |c| c.conflicts.to_string()),
    ("refusals", |c| c.refusals.to_string()),
    ("reads checked", |c| c.reads.to_string()),
    ("branches made and deleted", |c| c.branches.to_string()),
    ("servers killed", |c| c.kills.to_string()),
    ("operations recovered", |c| c.recoveries.to_string()),
    ("slowest write over a kill", |c| format!("{:.1} s", c.slowest.as_secs_f64())),
];

/// The table of the whole run.
pub(crate) fn table(places: &[Arc<Place>]) -> String {
    let counts: Vec<Counts> = places.iter().map(|place| place.ledger.book().counts).collect();
    let cells = |first: &str, cells: Vec<String>| {
        let cells: String = cells.iter().map(|cell| format!("{cell:>10}")).collect();
        format!("{first:<30}{cells}")
    };
    let heads = cells("", places.iter().map(|place| place.name.to_string()).collect());
    let rows = ROWS.iter().map(|(name, of)| cells(name, counts.iter().map(of).collect()));
    std::iter::once(heads).chain(rows).collect::<Vec<String>>().join("\n")
}
