//! A socket, from tou_socket to tou_close.

use crate::address::Family;
use crate::errno::{Errno, Result};
use crate::gate::Gate;
use crate::lock::lock;
use crate::settings::Settings;
use crate::stun::{Callback, Stun};
use libc::{c_int, c_void};
use std::net::{IpAddr, Shutdown, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, TryLockError};
use std::task::{Poll, Wake, Waker};
use std::time::{Duration, Instant};
use windlass_tou::{Ready, TouListener, TouSocket, TouStream};

/// What a descriptor stands for.
///
/// Locks are taken in this order: `setup`, `gate`, then `inner`, under which nothing else is called.
/// A waker never waits for a lock but `inner`: it may run in a thread that holds any other.
pub(crate) struct Socket {
    family: Family,
    inner: Mutex<Inner>,
    gate: Mutex<Gate>,
    /// The gate is to be brought in step.
    stale: AtomicBool,
    /// One thread at a time binds, listens, connects.
    setup: Mutex<()>,
    stun: Arc<Stun>,
    /// Counts what happened; threads that block wait for the next.
    turn: Mutex<u64>,
    turned: Condvar,
}

struct Inner {
    phase: Phase,
    port: Option<TouSocket>,
    /// The program has chosen the port, so it stays when a connection fails.
    bound: bool,
    settings: Settings,
    /// Waits to be told (SO_ERROR).
    error: Option<Errno>,
}

/// Where a socket stands.
#[derive(Clone)]
pub(crate) enum Phase {
    Idle,
    Listening(Arc<TouListener>),
    Connecting(TouStream),
    /// Whether tou_connect has returned 0.
    Connected(TouStream, bool),
    Closed,
}

impl Wake for Socket {
    fn wake(self: Arc<Self>) {
        self.stale.store(true, Ordering::SeqCst);
        self.bring_in_step();
        self.turn();
    }
}

/// Making one, and the end of it.
impl Socket {
    pub(crate) fn new(family: Family, nonblocking: bool) -> Result<Arc<Socket>> {
        let gate = Gate::new(nonblocking)?;
        Ok(Socket::with(family, gate, Phase::Idle, Settings::default()))
    }

    pub(crate) fn with(
        family: Family,
        gate: Gate,
        phase: Phase,
        settings: Settings,
    ) -> Arc<Socket> {
        let inner = Inner { phase, port: None, bound: false, settings, error: None };
        Arc::new(Socket {
            family,
            inner: Mutex::new(inner),
            gate: Mutex::new(gate),
            stale: AtomicBool::new(false),
            setup: Mutex::new(()),
            stun: Arc::default(),
            turn: Mutex::new(0),
            turned: Condvar::new(),
        })
    }

    /// The socket is no more, for threads that wait as well. What was written still goes out.
    pub(crate) fn close(&self, lingers: bool) {
        let mut inner = lock(&self.inner);
        let phase = std::mem::replace(&mut inner.phase, Phase::Closed);
        let port = inner.port.take();
        let linger = inner.settings.linger.filter(|_| lingers);
        drop(inner);
        self.turn();
        lock(&self.gate).close();
        self.stun.set(-1, None, std::ptr::null_mut());
        if let (Phase::Connected(stream, _) | Phase::Connecting(stream), Some(linger)) =
            (&phase, linger)
        {
            if linger.is_zero() {
                stream.abort();
            } else {
                // Nobody is left to be told how it ends.
                let _ = stream.finish(Some(linger));
            }
        }
        drop((phase, port));
    }

    /// The program has closed the descriptor by itself.
    pub(crate) fn disown(&self) {
        lock(&self.gate).disown();
    }

    pub(crate) fn number(&self) -> c_int {
        lock(&self.gate).number()
    }
}

/// Keeping the descriptor and those who wait in step.
impl Socket {
    /// To be called after whatever may have changed what can be done without waiting.
    pub(crate) fn sync(self: &Arc<Self>) {
        let mut gate = lock(&self.gate);
        self.update(&mut gate);
        drop(gate);
        self.bring_in_step();
    }

    /// Whoever holds the gate looks again when he has let it go, so that nobody needs to wait for it.
    fn bring_in_step(self: &Arc<Self>) {
        while self.stale.load(Ordering::SeqCst) {
            match self.gate.try_lock() {
                Ok(mut gate) => self.update(&mut gate),
                Err(TryLockError::Poisoned(gate)) => self.update(&mut gate.into_inner()),
                Err(TryLockError::WouldBlock) => return,
            }
        }
    }

    fn update(self: &Arc<Self>, gate: &mut Gate) {
        let waker = self.waker();
        loop {
            self.stale.store(false, Ordering::SeqCst);
            let phase = self.phase();
            if let Phase::Connecting(stream) = &phase
                && let Poll::Ready(result) = stream.poll_connected(&waker)
            {
                self.leave_connecting(stream, result.map_err(Errno::from));
                continue;
            }
            let Some(ready) = self.ready(&phase, &waker) else { return };
            gate.set(ready);
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
            Phase::Connecting(_) => Ready::default(),
            Phase::Connected(stream, _) => stream.poll_ready(waker),
            Phase::Closed => return None,
        })
    }

    fn leave_connecting(&self, stream: &TouStream, result: Result<()>) {
        let mut inner = lock(&self.inner);
        if !matches!(inner.phase, Phase::Connecting(_)) {
            return;
        }
        let mut port = None;
        let phase = match result {
            Ok(()) => Phase::Connected(stream.clone(), false),
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

    fn turn(&self) {
        *lock(&self.turn) += 1;
        self.turned.notify_all();
    }

    /// Repeats `attempt` until it is ready: at once only, if the descriptor or the caller wants that;
    /// `None` when it may not wait, or not any more.
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
            let seen = *lock(&self.turn);
            if let Poll::Ready(value) = attempt(&waker) {
                return Some(value);
            }
            let waits =
                *waits.get_or_insert_with(|| may_wait && !lock(&self.gate).is_nonblocking());
            if !waits || !self.wait(seen, deadline) {
                return None;
            }
        }
    }

    /// Waits until something has happened since `seen`; false at the deadline.
    fn wait(&self, seen: u64, deadline: Option<Instant>) -> bool {
        let mut turn = lock(&self.turn);
        while *turn == seen {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            turn = match left {
                None => self.turned.wait(turn).unwrap_or_else(std::sync::PoisonError::into_inner),
                Some(Duration::ZERO) => return false,
                Some(left) => {
                    let waited = self.turned.wait_timeout(turn, left);
                    waited.unwrap_or_else(std::sync::PoisonError::into_inner).0
                }
            };
        }
        true
    }
}

/// What it knows.
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

    /// For receiving and for sending.
    pub(crate) fn timeouts(&self) -> (Option<Duration>, Option<Duration>) {
        let inner = lock(&self.inner);
        (inner.settings.receive_timeout, inner.settings.send_timeout)
    }

    pub(crate) fn change_settings(&self, change: impl FnOnce(&mut Settings)) {
        change(&mut lock(&self.inner).settings);
    }

    pub(crate) fn gate(&self) -> MutexGuard<'_, Gate> {
        lock(&self.gate)
    }

    /// The error that waits to be told (SO_ERROR), once.
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
            self.gate().told();
        }
        error
    }

    /// Keeps an error to be told by the next call.
    pub(crate) fn keep_error(&self, error: Errno) {
        lock(&self.inner).error = Some(error);
    }

    pub(crate) fn take_kept_error(&self) -> Option<Errno> {
        lock(&self.inner).error.take()
    }

    pub(crate) fn local(&self) -> SocketAddr {
        let (phase, port) = {
            let inner = lock(&self.inner);
            (inner.phase.clone(), inner.port.as_ref().map(TouSocket::local_addr))
        };
        let (local, peer) = match &phase {
            Phase::Connected(stream, _) | Phase::Connecting(stream) => {
                (stream.local_addr().ok(), stream.peer_addr().ok())
            }
            _ => (port, None),
        };
        let local = local.unwrap_or_else(|| self.family.unspecified());
        let chosen = peer
            .filter(|_| local.ip().is_unspecified())
            .and_then(|peer| route(self.family.unspecified().ip(), self.family.written(peer)).ok());
        self.family.written(SocketAddr::new(chosen.unwrap_or(local.ip()), local.port()))
    }

    pub(crate) fn peer(&self) -> Result<SocketAddr> {
        let not_connected = Errno(libc::ENOTCONN);
        let Phase::Connected(stream, _) = self.phase() else { return Err(not_connected) };
        let state = stream.info().map_err(|_| not_connected)?.state;
        if state == windlass_tcp::State::Closed {
            return Err(not_connected);
        }
        Ok(self.family.written(stream.peer_addr()?))
    }
}

/// Opening.
impl Socket {
    pub(crate) fn bind(&self, address: SocketAddr) -> Result<()> {
        let _setup = lock(&self.setup);
        if !matches!(self.phase(), Phase::Idle) || lock(&self.inner).port.is_some() {
            return Err(Errno(libc::EINVAL));
        }
        self.take_port(address, true)
    }

    fn take_port(&self, address: SocketAddr, bound: bool) -> Result<()> {
        let options = self.settings().in_force();
        let port = match bound {
            true => TouSocket::bind_with(address, &options)?,
            false => TouSocket::for_client(address.ip(), &options)?,
        };
        port.on_stun(self.stun.sink());
        let mut inner = lock(&self.inner);
        if matches!(inner.phase, Phase::Closed) {
            drop(inner);
            return Err(Errno(libc::EBADF));
        }
        (inner.port, inner.bound) = (Some(port), bound);
        Ok(())
    }

    /// The port, taken anywhere if there is none; with the settings of now.
    fn port(&self, bound: bool) -> Result<TouSocket> {
        let options = self.settings().in_force();
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
        // Linux takes it for unsigned, and bounds it (net.core.somaxconn).
        let backlog = (backlog as u32).min(4096) as usize;
        self.change_settings(|settings| settings.options.backlog = backlog);
        let listener = self.port(true)?.listen()?;
        self.enter(Phase::Listening(Arc::new(listener)))?;
        drop(setup);
        self.sync();
        Ok(())
    }

    /// Enters another phase, unless the socket was closed meanwhile.
    fn enter(&self, phase: Phase) -> Result<()> {
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
            Phase::Connecting(_) => true,
            Phase::Connected(_, true) | Phase::Listening(_) => return Err(Errno(libc::EISCONN)),
            Phase::Connected(stream, false) => return self.enter(Phase::Connected(stream, true)),
            Phase::Closed => return Err(Errno(libc::EBADF)),
        };
        if let Some(error) = self.take_kept_error() {
            return Err(error);
        }
        if !begun_before {
            self.begin(reachable(peer)?)?;
        }
        drop(setup);
        self.sync();
        let (_, timeout) = self.timeouts();
        let result = self.block_on(true, timeout, |_| self.poll_connected());
        let pending = if begun_before { libc::EALREADY } else { libc::EINPROGRESS };
        result.unwrap_or(Err(Errno(pending)))
    }

    fn begin(&self, peer: SocketAddr) -> Result<()> {
        let own = lock(&self.inner).port.as_ref().map(TouSocket::local_addr);
        // Says at once what TCP says at once: there is no way there.
        route(own.unwrap_or(self.family.unspecified()).ip(), peer)?;
        let stream = self.port(false)?.begin(peer)?;
        self.enter(Phase::Connecting(stream))
    }

    fn poll_connected(self: &Arc<Self>) -> Poll<Result<()>> {
        self.sync();
        Poll::Ready(match self.phase() {
            Phase::Connecting(_) => return Poll::Pending,
            Phase::Connected(stream, _) => self.enter(Phase::Connected(stream, true)),
            Phase::Closed => Err(Errno(libc::EBADF)),
            _ => {
                let error = self.take_kept_error().unwrap_or(Errno(libc::ECONNABORTED));
                self.sync();
                Err(error)
            }
        })
    }

    pub(crate) fn shutdown(self: &Arc<Self>, how: Shutdown) -> Result<()> {
        match self.phase() {
            Phase::Connected(stream, _) => stream.shutdown(how)?,
            Phase::Listening(_) if how == Shutdown::Write => {}
            // It listens no more, and who waits in tou_accept is told.
            Phase::Listening(_) => self.enter(Phase::Idle)?,
            Phase::Closed => return Err(Errno(libc::EBADF)),
            Phase::Idle | Phase::Connecting(_) => return Err(Errno(libc::ENOTCONN)),
        }
        self.sync();
        self.turn();
        Ok(())
    }
}

/// STUN.
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

    /// A port of its own; an accepted connection has its listener's.
    fn stun_port(&self) -> Result<TouSocket> {
        let _setup = lock(&self.setup);
        let accepted = lock(&self.inner).port.is_none();
        if accepted && !matches!(self.phase(), Phase::Idle) {
            return Err(Errno(libc::EOPNOTSUPP));
        }
        self.port(true)
    }
}

/// The address from which the system sends to `peer`.
fn route(from: IpAddr, peer: SocketAddr) -> Result<IpAddr> {
    let probe = UdpSocket::bind((from, 0))?;
    probe.connect(peer)?;
    Ok(probe.local_addr()?.ip())
}

/// What TCP makes of addresses that are no host's.
fn reachable(peer: SocketAddr) -> Result<SocketAddr> {
    let mut peer = peer;
    match peer.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => peer.set_ip([127, 0, 0, 1].into()),
        IpAddr::V6(ip) if ip.is_unspecified() => peer.set_ip(std::net::Ipv6Addr::LOCALHOST.into()),
        IpAddr::V4(ip) if ip.is_broadcast() => return Err(Errno(libc::ENETUNREACH)),
        ip if ip.is_multicast() => return Err(Errno(libc::ENETUNREACH)),
        _ => {}
    }
    // No datagram goes there, and nobody listens.
    if peer.port() == 0 { Err(Errno(libc::ECONNREFUSED)) } else { Ok(peer) }
}
