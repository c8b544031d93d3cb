//! The loop: packets, the clock and the sockets for any number of probes.

use super::socket::{Port, Receiver, Sender, source_for};
use crate::probe::{Order, Probe, Report};
use crate::session::{Session, Step};
use crate::wire::{self, Flow};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};
use std::ops::RangeInclusive;
use std::os::fd::AsFd;
use std::time::Instant;
use windlass_base::{Rng, Time};

/// Ports of our own: above those that Linux gives to others by default.
const PORTS: RangeInclusive<u16> = 61_000..=65_535;
/// The largest packet that the kernel makes of segments, and the header before it.
const PACKET_BYTES_MAX: usize = 1 << 17;
/// Packets between two looks at the clock.
const BATCH_PACKETS: usize = 64;

/// Probes under way, and the sockets that carry them.
pub struct Driver {
    start: Instant,
    receiver: Receiver,
    sender: Sender,
    rng: Rng,
    probes: BTreeMap<Flow, Slot>,
    timers: BTreeSet<(Time, Flow)>,
    done: Vec<(u64, Report)>,
    buffer: Vec<u8>,
}

struct Slot {
    probe: Probe,
    token: u64,
    timer: Option<Time>,
    /// Held until the probe is over.
    _port: Port,
}

impl Driver {
    /// Opens the sockets.
    ///
    /// # Errors
    ///
    /// Says which capability is missing and how to give it.
    pub fn open() -> io::Result<Driver> {
        let told = |error: io::Error| match error.kind() {
            ErrorKind::PermissionDenied => io::Error::new(
                error.kind(),
                "needs the capability CAP_NET_RAW: run it as root, or give it to the program: \
                 sudo setcap cap_net_raw+ep $(command -v windlass)",
            ),
            _ => io::Error::new(error.kind(), format!("cannot open a raw socket: {error}")),
        };
        Ok(Driver {
            start: Instant::now(),
            receiver: Receiver::open(&PORTS).map_err(told)?,
            sender: Sender::open().map_err(told)?,
            // The standard library's hash maps are seeded by the operating system.
            rng: Rng::new(RandomState::new().hash_one("windlass")),
            probes: BTreeMap::new(),
            timers: BTreeSet::new(),
            done: Vec::new(),
            buffer: vec![0; PACKET_BYTES_MAX],
        })
    }

    /// The time since the driver was opened.
    pub fn now(&self) -> Time {
        since(self.start)
    }

    /// Begins a connection; [`Driver::poll`] tells what came of it under the same token.
    ///
    /// # Errors
    ///
    /// No port is free.
    pub fn connect(&mut self, token: u64, remote: SocketAddr, order: Order) -> io::Result<()> {
        let now = self.now();
        let isn = self.rng.bits() as u32;
        let Ok(source) = source_for(remote) else {
            let local = SocketAddr::new(remote.ip(), 0);
            let mut probe = Probe::new(order, Flow { local, remote }, isn, now);
            probe.handle_no_route();
            self.done.extend(probe.report().map(|report| (token, report.clone())));
            return Ok(());
        };
        let port = self.free_port(SocketAddr::new(source, 0), remote)?;
        let flow = Flow { local: port.address, remote };
        let probe = Probe::new(order, flow, isn, now);
        let slot = Slot { probe, token, timer: None, _port: port };
        self.probes.insert(flow.plain(), slot);
        self.serve(flow.plain());
        Ok(())
    }

    fn free_port(&mut self, source: SocketAddr, remote: SocketAddr) -> io::Result<Port> {
        let count = u64::from(PORTS.end() - PORTS.start()) + 1;
        let first = self.rng.below(count);
        let mut last = io::Error::from(ErrorKind::AddrInUse);
        for step in 0..count {
            let port = PORTS.start() + ((first + step) % count) as u16;
            // A link-local address has a scope, which the server's has, too.
            let mut local = match remote {
                SocketAddr::V6(scoped) => {
                    let mut local = scoped;
                    if let std::net::IpAddr::V6(ip) = source.ip() {
                        local.set_ip(ip);
                    }
                    local.into()
                }
                SocketAddr::V4(_) => source,
            };
            local.set_port(port);
            match Port::take(local) {
                Ok(port) => return Ok(port),
                Err(error) if error.kind() == ErrorKind::AddrInUse => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    /// Waits until something happens, and gives the reports of connections that are over.
    ///
    /// # Errors
    ///
    /// The sockets fail.
    pub fn poll(&mut self) -> io::Result<Vec<(u64, Report)>> {
        if self.done.is_empty() {
            self.wait()?;
            self.receive()?;
            self.expire();
        }
        Ok(std::mem::take(&mut self.done))
    }

    fn wait(&self) -> io::Result<()> {
        let Some((due, _)) = self.timers.first() else { return Ok(()) };
        let ms = due.saturating_since(self.now()).as_nanos().div_ceil(1_000_000);
        let timeout = PollTimeout::try_from(ms.min(1000)).unwrap_or(PollTimeout::ZERO);
        let mut fds = [PollFd::new(self.receiver.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, timeout) {
            Err(nix::errno::Errno::EINTR) | Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn receive(&mut self) -> io::Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        for _ in 0..BATCH_PACKETS {
            let now = self.now();
            let Some((packet, meta)) = self.receiver.receive(&mut buffer)? else { break };
            let Some(incoming) = wire::parse(packet, meta) else { continue };
            if let Some(slot) = self.probes.get_mut(&incoming.flow) {
                slot.probe.handle_packet(now, &incoming.kind);
                self.serve(incoming.flow);
            }
        }
        self.buffer = buffer;
        Ok(())
    }

    fn expire(&mut self) {
        let now = self.now();
        while let Some((due, flow)) = self.timers.first().copied()
            && due <= now
        {
            self.timers.remove(&(due, flow));
            if let Some(slot) = self.probes.get_mut(&flow) {
                slot.timer = None;
                slot.probe.handle_timeout(now);
                self.serve(flow);
            }
        }
    }

    /// Sends what a probe has to send, sets its timer, and takes it away if it is over.
    fn serve(&mut self, flow: Flow) {
        let start = self.start;
        let Some(slot) = self.probes.get_mut(&flow) else { return };
        let mut packet = Vec::new();
        // A clock for each: sending takes time, and pauses count from there.
        while slot.probe.poll_transmit(since(start), &mut packet) {
            if let Err(error) = self.sender.send(&packet, slot.probe.flow().remote)
                && is_lasting(&error)
            {
                slot.probe.handle_no_route();
            }
            packet.clear();
        }
        if let Some(old) = slot.timer.take() {
            self.timers.remove(&(old, flow));
        }
        slot.timer = slot.probe.poll_timeout();
        if let Some(due) = slot.timer {
            self.timers.insert((due, flow));
        }
        if let Some(report) = slot.probe.report() {
            self.done.push((slot.token, report.clone()));
            self.probes.remove(&flow);
        }
    }
}

fn since(start: Instant) -> Time {
    Time::from_nanos(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

/// Not a queue that is full now: there is no way, or a firewall forbids it.
fn is_lasting(error: &io::Error) -> bool {
    use ErrorKind::{HostUnreachable, NetworkUnreachable, PermissionDenied, Unsupported};
    matches!(error.kind(), NetworkUnreachable | HostUnreachable | PermissionDenied | Unsupported)
}

/// Does all that a session wants, one thing after the other; `look` is called after each.
///
/// # Errors
///
/// The driver's.
pub fn measure(
    driver: &mut Driver,
    session: &mut Session,
    mut look: impl FnMut(&Session),
) -> io::Result<()> {
    loop {
        match session.step() {
            Step::Done => return Ok(()),
            Step::Resolve { host, port } => {
                let addresses = (host.as_str(), port).to_socket_addrs();
                let addresses = addresses.map(Iterator::collect::<Vec<_>>);
                session.handle_addresses(addresses.map_err(|error| error.to_string()));
            }
            Step::Connect { remote, order } => {
                driver.connect(0, remote, *order)?;
                let report = loop {
                    if let Some((_, report)) = driver.poll()?.pop() {
                        break report;
                    }
                };
                session.handle_report(report);
            }
        }
        look(session);
    }
}
