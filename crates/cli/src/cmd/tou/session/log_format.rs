//! The log's format with --json: lines that begin as every JSON document does.

use std::fmt;
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{Format, Json, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// The keys with which each line begins, as docs/reference/json.md has them.
const ENVELOPE: &str = r#"{"schema":1,"kind":"tou.log","#;

/// JSON lines that begin with `schema` and `kind`.
pub(super) struct InEnvelope(pub(super) Format<Json>);

impl<S, N> FormatEvent<S, N> for InEnvelope
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        match line.strip_prefix('{') {
            Some(keys) => write!(writer, "{ENVELOPE}{keys}"),
            None => writer.write_str(&line),
        }
    }
}
