//! The rules, one module each; every `check` answers all offences of a tree.

pub mod absolute;
pub mod boundaries;
pub mod header;
pub mod impure;
pub mod layers;
pub mod manifests;
pub mod mounts;
pub mod size;
pub mod words;
