//! Replaces `parquet.rs` in a build without the feature `parquet`.

use std::io::{self, ErrorKind, Write};
use windlass_sim::series::columns::Table;

/// Writes nothing: `sim run` has refused the option before.
pub(super) fn write(_: impl Write, _: &Table) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}
