//! A run: two ends, the path between them, and virtual time. It ends when the connection is over,
//! or with the invariant that breaks.

use crate::accurate;
use crate::bound;
use crate::coalesce::coalesce;
use crate::congestion::Sender;
use crate::end::{End, Packet};
use crate::log::{Log, describe, describe_fate, describe_run};
use crate::network::{Due, Hop, Network};
use crate::path::Fate;
use crate::proxy::{Proxy, gained_ect};
use crate::repair::is_open;
use crate::report::{Ending, Report};
use crate::setup::{Opening, PathSetup, Setup};
use crate::watch::{Before, check_awake, check_state};
use windlass_base::{Ecn, Span, Time};
use windlass_tcp::{Error, Flags, Run, Segment, State};

/// More events than any seed has a reason for.
const MAX_STEPS: u64 = 3_000_000;
/// Runs that an end may send without time passing, all ACKs of a split included.
const MAX_RUNS_AT_ONCE: u32 = 20_000;
/// Timeouts of one end without time passing.
const MAX_TIMEOUTS_AT_ONCE: u32 = 4;

pub(crate) struct World<'a> {
    seed: u64,
    setup: &'a Setup,
    now: Time,
    ends: [End; 2],
    proxies: Vec<Proxy>,
    network: Network,
    sent: u64,
    log: Log<'a>,
}

impl<'a> World<'a> {
    pub(crate) fn new(seed: u64, setup: &'a Setup, log: Log<'a>) -> World<'a> {
        World {
            seed,
            setup,
            now: setup.start,
            ends: [End::new(setup, 0, seed), End::new(setup, 1, seed)],
            proxies: setup.proxies.iter().map(|proxy| Proxy::new(setup, proxy)).collect(),
            network: Network::new(setup, seed),
            sent: 0,
            log,
        }
    }

    /// When it broke, if it does.
    pub(crate) fn now(&self) -> Time {
        self.now
    }

    pub(crate) fn run(&mut self) -> Result<Report, String> {
        let deadline = bound::deadline(self.setup);
        for end in 0..2 {
            self.settle(end)?;
        }
        for _ in 0..MAX_STEPS {
            let Some(next) = self.next_time() else { return self.finish() };
            self.now = self.now.max(next);
            if self.now > deadline {
                return Err(format!("stalled: {} on a path that works", self.states()));
            }
            self.step()?;
        }
        Err(format!("no end after {MAX_STEPS} events: {}", self.states()))
    }

    fn next_time(&self) -> Option<Time> {
        let ends = self.ends.iter().filter_map(End::next_time);
        self.network.next_time().into_iter().chain(ends).min()
    }

    /// One thing that is due.
    fn step(&mut self) -> Result<(), String> {
        match self.network.take_due(self.now) {
            Some(Due::Arrival(hop)) => return self.arrive(hop),
            Some(Due::Look(end)) => return self.look(end),
            None => {}
        }
        for end in 0..2 {
            let due = self.ends[end].connection().poll_timeout().is_some_and(|at| at <= self.now);
            if due {
                return self.time_out(end);
            }
        }
        for end in 0..2 {
            if self.ends[end].app.next_time().is_some_and(|at| at <= self.now) {
                return self.settle(end);
            }
        }
        Ok(())
    }

    fn time_out(&mut self, index: usize) -> Result<(), String> {
        let (now, end) = (self.now, &mut self.ends[index]);
        let again = if end.last_timeout.0 == now { end.last_timeout.1 + 1 } else { 1 };
        if again > MAX_TIMEOUTS_AT_ONCE {
            return Err(format!("{}: its timer spins", name(index)));
        }
        end.last_timeout = (now, again);
        self.log.line(now, || {
            format!("{} timeout, RTO {}", name(index), self.ends[index].connection().rto())
        });
        self.expire(index)
    }

    fn expire(&mut self, index: usize) -> Result<(), String> {
        let end = &mut self.ends[index];
        let before = Before::of(end.stream.connection());
        let sender = Sender::of(end.stream.connection());
        end.stream.connection_mut().handle_timeout(self.now, &mut ());
        end.congestion.expired(&sender, end.stream.connection(), end.watch.sent());
        let checked = end.watch.expired(before, end.stream.connection());
        checked.map_err(|what| format!("{}: {what}", name(index)))?;
        self.settle(index)
    }

    fn arrive(&mut self, hop: Hop) -> Result<(), String> {
        let Hop { node, to, packet } = hop;
        if node > 0 && node <= self.proxies.len() {
            return self.pass_proxy(node, to, packet);
        }
        let end = &mut self.ends[to];
        let Some(gap) = end.coalesce else { return self.pass_to_end(to, &packet) };
        end.waiting.push(packet);
        if end.waiting.len() == 1 {
            self.network.look_at(self.now + gap, to);
        }
        Ok(())
    }

    /// An end takes what waited for being coalesced.
    fn look(&mut self, index: usize) -> Result<(), String> {
        let packets = coalesce(core::mem::take(&mut self.ends[index].waiting));
        packets.iter().try_for_each(|packet| self.pass_to_end(index, packet))
    }

    fn pass_proxy(&mut self, node: usize, to: usize, packet: Packet) -> Result<(), String> {
        let (now, proxy) = (self.now, &mut self.proxies[node - 1]);
        self.log
            .line(now, || format!("{} < {}", proxy.name(), describe(&packet.segment, packet.ecn)));
        let came = packet.clone();
        let onward = proxy.handle(now, to, packet);
        let onward = onward.map_err(|what| format!("{}: {what}", proxy.name()))?;
        self.check_confirmed(node, &came, &onward)?;
        for (to, packet) in onward {
            self.carry(node, to, packet);
        }
        Ok(())
    }

    /// A proxy sets ECT only for a far end that has agreed to ECN. With two proxies the far end of
    /// one is the other, whose state is not visible here. After a second SYN, which asks for no
    /// ECN, or when both ends open, the engine may decline ECN again after it has agreed: see docs/status.md.
    fn check_confirmed(
        &self,
        node: usize,
        came: &Packet,
        onward: &[(usize, Packet)],
    ) -> Result<(), String> {
        let proxy = &self.proxies[node - 1];
        let asks_once = proxy.syns == 1
            && self.setup.opening == Opening::Handshake
            && !(proxy.far_end() == 0 && self.setup.ends[0].config.ecn.fallback);
        if self.proxies.len() > 1 || !asks_once {
            return Ok(());
        }
        let far = self.ends[proxy.far_end()].connection();
        let open = matches!(far.state(), State::Established | State::CloseWait);
        let sets_ect =
            onward.iter().any(|(to, sent)| *to == proxy.far_end() && gained_ect(came, sent));
        if sets_ect && open && !far.ecn_negotiated() {
            return Err(format!("{}: ECT towards an end without ECN", proxy.name()));
        }
        Ok(())
    }

    fn pass_to_end(&mut self, index: usize, packet: &Packet) -> Result<(), String> {
        self.check_shown(index, packet).map_err(|what| format!("{}: {what}", name(index)))?;
        let (now, end) = (self.now, &mut self.ends[index]);
        self.log
            .line(now, || format!("{} < {}", name(index), describe(&packet.segment, packet.ecn)));
        let received = end.receive(now, packet, now >= self.setup.calm);
        received.map_err(|what| format!("{}: {what}", name(index)))?;
        self.settle(index)?;
        let end = &mut self.ends[index];
        if end.rng.chance(end.early_timeouts) {
            return self.expire(index);
        }
        Ok(())
    }

    /// Lets an end send, tells its application what happened, lets that act, until neither wants
    /// more; then checks what must hold.
    fn settle(&mut self, index: usize) -> Result<(), String> {
        let fail = |what| format!("{}: {what}", name(index));
        loop {
            self.transmit(index).map_err(fail)?;
            self.tell(index).map_err(fail)?;
            let (now, end) = (self.now, &mut self.ends[index]);
            if !end.app.act(now, &mut end.stream).map_err(fail)? {
                break;
            }
            self.log.line(now, || {
                let (written, read) = self.ends[index].app.progress();
                format!("{} application: wrote {written}, read {read}", name(index))
            });
        }
        self.check(index).map_err(fail)?;
        self.check_repair(index).map_err(fail)
    }

    /// Lost retransmissions of this end, and those that have arrived at its peer.
    fn check_repair(&mut self, index: usize) -> Result<(), String> {
        let end = &mut self.ends[index];
        end.repair.check(self.now, end.stream.connection(), end.watch.sacked())?;
        let (acked, open) = (end.connection().bytes_acked(), is_open(end.connection()));
        let peer = &mut self.ends[1 - index];
        let overdue = peer.repair.is_overdue(self.now, acked);
        if overdue && open && is_open(peer.connection()) && self.proxies.is_empty() {
            return Err(format!("{acked} bytes acknowledged, a retransmission has arrived since"));
        }
        Ok(())
    }

    fn check(&self, index: usize) -> Result<(), String> {
        let connection = self.ends[index].connection();
        check_state(connection)?;
        let sleep = connection.poll_timeout().map(|at| at.saturating_since(self.now));
        check_awake(connection, sleep)?;
        for (from, to) in [(0, 1), (1, 0)] {
            let peer_promise = self.ends[to].watch.promised;
            let (from, to) = (self.ends[from].connection(), self.ends[to].connection());
            let (acked, received) = (from.bytes_acked(), to.bytes_received());
            if received > 0 && received >= peer_promise {
                return Err(format!("{received} bytes taken, more than was promised"));
            }
            if acked > received || received > from.bytes_written() {
                let written = from.bytes_written();
                return Err(format!("{written} written, {received} received, {acked} acked"));
            }
        }
        Ok(())
    }

    fn tell(&mut self, index: usize) -> Result<(), String> {
        while let Some(event) = self.ends[index].stream.connection_mut().poll_event() {
            self.log.line(self.now, || format!("{} {event:?}", name(index)));
            self.ends[index].app.take_event(self.now, event)?;
            if let windlass_tcp::Event::Failed(error) = event {
                self.check_error(index, error)?;
            }
        }
        Ok(())
    }

    /// The path and the applications must explain an error.
    fn check_error(&self, index: usize, error: Error) -> Result<(), String> {
        let (end, peer) = (&self.ends[index], &self.ends[1 - index]);
        let peer_gone = peer.app.aborted
            || peer.failed().is_some()
            || (peer.connection().state() == State::Closed && end.exchanged_all(peer));
        let explained = match error {
            Error::Aborted => end.app.aborted,
            Error::TimedOut => end.may_time_out(self.now),
            Error::Reset | Error::Refused => peer_gone,
            _ => false,
        };
        if explained { Ok(()) } else { Err(format!("failed without a cause: {error}")) }
    }

    fn transmit(&mut self, index: usize) -> Result<(), String> {
        for _ in 0..MAX_RUNS_AT_ONCE {
            let (now, end) = (self.now, &mut self.ends[index]);
            let before = Before::of(end.stream.connection());
            let Some((run, payload)) = end.stream.poll_transmit(now, end.run_max, &mut ()) else {
                return Ok(());
            };
            let payload = payload.concat();
            if run.count > end.run_max {
                return Err(format!("a run of {}, {} were asked for", run.count, end.run_max));
            }
            let allowed = end.watch.probe_allowed;
            let checked = end.watch.run(before, &run, end.stream.connection());
            end.window_probes += u64::from(allowed && !end.watch.probe_allowed);
            if checked.is_err() {
                self.log.line(now, || format!("{} > {}", name(index), describe_run(&run)));
            }
            checked?;
            self.check_promise(index, &run)?;
            self.send_run(index, &run, &payload);
            if self.ends[index].asks_too_long() {
                return Err("does not give up".into());
            }
        }
        Err(format!("{MAX_RUNS_AT_ONCE} runs at once"))
    }

    /// Checks a packet behind the proxies: it claims no more than the peer has sent, and an end
    /// without ECN sees none.
    fn check_shown(&self, index: usize, packet: &Packet) -> Result<(), String> {
        if self.proxies.is_empty() {
            return Ok(());
        }
        let tells = packet.segment.flags.intersects(Flags::ECE | Flags::CWR);
        // A SYN passes as the far end sent it.
        let opens = packet.segment.flags & (Flags::SYN | Flags::ACK) == Flags::SYN;
        let marked = packet.ecn != Ecn::NotEct;
        let hidden = self.proxies.iter().any(|proxy| proxy.hides_ecn_from(index));
        if hidden && !opens && (tells || marked) {
            return Err("sees ECN that it did not ask for".into());
        }
        self.ends[1 - index].watch.check_shown(&packet.segment)
    }

    /// No data beyond what the peer ever promised to take, but for a probe.
    fn check_promise(&self, index: usize, run: &Run) -> Result<(), String> {
        let end = run.stream_offset + u64::from(run.count) * u64::from(run.first.payload_len);
        let promised = self.ends[1 - index].watch.promised;
        if run.first.payload_len > 1 && end >= promised {
            return Err(format!("sent to {end}, the peer promised to take {}", promised - 1));
        }
        Ok(())
    }

    fn send_run(&mut self, index: usize, run: &Run, payload: &[u8]) {
        let mut rest = payload;
        for segment in run.segments() {
            let (head, tail) = rest.split_at(segment.payload_len as usize);
            rest = tail;
            let packet = self.ends[index].packet(segment, head.to_vec(), run.ecn);
            self.send(index, Packet { again: run.retransmission, ..packet });
        }
    }

    fn send(&mut self, index: usize, packet: Packet) {
        self.sent += 1;
        let segment = packet.again.then_some(packet.segment).filter(|sent| sent.payload_len > 0);
        let fate = self.carry([0, self.proxies.len() + 1][index], 1 - index, packet);
        // Beyond a proxy it is not visible here what becomes of a packet.
        let lost = !matches!(fate, Fate::Arrives { corrupt: false, .. });
        if lost && self.proxies.is_empty() {
            let end = &mut self.ends[index];
            let range = segment.and_then(|sent| {
                let from = end.watch.position(sent.seq)?;
                Some(from..from + u64::from(sent.payload_len))
            });
            end.repair.lost(self.now, range, end.stream.connection());
        }
    }

    /// Onto the leg from `node` towards the end `to`.
    fn carry(&mut self, node: usize, to: usize, packet: Packet) -> Fate {
        let (now, segment, ecn) = (self.now, packet.segment, packet.ecn);
        let fate = self.network.carry(now, node, to, packet);
        self.log.line(now, || {
            let proxy = node.checked_sub(1).and_then(|before| self.proxies.get(before));
            let from = proxy.map_or(name(1 - to), Proxy::name);
            format!("{from} > {} {}", describe(&segment, ecn), describe_fate(fate))
        });
        self.fold(&segment, fate);
        fate
    }

    fn fold(&mut self, segment: &Segment, fate: Fate) {
        let at = match fate {
            Fate::Lost => 0,
            Fate::Arrives { at, .. } => at.as_nanos(),
        };
        self.log.fold(self.now.as_nanos());
        self.log.fold(at);
        self.log.fold(u64::from(segment.seq.0) << 32 | u64::from(segment.ack.0));
        self.log.fold(u64::from(segment.payload_len) << 32 | u64::from(segment.flags.bits()));
    }

    /// Nothing is left to happen.
    fn finish(&mut self) -> Result<Report, String> {
        let endings = [self.ending(0)?, self.ending(1)?];
        for proxy in &self.proxies {
            proxy.check_released().map_err(|what| format!("{}: {what}", proxy.name()))?;
            proxy.check_judgement().map_err(|what| format!("{}: {what}", proxy.name()))?;
        }
        self.check_samples()?;
        self.check_clean_path(&endings)?;
        accurate::check(self.setup, self.ends.each_ref().map(End::connection), &endings)?;
        Ok(Report {
            seed: self.seed,
            digest: self.log.digest(),
            endings,
            lasted: self.now.saturating_since(self.setup.start),
            packets: self.sent,
            bytes: self.ends.iter().map(|end| end.app.progress().1).sum(),
            window_probes: self.ends.iter().map(|end| end.window_probes).sum(),
            accurate: self.ends.iter().all(|end| end.connection().accurate_ecn().is_some()),
            stats: self.ends.each_ref().map(|end| *end.connection().stats()),
            proxies: self.proxies.iter().map(|proxy| proxy.counters().clone()).collect(),
        })
    }

    /// No sample of the RTT is less than the path's (RFC 6298 section 3; RFC 7323 section 4.1): none comes
    /// of a retransmission's ACK that answers the original, or of an ACK that a proxy has made.
    fn check_samples(&self) -> Result<(), String> {
        let legs = self.setup.legs.iter().flatten().map(PathSetup::shortest_delay);
        let path = legs.fold(Span::ZERO, |sum, leg| sum + leg);
        let short = |index: &usize| {
            // A coarse clock loses up to a tick.
            let tick = self.setup.ends[*index].config.timers.clock.tick;
            self.ends[*index].connection().min_rtt().is_some_and(|sample| sample + tick < path)
        };
        match (0..2).find(short) {
            Some(index) => {
                let sample = self.ends[index].connection().min_rtt().unwrap_or_default();
                Err(format!("{}: an RTT of {sample} on a path of {path}", name(index)))
            }
            None => Ok(()),
        }
    }

    /// Where nothing gets lost nothing is sent twice.
    fn check_clean_path(&self, endings: &[Ending; 2]) -> Result<(), String> {
        // The answers to zero-window probes may look like duplicate ACKs.
        let probed = self.ends.iter().any(|end| end.window_probes > 0);
        let orderly = *endings == [Ending::Closed; 2];
        if probed || !orderly || !bound::nothing_to_resend(self.setup) {
            return Ok(());
        }
        let resent = |end: &End| {
            let stats = end.connection().stats();
            // A zero-window probe is sent again by design.
            stats.timeouts + stats.fast_retransmits
        };
        match self.ends.iter().position(|end| resent(end) > 0) {
            None => Ok(()),
            Some(index) => {
                let stats = self.ends[index].connection().stats();
                Err(format!("{} resends on a path without losses: {stats:?}", name(index)))
            }
        }
    }

    fn ending(&self, index: usize) -> Result<Ending, String> {
        let (end, peer) = (&self.ends[index], &self.ends[1 - index]);
        match end.app.over {
            Some(Err(error)) => return Ok(Ending::Failed(error)),
            Some(Ok(())) => {
                let whole = end.app.at_end && end.app.progress().1 == peer.app.progress().0;
                let closed = end.connection().state() == State::Closed;
                if whole && closed {
                    return Ok(Ending::Closed);
                }
            }
            // An end without anything to send never learns that its peer is gone.
            None if (peer.failed().is_some() || peer.app.aborted) && !end.reset_in_calm => {
                return Ok(Ending::Abandoned);
            }
            None => {}
        }
        Err(format!("{} never ends: {}", name(index), self.states()))
    }

    fn states(&self) -> String {
        let state = |index: usize| {
            let (end, connection) = (&self.ends[index], self.ends[index].connection());
            format!(
                "{} is {:?}, wrote {} and got {} acknowledged, received {} and read {}",
                name(index),
                connection.state(),
                connection.bytes_written(),
                connection.bytes_acked(),
                connection.bytes_received(),
                end.app.progress().1,
            )
        };
        format!("{}; {}", state(0), state(1))
    }
}

pub(crate) fn name(index: usize) -> &'static str {
    ["A", "B"][index]
}
