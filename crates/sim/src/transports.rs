//! Endpoints of other transports on the hosts, and their timers. The event loop (`run`) passes datagrams and
//! timers to [`Transports`], which sends the datagrams that follow into the [`Network`].

use crate::apps::start_time;
use crate::endpoint::{Datagram, Endpoint, EndpointEvent, EndpointParams, Side};
use crate::event::Event;
use crate::model::{EndpointFlow, Scenario};
use crate::network::Network;
use crate::packet::{InFlight, Sink, Slot};
use crate::random_stream;
use crate::record::{Context, EndpointRecord, Recorder};
use windlass_base::{Span, Time};

/// The endpoints of a run.
#[derive(Debug)]
pub(crate) struct Transports {
    pairs: Vec<Pair>,
    /// The number of their first flow among all flows.
    first_flow: u32,
}

/// The two ends of a flow.
#[derive(Debug)]
struct Pair {
    ends: [End; 2],
    start: Time,
    started: bool,
    stop: Option<Time>,
    /// Counted as a flow that has finished.
    finished: bool,
}

#[derive(Debug)]
struct End {
    endpoint: Box<dyn Endpoint>,
    header_bytes: u32,
    /// When the pending timer event is due that counts; [`Time::MAX`] without one.
    armed: Time,
    /// The number of the next datagram.
    next: u64,
}

impl Transports {
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Transports {
        let pair = |(number, flow): (u32, &EndpointFlow)| {
            let mut rng = random_stream::endpoint_flow(seed, number);
            let start = start_time(flow.start, scenario.jitter, &mut rng);
            let end = |side: Side| {
                let endpoint = flow.ends[side.index()].build(EndpointParams {
                    side,
                    opens: side == flow.opens,
                    app: flow.app.clone(),
                    start,
                    rng: random_stream::endpoint(seed, number, side),
                });
                let header_bytes = endpoint.header_bytes();
                End { endpoint, header_bytes, armed: Time::MAX, next: 0 }
            };
            let stop = flow.stop.map(|stop| Time::ZERO + stop);
            Pair { ends: Side::BOTH.map(end), start, started: false, stop, finished: false }
        };
        let first_flow = (scenario.flows.len() + scenario.udp.len()) as u32;
        Transports { pairs: (0..).zip(&scenario.endpoints).map(pair).collect(), first_flow }
    }

    /// Schedules the starts and stops.
    pub(crate) fn schedule<R>(&self, cx: &mut Context<'_, R>) {
        for (number, pair) in (0..).zip(&self.pairs) {
            let end = Sink::datagram(number, Side::Sender.index()).endpoint();
            cx.events.schedule(pair.start, Event::Endpoint { end });
            if let Some(stop) = pair.stop {
                cx.events.schedule(stop.max(pair.start), Event::Endpoint { end });
            }
        }
    }

    /// An end starts, stops, or has a timer that is due.
    pub(crate) fn handle_timer<R: Recorder>(
        &mut self,
        now: Time,
        end: u32,
        network: &mut Network,
        cx: &mut Context<'_, R>,
    ) {
        let sink = Sink::from_endpoint(end);
        let pair = &mut self.pairs[sink.connection() as usize];
        if !pair.started && now == pair.start {
            pair.started = true;
            return self.start(now, sink, network, cx);
        }
        if sink.side() == Side::Sender.index() && pair.stop.is_some_and(|stop| stop <= now) {
            pair.stop = None;
            pair.ends[sink.side()].endpoint.stop(now);
            self.drain(now, sink, network, cx);
        }
        let end = &mut self.pairs[sink.connection() as usize].ends[sink.side()];
        if end.armed == now {
            end.armed = Time::MAX;
            if end.endpoint.poll_timeout().is_some_and(|due| due <= now) {
                end.endpoint.handle_timeout(now);
            }
            self.drain(now, sink, network, cx);
        }
    }

    /// Both ends start; the one that accepts is first.
    fn start<R: Recorder>(
        &mut self,
        now: Time,
        sink: Sink,
        network: &mut Network,
        cx: &mut Context<'_, R>,
    ) {
        for sink in [sink.other_end(), sink] {
            self.pairs[sink.connection() as usize].ends[sink.side()].endpoint.start(now);
        }
        for sink in [sink.other_end(), sink] {
            self.drain(now, sink, network, cx);
        }
    }

    /// A datagram reaches its end.
    #[inline(never)]
    pub(crate) fn handle_packet<R: Recorder>(
        &mut self,
        now: Time,
        slot: Slot,
        network: &mut Network,
        cx: &mut Context<'_, R>,
    ) {
        let payload = network.transit.packets.take_payload(slot);
        let packet = network.transit.packets.get(slot);
        let sink = packet.to;
        let end = &mut self.pairs[sink.connection() as usize].ends[sink.side()];
        record(sink, cx).receive(now, sink.side(), packet);
        let size = packet.wire_bytes.saturating_sub(end.header_bytes);
        let datagram = Datagram { payload, size, ecn: packet.run.ecn };
        cx.recorder.datagram_received(now, sink.connection() as usize, side(sink), &datagram);
        end.endpoint.handle_datagram(now, datagram);
        self.drain(now, sink, network, cx);
    }

    /// Drains a changed end: its datagrams, its events, its timer.
    fn drain<R: Recorder>(
        &mut self,
        now: Time,
        sink: Sink,
        network: &mut Network,
        cx: &mut Context<'_, R>,
    ) {
        loop {
            let sent = self.transmit(now, sink, network, cx);
            let happened = self.handle_events(now, sink, cx);
            if !sent && !happened {
                break;
            }
        }
        let pair = &mut self.pairs[sink.connection() as usize];
        let end = &mut pair.ends[sink.side()];
        if side(sink) == Side::Sender {
            let status = end.endpoint.status();
            if record(sink, cx).update(now, status) {
                cx.recorder.endpoint_status(now, sink.connection() as usize, &status);
            }
        }
        end.arm(now, sink, cx);
    }

    /// Sends what an end has to send; false if that is nothing.
    fn transmit<R: Recorder>(
        &mut self,
        now: Time,
        sink: Sink,
        network: &mut Network,
        cx: &mut Context<'_, R>,
    ) -> bool {
        let flow = self.first_flow + sink.connection();
        let to = sink.other_end();
        let end = &mut self.pairs[sink.connection() as usize].ends[sink.side()];
        let mut any = false;
        loop {
            let mut payload = Vec::new();
            let Some(transmit) = end.endpoint.poll_transmit(now, &mut payload) else {
                return any;
            };
            any = true;
            let packet = InFlight {
                to,
                flow,
                hop: network.first_hop(flow, sink.connection(), to.is_reverse()),
                wire_bytes: transmit.size + end.header_bytes,
                waited: Span::ZERO,
                run: InFlight::run_of_udp(transmit.ecn, end.next),
            };
            end.next += 1;
            record(sink, cx).send(sink.side(), packet.wire_bytes);
            cx.recorder.datagram_sent(
                now,
                sink.connection() as usize,
                side(sink),
                &transmit,
                &payload,
            );
            let slot = network.transit.packets.put_datagram(packet, payload);
            network.send(now, slot, cx);
        }
    }

    /// Passes on the events of an end; false if there are none.
    fn handle_events<R: Recorder>(
        &mut self,
        now: Time,
        sink: Sink,
        cx: &mut Context<'_, R>,
    ) -> bool {
        let pair = &mut self.pairs[sink.connection() as usize];
        let mut any = false;
        while let Some(event) = pair.ends[sink.side()].endpoint.poll_event() {
            any = true;
            record(sink, cx).event(now, side(sink), &event);
            cx.recorder.endpoint_event(now, sink.connection() as usize, side(sink), &event);
            let is_last = matches!(event, EndpointEvent::Finished | EndpointEvent::Failed { .. });
            if is_last && !pair.finished {
                pair.finished = true;
                cx.records.unfinished -= 1;
            }
        }
        any
    }

    /// Reads the counters of the ends at the end of the run.
    pub(crate) fn finish<R>(&self, end: Time, cx: &mut Context<'_, R>) {
        for (pair, record) in self.pairs.iter().zip(&mut cx.records.endpoints) {
            record.finish(end, pair.ends.each_ref().map(|end| end.endpoint.counters()));
        }
    }
}

impl End {
    /// Schedules an event for the timer. If it moves to a later time, the earlier event stays and
    /// does nothing.
    fn arm<R>(&mut self, now: Time, sink: Sink, cx: &mut Context<'_, R>) {
        let Some(due) = self.endpoint.poll_timeout() else { return };
        // A timer that does not move must not stop the clock.
        let due = due.max(now + Span::from_nanos(1));
        if due < self.armed {
            self.armed = due;
            cx.events.schedule(due, Event::Endpoint { end: sink.endpoint() });
        }
    }
}

fn side(sink: Sink) -> Side {
    Side::BOTH[sink.side()]
}

fn record<'a, R>(sink: Sink, cx: &'a mut Context<'_, R>) -> &'a mut EndpointRecord {
    &mut cx.records.endpoints[sink.connection() as usize]
}
