//! smoltcp on simulated hosts, as the kind `smoltcp` of scenario files.

use crate::stack::{Control, Host, SocketOptions, Stack};
use serde::Deserialize;
use smoltcp::iface::SocketHandle;
use smoltcp::socket::tcp::State;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use windlass_base::{Ecn, Span, Time};
use windlass_sim::endpoint::{
    Datagram, Endpoint, EndpointApp, EndpointEvent, EndpointFactory, EndpointParams, Side, Transmit,
};

/// The kind `smoltcp` of scenario files: bulk data and transfers over TCP. Its datagrams are whole IP packets.
#[derive(Copy, Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Smoltcp {
    /// The congestion controller.
    pub controller: Control,
    /// Timestamps (RFC 7323), which smoltcp does not offer by default.
    pub timestamps: bool,
    /// The largest IP packet, in bytes.
    pub mtu: u16,
    /// Room for data at either end, in bytes: the largest window.
    pub buffer: u32,
}

impl Default for Smoltcp {
    fn default() -> Smoltcp {
        Smoltcp { controller: Control::Cubic, timestamps: false, mtu: 1500, buffer: 1 << 20 }
    }
}

const PORT: u16 = 5001;
const OPENER_PORT: u16 = 40_000;
/// smoltcp's own default.
const ACK_DELAY: Span = Span::from_millis(10);
/// The data that the sender writes.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

impl EndpointFactory for Smoltcp {
    fn name(&self) -> &'static str {
        "smoltcp"
    }

    fn controller(&self) -> &str {
        self.controller.name()
    }

    fn check(&self, app: &EndpointApp) -> Result<(), String> {
        match app {
            EndpointApp::Bulk | EndpointApp::Transfer { .. } => Ok(()),
            EndpointApp::Requests(_) => Err("smoltcp has no requests".to_owned()),
        }
    }

    fn build(&self, mut params: EndpointParams) -> Box<dyn Endpoint> {
        let addresses = [1, 2].map(|host| IpAddr::from(Ipv4Addr::new(192, 0, 2, host)));
        let own = params.side.index();
        let host = Host { address: addresses[own], prefix_len: 24, mtu: usize::from(self.mtu) };
        let mut stack = Stack::new(&host, params.rng.bits(), Time::ZERO);
        let room = self.buffer as usize;
        let handle = stack.socket(&SocketOptions {
            control: self.controller,
            timestamps: self.timestamps,
            nagle: true,
            ack_delay: Some(ACK_DELAY),
            receive_buffer: room,
            send_buffer: room,
        });
        let left = match (&params.app, params.side) {
            (EndpointApp::Transfer { bytes }, Side::Sender) => *bytes,
            (_, Side::Sender) => u64::MAX,
            (_, Side::Receiver) => 0,
        };
        Box::new(SmoltcpEndpoint {
            stack,
            handle,
            remote: (addresses[1 - own], PORT),
            transfer: matches!(params.app, EndpointApp::Transfer { .. }),
            params,
            now: Time::ZERO,
            left,
            delivered: 0,
            connected: false,
            finished: false,
            events: VecDeque::new(),
        })
    }
}

/// One end of a connection.
#[derive(Debug)]
struct SmoltcpEndpoint {
    stack: Stack,
    handle: SocketHandle,
    remote: (IpAddr, u16),
    transfer: bool,
    params: EndpointParams,
    now: Time,
    /// Bytes that the sender has still to write.
    left: u64,
    delivered: u64,
    connected: bool,
    finished: bool,
    events: VecDeque<EndpointEvent>,
}

impl SmoltcpEndpoint {
    /// Does what is due, and what the application does upon it.
    fn run(&mut self, now: Time) {
        self.now = now;
        self.stack.poll(now);
        self.notice();
        match self.params.side {
            Side::Sender => self.write(),
            Side::Receiver => self.read(),
        }
        self.stack.poll(now);
    }

    fn notice(&mut self) {
        let state = self.stack.get(self.handle).state();
        let is_open =
            !matches!(state, State::Closed | State::Listen | State::SynSent | State::SynReceived);
        if is_open && !self.connected {
            self.connected = true;
            self.events.push_back(EndpointEvent::Connected);
        }
        if state == State::Closed && self.connected && !self.finished {
            self.finished = true;
            if self.params.side == Side::Receiver || self.left > 0 {
                let reason = "the other end reset the connection, or was silent".to_owned();
                self.events.push_back(EndpointEvent::Failed { reason });
            }
        }
    }

    fn write(&mut self) {
        let socket = self.stack.get(self.handle);
        while self.left > 0 && socket.can_send() {
            let part = (ZEROS.len() as u64).min(self.left) as usize;
            match socket.send_slice(&ZEROS[..part]) {
                Ok(taken) if taken > 0 => self.left -= taken as u64,
                _ => break,
            }
        }
        if self.left == 0 && self.connected && socket.may_send() {
            socket.close();
        }
    }

    fn read(&mut self) {
        let socket = self.stack.get(self.handle);
        let mut bytes = 0;
        while let Ok(taken @ 1..) = socket.recv(|data| (data.len(), data.len())) {
            bytes += taken as u64;
        }
        // After the sender's FIN nothing more comes.
        let ended = self.connected && !socket.may_recv() && socket.state() != State::Closed;
        if bytes > 0 {
            self.delivered += bytes;
            self.events.push_back(EndpointEvent::Delivered { bytes });
        }
        if ended && !self.finished {
            self.stack.get(self.handle).close();
            if self.transfer {
                let (begun, bytes) = (self.params.start, self.delivered);
                self.events.push_back(EndpointEvent::TransferDone { begun, bytes });
            }
            self.finished = true;
            self.events.push_back(EndpointEvent::Finished);
        }
    }
}

impl Endpoint for SmoltcpEndpoint {
    fn start(&mut self, now: Time) {
        let opened = match self.params.opens {
            true => self.stack.connect(self.handle, self.remote, OPENER_PORT),
            false => self.stack.get(self.handle).listen(PORT).map_err(|error| error.to_string()),
        };
        if let Err(reason) = opened {
            self.events.push_back(EndpointEvent::Failed { reason });
        }
        self.run(now);
    }

    fn stop(&mut self, now: Time) {
        self.left = 0;
        self.run(now);
    }

    fn handle_datagram(&mut self, now: Time, datagram: Datagram) {
        self.stack.receive(datagram.payload);
        self.run(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.run(now);
    }

    fn poll_timeout(&mut self) -> Option<Time> {
        self.stack.wakes_at()
    }

    fn poll_transmit(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Transmit> {
        if let Some(packet) = self.stack.transmit() {
            payload.extend(packet);
            // smoltcp has no ECN.
            return Some(Transmit { size: payload.len() as u32, ecn: Ecn::NotEct });
        }
        // Each change has run until nothing more leaves.
        debug_assert!(now >= self.now);
        None
    }

    fn poll_event(&mut self) -> Option<EndpointEvent> {
        self.events.pop_front()
    }

    fn header_bytes(&self) -> u32 {
        0
    }
}
