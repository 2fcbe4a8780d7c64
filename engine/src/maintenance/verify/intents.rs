//! The operations under way: that anybody could finish them, and that no two hold one turn.

use std::collections::HashMap;

use super::VerifyReport;
use crate::error::{Reason, Result};
use crate::format::paths;
use crate::txn::Core;

/// Counts and checks the intents that stand. One that vanishes meanwhile is finished and not counted.
pub(super) async fn check(core: &Core, report: &mut VerifyReport) -> Result<()> {
    let mut turns: HashMap<(String, u64), String> = HashMap::new();
    for claim in core.intents.list().await? {
        let intent = match core.intents.read(&claim).await {
            Ok(Some(intent)) => intent,
            Ok(None) => continue,
            Err(e) if matches!(e.reason(), Reason::DataCorrupt | Reason::StorageStampTooNew) => {
                report.pending += 1;
                report.add("I7", "", e.message());
                continue;
            }
            Err(e) => return Err(e),
        };
        report.pending += 1;
        let turn = (intent.branch.branch_id.clone(), intent.base.manifest_version);
        if let Some(other) = turns.insert(turn, claim.clone()) {
            let what = format!(
                "{} and {} both claim the turn after version {}",
                paths::intent(&other),
                paths::intent(&claim),
                intent.base.manifest_version
            );
            report.add("I7", &intent.branch.name, what);
        }
    }
    Ok(())
}
