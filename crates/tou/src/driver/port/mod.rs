//! A UDP socket, and the connections over it. A call of the application locks the port, changes the
//! endpoint and sends what follows, in its own thread. The I/O thread does so for arrivals and timers.

mod receive;
mod refusals;
mod sessions;

use super::buffers::Buffers;
use super::companion::Companion;
use super::inline_receive::InlineReceive;
use super::options;
use super::pieces;
use super::reactor::{self, ReactorPort};
use super::reusable_ports::Binding;
use super::source::Recent;
use super::waiters::{Waiters, register};
use super::wakes::wake;
use crate::endpoint::{Addresses, ConnectionId, Contents, Datagrams, Endpoint, Limits};
use quinn_udp::{EcnCodepoint, Transmit, UdpSocketState};
use refusals::{despite_pending_errors, is_blocked, is_too_big};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Duration, SystemTime};
use windlass_base::Time;
use windlass_qlog as qlog;
use windlass_tcp::Event;

/// The I/O thread's state, shared by all ports of the process.
type Reactor = reactor::Reactor<Port>;

/// A STUN message and its source.
type Message = (SocketAddr, Box<[u8]>);

/// Called with the source and the bytes of each STUN message.
pub(crate) type Callback = Box<dyn FnMut(SocketAddr, &[u8]) + Send>;

/// A UDP socket and its connections. It exists while a [`PortRef`] or a connection exists.
pub(crate) struct Port {
    socket: UdpSocket,
    udp: UdpSocketState,
    local: SocketAddr,
    state: Mutex<PortState>,
}

/// The state of a port, behind its lock.
pub(crate) struct PortState {
    pub(crate) endpoint: Endpoint<Waiters>,
    pub(crate) accepting: Vec<Waker>,
    pub(crate) on_stun: Option<Callback>,
    /// Of a port at all addresses: the one at which each source's last STUN message arrived.
    arrival_addresses: Recent<SocketAddr, IpAddr>,
    companion: Option<Box<dyn Companion>>,
    /// The datagrams that the socket did not accept yet, and their bytes.
    blocked: Option<Datagrams>,
    buffer: Vec<u8>,
    /// Memory to join the pieces of datagrams.
    scratch: Vec<u8>,
    /// Woken when the lock is released.
    to_wake: Vec<Waker>,
    users: usize,
    /// How the port was bound, if it serves one client connection at a time and may be reused.
    binding: Option<Binding>,
    /// The port is in the reactor's list of reusable ports.
    is_reusable: bool,
    /// Requested size of the receive buffer in bytes; `None` if the system refuses more.
    receive_buffer: Option<usize>,
    registration: Option<Registration>,
    inline_receive: InlineReceive,
}

/// A port's registration with the reactor.
struct Registration {
    reactor: Arc<Reactor>,
    key: reactor::PortKey,
    /// The reactor reports when the socket accepts datagrams again.
    wants_writable: bool,
    /// The port's earliest entry among the reactor's deadlines.
    timer_at: Option<Time>,
}

/// A counted reference to a port. When the last one is dropped, the port closes as soon as it has no
/// connections.
pub(crate) struct PortRef(Arc<Port>);

impl Clone for PortRef {
    fn clone(&self) -> PortRef {
        self.0.lock().users += 1;
        PortRef(Arc::clone(&self.0))
    }
}

impl Drop for PortRef {
    fn drop(&mut self) {
        self.0.with(|state, _| state.users -= 1);
    }
}

impl std::ops::Deref for PortRef {
    type Target = Port;

    fn deref(&self) -> &Port {
        &self.0
    }
}

impl Port {
    /// Binds a port at `address`. Port number 0 lets the system choose one.
    pub(crate) fn bind(address: SocketAddr, limits: Limits) -> io::Result<PortRef> {
        let socket = UdpSocket::bind(address)?;
        let udp = UdpSocketState::new((&socket).into())?;
        let local = socket.local_addr()?;
        options::disable_unused_control_messages(&socket, local)?;
        // The system may refuse the size: a smaller buffer works too.
        let _ = udp.set_send_buffer_size((&socket).into(), options::SOCKET_BUFFER);
        let receive_buffer = options::set_receive_buffer(&socket, &udp);
        #[cfg(unix)]
        udp.enable_transport_errors((&socket).into())?;
        let mut key = [0; 16];
        getrandom::fill(&mut key)?;
        let mut endpoint = Endpoint::new(limits, key);
        endpoint.set_receive_buffer(options::receive_payload(&socket, &udp)?);
        let state = Mutex::new(PortState {
            endpoint,
            accepting: Vec::new(),
            on_stun: None,
            arrival_addresses: Recent::default(),
            companion: None,
            blocked: None,
            buffer: Vec::new(),
            scratch: Vec::new(),
            to_wake: Vec::new(),
            users: 1,
            binding: None,
            is_reusable: false,
            receive_buffer,
            registration: None,
            inline_receive: InlineReceive::default(),
        });
        let port = Arc::new(Port { socket, udp, local, state });
        let last_poll = Arc::clone(&port.lock().inline_receive.last_poll);
        let (reactor, key) = Reactor::add(&port, last_poll)?;
        port.lock().registration =
            Some(Registration { reactor, key, wants_writable: false, timer_at: None });
        Ok(PortRef(port))
    }

    /// A port for one client connection, chosen by the system. It may be a reusable port whose
    /// previous connection is in TIME-WAIT. The port number of `address` is 0.
    pub(crate) fn for_client(address: SocketAddr, limits: Limits) -> io::Result<PortRef> {
        let binding = Binding::of_this_thread(address, limits);
        let urgent = false;
        if let Some(port) = Port::take_reusable(binding, urgent) {
            return Ok(port);
        }
        match Port::bind(address, limits) {
            Ok(port) => {
                port.lock().binding = Some(binding);
                Ok(port)
            }
            Err(error) => {
                let urgent = true;
                Port::take_reusable(binding, urgent).ok_or(error)
            }
        }
    }

    fn take_reusable(binding: Binding, urgent: bool) -> Option<PortRef> {
        loop {
            let port = Reactor::take_reusable(binding, urgent)?;
            let mut state = port.lock();
            // Otherwise its last connection has just ended, and the port was closed.
            if state.registration.is_some() {
                (state.users, state.is_reusable, state.on_stun) = (1, false, None);
                drop(state);
                return Some(PortRef(port));
            }
        }
    }

    pub(crate) fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Where connections that begin from now on write their events.
    pub(crate) fn set_qlog(&self, folder: Option<qlog::Folder>) {
        // The driver's time zero as a date.
        let epoch = SystemTime::now().checked_sub(Duration::from_nanos(reactor::now().as_nanos()));
        self.lock().endpoint.write_qlog(folder, epoch);
    }

    /// Whether connections that begin from now on look for the path MTU.
    pub(crate) fn set_path_probes(&self, on: bool) {
        self.lock().endpoint.probe_paths(on);
    }

    /// A peer's address as this socket represents it: an IPv6 socket maps IPv4 addresses.
    pub(crate) fn mapped(&self, peer: SocketAddr) -> SocketAddr {
        match peer {
            SocketAddr::V4(v4) if self.local.is_ipv6() => {
                SocketAddr::from((v4.ip().to_ipv6_mapped(), v4.port()))
            }
            _ => peer,
        }
    }

    fn lock(&self) -> MutexGuard<'_, PortState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `change` under the lock, sends the resulting datagrams, and wakes waiters.
    pub(crate) fn with<T>(&self, change: impl FnOnce(&mut PortState, Time) -> T) -> T {
        let mut wakers = Vec::new();
        let result = self.change(&mut wakers, change);
        wake(&mut wakers);
        result
    }

    /// The same for a connection's `write`, which returns the number of bytes it accepted.
    pub(crate) fn write(
        &self,
        write: impl FnOnce(&mut PortState) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let (result, reactor) = self.with(|state, now| {
            let result = write(state);
            let Poll::Ready(Ok(taken)) = result else { return (result, None) };
            // Only the I/O thread calls the STUN callback: a writer may hold a lock that it needs.
            let polls = state.on_stun.is_none() && state.inline_receive.note_write(now, taken);
            let registration =
                state.registration.as_ref().filter(|one| polls && one.key.is_polled());
            (result, registration.map(|one| Arc::clone(&one.reactor)))
        });
        if let Some(reactor) = reactor {
            self.poll_inline(&reactor);
        }
        result
    }

    /// As [`Port::with`], but the caller wakes the waiters that are added to `wakers`.
    fn change<T>(
        &self,
        wakers: &mut Vec<Waker>,
        change: impl FnOnce(&mut PortState, Time) -> T,
    ) -> T {
        let mut state = self.lock();
        // Read the clock after locking. Otherwise another thread could send with a later time in
        // between, and the peer drops timestamps that go back (PAWS, RFC 7323 §5.3).
        let now = reactor::now();
        let result = change(&mut state, now);
        self.transmit(&mut state, now);
        self.release(state, wakers);
        result
    }

    /// Unlocks the port, then delivers STUN messages. Wakers go to `wakers`.
    fn release(&self, mut state: MutexGuard<'_, PortState>, wakers: &mut Vec<Waker>) {
        wakers.append(&mut state.to_wake);
        let stun = self.take_stun(&mut state);
        drop(state);
        self.deliver_stun(stun);
    }

    /// Sends a datagram of the application, such as a STUN message.
    pub(crate) fn send_datagram(&self, peer: SocketAddr, bytes: &[u8]) -> io::Result<()> {
        let destination = self.mapped(peer);
        // STUN is answered from the address that was asked.
        let src_ip = self.lock().arrival_addresses.get(&destination);
        let datagram =
            Transmit { destination, ecn: None, contents: bytes, segment_size: None, src_ip };
        self.try_send(&datagram)
    }

    /// Sends a datagram, or several of one size.
    fn try_send(&self, datagram: &Transmit<'_>) -> io::Result<()> {
        despite_pending_errors(|| self.udp.try_send((&self.socket).into(), datagram))
    }
}

impl AsRef<UdpSocket> for Port {
    fn as_ref(&self) -> &UdpSocket {
        &self.socket
    }
}

impl ReactorPort for Port {
    fn current() -> MutexGuard<'static, Option<Arc<Reactor>>> {
        static CURRENT: Mutex<Option<Arc<Reactor>>> = Mutex::new(None);
        CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handle_readable(&self, buffers: &mut Buffers) {
        self.receive(buffers);
    }

    fn handle_writable(&self) {
        self.with(|_, _| {});
    }

    fn handle_error(&self) {
        self.take_errors();
    }

    fn handle_timeout(&self, entered: Time) {
        self.with(|state, now| {
            if let Some(registration) = &mut state.registration
                && registration.timer_at == Some(entered)
            {
                registration.timer_at = None;
            }
            state.endpoint.handle_timeout(now);
            state.expire_companion(now);
        });
    }

    fn retire_if_unused(&self) -> bool {
        let mut state = self.lock();
        let is_unused = state.is_unused();
        if is_unused {
            state.registration = None;
        }
        is_unused
    }
}

impl Port {
    /// Sends all pending datagrams and updates the registration.
    fn transmit(&self, state: &mut PortState, now: Time) {
        self.send_own(state);
        let max = self.udp.max_gso_segments();
        while let Some((datagrams, result)) = self.send_next(state, now, max) {
            match result {
                Ok(()) => {}
                Err(error) if is_blocked(&error) => {
                    state.blocked = Some(datagrams);
                    break;
                }
                Err(error) => {
                    state.endpoint.count_unsent(&datagrams);
                    state.note_refusal(now, &datagrams, &error);
                }
            }
        }
        self.notify(state);
        let Some(registration) = &mut state.registration else { return };
        let (reactor, key) = (Arc::clone(&registration.reactor), registration.key);
        // The socket is full: the reactor reports when it has room.
        if registration.wants_writable != state.blocked.is_some() {
            registration.wants_writable = !registration.wants_writable;
            reactor.set_wants_writable(self, key, registration.wants_writable);
        }
        let companion = state.companion.as_ref().and_then(|one| one.poll_timeout());
        let next = state.endpoint.poll_timeout().into_iter().chain(companion).min();
        reactor.wake_at(&mut registration.timer_at, next, key);
        if state.is_unused() {
            reactor.finished(key);
        } else if let Some(binding) = state.binding
            && state.users == 0
            && !state.is_reusable
            && state.endpoint.is_in_time_wait()
        {
            state.is_reusable = true;
            reactor.add_reusable(now, binding, key);
        }
    }

    /// Sends the datagrams that the socket refused, or the next ones. If the socket is full, they stay
    /// in the port's buffer: what they carry may be acknowledged before they leave.
    fn send_next(
        &self,
        state: &mut PortState,
        now: Time,
        max: usize,
    ) -> Option<(Datagrams, io::Result<()>)> {
        let PortState { companion, buffer, scratch, endpoint, .. } = state;
        if let Some(datagrams) = state.blocked.take() {
            let contents = Contents::contiguous(&buffer[..datagrams.len]);
            let result = self.send_to_peer(now, companion, &datagrams, &contents, scratch);
            return Some((datagrams, result));
        }
        endpoint.transmit_with(now, max, |datagrams, contents| {
            let result = self.send_to_peer(now, companion, datagrams, contents, scratch);
            if result.as_ref().is_err_and(is_blocked) {
                contents.gather(buffer);
            }
            (*datagrams, result)
        })
    }

    fn send(
        &self,
        datagrams: &Datagrams,
        src_ip: Option<IpAddr>,
        contents: &Contents<'_>,
        scratch: &mut Vec<u8>,
    ) -> io::Result<()> {
        if contents.as_contiguous().is_none() {
            let send = || pieces::send(&self.socket, datagrams, src_ip, contents);
            match despite_pending_errors(send) {
                Err(error) if !is_blocked(&error) => {
                    self.check_size(datagrams, src_ip, contents.joined(scratch))?;
                }
                result => return result,
            }
        }
        self.send_joined(datagrams, src_ip, contents.joined(scratch))
    }

    /// Whether the first datagram alone fits the link. If it does not, segmentation (GSO) is not the
    /// cause of a refusal, and stays on for other peers.
    fn check_size(
        &self,
        datagrams: &Datagrams,
        src_ip: Option<IpAddr>,
        contents: &[u8],
    ) -> io::Result<()> {
        let single = Datagrams { len: datagrams.size, ..*datagrams };
        let first = Contents::contiguous(&contents[..datagrams.size.min(contents.len())]);
        match pieces::send(&self.socket, &single, src_ip, &first) {
            Err(error) if is_too_big(&error) => Err(error),
            _ => Ok(()),
        }
    }

    fn send_joined(
        &self,
        datagrams: &Datagrams,
        src_ip: Option<IpAddr>,
        contents: &[u8],
    ) -> io::Result<()> {
        let several = datagrams.size < datagrams.len;
        let datagram = Transmit {
            destination: datagrams.peer,
            ecn: EcnCodepoint::from_bits(datagrams.ecn.bits()),
            contents,
            segment_size: several.then_some(datagrams.size),
            src_ip,
        };
        match self.try_send(&datagram) {
            Err(error) if several && !is_blocked(&error) => {
                self.send_singly(datagrams, src_ip, contents)
            }
            result => result,
        }
    }

    /// Sends datagrams one by one, after the system refused to segment them (GSO). TCP treats a
    /// datagram that fails here as lost on the path.
    fn send_singly(
        &self,
        datagrams: &Datagrams,
        src_ip: Option<IpAddr>,
        contents: &[u8],
    ) -> io::Result<()> {
        for contents in contents.chunks(datagrams.size) {
            let single = Datagrams { len: contents.len(), size: contents.len(), ..*datagrams };
            self.send_joined(&single, src_ip, contents)?;
        }
        Ok(())
    }

    /// Collects the wakers of all connections that have events.
    fn notify(&self, state: &mut PortState) {
        while let Some((id, event)) = state.endpoint.poll_event() {
            let Some(waiters) = state.endpoint.data_mut(id) else { continue };
            // Readers and writers both have to know of ends and errors.
            if !matches!(event, Event::Writable) {
                state.to_wake.append(&mut waiters.reading);
            }
            if !matches!(event, Event::Readable) {
                state.to_wake.append(&mut waiters.writing);
            }
        }
        if state.endpoint.acceptable() > 0 {
            state.to_wake.append(&mut state.accepting);
        }
    }

    /// Takes the callback and its messages. The caller runs it unlocked, so that it may use the port.
    fn take_stun(&self, state: &mut PortState) -> Option<(Callback, Vec<Message>)> {
        let mut messages = Vec::new();
        while let Some((addresses, message)) = state.endpoint.poll_stun() {
            let Addresses { local, peer } = addresses;
            if let Some(local) = local {
                state.arrival_addresses.note(peer, local);
            }
            messages.push((peer, message));
        }
        if messages.is_empty() {
            return None;
        }
        Some((state.on_stun.take()?, messages))
    }

    fn deliver_stun(&self, stun: Option<(Callback, Vec<Message>)>) {
        let Some((mut callback, messages)) = stun else { return };
        for (peer, message) in messages {
            callback(peer, &message);
        }
        // The callback may have installed another one.
        self.lock().on_stun.get_or_insert(callback);
    }
}

impl PortState {
    fn is_unused(&self) -> bool {
        self.users == 0 && self.endpoint.is_empty() && self.blocked.is_none()
    }

    /// Registers a waker for reading, or for writing.
    pub(crate) fn wait(&mut self, id: ConnectionId, writing: bool, waker: &Waker) {
        self.stop_inline_receive();
        if let Some(waiters) = self.endpoint.data_mut(id) {
            register(if writing { &mut waiters.writing } else { &mut waiters.reading }, waker);
        }
    }

    /// Makes the I/O thread receive again, because an application thread is about to wait.
    pub(crate) fn stop_inline_receive(&mut self) {
        if self.inline_receive.stop()
            && let Some(registration) = &self.registration
        {
            registration.reactor.resume_all();
        }
    }

    /// Registers a waker for the next connection to accept.
    pub(crate) fn wait_for_connection(&mut self, waker: &Waker) {
        register(&mut self.accepting, waker);
    }

    /// Wakes all waiters of a connection, after this side has shut it down or reset it.
    pub(crate) fn wake_all(&mut self, id: ConnectionId) {
        if let Some(waiters) = self.endpoint.data_mut(id) {
            self.to_wake.append(&mut waiters.reading);
            self.to_wake.append(&mut waiters.writing);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::thread;

    #[test]
    fn time_never_goes_back_for_threads_that_share_a_port() {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let port = Port::bind(address, Limits::default()).expect("a free port");
        let times = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        // Under the port's lock, hence in the order of sending.
                        port.with(|_, now| times.lock().expect("sound").push(now));
                    }
                });
            }
        });
        assert!(times.into_inner().expect("sound").is_sorted());
    }

    /// Simulates a system without UDP_SEGMENT: the kernel refuses it on a socket without checksums.
    #[test]
    #[cfg(target_os = "linux")]
    #[expect(unsafe_code, reason = "no library has this option")]
    fn without_segmentation_offload_datagrams_are_sent_one_by_one() {
        let listener = crate::TouListener::bind("127.0.0.1:0").expect("a port");
        let own = crate::TouSocket::bind("127.0.0.1:0").expect("a port");
        let fd = std::os::fd::AsRawFd::as_raw_fd(&own.port().socket);
        let on: libc::c_int = 1;
        // SAFETY: an int, and its size.
        let set = unsafe {
            let value = (&raw const on).cast();
            libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_NO_CHECK, value, 4)
        };
        assert_eq!(set, 0);
        let before = own.port().udp.max_gso_segments();
        let mut stream = own.connect(listener.local_addr().expect("bound")).expect("listens");
        let (mut server, _) = listener.accept().expect("comes");
        let bytes: Vec<u8> = (0..1_000_000_u32).map(|i| (i >> 3) as u8).collect();
        let arrived = thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut arrived = Vec::new();
                server.read_to_end(&mut arrived).map(|_| arrived)
            });
            stream.write_all(&bytes).expect("open");
            stream.finish(None).expect("arrives");
            reader.join().expect("no panic").expect("to its end")
        });
        assert!(arrived == bytes);
        assert!(before > 1 && own.port().udp.max_gso_segments() == 1, "GSO was tried and refused");
    }
}
