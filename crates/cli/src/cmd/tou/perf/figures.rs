//! The figures of a test.

use super::cpu::CpuTime;
use serde::{Deserialize, Serialize};
use windlass_tou::{Info, TouStream};

/// One end of a test, when it is over.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Figures {
    /// The sender's: acknowledged. The receiver's: taken by the application.
    pub(super) bytes: u64,
    /// From the start to the last of them.
    pub(super) duration_us: u64,
    pub(super) cpu_user_us: u64,
    pub(super) cpu_system_us: u64,
    pub(super) streams: Vec<StreamFigures>,
}

/// One connection at one end. The counters are of data that this end sent, but for CE and segments
/// received.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct StreamFigures {
    pub(super) bytes: u64,
    pub(super) mss: u32,
    pub(super) cwnd_bytes: u64,
    /// For the trace of this end alone.
    #[serde(skip)]
    pub(super) inflation_bytes: u64,
    pub(super) ssthresh_bytes: Option<u64>,
    pub(super) rtt_us: Option<u64>,
    pub(super) in_flight_bytes: u64,
    pub(super) data_segments: u64,
    pub(super) retransmitted_segments: u64,
    pub(super) timeouts: u64,
    pub(super) fast_retransmits: u64,
    pub(super) tail_probes: u64,
    pub(super) ecn_cuts: u64,
    pub(super) segments_received: u64,
    pub(super) ce_received: u64,
    pub(super) ecn: bool,
}

impl StreamFigures {
    /// The figures of a sending connection. The first `head` bytes do not belong to the test. A closed
    /// connection has no figures.
    pub(super) fn of_sender(stream: &TouStream, head: u64) -> StreamFigures {
        let Ok(info) = stream.info() else { return StreamFigures::default() };
        StreamFigures::of(&info, info.bytes_acked.saturating_sub(head))
    }

    /// The figures of a receiving connection, from which the application has read `bytes`.
    pub(super) fn of_receiver(stream: &TouStream, bytes: u64) -> StreamFigures {
        match stream.info() {
            Ok(info) => StreamFigures::of(&info, bytes),
            Err(_) => StreamFigures { bytes, ..StreamFigures::default() },
        }
    }

    /// With what was counted since then.
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
    pub(super) fn new(streams: Vec<StreamFigures>, duration_us: u64, cpu: CpuTime) -> Figures {
        Figures {
            bytes: streams.iter().fold(0, |sum, stream| sum.saturating_add(stream.bytes)),
            duration_us,
            cpu_user_us: cpu.user_us,
            cpu_system_us: cpu.system_us,
            streams,
        }
    }

    /// Segments sent again, of all connections.
    pub(super) fn retransmitted(&self) -> u64 {
        sum(&self.streams, |stream| stream.retransmitted_segments)
    }
}

/// Over all connections. Another's figures may be anything.
pub(super) fn sum(streams: &[StreamFigures], of: impl Fn(&StreamFigures) -> u64) -> u64 {
    streams.iter().map(of).fold(0, u64::saturating_add)
}

/// Bits per second; `None` of no time.
pub(super) fn bit_per_s(bytes: u64, duration_us: u64) -> Option<f64> {
    (duration_us > 0).then(|| bytes as f64 * 8e6 / duration_us as f64)
}

/// The figures between two snapshots.
#[derive(Clone, Debug, Default)]
pub(super) struct Interval {
    pub(super) from_us: u64,
    pub(super) to_us: u64,
    /// At its end; bytes and counters since its beginning.
    pub(super) streams: Vec<StreamFigures>,
    /// It is in no other figures.
    pub(super) omitted: bool,
}

/// The figures of all connections at one moment.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    /// Since the start.
    pub(super) at_us: u64,
    pub(super) streams: Vec<StreamFigures>,
    pub(super) cpu: CpuTime,
}

impl Snapshot {
    pub(super) fn bytes(&self) -> u64 {
        sum(&self.streams, |stream| stream.bytes)
    }

    /// From an earlier look to this one.
    pub(super) fn since(&self, then: &Snapshot) -> Figures {
        let streams = since(&self.streams, &then.streams);
        Figures::new(streams, self.at_us - then.at_us, self.cpu.since(then.cpu))
    }
}

fn since(now: &[StreamFigures], then: &[StreamFigures]) -> Vec<StreamFigures> {
    now.iter().zip(then).map(|(now, then)| now.since(then)).collect()
}

impl Interval {
    pub(super) fn between(then: &Snapshot, now: &Snapshot, omitted: bool) -> Interval {
        let streams = since(&now.streams, &then.streams);
        Interval { from_us: then.at_us, to_us: now.at_us, streams, omitted }
    }

    pub(super) fn bytes(&self) -> u64 {
        sum(&self.streams, |stream| stream.bytes)
    }

    /// Mean of the connections that have one.
    pub(super) fn rtt_ms(&self) -> Option<f64> {
        let times: Vec<u64> = self.streams.iter().filter_map(|stream| stream.rtt_us).collect();
        let total = times.iter().sum::<u64>() as f64 / 1e3;
        (!times.is_empty()).then(|| total / times.len() as f64)
    }
}
