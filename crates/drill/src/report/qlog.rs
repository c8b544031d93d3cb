//! The packets of a script as qlog.

use crate::packet::{self, Tcp, TcpOption, flags};
use crate::run::{Captured, Run};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use windlass_base::Time;
use windlass_qlog::{Header, Log, Vantage};

/// The packets as the subject's end has them, as qlog's text. Offsets count from the first byte of a direction.
pub fn qlog(title: &str, run: &Run) -> Vec<u8> {
    let start = run.packets.first().map_or(Time::ZERO, |packet| packet.at);
    let header = Header { title, vantage: Vantage::Client, start, clock: None };
    let mut log = Log::begin(Vec::new(), &header);
    // The sequence number of the first byte, by the port that sends it.
    let mut first_bytes = BTreeMap::new();
    for captured in &run.packets {
        let Some((tcp, ecn)) = segment(captured) else { continue };
        if tcp.has(flags::SYN) {
            first_bytes
                .insert((captured.inbound, tcp.source, tcp.destination), tcp.seq.wrapping_add(1));
        }
        let first = |inbound, source, destination| {
            first_bytes.get(&(inbound, source, destination)).copied()
        };
        let own = first(captured.inbound, tcp.source, tcp.destination);
        let others = first(!captured.inbound, tcp.destination, tcp.source);
        let name = if captured.inbound { "tcp:segment_received" } else { "tcp:segment_sent" };
        log.event(captured.at, name, data(&tcp, ecn, own, others));
    }
    // Memory takes everything.
    log.finish().unwrap_or_default()
}

fn segment(captured: &Captured) -> Option<(Tcp, u8)> {
    let packet = packet::parse(&captured.bytes).ok()?;
    let ecn = packet.ip.tos & 3;
    packet.tcp().cloned().map(|tcp| (tcp, ecn))
}

fn data(tcp: &Tcp, ecn: u8, own: Option<u32>, others: Option<u32>) -> Value {
    // A SYN stands before the first byte.
    let offset = |seq: u32, first: Option<u32>| seq.wrapping_sub(first.unwrap_or(0));
    let syn = u32::from(tcp.has(flags::SYN));
    let seq = offset(tcp.seq.wrapping_add(syn), own);
    let mut data = json!({ "offset": seq, "length": tcp.payload.len(), "window": tcp.window });
    if tcp.has(flags::ACK) {
        data["acked_bytes"] = offset(tcp.ack, others).into();
    }
    for (bit, name) in [
        (flags::SYN, "syn"),
        (flags::FIN, "fin"),
        (flags::RST, "rst"),
        (flags::PSH, "psh"),
        (flags::ECE, "ece"),
        (flags::CWR, "cwr"),
        (flags::AE, "ae"),
    ] {
        if tcp.has(bit) {
            data[name] = true.into();
        }
    }
    for option in &tcp.options {
        if let TcpOption::Sack(blocks) = option {
            let edges =
                blocks.iter().map(|(left, right)| [offset(*left, others), offset(*right, others)]);
            data["sacked"] = json!(edges.collect::<Vec<_>>());
        }
    }
    if let Some(ecn) =
        ["", "ect1", "ect0", "ce"].get(usize::from(ecn)).filter(|name| !name.is_empty())
    {
        data["ecn"] = (*ecn).into();
    }
    data
}
