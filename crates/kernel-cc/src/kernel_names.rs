//! The names of the kernel's congestion controllers.

use crate::{Error, Name};
use std::fs;

const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// Whether the kernel has a controller of that name.
pub(crate) fn exists(name: &Name) -> Result<bool, Error> {
    let names = fs::read_to_string(AVAILABLE).map_err(|error| Error::io(AVAILABLE, error))?;
    Ok(names.split_whitespace().any(|other| other == name.as_str()))
}

/// Whether it is the default for new connections of this network namespace.
pub(crate) fn is_default(name: &Name) -> Result<bool, Error> {
    let default = fs::read_to_string(DEFAULT).map_err(|error| Error::io(DEFAULT, error))?;
    Ok(default.trim() == name.as_str())
}
