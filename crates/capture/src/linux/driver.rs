//! The loop that joins the device, the stack and the far ends.

use super::carried::{Carried, End, refusal};
use super::tun::Tun;
use super::wakes::Wakes;
use crate::far::{Dialer, Reply, Resolver};
use crate::stack::{Config, Event, FlowId, QueryId, Stack};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use windlass_base::Time;

const TUN: Token = Token(0);
const WAKES: Token = Token(1);
/// Descriptors that [`Driver::turn`] reports.
const WATCHED: usize = 2;
const WATCHED_MAX: usize = 8;
/// Connections, by their index in the stack.
const FLOWS: usize = WATCHED + WATCHED_MAX;

/// Packets read from the device before the loop moves their bytes on.
const BATCH_PACKETS: usize = 16;
/// The size of the buffer between a far end and the stack, in bytes.
const COPY_BYTES: usize = 256 << 10;

/// Connections, queries and bytes of a capture.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Connections that the command has opened and the far end accepted.
    pub accepted: u64,
    /// Connections that the far end refused, or that failed before it accepted them.
    pub refused: u64,
    /// Accepted connections that the far end reset.
    pub failed: u64,
    /// DNS queries.
    pub queries: u64,
    /// Bytes from the command to far ends.
    pub bytes_up: u64,
    /// Bytes from far ends to the command.
    pub bytes_down: u64,
}

/// The loop and everything in it.
pub(super) struct Driver<'a> {
    dialer: &'a mut dyn Dialer,
    resolver: &'a mut dyn Resolver,
    stack: Stack,
    tun: Tun,
    /// The device may have further packets.
    tun_readable: bool,
    carried: BTreeMap<u32, Carried>,
    /// Indices of connections to advance, each once.
    due: Vec<u32>,
    wakes: Arc<Wakes>,
    poll: Poll,
    events: Events,
    start: Instant,
    buffer: Vec<u8>,
    counters: Counters,
}

impl<'a> Driver<'a> {
    pub(super) fn new(
        config: Config,
        tun: Tun,
        dialer: &'a mut dyn Dialer,
        resolver: &'a mut dyn Resolver,
    ) -> io::Result<Driver<'a>> {
        let mut seed = [0; 8];
        rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::empty())?;
        let poll = Poll::new()?;
        let source = tun.as_fd().as_raw_fd();
        poll.registry().register(&mut SourceFd(&source), TUN, Interest::READABLE)?;
        Ok(Driver {
            dialer,
            resolver,
            stack: Stack::new(config, u64::from_ne_bytes(seed)),
            tun,
            tun_readable: true,
            carried: BTreeMap::new(),
            due: Vec::new(),
            wakes: Wakes::new(mio::Waker::new(poll.registry(), WAKES)?),
            poll,
            events: Events::with_capacity(256),
            start: Instant::now(),
            buffer: vec![0; COPY_BYTES],
            counters: Counters::default(),
        })
    }

    /// Watches a descriptor, which [`Driver::turn`] reports by this number when it becomes readable or
    /// is closed at its other end.
    pub(super) fn watch(&self, number: usize, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        assert!(number < WATCHED_MAX);
        let token = Token(WATCHED + number);
        let source = descriptor.as_raw_fd();
        self.poll.registry().register(&mut SourceFd(&source), token, Interest::READABLE)
    }

    pub(super) fn counters(&self) -> Counters {
        self.counters
    }

    /// Waits for work, at most for `longest`, and does it. Returns the numbers of watched descriptors
    /// that have become readable.
    pub(super) fn turn(&mut self, longest: Option<Duration>) -> io::Result<Vec<usize>> {
        let watched = self.wait(longest)?;
        let now = self.now();
        self.read_packets(now)?;
        if self.stack.poll_timeout().is_some_and(|due| due <= now) {
            self.stack.handle_timeout(now);
        }
        self.handle_events(now);
        // Those that have not finished are due again on the next turn.
        for index in std::mem::take(&mut self.due) {
            self.advance(now, index);
        }
        self.handle_events(now);
        let (stack, tun) = (&mut self.stack, &self.tun);
        stack.transmit(now, &mut |packet| tun.write(&packet));
        Ok(watched)
    }

    /// Gives up connections that the far end has not accepted.
    pub(super) fn give_up_connecting(&mut self) {
        let connecting: Vec<u32> = self
            .carried
            .iter()
            .filter_map(|(index, carried)| carried.is_connecting().then_some(*index))
            .collect();
        for index in connecting {
            if let Some(carried) = self.remove(index) {
                self.counters.refused += 1;
                self.stack.abort(carried.flow);
                carried.abort();
            }
        }
    }

    /// Connections whose far end does not have all that the command sent.
    pub(super) fn undelivered(&self) -> usize {
        self.carried.values().filter(|carried| carried.is_undelivered()).count()
    }

    /// Ends all connections: resets those that are not delivered.
    pub(super) fn finish(mut self) -> Counters {
        for (_, carried) in std::mem::take(&mut self.carried) {
            if carried.is_undelivered() {
                carried.abort();
            }
        }
        self.counters
    }

    fn now(&self) -> Time {
        Time::from_nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn wait(&mut self, longest: Option<Duration>) -> io::Result<Vec<usize>> {
        let timeout = match self.stack.poll_timeout() {
            _ if self.tun_readable || !self.due.is_empty() => Some(Duration::ZERO),
            Some(due) => {
                let due = Duration::from_nanos(due.saturating_since(self.now()).as_nanos());
                Some(longest.map_or(due, |longest| longest.min(due)))
            }
            None => longest,
        };
        match self.poll.poll(&mut self.events, timeout) {
            Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        let mut watched = Vec::new();
        for event in &self.events {
            match event.token() {
                TUN => self.tun_readable = true,
                WAKES => {}
                Token(token) if token < FLOWS => watched.push(token - WATCHED),
                Token(token) => wake(&mut self.carried, &mut self.due, (token - FLOWS) as u32),
            }
        }
        self.take_wakes();
        Ok(watched)
    }

    fn take_wakes(&mut self) {
        let heard = self.wakes.take();
        for flow in heard.flows {
            if self.carried.get(&flow.index).is_some_and(|carried| carried.flow == flow) {
                wake(&mut self.carried, &mut self.due, flow.index);
            }
        }
        let now = self.now();
        for (query, answer) in heard.answers {
            self.stack.answer(now, query, answer);
        }
    }

    fn read_packets(&mut self, now: Time) -> io::Result<()> {
        for _ in 0..BATCH_PACKETS {
            if !self.tun_readable {
                break;
            }
            match self.tun.read()? {
                Some(packet) => {
                    self.stack.handle_packet(now, packet.bytes, packet.checksum_known_good);
                }
                None => self.tun_readable = false,
            }
        }
        Ok(())
    }

    fn handle_events(&mut self, now: Time) {
        while let Some(event) = self.stack.poll_event() {
            match event {
                Event::Connect { flow, to } => self.dial(now, flow, to),
                Event::Active(flow) => enqueue(&mut self.carried, &mut self.due, flow.index),
                Event::Reset(flow) => {
                    if let Some(carried) = self.remove(flow.index) {
                        carried.abort_after_reset(&mut self.stack);
                    }
                }
                Event::Query { query, message } => self.ask(query, &message),
            }
        }
    }

    fn dial(&mut self, now: Time, flow: FlowId, to: SocketAddr) {
        let far = match self.dialer.dial(to) {
            Ok(far) => far,
            Err(error) => {
                self.counters.refused += 1;
                return self.stack.refuse(flow, refusal(&error));
            }
        };
        let carried = Carried::new(flow, far, self.wakes.waker(flow));
        if let Some(socket) = carried.far().socket() {
            let token = Token(FLOWS + flow.index as usize);
            let source = socket.as_raw_fd();
            let both = Interest::READABLE | Interest::WRITABLE;
            if let Err(error) = self.poll.registry().register(&mut SourceFd(&source), token, both) {
                self.counters.refused += 1;
                return self.stack.refuse(flow, refusal(&error));
            }
        }
        self.carried.insert(flow.index, carried);
        self.advance(now, flow.index);
    }

    fn ask(&mut self, query: QueryId, message: &[u8]) {
        self.counters.queries += 1;
        let wakes = Arc::clone(&self.wakes);
        self.resolver.resolve(message, Reply::new(move |answer| wakes.answer(query, answer)));
    }

    fn advance(&mut self, now: Time, index: u32) {
        let Some(carried) = self.carried.get_mut(&index) else { return };
        carried.due = false;
        let connecting = carried.is_connecting();
        let advance = carried.advance(&mut self.stack, now, &mut self.buffer);
        self.counters.bytes_up += advance.up as u64;
        self.counters.bytes_down += advance.down as u64;
        if connecting && !carried.is_connecting() {
            self.counters.accepted += 1;
        }
        match advance.end {
            None if advance.unfinished => enqueue(&mut self.carried, &mut self.due, index),
            None => {}
            Some(end) => {
                self.counters.refused += u64::from(end == End::Refused);
                self.counters.failed += u64::from(end == End::Failed);
                // Dropped: an orderly end.
                self.remove(index);
            }
        }
    }

    fn remove(&mut self, index: u32) -> Option<Carried> {
        let carried = self.carried.remove(&index)?;
        if let Some(socket) = carried.far().socket() {
            // It fails only if the socket was not registered.
            let _ = self.poll.registry().deregister(&mut SourceFd(&socket.as_raw_fd()));
        }
        Some(carried)
    }
}

/// Makes a connection due whose far end is worth a call.
fn wake(carried: &mut BTreeMap<u32, Carried>, due: &mut Vec<u32>, index: u32) {
    if let Some(one) = carried.get_mut(&index) {
        one.far_is_ready();
    }
    enqueue(carried, due, index);
}

/// Makes a connection due.
fn enqueue(carried: &mut BTreeMap<u32, Carried>, due: &mut Vec<u32>, index: u32) {
    if let Some(one) = carried.get_mut(&index)
        && !one.due
    {
        one.due = true;
        due.push(index);
    }
}
