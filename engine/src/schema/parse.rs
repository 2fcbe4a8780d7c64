//! Reads schema text. Grammar only: what a schema may say is decided in `check`.
//!
//! Reading never stops at the first mistake: each is reported, what it spoilt is skipped or stood in
//! for, and reading goes on, so that one round of corrections is enough. Each step consumes a token or
//! ends, and nothing recurses, so time is linear and the stack flat whatever the input.

mod annotation;
mod body;
mod cursor;
mod finish;

use super::lex::{Token, lex};
use super::literal::Literal;
use super::problem::{Owner, Part, Problems, nearest};
use crate::error::{Error, Reason, Result};
use crate::limits;
use crate::model::{
    Annotation, Cardinality, CheckConstraint, Endpoints, EntityKind, EntityType, IndexDecl, InterfaceType, Property,
    Schema,
};
use cursor::Cursor;

/// Reads `.pg` text into a schema that satisfies every rule. Types have no ids yet and properties have
/// id 0; the properties and indexes of interfaces are in the types that implement them, behind their own.
///
/// # Errors
/// [`Reason::InvalidSchema`] with every offender, its line and its column;
/// [`Reason::LimitExceeded`] if the text is longer than [`limits::MAX_SCHEMA_BYTES`].
pub fn parse(source: &str) -> Result<Schema> {
    if source.len() > limits::MAX_SCHEMA_BYTES {
        return Err(Error::new(
            Reason::LimitExceeded,
            format!("the schema text has {} bytes, more than the {} allowed", source.len(), limits::MAX_SCHEMA_BYTES),
        )
        .with("bytes", source.len())
        .with("limit", limits::MAX_SCHEMA_BYTES));
    }
    let mut problems = Problems::in_text(source);
    let lexed = lex(source, &mut problems);
    let mut parser = Parser {
        cursor: Cursor::new(source, lexed),
        problems,
        schema: Schema::default(),
        ranges: Vec::new(),
        last_surprise: None,
    };
    parser.declarations();
    parser.finish()
}

struct Parser<'s> {
    cursor: Cursor<'s>,
    problems: Problems<'s>,
    schema: Schema,
    /// Ranges wait for the types of all properties, by index of the type.
    ranges: Vec<(usize, Vec<WrittenRange>)>,
    /// Where the last unexpected token was reported, to report each once.
    last_surprise: Option<usize>,
}

/// A range as written, before the property's type is known.
struct WrittenRange {
    property: String,
    offset: usize,
    min: Option<Bound>,
    max: Option<Bound>,
}

/// One end of a range as written.
struct Bound {
    literal: Literal,
    offset: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keyword {
    Interface,
    Node,
    Edge,
}

impl Keyword {
    const NAMES: [&'static str; 3] = ["interface", "node", "edge"];

    fn of(text: &str) -> Option<Self> {
        match text {
            "interface" => Some(Self::Interface),
            "node" => Some(Self::Node),
            "edge" => Some(Self::Edge),
            _ => None,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Interface => "interface",
            Self::Node => "node",
            Self::Edge => "edge",
        }
    }
}

/// A declaration while it is read.
struct Draft {
    keyword: Keyword,
    owner: Owner,
    name: String,
    implements: Vec<String>,
    properties: Vec<Property>,
    key: Vec<String>,
    unique: Vec<Vec<String>>,
    indexes: Vec<IndexDecl>,
    ranges: Vec<WrittenRange>,
    checks: Vec<CheckConstraint>,
    cardinality: Option<Cardinality>,
    endpoints: Option<Endpoints>,
    description: Option<String>,
    annotations: Vec<Annotation>,
}

impl Draft {
    fn new(keyword: Keyword, schema: &Schema) -> Self {
        let owner = match keyword {
            Keyword::Interface => Owner::Interface(schema.interfaces.len()),
            Keyword::Node | Keyword::Edge => Owner::Type(schema.types.len()),
        };
        Self {
            keyword,
            owner,
            name: String::new(),
            implements: Vec::new(),
            properties: Vec::new(),
            key: Vec::new(),
            unique: Vec::new(),
            indexes: Vec::new(),
            ranges: Vec::new(),
            checks: Vec::new(),
            cardinality: None,
            endpoints: None,
            description: None,
            annotations: Vec::new(),
        }
    }

    fn into_interface(self) -> InterfaceType {
        InterfaceType {
            name: self.name,
            properties: self.properties,
            indexes: self.indexes,
            description: self.description.unwrap_or_default(),
            annotations: self.annotations,
        }
    }

    /// The type without its ranges, which are read later.
    fn into_type(self, kind: EntityKind) -> EntityType {
        EntityType {
            id: String::new(),
            kind,
            name: self.name,
            implements: self.implements,
            properties: self.properties,
            key: self.key,
            unique: self.unique,
            indexes: self.indexes,
            ranges: Vec::new(),
            checks: self.checks,
            cardinality: self.cardinality,
            endpoints: self.endpoints,
            description: self.description.unwrap_or_default(),
            annotations: self.annotations,
        }
    }
}

impl Parser<'_> {
    fn declarations(&mut self) {
        while !self.cursor.at(Token::End) {
            let Some(keyword) = self.declared_keyword() else {
                self.unexpected("`interface`, `node` or `edge`");
                self.cursor.skip_declaration();
                continue;
            };
            self.cursor.advance();
            let draft = self.declaration(keyword);
            self.add(draft);
        }
    }

    /// The keyword here; a misspelt one before a name is reported and taken as meant.
    fn declared_keyword(&mut self) -> Option<Keyword> {
        if !self.cursor.at(Token::Name) {
            return None;
        }
        let text = self.cursor.text();
        if let Some(keyword) = Keyword::of(text) {
            return Some(keyword);
        }
        if !self.cursor.next_is(Token::Name) {
            return None;
        }
        let meant = nearest(text, Keyword::NAMES)?;
        self.unexpected(&format!("`interface`, `node` or `edge`; did you mean `{meant}`?"));
        Keyword::of(meant)
    }

    fn declaration(&mut self, keyword: Keyword) -> Draft {
        let mut draft = Draft::new(keyword, &self.schema);
        let expected = format!("the name of the {}", keyword.as_str());
        draft.name = self.name_of(&draft, Part::Name, &expected);
        if keyword == Keyword::Edge {
            draft.endpoints = Some(self.endpoints(&draft));
        }
        if self.cursor.at(Token::Name) && self.cursor.text() == "implements" {
            self.implements(&mut draft);
        }
        while self.cursor.at(Token::At) {
            self.annotation(&mut draft, None);
        }
        let needs_body = keyword != Keyword::Edge;
        if !self.cursor.at(Token::OpenBrace) && (needs_body || !self.cursor.at_declaration_end()) {
            self.unexpected("`{`");
            self.cursor.skip_to_body();
        }
        if self.cursor.at(Token::OpenBrace) {
            self.cursor.advance();
            self.body(&mut draft);
        } else if self.cursor.at_property() {
            self.body(&mut draft);
        }
        draft
    }

    fn endpoints(&mut self, draft: &Draft) -> Endpoints {
        self.expect(Token::Colon, "`:` and the source node type");
        let from = self.name_of(draft, Part::From, "the name of the source node type");
        self.expect(Token::Arrow, "`->` and the destination node type");
        let to = self.name_of(draft, Part::To, "the name of the destination node type");
        Endpoints { from, to }
    }

    fn implements(&mut self, draft: &mut Draft) {
        if draft.keyword != Keyword::Node {
            let keyword = draft.keyword.as_str();
            self.problems.report_at(self.cursor.offset(), || {
                format!("found `implements` on an {keyword}, but only node types implement interfaces")
            });
        }
        self.cursor.advance();
        loop {
            let index = draft.implements.len();
            if !self.cursor.at(Token::Name) {
                self.unexpected("the name of an interface");
                return;
            }
            let name = self.name_of(draft, Part::Implements(index), "the name of an interface");
            if draft.keyword == Keyword::Node {
                draft.implements.push(name);
            }
            if !self.cursor.take(Token::Comma) {
                return;
            }
        }
    }

    fn add(&mut self, mut draft: Draft) {
        let kind = match draft.keyword {
            Keyword::Interface => return self.schema.interfaces.push(draft.into_interface()),
            Keyword::Node => EntityKind::Node,
            Keyword::Edge => EntityKind::Edge,
        };
        if !draft.ranges.is_empty() {
            self.ranges.push((self.schema.types.len(), std::mem::take(&mut draft.ranges)));
        }
        self.schema.types.push(draft.into_type(kind));
    }

    /// The name here, remembered as `part`; if there is none, an empty one that raises no more problems.
    fn name_of(&mut self, draft: &Draft, part: Part, expected: &str) -> String {
        let place = draft.owner.at(part);
        self.problems.locate(place, self.cursor.offset());
        if self.cursor.at(Token::Name) {
            let name = self.cursor.text().to_string();
            self.cursor.advance();
            return name;
        }
        self.unexpected(expected);
        self.problems.silence(place);
        String::new()
    }

    /// Reports the token here as found in place of `expected`, once.
    fn unexpected(&mut self, expected: &str) {
        self.unexpected_instead_of(|| expected.to_string());
    }

    /// As [`Parser::unexpected`], for descriptions that cost something.
    fn unexpected_instead_of(&mut self, expected: impl FnOnce() -> String) {
        let offset = self.cursor.offset();
        if self.last_surprise == Some(offset) {
            return;
        }
        self.last_surprise = Some(offset);
        let cursor = &self.cursor;
        self.problems.report_at(offset, || format!("found {}, expected {}", cursor.describe(), expected()));
    }

    /// Takes a `token` or reports its absence.
    fn expect(&mut self, token: Token, expected: &str) -> Option<()> {
        if self.cursor.take(token) {
            return Some(());
        }
        self.unexpected(expected);
        None
    }
}

#[cfg(test)]
mod tests;
