//! The loop that moves packets between devices and the network.

use super::device::Device;
use crate::{Lateness, Network, Transmit};
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
use windlass_base::{Span, Time};

/// Larger than any IP packet.
const PACKET_BYTES_MAX: usize = 65_536;
/// So many packets are read from one device before the others, and what is due, have their turn.
const BATCH_PACKETS: usize = 32;
/// While a device has more to read, the stop is looked for after so many batches.
const BUSY_ROUNDS: u64 = 8;
/// The longest sleep, for want of any reason to wake.
const IDLE: Span = Span::from_secs(1);

/// An observer that the carrier calls between packets.
pub trait Attendant {
    /// When it wants to look next.
    fn next_look(&self) -> Time;

    /// Its look. An error ends the run.
    fn look(&mut self, now: Time, carrier: &Carrier) -> io::Result<()>;
}

/// A network and the devices at its ports.
pub struct Carrier {
    network: Network,
    devices: Vec<Device>,
    start: Instant,
    /// Close to the time of a packet the processor is kept busy instead of sleeping.
    spin: Span,
    lateness: Lateness,
    refused: u64,
    buffer: Vec<u8>,
}

impl Carrier {
    /// A carrier for a network; `devices` are those of its ports, in their order. Within `spin` of
    /// the time of a packet it does not sleep: no wake-up is late then, and a core is busy.
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
            lateness: Lateness::default(),
            refused: 0,
            buffer: vec![0; PACKET_BYTES_MAX],
        }
    }

    /// Carries packets until `stop` becomes readable or is closed at its other end.
    ///
    /// # Errors
    ///
    /// A device is gone, or the attendant says so.
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
            // While there is more to read, all are asked at once; to stop and sleep there is time.
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

    /// Hands the network what has come in at a port; false once there is no more.
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

    /// Hands the devices what is due.
    fn write_due(&mut self) {
        while let Some(Transmit { port, due, frame }) = self.network.poll_transmit(self.now()) {
            // The kernel takes no packet while the device is down, nor what is none.
            match self.devices[port].write(frame.bytes()) {
                Ok(_) => self.lateness.record(self.now().saturating_since(due)),
                Err(_) => self.refused += 1,
            }
        }
    }

    /// Sleeps until something is due or comes in; true if it is time to stop.
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
    pub fn lateness(&self) -> &Lateness {
        &self.lateness
    }

    /// Packets that a device did not take, because it was down or they were no IP packets.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}

/// Lets the calling thread wake up on time, as far as it may.
fn be_prompt() {
    // The kernel may round sleeps up by 50 us else; it can refuse only numbers it cannot hold.
    let _ = set_timerslack(1);
    // Of real time, for else it waits up to 3 ms for the slice of a program that computes. The
    // least of those priorities: work of the kernel goes first. Without root's privileges the
    // call fails, and the thread keeps its ordinary priority.
    let fifo = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    let _ = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, fifo);
}
