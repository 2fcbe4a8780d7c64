//! `cargo run -p omnigraph-codegen [OUT_DIR]` regenerates the committed contract code, or writes it to `OUT_DIR`.

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let out_dir = std::env::args_os().nth(1).map_or_else(omnigraph_codegen::committed_dir, PathBuf::from);
    omnigraph_codegen::generate(&omnigraph_codegen::proto_root(), &out_dir)
}
