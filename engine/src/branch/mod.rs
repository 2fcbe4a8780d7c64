//! Branches: make, look at, protect, delete.

pub mod create;
pub mod delete;
pub mod list;
pub mod protect;
