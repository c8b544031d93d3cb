//! A socket of the kernel as a sender. Its clock is the system's.

use super::counters::Counters;
use super::diagnosis::{Diagnosis, State};
use crate::packets;
use crate::subject::{Packet, Sender};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::cell::Cell;
use std::fmt;
use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};
use windlass_base::{Span, Time};
use windlass_namespace::Device;

/// The data that the application writes.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// A connection of the kernel, over a device whose other end is the judge.
pub(super) struct KernelSender {
    pub(super) socket: TcpStream,
    pub(super) port: u16,
    pub(super) device: Device,
    pub(super) diagnosis: Diagnosis,
    pub(super) counters: Counters,
    pub(super) clock: Clock,
    /// Written, but not taken by the socket: it takes nothing before the handshake is over.
    pub(super) pending: u64,
    pub(super) closes: bool,
    /// The state since the last call that may have changed it.
    pub(super) state: Cell<Option<State>>,
}

impl fmt::Debug for KernelSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelSender").field("port", &self.port).finish_non_exhaustive()
    }
}

/// The system's clock, with the origin of a bed.
#[derive(Debug)]
pub(super) struct Clock {
    began: Instant,
    at: Time,
}

impl Clock {
    /// It is `at` now.
    pub(super) fn starting(at: Time) -> Clock {
        Clock { began: Instant::now(), at }
    }

    fn now(&self) -> Time {
        self.at + Span::from_nanos(self.began.elapsed().as_nanos() as u64)
    }
}

impl KernelSender {
    /// Gives the socket what it takes.
    fn flush(&mut self) {
        while self.pending > 0 {
            let len = ZEROS.len().min(self.pending as usize);
            match self.socket.write(&ZEROS[..len]) {
                Ok(taken) => self.pending -= taken as u64,
                // The connection is not open yet, or has failed: the packets show it.
                Err(_) => return,
            }
        }
        if self.closes {
            self.closes = self.socket.shutdown(Shutdown::Write).is_err();
        }
    }

    /// Waits for a packet, but not beyond `span`.
    fn wait_for_packet(&self, span: Span) {
        let timeout = TimeSpec::from_duration(Duration::from_nanos(span.as_nanos()));
        let mut fds = [PollFd::new(self.device.as_fd(), PollFlags::POLLIN)];
        // A signal ends it early, which does no harm.
        let _ = ppoll(&mut fds, Some(timeout), None);
    }
}

impl Sender for KernelSender {
    /// The kernel has processed the packet when the call returns, and its answers wait in the device.
    fn receive(&mut self, _: Time, packet: &Packet) {
        self.state.set(None);
        // A device that refuses loses the packet, as a network may.
        let _ = self.device.write(&packets::to_host(packet, self.port));
    }

    fn wake(&mut self, _: Time) {}

    fn wakes_at(&self) -> Option<Time> {
        None
    }

    fn transmit(&mut self, _: Time, packets: &mut Vec<Packet>) {
        self.flush();
        let mut buffer = [0; 2048];
        while let Ok(len) = self.device.read(&mut buffer) {
            self.state.set(None);
            packets.extend(packets::from_host(&buffer[..len]));
        }
    }

    fn write(&mut self, bytes: u64) -> u64 {
        self.state.set(None);
        self.pending += bytes;
        self.flush();
        bytes
    }

    fn close(&mut self, _: Time) {
        self.state.set(None);
        self.closes = true;
        self.flush();
    }

    fn wait(&mut self, until: Time) -> Time {
        let now = self.clock.now();
        if now >= until {
            return now;
        }
        self.state.set(None);
        self.wait_for_packet(until.saturating_since(now));
        self.clock.now()
    }

    fn variable(&self, name: &str) -> Option<f64> {
        match name {
            "timeouts" => self.counters.sum(&["TCPTimeouts"]),
            "fast_retransmits" => self.counters.sum(&["TCPSackRecovery", "TCPRenoRecovery"]),
            "undone_cuts" => {
                self.counters.sum(&["TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo", "TCPLossUndo"])
            }
            _ => {
                if self.state.get().is_none() {
                    self.state.set(self.diagnosis.ask());
                }
                self.state.get()?.variable(name)
            }
        }
    }
}
