//! Progress on a terminal. Off one, or where only answers are wanted, there is none.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::context::Context;

/// Something under way, until it is dropped. Clones show the same.
#[derive(Clone)]
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Shows `what` is under way, with the bytes done, and of how many if that is known.
    pub(crate) fn bytes(context: &Context, what: &'static str, total: Option<u64>) -> Self {
        if context.quiet || context.json || !std::io::stderr().is_terminal() {
            return Self { bar: ProgressBar::hidden() };
        }
        let template = match total {
            Some(_) => "{msg} {bar:30} {bytes}/{total_bytes} {bytes_per_sec} {elapsed}",
            None => "{spinner} {msg} {bytes} {elapsed}",
        };
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(what);
        bar.enable_steady_tick(Duration::from_millis(120));
        Self { bar }
    }

    /// So many bytes are done by now.
    pub(crate) fn reach(&self, bytes: u64) {
        self.bar.set_position(bytes);
    }

    /// So many more bytes are done.
    pub(crate) fn advance(&self, bytes: u64) {
        self.bar.inc(bytes);
    }

    /// Takes it off the screen.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
