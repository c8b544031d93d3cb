//! The loop that moves packets between devices and the network.

use crate::{Network, Transmit};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};
use windlass_base::{Sketch, Span, Time};
use windlass_namespace::Device;

/// Larger than any IP packet.
const PACKET_BYTES_MAX: usize = 65_536;
/// Packets read from one device before the loop serves the other devices and sends due packets.
const BATCH_PACKETS: usize = 32;
/// While a device has more packets to read, the loop checks for a stop only after this many rounds.
const BUSY_ROUNDS: u64 = 8;
/// The longest sleep, when nothing is due.
const IDLE: Span = Span::from_secs(1);

/// An observer that the carrier calls between packets.
pub trait Attendant {
    /// The time of the next call of [`Attendant::look`].
    fn next_look(&self) -> Time;

    /// Observes the carrier at `now`.
    ///
    /// # Errors
    ///
    /// Any error ends the run; [`Carrier::run`] returns it.
    fn look(&mut self, now: Time, carrier: &Carrier) -> io::Result<()>;
}

/// A network and the devices at its ports.
pub struct Carrier {
    network: Network,
    devices: Vec<Device>,
    start: Instant,
    /// Within this time of the next due packet the loop spins instead of sleeping.
    spin: Span,
    lateness: Sketch,
    refused: u64,
    buffer: Vec<u8>,
}

impl Carrier {
    /// A carrier for a network; `devices` are those of its ports, in order. Within `spin` of the next
    /// due packet the loop does not sleep: it avoids late wake-ups and keeps a core busy.
    ///
    /// # Panics
    ///
    /// If there are not as many devices as ports.
    pub fn new(network: Network, devices: Vec<Device>, spin: Span) -> Carrier {
        assert_eq!(network.ports(), devices.len(), "a device for each port");
        Carrier {
            network,
            devices,
            start: Instant::now(),
            spin,
            lateness: Sketch::default(),
            refused: 0,
            buffer: vec![0; PACKET_BYTES_MAX],
        }
    }

    /// Carries packets until `stop` becomes readable or is closed at its other end.
    ///
    /// # Errors
    ///
    /// A device no longer exists, or the attendant returns an error.
    pub fn run(&mut self, stop: BorrowedFd<'_>, attendant: &mut dyn Attendant) -> io::Result<()> {
        be_prompt();
        let mut readable = vec![true; self.devices.len()];
        for round in 0u64.. {
            for (port, readable) in readable.iter_mut().enumerate() {
                if *readable {
                    *readable = self.read(port)?;
                }
            }
            self.write_due();
            if attendant.next_look() <= self.now() {
                attendant.look(self.now(), self)?;
            }
            // While a device has more to read, go on without a poll; the stop can wait a few rounds.
            if readable.contains(&true) && !round.is_multiple_of(BUSY_ROUNDS) {
                readable.fill(true);
            } else if self.wait(stop, attendant.next_look(), &mut readable)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The time since the carrier was made.
    pub fn now(&self) -> Time {
        Time::from_nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Reads a batch of packets from a port's device into the network; false if no more is waiting.
    fn read(&mut self, port: usize) -> io::Result<bool> {
        for _ in 0..BATCH_PACKETS {
            match self.devices[port].read(&mut self.buffer) {
                Ok(len) => {
                    self.network.handle_packet(self.now(), port, self.buffer[..len].to_vec());
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    let message = format!("the device of port {port} is gone: {error}");
                    return Err(io::Error::new(error.kind(), message));
                }
            }
        }
        Ok(true)
    }

    /// Writes the due packets to the devices.
    fn write_due(&mut self) {
        while let Some(Transmit { port, due, frame }) = self.network.poll_transmit(self.now()) {
            // The kernel refuses packets while the device is down, and bytes that are no IP packet.
            match self.devices[port].write(frame.bytes()) {
                Ok(_) => self.lateness.record(self.now().saturating_since(due)),
                Err(_) => self.refused += 1,
            }
        }
    }

    /// Sleeps until a packet is due or arrives; true if it is time to stop.
    fn wait(&self, stop: BorrowedFd<'_>, look: Time, readable: &mut [bool]) -> io::Result<bool> {
        let now = self.now();
        let due = self.network.poll_timeout().map_or(Time::MAX, |due| self.before_spin(due));
        let span = if readable.contains(&true) {
            Span::ZERO
        } else {
            due.min(look).saturating_since(now).min(IDLE)
        };
        let mut fds: Vec<PollFd<'_>> = vec![PollFd::new(stop, PollFlags::POLLIN)];
        fds.extend(self.devices.iter().map(|d| PollFd::new(d.as_fd(), PollFlags::POLLIN)));
        let timeout = TimeSpec::from_duration(Duration::from_nanos(span.as_nanos()));
        match ppoll(&mut fds, Some(timeout), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        for (readable, fd) in readable.iter_mut().zip(&fds[1..]) {
            *readable |= fd.any().unwrap_or(true);
        }
        Ok(fds[0].any().unwrap_or(true))
    }

    fn before_spin(&self, due: Time) -> Time {
        Time::from_nanos(due.as_nanos().saturating_sub(self.spin.as_nanos()))
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// How late packets left, measured after each was handed to its device.
    pub fn lateness(&self) -> &Sketch {
        &self.lateness
    }

    /// Packets that a device refused: it was down, or they were no IP packets.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}

/// Makes the calling thread wake up on time, as well as its privileges permit.
fn be_prompt() {
    // By default the kernel rounds sleeps up by 50 us. It refuses only numbers that it cannot hold.
    let _ = set_timerslack(1);
    // Real-time scheduling: otherwise the thread waits up to 3 ms for the time slice of another
    // program. The lowest real-time priority lets the kernel's own threads run first. Without root's privileges the
    // call fails, and the thread keeps its ordinary priority.
    let fifo = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    let _ = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, fifo);
}
