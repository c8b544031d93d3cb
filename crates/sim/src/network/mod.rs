//! The network: channels, routes, and the middleboxes at its nodes. Hosts send packets into it. The
//! event loop passes it the events of packets, and delivers those that reach their destination.

mod captures;
mod chain;
mod cut;
mod early_delivery;
mod early_packets;
mod ecmp;
mod graph;
mod link;
mod numbering;
mod routes;
mod transit;

use crate::build_error::BuildError;
use crate::event::Event;
use crate::middlebox::Middlebox;
use crate::model::{Flow, LinkDirection, NodeId, Scenario};
use crate::packet::{Body, InFlight, Packet, Sink, Slot};
use crate::random_stream;
use crate::record::{Context, IdlePath, Recorder};
use crate::reported_queues::reported_queues;
use chain::Chain;
pub(crate) use cut::{Export, Exports};
use early_delivery::{Destination, EarlyDelivery};
use early_packets::EarlyPackets;
use ecmp::Ecmp;
pub(crate) use link::EarlyPacket;
use link::{Channel, Fate};
use routes::Routes;
use std::collections::VecDeque;
use transit::Transit;
use windlass_base::{Span, Time};
use windlass_tcp::Run;

const NO_CHAIN: u32 = u32::MAX;

/// Everything between the hosts.
#[derive(Debug)]
pub(crate) struct Network {
    channels: Vec<Channel>,
    routes: Routes,
    /// Where the path of each flow begins: forward and back.
    paths: Vec<[u32; 2]>,
    /// Paths by connection take the place of those by flow.
    ecmp: Option<Box<Ecmp>>,
    pub(crate) transit: Transit,
    chains: Vec<Chain>,
    /// The chain at the far end of each channel.
    chain_behind: Vec<u32>,
    /// Packets that reached their destination without a link: between two ends on one node, or from a
    /// middlebox on the destination's node.
    pub(crate) inbox: VecDeque<Slot>,
    /// Packets that may be delivered early to their destination.
    early: EarlyPackets,
    /// Packets that leave for other parts of the run.
    pub(crate) exports: Exports,
}

impl Network {
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Result<Network, BuildError> {
        let channels = build_channels(scenario, seed)?;
        let tcp = scenario.flows.iter().map(|flow| (&flow.name, flow.from, flow.to));
        let udp = scenario.udp.iter().map(|flow| (&flow.name, flow.from, flow.to));
        let first_udp = scenario.flows.len() as u32;
        let first_endpoint = first_udp + scenario.udp.len() as u32;
        let endpoints = scenario.endpoints.iter().map(|flow| (&flow.name, flow.from, flow.to));
        let mut network = Network {
            chain_behind: vec![NO_CHAIN; channels.len()],
            channels,
            routes: Routes::new(scenario),
            paths: vec![],
            ecmp: scenario.ecmp.then(|| Box::new(Ecmp::new(seed))),
            transit: Transit { first_udp, first_endpoint, ..Transit::default() },
            chains: vec![],
            inbox: VecDeque::new(),
            early: EarlyPackets::default(),
            exports: Exports::default(),
        };
        for (name, from, to) in tcp.chain(udp).chain(endpoints) {
            let path = network.routes.add_path(from, to);
            let back = network.routes.add_path(to, from);
            let (Some(path), Some(back)) = (path, back) else {
                return Err(BuildError::Unreachable { flow: name.clone() });
            };
            network.paths.push([path, back]);
            network.transit.hosts.push([from, to]);
        }
        network.allow_early_delivery(scenario);
        Ok(network)
    }

    /// Marks the hops from which packets are delivered early, to the next hop or to their destination.
    fn allow_early_delivery(&mut self, scenario: &Scenario) {
        let Network { routes, paths, channels, .. } = self;
        let can_deliver_early = |channel: u32| channels[channel as usize].can_deliver_early();
        // A channel's feeders are known only where a flow has one path.
        if !scenario.ecmp {
            routes.allow_early_delivery(paths.as_flattened(), can_deliver_early);
        }
        let first_endpoint = self.transit.first_endpoint as usize;
        let receiver_acts = |flow: usize| match scenario.flows.get(flow) {
            Some(flow) => flow.app.receiver_acts(),
            None => flow >= first_endpoint,
        };
        let early = EarlyDelivery::new(routes, paths, receiver_acts, channels.len());
        let mut allowed = vec![[false; 2]; paths.len()];
        for (flow, path) in paths.iter().enumerate() {
            let (forward, back) = match scenario.flows.get(flow) {
                Some(flow) if flow.app.receiver_acts() => (Destination::Other, Destination::Other),
                Some(flow) if sends_undisturbed(flow) => {
                    (Destination::Receiver, Destination::Sender)
                }
                Some(_) => (Destination::Receiver, Destination::Other),
                None if flow >= first_endpoint => (Destination::Other, Destination::Other),
                None => (Destination::UdpSink, Destination::Other),
            };
            for (way, (path, answers, destination)) in
                [(path[0], path[1], forward), (path[1], path[0], back)].into_iter().enumerate()
            {
                if let Some(last) = routes.last_hop(path)
                    && routes.channel(last).is_some_and(can_deliver_early)
                    && early.is_possible(routes, path, answers, destination)
                {
                    routes.deliver_early_at(last);
                    allowed[flow][way] = true;
                }
            }
        }
        if let Some(ecmp) = &mut self.ecmp {
            // All paths between two hosts with a single link each have the first and the last channel in
            // common, which no other path crosses.
            let is_leaf = |node: NodeId| routes.graph().leaving[node].len() == 1;
            for (allowed, ends) in allowed.iter_mut().zip(&self.transit.hosts) {
                *allowed = allowed.map(|allowed| allowed && ends.iter().all(|end| is_leaf(*end)));
            }
            ecmp.allow_early_delivery(allowed);
        }
    }

    /// Where packets of a connection in one direction start.
    pub(crate) fn first_hop(&mut self, flow: u32, connection: u32, reverse: bool) -> u32 {
        match &mut self.ecmp {
            None => self.paths[flow as usize][usize::from(reverse)],
            Some(ecmp) => {
                let ends = self.transit.ends(flow, connection, reverse);
                ecmp.path(&mut self.routes, (flow, reverse), ends)
            }
        }
    }

    /// The directions of links on a flow's path, or on one of its paths.
    pub(crate) fn directions(&self, flow: u32) -> impl Iterator<Item = LinkDirection> + '_ {
        self.routes.channels(self.paths[flow as usize][0]).map(numbering::direction)
    }

    /// Propagation delay of a flow's path and of the way back.
    pub(crate) fn round_trip(&self, flow: u32) -> Span {
        let [path, back] = self.paths[flow as usize];
        self.routes.delay(path) + self.routes.delay(back)
    }

    /// The path of a flow, as a transfer finds it that is alone. Of a rate over time it has the mean.
    pub(crate) fn idle_path(&self, scenario: &Scenario, flow: u32) -> IdlePath {
        let [path, back] = self.paths[flow as usize];
        let rates = self.directions(flow).filter_map(|way| scenario.channel(way).rate);
        IdlePath {
            forward: self.routes.delay(path),
            back: self.routes.delay(back),
            rate: rates.min(),
        }
    }

    pub(crate) fn channel(&self, direction: LinkDirection) -> &Channel {
        &self.channels[numbering::number(direction) as usize]
    }

    /// True if a channel has a policer.
    pub(crate) fn has_policer(&self) -> bool {
        self.channels.iter().any(|channel| channel.policed().is_some())
    }

    /// Adds a middlebox behind those on the node.
    pub(crate) fn add_middlebox(&mut self, node: NodeId, middlebox: Box<dyn Middlebox>) {
        let position = match self.chains.iter().position(|chain| chain.node == node) {
            Some(position) => position,
            None => self.add_chain(node),
        };
        self.chains[position].boxes.push(middlebox);
    }

    fn add_chain(&mut self, node: NodeId) -> usize {
        // A middlebox may send anything from its node at any time.
        self.routes.forbid_early_delivery();
        if let Some(ecmp) = &mut self.ecmp {
            ecmp.forbid_early_delivery();
        }
        let mut entries = Vec::with_capacity(self.paths.len() * 2);
        for (path, hosts) in self.paths.iter().zip(&self.transit.hosts) {
            for (begin, to) in path.iter().zip(hosts.iter().rev()) {
                let on_path = self.routes.hop_at(*begin, node);
                entries.push(on_path.or_else(|| self.routes.add_path(node, *to)));
            }
        }
        let number = self.chains.len();
        for (channel, chain) in (0..).zip(&mut self.chain_behind) {
            if self.routes.end_of(channel) == node {
                *chain = number as u32;
            }
        }
        self.chains.push(Chain::new(node, entries));
        number
    }

    /// A packet leaves its host.
    #[inline(always)]
    pub(crate) fn send<R: Recorder>(&mut self, now: Time, slot: Slot, cx: &mut Context<'_, R>) {
        let hop = self.transit.packets.get(slot).hop;
        self.pass_on(now, slot, hop, cx);
    }

    /// A packet leaves its host by the path that begins at `hop`, its present one.
    #[inline(always)]
    pub(crate) fn send_from<R: Recorder>(
        &mut self,
        now: Time,
        slot: Slot,
        hop: u32,
        cx: &mut Context<'_, R>,
    ) {
        self.pass_on(now, slot, hop, cx);
    }

    /// A packet arrives at the queue of the channel at `hop`, and at those of the channels behind it
    /// as far as it is delivered early. At its destination it goes to the inbox.
    #[inline(never)]
    fn pass_on<R: Recorder>(
        &mut self,
        mut now: Time,
        slot: Slot,
        mut hop: u32,
        cx: &mut Context<'_, R>,
    ) {
        loop {
            let present = self.routes.get(hop);
            let channel = present.number();
            // The number at the destination is that of no channel.
            let Some(offered) = self.channels.get_mut(channel as usize) else {
                return self.inbox.push_back(slot);
            };
            let arrival = offered.offer(now, slot, present.delivers_early(), &mut self.transit, cx);
            let Some(arrival) = arrival else { return };
            if arrival > cx.end {
                self.transit.packets.release(slot);
                return;
            }
            now = arrival;
            if present.ends_early_way() {
                if present.is_cut() {
                    self.export(channel, arrival, slot, cx);
                    return;
                }
                let since = cx.events.now();
                self.early.push(EarlyPacket { arrival, since, packet: slot, channel });
                return;
            }
            self.capture_arrival(now, channel, slot, cx);
            hop += 1;
            self.transit.packets.get_mut(slot).hop = hop;
        }
    }

    /// The next packet that may be delivered early to its destination. The caller decides: it calls
    /// [`Network::capture_early`] or [`Network::schedule_arrival`].
    #[inline]
    pub(crate) fn next_early(&mut self) -> Option<EarlyPacket> {
        self.early.pop()
    }

    /// True if all packets before this one on its last channel have been delivered.
    #[inline]
    pub(crate) fn is_next_to_arrive(&self, early: &EarlyPacket) -> bool {
        self.channels[early.channel as usize].is_empty()
    }

    /// Captures a packet that is delivered early to its destination.
    pub(crate) fn capture_early<R: Recorder>(&mut self, early: EarlyPacket, cx: &Context<'_, R>) {
        self.capture_arrival(early.arrival, early.channel, early.packet, cx);
    }

    /// Schedules the arrival of a packet that is not delivered early after all.
    pub(crate) fn schedule_arrival<R>(&mut self, early: EarlyPacket, cx: &mut Context<'_, R>) {
        self.channels[early.channel as usize].schedule_arrival(early, cx);
    }

    /// Captures a packet that reaches end `a` of its link.
    fn capture_arrival<R: Recorder>(
        &mut self,
        now: Time,
        channel: u32,
        slot: Slot,
        cx: &Context<'_, R>,
    ) {
        let direction = numbering::direction(channel);
        if direction.reverse && cx.recorder.wants_packets_of(direction) {
            self.transit.capture(now, direction, slot);
        }
    }

    /// The first packet in flight on a channel reaches the far end. Returns it if that is its
    /// destination.
    #[inline(always)]
    pub(crate) fn handle_arrival<R: Recorder>(
        &mut self,
        now: Time,
        channel: u32,
        cx: &mut Context<'_, R>,
    ) -> Option<Slot> {
        let arrival = self.channels[channel as usize].take_arrival(now, &mut self.transit, cx);
        let (slot, arrives) = arrival?;
        if arrives {
            return self.arrive(now, channel, slot, cx);
        }
        self.handle_mishap(now, channel, slot, cx);
        None
    }

    /// A packet is late, or lost.
    #[cold]
    fn handle_mishap<R>(&mut self, now: Time, channel: u32, slot: Slot, cx: &mut Context<'_, R>) {
        match self.channels[channel as usize].take_mishap() {
            Some(Fate::ArrivesLate(extra)) => {
                cx.events.schedule(now + extra, Event::Late { slot: slot.number() });
            }
            _ => {
                cx.records.lose(self.transit.packets.get(slot));
                self.transit.packets.release(slot);
            }
        }
    }

    /// A packet that was held back reaches the far end of its channel.
    pub(crate) fn handle_late<R: Recorder>(
        &mut self,
        now: Time,
        slot: Slot,
        cx: &mut Context<'_, R>,
    ) -> Option<Slot> {
        let hop = self.transit.packets.get(slot).hop;
        let channel = self.routes.channel(hop)?;
        self.arrive(now, channel, slot, cx)
    }

    #[inline(always)]
    fn arrive<R: Recorder>(
        &mut self,
        now: Time,
        channel: u32,
        slot: Slot,
        cx: &mut Context<'_, R>,
    ) -> Option<Slot> {
        self.capture_arrival(now, channel, slot, cx);
        let hop = &mut self.transit.packets.get_mut(slot).hop;
        *hop += 1;
        let hop = *hop;
        match self.chain_behind[channel as usize] {
            NO_CHAIN if self.routes.channel(hop).is_none() => Some(slot),
            NO_CHAIN => {
                self.pass_on(now, slot, hop, cx);
                None
            }
            chain => {
                self.pass_chain(now, chain, slot, cx);
                None
            }
        }
    }

    fn pass_chain<R: Recorder>(
        &mut self,
        now: Time,
        chain: u32,
        slot: Slot,
        cx: &mut Context<'_, R>,
    ) {
        let packet = self.transit.view(slot);
        let waited = self.transit.packets.get(slot).waited;
        if packet.flow >= self.transit.first_endpoint {
            let payload = self.transit.packets.take_payload(slot);
            self.chains[chain as usize].hold(&packet, payload);
        }
        self.transit.packets.release(slot);
        self.chains[chain as usize].pass(now, packet);
        // A packet that leaves in the direction of this one has its payload, and its waiting time.
        let kept = |out: &Packet| match (out.flow, out.reverse) == (packet.flow, packet.reverse) {
            true => waited,
            false => Span::ZERO,
        };
        self.send_from_chain(now, chain, kept, cx);
    }

    /// A timeout of a node's middleboxes is due.
    pub(crate) fn handle_middlebox<R: Recorder>(
        &mut self,
        now: Time,
        chain: u32,
        cx: &mut Context<'_, R>,
    ) {
        let middleboxes = &mut self.chains[chain as usize];
        if middleboxes.armed == now {
            middleboxes.armed = Time::MAX;
            middleboxes.handle_timeout(now);
            self.send_from_chain(now, chain, |_| Span::ZERO, cx);
        }
    }

    /// Sends the packets that a chain has put out; `waited` is the time that each waited before.
    fn send_from_chain<R: Recorder>(
        &mut self,
        now: Time,
        chain: u32,
        waited: impl Fn(&Packet) -> Span,
        cx: &mut Context<'_, R>,
    ) {
        for position in 0..self.chains[chain as usize].out.len() {
            let packet = self.chains[chain as usize].out[position];
            if let Some(on_its_way) = self.on_its_way(chain, &packet) {
                let waited = waited(&packet);
                let on_its_way = InFlight { waited, ..on_its_way };
                let slot = if on_its_way.to.is_datagram() {
                    let payload = self.chains[chain as usize].payload(&packet);
                    self.transit.packets.put_datagram(on_its_way, payload)
                } else {
                    self.transit.packets.put(on_its_way)
                };
                self.send(now, slot, cx);
            }
        }
        if let Some(due) = self.chains[chain as usize].arm(now) {
            cx.events.schedule(due, Event::Middlebox { chain });
        }
    }

    /// A packet that a chain sends; `None` if its destination cannot be reached.
    fn on_its_way(&mut self, chain: u32, packet: &Packet) -> Option<InFlight> {
        let hop = self.hop_from(chain, packet)?;
        let (to, run) = match packet.body {
            Body::Udp { frame, .. } => {
                let to = match packet.flow >= self.transit.first_endpoint {
                    true => Sink::datagram(packet.connection, usize::from(!packet.reverse)),
                    false => Sink::udp(packet.connection),
                };
                (to, InFlight::run_of_udp(packet.ecn, frame))
            }
            Body::Tcp(first) => {
                let run = Run { first, count: 1, ecn: packet.ecn, ..Run::default() };
                (Sink::tcp(packet.connection, usize::from(!packet.reverse)), run)
            }
        };
        let wire_bytes = packet.wire_bytes();
        Some(InFlight { to, flow: packet.flow, hop, wire_bytes, waited: Span::ZERO, run })
    }

    /// Where a packet goes on from the node of a chain.
    fn hop_from(&mut self, chain: u32, packet: &Packet) -> Option<u32> {
        let Chain { node, ref entries, .. } = self.chains[chain as usize];
        let entry = entries[packet.flow as usize * 2 + usize::from(packet.reverse)];
        if self.ecmp.is_none() {
            return entry;
        }
        let begin = self.first_hop(packet.flow, packet.connection, packet.reverse);
        self.routes.hop_at(begin, node).or(entry)
    }

    /// Passes the captured packets up to `now` to the recorder.
    pub(crate) fn show_captures<R: Recorder>(&mut self, now: Time, cx: &mut Context<'_, R>) {
        while let Some((at, direction, packet)) = self.transit.captures.next_until(now) {
            cx.recorder.packet(at, direction, &packet);
        }
    }

    /// Catches up with the end of the run.
    pub(crate) fn finish<R: Recorder>(&mut self, now: Time, cx: &mut Context<'_, R>) {
        for channel in &mut self.channels {
            channel.finish(now, &mut self.transit, cx);
        }
        self.show_captures(now, cx);
    }
}

/// True if only packets and timers act on the sender of a flow after its start, and the flow has only
/// one connection.
fn sends_undisturbed(flow: &Flow) -> bool {
    flow.stop.is_none() && !flow.app.acts_again()
}

fn build_channels(scenario: &Scenario, seed: u64) -> Result<Vec<Channel>, BuildError> {
    let steady_from = Time::ZERO + scenario.steady_from;
    let mut watched = vec![false; scenario.links.len() * 2];
    for direction in reported_queues(scenario) {
        watched[numbering::number(direction) as usize] = true;
    }
    let build = |number: u32| {
        let direction = numbering::direction(number);
        let link = &scenario.links[direction.link];
        let spec = if direction.reverse { &link.backward } else { &link.forward };
        let queue_rng = random_stream::queue(seed, number);
        let wire_rng = random_stream::wire(seed, number);
        let watched = watched[number as usize];
        let variation_rng = random_stream::variation(seed, number);
        Channel::new(direction, spec, queue_rng, wire_rng, variation_rng, steady_from, watched)
            .map_err(|error| BuildError::Queue { link: link.name.clone(), error })
    };
    (0..scenario.links.len() as u32 * 2).map(build).collect()
}
