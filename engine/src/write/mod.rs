//! Writing: what a caller asks for, turned into staged effects. Nothing here commits for itself.

pub mod load;
pub mod mutate;
