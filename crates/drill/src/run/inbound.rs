//! Packets that the script sends.

use super::connection::Connection;
use super::outcome::Side;
use super::runner::{Runner, Stop, diverged, plain};
use crate::packet::{Icmp, Ip, Packet, Tcp, Transport, icmp};
use crate::script::{Body, Echoed, Event, IcmpSpec, PacketSpec, TcpSpec, Tos};

/// The TTL of the script's packets.
const TTL: u8 = 255;
/// How many bytes of the packet behind its IP header an ICMP message has (RFC 792).
const ECHOED: usize = 8;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;

impl Runner<'_> {
    pub(super) fn inject(&mut self, event: &Event, spec: &PacketSpec) -> Result<(), Stop> {
        if let Some(outer) = &spec.encapsulation {
            return Err(Stop::Skip(format!("packets in {outer} are not supported")));
        }
        let (packet, text) = match &spec.body {
            Body::Tcp(tcp) => self.inbound_segment(event, spec, tcp)?,
            Body::Icmp(message) => self.inbound_message(event, spec, message)?,
            Body::Udp(_) => return Err(Stop::Skip("UDP packets are not supported".to_owned())),
        };
        let bytes = packet.bytes().ok_or_else(|| {
            let expected = vec![plain(event.source.clone())];
            diverged(
                event.position,
                "this packet cannot be built",
                expected,
                vec![plain("it is too long")],
            )
        })?;
        let at = self.now();
        self.enter(at, Side::Inbound, format!("< {text}"));
        let mss = self.settings().coalesced_mss.filter(|_| packet.tcp().is_some());
        self.receive(bytes, mss);
        self.take_in()
    }

    fn ip(&self, spec: &PacketSpec) -> Ip {
        let setup = &self.settings().setup;
        let tos = match spec.ip.tos {
            Tos::Unspecified | Tos::Ect0Or1 => 0,
            Tos::Ecn(value) | Tos::Octet(value) => value,
        };
        Ip {
            source: setup.remote,
            destination: setup.local,
            tos,
            ttl: spec.ip.ttl.unwrap_or(TTL),
            flow_label: spec.ip.flow_label.unwrap_or(0),
        }
    }

    fn inbound_segment(
        &mut self,
        event: &Event,
        spec: &PacketSpec,
        tcp: &TcpSpec,
    ) -> Result<(Packet, String), Stop> {
        let mut segment = script_segment(tcp);
        let as_written = Packet { ip: self.ip(spec), transport: Transport::Tcp(segment.clone()) };
        let echo_scaled = self.settings().echo_scaled;
        let default_port = self.settings().setup.local_port;
        let connection = self.connections.receives(&segment);
        if !connection.to_live(&mut segment, echo_scaled) {
            let echo = segment.timestamps().map_or(0, |(_, echo)| echo);
            let summary = format!("this packet echoes the timestamp {echo}, which was not sent");
            return Err(diverged(
                event.position,
                summary,
                vec![plain(event.source.clone())],
                vec![],
            ));
        }
        (segment.source, segment.destination) =
            (connection.remote_port, connection.local_port.unwrap_or(default_port));
        if let Some((source, destination)) = spec.ports {
            segment.source = if source == 0 { segment.source } else { source };
            segment.destination = if destination == 0 { segment.destination } else { destination };
        }
        let text = as_written.text(tcp.ace);
        Ok((Packet { transport: Transport::Tcp(segment), ..as_written }, text))
    }

    fn inbound_message(
        &mut self,
        event: &Event,
        spec: &PacketSpec,
        message: &IcmpSpec,
    ) -> Result<(Packet, String), Stop> {
        let ip = self.ip(spec);
        let v6 = ip.source.is_ipv6();
        let Some((kind, code)) = icmp::numbers(v6, &message.kind, message.code.as_deref()) else {
            return Err(Stop::Skip("this version of IP has no such ICMP message".to_owned()));
        };
        let connection = self.connections.under_test().ok_or_else(|| {
            let expected = vec![plain(event.source.clone())];
            diverged(event.position, "no connection for this ICMP message", expected, vec![])
        })?;
        let body = self.echoed(connection, message.echoed);
        let rest = match message.mtu {
            Some(mtu) if v6 => mtu.to_be_bytes(),
            // RFC 1191 §4: the low half.
            Some(mtu) => (mtu & 0xffff).to_be_bytes(),
            None => (u32::from(message.id) << 16).to_be_bytes(),
        };
        let packet = Packet { ip, transport: Transport::Icmp(Icmp { kind, code, rest, body }) };
        let code = message.code.as_ref().map_or(String::new(), |code| format!(" {code}"));
        let text = format!("icmp {}{code}", message.kind);
        Ok((packet, text))
    }

    /// The beginning of the packet that an ICMP message answers: its IP header, ports and sequence number.
    fn echoed(&self, connection: &Connection, echoed: Echoed) -> Vec<u8> {
        let setup = &self.settings().setup;
        let ip =
            Ip { source: setup.local, destination: setup.remote, tos: 0, ttl: 0, flow_label: 0 };
        let ports = [connection.local_port.unwrap_or(setup.local_port), connection.remote_port];
        let ports = ports.iter().flat_map(|port| port.to_be_bytes());
        let (protocol, len, rest) = match echoed {
            Echoed::Tcp(seq, len) => {
                (PROTOCOL_TCP, usize::from(len) + 20, connection.live_seq(seq).to_be_bytes())
            }
            Echoed::Udp(len) => (PROTOCOL_UDP, usize::from(len) + 8, [0; 4]),
            Echoed::Raw(len) => return vec![0; usize::from(len).saturating_sub(ECHOED)],
        };
        let mut bytes = ip.bytes(protocol, len).unwrap_or_default();
        bytes.extend(ports);
        bytes.extend(rest);
        bytes
    }
}

/// A segment with the numbers of the script.
pub(super) fn script_segment(spec: &TcpSpec) -> Tcp {
    Tcp {
        source: 0,
        destination: 0,
        seq: spec.seq,
        ack: spec.ack,
        flags: spec.flags,
        reserved: 0,
        window: spec.window.unwrap_or(0),
        urgent: spec.urgent,
        options: spec.options.clone().unwrap_or_default(),
        payload: vec![0; usize::from(spec.len)],
    }
}
