//! The arguments of `windlass doctor`.

use super::tools::{TOOLS, Tool};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};

pub(crate) const DOCTOR_HELP: &str = "\
Examples:
  windlass doctor                       # all tools
  windlass doctor link cc               # these alone
  windlass doctor cc --json             # for a script

Looks at programs, capabilities and the kernel with the rights of the user; `sudo windlass doctor` \
checks those of root. Nothing is changed; namespaces are tried in a child that ends at once.

Exit status: 0 all that the tools need is there; 1 something without which one of them does not \
work is missing (what is optional does not count, nor does the lab, a package of its own, unless a \
tool is named); 2 no such tool.";

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// The tools to look at; none: all
    #[arg(value_name = "TOOL", value_parser = PossibleValuesParser::new(TOOLS.iter().map(value)))]
    pub tools: Vec<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// A tool as a value; the simulator by its command's name too.
fn value(tool: &Tool) -> PossibleValue {
    PossibleValue::new(tool.name).aliases(tool.command().filter(|name| *name != tool.name))
}
