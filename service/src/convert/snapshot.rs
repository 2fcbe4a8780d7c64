//! The stored tables behind a version.

use omnigraph_engine::Snapshot;
use omnigraph_engine::format::stamp;
use omnigraph_engine::manifest::TablePin;
use omnigraph_proto::v1;

use super::entity;

/// What makes up a version of the graph at `root`, as a message.
pub fn to_proto(snapshot: &Snapshot, root: &str, read: v1::CommitRef) -> v1::GetSnapshotResponse {
    let mut pins: Vec<&TablePin> = snapshot.pins().collect();
    pins.sort_by(|a, b| a.type_ref.cmp(&b.type_ref));
    v1::GetSnapshotResponse {
        read: Some(read),
        root_uri: root.to_string(),
        storage_stamp: stamp::CURRENT,
        manifest_branch: snapshot.branch.lance_branch.clone().unwrap_or_default(),
        manifest_version: snapshot.version,
        tables: pins.into_iter().map(table).collect(),
    }
}

fn table(pin: &TablePin) -> v1::TableSnapshot {
    let at = pin.at.as_ref();
    v1::TableSnapshot {
        table_key: pin.type_ref.to_string(),
        kind: entity::kind_to_proto(pin.type_ref.kind),
        type_name: pin.type_ref.name.clone(),
        location: at.map(|at| at.location.clone()).unwrap_or_default(),
        lance_branch: at.and_then(|at| at.branch.clone()).unwrap_or_default(),
        version: at.map_or(0, |at| at.version),
        rows: pin.rows,
    }
}
