//! The schema language: text to [`Schema`], back to text, and every rule a schema must satisfy.
//!
//! A schema that arrives as text and one that arrives as a message pass the same rules; text problems
//! carry a line and a column, message problems carry a path. Nothing here reads or writes a graph.
//!
//! Whitespace, line ends included, never changes the meaning of the text. An annotation belongs to the
//! property it follows unless it names its properties itself or a `,` or `;` stands between them;
//! before the first property, or ahead of the `{`, it belongs to the type.

mod assign;
mod check;
pub mod default;
pub mod evolve;
mod lex;
mod literal;
mod parse;
mod print;
mod problem;

#[cfg(test)]
mod sample;

pub use assign::{assign_ids, assign_type};
pub use check::{check, ensure_valid};
pub use parse::parse;
pub use print::{print, type_text as property_type_text};

#[cfg(doc)]
use crate::model::Schema;
