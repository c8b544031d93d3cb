//! The loop: packets, the clock and the sockets for any number of probes.

use super::ended::Ended;
use super::ports::{PORTS, Ports};
use super::socket::{Receiver, Sender, source_for};
use crate::probe::Probe;
use crate::topic::{Order, Report};
use crate::wire::{self, Flow, Incoming, Kind};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Instant;
use windlass_base::{Deadlines, Rng, Span, Time};
use windlass_tcp::Flags;

/// The largest packet that the kernel makes of segments, and the header before it.
const PACKET_BYTES_MAX: usize = 1 << 17;
/// The most packets between two checks of the timers.
const BATCH_PACKETS: usize = 4096;

/// Probes under way, and the sockets that carry them.
pub struct Driver {
    start: Instant,
    receiver: Receiver,
    sender: Sender,
    ports: Ports,
    /// Addresses of this machine from which probes have sent.
    sources: BTreeSet<IpAddr>,
    rng: Rng,
    probes: BTreeMap<Flow, Box<Slot>>,
    timers: Deadlines<Flow>,
    ended: Ended,
    done: Vec<(u64, Report)>,
    buffer: Vec<u8>,
    /// Buffer of the packet to send.
    packet: Vec<u8>,
}

struct Slot {
    probe: Probe,
    token: u64,
    timer: Option<Time>,
    reported: bool,
}

impl Driver {
    /// Opens the sockets.
    ///
    /// # Errors
    ///
    /// The error names the missing capability and how to grant it.
    pub fn open() -> io::Result<Driver> {
        let explained = |error: io::Error| match error.kind() {
            ErrorKind::PermissionDenied => io::Error::new(
                error.kind(),
                "needs the capability CAP_NET_RAW: run it as root, or give it to the program: \
                 sudo setcap cap_net_raw+ep $(command -v windlass)",
            ),
            _ => io::Error::new(error.kind(), format!("cannot open a raw socket: {error}")),
        };
        Ok(Driver {
            start: Instant::now(),
            receiver: Receiver::open(&PORTS).map_err(explained)?,
            sender: Sender::open().map_err(explained)?,
            ports: Ports::default(),
            sources: BTreeSet::new(),
            // The standard library's hash maps are seeded by the operating system.
            rng: Rng::new(RandomState::new().hash_one("windlass")),
            probes: BTreeMap::new(),
            timers: Deadlines::default(),
            ended: Ended::default(),
            done: Vec::new(),
            buffer: vec![0; PACKET_BYTES_MAX],
            packet: Vec::new(),
        })
    }

    /// The time since the driver was opened.
    pub(crate) fn now(&self) -> Time {
        since(self.start)
    }

    /// Begins a connection; [`Driver::poll`] returns its report with the same token.
    ///
    /// # Errors
    ///
    /// No port is free.
    pub(crate) fn connect(
        &mut self,
        token: u64,
        remote: SocketAddr,
        order: Order,
    ) -> io::Result<()> {
        let now = self.now();
        let isn = self.rng.bits() as u32;
        let Ok(source) = source_for(remote) else {
            let local = SocketAddr::new(remote.ip(), 0);
            let mut probe = Probe::new(order, Flow { local, remote }, isn, now);
            probe.handle_no_route();
            self.done.extend(probe.report().map(|report| (token, report.clone())));
            return Ok(());
        };
        let flow = |port: u16| Flow { local: SocketAddr::new(source, port), remote };
        let (probes, ended) = (&self.probes, &self.ended);
        let is_unknown = |port: u16| !probes.contains_key(&flow(port).plain());
        let is_fresh = |port: u16| is_unknown(port) && !ended.contains(&flow(port).plain());
        let port = match self.ports.pick(&mut self.rng, remote.is_ipv6(), is_fresh) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                self.ports.pick(&mut self.rng, remote.is_ipv6(), is_unknown)?
            }
            picked => picked?,
        };
        self.sources.insert(source);
        let flow = flow(port);
        let probe = Probe::new(order, flow, isn, now);
        self.probes
            .insert(flow.plain(), Box::new(Slot { probe, token, timer: None, reported: false }));
        self.serve(flow.plain());
        Ok(())
    }

    /// Packets lost on this machine since the last call: they arrived faster than the driver read them.
    pub fn dropped(&self) -> u64 {
        self.receiver.dropped()
    }

    /// Ends all connections with a reset, without a report.
    pub(crate) fn reset_all(&mut self) {
        for flow in self.probes.keys().copied().collect::<Vec<Flow>>() {
            if let Some(slot) = self.probes.get_mut(&flow) {
                slot.probe.abort();
                self.serve(flow);
            }
        }
        self.done.clear();
    }

    /// Waits for packets and timers, at most `wait_max`, and returns the reports of the connections that
    /// have ended.
    ///
    /// # Errors
    ///
    /// The sockets fail.
    pub(crate) fn poll(&mut self, wait_max: Span) -> io::Result<Vec<(u64, Report)>> {
        if self.done.is_empty() {
            self.wait(wait_max)?;
            let drained = self.receive()?;
            self.expire(drained);
        }
        Ok(std::mem::take(&mut self.done))
    }

    fn wait(&self, wait_max: Span) -> io::Result<()> {
        let now = self.now();
        let due = self.timers.next().unwrap_or(now + wait_max);
        let wait = due.saturating_since(now).min(wait_max);
        let ms = wait.as_nanos().div_ceil(1_000_000);
        let timeout = PollTimeout::try_from(ms).unwrap_or(PollTimeout::ZERO);
        let mut fds = [PollFd::new(self.receiver.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, timeout) {
            Err(nix::errno::Errno::EINTR) | Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads the packets that have arrived. Returns the time up to which all packets were read, so that
    /// a busy machine does not mistake its own late reading for a silent server.
    fn receive(&mut self) -> io::Result<Time> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut now = self.now();
        for _ in 0..BATCH_PACKETS {
            let Some((packet, meta)) = self.receiver.receive(&mut buffer)? else { break };
            if let Some(incoming) = wire::parse(packet, meta) {
                self.handle(self.now(), &incoming);
            }
            now = self.now();
        }
        self.buffer = buffer;
        Ok(now)
    }

    fn handle(&mut self, now: Time, incoming: &Incoming<'_>) {
        match self.probes.get_mut(&incoming.flow) {
            Some(slot) => {
                slot.probe.handle_packet(now, &incoming.kind);
                self.serve(incoming.flow);
            }
            None => self.answer_stranger(now, incoming),
        }
    }

    /// Resets a connection that has ended here: a server that lost the reset would send for minutes.
    fn answer_stranger(&mut self, now: Time, incoming: &Incoming<'_>) {
        let (Flow { local, remote }, Kind::Segment(received)) = (incoming.flow, &incoming.kind)
        else {
            return;
        };
        // The socket also sees packets that this machine forwards to others.
        let ours = self.ports.is_ours(local.is_ipv6(), local.port())
            && self.sources.contains(&local.ip())
            && self.ended.is_past(now, &incoming.flow)
            && !received.segment.flags.contains(Flags::SYN);
        if let Some(reset) = received.segment.reset_reply().filter(|_| ours) {
            self.packet.clear();
            wire::emit(&incoming.flow, &reset, &[], 0, &mut self.packet);
            // A failure does no harm: the server will retransmit.
            let _ = self.sender.send(&self.packet, remote);
        }
    }

    /// Runs the timers that were due at `drained`.
    fn expire(&mut self, drained: Time) {
        while let Some((_, flow)) = self.timers.pop(drained) {
            if let Some(slot) = self.probes.get_mut(&flow) {
                slot.timer = None;
                slot.probe.handle_timeout(since(self.start));
                self.serve(flow);
            }
        }
    }

    /// Sends the packets of a probe, sets its timer, and removes it if it is over.
    fn serve(&mut self, flow: Flow) {
        let start = self.start;
        let Some(slot) = self.probes.get_mut(&flow) else { return };
        // Read the clock for each packet: sending takes time, and pauses start after it.
        self.packet.clear();
        while slot.probe.poll_transmit(since(start), &mut self.packet) {
            if let Err(error) = self.sender.send(&self.packet, slot.probe.flow().remote)
                && is_lasting(&error)
            {
                slot.probe.handle_no_route();
            }
            self.packet.clear();
        }
        self.timers.set(&mut slot.timer, slot.probe.poll_timeout(), flow);
        let token = slot.token;
        if let Some(report) = slot.probe.report().filter(|_| !slot.reported) {
            self.done.push((token, report.clone()));
            slot.reported = true;
        }
        if slot.probe.is_over() {
            let opened_way = slot.probe.report().is_some_and(Report::opens_way);
            self.probes.remove(&flow);
            self.ended.add(since(start), flow);
            if !opened_way {
                self.release(token);
            }
        }
    }

    /// Ends the connections that were held for the one with this token.
    fn release(&mut self, token: u64) {
        let held = |slot: &Slot| slot.token == token && slot.probe.is_held();
        let flows: Vec<Flow> =
            self.probes.iter().filter(|(_, slot)| held(slot)).map(|(flow, _)| *flow).collect();
        for flow in flows {
            if let Some(slot) = self.probes.get_mut(&flow) {
                slot.probe.abort();
                self.serve(flow);
            }
        }
    }
}

fn since(start: Instant) -> Time {
    Time::from_nanos(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

/// Whether sending will fail again: no route, or a firewall forbids it. A full queue is temporary.
fn is_lasting(error: &io::Error) -> bool {
    use ErrorKind::{HostUnreachable, NetworkUnreachable, PermissionDenied, Unsupported};
    matches!(error.kind(), NetworkUnreachable | HostUnreachable | PermissionDenied | Unsupported)
}
