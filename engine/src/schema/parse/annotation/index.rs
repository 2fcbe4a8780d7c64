//! Reads `@index`: its columns, then what it is for and how vectors are compared.

use super::{Draft, Header, Parser};
use crate::model::{IndexDecl, IndexKind, Metric};
use crate::schema::lex::Token;
use crate::schema::problem::{Part, hint, shown};

const KINDS: [&str; 2] = [IndexKind::Text.as_str(), IndexKind::Ngram.as_str()];
const METRICS: [&str; 3] = [Metric::Cosine.as_str(), Metric::L2.as_str(), Metric::Dot.as_str()];

/// What stands between the parentheses.
#[derive(Default)]
struct Written {
    /// Each with where it stands.
    columns: Vec<(String, usize)>,
    kind: Option<IndexKind>,
    metric: Option<Metric>,
}

impl Parser<'_> {
    /// Reads what follows `@index` and gives it to the type.
    pub(super) fn index(&mut self, draft: &mut Draft, header: Header<'_>) -> Option<()> {
        let mut written = match self.cursor.at(Token::OpenParen) {
            true => self.parenthesised(Self::index_arguments)?,
            false => Written::default(),
        };
        if written.columns.is_empty() {
            written.columns.push((self.followed(draft, header, "@index(name)")?, header.offset));
        }
        for (i, (_, offset)) in written.columns.iter().enumerate() {
            self.problems.locate(draft.owner.at(Part::Index(draft.indexes.len(), i)), *offset);
        }
        draft.indexes.push(IndexDecl {
            columns: written.columns.into_iter().map(|(name, _)| name).collect(),
            kind: written.kind.unwrap_or_default(),
            metric: written.metric,
        });
        Some(())
    }

    /// Columns, then arguments by name; one of either at least.
    fn index_arguments(&mut self) -> Option<Written> {
        let mut written = Written::default();
        let mut named = false;
        loop {
            if self.cursor.at(Token::Name) && self.cursor.next_is(Token::Equals) {
                named = true;
                self.index_argument(&mut written)?;
            } else if self.cursor.at(Token::Name) && !named {
                written.columns.push((self.cursor.text().to_string(), self.cursor.offset()));
                self.cursor.advance();
            } else {
                self.unexpected(match named {
                    true => "`)`, or an argument like `kind=\"text\"`; columns stand before arguments",
                    false => "the name of a property, or an argument like `kind=\"text\"`",
                });
                return None;
            }
            if !self.cursor.take(Token::Comma) || self.cursor.at(Token::CloseParen) {
                return Some(written);
            }
        }
    }

    /// Reads `kind="…"` or `metric="…"`; `None` if it is neither, or given before, which is reported.
    fn index_argument(&mut self, written: &mut Written) -> Option<()> {
        let (name, offset) = (self.cursor.text(), self.cursor.offset());
        let known = match name {
            "kind" => written.kind.is_none(),
            "metric" => written.metric.is_none(),
            _ => {
                self.problems.report_at(offset, || {
                    let meant = hint(name, ["kind", "metric"]);
                    format!("found unknown argument {}, expected `kind` or `metric`{meant}", shown(name))
                });
                return None;
            }
        };
        if !known {
            self.problems.report_at(offset, || format!("found a second `{name}`, expected one"));
            return None;
        }
        self.cursor.advance();
        self.cursor.advance();
        match name {
            "kind" => written.kind = Some(self.one_of(name, &KINDS, IndexKind::parse)?),
            _ => written.metric = Some(self.one_of(name, &METRICS, Metric::parse)?),
        }
        Some(())
    }

    /// The meaning of the quoted text here, one of `names`; `None` if it has none, which is reported.
    fn one_of<T>(&mut self, what: &str, names: &[&str], meaning: impl Fn(&str) -> Option<T>) -> Option<T> {
        let listed = || names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
        if !self.cursor.at(Token::Text) {
            self.unexpected_instead_of(|| format!("one of {} as quoted text", listed()));
            return None;
        }
        let offset = self.cursor.offset();
        let text = self.quoted();
        let meant = meaning(&text);
        if meant.is_none() {
            self.problems.report_at(offset, || {
                let hint = hint(&text, names.iter().copied());
                format!("found unknown {what} {}, expected one of {}{hint}", shown(&text), listed())
            });
        }
        meant
    }
}
