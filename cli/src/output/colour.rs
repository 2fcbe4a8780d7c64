//! Colours of what a terminal shows. Off a terminal, and where `NO_COLOR` is set, there are none.

use std::io::IsTerminal;

/// What a text is written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
    /// A failure.
    BoldRed,
}

impl Ink {
    /// Inks for things that only have to differ from their neighbours, such as lanes.
    const CYCLE: [Self; 6] = [Self::Red, Self::Green, Self::Yellow, Self::Blue, Self::Magenta, Self::Cyan];

    /// The ink of the n-th of such things.
    pub(crate) fn nth(n: usize) -> Self {
        Self::CYCLE[n % Self::CYCLE.len()]
    }

    fn code(self) -> &'static str {
        match self {
            Self::Red => "31",
            Self::Green => "32",
            Self::Yellow => "33",
            Self::Blue => "34",
            Self::Magenta => "35",
            Self::Cyan => "36",
            Self::BoldRed => "1;31",
        }
    }
}

/// Whether there are colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Coloured,
}

impl Paint {
    /// For what goes to stdout.
    pub(crate) fn stdout() -> Self {
        Self::wanted(&std::io::stdout())
    }

    /// For what goes to stderr.
    pub(crate) fn stderr() -> Self {
        Self::wanted(&std::io::stderr())
    }

    fn wanted(place: &impl IsTerminal) -> Self {
        match place.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()) {
            true => Self::Coloured,
            false => Self::Plain,
        }
    }

    /// The text in this ink.
    pub(crate) fn with(self, ink: Ink, text: &str) -> String {
        match self {
            Self::Plain => text.to_string(),
            Self::Coloured => format!("\u{1b}[{}m{text}\u{1b}[0m", ink.code()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_has_no_codes_and_coloured_text_ends_them() {
        assert_eq!(Paint::Plain.with(Ink::Red, "a"), "a");
        assert_eq!(Paint::Coloured.with(Ink::Green, "a"), "\u{1b}[32ma\u{1b}[0m");
        assert_eq!(Ink::nth(6), Ink::nth(0));
        assert_ne!(Ink::nth(1), Ink::nth(0));
    }
}
