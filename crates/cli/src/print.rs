//! Standard output, which may be a pipe whose reader goes away.

use crate::failure::Failure;
use std::io::{self, ErrorKind, Write};

/// Writes `text` and a line feed to standard output.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::ReaderGone,
        _ => Failure::io("standard output", &error),
    })
}
