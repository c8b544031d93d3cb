//! The figures of a test.

use crate::cpu::CpuTime;
use crate::rtt_samples::RttSamples;
use serde::{Deserialize, Serialize};
use windlass_tou::{Info, TouStream};

/// The figures of one end when the test is over.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Figures {
    /// Payload bytes: at the sender those acknowledged, at the receiver those read by the application.
    pub bytes: u64,
    /// Time from the start of the test to the last of these bytes.
    pub duration_us: u64,
    /// CPU time of the process in user mode.
    pub cpu_user_us: u64,
    /// CPU time of the kernel for the process.
    pub cpu_system_us: u64,
    /// The figures of each connection.
    pub streams: Vec<StreamFigures>,
}

/// The figures of one connection at one end. The counters cover data that this end sent, except those
/// of CE and of segments received.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StreamFigures {
    /// Payload bytes, as in [`Figures::bytes`].
    pub bytes: u64,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// The congestion window.
    pub cwnd_bytes: u64,
    /// Bytes that fast recovery adds to cwnd. Only this end's trace has them.
    #[serde(skip)]
    pub inflation_bytes: u64,
    /// The slow start threshold; `None` before the first reduction of cwnd.
    pub ssthresh_bytes: Option<u64>,
    /// The smoothed round-trip time; `None` before the first sample.
    pub rtt_us: Option<u64>,
    /// The round-trip times that this end measured; `None` without samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_samples: Option<RttSamples>,
    /// Bytes sent and not acknowledged.
    pub in_flight_bytes: u64,
    /// Segments with payload sent, including retransmissions.
    pub data_segments: u64,
    /// Segments retransmitted.
    pub retransmitted_segments: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// Tail loss probes sent.
    pub tail_probes: u64,
    /// Reductions of cwnd because of ECN.
    pub ecn_cuts: u64,
    /// Segments received.
    pub segments_received: u64,
    /// Segments received with CE.
    pub ce_received: u64,
    /// Whether the connection uses ECN.
    pub ecn: bool,
}

impl StreamFigures {
    /// The figures of a sending connection. The first `head_len` bytes do not belong to the test. The
    /// figures of a connection that was removed are zero.
    pub(crate) fn of_sender(stream: &TouStream, head_len: u64) -> StreamFigures {
        let Ok(info) = stream.info() else { return StreamFigures::default() };
        let figures = StreamFigures::of(&info, info.bytes_acked.saturating_sub(head_len));
        StreamFigures { rtt_samples: stream.rtt_samples().map(RttSamples::from), ..figures }
    }

    /// The figures of a receiving connection, from which the application has read `bytes`.
    pub(crate) fn of_receiver(stream: &TouStream, bytes: u64) -> StreamFigures {
        match stream.info() {
            Ok(info) => StreamFigures::of(&info, bytes),
            Err(_) => StreamFigures { bytes, ..StreamFigures::default() },
        }
    }

    /// These figures with bytes and counters since `then`.
    fn since(&self, then: &StreamFigures) -> StreamFigures {
        StreamFigures {
            bytes: self.bytes.saturating_sub(then.bytes),
            data_segments: self.data_segments.saturating_sub(then.data_segments),
            retransmitted_segments: self
                .retransmitted_segments
                .saturating_sub(then.retransmitted_segments),
            timeouts: self.timeouts.saturating_sub(then.timeouts),
            fast_retransmits: self.fast_retransmits.saturating_sub(then.fast_retransmits),
            tail_probes: self.tail_probes.saturating_sub(then.tail_probes),
            ecn_cuts: self.ecn_cuts.saturating_sub(then.ecn_cuts),
            segments_received: self.segments_received.saturating_sub(then.segments_received),
            ce_received: self.ce_received.saturating_sub(then.ce_received),
            ..*self
        }
    }

    fn of(info: &Info, bytes: u64) -> StreamFigures {
        StreamFigures {
            bytes,
            mss: info.mss,
            cwnd_bytes: info.cwnd,
            inflation_bytes: info.inflation,
            ssthresh_bytes: info.ssthresh,
            rtt_us: info.rtt.map(|rtt| rtt.as_micros() as u64),
            rtt_samples: None,
            in_flight_bytes: info.in_flight,
            data_segments: info.stats.data_segments_sent,
            retransmitted_segments: info.stats.retransmitted_segments,
            timeouts: info.stats.timeouts,
            fast_retransmits: info.stats.fast_retransmits,
            tail_probes: info.stats.tail_probes,
            ecn_cuts: info.stats.ecn_cuts,
            segments_received: info.stats.segments_received,
            ce_received: info.stats.ce_received,
            ecn: info.ecn,
        }
    }
}

impl Figures {
    pub(crate) fn new(streams: Vec<StreamFigures>, duration_us: u64, cpu: CpuTime) -> Figures {
        Figures {
            bytes: streams.iter().fold(0, |sum, stream| sum.saturating_add(stream.bytes)),
            duration_us,
            cpu_user_us: cpu.user_us,
            cpu_system_us: cpu.system_us,
            streams,
        }
    }

    /// Segments retransmitted by all connections.
    pub fn retransmitted(&self) -> u64 {
        sum(&self.streams, |stream| stream.retransmitted_segments)
    }
}

/// The sum of a figure over all connections. It saturates, since a peer's figures are arbitrary.
pub fn sum(streams: &[StreamFigures], of: impl Fn(&StreamFigures) -> u64) -> u64 {
    streams.iter().map(of).fold(0, u64::saturating_add)
}

/// Bits per second; `None` if the duration is zero.
pub fn bit_per_s(bytes: u64, duration_us: u64) -> Option<f64> {
    (duration_us > 0).then(|| bytes as f64 * 8e6 / duration_us as f64)
}

/// The figures between two snapshots.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    /// The beginning, since the start of the test.
    pub from_us: u64,
    /// The end, since the start of the test.
    pub to_us: u64,
    /// The connections at the end; bytes and counters since the beginning.
    pub streams: Vec<StreamFigures>,
    /// The test omits this time from its final figures.
    pub omitted: bool,
}

/// The figures of all connections at one time.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// Time since the start of the test.
    pub(crate) at_us: u64,
    pub(crate) streams: Vec<StreamFigures>,
    pub(crate) cpu: CpuTime,
}

impl Snapshot {
    pub(crate) fn bytes(&self) -> u64 {
        sum(&self.streams, |stream| stream.bytes)
    }

    /// The figures from an earlier snapshot to this one.
    pub(crate) fn since(&self, then: &Snapshot) -> Figures {
        let streams = since(&self.streams, &then.streams);
        Figures::new(streams, self.at_us - then.at_us, self.cpu.since(then.cpu))
    }
}

fn since(now: &[StreamFigures], then: &[StreamFigures]) -> Vec<StreamFigures> {
    now.iter().zip(then).map(|(now, then)| now.since(then)).collect()
}

impl Interval {
    pub(crate) fn between(then: &Snapshot, now: &Snapshot, omitted: bool) -> Interval {
        let streams = since(&now.streams, &then.streams);
        Interval { from_us: then.at_us, to_us: now.at_us, streams, omitted }
    }

    /// Payload bytes of all connections.
    pub fn bytes(&self) -> u64 {
        sum(&self.streams, |stream| stream.bytes)
    }

    /// The mean of the smoothed round-trip times, in milliseconds; `None` if no connection has one.
    pub fn rtt_ms(&self) -> Option<f64> {
        let times: Vec<u64> = self.streams.iter().filter_map(|stream| stream.rtt_us).collect();
        let total = times.iter().sum::<u64>() as f64 / 1e3;
        (!times.is_empty()).then(|| total / times.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_counts_from_the_snapshot_before() {
        let stream = |bytes, retransmitted, rtt_us| StreamFigures {
            bytes,
            rtt_us,
            retransmitted_segments: retransmitted,
            cwnd_bytes: 20_000,
            ..StreamFigures::default()
        };
        let snapshot = |at_us, streams| Snapshot { at_us, streams, cpu: CpuTime::default() };
        let before = snapshot(1_000_000, vec![stream(1000, 3, None), stream(500, 0, None)]);
        let now = vec![stream(126_000, 5, Some(10_000)), stream(500, 0, Some(20_000))];
        let interval = Interval::between(&before, &snapshot(2_000_000, now), false);
        assert_eq!((interval.from_us, interval.to_us), (1_000_000, 2_000_000));
        assert_eq!((interval.bytes(), interval.rtt_ms()), (125_000, Some(15.0)));
        assert_eq!(interval.streams[0].retransmitted_segments, 2);
        assert_eq!(sum(&interval.streams, |stream| stream.cwnd_bytes), 40_000);
    }
}
