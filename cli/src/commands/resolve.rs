//! How the caller settles conflicts: the flags, the words of `--resolve` and the JSON of `--resolutions`.

use std::str::FromStr as _;

use clap::{Args, ValueEnum};
use omnigraph_engine::model::{EntityKind, Granularity, MergeHow, ReadSelector, Resolution, Schema, Side, TypeRef};
use serde::Deserialize;

use super::mutate::read_text;
use crate::failure::{Failure, Result};
use crate::target::{Target, type_named};

/// Whose version is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Whose {
    /// That of the branch that is written to
    Ours,
    /// That of what is brought in
    Theirs,
}

/// How fine both sides are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Fineness {
    /// Changes to different properties of one entity go together
    #[default]
    Property,
    /// Different changes to one entity are a conflict
    Entity,
}

/// How conflicts are found and settled.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Conflicts")]
pub(crate) struct HowArgs {
    /// Whose version to take where no resolution says so; never settles a constraint
    #[arg(long, value_enum, value_name = "ours|theirs")]
    strategy: Option<Whose>,
    /// How fine both sides are compared
    #[arg(long, value_enum, value_name = "property|entity", default_value_t = Fineness::Property)]
    granularity: Fineness,
    /// Whose version of one entity or property to take: ours, theirs or base. May be repeated. An id that could be
    /// taken for something else stands in double quotes, as JSON writes it
    #[arg(long, value_name = "TYPE/ID[.PROPERTY]=SIDE")]
    resolve: Vec<String>,
    /// File with resolutions, [{"type": "Person", "id": "ada", "property": "age", "take": "ours"}]; - is standard input
    #[arg(long, value_name = "FILE.json")]
    resolutions: Option<String>,
}

impl HowArgs {
    /// The engine's form, with types as the head of this branch declares them.
    pub(crate) async fn read(&self, target: &Target, branch: &str) -> Result<MergeHow> {
        let mut resolutions = Vec::new();
        if !self.resolve.is_empty() || self.resolutions.is_some() {
            let head = ReadSelector::Branch(branch.to_string());
            let schema = target.read(&head).await?.schema;
            if let Some(file) = &self.resolutions {
                resolutions = document(&read_text(file)?, &schema)?;
            }
            for text in &self.resolve {
                resolutions.push(one(text, &schema)?);
            }
        }
        Ok(MergeHow {
            granularity: match self.granularity {
                Fineness::Property => Granularity::Property,
                Fineness::Entity => Granularity::Entity,
            },
            strategy: self.strategy.map(|whose| match whose {
                Whose::Ours => Side::Target,
                Whose::Theirs => Side::Source,
            }),
            resolutions,
        })
    }
}

/// Reads `TYPE/ID[.PROPERTY]=SIDE`. What follows the last dot of an id is a property if the type declares one of that
/// name.
fn one(text: &str, schema: &Schema) -> Result<Resolution> {
    let refuse = |why: &str| Failure::usage(format!("--resolve {text:?} is not TYPE/ID[.PROPERTY]=SIDE: {why}"));
    let (what, side) = text.rsplit_once('=').ok_or_else(|| refuse("it has no ="))?;
    let take = Side::parse(side).ok_or_else(|| refuse("the side is ours, theirs or base"))?;
    let (type_word, entity) = what.split_once('/').ok_or_else(|| refuse("there is no / between type and id"))?;
    let type_ref = type_named(schema, type_word)?;
    let (id, property) = match entity.starts_with('"') {
        true => quoted(entity).ok_or_else(|| refuse("the id is no JSON text, or more than .PROPERTY follows it"))?,
        false => match entity.rsplit_once('.') {
            Some((id, property)) if has(schema, &type_ref, property) => (id.to_string(), Some(property.to_string())),
            _ => (entity.to_string(), None),
        },
    };
    if id.is_empty() {
        return Err(refuse("the id is empty"));
    }
    Ok(Resolution { type_ref, id, property, take })
}

/// A JSON text and what follows it after a dot.
fn quoted(text: &str) -> Option<(String, Option<String>)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let id = values.next()?.ok()?;
    match text.get(values.byte_offset()..)? {
        "" => Some((id, None)),
        rest => rest.strip_prefix('.').filter(|name| !name.is_empty()).map(|name| (id, Some(name.to_string()))),
    }
}

/// Whether a type has this property, an edge's ends included.
fn has(schema: &Schema, type_ref: &TypeRef, property: &str) -> bool {
    let end = type_ref.kind == EntityKind::Edge && matches!(property, "src" | "dst");
    end || schema.get(type_ref).is_some_and(|ty| ty.property(property).is_some())
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Document {
    Bare(Vec<Entry>),
    Named { resolutions: Vec<Entry> },
}

/// A resolution as a conflict's JSON names entities.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    kind: Option<String>,
    r#type: String,
    id: String,
    property: Option<String>,
    take: String,
}

/// Reads `[{…}]`, or `{"resolutions": [{…}]}`.
fn document(text: &str, schema: &Schema) -> Result<Vec<Resolution>> {
    const FORM: &str = "the resolutions are not [{\"type\", \"id\", \"property\", \"take\"}]";
    let json = serde_json::Value::from_str(text).map_err(|e| Failure::usage(format!("{FORM}: {e}")))?;
    let read = Document::deserialize(json).map_err(|_| Failure::usage(format!("{FORM}; see docs/merge.md")))?;
    let (Document::Bare(entries) | Document::Named { resolutions: entries }) = read;
    entries.into_iter().enumerate().map(|(at, entry)| resolution(at + 1, entry, schema)).collect()
}

fn resolution(number: usize, entry: Entry, schema: &Schema) -> Result<Resolution> {
    let refuse = |why: &str| Failure::usage(format!("resolution {number}: {why}"));
    let type_ref = match entry.kind.as_deref() {
        None => type_named(schema, &entry.r#type)?,
        Some("node") => TypeRef::node(entry.r#type),
        Some("edge") => TypeRef::edge(entry.r#type),
        Some(_) => return Err(refuse("\"kind\" is node or edge")),
    };
    let take = Side::parse(&entry.take).ok_or_else(|| refuse("\"take\" is ours, theirs or base"))?;
    if entry.id.is_empty() {
        return Err(refuse("the id is empty"));
    }
    Ok(Resolution { type_ref, id: entry.id, property: entry.property.filter(|name| !name.is_empty()), take })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Schema {
        let source = "node Person { slug: String @key age: I32? } node Knows { a: String } \
                      edge Knows: Person -> Person { since: Date? } edge Likes: Person -> Person {}";
        omnigraph_engine::schema::parse(source).unwrap()
    }

    fn wanted(type_ref: TypeRef, id: &str, property: Option<&str>, take: Side) -> Resolution {
        Resolution { type_ref, id: id.into(), property: property.map(Into::into), take }
    }

    #[test]
    fn a_resolution_is_one_word() {
        let (person, likes) = (TypeRef::node("Person"), TypeRef::edge("Likes"));
        let knows = TypeRef::edge("Knows");
        for (text, expected) in [
            ("Person/ada=ours", wanted(person.clone(), "ada", None, Side::Target)),
            ("Person/ada.age=theirs", wanted(person.clone(), "ada", Some("age"), Side::Source)),
            ("node:Person/ada.age=base", wanted(person.clone(), "ada", Some("age"), Side::Base)),
            ("Person/ada@x.org=ours", wanted(person.clone(), "ada@x.org", None, Side::Target)),
            ("Person/ada@x.org.age=ours", wanted(person.clone(), "ada@x.org", Some("age"), Side::Target)),
            ("Person/a/b=c=ours", wanted(person.clone(), "a/b=c", None, Side::Target)),
            ("Person/\"a.age\"=ours", wanted(person.clone(), "a.age", None, Side::Target)),
            ("Person/\"a.\\\"b\".age=ours", wanted(person, "a.\"b", Some("age"), Side::Target)),
            ("Likes/01J9.dst=theirs", wanted(likes, "01J9", Some("dst"), Side::Source)),
            ("edge:Knows/k.since=theirs", wanted(knows, "k", Some("since"), Side::Source)),
        ] {
            assert_eq!(one(text, &schema()).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_resolution_is_refused_with_a_reason() {
        for (text, why) in [
            ("Person/ada", "no ="),
            ("Person/ada=mine", "the side is"),
            ("Person=ours", "no / between"),
            ("Person/=ours", "the id is empty"),
            ("Person/\"a=ours", "no JSON text"),
            ("Person/\"a\"age=ours", "more than .PROPERTY"),
            ("Knows/k=ours", "node:Knows or edge:Knows"),
        ] {
            let failure = one(text, &schema()).unwrap_err();
            assert!(failure.message().contains(why), "{text}: {}", failure.message());
        }
    }

    #[test]
    fn a_document_is_a_list_bare_or_named() {
        let bare = r#"[{"type": "Person", "id": "ada", "property": "age", "take": "ours"},
                       {"kind": "edge", "type": "Knows", "id": "k", "property": null, "take": "theirs"}]"#;
        let expected = [
            wanted(TypeRef::node("Person"), "ada", Some("age"), Side::Target),
            wanted(TypeRef::edge("Knows"), "k", None, Side::Source),
        ];
        assert_eq!(document(bare, &schema()).unwrap(), expected);
        assert_eq!(document(&format!("{{\"resolutions\": {bare}}}"), &schema()).unwrap(), expected);
        for (wrong, why) in [
            ("[", "EOF"),
            ("{}", "docs/merge.md"),
            (r#"[{"type": "Person", "id": "ada"}]"#, "docs/merge.md"),
            (r#"[{"type": "Person", "id": "ada", "take": "mine"}]"#, "resolution 1"),
            (r#"[{"kind": "tree", "type": "Person", "id": "ada", "take": "ours"}]"#, "node or edge"),
        ] {
            let failure = document(wrong, &schema()).unwrap_err();
            assert!(failure.message().contains(why), "{wrong}: {}", failure.message());
        }
    }
}
