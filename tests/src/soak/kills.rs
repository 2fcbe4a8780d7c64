//! Kills servers at moments nobody chose.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;

use super::place::Place;
use super::{Outcome, Run};

/// Pause between two kills, in milliseconds.
const PAUSE: std::ops::Range<u64> = 1_000..4_000;

/// One in so many kills takes all servers of a place at once.
const ALL_AT_ONCE: u32 = 10;

/// Kills and restarts until the run is over.
///
/// # Errors
/// A server does not come up again.
pub(crate) async fn kill(run: Arc<Run>, places: Vec<Arc<Place>>, mut chance: Rng) -> Outcome {
    let members: Vec<(usize, usize)> =
        places.iter().enumerate().flat_map(|(place, p)| (0..p.size()).map(move |at| (place, at))).collect();
    while run.goes_on() {
        tokio::time::sleep(Duration::from_millis(chance.u64(PAUSE))).await;
        let (place, at) = members[chance.usize(..members.len())];
        let place = &places[place];
        if chance.u32(..ALL_AT_ONCE) == 0 {
            let all = (0..place.size()).map(|at| place.restart(at));
            futures::future::try_join_all(all).await?;
        } else {
            place.restart(at).await?;
        }
    }
    Ok(())
}
