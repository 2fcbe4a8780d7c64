//! What a graph takes, and how far its indexes are.

use omnigraph_engine::error::{Error, Reason, Result};
use omnigraph_engine::maintenance::stats::StatsOptions;
use omnigraph_proto::v1;
use prost::Message;

use super::read;
use crate::convert::{index, invalid, stats};
use crate::limits::RESPONSE_BYTES;
use crate::state::State;

/// `GetStats`.
pub(super) async fn get(state: &State, request: v1::GetStatsRequest) -> Result<v1::GetStatsResponse> {
    let options = options(request.branches)?;
    let graph = state.graph(&request.graph).await?;
    let answer = stats::to_proto(graph.stats(&options).await?);
    let size = answer.encoded_len();
    if size > RESPONSE_BYTES {
        let what = format!(
            "the answer has {size} bytes and may have {RESPONSE_BYTES}: there are too many branches and tables; name \
             some branches"
        );
        return Err(Error::new(Reason::LimitExceeded, what)
            .with("limit", "response_bytes")
            .with("value", size)
            .with("max", RESPONSE_BYTES));
    }
    Ok(answer)
}

fn options(branches: Vec<String>) -> Result<StatsOptions> {
    if let Some(position) = branches.iter().position(String::is_empty) {
        return Err(invalid(format!("branches[{position}]"), "must be set"));
    }
    Ok(StatsOptions { branches: (!branches.is_empty()).then_some(branches) })
}

/// `GetIndexStatus`.
pub(super) async fn indexes(state: &State, request: v1::GetIndexStatusRequest) -> Result<v1::GetIndexStatusResponse> {
    let read = read(state, &request.graph, request.selector).await?;
    let indexes = read.graph.index_status(&read.snapshot).await?;
    Ok(v1::GetIndexStatusResponse {
        read: Some(read.named),
        indexes: indexes.into_iter().map(index::to_proto).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_branches_are_all_and_each_has_a_name() {
        assert_eq!(options(Vec::new()).unwrap(), StatsOptions { branches: None });
        let named = vec!["main".to_string(), "b".to_string()];
        assert_eq!(options(named.clone()).unwrap(), StatsOptions { branches: Some(named) });
        let refused = options(vec!["b".into(), String::new()]).unwrap_err();
        assert_eq!(refused.metadata()["field"], "branches[1]");
    }
}
