//! Branch names and what is known of a branch. Pure.

use super::commit::Actor;
use crate::error::{Error, Reason, Result};
use crate::limits;

/// The branch every graph has.
pub const MAIN: &str = "main";

/// What a live branch is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchInfo {
    /// Its name.
    pub name: String,
    /// Its incarnation: a name deleted and made again gets another.
    pub branch_id: String,
    /// The branch it was forked from; empty for main.
    pub parent: String,
    /// The commit it was forked at; empty for main.
    pub forked_from: String,
    /// Its newest commit.
    pub head: String,
    /// When it was made, microseconds since the epoch.
    pub created_at: i64,
    /// Who made it.
    pub actor: Actor,
    /// Whether it takes no direct writes and refuses to be deleted.
    pub protected: bool,
}

/// Checks a branch name, by the rules of [`check_ref_name`].
///
/// # Errors
/// [`Reason::InvalidName`] naming the rule that is broken.
pub fn check_name(name: &str) -> Result<()> {
    check_ref_name("branch", name)
}

/// Checks the name of a branch or a tag, whichever `what` says: 1 to [`limits::MAX_NAME_BYTES`] bytes, no control
/// characters, no leading or trailing slash or space, no empty segment, no `.` or `..` segment, not starting with `__`.
///
/// # Errors
/// [`Reason::InvalidName`] naming the rule that is broken.
pub fn check_ref_name(what: &str, name: &str) -> Result<()> {
    let refuse = |why: &str| {
        Err(Error::new(Reason::InvalidName, format!("{name:?} is not a usable {what} name: {why}")).with("name", name))
    };
    if name.is_empty() {
        return refuse("it is empty");
    }
    if name.len() > limits::MAX_NAME_BYTES {
        return refuse("it is longer than 200 bytes");
    }
    if name.chars().any(char::is_control) {
        return refuse("it holds a control character");
    }
    if name.trim() != name {
        return refuse("it starts or ends with a space");
    }
    if name.starts_with("__") {
        return refuse("names starting with __ are reserved");
    }
    if name.split('/').any(|s| s.is_empty() || s == "." || s == "..") {
        return refuse("its segments between slashes must not be empty, `.` or `..`");
    }
    Ok(())
}
