//! The subcommands of `windlass cc`: loading New-ECN into the kernel, its state and connections, unloading.

use super::args::{Cc, CcLoad};
use super::live::{FlowPanels, Sample};
use super::print;
use crate::envelope::Document;
use crate::failure::Failure;
use crate::{live, stdout};
use serde_json::json;
use std::time::Instant;
use windlass_kernel_cc::{Error, Name, Parameters, flows, load, status, unload};

/// Runs a subcommand of `windlass cc`.
pub(crate) fn main(command: Cc) -> Result<(), Failure> {
    match command {
        Cc::Load(args) => load_new_ecn(&args),
        Cc::Status { json } => print_status(json),
        Cc::Flows { name, live: true, .. } => watch_flows(&parse(&name)?),
        Cc::Flows { name, json, live: false } => print_flows(&parse(&name)?, json),
        Cc::Unload { controller: _, name } => {
            let name = parse(&name)?;
            unload(&name).map_err(failure)?;
            stdout::line(&format!("{name} unloaded; connections that use it go on with it"))
        }
    }
}

fn failure(error: Error) -> Failure {
    match error {
        Error::BadParameter(_) => Failure::Input(error.to_string()),
        _ => Failure::Work(error.to_string()),
    }
}

fn parse(name: &str) -> Result<Name, Failure> {
    name.parse::<Name>().map_err(Failure::Input)
}

fn load_new_ecn(args: &CcLoad) -> Result<(), Failure> {
    let name = parse(&args.name)?;
    let CcLoad { alpha_wnd, alpha_slp, beta, .. } = *args;
    let mounted = load(&name, &Parameters { alpha_wnd, alpha_slp, beta }).map_err(failure)?;
    if mounted {
        stdout::line("mounted the BPF file system at /sys/fs/bpf")?;
    }
    stdout::line(&format!(
        "{name} loaded: alpha-wnd {alpha_wnd}, alpha-slp {alpha_slp}, beta {beta}"
    ))
}

fn print_status(json: bool) -> Result<(), Failure> {
    let all = status().map_err(failure)?;
    if json {
        return stdout::line(&Document::new("cc.status", json!({ "controllers": all })).pretty());
    }
    if all.is_empty() {
        return stdout::line("nothing loaded");
    }
    stdout::line(&print::status(&all))
}

fn print_flows(name: &Name, json: bool) -> Result<(), Failure> {
    let all = flows(name).map_err(failure)?;
    if json {
        let body = json!({ "controller": name.to_string(), "flows": all });
        return stdout::line(&Document::new("cc.flows", body).pretty());
    }
    if all.is_empty() {
        return stdout::line(&format!("no connection uses {name}"));
    }
    stdout::line(&print::flows(&all))
}

fn watch_flows(name: &Name) -> Result<(), Failure> {
    let sample = || {
        let flows = flows(name).map_err(failure)?;
        Ok(Sample { at: Instant::now(), flows })
    };
    live::watch(sample, FlowPanels::new(name.to_string()))
}
