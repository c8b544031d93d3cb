use crate::endpoint::{ConnectionId, Endpoint, Limits};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use windlass_base::{Ecn, Span, Time};
use windlass_tcp::{Config, Error, Event, Profile, Segment, State, cc};
use windlass_tou_wire::{self as wire, SessionPeer};

/// Delay in one direction.
const DELAY: Span = Span::from_millis(10);

/// Endpoints by address, connected by a fixed delay. A test may drop or duplicate datagrams.
pub(super) struct Network {
    pub(super) now: Time,
    pub(super) hosts: BTreeMap<SocketAddr, Endpoint>,
    /// Datagrams in flight, by time of arrival and then by order of sending.
    under_way: BTreeMap<(Time, u64), Packet>,
    sent: u64,
    /// Returns false for datagrams to drop.
    pub(super) passes: Box<dyn FnMut(&Packet) -> bool>,
    /// Changes datagrams on their way, as a router that marks.
    pub(super) changes: Box<dyn FnMut(&mut Packet)>,
    pub(super) events: Vec<(SocketAddr, ConnectionId, Event)>,
    /// Percentage of datagrams that arrive twice, the second time late.
    pub(super) doubles: u64,
    /// The two hosts of each session.
    pub(super) sessions: BTreeMap<u32, [SocketAddr; 2]>,
}

#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
    pub(super) ecn: Ecn,
    pub(super) bytes: Vec<u8>,
}

impl Packet {
    pub(super) fn segment(&self) -> Segment {
        wire::parse(&self.bytes)
            .or_else(|_| wire::parse_session(&self.bytes).map(|(_, segment, at)| (segment, at)))
            .expect("a segment")
            .0
    }
}

pub(super) fn config() -> Config {
    let controller = cc::by_name("cubic").expect("known");
    Profile::Linux.config(1456, controller).with(|c| c.sending.nagle = false)
}

pub(super) fn address(host: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, host], 7000))
}

/// Where a datagram from `from` to the peer `to` goes, which may be a virtual address.
fn destination(
    sessions: &BTreeMap<u32, [SocketAddr; 2]>,
    from: SocketAddr,
    to: SocketAddr,
) -> SocketAddr {
    let Some(session) = SessionPeer::of(&to) else { return to };
    let hosts = sessions[&session.tag];
    if hosts[0] == from { hosts[1] } else { hosts[0] }
}

impl Network {
    /// Hosts 1 to `hosts`.
    pub(super) fn new(hosts: u8) -> Network {
        Network::with_limits(hosts, Limits::default())
    }

    pub(super) fn with_limits(hosts: u8, limits: Limits) -> Network {
        let host = |host| (address(host), Endpoint::new(limits, [host; 16]));
        Network {
            now: Time::from_nanos(5_000_000_000),
            hosts: (1..=hosts).map(host).collect(),
            under_way: BTreeMap::new(),
            sent: 0,
            passes: Box::new(|_| true),
            changes: Box::new(|_| {}),
            events: Vec::new(),
            doubles: 0,
            sessions: BTreeMap::new(),
        }
    }

    pub(super) fn host(&mut self, host: u8) -> &mut Endpoint {
        self.hosts.get_mut(&address(host)).expect("there")
    }

    pub(super) fn connect(&mut self, from: u8, to: u8) -> ConnectionId {
        let now = self.now;
        self.host(from).connect(now, address(to), config()).expect("a new one")
    }

    /// Opens the session `tag` between hosts 1 and 2.
    pub(super) fn open_session(&mut self, tag: u32) {
        self.sessions.insert(tag, [address(1), address(2)]);
        assert!(self.host(1).open_session(tag) && self.host(2).open_session(tag));
    }

    /// Begins a connection of the session `tag` at host `from`.
    pub(super) fn connect_in_session(&mut self, from: u8, tag: u32, number: u32) -> ConnectionId {
        let (now, peer) = (self.now, SessionPeer { tag, number }.address());
        let config = crate::Options::default().config_for(&peer);
        self.host(from).connect(now, peer, config).expect("a new one")
    }

    /// Connects host 1 to host 2, which must be listening. Returns both ends.
    pub(super) fn pair(&mut self) -> [ConnectionId; 2] {
        let client = self.connect(1, 2);
        self.run(Span::from_millis(100));
        [client, self.host(2).accept().expect("complete")]
    }

    pub(super) fn release(&mut self, host: u8, id: ConnectionId) {
        let now = self.now;
        self.host(host).release(now, id);
    }

    pub(super) fn send(&mut self, mut packet: Packet) {
        if !(self.passes)(&packet) {
            return;
        }
        (self.changes)(&mut packet);
        self.sent += 1;
        let doubled = self.sent.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        if doubled % 100 < self.doubles {
            let late = DELAY * (1 + doubled % 5);
            self.under_way.insert((self.now + late, self.sent), packet.clone());
            self.sent += 1;
        }
        self.under_way.insert((self.now + DELAY, self.sent), packet);
    }

    pub(super) fn run(&mut self, span: Span) {
        let end = self.now + span;
        loop {
            self.drain();
            let arrival = self.under_way.keys().next().map(|(time, _)| *time);
            let timers = self.hosts.values().filter_map(Endpoint::poll_timeout);
            let Some(next) = timers.chain(arrival).min().filter(|next| *next <= end) else { break };
            self.now = self.now.max(next);
            self.step();
        }
        self.now = end;
    }

    fn step(&mut self) {
        while let Some(entry) = self.under_way.first_entry()
            && entry.key().0 <= self.now
        {
            let Packet { from, to, ecn, bytes } = entry.remove();
            if let Some(host) = self.hosts.get_mut(&to) {
                host.handle_datagrams(self.now, from, ecn, &bytes, bytes.len());
            }
        }
        for host in self.hosts.values_mut() {
            if host.poll_timeout().is_some_and(|at| at <= self.now) {
                host.handle_timeout(self.now);
            }
        }
    }

    fn drain(&mut self) {
        let mut out = Vec::new();
        for address in self.hosts.keys().copied().collect::<Vec<_>>() {
            let host = self.hosts.get_mut(&address).expect("there");
            let mut packets = Vec::new();
            while let Some(datagrams) = host.poll_transmit(self.now, 44, &mut out) {
                let all = out[..datagrams.len].chunks(datagrams.size);
                packets.extend(all.map(|bytes| Packet {
                    from: address,
                    to: destination(&self.sessions, address, datagrams.peer),
                    ecn: datagrams.ecn,
                    bytes: bytes.to_vec(),
                }));
            }
            while let Some((id, event)) = host.poll_event() {
                self.events.push((address, id, event));
            }
            packets.into_iter().for_each(|packet| self.send(packet));
        }
    }

    /// Sends all of `data` from one end to the other, and returns what arrived.
    pub(super) fn transfer(
        &mut self,
        (from, sender): (u8, ConnectionId),
        (to, receiver): (u8, ConnectionId),
        data: &[u8],
    ) -> Vec<u8> {
        let (mut written, mut arrived) = (0, Vec::new());
        for _ in 0..100_000 {
            let stream = self.host(from).stream_mut(sender).expect("there");
            written += stream.write(&data[written..]).expect("open");
            self.run(Span::from_millis(5));
            arrived.extend(self.read(to, receiver).expect("open"));
            if arrived.len() >= data.len() {
                return arrived;
            }
        }
        panic!("{} of {} bytes after {}", arrived.len(), data.len(), self.now);
    }

    /// Reads all bytes that are available.
    pub(super) fn read(&mut self, host: u8, id: ConnectionId) -> Result<Vec<u8>, Error> {
        let stream = self.host(host).stream_mut(id).expect("there");
        let mut bytes = Vec::new();
        let mut chunk = [0; 4096];
        loop {
            match stream.read(&mut chunk) {
                Ok(0) => return Ok(bytes),
                Ok(taken) => bytes.extend_from_slice(&chunk[..taken]),
                Err(Error::Closed) if !bytes.is_empty() => return Ok(bytes),
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn state(&mut self, host: u8, id: ConnectionId) -> State {
        self.host(host).stream(id).expect("there").connection().state()
    }
}

/// Bytes without repeated sequences.
pub(super) fn pattern(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as u8).collect()
}
