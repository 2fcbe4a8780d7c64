//! The wanted schema: its file, the words of `--rename`, and how a plan is shown and answered for.

use clap::Args;
use omnigraph_client::ErrorReason;
use omnigraph_engine::model::branch::MAIN;
use omnigraph_engine::model::{ReadSelector, Rename, Schema};

use crate::address::Address;
use crate::commands::mutate::read_text;
use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::output::colour::Paint;
use crate::output::{self, evolve};
use crate::target::{Plan, Target, Wish, type_named};

/// Changes of name.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct WishArgs {
    /// Read a change of name as a rename: Person=Human renames a type, edge:Knows.since=met a property. May be
    /// repeated. @was("Old") in the file says the same
    #[arg(long = "rename", value_name = "TYPE[.PROPERTY]=NEW")]
    renames: Vec<String>,
}

impl WishArgs {
    /// The wish of a file, with types as the head of this branch declares them.
    pub(super) async fn read(&self, target: &Target, branch: &str, file: &str) -> Result<Wish> {
        let source = read_text(file)?;
        if self.renames.is_empty() {
            return Ok(Wish { source, renames: Vec::new() });
        }
        let schema = target.read(&ReadSelector::Branch(branch.to_string())).await?.schema;
        let renames = self.renames.iter().map(|text| rename(text, &schema)).collect::<Result<_>>()?;
        Ok(Wish { source, renames })
    }

    /// The command that applies a plan as it was seen.
    pub(super) fn command(&self, address: &Address, branch: &str, file: &str, head: &str) -> String {
        let mut words = vec!["omnigraph".to_string(), "schema".into(), "apply".into()];
        match address {
            Address::Storage { root } => words.push(quoted(root)),
            Address::Server { url, graph } => {
                words.extend(["--server".into(), quoted(url)]);
                words.extend(graph.iter().flat_map(|graph| ["--graph".into(), quoted(graph)]));
            }
        }
        words.push(quoted(file));
        if branch != MAIN {
            words.extend(["--branch".into(), quoted(branch)]);
        }
        words.extend(self.renames.iter().flat_map(|rename| ["--rename".into(), quoted(rename)]));
        words.extend(["--expected-head".into(), quoted(head)]);
        words.join(" ")
    }
}

/// Reads `TYPE[.PROPERTY]=NEW`.
fn rename(text: &str, schema: &Schema) -> Result<Rename> {
    let refuse = |why: &str| Failure::usage(format!("--rename {text:?} is not TYPE[.PROPERTY]=NEW: {why}"));
    let (what, to) = text.split_once('=').ok_or_else(|| refuse("it has no ="))?;
    if to.is_empty() {
        return Err(refuse("the new name is empty"));
    }
    // No name has a dot in it.
    let (word, property) = match what.split_once('.') {
        Some((_, "")) => return Err(refuse("the property is empty")),
        Some((word, property)) => (word, Some(property.to_string())),
        None => (what, None),
    };
    if matches!(word, "" | "node:" | "edge:") {
        return Err(refuse("the type is empty"));
    }
    Ok(Rename { type_ref: type_named(schema, word)?, property, to: to.to_string() })
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Answers with a plan.
pub(super) fn show(context: &Context, plan: &Plan, branch: &str, command: &str) -> Result<()> {
    let text = || evolve::plan_text(plan, branch, command, Paint::stdout());
    output::answer(context, || evolve::plan_json(plan, branch), text)
}

/// Fails if the graph cannot take a step of the plan.
pub(super) fn ensure_possible(plan: &Plan) -> Result<()> {
    match (plan.refused(), plan.steps.len()) {
        (0, _) => Ok(()),
        (refused, all) => {
            let what = format!("the graph cannot take {refused} of {all} steps; nothing was changed");
            Err(Failure::usage(what).because(ErrorReason::SchemaRefused))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use omnigraph_engine::model::TypeRef;

    fn read(text: &str) -> Result<Rename> {
        let schema = omnigraph_engine::schema::parse("node Person { age: I32? } edge Knows: Person -> Person {}");
        rename(text, &schema.unwrap())
    }

    #[test]
    fn renames_name_types_as_other_words_do() {
        let of = |type_ref, property: Option<&str>, to: &str| Rename {
            type_ref,
            property: property.map(Into::into),
            to: to.into(),
        };
        for (text, expected) in [
            ("Person=Human", of(TypeRef::node("Person"), None, "Human")),
            ("node:Person=Human", of(TypeRef::node("Person"), None, "Human")),
            ("Knows=Met", of(TypeRef::edge("Knows"), None, "Met")),
            ("Person.age=years", of(TypeRef::node("Person"), Some("age"), "years")),
            ("edge:Knows.since=met", of(TypeRef::edge("Knows"), Some("since"), "met")),
        ] {
            assert_eq!(read(text).unwrap(), expected, "{text}");
        }
        for wrong in ["Person", "Person=", "=Human", "Person.=years", ".age=years", "node:=Human"] {
            assert!(read(wrong).unwrap_err().message().contains("--rename"), "{wrong}");
        }
    }

    #[test]
    fn the_command_is_one_that_a_shell_understands() {
        let args = WishArgs { renames: vec!["Person=Human".into()] };
        let files = Address::Storage { root: "./my graph.omni".into() };
        assert_eq!(
            args.command(&files, "main", "it's.pg", "01J9"),
            r"omnigraph schema apply './my graph.omni' 'it'\''s.pg' --rename Person=Human --expected-head 01J9"
        );
        let server = Address::Server { url: "http://h:1".into(), graph: Some("social".into()) };
        assert_eq!(
            WishArgs::default().command(&server, "review/spring", "-", "01J9"),
            "omnigraph schema apply --server http://h:1 --graph social - --branch review/spring --expected-head 01J9"
        );
    }
}
