//! The text format that Prometheus reads, version 0.0.4. Pure.

use std::fmt::{Display, Write};

/// The content type of the format.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows, and starts anew with the process or what it counts.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts per bucket, with a sum.
    Histogram,
}

/// Samples under way to whoever asked. All samples of a metric follow its head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page(String);

impl Page {
    /// Begins a metric.
    pub fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        self.0.push_str("# HELP ");
        self.0.push_str(name);
        self.0.push(' ');
        escape(&mut self.0, help, false);
        self.0.push_str("\n# TYPE ");
        self.0.push_str(name);
        self.0.push(' ');
        self.0.push_str(kind);
        self.0.push('\n');
    }

    /// Adds a sample of the metric that was begun last. Label values may be any text.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        for (position, (label, text)) in labels.iter().enumerate() {
            self.0.push(if position == 0 { '{' } else { ',' });
            self.0.push_str(label);
            self.0.push_str("=\"");
            escape(&mut self.0, text, true);
            self.0.push('"');
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, " {value}");
    }

    /// Adds metrics that are text already.
    pub fn append(&mut self, text: &str) {
        self.0.push_str(text);
    }

    /// The text.
    pub fn into_text(self) -> String {
        self.0
    }
}

/// Escapes what the format gives a meaning: backslashes and line ends, and quotes between quotes.
fn escape(out: &mut String, text: &str, quoted: bool) {
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '"' if quoted => out.push_str("\\\""),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_the_form_of_the_format() {
        let mut page = Page::default();
        page.family("a_total", Kind::Counter, "Say \"a\\b\"\nor not.");
        page.sample("a_total", &[], 1);
        page.sample("a_total", &[("x", "1"), ("y", "\"\\\n\tü{}=,")], u64::MAX);
        page.family("b", Kind::Gauge, "B.");
        page.sample("b", &[("le", "")], 0.25);
        page.append("c 1\n");
        let expected = "# HELP a_total Say \"a\\\\b\"\\nor not.\n\
                        # TYPE a_total counter\n\
                        a_total 1\n\
                        a_total{x=\"1\",y=\"\\\"\\\\\\n\tü{}=,\"} 18446744073709551615\n\
                        # HELP b B.\n\
                        # TYPE b gauge\n\
                        b{le=\"\"} 0.25\n\
                        c 1\n";
        assert_eq!(page.into_text(), expected);
    }
}
