//! `windlass ecn-proxy check` for people.

use crate::cmd::doctor::MarkingQueue;
use windlass_ecn_proxy::check::{Finding, Severity};

/// Two lines for each finding, or one that says that there is none, and the queues that mark.
pub(in crate::cmd::ecn_proxy) fn text(findings: &[Finding], queues: &[MarkingQueue]) -> String {
    let mut lines: Vec<String> = findings.iter().map(one).collect();
    if lines.is_empty() {
        lines.push("ok: nothing found".to_owned());
    }
    if !queues.is_empty() {
        let queues: Vec<String> = queues.iter().map(MarkingQueue::to_string).collect();
        lines.push(format!("marking  {}", queues.join(", ")));
    }
    lines.join("\n")
}

fn one(finding: &Finding) -> String {
    let word = match finding.severity {
        Severity::Error => "error",
        _ => "warning",
    };
    let Finding { place, what, expected, .. } = finding;
    format!("{word:<9}{place}: {what}\n         expected: {expected}")
}
