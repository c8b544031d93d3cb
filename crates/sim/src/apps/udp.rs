//! UDP sources: when each sends its next packet, and how large it is. The event loop sends it (`run`).

use super::draw::{draw, start_time};
use crate::model::{ConstantRate, UdpFlow, UdpTraffic};
use crate::packet::{IPV4_HEADER_BYTES, UDP_HEADER_BYTES};
use windlass_base::{Ecn, Rng, Span, Time};
use windlass_traffic::{ArrivalStream, media};

const HEADER_BYTES: u32 = IPV4_HEADER_BYTES + UDP_HEADER_BYTES;
/// The longest IPv4 packet.
const PACKET_BYTES_MAX: u32 = 65_535;

/// A UDP source.
#[derive(Debug)]
pub(crate) struct UdpSource {
    pub(crate) ecn: Ecn,
    /// When it starts, with its jitter.
    pub(crate) start: Time,
    stop: Time,
    pace: Pace,
    /// The next packet, which may be due after the stop; at [`Time::MAX`] there is none.
    next: UdpPacket,
}

/// A packet to be sent.
#[derive(Copy, Clone, Debug)]
pub(crate) struct UdpPacket {
    due: Time,
    pub(crate) wire_bytes: u32,
    /// The frame of media that it is a part of; 0 for other sources.
    pub(crate) frame: u64,
}

#[derive(Debug)]
enum Pace {
    Constant(Constant),
    Drawn(Drawn),
}

/// The packets of a source without a constant rate.
#[derive(Debug)]
enum Drawn {
    Arrivals(ArrivalStream),
    Media(media::Source),
}

impl UdpSource {
    pub(crate) fn new(spec: &UdpFlow, jitter: Span, mut rng: Rng) -> UdpSource {
        let start = start_time(spec.start, jitter, &mut rng);
        let stop = spec.stop.map_or(Time::MAX, |stop| Time::ZERO + stop);
        let pace = match &spec.traffic {
            UdpTraffic::Constant(rate) => Pace::Constant(Constant::new(*rate, start, rng)),
            UdpTraffic::Arrivals(arrivals) => Pace::Drawn(Drawn::Arrivals(arrivals.stream(rng))),
            UdpTraffic::Media(media) => {
                Pace::Drawn(Drawn::Media(media::Source::new(media.clone())))
            }
        };
        let mut source = UdpSource { ecn: spec.ecn, start, stop, pace, next: UdpPacket::NONE };
        source.take();
        source
    }

    /// When the next packet is due; `None`: there is none.
    pub(crate) fn due(&self) -> Option<Time> {
        Some(self.next.due).filter(|due| *due < self.stop)
    }

    /// Takes the packet that is due.
    #[inline]
    pub(crate) fn take(&mut self) -> UdpPacket {
        let packet = self.next;
        self.next = match &mut self.pace {
            Pace::Constant(constant) => {
                let wire_bytes = constant.rate.packet_bytes;
                UdpPacket { due: constant.next(), wire_bytes, frame: 0 }
            }
            Pace::Drawn(drawn) => drawn.next(self.start).unwrap_or(UdpPacket::NONE),
        };
        packet
    }

    /// How many frames it has sent completely.
    pub(crate) fn frames_sent(&self) -> u64 {
        self.next.frame
    }
}

impl UdpPacket {
    const NONE: UdpPacket = UdpPacket { due: Time::MAX, wire_bytes: 0, frame: 0 };
}

impl Drawn {
    /// The next packet. A call of its own keeps it out of the event loop's code.
    #[inline(never)]
    fn next(&mut self, start: Time) -> Option<UdpPacket> {
        match self {
            Drawn::Arrivals(stream) => {
                let arrival = stream.next()?;
                let bytes = arrival.bytes.min(PACKET_BYTES_MAX.into()) as u32;
                let wire_bytes = bytes.max(HEADER_BYTES);
                Some(UdpPacket { due: start + arrival.at, wire_bytes, frame: 0 })
            }
            Drawn::Media(source) => {
                let media::Packet { at, frame, bytes, .. } = source.next()?;
                let wire_bytes = HEADER_BYTES + bytes;
                Some(UdpPacket { due: start + at, wire_bytes, frame })
            }
        }
    }
}

/// Packets at a constant rate, always or in bursts.
#[derive(Debug)]
struct Constant {
    rate: ConstantRate,
    rng: Rng,
    burst_begin: Time,
    /// [`Time::MAX`] for a source that is always on.
    burst_end: Time,
    /// Packets of the burst so far.
    in_burst: u64,
}

impl Constant {
    fn new(rate: ConstantRate, start: Time, rng: Rng) -> Constant {
        let mut constant =
            Constant { rate, rng, burst_begin: start, burst_end: Time::MAX, in_burst: 0 };
        constant.begin_burst(start);
        constant
    }

    /// The time of the next packet.
    fn next(&mut self) -> Time {
        let due = self.burst_begin + self.offset(self.in_burst);
        if due >= self.burst_end && self.in_burst > 0 {
            let off = self
                .rate
                .on_off
                .map_or(Span::ZERO, |on_off| draw(on_off.off, on_off.exponential, &mut self.rng));
            self.begin_burst(self.burst_end + off);
            return self.next();
        }
        self.in_burst += 1;
        due
    }

    fn begin_burst(&mut self, at: Time) {
        self.burst_begin = at;
        self.in_burst = 0;
        if let Some(on_off) = self.rate.on_off {
            let on = draw(on_off.on, on_off.exponential, &mut self.rng);
            // A burst of no length would stop the clock.
            self.burst_end = at + on.max(Span::from_nanos(1));
        }
    }

    /// How long after the beginning of a burst its packet `n` follows. Not a sum of intervals, so
    /// that their rounding does not add up.
    fn offset(&self, n: u64) -> Span {
        let bits = u128::from(n) * u128::from(self.rate.packet_bytes) * 8;
        let nanos = bits * 1_000_000_000 / u128::from(self.rate.rate.bits_per_sec());
        Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::OnOff;
    use windlass_base::BitRate;
    use windlass_traffic::{Arrivals, Process, Sizes};

    fn source(traffic: UdpTraffic, stop: Span) -> UdpSource {
        let spec = UdpFlow {
            name: "udp".into(),
            from: 0,
            to: 1,
            ecn: Ecn::NotEct,
            start: Span::from_millis(100),
            stop: Some(stop),
            traffic,
        };
        UdpSource::new(&spec, Span::ZERO, Rng::new(1))
    }

    fn constant(on_off: Option<OnOff>, stop: Span) -> UdpSource {
        let rate = BitRate::from_bits_per_sec(3_000_000).expect("not zero");
        source(UdpTraffic::Constant(ConstantRate { packet_bytes: 1000, rate, on_off }), stop)
    }

    const SECOND: Span = Span::from_millis(1_100);

    fn packets(mut source: UdpSource) -> Vec<UdpPacket> {
        let mut packets = vec![];
        while let Some(due) = source.due() {
            let packet = source.take();
            assert_eq!(packet.due, due);
            packets.push(packet);
        }
        packets
    }

    fn times(source: UdpSource) -> Vec<u64> {
        packets(source).iter().map(|packet| packet.due.as_nanos()).collect()
    }

    #[test]
    fn a_constant_rate_is_kept_without_drift() {
        let times = times(constant(None, SECOND));
        // 3 Mbit/s for a second, in packets of 8000 bits that are 2.666... ms apart.
        assert_eq!(times.len(), 375);
        assert_eq!(times[..3], [100_000_000, 102_666_666, 105_333_333]);
        assert_eq!(times[300], 900_000_000);
    }

    #[test]
    fn bursts_are_on_and_off_as_long_as_they_say() {
        let (on, off) = (Span::from_millis(10), Span::from_millis(90));
        let times = times(constant(Some(OnOff { on, off, exponential: false }), SECOND));
        // Four packets in each of ten bursts.
        assert_eq!(times.len(), 40);
        assert_eq!(times[4] - times[0], 100_000_000);
        assert_eq!(times[3] - times[0], 8_000_000);
    }

    #[test]
    fn drawn_bursts_keep_the_mean_rate() {
        let (on, off) = (Span::from_millis(10), Span::from_millis(10));
        let on_off = Some(OnOff { on, off, exponential: true });
        let sent = times(constant(on_off, Span::from_secs(1_000))).len() as f64;
        // Half the time; and each burst begins with a packet, which adds about half a packet.
        let expected = 375.0 * 1_000.0 / 2.0 + 0.5 * 50_000.0;
        assert!((sent / expected - 1.0).abs() < 0.03, "{sent} packets, expected {expected}");
    }

    #[test]
    fn drawn_packets_are_as_large_as_packets_can_be() {
        let process = Process::Poisson { per_second: 1000.0 };
        let arrivals = |sizes| Arrivals::Drawn { process: process.clone(), sizes, count: Some(3) };
        for (bytes, expected) in [(1, 28), (28, 28), (1500, 1500), (70_000, 65_535)] {
            let traffic = UdpTraffic::Arrivals(arrivals(Sizes::Fixed(bytes)));
            let found = packets(source(traffic, SECOND));
            assert_eq!(found.len(), 3, "as many as the count");
            assert!(found.iter().all(|packet| packet.wire_bytes == expected));
            assert!(found[0].due.as_nanos() > 100_000_000);
        }
    }

    #[test]
    fn frames_are_sent_completely_with_their_last_packet() {
        let media = media::Media {
            frames_per_second: 10.0,
            bitrate: vec![(Span::ZERO, BitRate::from_bits_per_sec(160_000).expect("not zero"))],
            key_every: 1,
            key_factor: 1.0,
            packet_bytes: 1200,
            spread: 1.0,
            deadline: Span::from_millis(50),
        };
        let mut source = source(UdpTraffic::Media(media), SECOND);
        // 2000 bytes every 100 ms: 1200 and, 50 ms later, the rest.
        let mut sent = || {
            let packet = source.take();
            (packet.due.as_nanos() / 1_000_000, packet.wire_bytes, source.frames_sent())
        };
        assert_eq!([sent(), sent(), sent()], [(100, 1228, 0), (150, 828, 1), (200, 1228, 1)]);
    }
}
