//! `windlass ecn-proxy check`: the findings, and the exit status.

use super::args::CheckArgs;
use super::{print, queues, settings};
use crate::envelope::Document;
use crate::failure::{Failure, plain};
use crate::stdout;
use serde_json::json;
use windlass_ecn_proxy::check::{Finding, Severity, Subject, check};

/// Prints the findings. Errors of the configuration are bad input, those of the machine a failure.
pub(super) fn main(args: CheckArgs) -> Result<(), Failure> {
    let source = settings::source(args.run)?;
    let mut findings = check(&source);
    let mut marking = Vec::new();
    // Without a sound configuration it is not known which queues are of use.
    match source.client_side().map(|interfaces| queues::look(&interfaces)) {
        Some(Ok(queues)) => marking = queues,
        Some(Err(finding)) => findings.push(finding),
        None => {}
    }
    for finding in &mut findings {
        finding.what = plain(&finding.what);
        if args.strict {
            finding.severity = Severity::Error;
        }
    }
    let is_error = |finding: &&Finding| finding.severity == Severity::Error;
    let errors = findings.iter().filter(is_error).count();
    let of_input = |finding: &Finding| finding.subject == Subject::Configuration;
    let bad_input = findings.iter().filter(is_error).any(of_input);
    if args.json {
        let body = json!({ "ready": errors == 0, "findings": findings, "marking_queues": marking });
        stdout::line(&Document::new("ecn-proxy.check", body).pretty())?;
    } else {
        stdout::line(&print::findings(&findings, &marking))?;
    }
    let message = format!("{errors} of the findings are errors");
    match (errors, bad_input) {
        (0, _) => Ok(()),
        (_, true) => Err(Failure::Input(message)),
        (_, false) => Err(Failure::Work(message)),
    }
}
