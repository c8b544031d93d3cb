//! Options as keys of the proxy's configuration.

use super::args::EcnProxyRun;
use crate::failure::Failure;
use windlass_ecn_proxy::config::Source;
use windlass_keys::Problem;

/// Where the configuration comes from.
pub(super) fn source(args: EcnProxyRun) -> Result<Source, Failure> {
    let options = serde_json::to_value(&args).map_err(|error| Failure::Input(error.to_string()))?;
    Source::new(options, args.config).map_err(|problems| {
        Failure::Input(problems.list().iter().map(line).collect::<Vec<_>>().join("\n"))
    })
}

/// A mistake in an option. The key of a list has the index of its item at the end.
fn line(problem: &Problem) -> String {
    let key = problem.key.split('.').next().unwrap_or_default();
    format!("--{}: {}", key.replace('_', "-"), problem.message)
}
