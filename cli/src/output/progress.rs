//! Progress on a terminal. Off one, or where only answers are wanted, there is none.

use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use omnigraph_engine::maintenance::progress::Observer;

use crate::context::Context;

/// How often something is drawn anew.
const TICK: Duration = Duration::from_millis(120);

/// What is shown of tables before it is known how many there are, and from then on.
const UNCOUNTED: &str = "{spinner} {prefix} {elapsed}";
const COUNTED: &str = "{prefix} {bar:30} {pos}/{len} tables {elapsed} {msg}";

/// Something under way, until it is dropped. Clones show the same.
#[derive(Clone)]
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Shows `what` is under way, with the bytes done, and of how many if that is known.
    pub(crate) fn bytes(context: &Context, what: &'static str, total: Option<u64>) -> Self {
        let template = match total {
            Some(_) => "{msg} {bar:30} {bytes}/{total_bytes} {bytes_per_sec} {elapsed}",
            None => "{spinner} {msg} {bytes} {elapsed}",
        };
        let bar = bar(context, total, template);
        bar.set_message(what);
        Self { bar }
    }

    /// So many bytes are done by now.
    pub(crate) fn reach(&self, bytes: u64) {
        self.bar.set_position(bytes);
    }

    /// Takes it off the screen.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// The tables that a command looks after: how many of all are done, and one that is being worked on. Until it is
/// dropped.
#[derive(Debug)]
pub(crate) struct Tables {
    bar: ProgressBar,
    /// The tables that were begun and are not done, in order.
    busy: Mutex<Vec<String>>,
}

impl Tables {
    /// Shows that `what` is under way.
    pub(crate) fn show(context: &Context, what: impl Into<String>) -> Arc<Self> {
        let bar = bar(context, None, UNCOUNTED);
        bar.set_prefix(what.into());
        Arc::new(Self { bar, busy: Mutex::default() })
    }

    /// Takes it off the screen.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Names the table that was begun last.
    fn name(&self, change: impl FnOnce(&mut Vec<String>)) {
        if let Ok(mut busy) = self.busy.lock() {
            change(&mut busy);
            self.bar.set_message(busy.last().cloned().unwrap_or_default());
        }
    }
}

impl Observer for Tables {
    fn tables(&self, total: usize) {
        set_style(&self.bar, COUNTED);
        self.bar.set_length(total as u64);
    }

    fn table_begun(&self, key: &str) {
        self.name(|busy| busy.push(key.to_string()));
    }

    fn table_done(&self, key: &str) {
        self.bar.inc(1);
        self.name(|busy| {
            if let Some(at) = busy.iter().position(|other| other == key) {
                busy.remove(at);
            }
        });
    }
}

/// Something to draw on, where anybody looks.
fn bar(context: &Context, total: Option<u64>, template: &str) -> ProgressBar {
    if context.quiet || context.json || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    set_style(&bar, template);
    bar.enable_steady_tick(TICK);
    bar
}

fn set_style(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_counted_and_the_last_one_begun_is_named() {
        let tables = Tables { bar: ProgressBar::hidden(), busy: Mutex::default() };
        let shown = || (tables.bar.position(), tables.bar.length(), tables.bar.message());
        tables.tables(4);
        tables.table_done("node:Idle");
        assert_eq!(shown(), (1, Some(4), String::new()));
        tables.table_begun("node:A");
        tables.table_begun("node:B");
        assert_eq!(shown(), (1, Some(4), "node:B".into()));
        tables.table_done("node:B");
        assert_eq!(shown(), (2, Some(4), "node:A".into()));
        // Two datasets of one type are two tables.
        tables.table_begun("node:A");
        tables.table_done("node:A");
        assert_eq!(shown(), (3, Some(4), "node:A".into()));
        tables.table_done("node:A");
        assert_eq!(shown(), (4, Some(4), String::new()));
    }

    #[test]
    fn every_template_is_one() {
        for template in [UNCOUNTED, COUNTED] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }
}
