//! The museum with versions that have the faults.

/// The lock file, which has the versions.
pub const LOCK: &str = include_str!("../Cargo.lock");
