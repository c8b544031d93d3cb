//! The packets of a case as qlog, as the wire at the sender's end has them: of any subject.

use crate::bed::{Event, EventKind, Wire};
use serde_json::{Map, Value, json};
use windlass_base::{Ecn, Time};
use windlass_qlog::{Header, Log, Vantage};
use windlass_tcp::Flags;

/// A file of qlog.
pub(super) fn file(title: &str, wire: &Wire) -> Vec<u8> {
    let start = wire.events().first().map_or(Time::ZERO, |event| event.at);
    let header = Header { title, vantage: Vantage::Client, start, clock: None };
    let mut log = Log::begin(Vec::new(), &header);
    let mut metrics = Map::new();
    for event in wire.events() {
        let name = match event.kind {
            EventKind::Sent => "tcp:segment_sent",
            EventKind::Resent => "tcp:retransmission",
            EventKind::Arrived => "tcp:segment_received",
        };
        log.event(event.at, name, segment(event, wire));
        let now = windows(event);
        if now != metrics {
            log.event(event.at, "quic:recovery_metrics_updated", now.clone().into());
            metrics = now;
        }
    }
    // Memory takes everything.
    log.finish().unwrap_or_default()
}

fn windows(event: &Event) -> Map<String, Value> {
    let mut windows = Map::new();
    windows.insert("bytes_in_flight".to_owned(), event.flight.into());
    if let Some(cwnd) = event.cwnd {
        windows.insert("congestion_window".to_owned(), (cwnd as u64).into());
    }
    windows
}

fn segment(event: &Event, wire: &Wire) -> Value {
    let segment = &event.packet.segment;
    let mut data = if event.kind == EventKind::Arrived {
        json!({ "acked_bytes": wire.offset(segment.ack) })
    } else {
        json!({ "offset": wire.offset(segment.seq), "length": segment.payload_len })
    };
    let sacked: Vec<[u64; 2]> = segment
        .options
        .sack
        .as_slice()
        .iter()
        .map(|(left, right)| [wire.offset(*left), wire.offset(*right)])
        .collect();
    if !sacked.is_empty() {
        data["sacked"] = json!(sacked);
    }
    for (flag, name) in [
        (Flags::SYN, "syn"),
        (Flags::FIN, "fin"),
        (Flags::RST, "rst"),
        (Flags::ECE, "ece"),
        (Flags::CWR, "cwr"),
        (Flags::AE, "ae"),
    ] {
        if segment.flags.contains(flag) {
            data[name] = true.into();
        }
    }
    match event.packet.ecn {
        Ecn::NotEct => {}
        Ecn::Ect0 => data["ecn"] = "ect0".into(),
        Ecn::Ect1 => data["ecn"] = "ect1".into(),
        Ecn::Ce => data["ecn"] = "ce".into(),
    }
    data
}
