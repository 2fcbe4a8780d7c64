//! Recoveries: list them, look one up.

use omnigraph_engine::error::{Error, Reason, Result};
use omnigraph_engine::format::recovery_row::RecoveryRow;
use omnigraph_proto::v1;

use crate::convert::{recovery, required};
use crate::page::{self, Listing, Position};
use crate::state::State;

/// `ListRecoveries`.
pub(super) async fn list(state: &State, mut request: v1::ListRecoveriesRequest) -> Result<v1::ListRecoveriesResponse> {
    let size = page::size(std::mem::take(&mut request.page_size));
    let token = std::mem::take(&mut request.page_token);
    let listing = Listing::new("ListRecoveries", &request);
    let after = listing.open(&token)?.map(|p| p.after);
    let graph = state.graph(&request.graph).await?;
    let (rows, more) = part(graph.recoveries().await?, &request.branch, after.as_deref(), size)?;
    let next_page_token = match rows.last() {
        Some(last) if more => listing.seal(&Position { after: last.operation_id.clone(), ..Position::default() }),
        _ => String::new(),
    };
    let recoveries = rows.into_iter().map(recovery::to_proto).collect();
    Ok(v1::ListRecoveriesResponse { recoveries, next_page_token })
}

/// The newest `size` entries after the one of operation `after`, and whether more follow. `rows` is the log,
/// oldest first; an empty `branch` means all of it.
fn part(
    mut rows: Vec<RecoveryRow>,
    branch: &str,
    after: Option<&str>,
    size: usize,
) -> Result<(Vec<RecoveryRow>, bool)> {
    rows.retain(|row| branch.is_empty() || row.branch == branch);
    if let Some(after) = after {
        let at = rows.iter().position(|row| row.operation_id == after);
        // The log only grows, so it can only be another one.
        rows.truncate(at.ok_or_else(|| page::refused("token belongs to a graph of this id that was removed"))?);
    }
    let rest = rows.len().saturating_sub(size);
    rows.drain(..rest);
    rows.reverse();
    Ok((rows, rest > 0))
}

/// `GetRecovery`.
pub(super) async fn get(state: &State, request: v1::GetRecoveryRequest) -> Result<v1::GetRecoveryResponse> {
    required("operation_id", &request.operation_id)?;
    let graph = state.graph(&request.graph).await?;
    let rows = graph.recoveries().await?;
    let found = rows.into_iter().find(|row| row.operation_id == request.operation_id);
    let found = found.ok_or_else(|| {
        let what = format!(
            "no operation {:?} was ever recovered; it was not interrupted, or it still waits for a recovery",
            request.operation_id
        );
        Error::new(Reason::RecoveryNotFound, what).with("operation_id", &request.operation_id)
    })?;
    Ok(v1::GetRecoveryResponse { recovery: Some(recovery::to_proto(found)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log of operations named after their branches: `a1` is on `a`.
    fn log(names: &[&str]) -> Vec<RecoveryRow> {
        let row = |name: &&str| RecoveryRow {
            operation_id: name.to_string(),
            base_version: 1,
            branch: name[..1].to_string(),
            branch_id: String::new(),
            label: String::new(),
            actor: String::new(),
            outcome: String::new(),
            graph_commit_id: String::new(),
            tables: Vec::new(),
            recovered_at: 0,
            recovered_by: String::new(),
        };
        names.iter().map(row).collect()
    }

    #[test]
    fn pages_go_from_the_newest_to_the_oldest() {
        let names = ["a1", "b2", "a3", "a4", "b5"];
        for (branch, after, size, expected, more) in [
            ("", None, 9, &["b5", "a4", "a3", "b2", "a1"][..], false),
            ("", None, 2, &["b5", "a4"], true),
            ("", Some("a4"), 2, &["a3", "b2"], true),
            ("", Some("b2"), 2, &["a1"], false),
            ("", Some("a1"), 2, &[], false),
            ("", None, 5, &["b5", "a4", "a3", "b2", "a1"], false),
            ("a", None, 2, &["a4", "a3"], true),
            ("a", Some("a3"), 2, &["a1"], false),
            ("c", None, 2, &[], false),
        ] {
            let (rows, follows) = part(log(&names), branch, after, size).unwrap();
            let found: Vec<&str> = rows.iter().map(|row| row.operation_id.as_str()).collect();
            assert_eq!((found.as_slice(), follows), (expected, more), "{branch:?} {after:?} {size}");
        }
    }

    #[test]
    fn an_entry_that_is_gone_ends_the_listing() {
        let refused = part(log(&["a1"]), "", Some("a0"), 1).unwrap_err();
        assert_eq!(refused.reason(), Reason::InvalidPageToken);
    }
}
