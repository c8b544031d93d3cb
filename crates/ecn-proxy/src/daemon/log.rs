//! The log, on standard error: lines of text, or JSON objects.

use crate::config::LogFormat;
use std::fmt;
use std::io::{self, IsTerminal};
use tracing::{Event, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::{Format, Json, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// The keys with which every JSON line begins, as docs/reference/json.md has them.
const ENVELOPE: &str = r#"{"schema":1,"kind":"ecn-proxy.log","#;

/// Begins to log what the directives admit. A second call changes nothing.
pub(super) fn begin(directives: &str, format: LogFormat) {
    let builder = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(directives))
        .with_writer(io::stderr)
        .with_target(false);
    let _ = match format {
        LogFormat::Text => builder.with_ansi(io::stderr().is_terminal()).try_init(),
        LogFormat::Json => builder.json().map_event_format(|_| InEnvelope(json())).try_init(),
    };
}

fn json() -> Format<Json> {
    tracing_subscriber::fmt::format().json().flatten_event(true).with_target(false)
}

/// JSON lines that begin with `schema` and `kind`.
struct InEnvelope(Format<Json>);

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
        writer.write_str(&in_envelope(&line))
    }
}

/// Puts the envelope's keys before those of a JSON object.
fn in_envelope(object: &str) -> String {
    match object.strip_prefix('{') {
        Some(keys) => format!("{ENVELOPE}{keys}"),
        None => object.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("one thread").extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_json_line_of_the_log_has_the_envelope_and_the_fields() {
        let written = Buffer::default();
        let writer = written.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .json()
            .map_event_format(|_| InEnvelope(json()))
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(interface = "eth1", "gone")
        });
        let text = String::from_utf8(written.0.lock().expect("one thread").clone()).expect("UTF-8");
        let line: serde_json::Value = serde_json::from_str(&text).expect("one JSON object");
        assert!(text.starts_with(ENVELOPE), "{text}");
        assert_eq!((&line["interface"], &line["message"]), (&"eth1".into(), &"gone".into()));
    }
}
