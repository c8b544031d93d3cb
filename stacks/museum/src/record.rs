//! The packets of a judgement, as a file for the plots.

use crate::exhibit::{Exhibit, View};
use crate::versions::version;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use windlass_judge::{EventKind, Judgement};

/// Judges every exhibit whose stack has one of these versions, and writes the packets of each into
/// `FOLDER/NAME-VERSION.csv`. Returns a line for each.
///
/// # Errors
///
/// A case cannot be judged, or a file cannot be written.
pub fn record(exhibits: &[Exhibit], lock: &str, folder: &Path) -> Result<Vec<String>, String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut lines = Vec::new();
    for exhibit in exhibits {
        let version = version(lock, exhibit.stack).unwrap_or_default();
        let judgement = exhibit.judge()?;
        let (name, outcome) = (exhibit.name, &judgement.outcome);
        let reason = outcome.reason().unwrap_or_default();
        lines.push(format!("{name} {} {version}: {} {reason}", exhibit.stack, outcome.name()));
        let path = folder.join(format!("{name}-{version}.csv"));
        let written = fs::write(&path, csv(exhibit, &judgement, &version));
        written.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(lines)
}

/// A line of stack, version, outcome, view and reason, then one for each packet: seconds, kind, first byte, bytes, bytes in flight.
fn csv(exhibit: &Exhibit, judgement: &Judgement, version: &str) -> String {
    let (stack, outcome) = (exhibit.stack, &judgement.outcome);
    let reason = outcome.reason().unwrap_or_default().replace(',', ";");
    let view = match exhibit.view {
        View::Sequence => "sequence",
        View::Flight => "flight",
    };
    let mut text = format!("{stack},{version},{},{view},{reason}\n", outcome.name());
    let Some(wire) = &judgement.wire else { return text };
    for event in wire.events() {
        let segment = &event.packet.segment;
        let (kind, at) = match event.kind {
            EventKind::Sent => ("sent", segment.seq),
            EventKind::Resent => ("resent", segment.seq),
            EventKind::Arrived => ("acked", segment.ack),
        };
        // A case begins after a second.
        let seconds = event.at.as_secs_f64() - 1.0;
        let (offset, bytes, flight) = (wire.offset(at), segment.payload_len, event.flight);
        let _ = writeln!(text, "{seconds:.6},{kind},{offset},{bytes},{flight}");
    }
    text
}
