//! Fresh identifiers, injected. The only place that draws randomness.

use std::fmt::Debug;
use std::sync::Mutex;

use sha2::{Digest, Sha256};
use ulid::Ulid;

/// A source of identifiers that nobody else has.
pub trait IdSource: Debug + Send + Sync {
    /// 80 random bits.
    fn random(&self) -> u128;
}

/// Draws from the operating system's generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct RandomIds;

impl IdSource for RandomIds {
    fn random(&self) -> u128 {
        let mut bytes = [0_u8; 16];
        if getrandom::fill(&mut bytes).is_err() {
            // No generator: the standard library's hash keys are the next best thing nobody else has.
            use std::hash::{BuildHasher, Hasher, RandomState};
            bytes[..8].copy_from_slice(&RandomState::new().build_hasher().finish().to_be_bytes());
            bytes[8..].copy_from_slice(&RandomState::new().build_hasher().finish().to_be_bytes());
        }
        u128::from_be_bytes(bytes)
    }
}

/// A reproducible sequence for tests.
#[derive(Debug)]
pub struct SeededIds(Mutex<fastrand::Rng>);

impl SeededIds {
    /// The sequence of this seed.
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(fastrand::Rng::with_seed(seed)))
    }
}

impl IdSource for SeededIds {
    fn random(&self) -> u128 {
        self.0.lock().map_or(0, |mut rng| rng.u128(..))
    }
}

/// A fresh ULID at `micros`.
pub fn fresh(ids: &dyn IdSource, micros: i64) -> String {
    Ulid::from_parts(u64::try_from(micros / 1000).unwrap_or(0), ids.random()).to_string()
}

/// A fresh ULID at `micros`, but greater than `floor` even if the clock went back or stood still.
pub fn fresh_above(ids: &dyn IdSource, micros: i64, floor: &str) -> String {
    let candidate = Ulid::from_parts(u64::try_from(micros / 1000).unwrap_or(0), ids.random());
    match Ulid::from_string(floor) {
        Ok(floor) if candidate <= floor => {
            let next = Ulid::from_parts(floor.timestamp_ms() + 1, ids.random());
            next.to_string()
        }
        _ => candidate.to_string(),
    }
}

/// Between half of `most` and all of it, so that waiters do not move in step.
pub fn jitter(ids: &dyn IdSource, most: std::time::Duration) -> std::time::Duration {
    let share = (ids.random() % 1024) as f64 / 1024.0;
    most.mul_f64(0.5 + share / 2.0)
}

/// A ULID that follows from its parts alone, the same on every machine.
pub fn derived(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    let mut bytes = [0_u8; 16];
    bytes.copy_from_slice(&digest[..16]);
    Ulid::from(u128::from_be_bytes(bytes)).to_string()
}

/// A ULID just above `floor` whose random part follows from `parts`: derived, yet in order.
pub fn derived_above(floor: &str, parts: &[&str]) -> String {
    let random = Ulid::from_string(&derived(parts)).map_or(0, |u| u.random());
    let time = Ulid::from_string(floor).map_or(0, |f| f.timestamp_ms() + 1);
    Ulid::from_parts(time, random).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_rise_even_if_the_clock_does_not() {
        let ids = SeededIds::new(1);
        let mut last = fresh(&ids, 5_000_000);
        for now in [5_000_000, 4_000_000, 0, 5_000_000] {
            let next = fresh_above(&ids, now, &last);
            assert!(next > last, "{next} > {last}");
            last = next;
        }
        assert!(derived_above(&last, &["a"]) > last);
    }

    #[test]
    fn derived_ids_depend_on_every_part_and_its_length() {
        assert_eq!(derived(&["a", "b"]), derived(&["a", "b"]));
        assert_ne!(derived(&["a", "b"]), derived(&["ab", ""]));
        assert_ne!(derived(&["a", "b"]), derived(&["b", "a"]));
    }
}
