//! What a soak is told when it starts.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

/// Longest run, in minutes: a day.
const MAX_MINUTES: f64 = 24.0 * 60.0;

/// Writes, reads and branches through several servers while these are killed, and checks that nothing
/// acknowledged is lost or doubled. With --upkeep nothing is killed: optimize, repair and cleanup run beside writers
/// and readers of old commits, and nobody may notice.
#[derive(Clone, Debug, Parser)]
#[command(name = "omnigraph-soak", version)]
pub struct Options {
    /// Run optimize, repair and cleanup in a loop instead of killing servers
    #[arg(long)]
    pub upkeep: bool,

    /// Minutes of writing and killing, or of writing and upkeep; settling and checking come after
    #[arg(long, default_value = "10", value_name = "N", value_parser = minutes)]
    pub minutes: Duration,

    /// Repeats the choices of an earlier run, though not its timing
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Writes at most, of all writers together
    #[arg(long, default_value_t = 200_000, value_name = "N")]
    pub writes: u64,

    /// Folder for everything the run makes, which stays; without it a temporary one, which stays if something
    /// is wrong
    #[arg(long, value_name = "FOLDER")]
    pub folder: Option<PathBuf>,

    /// The program `weed` of SeaweedFS
    #[arg(long, env = crate::servers::weed::VARIABLE, value_name = "FILE")]
    pub weed: PathBuf,
}

fn minutes(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(minutes) if minutes > 0.0 && minutes <= MAX_MINUTES => Ok(Duration::from_secs_f64(minutes * 60.0)),
        _ => Err(format!("a number of minutes above 0, at most {MAX_MINUTES}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_are_bounded() {
        assert_eq!(minutes("0.5"), Ok(Duration::from_secs(30)));
        for wrong in ["0", "-1", "nan", "inf", "1441", "x"] {
            assert!(minutes(wrong).is_err(), "{wrong}");
        }
    }
}
