//! Which fragments of the manifest the next publish rewrites. Pure.
//!
//! Every publish adds a few rows. Left alone, that is one fragment per commit, and every commit would
//! carry the whole list. Instead a publish rewrites the last fragment together with its own rows, seals
//! it once it is full, and merges sealed fragments of like size, as a log-structured tree does: a row is
//! rewritten a logarithmic number of times and the list stays logarithmic in the history.

use crate::limits::MANIFEST_FANOUT;

/// Rows the last fragment gathers before it is sealed.
const TAIL_ROWS: u64 = (MANIFEST_FANOUT * 3) as u64;

/// What a publish does to the fragments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TailPlan {
    /// Fragments from this position on are replaced.
    pub from: usize,
    /// Whether their rows go into a sealed fragment of their own, leaving the last one for what is new.
    pub seal: bool,
}

/// Decides from the row counts of the present fragments and the number of rows to add.
pub fn plan(fragment_rows: &[u64], new_rows: u64) -> TailPlan {
    let Some((tail, sealed)) = fragment_rows.split_last() else {
        return TailPlan { from: 0, seal: false };
    };
    if tail + new_rows <= TAIL_ROWS {
        return TailPlan { from: sealed.len(), seal: false };
    }
    let mut from = sealed.len();
    let mut rows = *tail;
    loop {
        let level = tier(rows);
        let run = sealed[..from].iter().rev().take_while(|r| tier(**r) <= level).count();
        if run + 1 < MANIFEST_FANOUT {
            return TailPlan { from, seal: true };
        }
        rows += sealed[from - run..from].iter().sum::<u64>();
        from -= run;
        if tier(rows) == level {
            return TailPlan { from, seal: true };
        }
    }
}

/// The order of magnitude of a fragment.
fn tier(rows: u64) -> u32 {
    (rows / TAIL_ROWS).max(1).ilog(MANIFEST_FANOUT as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simulate(commits: u64, rows_each: u64) -> (usize, f64) {
        let mut fragments: Vec<u64> = vec![rows_each];
        let (mut written, mut most) = (0, 0);
        for _ in 0..commits {
            let plan = plan(&fragments, rows_each);
            let old: u64 = fragments.drain(plan.from..).sum();
            // One row, the head, always moves on to the last fragment.
            if plan.seal {
                fragments.push(old - 1);
                fragments.push(rows_each + 1);
            } else {
                fragments.push(old + rows_each);
            }
            written += old + rows_each;
            most = most.max(fragments.len());
        }
        (most, written as f64 / commits as f64)
    }

    #[test]
    fn fragments_and_rewriting_stay_logarithmic() {
        let (short, cheap) = simulate(10, 3);
        let (long, dear) = simulate(20_000, 3);
        assert!(short <= 4, "{short}");
        assert!(long <= 5 * MANIFEST_FANOUT, "{long}");
        assert!(dear < cheap + 60.0, "{cheap} {dear}");
    }

    #[test]
    fn the_first_publish_and_large_commits_are_planned_too() {
        assert_eq!(plan(&[], 3), TailPlan { from: 0, seal: false });
        assert_eq!(plan(&[3], 3), TailPlan { from: 0, seal: false });
        assert_eq!(plan(&[3], 500), TailPlan { from: 0, seal: true });
        assert!(simulate(100, 200).0 < 2 * MANIFEST_FANOUT);
    }
}
