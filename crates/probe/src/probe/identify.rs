//! A connection that follows a script, to show the server's congestion controller.

use super::{Ending, Phase, Probe};
use crate::cca::{Data, Script, Shaper};
use crate::ecn::Mode;
use crate::wire::Received;
use windlass_base::{Ecn, Span, Time};
use windlass_tcp::segment::SackBlocks;
use windlass_tcp::{Flags, Segment};

/// The most segments that a server may have in flight: a controller that fills any window shall not flood
/// the path.
const SEGMENTS_MAX: u32 = 512;

impl Probe {
    pub(super) fn shaper(&self) -> Option<&Shaper> {
        match &self.phase {
            Phase::Shaping(shaper) => Some(shaper),
            _ => None,
        }
    }

    pub(super) fn begin_script(&mut self, now: Time, syn_ack: &Segment) {
        let handshake = self.rtt.unwrap_or(Span::ZERO);
        let path_rtt = self.order.path_rtt.map_or(handshake, |least| least.min(handshake));
        let Some(script) = Script::for_path(path_rtt).filter(|_| self.rtt.is_some()) else {
            return self.finish(Ending::TooFar);
        };
        self.gate.advertise(SEGMENTS_MAX * u32::from(self.order.mss));
        self.takes_sack = syn_ack.options.sack_permitted;
        let shaper = Shaper::new(script, path_rtt, self.ecn_mode(), now)
            .queued(handshake.saturating_sub(path_rtt));
        self.phase = Phase::Shaping(Box::new(shaper));
    }

    pub(super) fn shape(&mut self, now: Time, offset: u64, received: &Received<'_>) {
        self.read_ecn(received);
        let flags = received.segment.flags;
        let (cwr, marked) = (flags.contains(Flags::CWR), received.ecn.ip == Ecn::Ce);
        let longest = received.segment_lens().max().unwrap_or(0);
        if longest > u32::from(self.order.mss) {
            // Some systems send no segments as short as that.
            self.gate.advertise(self.gate.window().max(SEGMENTS_MAX * longest));
        }
        let Phase::Shaping(shaper) = &mut self.phase else { return };
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
    }

    /// Queues the next ACK that is due.
    pub(super) fn release_shaped(&mut self, now: Time) {
        let first = self.first_byte();
        let accurate = self.ecn_mode() == Mode::Accurate;
        let Phase::Shaping(shaper) = &mut self.phase else { return };
        let Some(ack) = shaper.poll_ack(now) else { return };
        if let Some(ecn) = self.ecn.as_mut().filter(|_| accurate && ack.marked) {
            ecn.mark();
        }
        let mut sack = SackBlocks::default();
        for block in ack.sack.iter().filter(|_| self.takes_sack) {
            sack.push(first.at(block.start), first.at(block.end));
        }
        self.gate.release_one(first.at(ack.number), sack, ack.marked && !accurate);
    }

    pub(super) fn advance_script(&mut self) {
        if self.shaper().is_some_and(Shaper::is_done) {
            self.finish(Ending::Measured);
        }
    }
}
