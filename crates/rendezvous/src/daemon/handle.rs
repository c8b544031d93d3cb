//! Control of a running daemon from other threads.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use mio::{Registry, Waker};

use super::metrics::{Figures, page};
use super::source::Source;

/// The daemon answers between two turns.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks a [`Daemon`](super::Daemon) for its figures, or to end. Clones are of the same daemon.
#[derive(Clone, Debug)]
pub struct Handle {
    waker: Arc<Waker>,
    stop: Arc<AtomicBool>,
    requests: Sender<Sender<Figures>>,
}

/// The daemon's side.
pub(super) struct Requests {
    stop: Arc<AtomicBool>,
    requests: Receiver<Sender<Figures>>,
}

pub(super) fn pair(registry: &Registry) -> io::Result<(Handle, Requests)> {
    let waker = Arc::new(Waker::new(registry, Source::Waker.into())?);
    let stop = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = channel();
    let handle = Handle { waker, stop: Arc::clone(&stop), requests: sender };
    Ok((handle, Requests { stop, requests: receiver }))
}

impl Handle {
    /// Lets the daemon end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.wake();
    }

    /// The daemon's counters as of now. `None` if it has ended.
    pub fn figures(&self) -> Option<Figures> {
        let (sender, receiver) = channel();
        self.requests.send(sender).ok()?;
        self.wake();
        receiver.recv_timeout(PATIENCE).ok()
    }

    fn wake(&self) {
        // It fails only where the system is out of memory; then the daemon answers later.
        let _ = self.waker.wake();
    }
}

/// Serves the metrics of a daemon at `address` until the process ends. Returns the address.
///
/// # Errors
///
/// The address or a thread cannot be had.
pub fn serve_metrics(address: SocketAddr, handle: Handle) -> io::Result<SocketAddr> {
    let figures = move || handle.figures().ok_or_else(|| "the server has ended".to_owned());
    windlass_metrics::serve(TcpListener::bind(address)?, move || Ok(page(&figures()?)))
}

impl Requests {
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    pub(super) fn answer(&self, figures: impl Fn() -> Figures) {
        for sender in self.requests.try_iter() {
            // The caller may have given up meanwhile.
            let _ = sender.send(figures());
        }
    }
}
