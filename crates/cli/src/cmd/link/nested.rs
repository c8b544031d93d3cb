//! `windlass link -- COMMAND`.

use super::args::Link;
use super::print::{LiveFigures, Report};
use crate::failure::Failure;
use std::io::{self, ErrorKind};
use std::process::ExitCode;
use windlass_link::linux::{Nested, acquire_privilege};
use windlass_link::{LinkConfig, PortConfig};

/// Runs the command behind the link; the exit status is the command's.
pub(super) fn main(args: Link) -> Result<ExitCode, Failure> {
    let (up, down) = (args.path.up(), args.path.down());
    let ports = vec![
        PortConfig { name: "outside".into(), ..PortConfig::default() },
        PortConfig { name: "inside".into(), up, down, ..PortConfig::default() },
    ];
    let link = LinkConfig { seed: args.seed, ports };
    let log = args.watch.log.as_deref().map(|path| (path, args.watch.log_interval));
    let mut report = Report::new(&link, log, LiveFigures::No)?;
    let failure = |error: io::Error| match error.kind() {
        ErrorKind::InvalidInput => Failure::Input(format!("link: {error}")),
        _ => Failure::Work(format!("link: {error}")),
    };
    acquire_privilege().map_err(failure)?;
    let nested = Nested {
        link,
        command: args.command_line,
        outside: args.outside,
        mtu: args.mtu,
        spin: args.watch.spin,
    };
    let (code, carrier) = nested.run(&mut report).map_err(failure)?;
    report.finish(&carrier)?;
    if args.watch.json {
        // Standard output is the command's.
        eprintln!("{}", report.summary(&carrier).line());
    }
    Ok(ExitCode::from(code))
}
