//! The output of a test.

use crate::envelope::Document;
use crate::scaled::{bits, size};
use serde_json::{Value, json};
use std::net::SocketAddr;
use windlass_tou_perf::{Figures, Interval, Limit, Outcome, StreamFigures, Test, bit_per_s, sum};

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

/// Both ends in two lines.
pub(super) fn summary(outcome: &Outcome, sends: bool) -> String {
    let (sender, receiver) = sides(outcome, sends);
    format!(
        "sender    {}  sent again {}\nreceiver  {}",
        side(sender),
        sender.retransmitted(),
        side(receiver)
    )
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
