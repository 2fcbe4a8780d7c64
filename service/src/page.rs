//! Page tokens: where a listing goes on, readable only together with the request it began with.
//!
//! A token is a position and a checksum over the rpc, the request and the position. The checksum tells a
//! damaged token, and one of another listing, from a good one; it is no secret, and a token grants nothing
//! that its request would not.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use omnigraph_engine::error::{Error, Reason, Result};
use omnigraph_proto::v1::CommitRef;
use prost::Message;
use sha2::{Digest, Sha256};

use crate::limits::{DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, MAX_PAGE_TOKEN_BYTES};

/// Bytes of the checksum.
const SUM: usize = 16;

/// The shape of positions. A token of another shape is refused, not misread.
const SHAPE: u8 = 1;

/// Where a listing goes on.
#[derive(Clone, PartialEq, Message)]
pub struct Position {
    /// The version the listing sees, as its first page named it. Not set if it sees no fixed version.
    #[prost(message, optional, tag = "1")]
    pub read: Option<CommitRef>,
    /// Lance branch of the manifest that holds that version; empty for the main lineage.
    #[prost(string, tag = "2")]
    pub manifest_branch: String,
    /// The last entry of the page before.
    #[prost(string, tag = "3")]
    pub after: String,
    /// How much of the request's own list is done.
    #[prost(uint64, tag = "4")]
    pub done: u64,
}

/// What tokens are bound to: an rpc and its request without page size and token.
#[derive(Clone, Debug)]
pub struct Listing(Sha256);

impl Listing {
    /// The listing that `request` of `rpc` asks for. The caller has cleared its paging fields.
    pub fn new(rpc: &str, request: &impl Message) -> Self {
        let mut hash = Sha256::new();
        hash.update((rpc.len() as u64).to_be_bytes());
        hash.update(rpc.as_bytes());
        let bytes = request.encode_to_vec();
        hash.update((bytes.len() as u64).to_be_bytes());
        hash.update(bytes);
        Self(hash)
    }

    /// The token of a position.
    pub fn seal(&self, position: &Position) -> String {
        let body = position.encode_to_vec();
        let mut bytes = vec![SHAPE];
        bytes.extend_from_slice(&self.sum(&body));
        bytes.extend_from_slice(&body);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The position of a token; `None` for the empty one, which is the beginning.
    ///
    /// # Errors
    /// [`Reason::InvalidPageToken`] for a token that is damaged or of another listing.
    pub fn open(&self, token: &str) -> Result<Option<Position>> {
        if token.is_empty() {
            return Ok(None);
        }
        if token.len() > MAX_PAGE_TOKEN_BYTES {
            return Err(refused("token is too long"));
        }
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| refused("token is damaged"))?;
        let body = match bytes.split_first() {
            Some((&SHAPE, rest)) if rest.len() >= SUM => rest,
            _ => return Err(refused("token is damaged, or of another release")),
        };
        let (sum, body) = body.split_at(SUM);
        if self.sum(body) != sum {
            return Err(refused("token belongs to another request, or is damaged"));
        }
        let position = Position::decode(body).map_err(|_| refused("token is damaged"))?;
        Ok(Some(position))
    }

    fn sum(&self, body: &[u8]) -> [u8; SUM] {
        let mut hash = self.0.clone();
        hash.update(body);
        let digest = hash.finalize();
        let mut sum = [0; SUM];
        sum.copy_from_slice(&digest[..SUM]);
        sum
    }
}

/// The error for a token that cannot be used.
pub fn refused(problem: &str) -> Error {
    Error::new(Reason::InvalidPageToken, format!("the page {problem}; start again without it")).with("problem", problem)
}

/// How many entries a page has: the server's choice for zero, and no more than its maximum.
pub fn size(asked: u32) -> usize {
    match usize::try_from(asked) {
        Ok(0) => DEFAULT_PAGE_SIZE,
        Ok(asked) => asked.min(MAX_PAGE_SIZE),
        Err(_) => MAX_PAGE_SIZE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use omnigraph_proto::v1::ListCommitsRequest;

    fn listing(rpc: &str, branch: &str) -> Listing {
        Listing::new(rpc, &ListCommitsRequest { graph: "g".into(), branch: branch.into(), ..Default::default() })
    }

    fn position() -> Position {
        let read = Some(CommitRef { id: "C".into(), manifest_version: 3, ..CommitRef::default() });
        Position { read, after: "Ω/\u{0}".into(), done: u64::MAX, manifest_branch: "L".into() }
    }

    #[test]
    fn positions_come_back_to_their_request() {
        let token = listing("ListCommits", "a").seal(&position());
        assert_eq!(listing("ListCommits", "a").open(&token).unwrap(), Some(position()));
        assert_eq!(listing("ListCommits", "a").open("").unwrap(), None);
    }

    #[test]
    fn foreign_and_damaged_tokens_are_refused() {
        let token = listing("ListCommits", "a").seal(&position());
        for other in [listing("ListCommits", "b"), listing("ListBranches", "a")] {
            assert_eq!(other.open(&token).unwrap_err().reason(), Reason::InvalidPageToken);
        }
        let own = listing("ListCommits", "a");
        let long = "A".repeat(MAX_PAGE_TOKEN_BYTES + 1);
        for bad in ["A", "%%", "AAAA", long.as_str(), &token[..token.len() - 2]] {
            assert_eq!(own.open(bad).unwrap_err().reason(), Reason::InvalidPageToken, "{bad}");
        }
        for at in 0..token.len() {
            let mut bytes = token.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            assert!(own.open(&changed).is_err(), "byte {at}");
        }
    }

    #[test]
    fn pages_have_a_size() {
        assert_eq!((size(0), size(1), size(u32::MAX)), (DEFAULT_PAGE_SIZE, 1, MAX_PAGE_SIZE));
    }
}
