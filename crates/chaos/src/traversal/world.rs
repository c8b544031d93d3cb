//! Two hosts, their networks and a rendezvous in virtual time.

use super::end::{ASKING, End, REGISTERED, key};
use super::liar::Liar;
use super::network::{Arrival, Network, PORT, Packet, dead_address, rendezvous_address};
use super::rendezvous::{Rendezvous, Sent};
use super::report::TraversalReport;
use super::setup::{Disturbance, Setup};
use super::streams::{StreamEvent, StreamId, Streams};
use std::net::SocketAddr;
use windlass_base::{Ecn, Rng, Span, Time};
use windlass_nat::theory::Outcome;
use windlass_tou::session::{Channel, Outgoing, Route};
use windlass_tou::wire::SessionPeer;

/// When the hosts begin. The agents' clock does not like times near zero.
const BEGIN: Time = Time::from_nanos(1_000_000_000);
/// The time from there until the first host asks for the session.
const START: Span = Span::from_secs(1);
/// The time until something that was not possible is tried again.
const RETRY: Span = Span::from_millis(500);
/// The time from the start until losses and tampering end.
const CALM: Span = Span::from_secs(60);
/// From the last loss, the last disturbance, or the beginning of the last connection, everything is
/// complete within this time, and the session has its best path. TCP alone may wait for a minute,
/// because the losses before have backed its timer off (RFC 6298 §5.5).
const BOUND: Span = Span::from_secs(90);
/// The length of a run with a rendezvous that lies, at most.
const LIES_LAST: Span = Span::from_secs(150);
/// Turns at one time. A host with a timer that is always due would stop the time.
const TURNS_MAX: u32 = 10_000;
/// The time within which an attempt without a chance ends with an error.
const ERROR_BOUND: Span = Span::from_secs(45);

pub(super) struct World<'a> {
    pub(super) now: Time,
    setup: &'a Setup,
    seed: u64,
    network: Network,
    streams: Streams,
    ends: [End; 2],
    rendezvous: Rendezvous,
    liar: Option<Liar>,
    restarts: u64,
    pending: Vec<(Time, Action)>,
    /// When the session was asked for.
    asked_at: Option<Time>,
    /// When the last connection was opened.
    opened_at: Time,
    opened: u32,
    /// Turns without progress of time.
    turns: u32,
    digest: u64,
    log: Option<&'a mut dyn FnMut(&str)>,
}

#[derive(Copy, Clone, Debug)]
enum Action {
    Connect,
    Open,
    Disturb(Disturbance),
    Calm,
}

impl<'a> World<'a> {
    pub(super) fn new(
        seed: u64,
        setup: &'a Setup,
        log: Option<&'a mut dyn FnMut(&str)>,
    ) -> World<'a> {
        // Seeds the identifiers that the ICE agent draws by itself.
        fastrand::seed(seed);
        let start = BEGIN + START;
        let mut pending = vec![(start, Action::Connect), (start + CALM, Action::Calm)];
        for number in 0..setup.connections {
            pending.push((start + setup.spacing * u64::from(number), Action::Open));
        }
        for (at, disturbance) in &setup.disturbances {
            pending.push((start + *at, Action::Disturb(*disturbance)));
        }
        pending.sort_by_key(|(at, _)| *at);
        pending.reverse();
        let mut world = World {
            now: BEGIN,
            setup,
            seed,
            network: Network::new(setup, seed),
            streams: Streams::new(setup, seed),
            ends: [ASKING, REGISTERED].map(|index| End::new(index, seed, setup.bytes)),
            rendezvous: Rendezvous::new(setup.ipv6, seed, 0),
            liar: setup.lying.then(|| Liar::new(seed)),
            restarts: 0,
            pending,
            asked_at: None,
            opened_at: start,
            opened: 0,
            turns: 0,
            digest: seed,
            log,
        };
        for (index, end) in world.ends.iter_mut().enumerate() {
            end.set_address(BEGIN, world.network.addresses[index]);
            if setup.dead_first {
                end.host.add_rendezvous(BEGIN, dead_address(setup.ipv6), None);
            }
            end.host.add_rendezvous(BEGIN, rendezvous_address(setup.ipv6), None);
        }
        world
    }

    fn note(&mut self, text: impl FnOnce() -> String) {
        if let Some(log) = &mut self.log {
            log(&format!("{} {}", self.now, text()));
        }
    }

    /// Runs until everything is complete.
    ///
    /// # Errors
    /// The first promise that is broken.
    pub(super) fn run(&mut self) -> Result<TraversalReport, String> {
        loop {
            self.settle()?;
            if self.is_over() {
                return Ok(self.report());
            }
            let next = self.next().max(self.now);
            if next > self.deadline() {
                return self.judge_end().map(|()| self.report());
            }
            self.turns = if next > self.now { 0 } else { self.turns + 1 };
            if self.turns > TURNS_MAX {
                return Err("the hosts do not come to rest".to_owned());
            }
            self.now = next;
            self.step();
        }
    }

    /// When everything must be complete.
    fn deadline(&self) -> Time {
        let disturbed = BEGIN + START + self.setup.last_disturbance();
        let bound = match self.setup.outcome() {
            Outcome::Impossible => ERROR_BOUND,
            _ => BOUND,
        };
        let lossy = match self.setup.loss > 0.0 {
            true => BEGIN + START + CALM,
            false => BEGIN,
        };
        let due = disturbed.max(self.opened_at).max(lossy) + bound;
        // With a rendezvous that lies, hosts may try again for ever.
        if self.setup.lying { due.min(BEGIN + LIES_LAST) } else { due }
    }

    fn next(&self) -> Time {
        let timers =
            self.ends.iter().flat_map(|end| [end.host.poll_timeout(), end.endpoint.poll_timeout()]);
        let pending = self.pending.last().map(|(at, _)| *at);
        let under_way = [self.network.next(), self.streams.next(), pending];
        let server = self.rendezvous.poll_timeout();
        timers.chain(under_way).flatten().fold(server, Time::min)
    }

    fn step(&mut self) {
        let now = self.now;
        while let Some((_, action)) = self.pending.pop_if(|(at, _)| *at <= now) {
            self.act(action);
        }
        while let Some(arrival) = self.network.arrive(now) {
            match arrival {
                Arrival::Rendezvous(packet) => self.rendezvous.handle(now, &packet),
                Arrival::Host(host, packet) => self.deliver(host, &packet),
            }
        }
        while let Some(event) = self.streams.poll_event(now) {
            self.handle_stream(event);
        }
        if self.rendezvous.poll_timeout() <= now {
            self.rendezvous.handle_timeout(now);
        }
        for end in &mut self.ends {
            if end.host.poll_timeout().is_some_and(|at| at <= now) {
                end.host.handle_timeout(now);
            }
            if end.endpoint.poll_timeout().is_some_and(|at| at <= now) {
                end.endpoint.handle_timeout(now);
            }
        }
    }

    fn schedule(&mut self, at: Time, action: Action) {
        let place = self.pending.partition_point(|(other, _)| *other > at);
        self.pending.insert(place, (at, action));
    }

    fn deliver(&mut self, host: usize, packet: &Packet) {
        let end = &mut self.ends[host];
        let bytes = &packet.bytes;
        if end.host.is_for_host(&packet.from, bytes) {
            let to = Some(packet.to.ip());
            let data = end.host.handle(self.now, Channel::Udp, to, packet.from, bytes);
            end.take_relayed(self.now, data);
        } else {
            let len = bytes.len();
            end.endpoint.handle_datagrams(self.now, packet.from, packet.ecn, bytes, len);
        }
    }

    fn handle_stream(&mut self, event: StreamEvent) {
        let now = self.now;
        match event {
            StreamEvent::Opened { host, id } => {
                self.note(|| format!("host {host} has stream {id}"));
                self.ends[host].host.stream_opened(now, self.setup.live(), id as usize);
            }
            StreamEvent::Refused { host } => self.note(|| format!("host {host} gets no stream")),
            StreamEvent::ToHost { host, id, bytes } => {
                let (channel, from) =
                    (Channel::Stream(id as usize), rendezvous_address(self.setup.ipv6));
                let end = &mut self.ends[host];
                let data = end.host.handle(now, channel, None, from, &bytes);
                end.take_relayed(now, data);
            }
            StreamEvent::ToRendezvous { id, from, bytes } => {
                self.rendezvous.handle_message(now, id, from, &bytes);
            }
            StreamEvent::ClosedAtHost { host, id } => {
                self.note(|| format!("host {host} loses stream {id}"));
                self.ends[host].host.stream_closed(now, self.setup.live(), id as usize);
            }
            StreamEvent::ClosedAtRendezvous { id } => self.rendezvous.stream_closed(now, id),
        }
    }

    fn act(&mut self, action: Action) {
        self.note(|| format!("{action:?}"));
        let now = self.now;
        match action {
            // The key must be known before another host can ask for it.
            Action::Connect
                if !self.ends[REGISTERED].is_registered
                    && self.setup.outcome() != Outcome::Impossible =>
            {
                self.schedule(now + RETRY, action);
            }
            Action::Connect => {
                let tag = self.ends[ASKING].host.connect(now, key(REGISTERED).public_key());
                self.ends[ASKING].tag = tag.ok();
                self.asked_at.get_or_insert(now);
            }
            Action::Open if self.ends[ASKING].tag.is_none() => self.schedule(now + RETRY, action),
            Action::Open => self.open(),
            Action::Calm => self.network.is_calm = true,
            Action::Disturb(disturbance) => self.disturb(disturbance),
        }
    }

    /// Opens a connection from one of the hosts; from the second one only if it knows the session.
    fn open(&mut self) {
        let shared = self.ends[ASKING].tag == self.ends[REGISTERED].tag;
        let from = usize::from(self.opened % 2 == 1 && shared);
        if self.ends[from].open(self.now) {
            self.opened += 1;
            self.opened_at = self.now;
        } else if self.setup.outcome() != Outcome::Impossible {
            self.schedule(self.now + RETRY, Action::Open);
        }
    }

    fn disturb(&mut self, disturbance: Disturbance) {
        let now = self.now;
        match disturbance {
            Disturbance::Reboot { host } => {
                self.network.reboot(host);
                for other in 0..2 {
                    if other == host || self.setup.together.is_some() {
                        self.streams.break_streams(now, other);
                    }
                }
            }
            Disturbance::Move { host } => {
                self.network.renumber(host);
                self.streams.break_streams(now, host);
                self.ends[host].set_address(now, self.network.addresses[host]);
            }
            Disturbance::RestartRendezvous => {
                self.restarts += 1;
                self.rendezvous = Rendezvous::new(self.setup.ipv6, self.seed, self.restarts);
                self.streams.reset_all(now);
            }
            Disturbance::Blackout { length } => {
                self.network.dark_until = self.network.dark_until.max(now + length);
            }
        }
    }

    /// Lets everything happen that happens at this time.
    fn settle(&mut self) -> Result<(), String> {
        let now = self.now;
        for host in 0..2 {
            self.ends[host].take_events(now)?;
            self.ends[host].run_application(now)?;
            for server in std::mem::take(&mut self.ends[host].wants_stream) {
                if server == self.setup.live() {
                    self.streams.open(now, self.network.dark_until, host);
                } else {
                    self.ends[host].host.stream_failed(now, server);
                }
            }
            for id in std::mem::take(&mut self.ends[host].unneeded_streams) {
                self.streams.close_by_host(now, self.network.dark_until, id);
            }
            self.restart_session(host)?;
            for _ in 0..std::mem::take(&mut self.ends[host].to_reopen) {
                self.schedule(now + RETRY, Action::Open);
            }
            self.transmit(host);
            for line in std::mem::take(&mut self.ends[host].notes) {
                self.note(|| format!("host {host}: {line}"));
            }
        }
        while let Some(sent) = self.rendezvous.poll_transmit() {
            self.send_of_server(sent);
        }
        Ok(())
    }

    fn send_of_server(&mut self, sent: Sent) {
        let own = rendezvous_address(self.setup.ipv6);
        match sent {
            Sent::Datagram(packet) => {
                let (from, to, len) = (packet.from.port(), packet.to, packet.bytes.len());
                self.note(|| format!("rendezvous port {from} sends {len} bytes to {to}"));
                // The relay forwards what it gets.
                for bytes in self.twist(packet.bytes.clone(), packet.from == own) {
                    self.network.send(self.now, None, Packet { bytes, ..packet.clone() });
                }
            }
            Sent::Message(id, bytes) => {
                self.note(|| format!("rendezvous sends {} bytes to stream {id}", bytes.len()));
                for bytes in self.twist(bytes, true) {
                    self.streams.send((self.now, self.network.dark_until), id, None, bytes);
                }
            }
        }
    }

    fn twist(&mut self, bytes: Vec<u8>, is_own: bool) -> Vec<Vec<u8>> {
        match self.liar.as_mut().filter(|_| is_own) {
            Some(liar) => liar.twist(bytes),
            None => vec![bytes],
        }
    }

    /// A session may end before it has a path, if the rendezvous restarts or the network is dark at
    /// that time. The application then asks again.
    fn restart_session(&mut self, host: usize) -> Result<(), String> {
        let Some(reason) = self.ends[host].closed.filter(|_| self.ends[host].tag.is_some()) else {
            return Ok(());
        };
        if self.setup.outcome() == Outcome::Impossible {
            return Ok(());
        }
        let attacked = self.setup.tampering > 0.0 || self.setup.lying;
        let explained = attacked || !self.setup.disturbances.is_empty();
        if !explained || (self.ends[host].first_byte.is_some() && !attacked) {
            return Err(format!("host {host} lost its session: {reason}"));
        }
        let unfinished = self.ends[host].forget_session();
        let at = self.now + RETRY;
        if host == ASKING {
            self.schedule(at, Action::Connect);
        }
        (0..unfinished).for_each(|_| self.schedule(at, Action::Open));
        self.opened_at = at;
        Ok(())
    }

    fn transmit(&mut self, host: usize) {
        let now = self.now;
        while let Some(outgoing) = self.ends[host].host.poll_transmit() {
            self.send_own(host, outgoing);
        }
        let mut buffer = Vec::new();
        while let Some(datagrams) = self.ends[host].endpoint.poll_transmit(now, 1, &mut buffer) {
            let Some(SessionPeer { tag, .. }) = SessionPeer::of(&datagrams.peer) else { continue };
            let bytes = buffer[..datagrams.len].to_vec();
            match self.ends[host].host.route(tag) {
                Some(Route::Direct { local, peer }) => {
                    let from = SocketAddr::new(local, PORT);
                    self.send(host, Packet { from, to: peer, ecn: datagrams.ecn, bytes });
                }
                Some(Route::Relayed) => {
                    if let Some(outgoing) = self.ends[host].host.wrap(now, tag, &bytes) {
                        self.send_own(host, outgoing);
                    }
                }
                None => self.note(|| format!("host {host} has no path for {} bytes", bytes.len())),
            }
        }
    }

    fn send_own(&mut self, host: usize, outgoing: Outgoing) {
        let Outgoing { channel, local, to, bytes, ttl } = outgoing;
        let ip = local.unwrap_or(self.network.addresses[host]);
        let from = SocketAddr::new(ip, PORT);
        match channel {
            Channel::Udp if ttl.is_some() => {
                self.note(|| format!("host {host} opens its NAT to {to}"));
                let packet = Packet { from, to, ecn: Ecn::NotEct, bytes };
                self.network.open_nat(self.now, host, &packet);
            }
            Channel::Udp => self.send(host, Packet { from, to, ecn: Ecn::NotEct, bytes }),
            Channel::Stream(stream) => {
                let times = (self.now, self.network.dark_until);
                self.note(|| format!("host {host} sends {} bytes to stream {stream}", bytes.len()));
                self.streams.send(times, stream as StreamId, Some(from), bytes);
            }
        }
    }

    fn send(&mut self, host: usize, packet: Packet) {
        let (now, len) = (self.now, packet.bytes.len() as u64);
        self.note(|| format!("host {host} sends {len} bytes to {}", packet.to));
        self.digest = Rng::new(self.digest ^ now.as_nanos() ^ len << 48).bits();
        // The kernel refuses an address that the host has lost.
        if packet.from.ip() == self.network.addresses[host] {
            self.network.send(now, Some(host), packet);
        }
    }

    /// Everything is complete, and the session has the path that theory promises.
    fn is_over(&self) -> bool {
        let disturbed = BEGIN + START + self.setup.last_disturbance();
        if self.now < disturbed {
            return false;
        }
        let complete = |end: &End| end.done == self.setup.connections;
        match self.setup.outcome() {
            Outcome::Impossible => self.ends[ASKING].closed.is_some(),
            Outcome::Direct => {
                self.ends.iter().all(|end| complete(end) && end.is_relayed() == Some(false))
            }
            Outcome::Relayed => self.ends.iter().all(complete),
        }
    }

    fn judge_end(&self) -> Result<(), String> {
        let [a, b] = &self.ends;
        // A rendezvous that lies, and whoever can change datagrams on the way, can deny service. Bytes and
        // peers were checked.
        if self.network.tampered > 0 || self.setup.lying {
            return Ok(());
        }
        let relayed = (a.is_relayed(), b.is_relayed());
        Err(match self.setup.outcome() {
            Outcome::Impossible => "an attempt without a chance did not end".to_owned(),
            outcome => format!(
                "{outcome:?} is possible, but {} and {} of {} connections are complete; \
                 {} and {} have failed; relayed: {relayed:?}; closed: {:?} and {:?}",
                a.done, b.done, self.setup.connections, a.failed, b.failed, a.closed, b.closed
            ),
        })
    }

    fn report(&self) -> TraversalReport {
        let [a, b] = &self.ends;
        let since_asked = |at: Time| self.asked_at.map(|asked| at.saturating_since(asked));
        TraversalReport {
            seed: self.seed,
            digest: self.digest,
            is_impossible: self.setup.outcome() == Outcome::Impossible,
            is_tampered: self.network.tampered > 0,
            is_lied_to: self.setup.lying,
            relayed: a.is_relayed(),
            first_byte: a.first_byte.and_then(since_asked),
            connections: u64::from(a.done.min(b.done)),
            datagrams: self.network.sent,
            lasted: self.now.saturating_since(BEGIN),
        }
    }
}
