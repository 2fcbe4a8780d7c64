//! Structural rules of the repository, as code.
//!
//! The compiler and clippy hold most rules; this crate holds those they cannot see: sizes, layers,
//! who may name a library, what comments may say, and that no file is forgotten. It reads the tree
//! as text and syntax and knows none of the crates it judges, so it builds in seconds.
//!
//! ```
//! use omnigraph_tidy::{Tree, rules};
//!
//! let tree = Tree::from_texts([("engine/src/clock.rs", "fn now() {}\n")]);
//! let offences = rules::header::check(&tree);
//! assert_eq!(offences.len(), 1);
//! assert!(offences[0].to_string().starts_with("engine/src/clock.rs:1: "));
//! ```
//!
//! A rule is a module of [`rules`] with one function from a [`Tree`] to every [`Offence`] in it.
//! What a rule forbids and what to do instead is said in the offence, so that a reader of a failed
//! test needs no other page.

mod comments;
mod offence;
mod paths;
pub mod rules;
mod source;
mod tree;

pub use offence::{Offence, report};
pub use source::Source;
pub use tree::{Text, Tree};
