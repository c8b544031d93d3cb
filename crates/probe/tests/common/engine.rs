//! Servers of the engine whose controller is identified, in virtual time.

use super::{Path, World};
use std::sync::Arc;
use windlass_probe::cca::{Controller, Library, Part, Sample, Signature, Trace};
use windlass_probe::{Session, Settings, Target};
use windlass_probe_serve::{EngineServer, Server, page, says};
use windlass_tcp::cc::{self, ControllerFactory};
use windlass_tcp::{Config, Profile};

/// The engine's controllers that have a window.
pub(crate) const NAMES: [&str; 6] = ["tahoe", "reno", "newreno", "vegas", "cubic", "new-ecn"];
/// More than any trial takes.
pub(crate) const PAGE_BYTES: usize = 8 << 20;

pub(crate) fn known(name: &str) -> Arc<dyn ControllerFactory> {
    cc::by_name(name).expect("a controller")
}

pub(crate) fn config(controller: Arc<dyn ControllerFactory>) -> Config {
    Profile::Linux.config(1460, controller).with(|c| {
        c.sending.nagle = false;
        c.ecn.enabled = true;
        c.buffers.send = 1 << 20;
        c.buffers.receive = 64 << 10;
    })
}

pub(crate) fn server(controller: Arc<dyn ControllerFactory>, bytes: usize) -> impl Server {
    EngineServer::new(config(controller), says(page(bytes)))
}

/// The verdict on a server, and the traces of its trials.
pub(crate) fn measure_server(
    server: impl Server,
    path: Path,
    library: Library,
) -> (Controller, Vec<Trace>) {
    let mut world = World::new(path, 1).with("192.0.2.1:80", server);
    let target = Target::parse("http://192.0.2.1/").expect("a target");
    let settings = Settings { controllers: Some(Arc::new(library)), ..super::settings(&[], 1) };
    let mut session = Session::new(target, settings);
    world.run(&mut session, &[]);
    let outcome = session.outcome();
    let traces = outcome.runs.into_iter().filter_map(|report| report.trace).collect();
    (outcome.controller.expect("a trial"), traces)
}

pub(crate) fn measure(name: &str, path: Path, library: Library) -> (Controller, Vec<Trace>) {
    measure_server(server(known(name), PAGE_BYTES), path, library)
}

/// A sample of the library, with as many digits as those of kernels have.
pub(crate) fn sample(name: &str, trace: &Trace, source: String) -> Sample {
    let round = |log: Option<f64>| log.map(|log| (log * 1e4).round() / 1e4);
    let parts = Signature::of(trace).parts.into_iter();
    let parts = parts.map(|part| Part { logs: part.logs.into_iter().map(round).collect(), ..part });
    Sample {
        controller: format!("windlass {name}"),
        rtt_ms: trace.rtt_ms,
        source,
        signature: Signature { parts: parts.collect() },
    }
}
