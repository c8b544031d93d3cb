//! The text of `windlass drill`.

use windlass_drill::report::{self, Counts, Played, Report};

/// A script in one line; below it what its code printed, and a failure's both sides.
pub(super) fn script(played: &Played) -> String {
    let mut parts = vec![report::line(played)];
    if let Ok(run) = &played.run {
        parts.extend(run.printed.iter().map(|text| format!("  printed: {text}")));
    }
    parts.extend(report::divergence(played));
    parts.join("\n")
}

/// The sums in one line.
pub(super) fn sum(report: &Report) -> String {
    let Counts { passed, failed, skipped, invalid } = report.counts();
    let all = report.scripts.len();
    let noun = if all == 1 { "script" } else { "scripts" };
    let no_script = if invalid == 0 { String::new() } else { format!(", {invalid} invalid") };
    format!(
        "{}: {all} {noun}: {passed} passed, {failed} failed, {skipped} skipped{no_script}",
        report.subject
    )
}
