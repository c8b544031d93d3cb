//! Packets that the script expects from the subject.

use super::compare::{Expected, differences, follows};
use super::connection::Connection;
use super::due::{Due, nanos, seconds};
use super::outcome::{Line, Side};
use super::runner::{Runner, Sent, Stop, diverged, line};
use crate::packet::{Packet, Tcp, TcpOption, Transport, flags};
use crate::script::{Event, PacketSpec, TcpSpec};

/// How long after its time a packet is waited for.
const GRACE_NS: i64 = 2_000_000_000;
/// How long a packet at any time is waited for: longer than any timer of TCP (RFC 6298 §2.5 has 60 s at least).
const ANY_NS: i64 = 130_000_000_000;

impl Runner<'_> {
    pub(super) fn expect_segment(
        &mut self,
        event: &Event,
        spec: &PacketSpec,
        tcp: &TcpSpec,
        due: &Due,
    ) -> Result<(), Stop> {
        if let Some(outer) = &spec.encapsulation {
            return Err(Stop::Skip(format!("packets in {outer} are not supported")));
        }
        let expected = Expected { spec, tcp };
        if self.connections.expects(tcp.flags, tcp.seq).is_none() {
            let script = vec![line(due.from, expected.to_string())];
            return Err(diverged(event.position, "no connection for this packet", script, vec![]));
        }
        let pieces = self.pieces(event, &expected, due)?;
        let mut whole = joined(&pieces);
        let at = self.since_start(whole.at);
        self.learn(tcp, &mut whole.packet);
        let mut faults = differences(&expected, &whole.packet);
        faults.extend(self.timestamp_fault(tcp, &whole.packet, due));
        faults.extend(self.flow_label_fault(spec, &whole.packet));
        let text = expected.seen(&whole.packet);
        if faults.is_empty() {
            let fault = due.fault(at);
            faults.extend(fault.map(|fault| format!("time: {fault}")));
        }
        if !faults.is_empty() {
            let script = Line { at: due.text(), text: expected.to_string() };
            return Err(diverged(
                event.position,
                faults.join("; "),
                vec![script],
                vec![line(at, text)],
            ));
        }
        self.enter(at, Side::Outbound, text);
        Ok(())
    }

    /// The packets that together are the one of the script: it may stand for several segments.
    fn pieces(
        &mut self,
        event: &Event,
        expected: &Expected<'_>,
        due: &Due,
    ) -> Result<Vec<Sent>, Stop> {
        let wanted = usize::from(expected.tcp.len);
        let mut pieces: Vec<Sent> = Vec::new();
        let mut len = 0;
        loop {
            let Some(mut sent) = self.next_segment(due)? else {
                return Err(self.missing(event, expected, due, &pieces));
            };
            let Transport::Tcp(tcp) = &mut sent.packet.transport else { continue };
            if let Some(connection) = self.connections.under_test_mut() {
                if expected.tcp.flags & (flags::SYN | flags::ACK) == flags::SYN | flags::ACK {
                    connection.answered(tcp);
                }
                connection.to_script(tcp);
            }
            let more = tcp.payload.len();
            let fault = pieces
                .last()
                .and_then(|before| follows(before.packet.tcp(), tcp, len + more < wanted));
            len += more;
            pieces.push(sent);
            if let Some(fault) = fault {
                let summary = format!("a further segment of this packet differs: {fault}");
                return Err(self.unlike(event, expected, due, &summary, &pieces));
            }
            if len >= wanted || self.settings().strict_segments {
                break;
            }
        }
        if len != wanted && pieces.len() > 1 {
            let summary =
                format!("payload: expected {wanted} bytes, was {len} in {} segments", pieces.len());
            return Err(self.unlike(event, expected, due, &summary, &pieces));
        }
        Ok(pieces)
    }

    /// The next segment of the connection under test; `None` if there is none in time.
    fn next_segment(&mut self, due: &Due) -> Result<Option<Sent>, Stop> {
        let last = if due.any {
            self.now() + ANY_NS
        } else {
            due.until.max(self.now()) + due.tolerance + GRACE_NS
        };
        loop {
            self.take_in()?;
            while let Some(sent) = self.sent.pop_front() {
                if self.connections.is_from_under_test(&sent.packet) {
                    return Ok(Some(sent));
                }
            }
            if self.now() >= last {
                return Ok(None);
            }
            self.host.wait(self.by_clock(last));
        }
    }

    fn missing(&self, event: &Event, expected: &Expected<'_>, due: &Due, pieces: &[Sent]) -> Stop {
        if !pieces.is_empty() {
            let len: usize = pieces
                .iter()
                .filter_map(|piece| piece.packet.tcp())
                .map(|tcp| tcp.payload.len())
                .sum();
            let summary = format!("payload: expected {} bytes, was {len}", expected.tcp.len);
            return self.unlike(event, expected, due, &summary, pieces);
        }
        let script = vec![Line { at: due.text(), text: expected.to_string() }];
        let none = vec![line(self.now(), "no packet")];
        diverged(event.position, format!("no packet until {} s", seconds(self.now())), script, none)
    }

    fn unlike(
        &self,
        event: &Event,
        expected: &Expected<'_>,
        due: &Due,
        summary: &str,
        pieces: &[Sent],
    ) -> Stop {
        let script = vec![Line { at: due.text(), text: expected.to_string() }];
        let seen = pieces
            .iter()
            .map(|piece| line(self.since_start(piece.at), expected.seen(&piece.packet)));
        diverged(event.position, summary, script, seen.collect())
    }

    /// Gives the timestamp of a packet the script's count.
    fn learn(&mut self, expected: &TcpSpec, packet: &mut Packet) {
        let script = script_timestamp(expected);
        let (Some(script), Some(connection)) = (script, self.connections.under_test_mut()) else {
            return;
        };
        let Transport::Tcp(tcp) = &mut packet.transport else { return };
        for option in &mut tcp.options {
            if let TcpOption::Timestamps { value, .. } = option {
                *value = connection.learn_timestamp(script, *value);
            }
        }
    }

    /// Timestamps may be off as far as the time since the start allows: the clocks count on.
    fn timestamp_fault(&self, expected: &TcpSpec, packet: &Packet, due: &Due) -> Option<String> {
        let tick = nanos(self.settings().timestamp_tick?);
        let (script, (seen, _)) = (script_timestamp(expected)?, packet.tcp()?.timestamps()?);
        let off = i64::from(seen.wrapping_sub(script) as i32).abs().saturating_mul(tick);
        let tolerance = self.tolerance(due.from, Some(0));
        (off > tolerance).then(|| {
            format!("TS val: expected {script}, was {seen}; tolerance {} ticks", tolerance / tick)
        })
    }

    /// A flow label of the script stands for one of the subject; another stands for another.
    fn flow_label_fault(&mut self, spec: &PacketSpec, packet: &Packet) -> Option<String> {
        let script =
            spec.ip.flow_label.filter(|label| *label != 0 && packet.ip.source.is_ipv6())?;
        let live = packet.ip.flow_label;
        let connection: &mut Connection = self.connections.under_test_mut()?;
        let fault = match connection.flow_label {
            _ if live == 0 => Some("flow label: expected one, was 0".to_owned()),
            Some((before, label)) if before == script && label != live => {
                Some(format!("flow label: expected {label:#x} as before, was {live:#x}"))
            }
            Some((before, label)) if before != script && label == live => {
                Some(format!("flow label: expected another than {label:#x}"))
            }
            _ => None,
        };
        connection.flow_label = Some((script, live));
        fault
    }
}

fn script_timestamp(spec: &TcpSpec) -> Option<u32> {
    spec.options.iter().flatten().find_map(|option| match option {
        TcpOption::Timestamps { value, .. } => Some(*value),
        _ => None,
    })
}

/// One packet from the segments of a larger one: the last header, with what only the first has. A device that cuts a
/// large packet puts CWR on the first segment and PSH and FIN on the last.
fn joined(pieces: &[Sent]) -> Sent {
    let tcp = |piece: &Sent| piece.packet.tcp().cloned().unwrap_or_default();
    let last = pieces.last().map_or_else(Tcp::default, tcp);
    let first = pieces.first().map_or_else(Tcp::default, tcp);
    let flags = last.flags & !flags::CWR | first.flags & flags::CWR;
    let payload = pieces.iter().flat_map(|piece| tcp(piece).payload).collect();
    let segment = Tcp { seq: first.seq, flags, payload, ..last };
    let piece = &pieces[pieces.len() - 1];
    Sent {
        at: piece.at,
        packet: Packet { ip: piece.packet.ip.clone(), transport: Transport::Tcp(segment) },
    }
}
