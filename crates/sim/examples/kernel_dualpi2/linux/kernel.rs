//! The kernel's sch_dualpi2 on a TUN device, driven at the times of a simulation.

use super::held::{Held, Parcel};
use rustix::io::Errno;
use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{Timespec, clock_gettime};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::num::NonZeroU64;
use std::process::Command;
use std::time::Duration;
use tun_rs::{DeviceBuilder, SyncDevice};
use windlass_base::{Ecn, Span, Time};

const DEVICE: &str = "dualpi2";
const MTU_BYTES: usize = 1500;
const NEAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// More than the packets that may wait: those on their way count at their socket.
const SEND_BUFFER_BYTES: usize = 64 << 20;
const IPV4_HEADER_BYTES: usize = 20;
/// How long the kernel may take to move the next packet into the device, and how often to look.
const REFILL: Duration = Duration::from_micros(5);
const REFILLS: u32 = 4;
/// IPPROTO_RAW: whoever sends writes the IP header.
const RAW: i32 = 255;
/// For experiments (RFC 3692), so that no part of the kernel takes the packets for its own.
const PROTOCOL: u8 = 253;

/// The kernel's clock, counted from the start of a run.
struct Clock {
    origin: Timespec,
    /// The latest that the run was behind its times.
    late: Span,
}

impl Clock {
    fn start() -> Clock {
        Clock { origin: clock_gettime(rustix::time::ClockId::Monotonic), late: Span::ZERO }
    }

    fn now(&self) -> Time {
        let since = clock_gettime(rustix::time::ClockId::Monotonic) - self.origin;
        Time::from_nanos(since.tv_sec as u64 * 1_000_000_000 + since.tv_nsec as u64)
    }

    /// Waits until a time of the run.
    fn wait_until(&mut self, time: Time) {
        if self.now() < time {
            let nanos = time.as_nanos();
            let after = Timespec {
                tv_sec: (nanos / 1_000_000_000) as i64,
                tv_nsec: (nanos % 1_000_000_000) as _,
            };
            let due = self.origin + after;
            while clock_nanosleep_absolute(ClockId::Monotonic, &due).is_err() {}
        }
        self.late = self.late.max(self.now().saturating_since(time));
    }
}

/// The module behind a TUN device whose transmit queue holds one packet.
pub(crate) struct Linux {
    clock: Clock,
    device: SyncDevice,
    socket: Socket,
    to: SockAddr,
    /// The packets of each queue, in order: classic, low latency.
    waiting: [VecDeque<Parcel>; 2],
    buffer: Vec<u8>,
}

impl Linux {
    /// A new device with the module's queue, empty.
    ///
    /// # Errors
    ///
    /// The kernel lacks TUN devices or the module, or the process is not root.
    pub(crate) fn new() -> io::Result<Linux> {
        set_current_timer_slack(NonZeroU64::new(1))?;
        let device = open_device()?;
        let socket = open_socket()?;
        let to = SocketAddrV4::new(FAR, 0).into();
        let buffer = vec![0; MTU_BYTES];
        let mut linux = Linux {
            clock: Clock::start(),
            device,
            socket,
            to,
            waiting: Default::default(),
            buffer,
        };
        // Whatever the kernel sent when the device came up.
        while linux.device.recv(&mut linux.buffer).is_ok() {}
        linux.clock = Clock::start();
        Ok(linux)
    }

    /// The latest that a call was behind its time.
    pub(crate) fn late(&self) -> Span {
        self.clock.late
    }

    /// Packets that the queue dropped since it was made.
    ///
    /// # Errors
    ///
    /// `tc` does not tell.
    pub(crate) fn dropped(&self) -> io::Result<u64> {
        let shown = run(&["tc", "-s", "qdisc", "show", "dev", DEVICE])?;
        let dropped = shown.split("dropped ").nth(1).and_then(|rest| rest.split(',').next());
        dropped
            .and_then(|number| number.parse().ok())
            .ok_or_else(|| io::Error::other(format!("tc: {shown}")))
    }

    /// Reads the packet in the device, if there is one.
    fn receive(&mut self) -> io::Result<bool> {
        for _ in 0..REFILLS {
            match self.device.recv(&mut self.buffer) {
                Ok(_) => return Ok(true),
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                Err(_) if self.waiting.iter().all(VecDeque::is_empty) => break,
                // A thread of the kernel moves the next packet into the device, after this one's last read.
                Err(_) => std::thread::sleep(REFILL),
            }
        }
        Ok(false)
    }

    /// The packet that left, and those of its queue that were in front of it: the module has dropped them.
    fn find(
        &mut self,
        number: u64,
        ecn: Ecn,
        low: bool,
        lost: &mut Vec<Parcel>,
    ) -> io::Result<Parcel> {
        let waiting = &mut self.waiting[usize::from(low)];
        while let Some(mut parcel) = waiting.pop_front() {
            if parcel.number == number {
                parcel.ecn = ecn;
                return Ok(parcel);
            }
            lost.push(parcel);
        }
        Err(io::Error::other(format!("packet {number} left the queue out of order")))
    }
}

impl Held for Linux {
    fn offer(&mut self, now: Time, parcel: Parcel, lost: &mut Vec<Parcel>) -> io::Result<()> {
        self.clock.wait_until(now);
        let low = matches!(parcel.ecn, Ecn::Ect1 | Ecn::Ce);
        let packet = packet(&parcel, low);
        match self.socket.send_to(&packet, &self.to) {
            Ok(_) => self.waiting[usize::from(low)].push_back(parcel),
            // The queue is at its limit.
            Err(error) if error.raw_os_error() == Some(Errno::NOBUFS.raw_os_error()) => {
                lost.push(parcel)
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn take(&mut self, now: Time, lost: &mut Vec<Parcel>) -> io::Result<Option<Parcel>> {
        self.clock.wait_until(now);
        if !self.receive()? {
            self.waiting.iter_mut().for_each(|waiting| lost.extend(waiting.drain(..)));
            return Ok(None);
        }
        let (number, ecn, low) = read(&self.buffer);
        self.find(number, ecn, low, lost).map(Some)
    }
}

/// A TUN device with room for one packet, which stops its queue while it has one.
fn open_device() -> io::Result<SyncDevice> {
    let builder = DeviceBuilder::new().name(DEVICE).backpressure(true).enable(false);
    let device = builder.build_sync()?;
    device.set_nonblocking(true)?;
    // No packets but ours: no router solicitations, and below no reports of groups.
    std::fs::write(format!("/proc/sys/net/ipv6/conf/{DEVICE}/disable_ipv6"), "1")?;
    let network = format!("{NEAR}/24");
    run(&["ip", "address", "add", &network, "dev", DEVICE])?;
    run(&["ip", "link", "set", "dev", DEVICE, "txqueuelen", "1", "up", "multicast", "off"])?;
    run(&["tc", "qdisc", "replace", "dev", DEVICE, "root", "handle", "1:", "dualpi2"])?;
    Ok(device)
}

/// A raw socket that never waits.
fn open_socket() -> io::Result<Socket> {
    std::fs::write("/proc/sys/net/core/wmem_max", SEND_BUFFER_BYTES.to_string())?;
    let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(RAW)))?;
    socket.set_send_buffer_size(SEND_BUFFER_BYTES / 2)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// An IPv4 packet with the number of a parcel, and whether it is of low latency.
fn packet(parcel: &Parcel, low: bool) -> Vec<u8> {
    let mut bytes = vec![0; parcel.bytes as usize];
    bytes[0] = 0x45;
    bytes[1] = parcel.ecn.bits();
    bytes[2..4].copy_from_slice(&(parcel.bytes as u16).to_be_bytes());
    bytes[8] = 64;
    bytes[9] = PROTOCOL;
    bytes[12..16].copy_from_slice(&NEAR.octets());
    bytes[16..20].copy_from_slice(&FAR.octets());
    let body = &mut bytes[IPV4_HEADER_BYTES..];
    body[..8].copy_from_slice(&parcel.number.to_be_bytes());
    body[8] = low.into();
    bytes
}

fn read(packet: &[u8]) -> (u64, Ecn, bool) {
    let body = &packet[IPV4_HEADER_BYTES..];
    let number = body[..8].try_into().expect("eight bytes");
    (u64::from_be_bytes(number), Ecn::from_bits(packet[1]), body[8] == 1)
}

fn run(command: &[&str]) -> io::Result<String> {
    let output = Command::new(command[0]).args(&command[1..]).output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{}: {}", command.join(" "), message.trim())))
}
