//! `windlass probe serve` and `windlass probe population`.

use super::args::{Ecn, Population, Serve};
use crate::envelope::Document;
use crate::failure::Failure;
use crate::registry::controller;
use crate::{interrupt, stdout};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use windlass_base::text_file;
use windlass_probe_serve::{Ended, Network, Spec, Stack, draw_controllers, generate, read, write};
use windlass_tcp::cc::ControllerFactory;
use windlass_tcp::config::EcnEcho;

/// Plays servers until it is ended.
pub(super) fn main(args: &Serve) -> Result<ExitCode, Failure> {
    let servers = servers(args)?;
    let named = controllers(args, &servers)?;
    let network = Network::configured(&servers, args.seed, |spec, config| {
        let named = spec.controller.as_ref().and_then(|name| named.get(name.as_str()));
        if let Some(controller) = named.or(args.controller.as_ref()) {
            config.congestion = Arc::clone(controller);
        }
        config.ecn.enabled = args.ecn != Ecn::Off;
        if args.ecn == Ecn::Accurate {
            config.ecn.echo = EcnEcho::Accurate;
        }
    });
    interrupt::watch();
    let ready = || {
        let message = format!("serving {} addresses at {}", servers.len(), args.tun);
        match args.json {
            true => eprintln!("{message}"),
            // Standard output may be closed: the servers work all the same.
            false => drop(stdout::line(&message)),
        }
    };
    let ended = |connection: &Ended| {
        if args.json {
            // It may be closed here, too.
            let _ = stdout::line(&Document::new("probe.connection", connection).line());
        }
    };
    match windlass_probe_serve::serve(network, &args.tun, ready, ended) {
        Ok(never) => match never {},
        Err(error) => Err(Failure::Work(format!(
            "probe serve: device {}: {error}; it takes CAP_NET_ADMIN and /dev/net/tun: run as root, or see windlass doctor link",
            args.tun
        ))),
    }
}

fn servers(args: &Serve) -> Result<Vec<Spec>, Failure> {
    let Some(file) = &args.population else {
        let stack = Stack::by_name(&args.stack)
            .ok_or_else(|| Failure::Input(format!("--stack {}: no such stack", args.stack)))?;
        let spec = |address| Spec {
            address,
            stack,
            initial_window: args.initial_window,
            mss: args.mss,
            rtt_ms: args.rtt.as_millis_f64(),
            loss: args.loss,
            page_bytes: args.page,
            controller: None,
        };
        return Ok(args.address.iter().copied().map(spec).collect());
    };
    let fault = |what: String| fault(file, &what);
    let text = text_file::read(file).map_err(|error| fault(error.to_string()))?;
    let population = read(&text).map_err(|error| fault(error.to_string()))?;
    match population.is_empty() {
        true => Err(fault("there are no servers in it".to_owned())),
        false => Ok(population),
    }
}

/// The controllers that a population names.
fn controllers<'a>(
    args: &Serve,
    servers: &'a [Spec],
) -> Result<BTreeMap<&'a str, Arc<dyn ControllerFactory>>, Failure> {
    // Without a file no server names one.
    let Some(file) = &args.population else { return Ok(BTreeMap::new()) };
    let names: BTreeSet<&str> =
        servers.iter().filter_map(|spec| spec.controller.as_deref()).collect();
    let find = |name| match controller(name) {
        Ok(factory) => Ok((name, factory)),
        Err(error) => Err(fault(file, &format!("controller {name}: {error}"))),
    };
    names.into_iter().map(find).collect()
}

fn fault(file: &Path, what: &str) -> Failure {
    Failure::Input(format!("{}: {what}", file.display()))
}

/// Prints a population, or its list of hosts.
pub(super) fn population(args: &Population) -> Result<ExitCode, Failure> {
    let mut population = generate(args.count, args.seed, args.rtt_max.as_millis_f64());
    if !args.controllers.is_empty() {
        draw_controllers(&mut population, &args.controllers, args.seed);
    }
    let text = match args.hosts {
        true => population.iter().map(Spec::url).collect::<Vec<_>>().join("\n"),
        false => write(&population).map_err(|error| Failure::Work(error.to_string()))?,
    };
    stdout::line(text.trim_end())?;
    Ok(ExitCode::SUCCESS)
}
