//! Cursors: where a follower is, in a text that any server understands later. Pure.
//!
//! A cursor is base64url over a checksum and a small JSON document. It carries no secret and grants nothing: the
//! checksum tells damage from a cursor that belongs elsewhere, nothing more.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Reason, Result};
use crate::limits;
use crate::model::{DiffFilter, WatchRequest};

/// The shape of the document. Another meaning of its fields is another number.
const SHAPE: u32 = 1;

/// Bytes of the digest that are kept as the checksum.
const CHECKSUM_BYTES: usize = 8;

/// Bytes of the digest that tell filters apart.
const WANTS_BYTES: usize = 12;

/// What a cursor is good for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Scope {
    /// The graph: its first commit.
    pub graph: String,
    /// The branch's name.
    pub branch: String,
    /// The branch's incarnation.
    pub incarnation: String,
    /// What is followed; see [`wants`].
    pub wants: String,
}

/// A place in a branch's history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cursor {
    shape: u32,
    /// Where it is valid.
    #[serde(flatten)]
    pub scope: Scope,
    /// The last commit told.
    pub told: String,
}

/// What every shape has.
#[derive(Deserialize)]
struct Shaped {
    shape: u32,
}

impl Cursor {
    /// The place after a commit.
    pub fn after(scope: &Scope, told: &str) -> Self {
        Self { shape: SHAPE, scope: scope.clone(), told: told.to_string() }
    }

    /// Its text, of at most [`limits::MAX_CURSOR_BYTES`] bytes.
    ///
    /// # Errors
    /// None in practice.
    pub fn encode(&self) -> Result<String> {
        let body = serde_json::to_vec(self).map_err(|e| Error::internal("a cursor does not serialize").caused_by(e))?;
        let mut bytes = checksum(&body).to_vec();
        bytes.extend(body);
        Ok(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Reads a text.
    ///
    /// # Errors
    /// [`Reason::InvalidPageToken`] for what is no cursor, is damaged, or is of a shape this release does not know.
    pub fn decode(text: &str) -> Result<Self> {
        if text.len() > limits::MAX_CURSOR_BYTES {
            return Err(refuse(format!(
                "the cursor has {} bytes; none has more than {}",
                text.len(),
                limits::MAX_CURSOR_BYTES
            )));
        }
        let damaged = || refuse("the cursor is damaged: it is not exactly as it was handed out");
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| damaged())?;
        let (sum, body) = bytes.split_at_checked(CHECKSUM_BYTES).ok_or_else(damaged)?;
        if sum != checksum(body) {
            return Err(damaged());
        }
        let Shaped { shape } = serde_json::from_slice(body).map_err(|_| damaged())?;
        if shape != SHAPE {
            return Err(refuse(format!(
                "the cursor is of shape {shape} and this release reads shape {SHAPE}; watch after a commit instead"
            )));
        }
        serde_json::from_slice(body).map_err(|_| damaged())
    }

    /// Checks that it belongs to what is followed now.
    ///
    /// # Errors
    /// [`Reason::InvalidPageToken`] saying what it belongs to instead.
    pub fn check(&self, scope: &Scope) -> Result<()> {
        let (own, now) = (&self.scope, scope);
        if own.graph != now.graph {
            return Err(refuse("the cursor belongs to another graph"));
        }
        if own.branch != now.branch {
            return Err(refuse(format!("the cursor belongs to branch {:?}, not to {:?}", own.branch, now.branch)));
        }
        if own.incarnation != now.incarnation {
            return Err(refuse(format!(
                "the cursor belongs to an earlier branch {:?}, which was deleted; the one of that name now has a \
                 history of its own, watch it from its beginning",
                own.branch
            )));
        }
        if own.wants != now.wants {
            return Err(refuse("the cursor belongs to another filter; use the one it was made with"));
        }
        Ok(())
    }
}

/// A short text that two requests share if they want the same of every commit, in whatever order they say it.
pub(super) fn wants(request: &WatchRequest) -> String {
    let DiffFilter { types, kinds, ids } = &request.filter;
    let mut types: Vec<String> = types.iter().map(ToString::to_string).collect();
    types.sort_unstable();
    types.dedup();
    let mut hash = Sha256::new();
    hash.update([u8::from(request.changes)]);
    let mut add = |part: &[&str]| {
        hash.update((part.len() as u64).to_be_bytes());
        for text in part {
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text.as_bytes());
        }
    };
    add(&types.iter().map(String::as_str).collect::<Vec<_>>());
    add(&kinds.iter().map(|kind| kind.as_str()).collect::<Vec<_>>());
    add(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    URL_SAFE_NO_PAD.encode(&hash.finalize()[..WANTS_BYTES])
}

fn checksum(body: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let mut sum = [0; CHECKSUM_BYTES];
    sum.copy_from_slice(&Sha256::digest(body)[..CHECKSUM_BYTES]);
    sum
}

/// The error for a cursor that cannot be used.
pub(super) fn refuse(what: impl Into<String>) -> Error {
    Error::new(Reason::InvalidPageToken, what)
}

#[cfg(test)]
mod tests;
