//! The output of a test.

use crate::envelope::Document;
use crate::scaled::{bits, size};
use serde_json::{Value, json};
use std::net::SocketAddr;
use windlass_base::Distribution;
use windlass_tou_perf::{
    Figures, Interval, Limit, Outcome, RttSamples, StreamFigures, Test, bit_per_s, sum,
};

/// A line of text for an interval.
pub(super) fn line(interval: &Interval, sends: bool) -> String {
    let bytes = interval.bytes();
    let rate = bit_per_s(bytes, interval.to_us - interval.from_us).unwrap_or(0.0);
    let (from, to) = (interval.from_us as f64 / 1e6, interval.to_us as f64 / 1e6);
    let moved = format!("{from:7.2} to {to:7.2} s  {:>10}  {:>14}", size(bytes), bits(rate));
    let mark = if interval.omitted { "  (omitted)" } else { "" };
    if !sends {
        return moved + mark;
    }
    let rtt = interval.rtt_ms().map_or("-".to_owned(), |ms| format!("{ms:.2} ms"));
    let again = sum(&interval.streams, |stream| stream.retransmitted_segments);
    let cwnd = size(sum(&interval.streams, |stream| stream.cwnd_bytes));
    format!("{moved}  sent again {again:5}  cwnd {cwnd:>9}  RTT {rtt:>10}{mark}")
}

/// The parameters of a test in one line.
pub(super) fn announcement(test: &Test, peer: SocketAddr) -> String {
    let limit = match test.limit {
        Limit::TimeMs(ms) => format!("{} s", ms as f64 / 1e3),
        Limit::Bytes(bytes) => format!("{bytes} bytes"),
    };
    let connections = if test.streams == 1 { "connection" } else { "connections" };
    format!(
        "{peer}: {}, {} {connections}, {limit}, {}",
        test.direction.name(),
        test.streams,
        test.controller
    )
}

/// Both ends in two lines, and a line for the round-trip times of each connection.
pub(super) fn summary(outcome: &Outcome, sends: bool) -> String {
    let (sender, receiver) = sides(outcome, sends);
    let ends = format!(
        "sender    {}  sent again {}\nreceiver  {}",
        side(sender),
        sender.retransmitted(),
        side(receiver)
    );
    let samples = sender.streams.iter().filter_map(|stream| stream.rtt_samples);
    let mut lines = vec![ends];
    lines.extend(samples.map(|samples| format!("RTT in ms {}", quantiles(samples))));
    lines.join("\n")
}

fn quantiles(samples: RttSamples) -> String {
    let figures = Distribution::from(samples).named_ms();
    figures.map(|(name, ms)| format!(" {} {ms:.2}", name.replace('_', "."))).concat()
}

fn distribution_json(samples: RttSamples) -> Value {
    Distribution::from(samples).named_ms().into_iter().collect()
}

fn side(figures: &Figures) -> String {
    let rate = bit_per_s(figures.bytes, figures.duration_us).unwrap_or(0.0);
    format!(
        "{:>10} in {:.2} s  {:>14}  CPU {:.2} s user, {:.2} s system",
        size(figures.bytes),
        figures.duration_us as f64 / 1e6,
        bits(rate),
        figures.cpu_user_us as f64 / 1e6,
        figures.cpu_system_us as f64 / 1e6,
    )
}

fn sides(outcome: &Outcome, sends: bool) -> (&Figures, &Figures) {
    match sends {
        true => (&outcome.own, &outcome.peer),
        false => (&outcome.peer, &outcome.own),
    }
}

/// All of it as an object. `intervals` are this end's.
pub(super) fn json(
    test: &Test,
    peer: SocketAddr,
    sends: bool,
    intervals: &[Interval],
    outcome: &Outcome,
) -> String {
    let (sender, receiver) = sides(outcome, sends);
    let (time_s, bytes) = match test.limit {
        Limit::TimeMs(ms) => (Some(ms as f64 / 1e3), None),
        Limit::Bytes(bytes) => (None, Some(bytes)),
    };
    let body = json!({
        "peer": peer.to_string(),
        "test": {
            "direction": test.direction.name(),
            "streams": test.streams,
            "time_s": time_s,
            "bytes": bytes,
            "omit_s": test.omit_ms as f64 / 1e3,
            "controller": test.controller,
        },
        "intervals": intervals.iter().map(|interval| interval_json(interval, sends)).collect::<Vec<_>>(),
        "sender": end_json(sender),
        "receiver": end_json(receiver),
    });
    Document::new("tou.perf", body).line()
}

fn interval_json(interval: &Interval, sends: bool) -> Value {
    let span_us = interval.to_us - interval.from_us;
    let stream = |figures: &StreamFigures| {
        let mut object = json!({ "bytes": figures.bytes });
        if sends {
            object["retransmitted_segments"] = figures.retransmitted_segments.into();
            object["cwnd_bytes"] = figures.cwnd_bytes.into();
            object["rtt_ms"] = milliseconds(figures.rtt_us);
        }
        object
    };
    json!({
        "from_s": interval.from_us as f64 / 1e6,
        "to_s": interval.to_us as f64 / 1e6,
        "omitted": interval.omitted,
        "bytes": interval.bytes(),
        "bit_per_s": bit_per_s(interval.bytes(), span_us),
        "streams": interval.streams.iter().map(stream).collect::<Vec<_>>(),
    })
}

fn end_json(figures: &Figures) -> Value {
    json!({
        "bytes": figures.bytes,
        "duration_s": figures.duration_us as f64 / 1e6,
        "bit_per_s": bit_per_s(figures.bytes, figures.duration_us),
        "cpu_user_s": figures.cpu_user_us as f64 / 1e6,
        "cpu_system_s": figures.cpu_system_us as f64 / 1e6,
        "retransmitted_segments": figures.retransmitted(),
        "streams": figures.streams.iter().map(stream_json).collect::<Vec<_>>(),
    })
}

fn stream_json(stream: &StreamFigures) -> Value {
    json!({
        "bytes": stream.bytes,
        "mss": stream.mss,
        "cwnd_bytes": stream.cwnd_bytes,
        "ssthresh_bytes": stream.ssthresh_bytes,
        "rtt_ms": milliseconds(stream.rtt_us),
        "rtt_samples_ms": stream.rtt_samples.map(distribution_json),
        "data_segments": stream.data_segments,
        "retransmitted_segments": stream.retransmitted_segments,
        "timeouts": stream.timeouts,
        "fast_retransmits": stream.fast_retransmits,
        "tail_probes": stream.tail_probes,
        "ecn": stream.ecn,
        "ecn_cuts": stream.ecn_cuts,
        "segments_received": stream.segments_received,
        "ce_received": stream.ce_received,
    })
}

fn milliseconds(us: Option<u64>) -> Value {
    us.map_or(Value::Null, |us| (us as f64 / 1e3).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_the_round_trip_times_of_each_connection_of_the_sender() {
        let samples = |ms: u64| StreamFigures {
            rtt_samples: Some(RttSamples { mean_ns: ms * 1_000_000, ..RttSamples::default() }),
            ..StreamFigures::default()
        };
        let figures = |streams| Figures { streams, ..Figures::default() };
        let [own, peer] =
            [figures(vec![StreamFigures::default()]), figures(vec![samples(10), samples(20)])];
        let text = summary(&Outcome { own, peer }, false);
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(lines[0].starts_with("RTT in ms  mean 10.00 p50"), "{text}");
        assert!(lines[1].contains("mean 20.00") && lines[1].contains("p99.9"), "{text}");
        let json = stream_json(&samples(10));
        assert_eq!(json["rtt_samples_ms"]["mean"], 10.0);
        assert!(json["rtt_samples_ms"]["p99_9"].is_number(), "{json}");
    }

    #[test]
    fn a_line_has_the_sums_and_the_mean_round_trip_time_of_the_connections() {
        let stream = |bytes, retransmitted_segments, rtt_ms: u64| StreamFigures {
            bytes,
            rtt_us: Some(rtt_ms * 1000),
            retransmitted_segments,
            cwnd_bytes: 20_000,
            ..StreamFigures::default()
        };
        let streams = vec![stream(125_000, 2, 10), stream(0, 0, 20)];
        let interval = Interval { from_us: 1_000_000, to_us: 2_000_000, streams, omitted: false };
        let text = line(&interval, true);
        for part in ["1.00 to    2.00 s", "125.00 kB", "1.00 Mbit/s", "again     2", "15.00 ms"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.contains("40.00 kB") && !line(&interval, false).contains("cwnd"), "{text}");
    }
}
