//! A UDP socket, and the connections over it.

mod receive;

use super::options;
use super::reactor::{self, Reactor};
use super::resting::Kind;
use super::streak::Streak;
use crate::endpoint::{ConnectionId, Datagrams, Endpoint, Limits};
use quinn_udp::{EcnCodepoint, Transmit, UdpSocketState};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use windlass_base::Time;
use windlass_tcp::Event;

/// Who waits for a connection.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    pub(crate) reading: Vec<Waker>,
    pub(crate) writing: Vec<Waker>,
    /// Its error was reported already.
    pub(crate) error_told: bool,
    /// What ICMP said when the connection failed to open.
    pub(crate) icmp_errno: Option<i32>,
    /// Nothing more is read.
    pub(crate) reading_closed: bool,
}

/// Leaves a waker, once.
pub(crate) fn leave(wakers: &mut Vec<Waker>, waker: &Waker) {
    if !wakers.iter().any(|left| left.will_wake(waker)) {
        wakers.push(waker.clone());
    }
}

/// A STUN message, and whence it came.
type Message = (SocketAddr, Box<[u8]>);

/// Takes STUN messages, and whence they came.
pub(crate) type Callback = Box<dyn FnMut(SocketAddr, &[u8]) + Send>;

/// A UDP socket and its connections. It lives as long as somebody [uses](PortRef) it or a
/// connection is under way.
pub(crate) struct Port {
    socket: UdpSocket,
    udp: UdpSocketState,
    local: SocketAddr,
    state: Mutex<PortState>,
}

/// What a port's lock guards.
pub(crate) struct PortState {
    pub(crate) endpoint: Endpoint<Waiters>,
    pub(crate) accepting: Vec<Waker>,
    pub(crate) on_stun: Option<Callback>,
    /// Datagrams made, and what of them the socket has not taken.
    buffer: Vec<u8>,
    blocked: Option<Datagrams>,
    /// Woken when the lock is released.
    to_wake: Vec<Waker>,
    users: usize,
    /// Of a port that the system chose for one connection: what the next one may reuse it for.
    kind: Option<Kind>,
    /// It waits among those to reuse.
    rests: bool,
    /// The receive buffer asked for; `None` if the system gives no more.
    receive_buffer: Option<usize>,
    place: Option<Place>,
    streak: Streak,
}

/// Where a port stands in the reactor.
struct Place {
    reactor: Arc<Reactor>,
    key: reactor::Key,
    /// It is told when the socket takes datagrams again.
    waits_for_room: bool,
    /// The earliest entry among its deadlines.
    wakes_at: Option<Time>,
}

/// Somebody who uses a port; with the last of them a port without connections goes.
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
    /// A port at `address`, at any if its port is 0.
    pub(crate) fn bind(address: SocketAddr, limits: Limits) -> io::Result<PortRef> {
        let socket = UdpSocket::bind(address)?;
        let udp = UdpSocketState::new((&socket).into())?;
        let local = socket.local_addr()?;
        options::without_what_nobody_reads(&socket, local)?;
        // What the system refuses is left as it is: a smaller buffer serves too.
        let _ = udp.set_send_buffer_size((&socket).into(), options::SOCKET_BUFFER);
        let receive_buffer = options::set_receive_buffer(&socket, &udp);
        udp.enable_transport_errors((&socket).into())?;
        let mut key = [0; 16];
        rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty())?;
        let mut endpoint = Endpoint::new(limits, key);
        endpoint.set_receive_room(options::receive_room(&socket, &udp)?);
        let state = Mutex::new(PortState {
            endpoint,
            accepting: Vec::new(),
            on_stun: None,
            buffer: Vec::new(),
            blocked: None,
            to_wake: Vec::new(),
            users: 1,
            kind: None,
            rests: false,
            receive_buffer,
            place: None,
            streak: Streak::default(),
        });
        let port = Arc::new(Port { socket, udp, local, state });
        let looked = Arc::clone(&port.lock().streak.looked);
        let (reactor, key) = Reactor::add(&port, looked)?;
        port.lock().place = Some(Place { reactor, key, waits_for_room: false, wakes_at: None });
        Ok(PortRef(port))
    }

    /// A port of the system's choice for one connection: perhaps one whose last connection is in
    /// TIME-WAIT.
    pub(crate) fn for_client(address: IpAddr, limits: Limits) -> io::Result<PortRef> {
        let kind = Kind::here(address, limits);
        if let Some(port) = Port::rested(kind, false) {
            return Ok(port);
        }
        match Port::bind((address, 0).into(), limits) {
            Ok(port) => {
                port.lock().kind = Some(kind);
                Ok(port)
            }
            Err(error) => Port::rested(kind, true).ok_or(error),
        }
    }

    fn rested(kind: Kind, urgently: bool) -> Option<PortRef> {
        loop {
            let port = Reactor::take_rested(kind, urgently)?;
            let mut state = port.lock();
            // Otherwise its last connection went just now, and the port with it.
            if state.place.is_some() {
                (state.users, state.rests, state.on_stun) = (1, false, None);
                drop(state);
                return Some(PortRef(port));
            }
        }
    }

    pub(crate) fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// The address of a peer as this port's socket writes it.
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

    /// Changes something, sends what is then to be sent, and wakes who waited for it.
    pub(crate) fn with<T>(&self, change: impl FnOnce(&mut PortState, Time) -> T) -> T {
        let mut wakers = Vec::new();
        let result = self.change(&mut wakers, change);
        wake(&mut wakers);
        result
    }

    /// The same for a connection's `write`, which returns how many bytes it took.
    pub(crate) fn write(
        &self,
        write: impl FnOnce(&mut PortState) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let (result, reactor) = self.with(|state, now| {
            let result = write(state);
            let Poll::Ready(Ok(taken)) = result else { return (result, None) };
            // Its callback is the thread's to call: who writes may hold what the callback needs.
            let looks = state.on_stun.is_none() && state.streak.add(now, taken);
            let place = state.place.as_ref().filter(|place| looks && place.key.is_near());
            (result, place.map(|place| Arc::clone(&place.reactor)))
        });
        if let Some(reactor) = reactor {
            self.look(&reactor);
        }
        result
    }

    /// The same, and the caller wakes them.
    fn change<T>(
        &self,
        wakers: &mut Vec<Waker>,
        change: impl FnOnce(&mut PortState, Time) -> T,
    ) -> T {
        let mut state = self.lock();
        // Not before the lock: another thread would send with a later time meanwhile, and the peer
        // drops timestamps that go back (PAWS, RFC 7323 §5.3).
        let now = reactor::now();
        let result = change(&mut state, now);
        self.pump(&mut state, now);
        self.release(state, wakers);
        result
    }

    /// What happened is told without the lock.
    fn release(&self, mut state: MutexGuard<'_, PortState>, wakers: &mut Vec<Waker>) {
        wakers.append(&mut state.to_wake);
        let stun = self.take_stun(&mut state);
        drop(state);
        self.tell_stun(stun);
    }

    /// Sends a datagram of its user's own: STUN, say.
    pub(crate) fn send_datagram(&self, peer: SocketAddr, bytes: &[u8]) -> io::Result<()> {
        let destination = self.mapped(peer);
        let transmit =
            Transmit { destination, ecn: None, contents: bytes, segment_size: None, src_ip: None };
        self.udp.try_send((&self.socket).into(), &transmit)
    }
}

/// What the reactor does.
impl Port {
    /// The time that was `entered` has come.
    pub(super) fn handle_timeout(&self, entered: Time) {
        self.with(|state, now| {
            if let Some(place) = &mut state.place
                && place.wakes_at == Some(entered)
            {
                place.wakes_at = None;
            }
            state.endpoint.handle_timeout(now);
        });
    }

    /// True if nobody uses it and nothing is under way; then it is the reactor's no more.
    pub(super) fn leave_if_over(&self) -> bool {
        let mut state = self.lock();
        let is_over = state.is_over();
        if is_over {
            state.place = None;
        }
        is_over
    }

    /// The socket takes datagrams again.
    pub(super) fn handle_writable(&self) {
        self.with(|_, _| {});
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for Port {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl Port {
    fn pump(&self, state: &mut PortState, now: Time) {
        let max = self.udp.max_gso_segments();
        loop {
            let datagrams = state
                .blocked
                .take()
                .or_else(|| state.endpoint.poll_transmit(now, max, &mut state.buffer));
            let Some(datagrams) = datagrams else { break };
            match self.send(&datagrams, &state.buffer) {
                Ok(()) => {}
                Err(error) if is_blocked(&error) => {
                    state.blocked = Some(datagrams);
                    break;
                }
                Err(_) => state.endpoint.count_unsent(&datagrams),
            }
        }
        self.tell(state);
        let Some(place) = &mut state.place else { return };
        if place.waits_for_room != state.blocked.is_some() {
            place.waits_for_room = !place.waits_for_room;
            place.reactor.set_waits_for_room(self, place.key, place.waits_for_room);
        }
        place.reactor.wake_at(&mut place.wakes_at, state.endpoint.poll_timeout(), place.key);
        let (reactor, key) = (Arc::clone(&place.reactor), place.key);
        if state.is_over() {
            reactor.finished(key);
        } else if let Some(kind) = state.kind
            && state.users == 0
            && !state.rests
            && state.endpoint.is_in_time_wait()
        {
            state.rests = true;
            reactor.add_resting(now, kind, key);
        }
    }

    fn send(&self, datagrams: &Datagrams, buffer: &[u8]) -> io::Result<()> {
        let contents = &buffer[..datagrams.len];
        let several = datagrams.size < datagrams.len;
        let transmit = Transmit {
            destination: datagrams.peer,
            ecn: EcnCodepoint::from_bits(datagrams.ecn.bits()),
            contents,
            segment_size: several.then_some(datagrams.size),
            src_ip: None,
        };
        let send = || self.udp.try_send((&self.socket).into(), &transmit);
        // A report that waits, of any earlier datagram to any peer, is told once instead of sending.
        match send().or_else(|error| if is_blocked(&error) { Err(error) } else { send() }) {
            Err(error) if several && !is_blocked(&error) => self.send_singly(datagrams, contents),
            result => result,
        }
    }

    /// A system that does not cut datagrams apart (GSO) told so by an error. What is lost here as
    /// well was lost on the way, for TCP.
    fn send_singly(&self, datagrams: &Datagrams, contents: &[u8]) -> io::Result<()> {
        for contents in contents.chunks(datagrams.size) {
            let single = Datagrams { len: contents.len(), size: contents.len(), ..*datagrams };
            self.send(&single, contents)?;
        }
        Ok(())
    }

    /// Whoever waited for what has happened is to be woken.
    fn tell(&self, state: &mut PortState) {
        while let Some((id, event)) = state.endpoint.poll_event() {
            let Some(waiters) = state.endpoint.data_mut(id) else { continue };
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

    /// The callback is called without the lock, so that it may use the port.
    fn take_stun(&self, state: &mut PortState) -> Option<(Callback, Vec<Message>)> {
        let messages: Vec<_> = std::iter::from_fn(|| state.endpoint.poll_stun()).collect();
        if messages.is_empty() {
            return None;
        }
        Some((state.on_stun.take()?, messages))
    }

    fn tell_stun(&self, stun: Option<(Callback, Vec<Message>)>) {
        let Some((mut callback, messages)) = stun else { return };
        for (peer, message) in messages {
            callback(peer, &message);
        }
        // Unless it has set another one.
        self.lock().on_stun.get_or_insert(callback);
    }
}

fn wake(wakers: &mut Vec<Waker>) {
    wakers.drain(..).for_each(Waker::wake);
}

fn is_blocked(error: &io::Error) -> bool {
    error.kind() == ErrorKind::WouldBlock
}

impl PortState {
    fn is_over(&self) -> bool {
        self.users == 0 && self.endpoint.is_empty() && self.blocked.is_none()
    }

    /// Leaves a waker for reading, or for writing.
    pub(crate) fn wait(&mut self, id: ConnectionId, writing: bool, waker: &Waker) {
        self.leave_to_reactor();
        if let Some(waiters) = self.endpoint.data_mut(id) {
            leave(if writing { &mut waiters.writing } else { &mut waiters.reading }, waker);
        }
    }

    /// Somebody waits, for whom the thread must know of what comes.
    pub(crate) fn leave_to_reactor(&mut self) {
        if self.streak.end()
            && let Some(place) = &self.place
        {
            place.reactor.watch_all();
        }
    }

    /// Leaves a waker for the next connection to accept.
    pub(crate) fn wait_for_connection(&mut self, waker: &Waker) {
        leave(&mut self.accepting, waker);
    }

    /// Wakes everybody who waits for a connection: its end, seen from this side.
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
                        // Under the port's lock, so in the order in which things are sent.
                        port.with(|_, now| times.lock().expect("sound").push(now));
                    }
                });
            }
        });
        assert!(times.into_inner().expect("sound").is_sorted());
    }

    /// As on a system without UDP_SEGMENT: the kernel refuses it for a socket without checksums.
    #[test]
    #[cfg(target_os = "linux")]
    #[allow(unsafe_code, reason = "no library has this option")]
    fn what_the_system_does_not_cut_apart_goes_singly() {
        let listener = crate::TouListener::bind("127.0.0.1:0").expect("a port");
        let own = crate::TouSocket::bind("127.0.0.1:0").expect("a port");
        let fd = own.port().as_raw_fd();
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
        assert!(before > 1 && own.port().udp.max_gso_segments() == 1, "it was tried, and refused");
    }
}
