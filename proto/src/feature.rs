//! Names for `required_features`: behaviours a request may rely on and an older server might not have. The
//! names are part of the contract and never change their meaning.

/// `WriteOptions.expected_head` makes a write conditional.
pub const EXPECTED_HEAD: &str = "expected_head";

/// `WriteOptions.request_id` makes a write repeatable.
pub const REQUEST_ID: &str = "request_id";

/// `Delete.edges` is honoured.
pub const EDGE_POLICY: &str = "edge_policy";

/// Every name this version of the contract defines.
pub const ALL: &[&str] = &[EXPECTED_HEAD, REQUEST_ID, EDGE_POLICY];

/// The first of `required` that this version of the contract does not define, for `UNSUPPORTED_FEATURE`.
///
/// ```
/// use omnigraph_proto::feature;
/// assert_eq!(feature::first_unknown(&["request_id".into()]), None);
/// assert_eq!(feature::first_unknown(&["request_id".into(), "warp".into()]), Some("warp"));
/// ```
pub fn first_unknown(required: &[String]) -> Option<&str> {
    required.iter().map(String::as_str).find(|name| !ALL.contains(name))
}
