//! Turns the contract, `proto/omnigraph/v1/*.proto`, into the Rust code committed in `proto/src/gen`.
//!
//! Works without protoc and without the network, and the same contract always gives the same bytes. It may not
//! be a build script of anything: the generated code is committed, and a test of this crate compares.

use std::io;
use std::path::{Path, PathBuf};

use prost::Message;

/// Name of the generated file that holds messages, clients and services.
pub const CODE_FILE: &str = "omnigraph.v1.rs";

/// Name of the generated file that holds the encoded descriptors, imports included, for reflection.
pub const DESCRIPTOR_FILE: &str = "omnigraph.v1.bin";

/// The folder that holds the contract: the root of its imports.
pub fn proto_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The folder that holds the committed code.
pub fn committed_dir() -> PathBuf {
    proto_root().join("src").join("gen")
}

/// Writes [`CODE_FILE`] and [`DESCRIPTOR_FILE`] into `out_dir`, which is made if it is missing. Other files there
/// are left alone.
///
/// # Errors
/// A contract that does not compile, with file, line and column; and whatever the file system says.
pub fn generate(proto_root: &Path, out_dir: &Path) -> io::Result<()> {
    std::fs::create_dir_all(out_dir)?;
    let mut compiler = protox::Compiler::new([proto_root]).map_err(io::Error::other)?;
    compiler.include_imports(true).include_source_info(true);
    for file in contract_files(proto_root)? {
        compiler.open_file(file).map_err(io::Error::other)?;
    }
    let mut descriptors = compiler.file_descriptor_set();

    tonic_prost_build::configure()
        .out_dir(out_dir)
        // Callers bring their own channel; and the output must not depend on features other crates turn on.
        .build_transport(false)
        // A map has one order, so equal messages have equal bytes.
        .btree_map(".")
        .bytes(".")
        .compile_fds_with_config(descriptors.clone(), {
            let mut config = tonic_prost_build::Config::new();
            // Messages wrapped in an `Any` look as other languages write them.
            config.enable_type_names();
            config.type_name_domain(["."], "type.googleapis.com");
            config
        })?;

    // Comments are in the code already, and reflection does not need them.
    for file in &mut descriptors.file {
        file.source_code_info = None;
    }
    std::fs::write(out_dir.join(DESCRIPTOR_FILE), descriptors.encode_to_vec())
}

/// The contract's files relative to `proto_root`, sorted, so that the output does not depend on the disk.
fn contract_files(proto_root: &Path) -> io::Result<Vec<PathBuf>> {
    let package = Path::new("omnigraph").join("v1");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(proto_root.join(&package))? {
        let name = PathBuf::from(entry?.file_name());
        if name.extension().is_some_and(|extension| extension == "proto") {
            files.push(package.join(name));
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn contents(dir: &Path) -> io::Result<BTreeMap<String, Vec<u8>>> {
        std::fs::read_dir(dir)?
            .map(|entry| {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                Ok((name, std::fs::read(entry.path())?))
            })
            .collect()
    }

    #[test]
    fn committed_code_is_what_the_contract_gives() -> io::Result<()> {
        let fresh = tempfile::tempdir()?;
        generate(&proto_root(), fresh.path())?;
        let fresh = contents(fresh.path())?;
        let committed = contents(&committed_dir())?;
        let differing: Vec<_> =
            fresh.keys().chain(committed.keys()).filter(|name| fresh.get(*name) != committed.get(*name)).collect();
        assert!(
            differing.is_empty(),
            "proto/src/gen is not what proto/omnigraph/v1 gives ({differing:?}): run `cargo run -p omnigraph-codegen` and commit the result",
        );
        Ok(())
    }
}
