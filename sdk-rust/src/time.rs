//! Moments and days, between the standard library, the wire and counted units. Pure; nothing here knows what
//! time it is.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prost_types::Timestamp;

/// Microseconds since the epoch, cut off downwards and at the ends of the range.
pub(crate) fn to_micros(moment: SystemTime) -> i64 {
    match moment.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_micros()).unwrap_or(i64::MAX),
        Err(before) => {
            let micros = before.duration().as_nanos().div_ceil(1000);
            i64::try_from(micros).map_or(i64::MIN, |m| -m)
        }
    }
}

/// The moment so many microseconds after the epoch.
pub(crate) fn from_micros(micros: i64) -> SystemTime {
    let distance = Duration::from_micros(micros.unsigned_abs());
    let moment = if micros < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) };
    moment.unwrap_or(UNIX_EPOCH)
}

pub(crate) fn to_wire(moment: SystemTime) -> Timestamp {
    let micros = to_micros(moment);
    Timestamp {
        seconds: micros.div_euclid(1_000_000),
        // Below one thousand million.
        nanos: (micros.rem_euclid(1_000_000) * 1000) as i32,
    }
}

/// An absent moment is the epoch, which no answer uses.
pub(crate) fn from_wire(moment: Option<Timestamp>) -> SystemTime {
    let moment = moment.unwrap_or_default();
    let micros = moment.seconds.saturating_mul(1_000_000);
    from_micros(micros.saturating_add(i64::from(moment.nanos / 1000)))
}

/// Days from 1970-01-01 to a day of the proleptic Gregorian calendar, by counting the leap days of years that
/// begin in March. `None` if there is no such day.
pub(crate) fn days_of(year: i32, month: u32, day: u32) -> Option<i32> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    let from_march = i64::from((month + 9) % 12);
    let years = i64::from(year) - i64::from(month <= 2);
    let leap_days = years.div_euclid(4) - years.div_euclid(100) + years.div_euclid(400);
    let day_of_year = (153 * from_march + 2) / 5 + i64::from(day) - 1;
    // Days from the first of March of year 0 to the epoch.
    i32::try_from(365 * years + leap_days + day_of_year - 719_468).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_from_the_epoch() {
        for (day, expected) in [
            ((1970, 1, 1), Some(0)),
            ((1969, 12, 31), Some(-1)),
            ((2000, 2, 29), Some(11_016)),
            ((1900, 2, 29), None),
            ((1815, 12, 10), Some(-56_270)),
            ((0, 3, 1), Some(-719_468)),
            ((2024, 0, 1), None),
            ((2024, 4, 31), None),
        ] {
            assert_eq!(days_of(day.0, day.1, day.2), expected, "{day:?}");
        }
    }

    #[test]
    fn moments_keep_their_microseconds() {
        for micros in [0, 1, -1, 1_700_000_000_123_456, -62_135_596_800_000_000] {
            assert_eq!(to_micros(from_micros(micros)), micros);
            assert_eq!(to_micros(from_wire(Some(to_wire(from_micros(micros))))), micros);
        }
    }
}
