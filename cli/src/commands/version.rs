//! `version`: the release, and the storage format it serves.

use clap::Args;
use omnigraph_engine::format::stamp;
use serde_json::json;

use crate::context::Context;
use crate::failure::Result;
use crate::output;

/// Show the release and the storage stamp it serves. `omnigraph snapshot` shows the stamp of a graph.
#[derive(Debug, Args)]
pub(crate) struct Version {}

impl Version {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        let release = env!("CARGO_PKG_VERSION");
        let json = || json!({"release": release, "storage_stamp": stamp::CURRENT});
        output::answer(context, json, || format!("omnigraph {release}\nstorage stamp {}", stamp::CURRENT))
    }
}
