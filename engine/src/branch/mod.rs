//! Branches: make, look at, delete.

pub mod create;
pub mod delete;
pub mod list;
