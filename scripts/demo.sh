#!/usr/bin/env bash
# Builds the server, the command line and the demo, and runs the demo. Arguments go to the demo.
#
# The demo finds `omnigraph` and `omnigraph-server` on PATH and keeps its graph in OMNIGRAPH_DEMO_DIR, which is
# empty at the start and stays afterwards, so that one can look round.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$HOME/.cache/omnigraph-target}

scripts/setup.sh

# The whole workspace, so that the dependencies are those that `make test` builds, and built once.
echo "building; the first time takes several minutes"
cargo build --locked --workspace --bins

target=$(cd "$CARGO_TARGET_DIR" && pwd)
export PATH="$target/debug:$PATH"
export OMNIGRAPH_DEMO_DIR=$target/demo
rm -rf "$OMNIGRAPH_DEMO_DIR"
mkdir -p "$OMNIGRAPH_DEMO_DIR"

exec omnigraph-demo "$@"
