//! The command's side: the engine behind IP packets.

use crate::packet::{self, Ends, HEAD_LEN_MAX, Incoming, Outgoing};
use std::net::SocketAddr;
use windlass_base::{Ecn, Time};
use windlass_tcp::stream::Stream;
use windlass_tcp::{Connection, Event, Profile, Segment, SeqNumber};

/// From the command's address to `far`.
pub(crate) fn ends(far: &str) -> Ends {
    let far: SocketAddr = far.parse().expect("an address");
    let app = if far.is_ipv4() { "198.18.0.1:40000" } else { "[fd77::1]:40000" };
    Ends { app: app.parse().expect("an address"), far }
}

pub(crate) struct Command {
    pub(crate) ends: Ends,
    pub(crate) stream: Stream,
}

impl Command {
    pub(crate) fn connect(ends: Ends) -> Command {
        Command::connect_with(ends, 1460)
    }

    pub(crate) fn connect_with(ends: Ends, mss: u16) -> Command {
        let factory = Profile::Linux.controller("cubic").expect("known");
        let config = Profile::Linux.config(mss, factory);
        let connection = Connection::connect(config, Time::ZERO, SeqNumber(77));
        Command { ends, stream: Stream::new(connection) }
    }

    /// The packets to send now.
    pub(crate) fn packets(&mut self, now: Time) -> Vec<Vec<u8>> {
        let mut packets = Vec::new();
        while let Some((run, payload)) = self.stream.poll_transmit(now, 1, &mut ()) {
            packets.push(segment(&self.ends, &run.first, payload));
        }
        packets
    }

    /// Takes a packet if it is a segment of this connection.
    pub(crate) fn handle_packet(&mut self, now: Time, bytes: &[u8]) {
        if let Some(Incoming::Tcp { ends, segment, payload, .. }) = packet::parse(bytes, false)
            && (Ends { app: ends.far, far: ends.app }) == self.ends
        {
            self.stream.handle_segment(now, &segment, payload, Ecn::NotEct, &mut ());
        }
    }

    pub(crate) fn event(&mut self) -> Option<Event> {
        self.stream.connection_mut().poll_event()
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        assert_eq!(self.stream.write(bytes), Ok(bytes.len()));
    }

    pub(crate) fn read(&mut self) -> Vec<u8> {
        let bytes = self.stream.peek().concat();
        let _ = self.stream.consume(bytes.len());
        bytes
    }

    pub(crate) fn close(&mut self, now: Time) {
        self.stream.connection_mut().close(now);
    }
}

/// The packet of a segment from the command.
pub(crate) fn segment(ends: &Ends, segment: &Segment, payload: [&[u8]; 2]) -> Vec<u8> {
    let from = Ends { app: ends.far, far: ends.app };
    let outgoing = Outgoing { ends: &from, segment, payload, ecn: Ecn::NotEct, offload: false };
    let mut head = [0; HEAD_LEN_MAX];
    let (len, _) = packet::write_head(&outgoing, &mut head).expect("one family");
    [&head[..len], payload[0], payload[1]].concat()
}

/// The packet of a datagram from the command.
pub(crate) fn datagram(ends: &Ends, payload: &[u8]) -> Vec<u8> {
    packet::udp(&Ends { app: ends.far, far: ends.app }, payload).expect("one family")
}
