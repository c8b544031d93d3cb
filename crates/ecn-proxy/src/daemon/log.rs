//! The log, on standard error: lines of text, or JSON objects.

use crate::config::LogFormat;
use std::io::{self, IsTerminal};

/// Begins to log. A second call changes nothing.
pub(super) fn begin(format: LogFormat) {
    let builder = tracing_subscriber::fmt().with_writer(io::stderr).with_target(false);
    let _ = match format {
        LogFormat::Text => builder.with_ansi(io::stderr().is_terminal()).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
}
