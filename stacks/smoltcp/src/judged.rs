//! A socket of smoltcp as a sender of the judge.

use crate::stack::{Control, Host, SocketOptions, Stack};
use smoltcp::iface::SocketHandle;
use smoltcp::socket::tcp::State;
use windlass_base::Time;
use windlass_judge::packets::{HOST, PEER, PEER_PORT, from_host, to_host};
use windlass_judge::{Ecn, Packet, Repair, Sender, Setup, Subject};

const PORT: u16 = 40_000;
const MTU: usize = 1500;
/// The data that the application writes.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
/// More than any window of a case.
const BUFFER: usize = 4 << 20;

/// smoltcp with one of its controllers.
///
/// It repairs losses without SACK, whatever a case asks for: the cases of RFC 6675, RFC 8985 and RFC 9937 are about
/// what it does not have.
#[derive(Copy, Clone, Debug)]
pub struct Judged {
    /// The controller.
    pub control: Control,
    /// It offers timestamps where a case asks for them. By default smoltcp has none: they need a clock of the
    /// application.
    pub timestamps: bool,
}

impl Subject for Judged {
    fn name(&self) -> String {
        let with = if self.timestamps { " with timestamps" } else { "" };
        format!("smoltcp {}{with}", self.control)
    }

    fn controller(&self) -> String {
        self.control.name().to_owned()
    }

    fn open(&self, setup: &Setup, now: Time) -> Result<Box<dyn Sender>, String> {
        refuse(setup)?;
        let host = Host { address: HOST.into(), prefix_len: 24, mtu: MTU };
        let mut stack = Stack::new(&host, 1, now);
        let handle = stack.socket(&SocketOptions {
            control: self.control,
            timestamps: self.timestamps && setup.timestamps,
            // Whatever the application writes leaves at once.
            nagle: false,
            ack_delay: None,
            receive_buffer: 1 << 16,
            send_buffer: BUFFER,
        });
        stack.connect(handle, (PEER.into(), PEER_PORT), PORT)?;
        Ok(Box::new(SmoltcpSender { stack, handle, pending: 0, closes: false }))
    }
}

fn refuse(setup: &Setup) -> Result<(), String> {
    let lacks = [
        (setup.ecn != Ecn::Off, "ECN"),
        (setup.abe, "ABE"),
        (setup.rate_limited, "rate-limited increase"),
        (setup.undo, "undo of needless reductions"),
        (matches!(setup.repair, Repair::Sack | Repair::Prr), "repair by SACK"),
    ];
    match lacks.iter().find(|(asked, _)| *asked) {
        Some((_, what)) => Err(format!("smoltcp has no {what}")),
        None => Ok(()),
    }
}

#[derive(Debug)]
struct SmoltcpSender {
    stack: Stack,
    handle: SocketHandle,
    /// Written, but not taken by the socket: it takes nothing before the handshake is over.
    pending: u64,
    closes: bool,
}

impl SmoltcpSender {
    /// Gives the socket what it takes. Returns whether it took something.
    fn flush(&mut self) -> bool {
        let socket = self.stack.get(self.handle);
        let before = self.pending;
        while self.pending > 0 && socket.can_send() {
            let len = ZEROS.len().min(self.pending as usize);
            match socket.send_slice(&ZEROS[..len]) {
                Ok(taken) if taken > 0 => self.pending -= taken as u64,
                _ => break,
            }
        }
        let opening = matches!(socket.state(), State::SynSent | State::SynReceived);
        if self.closes && self.pending == 0 && !opening {
            socket.close();
            self.closes = false;
        }
        self.pending < before
    }
}

impl Sender for SmoltcpSender {
    fn receive(&mut self, now: Time, packet: &Packet) {
        self.stack.receive(to_host(packet, PORT));
        self.stack.poll(now);
    }

    fn wake(&mut self, now: Time) {
        self.stack.poll(now);
    }

    fn wakes_at(&self) -> Option<Time> {
        self.stack.wakes_at()
    }

    fn transmit(&mut self, now: Time, packets: &mut Vec<Packet>) {
        self.flush();
        self.stack.poll(now);
        while let Some(bytes) = self.stack.transmit() {
            packets.extend(from_host(&bytes));
        }
    }

    fn write(&mut self, bytes: u64) -> u64 {
        self.pending += bytes;
        self.flush();
        bytes
    }

    fn close(&mut self, _: Time) {
        self.closes = true;
    }

    /// smoltcp shows none.
    fn variable(&self, _: &str) -> Option<f64> {
        None
    }
}
