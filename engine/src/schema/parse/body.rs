//! Reads the inside of a declaration: properties and their types. Annotations are read next door.

use super::{Draft, Parser};
use crate::model::{Property, PropertyType, ScalarType};
use crate::schema::lex::Token;
use crate::schema::literal::unescape;
use crate::schema::problem::{Part, hint, shown};

/// Every type name of the language.
const TYPE_NAMES: [&str; 13] =
    ["String", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "Date", "DateTime", "Blob", "Vector", "enum"];

/// What other languages call our types.
const FOREIGN_NAMES: [(&str, &str); 20] = [
    ("text", "String"),
    ("str", "String"),
    ("varchar", "String"),
    ("boolean", "Bool"),
    ("int", "I64"),
    ("integer", "I64"),
    ("int32", "I32"),
    ("int64", "I64"),
    ("long", "I64"),
    ("bigint", "I64"),
    ("uint32", "U32"),
    ("uint64", "U64"),
    ("float", "F64"),
    ("float32", "F32"),
    ("float64", "F64"),
    ("double", "F64"),
    ("number", "F64"),
    ("timestamp", "DateTime"),
    ("bytes", "Blob"),
    ("binary", "Blob"),
];

pub(super) fn scalar(name: &str) -> Option<ScalarType> {
    Some(match name {
        "String" => ScalarType::String,
        "Bool" => ScalarType::Bool,
        "I32" => ScalarType::I32,
        "I64" => ScalarType::I64,
        "U32" => ScalarType::U32,
        "U64" => ScalarType::U64,
        "F32" => ScalarType::F32,
        "F64" => ScalarType::F64,
        "Date" => ScalarType::Date,
        "DateTime" => ScalarType::DateTime,
        "Blob" => ScalarType::Blob,
        _ => return None,
    })
}

fn type_hint(name: &str) -> String {
    let lower = name.to_lowercase();
    match FOREIGN_NAMES.iter().find(|(foreign, _)| *foreign == lower) {
        Some((_, ours)) => format!("; did you mean `{ours}`?"),
        None => hint(name, TYPE_NAMES),
    }
}

impl Parser<'_> {
    /// Reads up to and including the closing brace.
    pub(super) fn body(&mut self, draft: &mut Draft) {
        let mut last_property = None;
        loop {
            match self.cursor.token() {
                Token::CloseBrace => return self.cursor.advance(),
                Token::Comma | Token::Semicolon => {
                    self.cursor.advance();
                    last_property = None;
                }
                Token::At => self.annotation(draft, last_property),
                Token::Name if !self.cursor.at_declaration() => {
                    last_property = self.property(draft);
                }
                // A declaration cannot stand in a body: the brace was forgotten.
                Token::Name | Token::End => return self.unexpected("`}`"),
                _ => {
                    self.unexpected("a property, an annotation or `}`");
                    self.cursor.advance();
                    self.cursor.skip_item();
                }
            }
        }
    }

    /// Reads `name: Type?`; the index of the property.
    fn property(&mut self, draft: &mut Draft) -> Option<usize> {
        let index = draft.properties.len();
        self.problems.locate(draft.owner.at(Part::Property(index)), self.cursor.offset());
        let name = self.cursor.text().to_string();
        self.cursor.advance();
        let has_colon = self.cursor.take(Token::Colon);
        if !has_colon {
            self.unexpected_instead_of(|| format!("`:` and the type of {}", shown(&name)));
        }
        let type_place = draft.owner.at(Part::PropertyType(index));
        self.problems.locate(type_place, self.cursor.offset());
        // A type may follow even without the colon.
        let may_continue = has_colon || (self.cursor.at(Token::Name) && !self.cursor.at_property());
        let ty = if may_continue { self.property_type() } else { None };
        if ty.is_none() {
            self.problems.silence(type_place);
        }
        let nullable = self.cursor.take(Token::Question);
        draft.properties.push(Property {
            id: 0,
            name,
            // A stand-in keeps constraints on the property from being reported as well.
            ty: ty.unwrap_or(PropertyType::Scalar(ScalarType::String)),
            nullable,
            description: String::new(),
            annotations: Vec::new(),
        });
        Some(index)
    }

    /// Reads a type without its question mark; `None` if it was reported and skipped.
    fn property_type(&mut self) -> Option<PropertyType> {
        match self.cursor.token() {
            Token::OpenBracket => self.list_type(),
            Token::Name => match self.cursor.text() {
                "enum" => self.enum_type(),
                "Vector" => self.vector_type(),
                name => match scalar(name) {
                    Some(ty) => {
                        self.cursor.advance();
                        Some(PropertyType::Scalar(ty))
                    }
                    None => self.unknown_type(),
                },
            },
            _ => {
                self.unexpected("a type such as `String`, `Vector(3)`, `enum(a, b)` or `[String]`");
                self.cursor.skip_item();
                None
            }
        }
    }

    fn unknown_type(&mut self) -> Option<PropertyType> {
        let name = self.cursor.text();
        self.problems.report_at(self.cursor.offset(), || {
            let known = TYPE_NAMES.join(", ");
            format!("found unknown type {}, expected one of {known}{}", shown(name), type_hint(name))
        });
        self.cursor.advance();
        let open = self.cursor.index();
        if self.cursor.at(Token::OpenParen) && !self.cursor.leave(open) {
            self.cursor.skip_item();
        }
        None
    }

    fn list_type(&mut self) -> Option<PropertyType> {
        self.cursor.advance();
        let member = self.cursor.text();
        let Some(ty) = scalar(member).filter(|_| self.cursor.at(Token::Name)) else {
            let is_name = self.cursor.at(Token::Name);
            self.unexpected_instead_of(|| {
                let meant = if is_name { type_hint(member) } else { String::new() };
                format!("a scalar type, the only members a list can have{meant}")
            });
            self.skip_list();
            return None;
        };
        self.cursor.advance();
        if self.cursor.at(Token::Question) {
            self.unexpected("`]`; members of a list may always be null, `[T]?` lets the list be null");
            self.skip_list();
            return None;
        }
        self.expect(Token::CloseBracket, "`]`")?;
        Some(PropertyType::List(ty))
    }

    /// Skips the rest of a wrong list type.
    fn skip_list(&mut self) {
        self.cursor.skip_until(Token::CloseBracket);
        while self.cursor.take(Token::CloseBracket) {}
    }

    fn vector_type(&mut self) -> Option<PropertyType> {
        self.cursor.advance();
        const EXPECTED: &str = "the number of dimensions in parentheses, like `Vector(384)`";
        if !self.cursor.at(Token::OpenParen) {
            self.unexpected(EXPECTED);
            return None;
        }
        self.parenthesised(|parser| {
            if !parser.cursor.at(Token::Number) {
                parser.unexpected(EXPECTED);
                return None;
            }
            // Whatever does not fit is out of the allowed range, which is for the rules to say.
            let text = parser.cursor.text();
            let whole = text.bytes().all(|b| b.is_ascii_digit());
            let Some(dimensions) = whole.then(|| text.parse().unwrap_or(u32::MAX)) else {
                parser.unexpected("a whole number of dimensions");
                return None;
            };
            parser.cursor.advance();
            Some(PropertyType::Vector(dimensions))
        })
    }

    fn enum_type(&mut self) -> Option<PropertyType> {
        self.cursor.advance();
        if !self.cursor.at(Token::OpenParen) {
            self.unexpected("the members in parentheses, like `enum(draft, done)`");
            return None;
        }
        self.parenthesised(|parser| {
            let mut members = Vec::new();
            while !parser.cursor.at(Token::CloseParen) {
                match parser.cursor.token() {
                    Token::Name => {
                        members.push(parser.cursor.text().to_string());
                        parser.cursor.advance();
                    }
                    Token::Text => members.push(parser.quoted()),
                    _ => {
                        parser.unexpected("a member of the enum, a name or quoted text");
                        return None;
                    }
                }
                if !parser.cursor.take(Token::Comma) {
                    break;
                }
            }
            Some(PropertyType::Enum(members))
        })
    }

    /// Reads `(`, what `read` reads, and `)`. After a mistake reading goes on behind the parenthesis that
    /// closes, or at the next item if none does.
    pub(super) fn parenthesised<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let open = self.cursor.index();
        self.expect(Token::OpenParen, "`(`")?;
        let value = read(self);
        if value.is_some() {
            if self.cursor.take(Token::CloseParen) {
                return value;
            }
            self.unexpected("`)`");
        }
        if !self.cursor.leave(open) {
            self.cursor.skip_item();
        }
        None
    }

    /// Decodes the quoted text here.
    pub(super) fn quoted(&mut self) -> String {
        let offset = self.cursor.offset();
        let raw = self.cursor.text();
        self.cursor.advance();
        let inner = raw.strip_prefix('"').unwrap_or(raw);
        let inner = inner.strip_suffix('"').unwrap_or(inner);
        unescape(inner).unwrap_or_else(|at| {
            self.problems.report_at(offset + 1 + at, || {
                "found an unknown escape, expected one of \\\" \\\\ \\/ \\n \\r \\t \\uXXXX \
                 \\u{X…}; write \\\\ for a backslash"
                    .to_string()
            });
            String::new()
        })
    }
}
