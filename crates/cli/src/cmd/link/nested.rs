//! `windlass link -- COMMAND`.

use super::args::Link;
use super::live::{self, Watched};
use super::output::CommandOutput;
use super::print::{LiveFigures, Report};
use crate::failure::Failure;
use std::io::{self, ErrorKind};
use std::process::ExitCode;
use std::sync::Arc;
use windlass_link::linux::{Carrier, Nested, acquire_privilege, stop_signals};
use windlass_link::{LinkConfig, PortConfig};

/// Runs the command behind the link; the exit status is the command's.
pub(super) fn main(args: Link) -> Result<ExitCode, Failure> {
    if args.watch.live {
        crate::live::check()?;
    }
    let (up, down) = (args.path.up(), args.path.down());
    let ports = vec![
        PortConfig { name: "outside".into(), ..PortConfig::default() },
        PortConfig { name: "inside".into(), up, down, ..PortConfig::default() },
    ];
    let link = LinkConfig { seed: args.seed, ports };
    let log = args.watch.log.as_deref().map(|path| (path, args.watch.log_interval));
    let mut report = Report::new(&link, log, LiveFigures::No)?;
    let output = args.watch.live.then(|| CommandOutput::create(&args.command_line)).transpose();
    let output = output.map_err(|error| Failure::io("the command's output", &error))?.map(Arc::new);
    let failure = |error: io::Error| match error.kind() {
        ErrorKind::InvalidInput => Failure::Input(format!("link: {error}")),
        _ => Failure::Work(format!("link: {error}")),
    };
    acquire_privilege().map_err(failure)?;
    let nested = Nested {
        link: link.clone(),
        command: args.command_line,
        outside: args.outside,
        block: args.block,
        mtu: args.mtu,
        spin: args.watch.spin,
        output: output.as_ref().map(|output| output.file()),
    };
    let (code, carrier) = match output {
        None => nested.run(&mut report).map_err(failure)?,
        Some(output) => watched(nested, &link, &mut report, output)?.map_err(failure)?,
    };
    report.finish(&carrier)?;
    if args.watch.json {
        // Standard output is the command's.
        eprintln!("{}", report.summary(&carrier).line());
    }
    Ok(ExitCode::from(code))
}

/// Runs the command while its link is shown, then prints its output.
fn watched(
    nested: Nested,
    link: &LinkConfig,
    report: &mut Report,
    output: Arc<CommandOutput>,
) -> Result<io::Result<(u8, Carrier)>, Failure> {
    // Blocked before the thread of the view begins, or that would take the signals.
    let _signals = stop_signals().map_err(|error| Failure::io("link", &error))?;
    let paths = report.shown_paths(link);
    let view = live::start(link, Arc::clone(&paths), Some(Arc::clone(&output)))?;
    let result = nested.run(&mut Watched::new(report, &view, paths));
    drop(view);
    output.print().map_err(|error| Failure::io("the command's output", &error))?;
    Ok(result)
}
