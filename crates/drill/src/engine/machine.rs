//! The host: its sockets and connections, and the way of a packet between them.

use super::abi::errno;
use super::chrono::Limit;
use super::config::{Role, config, option_use};
use super::link::{Link, Owner};
use super::socket::{Descriptor, Kind, LinkId, Listener, Options, Socket};
use super::sysctl::Settings;
use super::wire::{self, Ends, IcmpError, Incoming, Marking};
use crate::call::Fd;
use crate::subject::Setup;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use windlass_base::{Ecn, Span, Time};
use windlass_tcp::{Connection, Error, Event, Flags, Segment, SeqNumber, State};

/// The engine's clock when a script begins. A host that has just started would send timestamps of zero, which count
/// as none when they are echoed (RFC 7323 section 3.2).
const STARTED: Span = Span::from_secs(1000);

/// The first port for connections without `bind`.
const EPHEMERAL: u16 = 32_768;

/// The first initial sequence number, and the distance to the next. Scripts count from zero anyway.
const ISN: u32 = 1 << 20;
const ISN_STEP: u32 = 0x0101_0001;

/// The headers of an IP packet and a segment without options, in bytes.
const HEADERS_LEN: u32 = 40;
const HEADERS_LEN_V6: u32 = 60;
/// The longest packet in bytes that each host must accept (RFC 791, RFC 8200): no path has a smaller MTU.
const MTU_MIN: u32 = 552;

/// The host.
#[derive(Debug)]
pub(super) struct Machine {
    setup: Setup,
    /// Time since the start.
    pub(super) now: Time,
    pub(super) settings: Settings,
    pub(super) descriptors: BTreeMap<Fd, Descriptor>,
    pub(super) links: BTreeMap<LinkId, Link>,
    pub(super) sent: VecDeque<(Time, Vec<u8>)>,
    links_ever: u64,
    ports_ever: u16,
}

impl Machine {
    pub(super) fn new(setup: Setup) -> Machine {
        Machine {
            setup,
            now: Time::ZERO,
            settings: Settings::default(),
            descriptors: BTreeMap::new(),
            links: BTreeMap::new(),
            sent: VecDeque::new(),
            links_ever: 0,
            ports_ever: 0,
        }
    }

    /// The time of the engine.
    pub(super) fn clock(&self) -> Time {
        self.now + STARTED
    }

    /// The largest payload of a segment that the link takes.
    pub(super) fn link_mss(&self) -> u16 {
        let headers = if self.setup.local.is_ipv4() { HEADERS_LEN } else { HEADERS_LEN_V6 };
        u16::try_from(self.setup.mtu.saturating_sub(headers)).unwrap_or(u16::MAX)
    }

    fn mss_of(&self, options: &Options) -> u16 {
        options.max_segment.map_or(self.link_mss(), |most| most.min(self.link_mss()))
    }

    /// The lowest descriptor that is free, as POSIX gives them.
    pub(super) fn open(&mut self, descriptor: Descriptor) -> Fd {
        let used = |fd: &Fd| self.descriptors.contains_key(fd);
        let fd = (3..).map(Fd).find(|fd| !used(fd)).expect("descriptors without end");
        self.descriptors.insert(fd, descriptor);
        fd
    }

    pub(super) fn socket(&mut self, fd: Fd) -> Result<&mut Socket, i32> {
        match self.descriptors.get_mut(&fd) {
            Some(Descriptor::Socket(socket)) => Ok(socket),
            Some(Descriptor::Epoll(_)) => Err(errno::ENOTSOCK),
            None => Err(errno::EBADF),
        }
    }

    /// The connection of a socket, if it has one.
    pub(super) fn link_of(&mut self, fd: Fd) -> Result<Option<&mut Link>, i32> {
        match self.socket(fd)?.kind {
            Kind::Connected(id) => Ok(self.links.get_mut(&id)),
            _ => Ok(None),
        }
    }

    pub(super) fn listener(&mut self, fd: Fd) -> Option<&mut Listener> {
        match self.descriptors.get_mut(&fd) {
            Some(Descriptor::Socket(Socket { kind: Kind::Listener(listener), .. })) => {
                Some(listener)
            }
            _ => None,
        }
    }

    /// The address and port of this host where `bind` puts a socket.
    pub(super) fn local_port(&self) -> u16 {
        self.setup.local_port
    }

    /// Opens a connection to the other end.
    pub(super) fn connect(&mut self, fd: Fd) -> Result<(), i32> {
        let socket = self.socket(fd)?;
        let (options, bound) = (socket.options.clone(), socket.port);
        let port = bound.unwrap_or_else(|| self.next_port());
        let local = SocketAddr::new(self.setup.local, port);
        let remote = SocketAddr::new(self.setup.remote, self.setup.remote_port);
        let ends = Ends { local, remote };
        if self.find(ends).is_some() {
            return Err(errno::EADDRINUSE);
        }
        let isn = self.next_isn();
        let config = config(&self.settings, &options, Role::Active, self.mss_of(&options));
        let mut connection = Connection::connect(config, self.clock(), isn);
        connection.limit_window(options.window(&self.settings, self.mss_of(&options)));
        let id = self.add(ends, connection, options, Owner::Socket(fd));
        let socket = self.socket(fd)?;
        (socket.kind, socket.port) = (Kind::Connected(id), Some(port));
        self.settle(id);
        Ok(())
    }

    fn add(
        &mut self,
        ends: Ends,
        connection: Connection,
        options: Options,
        owner: Owner,
    ) -> LinkId {
        self.links_ever += 1;
        let id = LinkId(self.links_ever);
        let mut link = Link::new(self.now, ends, connection, options);
        link.owner = owner;
        self.links.insert(id, link);
        id
    }

    fn next_port(&mut self) -> u16 {
        self.ports_ever += 1;
        EPHEMERAL + self.ports_ever
    }

    fn next_isn(&self) -> SeqNumber {
        SeqNumber(ISN.wrapping_add((self.links_ever as u32).wrapping_mul(ISN_STEP)))
    }

    fn find(&self, ends: Ends) -> Option<LinkId> {
        self.links.iter().find(|(_, link)| link.ends == ends).map(|(id, _)| *id)
    }

    fn send(&mut self, packet: Option<Vec<u8>>) {
        self.sent.extend(packet.map(|packet| (self.now, packet)));
    }
}

/// Packets that arrive.
impl Machine {
    pub(super) fn receive(&mut self, packet: &[u8]) {
        match wire::parse(packet) {
            Some(Incoming::Segment { ends, segment, ecn }) => self.take(ends, &segment, ecn),
            Some(Incoming::Error { ends, seq, error }) => self.take_error(ends, seq, error),
            None => {}
        }
    }

    fn take(&mut self, ends: Ends, segment: &Segment, ecn: Ecn) {
        if ends.local.ip() != self.setup.local {
            return;
        }
        let Some(id) = self.find(ends) else { return self.take_stray(ends, segment, ecn) };
        if self.links[&id].connection.makes_room_for(segment) {
            self.links.remove(&id);
            return self.take_stray(ends, segment, ecn);
        }
        if self.is_orphaned_data(id, segment) {
            // Linux: data that arrives after `close` is lost, and the peer learns that (RFC 1122 section 4.2.2.13).
            self.links.remove(&id);
            return self.refuse(ends, segment);
        }
        if self.completes_beyond_backlog(id, segment) {
            return;
        }
        let clock = self.clock();
        let now = self.now;
        if let Some(link) = self.links.get_mut(&id) {
            note_arrival(now, link, segment);
            link.connection.handle_segment(clock, segment, ecn, &mut ());
            link.note_window();
            link.release_after_ack(clock);
        }
        self.settle(id);
    }

    /// True for new data of a connection whose socket is closed.
    fn is_orphaned_data(&self, id: LinkId, segment: &Segment) -> bool {
        let link = &self.links[&id];
        let receives = matches!(link.connection.state(), State::FinWait1 | State::FinWait2);
        link.owner == Owner::Orphan
            && receives
            && !segment.flags.contains(Flags::RST)
            && link.connection.has_new_data(segment)
    }

    /// True for the last ACK of a handshake while the accept queue is full: Linux drops it
    /// (`tcp_abort_on_overflow` is 0).
    fn completes_beyond_backlog(&mut self, id: LinkId, segment: &Segment) -> bool {
        let link = &self.links[&id];
        let Owner::Listener(fd) = link.owner else { return false };
        let completes = link.connection.state() == State::SynReceived
            && segment.flags & (Flags::SYN | Flags::RST | Flags::ACK) == Flags::ACK;
        completes
            && self.listener(fd).is_some_and(|listener| listener.ready.len() > listener.backlog)
    }

    /// A segment for no connection: it opens one, or gets a reset.
    fn take_stray(&mut self, ends: Ends, segment: &Segment, ecn: Ecn) {
        let listener = self.listener_at(ends.local.port());
        let Some(fd) = listener.filter(|_| segment.opens()) else {
            return self.refuse(ends, segment);
        };
        let Ok(socket) = self.socket(fd) else { return };
        let Kind::Listener(Listener { ready, backlog }) = &socket.kind else { return };
        if ready.len() > *backlog {
            return;
        }
        let options = socket.options.clone();
        let config = config(&self.settings, &options, Role::Passive, self.mss_of(&options));
        let mut connection = Connection::listen(config, self.next_isn());
        connection.limit_window(options.window(&self.settings, self.mss_of(&options)));
        connection.handle_segment(self.clock(), segment, ecn, &mut ());
        let id = self.add(ends, connection, options, Owner::Listener(fd));
        self.settle(id);
    }

    fn listener_at(&self, port: u16) -> Option<Fd> {
        self.descriptors.iter().find_map(|(fd, descriptor)| match descriptor {
            Descriptor::Socket(Socket { kind: Kind::Listener(_), port: Some(at), .. })
                if *at == port =>
            {
                Some(*fd)
            }
            _ => None,
        })
    }

    fn refuse(&mut self, ends: Ends, segment: &Segment) {
        let packet = wire::reset_reply(segment)
            .and_then(|reset| wire::emit(ends, &reset, Marking::default()));
        self.send(packet);
    }

    /// An ICMP error about a segment that is in flight (RFC 5927 section 4.1).
    fn take_error(&mut self, ends: Ends, seq: SeqNumber, error: IcmpError) {
        let Some(id) = self.find(ends) else { return };
        let mss = self.link_mss();
        let Some(link) = self.links.get_mut(&id) else { return };
        if !link.connection.is_unacknowledged(seq) {
            return;
        }
        match error {
            IcmpError::TooBig(mtu) => {
                let headers = u32::from(mss).abs_diff(self.setup.mtu);
                let payload = mtu.max(MTU_MIN).saturating_sub(headers);
                let options = if link.connection.timestamps_negotiated() { 12 } else { 0 };
                if payload.saturating_sub(options) < link.connection.mss() {
                    link.connection.set_mss(payload.saturating_sub(options));
                    link.connection.retry_at_once(self.now + STARTED);
                    link.connection.handle_timeout(self.now + STARTED, &mut ());
                }
            }
            IcmpError::Unreachable { errno, hard } => {
                link.soft_error = Some(errno);
                let opening = link.connection.state() == State::SynSent;
                if opening && hard {
                    link.error = Some(errno);
                    link.connection.fail_opening(Error::Unreachable);
                }
            }
        }
        self.settle(id);
    }
}

fn note_arrival(now: Time, link: &mut Link, segment: &Segment) {
    let seen = &mut link.seen;
    if segment.flags.contains(Flags::ACK) {
        seen.ack_received = now;
    }
    if segment.payload_len > 0 {
        seen.data_received = now;
        seen.data_segments_in += 1;
        seen.largest =
            seen.largest.max(segment.payload_len.min(link.connection.config().mss.into()));
    }
}

/// The consequences of a change of a connection.
impl Machine {
    /// Sends what a connection has to send, and takes its events.
    pub(super) fn settle(&mut self, id: LinkId) {
        let (clock, now) = (self.clock(), self.now);
        let least = self.settings.min_segments.unsigned_abs();
        let Some(link) = self.links.get_mut(&id) else { return };
        let mut packets = Vec::new();
        link.transmit(clock, least, &mut packets);
        link.watch_user_timeout(clock);
        let events: Vec<Event> = std::iter::from_fn(|| link.connection.poll_event()).collect();
        self.sent.extend(packets.into_iter().map(|packet| (now, packet)));
        for event in events {
            self.take_event(id, event);
        }
        if let Some(link) = self.links.get_mut(&id) {
            link.chrono.note(now, limit(link));
        }
        self.forget_ended(id);
    }

    fn take_event(&mut self, id: LinkId, event: Event) {
        let Some(link) = self.links.get_mut(&id) else { return };
        if event == Event::Connected {
            link.seen.data_received = self.now;
        }
        match (event, link.owner) {
            (Event::Connected, Owner::Listener(fd)) => match self.listener(fd) {
                Some(listener) => listener.ready.push_back(id),
                None => {
                    self.links.remove(&id);
                }
            },
            (Event::Failed(error), _) if link.error.is_none() => {
                link.error = error_of(error, link.soft_error, link.connection.peer_closed());
            }
            _ => {}
        }
    }

    /// Removes a connection that has ended and that no socket has.
    fn forget_ended(&mut self, id: LinkId) {
        let fin_timeout = Span::from_secs(self.settings.fin_timeout_s.unsigned_abs());
        let Some(link) = self.links.get_mut(&id) else { return };
        let ended = link.connection.state() == State::Closed;
        match link.owner {
            Owner::Orphan if ended => {
                self.links.remove(&id);
            }
            Owner::Orphan if link.connection.state() == State::FinWait2 => {
                let clock = self.now + STARTED;
                link.fin_until.get_or_insert(clock + fin_timeout);
            }
            Owner::Listener(fd) if ended => {
                let waits = self.listener(fd).is_some_and(|listener| listener.ready.contains(&id));
                if !waits {
                    self.links.remove(&id);
                }
            }
            _ => {}
        }
    }

    /// A variable has changed: some concern connections that are open.
    pub(super) fn heed_settings(&mut self) {
        let option = option_use(&self.settings);
        for link in self.links.values_mut() {
            link.connection.set_accurate_option(option);
        }
    }

    /// The next time at which a connection has something to do.
    pub(super) fn wakes_at(&self) -> Option<Time> {
        let clock = self.links.values().filter_map(Link::wakes_at).min()?;
        Some(Time::ZERO + clock.saturating_since(Time::ZERO + STARTED))
    }

    /// Runs the timers that are due.
    pub(super) fn wake(&mut self) {
        let clock = self.clock();
        let due: Vec<LinkId> = self
            .links
            .iter()
            .filter(|(_, link)| link.wakes_at().is_some_and(|at| at <= clock))
            .map(|(id, _)| *id)
            .collect();
        for id in due {
            if let Some(link) = self.links.get_mut(&id) {
                link.wake(clock);
            }
            self.settle(id);
        }
    }
}

/// Linux's number of a failure (`tcp_reset`, `tcp_write_err`).
fn error_of(error: Error, soft: Option<i32>, peer_closed: bool) -> Option<i32> {
    match error {
        Error::Reset if peer_closed => Some(errno::EPIPE),
        Error::Reset => Some(errno::ECONNRESET),
        Error::Refused => Some(errno::ECONNREFUSED),
        Error::TimedOut => Some(soft.unwrap_or(errno::ETIMEDOUT)),
        Error::Unreachable => Some(soft.unwrap_or(errno::EHOSTUNREACH)),
        Error::Aborted => Some(errno::ECONNABORTED),
        _ => None,
    }
}

/// The limit of the sender now.
fn limit(link: &Link) -> Limit {
    let connection = &link.connection;
    if link.unacknowledged() == 0 {
        return Limit::Idle;
    }
    let (unsent, mss) = (link.unsent(), u64::from(connection.mss()));
    if connection.in_flight() + mss > connection.cwnd() as u64 {
        return Limit::Busy;
    }
    let sent = connection.bytes_acked() + connection.in_flight();
    let left = connection.peer_window_edge().saturating_sub(sent);
    match unsent {
        0 if link.wants_room => Limit::SendBuffer,
        0 => Limit::Busy,
        _ if left < unsent.min(mss) => Limit::PeerWindow,
        _ => Limit::Busy,
    }
}
