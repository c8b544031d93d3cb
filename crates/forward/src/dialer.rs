//! Carries the connections of a captured command through the exit of a peer.

use crate::duplex::{BoxFuture, Duplex};
use crate::forward::Carrier;
use crate::protocol::Request;
use crate::registry::Registered;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use tokio::runtime::Handle;
use windlass_capture::{Dialer, FarEnd};
use windlass_identity::PublicKey;
use windlass_tou::secure::MaybeSecureStream;

/// Opens each connection at a peer.
#[derive(Clone, Debug)]
pub struct FarDialer {
    runtime: Handle,
    carrier: Carrier,
    peer: PublicKey,
}

impl FarDialer {
    /// A dialer whose timers run in `runtime`.
    pub fn new(runtime: Handle, carrier: Carrier, peer: PublicKey) -> FarDialer {
        FarDialer { runtime, carrier, peer }
    }
}

impl Dialer for FarDialer {
    fn dial(&mut self, to: SocketAddr) -> io::Result<Box<dyn FarEnd>> {
        let (carrier, peer) = (self.carrier.clone(), self.peer);
        let request = Request::Connect { host: to.ip().to_string(), port: to.port() };
        let opening = Box::pin(async move {
            let joined = carrier.join(peer, &request).await;
            let far = joined.inspect_err(|error| tracing::info!(%request, "{error}"))?;
            let registered = carrier.registry.add(peer, &far);
            Ok((far, registered))
        });
        Ok(Box::new(Connection { runtime: self.runtime.clone(), state: State::Opening(opening) }))
    }
}

struct Connection {
    runtime: Handle,
    state: State,
}

enum State {
    Opening(BoxFuture<'static, io::Result<(MaybeSecureStream, Registered)>>),
    Open(MaybeSecureStream, Registered),
    Failed,
}

impl Connection {
    fn far(&self) -> io::Result<(&MaybeSecureStream, &Registered)> {
        match &self.state {
            State::Open(far, registered) => Ok((far, registered)),
            State::Opening(_) | State::Failed => Err(ErrorKind::NotConnected.into()),
        }
    }
}

fn counted(count: &AtomicU64, moved: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
    if let Poll::Ready(Ok(bytes)) = &moved {
        count.fetch_add(*bytes as u64, Ordering::Relaxed);
    }
    moved
}

impl FarEnd for Connection {
    fn poll_connected(&mut self, waker: &Waker) -> Poll<io::Result<()>> {
        let opened = match &mut self.state {
            State::Opening(opening) => {
                // Its timers belong to the runtime.
                let _inside = self.runtime.enter();
                std::task::ready!(opening.as_mut().poll(&mut Context::from_waker(waker)))
            }
            State::Open(..) => return Poll::Ready(Ok(())),
            State::Failed => Err(ErrorKind::NotConnected.into()),
        };
        let (state, result) = match opened {
            Ok((far, registered)) => (State::Open(far, registered), Ok(())),
            Err(error) => (State::Failed, Err(error)),
        };
        self.state = state;
        Poll::Ready(result)
    }

    fn poll_read(&mut self, waker: &Waker, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let (far, registered) = self.far()?;
        let read = far.poll_read(waker, buffer);
        counted(&registered.counters().received, read)
    }

    fn poll_write(&mut self, waker: &Waker, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let (far, registered) = self.far()?;
        let written = far.poll_write(waker, bytes);
        counted(&registered.counters().sent, written)
    }

    fn poll_close(&mut self, _waker: &Waker) -> Poll<io::Result<()>> {
        Poll::Ready(self.far().and_then(|(far, _)| far.close()))
    }

    fn abort(self: Box<Self>) {
        if let Ok((far, _)) = self.far() {
            far.abort();
        }
    }
}
