//! `windlass link run` and `windlass link --port`: devices in namespaces that are there.

use super::args::{Link, LinkRun, Watch};
use super::file::{self, LinkFile, PortDevice};
use super::live::{self, Watched};
use super::print::{LiveFigures, Report};
use crate::failure::Failure;
use crate::stdout;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Arc;
use windlass_base::text_file;
use windlass_link::linux::{
    Carrier, Device, DeviceConfig, Namespace, Privilege, acquire_privilege, stop_signals,
};
use windlass_link::{LinkConfig, Network, PortConfig};

/// Runs the link of a file.
pub(super) fn run_file(args: &LinkRun) -> Result<ExitCode, Failure> {
    let origin = args.file.display();
    let text = text_file::read(&args.file)
        .map_err(|error| Failure::Input(format!("{origin}: cannot read: {error}")))?;
    let mut file = file::read(&origin.to_string(), &text)
        .map_err(|problems| Failure::Input(problems.to_string()))?;
    file.link.seed = args.seed.unwrap_or(file.link.seed);
    run(file, &args.watch)
}

/// Runs the link of two `--port`s.
pub(super) fn run_two(args: &Link) -> Result<ExitCode, Failure> {
    let [first, second] = &args.port[..] else {
        return Err(Failure::Input(format!(
            "--port: expected two, found {}; more go into a file: windlass link run FILE",
            args.port.len()
        )));
    };
    let (up, down) = (args.path.up(), args.path.down());
    let ports = vec![
        PortConfig { name: first.name.clone(), up, down, ..PortConfig::default() },
        PortConfig { name: second.name.clone(), ..PortConfig::default() },
    ];
    let devices = [first, second].map(|port| PortDevice {
        namespace: port.namespace.clone(),
        addresses: port.address.into_iter().collect(),
        routes: vec![],
    });
    let link = LinkConfig { seed: args.seed, ports };
    run(LinkFile { link, mtu: args.mtu, devices: devices.into() }, &args.watch)
}

fn run(file: LinkFile, watch: &Watch) -> Result<ExitCode, Failure> {
    let network = Network::new(&file.link).map_err(|error| Failure::Input(error.to_string()))?;
    let failure = |error: io::Error| Failure::Work(format!("link: {error}"));
    if acquire_privilege().map_err(failure)? == Privilege::Private {
        return Err(Failure::Work(
            "link: devices for others to use need root (CAP_NET_ADMIN and CAP_SYS_ADMIN); \
             without it run a command behind the link: windlass link ... -- COMMAND"
                .into(),
        ));
    }
    if watch.live {
        crate::live::check()?;
    }
    let stop = stop_signals().map_err(failure)?;
    let devices = devices(&file)?;
    let figures = match (watch.json, watch.live) {
        (true, _) => LiveFigures::Json,
        (false, true) => LiveFigures::No,
        (false, false) => LiveFigures::Text,
    };
    let log = watch.log.as_deref().map(|path| (path, watch.log_interval));
    let mut report = Report::new(&file.link, log, figures)?;
    let mut carrier = Carrier::new(network, devices, watch.spin);
    let carried = if watch.live {
        let paths = report.shown_paths(&file.link);
        let view = live::start(&file.link, Arc::clone(&paths), None)?;
        carrier.run(stop.as_fd(), &mut Watched::new(&mut report, &view, paths))
    } else {
        carrier.run(stop.as_fd(), &mut report)
    };
    match carried {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => return Err(Failure::ReaderGone),
        result => result.map_err(failure)?,
    }
    report.finish(&carrier)?;
    if watch.json {
        stdout::line(&report.summary(&carrier).line())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn devices(file: &LinkFile) -> Result<Vec<Device>, Failure> {
    let device = |(port, place): (&PortConfig, &PortDevice)| {
        let refuse = |error: String| Failure::Input(format!("port {}: {error}", port.name));
        let namespace = place.namespace.as_deref().map(Namespace::parse).transpose();
        let config = DeviceConfig {
            name: port.name.clone(),
            namespace: namespace.map_err(refuse)?.unwrap_or_default(),
            addresses: place.addresses.clone(),
            routes: place.routes.clone(),
            mtu: file.mtu,
        };
        Device::create(&config).map_err(|error| refuse(error.to_string()))
    };
    file.link.ports.iter().zip(&file.devices).map(device).collect()
}
