//! A socket, from tou_socket to tou_close.

use crate::address::Family;
use crate::descriptor::Descriptor;
use crate::errno::{Errno, Result};
use crate::lock::lock;
use crate::settings::Settings;
use crate::stun::{Callback, Stun};
use libc::{c_int, c_void};
use std::net::{IpAddr, Shutdown, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, TryLockError};
use std::task::{Poll, Wake, Waker};
use std::time::{Duration, Instant};
use windlass_tou::secure::MaybeSecureStream;
use windlass_tou::session::{Node, Session};
use windlass_tou::{Ready, TouListener, TouSocket, TouStream};

/// The socket behind a descriptor.
///
/// Locks are taken in the order `setup`, `descriptor`, `inner`. Code that holds `inner` calls nothing
/// else. A waker may run in a thread that holds any other lock, so it waits only for `inner`.
pub(crate) struct Socket {
    family: Family,
    inner: Mutex<Inner>,
    descriptor: Mutex<Descriptor>,
    /// The descriptor's readiness must be updated.
    stale: AtomicBool,
    /// The lock lets one thread at a time bind, listen or connect.
    setup: Mutex<()>,
    stun: Arc<Stun>,
    /// Number of changes so far. A blocked thread waits for the next one.
    changes: Mutex<u64>,
    changed: Condvar,
}

struct Inner {
    phase: Phase,
    port: Option<TouSocket>,
    /// The program has bound the port, so it stays when a connection fails.
    bound: bool,
    settings: Settings,
    /// The pending error (SO_ERROR).
    error: Option<Errno>,
}

/// The state of a socket.
#[derive(Clone)]
pub(crate) enum Phase {
    Idle,
    Listening(Arc<TouListener>),
    /// A connection of a session that has no path yet.
    Finding(Session),
    Connecting(TouStream),
    /// The flag says whether tou_connect has returned 0.
    Connected(MaybeSecureStream, bool),
    /// Sessions, whose connections are sockets of their own.
    Node(Node),
    Closed,
}

impl Wake for Socket {
    fn wake(self: Arc<Self>) {
        self.stale.store(true, Ordering::SeqCst);
        self.sync_if_stale();
        self.notify_waiters();
    }
}

/// Construction and close.
impl Socket {
    pub(crate) fn new(family: Family, nonblocking: bool) -> Result<Arc<Socket>> {
        let descriptor = Descriptor::new(nonblocking)?;
        Ok(Socket::with(family, descriptor, Phase::Idle, Settings::default()))
    }

    pub(crate) fn with(
        family: Family,
        descriptor: Descriptor,
        phase: Phase,
        settings: Settings,
    ) -> Arc<Socket> {
        let inner = Inner { phase, port: None, bound: false, settings, error: None };
        Arc::new(Socket {
            family,
            inner: Mutex::new(inner),
            descriptor: Mutex::new(descriptor),
            stale: AtomicBool::new(false),
            setup: Mutex::new(()),
            stun: Arc::default(),
            changes: Mutex::new(0),
            changed: Condvar::new(),
        })
    }

    /// Closes the socket and ends the waits of other threads. Written data is still delivered. Waits
    /// for SO_LINGER if `lingers`.
    pub(crate) fn close(&self, lingers: bool) {
        let mut inner = lock(&self.inner);
        let phase = std::mem::replace(&mut inner.phase, Phase::Closed);
        let port = inner.port.take();
        let linger = inner.settings.linger.filter(|_| lingers);
        drop(inner);
        self.notify_waiters();
        lock(&self.descriptor).close();
        self.stun.set(-1, None, std::ptr::null_mut());
        let stream = match &phase {
            Phase::Connected(stream, _) => Some(stream.clone()),
            Phase::Connecting(stream) => Some(MaybeSecureStream::Plain(stream.clone())),
            _ => None,
        };
        if let (Some(stream), Some(linger)) = (stream, linger) {
            if linger.is_zero() {
                stream.connection().abort();
            } else {
                // tou_close does not report the outcome.
                let _ = stream.finish(Some(linger));
            }
        }
        drop((phase, port));
    }

    /// Gives up the descriptor, which the program has closed by close(2).
    pub(crate) fn forget(&self) {
        lock(&self.descriptor).forget();
    }

    pub(crate) fn fd(&self) -> c_int {
        lock(&self.descriptor).fd()
    }
}

/// Updates of the descriptor, and waiting.
impl Socket {
    /// Updates the descriptor. Call this after every operation that may change the readiness.
    pub(crate) fn sync(self: &Arc<Self>) {
        let mut descriptor = lock(&self.descriptor);
        self.update(&mut descriptor);
        drop(descriptor);
        self.sync_if_stale();
    }

    /// Updates the descriptor unless another thread is doing so. That thread checks `stale` again
    /// after releasing the lock, so no thread has to wait for it.
    fn sync_if_stale(self: &Arc<Self>) {
        while self.stale.load(Ordering::SeqCst) {
            match self.descriptor.try_lock() {
                Ok(mut descriptor) => self.update(&mut descriptor),
                Err(TryLockError::Poisoned(descriptor)) => {
                    self.update(&mut descriptor.into_inner())
                }
                Err(TryLockError::WouldBlock) => return,
            }
        }
    }

    fn update(self: &Arc<Self>, descriptor: &mut Descriptor) {
        let waker = self.waker();
        loop {
            self.stale.store(false, Ordering::SeqCst);
            let phase = self.phase();
            if let Phase::Finding(session) = &phase
                && let Poll::Ready(found) = session.poll_connected(&waker)
            {
                self.finish_finding(found.and_then(|()| session.begin_open()).map_err(Errno::from));
                continue;
            }
            if let Phase::Connecting(stream) = &phase
                && let Poll::Ready(result) = stream.poll_connected(&waker)
            {
                self.finish_connecting(stream, result.map_err(Errno::from));
                continue;
            }
            let Some(ready) = self.ready(&phase, &waker) else { return };
            descriptor.update(ready);
            if !self.stale.load(Ordering::SeqCst) {
                return;
            }
        }
    }

    fn ready(&self, phase: &Phase, waker: &Waker) -> Option<Ready> {
        Some(match phase {
            Phase::Idle => {
                let readable = lock(&self.inner).error.is_some();
                Ready { readable, writable: true, ..Ready::default() }
            }
            Phase::Listening(listener) => {
                Ready { readable: listener.poll_acceptable(waker), ..Ready::default() }
            }
            Phase::Finding(_) | Phase::Connecting(_) => Ready::default(),
            Phase::Connected(stream, _) => stream.poll_ready(waker),
            Phase::Node(node) => {
                Ready { readable: node.poll_acceptable(waker), ..Ready::default() }
            }
            Phase::Closed => return None,
        })
    }

    /// The session has a path, and a connection is being opened; or it has failed.
    fn finish_finding(&self, opening: Result<TouStream>) {
        let mut inner = lock(&self.inner);
        if !matches!(inner.phase, Phase::Finding(_)) {
            return;
        }
        let phase = match opening {
            Ok(stream) => Phase::Connecting(stream),
            Err(error) => {
                inner.error = Some(error);
                Phase::Idle
            }
        };
        let former = std::mem::replace(&mut inner.phase, phase);
        drop(inner);
        drop(former);
    }

    fn finish_connecting(&self, stream: &TouStream, result: Result<()>) {
        let mut inner = lock(&self.inner);
        if !matches!(inner.phase, Phase::Connecting(_)) {
            return;
        }
        let mut port = None;
        let phase = match result {
            Ok(()) => Phase::Connected(MaybeSecureStream::Plain(stream.clone()), false),
            Err(error) => {
                inner.error = Some(error);
                port = if inner.bound { None } else { inner.port.take() };
                Phase::Idle
            }
        };
        let former = std::mem::replace(&mut inner.phase, phase);
        drop(inner);
        drop((former, port));
    }

    pub(crate) fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(Arc::clone(self))
    }

    fn notify_waiters(&self) {
        *lock(&self.changes) += 1;
        self.changed.notify_all();
    }

    /// Repeats `attempt` until it is ready. Returns `None` after the timeout, or at once if the
    /// descriptor is nonblocking or the caller may not wait.
    pub(crate) fn block_on<T>(
        self: &Arc<Self>,
        may_wait: bool,
        timeout: Option<Duration>,
        mut attempt: impl FnMut(&Waker) -> Poll<T>,
    ) -> Option<T> {
        let waker = self.waker();
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut waits = None;
        loop {
            let seen = *lock(&self.changes);
            if let Poll::Ready(value) = attempt(&waker) {
                return Some(value);
            }
            let waits =
                *waits.get_or_insert_with(|| may_wait && !lock(&self.descriptor).is_nonblocking());
            if !waits || !self.wait(seen, deadline) {
                return None;
            }
        }
    }

    /// Waits until the number of changes differs from `seen`. False at the deadline.
    fn wait(&self, seen: u64, deadline: Option<Instant>) -> bool {
        let mut changes = lock(&self.changes);
        while *changes == seen {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            changes = match left {
                None => {
                    self.changed.wait(changes).unwrap_or_else(std::sync::PoisonError::into_inner)
                }
                Some(Duration::ZERO) => return false,
                Some(left) => {
                    let waited = self.changed.wait_timeout(changes, left);
                    waited.unwrap_or_else(std::sync::PoisonError::into_inner).0
                }
            };
        }
        true
    }
}

/// State, settings and addresses.
impl Socket {
    pub(crate) fn phase(&self) -> Phase {
        lock(&self.inner).phase.clone()
    }

    pub(crate) fn family(&self) -> Family {
        self.family
    }

    pub(crate) fn settings(&self) -> Settings {
        lock(&self.inner).settings.clone()
    }

    /// The timeouts for receiving and for sending.
    pub(crate) fn timeouts(&self) -> (Option<Duration>, Option<Duration>) {
        let inner = lock(&self.inner);
        (inner.settings.receive_timeout, inner.settings.send_timeout)
    }

    pub(crate) fn change_settings(&self, change: impl FnOnce(&mut Settings)) {
        change(&mut lock(&self.inner).settings);
    }

    pub(crate) fn descriptor(&self) -> MutexGuard<'_, Descriptor> {
        lock(&self.descriptor)
    }

    /// Takes the pending error (SO_ERROR).
    pub(crate) fn take_error(self: &Arc<Self>) -> Option<Errno> {
        self.sync();
        let kept = lock(&self.inner).error.take();
        let of_connection = || match self.phase() {
            Phase::Connected(stream, _) => stream.take_error().ok().flatten().map(Errno::from),
            _ => None,
        };
        let error = kept.or_else(of_connection);
        if error.is_some() {
            self.sync();
            self.descriptor().clear_error();
        }
        error
    }

    /// Stores an error, which the next call returns.
    pub(crate) fn set_pending_error(&self, error: Errno) {
        lock(&self.inner).error = Some(error);
    }

    pub(crate) fn take_pending_error(&self) -> Option<Errno> {
        lock(&self.inner).error.take()
    }

    pub(crate) fn local(&self) -> SocketAddr {
        let (phase, port) = {
            let inner = lock(&self.inner);
            (inner.phase.clone(), inner.port.as_ref().map(TouSocket::local_addr))
        };
        let (local, peer) = match &phase {
            Phase::Connected(stream, _) => {
                let stream = stream.connection();
                (stream.local_addr().ok(), stream.peer_addr().ok())
            }
            Phase::Connecting(stream) => (stream.local_addr().ok(), stream.peer_addr().ok()),
            Phase::Node(node) => (Some(node.local_addr()), None),
            _ => (port, None),
        };
        let local = local.unwrap_or_else(|| self.family.unspecified());
        let chosen = peer
            .filter(|_| local.ip().is_unspecified())
            .and_then(|peer| route(self.family.unspecified().ip(), self.family.mapped(peer)).ok());
        let mut address = chosen.unwrap_or(local);
        address.set_port(local.port());
        self.family.mapped(address)
    }

    pub(crate) fn peer(&self) -> Result<SocketAddr> {
        let not_connected = Errno(libc::ENOTCONN);
        let Phase::Connected(stream, _) = self.phase() else { return Err(not_connected) };
        let stream = stream.connection();
        let state = stream.info().map_err(|_| not_connected)?.state;
        if state == windlass_tou::State::Closed {
            return Err(not_connected);
        }
        Ok(self.family.mapped(stream.peer_addr()?))
    }
}

/// Bind, listen, connect and shutdown.
impl Socket {
    pub(crate) fn bind(&self, address: SocketAddr) -> Result<()> {
        let _setup = lock(&self.setup);
        if !matches!(self.phase(), Phase::Idle) || lock(&self.inner).port.is_some() {
            return Err(Errno(libc::EINVAL));
        }
        self.take_port(address, true)
    }

    fn take_port(&self, address: SocketAddr, bound: bool) -> Result<()> {
        let options = self.settings().options_in_force();
        let port = match bound {
            true => TouSocket::bind_with(address, &options)?,
            false => TouSocket::for_client(address.ip(), &options)?,
        };
        port.on_stun(self.stun.handler());
        let mut inner = lock(&self.inner);
        if matches!(inner.phase, Phase::Closed) {
            drop(inner);
            return Err(Errno(libc::EBADF));
        }
        (inner.port, inner.bound) = (Some(port), bound);
        Ok(())
    }

    /// The port with the present settings. Binds one to any address if there is none.
    fn port(&self, bound: bool) -> Result<TouSocket> {
        let options = self.settings().options_in_force();
        if lock(&self.inner).port.is_none() {
            self.take_port(self.family.unspecified(), bound)?;
        }
        let inner = lock(&self.inner);
        let port = inner.port.as_ref().map(|port| port.with_options(&options));
        drop(inner);
        port.ok_or(Errno(libc::EBADF))
    }

    pub(crate) fn listen(self: &Arc<Self>, backlog: c_int) -> Result<()> {
        let setup = lock(&self.setup);
        match self.phase() {
            Phase::Idle => {}
            Phase::Listening(_) => return Ok(()),
            Phase::Closed => return Err(Errno(libc::EBADF)),
            _ => return Err(Errno(libc::EINVAL)),
        }
        // Linux treats the value as unsigned and limits it (net.core.somaxconn).
        let backlog = (backlog as u32).min(4096) as usize;
        self.change_settings(|settings| settings.options.backlog = backlog);
        let listener = self.port(true)?.listen()?;
        self.set_phase(Phase::Listening(Arc::new(listener)))?;
        drop(setup);
        self.sync();
        Ok(())
    }

    /// Changes the phase. Fails if the socket was closed meanwhile.
    pub(crate) fn set_phase(&self, phase: Phase) -> Result<()> {
        let mut inner = lock(&self.inner);
        if matches!(inner.phase, Phase::Closed) {
            drop(inner);
            return Err(Errno(libc::EBADF));
        }
        let former = std::mem::replace(&mut inner.phase, phase);
        drop(inner);
        drop(former);
        Ok(())
    }

    pub(crate) fn connect(self: &Arc<Self>, peer: SocketAddr) -> Result<()> {
        self.sync();
        let setup = lock(&self.setup);
        let begun_before = match self.phase() {
            Phase::Idle => false,
            Phase::Finding(_) | Phase::Connecting(_) => true,
            Phase::Node(_) => return Err(Errno(libc::EOPNOTSUPP)),
            Phase::Connected(_, true) | Phase::Listening(_) => return Err(Errno(libc::EISCONN)),
            Phase::Connected(stream, false) => {
                return self.set_phase(Phase::Connected(stream, true));
            }
            Phase::Closed => return Err(Errno(libc::EBADF)),
        };
        if let Some(error) = self.take_pending_error() {
            return Err(error);
        }
        if !begun_before {
            self.begin(reachable(peer)?)?;
        }
        drop(setup);
        self.sync();
        // Even if the peer has answered meanwhile: TCP's connect never returns 0 then.
        if !begun_before && self.descriptor().is_nonblocking() {
            return Err(Errno(libc::EINPROGRESS));
        }
        let (_, timeout) = self.timeouts();
        let result = self.block_on(true, timeout, |_| self.poll_connected());
        let pending = if begun_before { libc::EALREADY } else { libc::EINPROGRESS };
        result.unwrap_or(Err(Errno(pending)))
    }

    fn begin(&self, peer: SocketAddr) -> Result<()> {
        let own = lock(&self.inner).port.as_ref().map(TouSocket::local_addr);
        // Fails at once if there is no route, like TCP.
        let source = route(own.unwrap_or(self.family.unspecified()).ip(), peer)?;
        if own.is_none() {
            // The connection keeps this address.
            self.take_port(source, false)?;
        }
        let stream = self.port(false)?.begin(peer)?;
        self.set_phase(Phase::Connecting(stream))
    }

    fn poll_connected(self: &Arc<Self>) -> Poll<Result<()>> {
        self.sync();
        Poll::Ready(match self.phase() {
            Phase::Finding(_) | Phase::Connecting(_) => return Poll::Pending,
            Phase::Connected(stream, _) => self.set_phase(Phase::Connected(stream, true)),
            Phase::Closed => Err(Errno(libc::EBADF)),
            _ => {
                let error = self.take_pending_error().unwrap_or(Errno(libc::ECONNABORTED));
                self.sync();
                Err(error)
            }
        })
    }

    pub(crate) fn shutdown(self: &Arc<Self>, how: Shutdown) -> Result<()> {
        match self.phase() {
            Phase::Connected(stream, _) => stream.shutdown(how)?,
            Phase::Listening(_) if how == Shutdown::Write => {}
            // Ends listening, and wakes threads in tou_accept.
            Phase::Listening(_) => self.set_phase(Phase::Idle)?,
            Phase::Closed => return Err(Errno(libc::EBADF)),
            Phase::Idle | Phase::Finding(_) | Phase::Connecting(_) | Phase::Node(_) => {
                return Err(Errno(libc::ENOTCONN));
            }
        }
        self.sync();
        self.notify_waiters();
        Ok(())
    }
}

/// STUN messages on the socket's port.
impl Socket {
    pub(crate) fn set_stun(
        &self,
        fd: c_int,
        callback: Option<Callback>,
        context: *mut c_void,
    ) -> Result<()> {
        self.stun_port()?;
        self.stun.set(fd, callback, context);
        Ok(())
    }

    pub(crate) fn send_stun(&self, peer: SocketAddr, message: &[u8]) -> Result<()> {
        Ok(self.stun_port()?.send_stun(peer, message)?)
    }

    /// The socket's own port. An accepted connection has none: it shares the listener's port.
    fn stun_port(&self) -> Result<TouSocket> {
        let _setup = lock(&self.setup);
        let accepted = lock(&self.inner).port.is_none();
        if accepted && !matches!(self.phase(), Phase::Idle) {
            return Err(Errno(libc::EOPNOTSUPP));
        }
        self.port(true)
    }
}

/// The local address from which the system would send to `peer`. Fails if there is no route.
fn route(from: IpAddr, peer: SocketAddr) -> Result<SocketAddr> {
    let probe = UdpSocket::bind((from, 0))?;
    probe.connect(peer)?;
    let mut source = probe.local_addr()?;
    source.set_port(0);
    Ok(source)
}

/// Maps the unspecified address to loopback, and rejects addresses of no host, like TCP.
fn reachable(peer: SocketAddr) -> Result<SocketAddr> {
    let mut peer = peer;
    match peer.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => peer.set_ip([127, 0, 0, 1].into()),
        IpAddr::V6(ip) if ip.is_unspecified() => peer.set_ip(std::net::Ipv6Addr::LOCALHOST.into()),
        IpAddr::V4(ip) if ip.is_broadcast() => return Err(Errno(libc::ENETUNREACH)),
        ip if ip.is_multicast() => return Err(Errno(libc::ENETUNREACH)),
        _ => {}
    }
    // Port 0 cannot listen.
    if peer.port() == 0 { Err(Errno(libc::ECONNREFUSED)) } else { Ok(peer) }
}
