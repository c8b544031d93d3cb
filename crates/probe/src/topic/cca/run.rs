//! A connection that follows a script, to show the server's congestion controller.

use super::order::ScriptOrder;
use super::script::Script;
use super::shaper::{Data, Shaper, TIME_MAX};
use super::trace::Trace;
use crate::topic::channel::Channel;
use crate::topic::ecn::{Endpoint, Mode};
use crate::topic::run::{Next, Run, Setup};
use crate::topic::{Ending, Report};
use crate::wire::Received;
use windlass_base::{Ecn, Span, Time};
use windlass_tcp::segment::SackBlocks;
use windlass_tcp::{Flags, Segment};

/// The most segments that a server may have in flight: a controller that fills any window shall not flood
/// the path.
const SEGMENTS_MAX: u32 = 512;

#[derive(Debug)]
pub(crate) struct Identify {
    order: ScriptOrder,
    /// Follows the script, from the SYN-ACK on.
    shaper: Option<Box<Shaper>>,
    /// The ACK of the handshake may have left.
    has_opened: bool,
    /// The server takes SACK blocks.
    takes_sack: bool,
}

impl Identify {
    pub(crate) fn new(order: ScriptOrder) -> Identify {
        Identify { order, shaper: None, has_opened: false, takes_sack: false }
    }
}

impl Run for Identify {
    fn setup(&self) -> Setup {
        let ecn = self.order.ecn.map(|ask| Endpoint::new(ask, false));
        Setup { sack: true, ecn, ..Setup::default() }
    }

    fn begin(&mut self, now: Time, channel: &mut Channel, syn_ack: &Segment) -> Next {
        let handshake = channel.rtt_or(Span::ZERO);
        let path_rtt = self.order.path_rtt.map_or(handshake, |least| least.min(handshake));
        let Some(script) = Script::for_path(path_rtt).filter(|_| channel.rtt.is_some()) else {
            return Next::End(Ending::TooFar);
        };
        channel.gate.advertise(SEGMENTS_MAX * u32::from(channel.order.mss));
        self.takes_sack = syn_ack.options.sack_permitted;
        let shaper = Shaper::new(script, path_rtt, channel.ecn_mode(), now)
            .queued(handshake.saturating_sub(path_rtt));
        self.shaper = Some(Box::new(shaper));
        Next::Wait
    }

    fn handle_segment(
        &mut self,
        now: Time,
        offset: u64,
        received: &Received<'_>,
        channel: &mut Channel,
    ) -> bool {
        channel.read_ecn(received);
        let flags = received.segment.flags;
        let (cwr, marked) = (flags.contains(Flags::CWR), received.ecn == Ecn::Ce);
        let longest = received.segment_lens().max().unwrap_or(0);
        if longest > u32::from(channel.order.mss) {
            // Some systems send no segments as short as that.
            channel.gate.advertise(channel.gate.window().max(SEGMENTS_MAX * longest));
        }
        let Some(shaper) = &mut self.shaper else { return true };
        let mut start = offset;
        let end = offset + u64::from(received.segment.payload_len);
        for len in received.segment_lens() {
            let fin = flags.contains(Flags::FIN) && start + u64::from(len) == end;
            shaper.take(now, Data { start, len, cwr, marked, fin });
            start += u64::from(len);
        }
        if end == offset && flags.contains(Flags::FIN) {
            shaper.take(now, Data { start, len: 0, cwr: false, marked: false, fin: true });
        }
        true
    }

    fn advance(&mut self, _: Time, _: &mut Channel) -> Next {
        match self.shaper.as_ref().is_some_and(|shaper| shaper.is_done()) {
            true => Next::End(Ending::Measured),
            false => Next::Wait,
        }
    }

    fn poll_timeout(&self, channel: &Channel) -> Option<Time> {
        let shaper = self.shaper.as_ref()?;
        let opens = (!self.has_opened).then(|| shaper.opens_at());
        // release() has found that the script is over, for silence or too much data: advance() ends it.
        let over = shaper.is_done().then_some(channel.connected);
        [shaper.poll_timeout(), opens, over].into_iter().flatten().min()
    }

    fn deadline(&self, channel: &Channel) -> Time {
        channel.connected + TIME_MAX
    }

    fn ending_at_deadline(&self, _: &Channel) -> Option<Ending> {
        Some(Ending::Measured)
    }

    fn release(&mut self, now: Time, channel: &mut Channel) -> bool {
        let accurate = channel.ecn_mode() == Mode::Accurate;
        let Some(shaper) = &mut self.shaper else { return false };
        self.has_opened |= now >= shaper.opens_at();
        let Some(ack) = shaper.poll_ack(now) else { return self.has_opened };
        if let Some(ecn) = channel.ecn.as_mut().filter(|_| accurate && ack.marked) {
            ecn.mark();
        }
        let mut sack = SackBlocks::default();
        for block in ack.sack.iter().filter(|_| self.takes_sack) {
            sack.push(channel.seq(block.start), channel.seq(block.end));
        }
        channel.gate.release_one(channel.seq(ack.number), sack, ack.marked && !accurate);
        self.has_opened
    }

    fn fill(&mut self, _: &Channel, report: &mut Report) {
        let reset = report.ending == Ending::Reset;
        report.trace = self.shaper.take().map(|shaper| Trace { reset, ..shaper.into_trace() });
    }
}
