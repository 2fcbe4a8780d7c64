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

/// A row of the table.
type Row = (&'static str, fn(&Counts) -> String);

/// How one kind of run is told.
#[derive(Debug)]
pub(crate) struct Story {
    /// Of a place, while the run is on.
    progress: fn(&Counts) -> String,
    rows: &'static [Row],
    /// What it means that nothing was found.
    pub(crate) moral: &'static str,
}

/// Servers were killed.
pub(crate) const KILLS: Story = Story {
    progress: |c| format!("{} commits, {} kills", c.acknowledged, c.kills),
    rows: &[
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
        ("slowest write over a kill", |c| seconds(c.slowest)),
    ],
    moral: "everything acknowledged is there, once",
};

/// There was upkeep.
pub(crate) const UPKEEP: Story = Story {
    progress: |c| {
        let (u, rounds) = (c.upkeep, c.upkeep.optimized + c.upkeep.repaired + c.upkeep.cleaned);
        format!("{} commits, {rounds} runs of upkeep, {} old reads, {} gone", c.acknowledged, u.same, u.gone)
    },
    rows: &[
        ("commits acknowledged", |c| c.acknowledged.to_string()),
        ("commits found in history", |c| c.commits.to_string()),
        ("slowest write", |c| seconds(c.slowest)),
        ("reads", |c| c.reads.to_string()),
        ("old commits noted", |c| c.upkeep.noted.to_string()),
        ("  found unchanged later, reads", |c| c.upkeep.same.to_string()),
        ("  gone when they might be", |c| c.upkeep.gone.to_string()),
        ("rows of the slow scan", |c| c.upkeep.slow_rows.to_string()),
        ("runs of optimize", |c| c.upkeep.optimized.to_string()),
        ("runs of repair", |c| c.upkeep.repaired.to_string()),
        ("runs of cleanup", |c| c.upkeep.cleaned.to_string()),
        ("  told to try again (exit 4)", |c| c.upkeep.busy.to_string()),
        ("  longest", |c| seconds(c.upkeep.longest)),
        ("commits made unreadable", |c| c.upkeep.removed.to_string()),
        ("  left readable in the end", |c| c.upkeep.readable.to_string()),
        ("files before the first write", |c| c.upkeep.sizes[0].files.to_string()),
        ("  after a quarter of the run", |c| c.upkeep.sizes[1].files.to_string()),
        ("  peak of the second half", |c| c.upkeep.sizes[2].files.to_string()),
        ("  in the end", |c| c.upkeep.sizes[3].files.to_string()),
        ("bytes before the first write", |c| mebibytes(c.upkeep.sizes[0].bytes)),
        ("  after a quarter of the run", |c| mebibytes(c.upkeep.sizes[1].bytes)),
        ("  peak of the second half", |c| mebibytes(c.upkeep.sizes[2].bytes)),
        ("  in the end", |c| mebibytes(c.upkeep.sizes[3].bytes)),
        ("operations recovered", |c| c.recoveries.to_string()),
    ],
    moral: "nobody noticed the upkeep, and it kept the store small",
};

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1024 * 1024))
}

impl Story {
    /// How far the run is.
    pub(crate) fn progress(&self, places: &[Arc<Place>], elapsed: Duration) {
        let mut line = format!("{:>5} s", elapsed.as_secs());
        for place in places {
            let counts = place.ledger.book().counts;
            let (done, violations) = ((self.progress)(&counts), place.ledger.violated());
            line.push_str(&format!("  {}: {done}, {violations} violations", place.name));
        }
        say(&line);
    }

    /// The table of the whole run.
    pub(crate) fn table(&self, places: &[Arc<Place>]) -> String {
        let counts: Vec<Counts> = places.iter().map(|place| place.ledger.book().counts).collect();
        let cells = |first: &str, cells: Vec<String>| {
            let cells: String = cells.iter().map(|cell| format!("{cell:>12}")).collect();
            format!("{first:<32}{cells}")
        };
        let heads = cells("", places.iter().map(|place| place.name.to_string()).collect());
        let rows = self.rows.iter().map(|(name, of)| cells(name, counts.iter().map(of).collect()));
        std::iter::once(heads).chain(rows).collect::<Vec<String>>().join("\n")
    }
}
