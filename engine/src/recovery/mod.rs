//! The one recovery path. Whoever meets an interrupted operation decides it, whatever it was for.
//!
//! [`classify`] decides, [`sweep`] looks and acts, [`restore`] brings tables back to what is published,
//! [`audit`] keeps the record. Nothing here depends on clocks for safety: every decision is one
//! conditional write. A claim whose intent cannot be read says no more than whose turn it blocks; [`unreadable`]
//! undoes it without knowing what it was.

pub mod audit;
pub mod classify;
pub mod restore;
pub mod sweep;
mod unreadable;
