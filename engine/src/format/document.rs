//! What the engine's small JSON documents have in common: each begins with the number of its shape, and what cannot be
//! read says which file it is and what to do about it.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Reason, Result};

/// One stored document, in words for those who have to deal with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Document<'a> {
    /// What it is, with its article.
    pub what: &'a str,
    /// Its file.
    pub file: &'a str,
    /// What follows from damage, and what to do.
    pub damaged: &'a str,
    /// What follows from a shape that only later releases know; may be empty.
    pub later: &'a str,
}

impl Document<'_> {
    /// Reads it, if it has the shape of this number.
    ///
    /// # Errors
    /// [`Reason::DataCorrupt`] for damage, [`Reason::StorageStampTooNew`] for another shape. The message names the
    /// file.
    pub(super) fn decode<T: DeserializeOwned>(&self, bytes: &[u8], format: u32) -> Result<T> {
        #[derive(Deserialize)]
        struct Shape {
            format: u32,
        }
        let corrupt = |e: serde_json::Error| self.corrupt("is unreadable").caused_by(e);
        let shape: Shape = serde_json::from_slice(bytes).map_err(corrupt)?;
        if shape.format != format {
            let what = "was written by a newer release: upgrade omnigraph first";
            return Err(self.refuse(Reason::StorageStampTooNew, what, self.later));
        }
        serde_json::from_slice(bytes).map_err(corrupt)
    }

    /// The error for damage, told in words that follow the file's name.
    pub(super) fn corrupt(&self, how: &str) -> Error {
        self.refuse(Reason::DataCorrupt, how, self.damaged)
    }

    fn refuse(&self, reason: Reason, how: &str, then: &str) -> Error {
        let Self { what, file, .. } = self;
        Error::new(reason, format!("{what} {file} {how}{then}")).with("file", file)
    }
}

/// A document's bytes.
///
/// # Errors
/// None in practice.
pub(super) fn encode<T: Serialize>(doc: &T) -> Result<bytes::Bytes> {
    serde_json::to_vec(doc)
        .map(bytes::Bytes::from)
        .map_err(|e| Error::internal("a document does not serialize").caused_by(e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
    struct Doc {
        format: u32,
        n: u8,
    }

    const KIND: Document<'_> =
        Document { what: "the thing", file: "a/b", damaged: "; remove it", later: "; nothing else is affected" };

    #[test]
    fn what_cannot_be_read_names_the_file_and_the_remedy() {
        let doc = Doc { format: 1, n: 7 };
        let bytes = encode(&doc).unwrap();
        assert_eq!(&bytes[..], br#"{"format":1,"n":7}"#);
        assert_eq!(KIND.decode::<Doc>(&bytes, 1).unwrap(), doc);
        // Neither damage within the known shape nor of the whole is taken for a later release.
        for damaged in [&b"{"[..], b"[]", b"null", br#"{"n":7}"#, br#"{"format":1,"n":256}"#] {
            let error = KIND.decode::<Doc>(damaged, 1).unwrap_err();
            assert_eq!(error.reason(), Reason::DataCorrupt);
            assert_eq!(error.message(), "the thing a/b is unreadable; remove it");
            assert_eq!(error.metadata()["file"], "a/b");
        }
        // A later shape may have anything else in it.
        let error = KIND.decode::<Doc>(br#"{"format":2,"n":"seven"}"#, 1).unwrap_err();
        assert_eq!(error.reason(), Reason::StorageStampTooNew);
        assert_eq!(
            error.message(),
            "the thing a/b was written by a newer release: upgrade omnigraph first; nothing else is affected"
        );
    }
}
