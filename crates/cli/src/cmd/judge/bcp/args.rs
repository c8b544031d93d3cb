//! The arguments of `windlass judge --bcp`.

use clap::{Args, ValueHint};
use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(next_help_heading = "Options of --bcp")]
pub(crate) struct Bcp {
    /// Evaluate by the criteria of RFC 9743 (BCP 133); CONTROLLER may be several with commas between them
    #[arg(long, conflicts_with_all = ["suites", "case", "profile", "list", "coverage", "junit", "qlog", "page"])]
    pub bcp: bool,
    /// Run each scenario for half its time and with three seeds
    #[arg(long, requires = "bcp")]
    pub quick: bool,
    /// Run each scenario with the seeds from 1 to N [default: 10, or 3 with --quick]
    #[arg(long, requires = "bcp", value_name = "N")]
    pub seeds: Option<NonZeroU64>,
    /// Evaluate this criterion, such as packet-loss; may be given several times [default: all]
    #[arg(long = "criterion", requires = "bcp", value_name = "NAME")]
    pub criteria: Vec<String>,
    /// Evaluate in this setting, or on this path of a setting; may be given several times [default: all]
    #[arg(long = "setting", requires = "bcp", value_name = "NAME")]
    pub settings: Vec<String>,
    /// Write the report into this file, as a page of HTML
    #[arg(long, requires = "bcp", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub report: Option<PathBuf>,
}

impl Bcp {
    /// The options as the user gave them.
    pub(in super::super) fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        words.extend(self.bcp.then(|| "--bcp".into()));
        words.extend(self.quick.then(|| "--quick".into()));
        let mut with = |option: &str, value: OsString| words.extend([option.into(), value]);
        self.seeds.iter().for_each(|seeds| with("--seeds", seeds.to_string().into()));
        self.criteria.iter().for_each(|name| with("--criterion", name.into()));
        self.settings.iter().for_each(|name| with("--setting", name.into()));
        self.report.iter().for_each(|path| with("--report", path.into()));
        words
    }
}
