//! An ECN proxy on the path, and the invariants that it must keep.

use crate::end::Packet;
use crate::ensure::ensure;
use crate::setup::{Opening, ProxySetup, Setup};
use crate::watch::PORTS;
use windlass_base::{Ecn, Time};
use windlass_ecn_proxy_core::{Policy, SenderPolicy};
use windlass_sim::packet::{self, Address, Body};
use windlass_sim::summary::EcnProxyCounters;
use windlass_sim::{EcnProxy, Middlebox};
use windlass_tcp::{Flags, Segment, SeqNumber};

pub(crate) struct Proxy {
    middlebox: EcnProxy,
    policy: Policy,
    /// The end that it serves.
    served: usize,
    /// The proxy must not touch the connection: it began before the proxy saw it, or the end requests
    /// ECN itself and has not fallen back to a SYN or SYN-ACK without ECN.
    leaves_alone: bool,
    /// The proxy must hide ECN: it saw the connection begin, and the end has no ECN.
    hides: bool,
    /// The highest number that the far end acknowledged here.
    far_ack: Option<SeqNumber>,
    /// The sequence number after the highest that the host sent through here.
    host_sent: Option<SeqNumber>,
    /// SYNs without ACK that came here.
    pub(crate) syns: u32,
    passed: Vec<packet::Packet>,
}

impl Proxy {
    pub(crate) fn new(setup: &Setup, own: &ProxySetup) -> Proxy {
        let asks = setup.ends[own.served].config.ecn.enabled;
        let older = setup.opening == Opening::Established;
        Proxy {
            middlebox: EcnProxy::new(own.policy, &[own.served]),
            policy: own.policy,
            served: own.served,
            leaves_alone: older || asks,
            hides: !older && !asks,
            far_ack: None,
            host_sent: None,
            syns: 0,
            passed: Vec::new(),
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        ["proxy of A", "proxy of B"][self.served]
    }

    /// The end on the other side.
    pub(crate) fn far_end(&self) -> usize {
        1 - self.served
    }

    pub(crate) fn counters(&self) -> &EcnProxyCounters {
        self.middlebox.counters()
    }

    /// Whether `end` must see no ECN. Late packets of a closed connection are exempt. So is a connection
    /// whose plain SYN overtook the first one: the answer has no ECN, and the proxy bypasses the
    /// connection even if the far end accepts the first SYN later.
    pub(crate) fn hides_ecn_from(&self, end: usize) -> bool {
        let counters = self.counters();
        let overtaken = counters.fallbacks > 0 && counters.bypassed > 0;
        self.hides && self.served == end && counters.closed == 0 && !overtaken
    }

    /// Passes a packet on its way to end `to` through the proxy. Returns the resulting packets and the
    /// end that each goes to.
    pub(crate) fn handle(
        &mut self,
        now: Time,
        to: usize,
        packet: Packet,
    ) -> Result<Vec<(usize, Packet)>, String> {
        let kept_back = self.counters().kept_back;
        let opens = packet.segment.flags & (Flags::SYN | Flags::ACK) == Flags::SYN;
        self.syns += u32::from(opens);
        self.middlebox.handle_packet(now, as_simulated(to, &packet), &mut self.passed);
        let mut onward = Vec::with_capacity(self.passed.len());
        for passed in self.passed.drain(..) {
            let Body::Tcp(segment) = passed.body else { return Err("TCP no more".into()) };
            onward.push((passed.destination.node, made_of(&packet, to, &passed, segment)));
        }
        let plain = !packet.segment.flags.intersects(Flags::ECE | Flags::CWR);
        if to != self.served && packet.segment.flags.contains(Flags::SYN) && plain {
            self.leaves_alone = false;
        }
        if to == self.served {
            self.check_to_host(&packet, &onward)?;
        } else {
            let kept_back = self.counters().kept_back > kept_back;
            self.check_from_host(&packet, &onward, kept_back)?;
        }
        let untouched = onward.len() == 1 && is_same(&onward[0].1, &packet);
        ensure!(untouched || !self.leaves_alone, "touched what is not for it");
        Ok(onward)
    }

    fn check_to_host(&mut self, came: &Packet, onward: &[(usize, Packet)]) -> Result<(), String> {
        let dropped_data = onward.is_empty() && came.segment.sequence_len() > 0;
        ensure!(!dropped_data, "dropped data of the far end");
        if came.segment.flags.contains(Flags::ACK) {
            let ack = came.segment.ack;
            self.far_ack = Some(self.far_ack.map_or(ack, |before| later(before, ack)));
        }
        for (to, shown) in onward {
            ensure!(*to == self.served, "sent the far end a packet of its own");
            self.check_ack(&shown.segment)?;
        }
        Ok(())
    }

    /// `kept_back` says that the proxy absorbed a retransmission of data that the far end has.
    fn check_from_host(
        &mut self,
        came: &Packet,
        onward: &[(usize, Packet)],
        kept_back: bool,
    ) -> Result<(), String> {
        let answered = onward.iter().any(|(to, _)| *to == self.served);
        let drops = self.policy.sender == SenderPolicy::Drop && came.segment.payload_len > 0;
        let may_drop = drops || kept_back;
        ensure!(!onward.is_empty() || may_drop, "dropped a packet of the host");
        for (to, sent) in onward {
            if *to == self.served {
                self.check_ack(&sent.segment)?;
                continue;
            }
            ensure!(!answered, "answered a packet and sent it on");
            let new_ect = sent.ecn != came.ecn;
            ensure!(!new_ect || sent.ecn == Ecn::Ect0, "set {:?}", sent.ecn);
            ensure!(!new_ect || sent.segment.payload_len > 0, "ECT without data");
            let forbidden = self.policy.sender == SenderPolicy::NoEct;
            ensure!(!new_ect || !forbidden, "ECT against the policy");
            // RFC 3168 §6.1.5.
            let end = sent.segment.seq.at(u64::from(sent.segment.sequence_len()));
            let sent_before = self.host_sent.is_some_and(|before| later(before, end) == before);
            ensure!(!new_ect || !sent_before, "ECT on a retransmission");
            if sent.segment.payload_len > 0 {
                self.host_sent = Some(self.host_sent.map_or(end, |before| later(before, end)));
            }
        }
        Ok(())
    }

    /// Every controller of the engine slows down for a loss, so the proxy may judge none not to.
    pub(crate) fn check_judgement(&self) -> Result<(), String> {
        let kept = self.counters().flight_kept;
        ensure!(
            !self.middlebox.distrusts(),
            "a sender that slows down lost ECT: {kept} flights kept"
        );
        Ok(())
    }

    /// Every virtual loss must have ended when its connection has.
    pub(crate) fn check_released(&self) -> Result<(), String> {
        let counters = self.counters();
        let open = counters.virtual_losses - counters.released;
        ensure!(counters.closed == 0 || open == 0, "{open} virtual losses never end");
        Ok(())
    }

    /// No ACK number may exceed the highest one of the far end.
    fn check_ack(&self, shown: &Segment) -> Result<(), String> {
        let ahead = self.far_ack.is_none_or(|said| later(said, shown.ack) != said);
        let acknowledges = shown.flags.contains(Flags::ACK);
        ensure!(!acknowledges || !ahead, "ACK {} ahead of the far end's", shown.ack);
        Ok(())
    }
}

/// Whether a packet left with ECT(0) that arrived without.
pub(crate) fn gained_ect(came: &Packet, sent: &Packet) -> bool {
    sent.ecn == Ecn::Ect0 && came.ecn != Ecn::Ect0
}

fn later(a: SeqNumber, b: SeqNumber) -> SeqNumber {
    if (b.0.wrapping_sub(a.0) as i32) > 0 { b } else { a }
}

fn is_same(a: &Packet, b: &Packet) -> bool {
    (&a.segment, a.ecn, a.payload.len()) == (&b.segment, b.ecn, b.payload.len())
}

fn as_simulated(to: usize, packet: &Packet) -> packet::Packet {
    let address = |node: usize| Address { node, port: PORTS.source };
    packet::Packet {
        flow: 0,
        connection: 0,
        reverse: to == 0,
        source: address(1 - to),
        destination: address(to),
        ecn: packet.ecn,
        body: Body::Tcp(packet.segment),
    }
}

/// A packet that left the proxy for `came`: the packet itself, an ACK beside it, or an answer.
fn made_of(came: &Packet, to: usize, passed: &packet::Packet, segment: Segment) -> Packet {
    let itself = passed.destination.node == to && segment.seq == came.segment.seq;
    let payload = if segment.payload_len > 0 { came.payload.clone() } else { Vec::new() };
    let answer = passed.destination.node != to;
    Packet {
        segment,
        payload,
        ecn: passed.ecn,
        again: itself && came.again,
        ask: if itself { came.ask } else { 0 },
        answers: if answer { came.ask } else { came.answers },
    }
}
