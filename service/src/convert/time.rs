//! Moments: microseconds since the epoch in the engine, `google.protobuf.Timestamp` in the contract.

use omnigraph_engine::error::Result;
use prost_types::Timestamp;

use super::invalid;

const MICROS: i64 = 1_000_000;

/// Microseconds as a timestamp.
pub fn to_proto(micros: i64) -> Timestamp {
    // Below 1 000 000 000, so it fits.
    let nanos = (micros.rem_euclid(MICROS) * 1000) as i32;
    Timestamp { seconds: micros.div_euclid(MICROS), nanos }
}

/// A timestamp as microseconds; digits beyond them are cut off.
///
/// # Errors
/// [`omnigraph_engine::Reason::InvalidArgument`] for nanoseconds outside a second, or a moment that
/// microseconds cannot count.
pub fn to_engine(field: &str, timestamp: &Timestamp) -> Result<i64> {
    if !(0..1_000_000_000).contains(&timestamp.nanos) {
        return Err(invalid(field, "nanoseconds must be between 0 and 999999999"));
    }
    timestamp
        .seconds
        .checked_mul(MICROS)
        .and_then(|micros| micros.checked_add(i64::from(timestamp.nanos / 1000)))
        .ok_or_else(|| invalid(field, "the moment is too far away"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_countable_moment_comes_back() {
        for micros in [0, 1, -1, 999_999, -1_000_000, 1_360_000_000_123_456, i64::MAX, i64::MIN] {
            let there = to_proto(micros);
            assert!((0..1_000_000_000).contains(&there.nanos));
            if micros != i64::MIN {
                assert_eq!(to_engine("t", &there).unwrap(), micros);
            }
        }
        assert_eq!(to_proto(-1), Timestamp { seconds: -1, nanos: 999_999_000 });
    }

    #[test]
    fn what_cannot_be_counted_is_refused() {
        for (seconds, nanos) in [(0, -1), (0, 1_000_000_000), (i64::MAX, 0), (i64::MIN, 0)] {
            assert!(to_engine("t", &Timestamp { seconds, nanos }).is_err(), "{seconds} {nanos}");
        }
        assert_eq!(to_engine("t", &Timestamp { seconds: 1, nanos: 1999 }).unwrap(), 1_000_001);
    }
}
