//! The subcommands of `windlass ecn-proxy`. `run` and `check` read the configuration; the others ask a running
//! daemon over its socket.

use super::args::{EcnProxy, SocketArg};
use super::{check, hosts, live, print, settings};
use crate::envelope::Document;
use crate::failure::Failure;
use crate::stdout;
use crate::value::with_seconds;
use serde_json::Value;
use std::path::Path;
use std::thread;
use std::time::Duration;
use windlass_ecn_proxy::config::parse_timeout;
use windlass_ecn_proxy::daemon::client::{Answers, AskError, ask};
use windlass_ecn_proxy::daemon::protocol::Command;
use windlass_ecn_proxy::daemon::{RunError, run};

/// Between the figures of `stats --watch`.
const WATCH: Duration = Duration::from_secs(1);

/// Runs a subcommand of `windlass ecn-proxy`.
pub(crate) fn main(command: EcnProxy) -> Result<(), Failure> {
    match command {
        EcnProxy::Run(args) => run(settings::source(*args)?).map_err(|error| match error {
            RunError::Config(message) => Failure::Input(message),
            error => Failure::Work(error.to_string()),
        }),
        EcnProxy::Check(args) => check::main(*args),
        EcnProxy::Status { at, json } => {
            let status = result(&at, Command::Status)?;
            stdout::line(&match json {
                true => Document::new("ecn-proxy.status", &status).pretty(),
                false => print::status(&status),
            })
        }
        EcnProxy::Stats { at, live: true, .. } => live::main(&at),
        EcnProxy::Stats { at, json, watch, explain, live: false } => {
            stats(&at, json, watch, explain)
        }
        EcnProxy::Flows { at, json } => flows(&at.socket, json),
        EcnProxy::Hosts(args) => hosts::main(&args),
        EcnProxy::Off { at } => {
            result(&at, Command::Off)?;
            stdout::line("off: every packet passes untouched; the table stays")
        }
        EcnProxy::On { at } => {
            result(&at, Command::On)?;
            stdout::line("on")
        }
        EcnProxy::Schema => stdout::line(&format!("{:#}", windlass_ecn_proxy::config::schema())),
        EcnProxy::Stop { at, drain } => stop(&at.socket, drain.as_deref()),
    }
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Failure {
        Failure::Work(error.to_string())
    }
}

fn result(at: &SocketArg, command: Command) -> Result<Value, Failure> {
    Ok(ask(&at.socket, command)?.result()?)
}

fn stats(at: &SocketArg, json: bool, watch: bool, explain: bool) -> Result<(), Failure> {
    let mut before: Option<Value> = None;
    loop {
        let now = result(at, Command::Stats)?;
        match (json, watch) {
            (true, true) => stdout::line(&Document::new("ecn-proxy.stats", &now).line())?,
            (true, false) => stdout::line(&Document::new("ecn-proxy.stats", &now).pretty())?,
            (false, _) => stdout::line(&print::stats(&now, before.as_ref(), WATCH, explain))?,
        }
        if !watch {
            return Ok(());
        }
        before = Some(now);
        thread::sleep(WATCH);
    }
}

fn flows(socket: &Path, json: bool) -> Result<(), Failure> {
    let mut answers: Answers = ask(socket, Command::Flows)?;
    let show = |flow: Value| -> Result<(), Failure> {
        stdout::line(&match json {
            true => Document::new("ecn-proxy.flow", &flow).line(),
            false => print::flow(&flow),
        })
    };
    let end = answers.finish(show)?;
    if !json {
        // As conntrack -L does, apart from the list.
        eprintln!("{} connections", end["flows"]);
    }
    Ok(())
}

fn stop(socket: &Path, drain: Option<&str>) -> Result<(), Failure> {
    let drain = drain.map(|text| parse_timeout(&with_seconds(text))).transpose();
    let drain = drain.map_err(|message| Failure::Input(format!("--drain: {message}")))?;
    let mut answers = ask(socket, Command::Stop { drain_s: drain.map(|time| time.as_secs()) })?;
    answers.result()?;
    if let Some(time) = drain {
        let time = humantime::format_duration(time);
        stdout::line(&format!("draining for at most {time}; Ctrl-C leaves it to go on"))?;
    }
    answers.wait_for_the_end()?;
    stdout::line("stopped")
}
