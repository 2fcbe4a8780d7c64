//! Reads annotations and gives them to the property or the type they belong to.

mod index;

use super::{Bound, Draft, Keyword, Parser, WrittenRange};
use crate::model::{Annotation, Cardinality, CheckConstraint};
use crate::schema::lex::Token;
use crate::schema::literal::Literal;
use crate::schema::problem::Part;

/// An annotation as it stands in the text.
#[derive(Clone, Copy)]
struct Header<'s> {
    name: &'s str,
    /// Its `@`.
    offset: usize,
    /// The property it follows.
    property: Option<usize>,
}

impl<'s> Parser<'s> {
    /// Reads the annotation here, which follows `property` if there is one.
    pub(super) fn annotation(&mut self, draft: &mut Draft, property: Option<usize>) {
        let offset = self.cursor.offset();
        self.cursor.advance();
        if !self.cursor.at(Token::Name) {
            return self.unexpected("the name of an annotation");
        }
        let header = Header { name: self.cursor.text(), offset, property };
        self.cursor.advance();
        // What is wrong was reported where it was found; there is nothing left to say here.
        let _reported = match header.name {
            "key" | "unique" => self.columns(draft, header),
            "index" => self.index(draft, header),
            "range" => self.range(draft, header),
            "check" => self.check(draft, header),
            "card" => self.cardinality(draft, header),
            "description" => self.description(draft, header),
            _ => self.verbatim(draft, header),
        };
    }

    /// Whether an interface has no place for it, which is reported.
    fn refused(&mut self, draft: &Draft, header: Header<'_>) -> bool {
        let refused = draft.keyword == Keyword::Interface;
        if refused {
            self.problems.report_at(header.offset, || {
                format!("found `@{}` in an interface, expected it on the types that implement it", header.name)
            });
        }
        refused
    }

    /// The name of the property it follows; if there is none, that is reported.
    fn followed(&mut self, draft: &Draft, header: Header<'_>, example: &str) -> Option<String> {
        let property = header.property.and_then(|i| draft.properties.get(i));
        if property.is_none() {
            self.problems.report_at(header.offset, || {
                format!("`@{}` here must name its property, like `{example}`", header.name)
            });
        }
        property.map(|p| p.name.clone())
    }

    fn columns(&mut self, draft: &mut Draft, header: Header<'_>) -> Option<()> {
        let columns = if self.cursor.at(Token::OpenParen) {
            self.parenthesised(Self::column_names)?
        } else {
            let example = format!("@{}(name)", header.name);
            vec![(self.followed(draft, header, &example)?, header.offset)]
        };
        if header.name == "key" && !draft.key.is_empty() {
            self.problems.report_at(header.offset, || {
                "found a second `@key`, expected all properties of the key in one, like \
                 `@key(first, second)`"
                    .to_string()
            });
            return None;
        }
        if self.refused(draft, header) {
            return None;
        }
        for (i, (_, offset)) in columns.iter().enumerate() {
            let part = match header.name {
                "key" => Part::Key(i),
                _ => Part::Unique(draft.unique.len(), i),
            };
            self.problems.locate(draft.owner.at(part), *offset);
        }
        let names = columns.into_iter().map(|(name, _)| name).collect();
        match header.name {
            "key" => draft.key = names,
            _ => draft.unique.push(names),
        }
        Some(())
    }

    /// At least one property name, each with where it stands.
    fn column_names(&mut self) -> Option<Vec<(String, usize)>> {
        let mut names = Vec::new();
        loop {
            if !self.cursor.at(Token::Name) {
                self.unexpected("the name of a property");
                return None;
            }
            names.push((self.cursor.text().to_string(), self.cursor.offset()));
            self.cursor.advance();
            if !self.cursor.take(Token::Comma) || self.cursor.at(Token::CloseParen) {
                return Some(names);
            }
        }
    }

    fn range(&mut self, draft: &mut Draft, header: Header<'_>) -> Option<()> {
        if !self.cursor.at(Token::OpenParen) {
            self.unexpected("the bounds in parentheses, like `@range(0..150)`");
            return None;
        }
        let (named, min, max) = self.parenthesised(|parser| {
            let named = parser.leading_name();
            let min = parser.bound()?;
            parser.expect(Token::Dots, "`..` between the bounds")?;
            let max = parser.bound()?;
            Some((named, min, max))
        })?;
        let (property, offset) = match named {
            Some(named) => named,
            None => (self.followed(draft, header, "@range(name, 0..150)")?, header.offset),
        };
        if min.is_none() && max.is_none() {
            self.problems.report_at(header.offset, || {
                "found a range without bounds, expected a lowest value, a highest value or both".to_string()
            });
            return None;
        }
        if !self.refused(draft, header) {
            draft.ranges.push(WrittenRange { property, offset, min, max });
        }
        Some(())
    }

    /// The property named ahead of other arguments.
    fn leading_name(&mut self) -> Option<(String, usize)> {
        if !self.cursor.at(Token::Name) {
            return None;
        }
        let named = (self.cursor.text().to_string(), self.cursor.offset());
        self.cursor.advance();
        self.expect(Token::Comma, "`,` after the name of the property");
        Some(named)
    }

    /// One bound; the inner `None` is an open one, written as nothing or `*`.
    fn bound(&mut self) -> Option<Option<Bound>> {
        let offset = self.cursor.offset();
        let literal = match self.cursor.token() {
            Token::Number => {
                let digits = self.cursor.text().to_string();
                self.cursor.advance();
                Literal::Number(digits)
            }
            Token::Text => Literal::Text(self.quoted()),
            Token::Star => {
                self.cursor.advance();
                return Some(None);
            }
            Token::Dots | Token::CloseParen => return Some(None),
            _ => {
                self.unexpected("a bound: a number, a quoted date or time, or nothing");
                return None;
            }
        };
        Some(Some(Bound { literal, offset }))
    }

    fn check(&mut self, draft: &mut Draft, header: Header<'_>) -> Option<()> {
        const EXPECTED: &str = "a regular expression as quoted text";
        if !self.cursor.at(Token::OpenParen) {
            self.unexpected("a regular expression in parentheses, like `@check(\"^[a-z]+$\")`");
            return None;
        }
        let (named, pattern, offset) = self.parenthesised(|parser| {
            let named = parser.leading_name();
            let offset = parser.cursor.offset();
            if !parser.cursor.at(Token::Text) {
                parser.unexpected(EXPECTED);
                return None;
            }
            Some((named, parser.quoted(), offset))
        })?;
        let (property, property_offset) = match named {
            Some(named) => named,
            None => {
                let example = "@check(name, \"^[a-z]+$\")";
                (self.followed(draft, header, example)?, header.offset)
            }
        };
        if !self.refused(draft, header) {
            let index = draft.checks.len();
            self.problems.locate(draft.owner.at(Part::Check(index)), property_offset);
            self.problems.locate(draft.owner.at(Part::CheckPattern(index)), offset);
            draft.checks.push(CheckConstraint { property, pattern });
        }
        Some(())
    }

    fn cardinality(&mut self, draft: &mut Draft, header: Header<'_>) -> Option<()> {
        if !self.cursor.at(Token::OpenParen) {
            self.unexpected("the least and the most edges in parentheses, like `@card(0..1)`");
            return None;
        }
        let (min, max) = self.parenthesised(|parser| {
            let min = parser.count()?;
            parser.expect(Token::Dots, "`..` between the least and the most edges")?;
            let max = parser.count()?;
            Some((min.unwrap_or(0), max))
        })?;
        if self.refused(draft, header) {
            return None;
        }
        if draft.cardinality.is_some() {
            self.problems
                .report_at(header.offset, || "found a second `@card`, expected one for an edge type".to_string());
            return None;
        }
        self.problems.locate(draft.owner.at(Part::Cardinality), header.offset);
        draft.cardinality = Some(Cardinality { min, max });
        Some(())
    }

    /// A number of edges; the inner `None` is an open one, written as nothing or `*`.
    fn count(&mut self) -> Option<Option<u64>> {
        match self.cursor.token() {
            Token::Star => {
                self.cursor.advance();
                Some(None)
            }
            Token::Dots | Token::CloseParen => Some(None),
            Token::Number if let Ok(count) = self.cursor.text().parse() => {
                self.cursor.advance();
                Some(Some(count))
            }
            _ => {
                self.unexpected("a whole number of edges, `*` or nothing");
                None
            }
        }
    }

    fn description(&mut self, draft: &mut Draft, header: Header<'_>) -> Option<()> {
        let text = self.parenthesised(|parser| {
            if !parser.cursor.at(Token::Text) {
                parser.unexpected("a description as quoted text");
                return None;
            }
            Some(parser.quoted())
        })?;
        let second = match header.property.and_then(|i| draft.properties.get_mut(i)) {
            Some(property) if property.description.is_empty() => {
                property.description = text;
                false
            }
            None if draft.description.is_none() => {
                draft.description = Some(text);
                false
            }
            _ => true,
        };
        if second {
            self.problems
                .report_at(header.offset, || "found a second description of the same thing, expected one".to_string());
        }
        Some(())
    }

    /// Keeps what has no meaning here as it is.
    fn verbatim(&mut self, draft: &mut Draft, header: Header<'_>) -> Option<()> {
        let arguments = match (self.cursor.at(Token::OpenParen), self.cursor.enclosed()) {
            (false, _) => "",
            (true, Some(arguments)) => {
                let open = self.cursor.index();
                self.cursor.leave(open);
                arguments
            }
            (true, None) => {
                self.problems
                    .report_at(self.cursor.offset(), || "this parenthesis is not closed; expected `)`".to_string());
                self.cursor.skip_item();
                return None;
            }
        };
        let annotation = Annotation { name: header.name.to_string(), arguments: arguments.to_string() };
        let annotations = match header.property.and_then(|i| draft.properties.get_mut(i)) {
            Some(property) => &mut property.annotations,
            None => {
                let place = draft.owner.at(Part::Annotation(draft.annotations.len()));
                self.problems.locate(place, header.offset);
                &mut draft.annotations
            }
        };
        annotations.push(annotation);
        Some(())
    }
}
