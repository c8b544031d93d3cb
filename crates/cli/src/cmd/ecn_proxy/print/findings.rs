//! `windlass ecn-proxy check` for people.

use windlass_ecn_proxy::check::{Finding, Severity};

/// Two lines for each finding, or one that says that there is none.
pub(in crate::cmd::ecn_proxy) fn text(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return "ok: nothing found".to_owned();
    }
    findings.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn one(finding: &Finding) -> String {
    let word = match finding.severity {
        Severity::Error => "error",
        _ => "warning",
    };
    let Finding { place, what, expected, .. } = finding;
    format!("{word:<9}{place}: {what}\n         expected: {expected}")
}
