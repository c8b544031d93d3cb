//! The daemon loads the programs, manages them and answers requests.
//! One thread makes all changes: it handles the events one by one and runs periodic work every second.
//! The other threads wait for signals, interface changes, and connections to the control socket or the
//! metrics. They hold the lock for one answer only.

pub mod client;
mod control;
mod counters;
pub mod devices;
mod events;
pub(crate) mod interfaces;
pub(crate) mod leases;
mod log;
mod metrics;
pub(crate) mod offload;
pub mod protocol;
mod proxy;
mod respond;

use crate::config::Source;
use crate::datapath::Error;
use events::Event;
use proxy::Proxy;
use respond::Shared;
use sd_notify::NotifyState;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{fmt, io};
use tracing::{debug, error, info, warn};
use windlass_bpf::capabilities::{self, BPF, NET_ADMIN, PERFMON};

/// Interval of the periodic work.
const TICK: Duration = Duration::from_secs(1);
/// Interval between sweeps of the table, far less than the lease of the programs.
const SWEEP: Duration = Duration::from_secs(5);
/// Interval between checks for flow offload and other trouble.
const TROUBLE: Duration = Duration::from_secs(60);

/// Why the daemon could not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError {
    /// The options or the configuration file are invalid.
    Config(String),
    /// These capabilities are missing.
    NotPermitted(Vec<&'static str>),
    /// The control socket could not be created.
    Socket(String),
    /// The address of the metrics cannot be used.
    Metrics(SocketAddr, io::Error),
    /// An interface that is there cannot be served.
    Interface(String, String),
    /// The packet path failed.
    Datapath(Error),
    /// Another system call failed.
    Io(&'static str, io::Error),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Config(message) => f.write_str(message),
            RunError::NotPermitted(missing) => {
                write!(f, "not permitted: run as root, or with {} as well", missing.join(" and "))
            }
            RunError::Socket(message) => f.write_str(message),
            RunError::Metrics(address, error) => write!(f, "metrics at {address}: {error}"),
            RunError::Interface(name, why) => write!(f, "interface {name}: {why}"),
            RunError::Datapath(error) => error.fmt(f),
            RunError::Io(doing, error) => write!(f, "{doing}: {error}"),
        }
    }
}

impl std::error::Error for RunError {}

impl From<Error> for RunError {
    fn from(error: Error) -> RunError {
        RunError::Datapath(error)
    }
}

/// Runs the proxy until a signal or a request at the control socket stops it.
///
/// # Errors
/// The proxy cannot start. After the start, errors are logged and the proxy continues.
pub fn run(source: Source) -> Result<(), RunError> {
    let config = source.config().map_err(|error| RunError::Config(error.to_string()))?;
    let missing = capabilities::missing(&[NET_ADMIN, PERFMON, BPF]);
    if !missing.is_empty() {
        return Err(RunError::NotPermitted(missing));
    }
    log::begin(&config.log, config.log_format);
    let io = |doing| move |error| RunError::Io(doing, error);
    // Before the first thread.
    events::block_signals().map_err(io("blocking signals"))?;
    let socket = control::Socket::bind(&config.socket)
        .map_err(|error| RunError::Socket(error.to_string()))?;
    let bind =
        |address| TcpListener::bind(address).map_err(|error| RunError::Metrics(address, error));
    let metrics = config.metrics.map(bind).transpose()?;
    let socket_path = config.socket.clone();
    let (sender, receiver) = mpsc::channel();
    events::watch_signals(sender.clone()).map_err(io("waiting for signals"))?;
    // Before the interfaces are read, so that no change is missed.
    events::watch_links(sender.clone()).map_err(io("watching interfaces"))?;
    let shared = Arc::new(Shared::new(Proxy::start(source, config)?, sender));
    if let Some(listener) = metrics {
        let page = Arc::clone(&shared);
        let bound = windlass_metrics::serve(listener, move || page.metrics())
            .map_err(io("serving metrics"))?;
        info!("metrics at http://{bound}/metrics");
    }
    socket.serve(Arc::<Shared>::clone(&shared)).map_err(io("answering"))?;
    info!(socket = %socket_path.display(), version = env!("CARGO_PKG_VERSION"), "running");
    notify(&[NotifyState::Ready]);
    let for_good = Loop::new(&shared).run(&receiver);
    notify(&[NotifyState::Stopping]);
    // Waiting threads hold `shared` until the process ends, so drop does not detach the programs.
    let ended = shared.lock().end(for_good);
    drop(socket);
    info!("ended");
    ended.map_err(RunError::from)
}

/// Notifies the service manager, if there is one.
fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        warn!("service manager: {error}");
    }
}

/// The loop of the thread that makes all changes.
struct Loop<'a> {
    shared: &'a Shared,
    swept: Instant,
    looked: Instant,
}

impl<'a> Loop<'a> {
    fn new(shared: &'a Shared) -> Loop<'a> {
        let now = Instant::now();
        Loop { shared, swept: now, looked: now }
    }

    /// Runs until the end. Returns true if pinned programs must be removed too.
    fn run(&mut self, events: &Receiver<Event>) -> bool {
        let mut tick = Instant::now();
        loop {
            let wait = (tick + TICK).saturating_duration_since(Instant::now());
            match events.recv_timeout(wait) {
                Ok(Event::Terminate) => return false,
                Ok(Event::Stop) => return true,
                Ok(Event::Reload) => self.reload(),
                Ok(Event::LinksChanged) => self.shared.lock().sync_interfaces(),
                Err(RecvTimeoutError::Timeout) => {
                    tick = Instant::now();
                    if self.tick(tick) {
                        return true;
                    }
                }
                // The sender is in `shared`.
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }

    fn reload(&self) {
        let mut states = vec![NotifyState::Reloading];
        states.extend(NotifyState::monotonic_usec_now());
        notify(&states);
        self.shared.lock().reload();
        notify(&[NotifyState::Ready]);
    }

    /// Runs the periodic work. Returns true if a drain has ended.
    fn tick(&mut self, now: Instant) -> bool {
        if now - self.swept >= SWEEP {
            self.swept = now;
            match self.shared.lock().sweep() {
                Ok(0) => {}
                Ok(removed) => debug!(removed, "idle connections removed"),
                Err(error) => error!("sweep of the table: {error}"),
            }
            self.shared.lock().sync_interfaces();
        }
        if now - self.looked >= TROUBLE {
            self.looked = now;
            self.shared.lock().look_for_trouble();
        }
        if sd_notify::watchdog_enabled().is_some() {
            notify(&[NotifyState::Watchdog]);
        }
        self.shared.lock().drained().unwrap_or_else(|error| {
            error!("drain: {error}");
            false
        })
    }
}
