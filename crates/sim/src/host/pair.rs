//! Both ends of a connection: their segments, their events, and the messages between their applications.

use super::endpoint::Endpoint;
use super::open::both_ends;
use super::{RECEIVER, RUN_MAX, SENDER, settle};
use crate::apps::{Carries, Exchange, Sources, Writer};
use crate::model::Flow;
use crate::network::Network;
use crate::packet::{IPV4_HEADER_BYTES, InFlight, Sink, Slot};
use crate::record::{Completion, Context, FlowTap, Recorder};
use windlass_base::{Ecn, Rng, Span, Time};
use windlass_tcp::{Event as TcpEvent, Run, Segment, State};

/// A TCP header without options, in bytes.
const TCP_HEADER_BYTES: u32 = 20;
/// The timestamps option of each segment, padded, in bytes.
const TIMESTAMPS_BYTES: u32 = 12;

/// Both ends of a connection.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) flow: u32,
    number: u32,
    pub(super) ends: [Endpoint; 2],
    writers: [Writer; 2],
    /// The bytes of the sender's stream, if it has an end.
    size: Option<u64>,
    /// The present request and its response, if the connection carries such.
    exchange: Option<Exchange>,
    /// Bytes of the present request that the sender still awaits, and of the response that the receiver does.
    awaited: [u64; 2],
    /// When the present transfer began: with the opening, or with its request.
    begun: Time,
    /// The present transfer is the first.
    new: bool,
    handshake: bool,
    /// The flow has several connections at a time.
    concurrent: bool,
    /// The flow's connections come and go.
    brief: bool,
    /// The receiver has the last byte, or the connection failed.
    done: bool,
}

impl Pair {
    /// The next connection of a flow. `first_hops` are those of the sender and of the receiver.
    pub(super) fn open(
        now: Time,
        number: u32,
        flow: u32,
        spec: &Flow,
        carries: Carries,
        first_hops: [u32; 2],
        rng: &mut Rng,
    ) -> Box<Pair> {
        let (writers, exchange) = match carries {
            Carries::Stream(bytes) => ([Writer::of(bytes), Writer::waiting()], None),
            Carries::Writes(bytes) => ([Writer::giving(bytes), Writer::waiting()], None),
            Carries::Exchanges(first) => {
                ([Writer::waiting(), Writer::giving(first.request)], Some(first))
            }
        };
        let end = |connection, side: usize| Endpoint {
            connection,
            armed: Time::MAX,
            first_hop: first_hops[side],
            flow,
        };
        let [sender, receiver] = both_ends(now, spec, exchange.is_some(), rng);
        let mut pair = Box::new(Pair {
            flow,
            number,
            ends: [end(sender, SENDER), end(receiver, RECEIVER)],
            writers,
            size: if let Carries::Stream(bytes) = carries { bytes } else { None },
            exchange,
            awaited: exchange.map_or([0; 2], |exchange| [exchange.request, exchange.response]),
            begun: now,
            new: true,
            handshake: spec.handshake,
            concurrent: spec.app.is_concurrent(),
            brief: spec.app.has_sizes(),
            done: false,
        });
        if exchange.is_none() {
            pair.ends[RECEIVER].connection.discard_incoming();
        }
        if !matches!(carries, Carries::Stream(_)) {
            // Such programs disable Nagle's algorithm: the end of a message would wait for the delayed ACK
            // of its beginning (RFC 9293 §3.7.4).
            pair.ends.iter_mut().for_each(|end| end.connection.set_nagle(false));
        }
        pair
    }

    pub(super) fn handle_segment<R: Recorder, const SIDE: usize>(
        &mut self,
        now: Time,
        segment: &Segment,
        ecn: Ecn,
        cx: &mut Context<'_, R>,
    ) {
        let Endpoint { flow, connection, .. } = &mut self.ends[SIDE];
        if SIDE == SENDER && self.concurrent {
            let flow = *flow as usize;
            cx.records.flows[flow].resume(connection);
            cx.recorder.connection_resumed(now, flow, connection);
        }
        match SIDE {
            SENDER => connection.handle_segment(now, segment, ecn, &mut tap(*flow, cx)),
            _ => connection.handle_segment(now, segment, ecn, &mut ()),
        };
    }

    pub(super) fn handle_timeout<R: Recorder>(
        &mut self,
        now: Time,
        side: usize,
        cx: &mut Context<'_, R>,
    ) {
        let connection = &mut self.ends[side].connection;
        match side {
            SENDER => connection.handle_timeout(now, &mut tap(self.flow, cx)),
            _ => connection.handle_timeout(now, &mut ()),
        }
    }

    /// Sends the endpoint's segments. The engine builds each one in the slot in which it travels.
    #[inline(always)]
    pub(super) fn transmit<R: Recorder, const SIDE: usize>(
        &mut self,
        now: Time,
        number: u32,
        network: &mut Network,
        cx: &mut Context<'_, R>,
    ) {
        loop {
            let slot = network.transit.packets.allocate();
            let packet = network.transit.packets.get_mut(slot);
            let Endpoint { flow, first_hop, connection, .. } = &mut self.ends[SIDE];
            let run = &mut packet.run;
            let any = match SIDE {
                SENDER => connection.poll_transmit_into(now, RUN_MAX, &mut tap(*flow, cx), run),
                _ => connection.poll_transmit_into(now, RUN_MAX, &mut (), run),
            };
            if !any {
                network.transit.packets.release(slot);
                return;
            }
            let (count, is_last) = (run.count, run.is_last);
            packet.to = Sink::tcp(number, SIDE).other_end();
            packet.flow = *flow;
            packet.hop = *first_hop;
            packet.waited = Span::ZERO;
            if count == 1 {
                packet.wire_bytes = IPV4_HEADER_BYTES + run.first.wire_bytes();
                network.send_from(now, slot, *first_hop, cx);
            } else {
                send_several(now, slot, network, cx);
            }
            if is_last {
                debug_assert!(connection.poll_transmit(now, 1, &mut ()).is_none(), "the last run");
                return;
            }
        }
    }

    /// Answers a packet for a closed endpoint.
    #[cold]
    pub(super) fn reply<R: Recorder>(
        &self,
        now: Time,
        from: Sink,
        first: Segment,
        network: &mut Network,
        cx: &mut Context<'_, R>,
    ) {
        let slot = network.transit.packets.put(InFlight {
            to: from.other_end(),
            flow: self.flow,
            hop: self.ends[from.side()].first_hop,
            wire_bytes: IPV4_HEADER_BYTES + first.wire_bytes(),
            waited: Span::ZERO,
            run: Run { first, count: 1, ..Run::default() },
        });
        network.send(now, slot, cx);
    }

    /// Lets the applications handle the endpoint's events; false if there are none.
    #[inline(always)]
    pub(super) fn handle_events<R: Recorder, const SIDE: usize>(
        &mut self,
        now: Time,
        sources: &mut Sources,
        cx: &mut Context<'_, R>,
    ) -> bool {
        let mut any = false;
        while let Some(event) = self.ends[SIDE].connection.poll_event() {
            any = true;
            match event {
                TcpEvent::Writable => self.fill(now, SIDE),
                _ => self.handle_rare_event(now, SIDE, event, sources, cx),
            }
        }
        any
    }

    /// Handles the events of messages, and those at the beginning and the end of a connection.
    fn handle_rare_event<R: Recorder>(
        &mut self,
        now: Time,
        side: usize,
        event: TcpEvent,
        sources: &mut Sources,
        cx: &mut Context<'_, R>,
    ) {
        match (event, side) {
            (TcpEvent::Connected, SENDER) => {
                let flow = self.flow as usize;
                let connection = &self.ends[SENDER].connection;
                cx.records.flows[flow].connection_established(connection);
                cx.recorder.connection_established(now, flow, connection);
                self.fill(now, SENDER);
            }
            (TcpEvent::Connected, _) if self.exchange.is_some() => self.fill(now, RECEIVER),
            (TcpEvent::Readable, _) if self.exchange.is_some() => {
                self.read(now, side, sources, cx);
            }
            (TcpEvent::PeerClosed, RECEIVER) => {
                self.ends[RECEIVER].connection.close(now);
                self.end(now, true, sources, cx);
            }
            (TcpEvent::PeerClosed, _) if self.exchange.is_some() => {
                self.writers[SENDER].stop();
                self.fill(now, SENDER);
            }
            (TcpEvent::Failed(_), _) if side == SENDER || self.exchange.is_some() => {
                self.end(now, false, sources, cx);
            }
            _ => {}
        }
    }

    /// Lets one side write as much as its connection takes.
    fn fill(&mut self, now: Time, side: usize) {
        self.writers[side].fill(now, &mut self.ends[side].connection);
    }

    /// Without a handshake, both ends write at once.
    pub(super) fn begin(&mut self, now: Time) {
        self.fill(now, SENDER);
        if self.exchange.is_some() {
            self.fill(now, RECEIVER);
        }
    }

    /// The receiver sends its next request.
    pub(super) fn ask(&mut self, now: Time, exchange: Exchange) {
        self.exchange = Some(exchange);
        self.awaited = [exchange.request, exchange.response];
        self.begun = now;
        self.new = false;
        self.writers[RECEIVER].add(exchange.request);
        self.fill(now, RECEIVER);
    }

    /// The sender writes more.
    pub(super) fn write(&mut self, now: Time, bytes: u64) {
        self.writers[SENDER].add(bytes);
        self.fill(now, SENDER);
    }

    /// The application closes the connection. Returns the side that does so.
    pub(super) fn close(&mut self, now: Time) -> usize {
        let side = if self.exchange.is_some() { RECEIVER } else { SENDER };
        self.writers[side].stop();
        self.fill(now, side);
        side
    }

    /// One side reads what has arrived: parts of a request or of a response.
    fn read<R: Recorder>(
        &mut self,
        now: Time,
        side: usize,
        sources: &mut Sources,
        cx: &mut Context<'_, R>,
    ) {
        let connection = &mut self.ends[side].connection;
        let read = connection.read(u64::MAX).unwrap_or(0);
        let awaited = &mut self.awaited[side];
        if *awaited == 0 || read < *awaited {
            *awaited = awaited.saturating_sub(read);
            return;
        }
        *awaited = 0;
        match (side, self.exchange) {
            (SENDER, Some(exchange)) => self.write(now, exchange.response),
            (_, Some(exchange)) => {
                self.complete(now, exchange.response, cx);
                sources.of(self.flow).response_done(now, self.number);
                settle(now, self.flow, sources, cx);
            }
            _ => {}
        }
    }

    /// A transfer of so many bytes has arrived.
    fn complete<R: Recorder>(&mut self, now: Time, bytes: u64, cx: &mut Context<'_, R>) {
        let connection = &self.ends[SENDER].connection;
        let timestamps = if connection.timestamps_negotiated() { TIMESTAMPS_BYTES } else { 0 };
        let completion = Completion {
            begun: self.begun,
            bytes,
            mss: connection.mss(),
            header_bytes: IPV4_HEADER_BYTES + TCP_HEADER_BYTES + timestamps,
            handshake: self.new && self.handshake,
            asked: self.exchange.is_some(),
        };
        cx.records.flows[self.flow as usize].transfer_done(now, &completion);
        cx.recorder.transfer_done(now, self.flow as usize, self.begun, bytes);
    }

    /// The receiver has all data, or an end has failed.
    fn end<R: Recorder>(
        &mut self,
        now: Time,
        complete: bool,
        sources: &mut Sources,
        cx: &mut Context<'_, R>,
    ) {
        if self.done {
            return;
        }
        self.done = true;
        if !complete {
            // A connection may also fail between two requests, or while it closes behind the last one.
            if self.exchange.is_none() || self.awaited[RECEIVER] > 0 {
                cx.records.flows[self.flow as usize].transfer_failed(self.begun);
            }
            self.forget_listeners(now);
        } else if let Some(bytes) = self.size
            && self.writers[SENDER].wrote_all()
        {
            self.complete(now, bytes, cx);
        }
        sources.of(self.flow).connection_done(now, self.number);
        settle(now, self.flow, sources, cx);
    }

    /// An end that still listens has no part in a connection that has failed.
    fn forget_listeners(&mut self, now: Time) {
        let listens = |end: &&mut Endpoint| end.connection.state() == State::Listen;
        let brief = self.brief;
        let listening = self.ends.iter_mut().filter(|end| brief && listens(end));
        listening.for_each(|end| end.connection.close(now));
    }

    /// True if the receiver has all data, or an end has failed.
    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// True if both ends are closed. Checks the end that changed first, since it is in the cache. Of
    /// connections that come and go an end in TIME-WAIT counts as closed: it keeps its memory for a
    /// minute, and all that it could do is to answer a FIN again.
    pub(super) fn is_over(&self, changed: usize) -> bool {
        let is_closed = |side: usize| match self.ends[side].connection.state() {
            State::Closed => true,
            State::TimeWait => self.brief,
            _ => false,
        };
        is_closed(changed) && is_closed(1 - changed)
    }
}

/// Sends a run of several segments that shares one slot.
#[cold]
fn send_several<R: Recorder>(
    now: Time,
    slot: Slot,
    network: &mut Network,
    cx: &mut Context<'_, R>,
) {
    let all = *network.transit.packets.get(slot);
    network.transit.packets.release(slot);
    for first in all.run.segments() {
        let wire_bytes = IPV4_HEADER_BYTES + first.wire_bytes();
        let run = Run { first, count: 1, ..all.run };
        let slot = network.transit.packets.put(InFlight { wire_bytes, run, ..all });
        network.send(now, slot, cx);
    }
}

fn tap<'a, R>(flow: u32, cx: &'a mut Context<'_, R>) -> FlowTap<'a, R> {
    let flow = flow as usize;
    FlowTap { flow, record: &mut cx.records.flows[flow], recorder: cx.recorder }
}
