//! The client's only source of chance: names for writes and seeds for jitter.

use std::fmt::Write as _;

/// A request id nobody else has: 128 random bits as 32 hexadecimal digits.
pub fn fresh_request_id() -> String {
    let mut text = String::with_capacity(32);
    for byte in random() {
        // Writing into a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// A seed for the jitter of pauses.
pub(crate) fn seed() -> u64 {
    let mut seed = [0; 8];
    seed.copy_from_slice(&random()[..8]);
    u64::from_le_bytes(seed)
}

fn random() -> [u8; 16] {
    let mut bytes = [0; 16];
    if getrandom::fill(&mut bytes).is_err() {
        // Without the system's generator the keys of a hash map are the next best thing nobody else has.
        use std::hash::{BuildHasher, Hasher, RandomState};
        let draw = || RandomState::new().build_hasher().finish().to_le_bytes();
        bytes[..8].copy_from_slice(&draw());
        bytes[8..].copy_from_slice(&draw());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_ids_differ_and_are_plain_text() {
        let (a, b) = (fresh_request_id(), fresh_request_id());
        assert_ne!(a, b);
        assert!(a.len() == 32 && a.bytes().all(|c| c.is_ascii_hexdigit()));
    }
}
