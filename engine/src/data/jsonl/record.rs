//! Turns the tokens of one JSON record into a row.
//!
//! Says what a record may hold and what is wrong with one that holds something else.

use std::borrow::Cow;

use crate::data::builder::RowBuilder;
use crate::data::json_scan::{Kind, Member, Token, string};
use crate::data::plan::{Slot, TypeNames};
use crate::data::scalar::quote;
use crate::data::violations::{Misfit, Violations};
use crate::error::Reason;
use crate::model::{EntityKind, TypeRef};

/// Room for strings with escapes, used again for every one.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    name: String,
    value: String,
}

/// What stands around a record's data.
pub(super) struct Envelope<'a> {
    pub type_position: usize,
    pub ends: Option<(Cow<'a, str>, Cow<'a, str>)>,
}

/// What is wrong with a record.
pub(super) enum Wrong {
    /// Why, and the words for it.
    Said(Reason, String),
    /// It is of a type that does not exist. Words for it cost a look at all types.
    UnknownType(TypeRef),
}

impl Wrong {
    /// Adds it to the problems of the record with this number.
    pub(super) fn report(self, number: u64, names: &TypeNames, violations: &mut Violations) {
        match self {
            Self::Said(reason, what) => violations.at_record(number, reason, || what),
            Self::UnknownType(type_ref) => {
                violations.at_record(number, Reason::TypeNotFound, || names.unknown(&type_ref));
            }
        }
    }
}

fn wrong<T>(description: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong::Said(Reason::InvalidRecord, description.into()))
}

impl<'a> Envelope<'a> {
    /// Reads a record's own members.
    pub(super) fn read(text: &'a str, members: &[Member], names: &TypeNames) -> Result<Self, Wrong> {
        let (mut node, mut edge, mut from, mut to, mut data) = (None, None, None, None, None);
        for Member { key, value } in members {
            let name = decode(text, *key);
            let place = match &*name {
                "type" => &mut node,
                "edge" => &mut edge,
                "from" => &mut from,
                "to" => &mut to,
                "data" => &mut data,
                "id" => return wrong("id stands inside data, not beside it"),
                other => {
                    let name = quote(other);
                    return wrong(format!("a record has no member {name}; properties stand inside data"));
                }
            };
            if place.replace(*value).is_some() {
                return wrong(format!("{name} is given twice"));
            }
        }
        if let Some(data) = data.filter(|data: &Token| data.kind != Kind::Object) {
            return wrong(format!("data: found {}, expected an object", data.kind.name()));
        }
        match (node, edge) {
            (Some(node), None) => {
                if from.or(to).is_some() {
                    return wrong("from and to belong to edges; a record of an edge starts with edge, not type");
                }
                let type_position = find(text, node, EntityKind::Node, names)?;
                Ok(Self { type_position, ends: None })
            }
            (None, Some(edge)) => {
                let type_position = find(text, edge, EntityKind::Edge, names)?;
                let type_name = &names.get(type_position).name;
                let from = end(text, from, type_name, "from")?;
                let to = end(text, to, type_name, "to")?;
                Ok(Self { type_position, ends: Some((from, to)) })
            }
            (Some(_), Some(_)) => wrong("a record is of a node or of an edge; type and edge exclude each other"),
            (None, None) => wrong("the record names no type; a node has type, an edge has edge, from and to"),
        }
    }
}

fn decode(text: &str, token: Token) -> Cow<'_, str> {
    if token.kind != Kind::Escaped {
        return Cow::Borrowed(&text[token.start..token.end]);
    }
    let mut scratch = String::new();
    string(text, token, &mut scratch);
    Cow::Owned(scratch)
}

fn is_string(token: Token) -> bool {
    matches!(token.kind, Kind::Plain | Kind::Escaped)
}

fn find(text: &str, token: Token, kind: EntityKind, names: &TypeNames) -> Result<usize, Wrong> {
    if !is_string(token) {
        let member = if kind == EntityKind::Node { "type" } else { "edge" };
        return wrong(format!("{member}: found {}, expected the name of a type", token.kind.name()));
    }
    let name = decode(text, token);
    names.position(kind, &name).ok_or_else(|| {
        let name = name.into_owned();
        Wrong::UnknownType(TypeRef { kind, name })
    })
}

fn end<'a>(text: &'a str, token: Option<Token>, type_name: &str, name: &str) -> Result<Cow<'a, str>, Wrong> {
    match token {
        Some(token) if is_string(token) => Ok(decode(text, token)),
        None => {
            let what = format!("{type_name} lacks {name}, the id of a node");
            Err(Wrong::Said(Reason::RequiredViolation, what))
        }
        Some(token) => {
            let misfit = Misfit::mismatch(token.kind.name(), "the id of a node, a string");
            let what = format!("{type_name}.{name}: {misfit}");
            Err(Wrong::Said(misfit.reason, what))
        }
    }
}

/// Adds a record's row. What is wrong with it goes to `violations`.
pub(super) fn add_row(
    number: u64,
    text: &str,
    envelope: &Envelope<'_>,
    data: &[Member],
    builder: &mut RowBuilder,
    scratch: &mut Scratch,
    violations: &mut Violations,
) {
    let plan = builder.plan().clone();
    let type_name = &plan.ty.name;
    let Scratch { name: name_room, value: room } = scratch;
    for Member { key, value } in data {
        let name = string(text, *key, name_room);
        let fitted = match plan.slot(name) {
            Some(Slot::Property(at)) => match builder.mention(at, value.end - value.start) {
                Some(column) => column.push_json(text, *value, room),
                None => Err(twice()),
            },
            Some(Slot::Id) => set_id(text, *value, builder, room),
            Some(Slot::Src | Slot::Dst) | None => {
                builder.spoil();
                violations.at_record(number, Reason::PropertyNotFound, || plan.unknown(name));
                continue;
            }
        };
        if let Err(misfit) = fitted {
            builder.spoil();
            violations.misfit(number, type_name, name, misfit);
        }
    }
    let ends = envelope.ends.as_ref().map(|(from, to)| (&**from, &**to));
    builder.end_row(number, ends);
}

#[cold]
fn twice() -> Misfit {
    Misfit { reason: Reason::InvalidRecord, found: "it twice".to_string(), expected: "it once".to_string() }
}

// A null id is as good as none.
fn set_id(text: &str, token: Token, builder: &mut RowBuilder, room: &mut String) -> Result<(), Misfit> {
    if token.kind == Kind::Null {
        return Ok(());
    }
    if !is_string(token) {
        return Err(Misfit::mismatch(token.kind.name(), "an id, a string"));
    }
    match builder.set_id(string(text, token, room)) {
        true => Ok(()),
        false => Err(twice()),
    }
}

#[cfg(test)]
mod tests;
