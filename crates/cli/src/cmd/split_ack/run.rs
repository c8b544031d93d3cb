//! `windlass split-ack -- COMMAND`.

use super::args::SplitAck;
use super::print;
use crate::envelope::Document;
use crate::failure::{self, Failure};
use serde::Serialize;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write};
use std::process::ExitCode;
use windlass_probe::PARTS_POLITE;
use windlass_split_ack::{
    Cgroup, Connection, Hook, NOT_FOUND, Runner, Settings, Splitter, Streams, check_capabilities,
};

/// As env(1), nice(1) and timeout(1) have it.
const OWN_FAILURE: u8 = 125;

/// The body of the JSON report.
#[derive(Serialize)]
struct Report<'a> {
    split: u32,
    acks: u32,
    interfaces: Vec<&'a str>,
    hook: Hook,
    exit_status: u8,
    connections: Vec<Connection>,
    /// Packets of connections that found no room in the table.
    packets_missed: u64,
}

/// Does what the arguments say.
pub(crate) fn main(args: &SplitAck) -> Result<ExitCode, Failure> {
    let code = work(args).unwrap_or_else(|message| {
        failure::error(format!("split-ack: {message}"));
        OWN_FAILURE
    });
    Ok(ExitCode::from(code))
}

fn work(args: &SplitAck) -> Result<u8, String> {
    if args.split > u32::from(PARTS_POLITE) && !args.force {
        return Err(format!(
            "--split {}: more than {PARTS_POLITE} ACKs for one burden the server and the path; \
             --force says that you mean it",
            args.split
        ));
    }
    // Before the command runs: a report that cannot be written should not come as a surprise after.
    let mut out: Box<dyn Write> = match &args.report {
        Some(path) => Box::new(File::create(path).map_err(at(path.display()))?),
        None => Box::new(io::stderr()),
    };
    let settings = Settings {
        split: args.split,
        acks: args.acks,
        interfaces: args.interface.clone(),
        clsact: args.clsact,
        rounds: false,
    };
    let message = |error: windlass_split_ack::Error| error.to_string();
    check_capabilities().map_err(message)?;
    // Dropped in the other order: the programs first.
    let cgroup = Cgroup::new().map_err(message)?;
    let mut splitter = Splitter::new(&settings, &cgroup).map_err(message)?;
    let runner = Runner::new().map_err(message)?;
    let ended = runner.run(&args.command_line, Streams::Inherited, &cgroup, &mut splitter);
    let ended = ended.map_err(message)?;
    let (code, trouble) = (ended.status, ended.error);
    for trouble in splitter.troubles() {
        failure::error(format!("split-ack: its ACKs are not split at {trouble}"));
    }
    if let Some(error) = trouble {
        let name = args.command_line.first().map(|name| name.display().to_string());
        let name = name.unwrap_or_default();
        match code {
            NOT_FOUND => failure::error(format!("split-ack: {name}: no such command")),
            _ => failure::error(format!("split-ack: {name}: {error}")),
        }
        return Ok(code);
    }
    let report = Report {
        split: args.split,
        acks: args.acks,
        interfaces: splitter.interfaces().collect(),
        hook: splitter.hook(),
        exit_status: code,
        connections: splitter.connections().map_err(message)?,
        packets_missed: splitter.missed().map_err(message)?,
    };
    let text = match args.json {
        true => Document::new("split-ack.connections", &report).line(),
        false => print::text(&report.connections, report.packets_missed),
    };
    writeln!(out, "{text}").map_err(at("the report"))?;
    Ok(code)
}

fn at(what: impl Display) -> impl Fn(io::Error) -> String {
    move |error| format!("{what}: {error}")
}
