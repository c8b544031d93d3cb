//! What stands for `parquet.rs` in a build without the feature `parquet`.

use crate::failure::Failure;
use std::io::{self, ErrorKind, Write};
use windlass_sim::series::columns::Table;

/// Refuses to write Parquet.
pub(super) fn check() -> Result<(), Failure> {
    let lacks = "this build of windlass writes no Parquet (Cargo's feature parquet)";
    Err(Failure::Input(lacks.to_owned()))
}

/// Writes nothing.
pub(super) fn write(_: impl Write, _: &Table) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}
