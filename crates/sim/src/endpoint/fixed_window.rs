//! A small transport: a fixed window of datagrams, each acknowledged, lost ones sent again after a timeout.

use super::{
    Datagram, Endpoint, EndpointApp, EndpointEvent, EndpointFactory, EndpointParams,
    EndpointStatus, Side, Transmit,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use windlass_base::{Ecn, Span, Time};

/// The kind `fixed-window` of scenario files: a bulk sender without congestion control. A window of one datagram is
/// stop and wait. It shows how an [`Endpoint`] is written, and loads a path in a way that is easy to calculate.
#[derive(Copy, Clone, Debug)]
pub struct FixedWindow {
    /// Datagrams in flight at most; 0 counts as 1.
    pub window: u64,
    /// Bytes of a datagram without IP and UDP headers, at least 8: those of its number.
    pub datagram_bytes: u32,
    /// A datagram is sent again when it was not acknowledged for so long.
    pub timeout: Span,
}

/// An acknowledgment has the number alone.
const NUMBER_BYTES: u32 = 8;

impl Default for FixedWindow {
    fn default() -> FixedWindow {
        FixedWindow { window: 10, datagram_bytes: 1_200, timeout: Span::from_secs(1) }
    }
}

impl EndpointFactory for FixedWindow {
    fn name(&self) -> &'static str {
        "fixed-window"
    }

    fn check(&self, app: &EndpointApp) -> Result<(), String> {
        match app {
            EndpointApp::Bulk | EndpointApp::Transfer { .. } => Ok(()),
            EndpointApp::Requests(_) => Err("fixed-window has no requests".to_owned()),
        }
    }

    fn build(&self, params: EndpointParams) -> Box<dyn Endpoint> {
        let bytes = u64::from(self.datagram_bytes.max(NUMBER_BYTES));
        let datagrams = match params.app {
            EndpointApp::Transfer { bytes: size } => Some(size.div_ceil(bytes)),
            EndpointApp::Bulk | EndpointApp::Requests(_) => None,
        };
        match params.side {
            Side::Sender => Box::new(Sender {
                window: self.window.max(1),
                datagram_bytes: bytes as u32,
                timeout: self.timeout.max(Span::from_nanos(1)),
                end: datagrams,
                ..Sender::default()
            }),
            Side::Receiver => Box::new(Receiver {
                datagram_bytes: bytes,
                end: datagrams,
                start: params.start,
                ..Receiver::default()
            }),
        }
    }
}

/// Sends datagrams by number.
#[derive(Debug, Default)]
struct Sender {
    window: u64,
    datagram_bytes: u32,
    timeout: Span,
    /// The number behind the last datagram; `None`: no end.
    end: Option<u64>,
    started: bool,
    /// The next number to be sent first.
    next: u64,
    /// Numbers in flight, with the time at which each is sent again.
    in_flight: BTreeMap<u64, Time>,
    /// Numbers to be sent again.
    overdue: BTreeSet<u64>,
    resent: u64,
}

impl Sender {
    fn next_number(&mut self) -> Option<u64> {
        if let Some(number) = self.overdue.pop_first() {
            self.resent += 1;
            return Some(number);
        }
        let open = (self.in_flight.len() as u64) < self.window;
        let more = self.end.is_none_or(|end| self.next < end);
        (self.started && open && more).then(|| {
            self.next += 1;
            self.next - 1
        })
    }
}

impl Endpoint for Sender {
    fn start(&mut self, _: Time) {
        self.started = true;
    }

    fn stop(&mut self, _: Time) {
        self.end = Some(self.next);
    }

    fn handle_datagram(&mut self, _: Time, datagram: Datagram) {
        if let Some(number) = number_of(&datagram.payload) {
            self.in_flight.remove(&number);
            self.overdue.remove(&number);
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        let due = self.in_flight.iter().filter(|(_, again)| **again <= now);
        let due: Vec<u64> = due.map(|(number, _)| *number).collect();
        for number in due {
            self.in_flight.remove(&number);
            self.overdue.insert(number);
        }
    }

    fn poll_timeout(&mut self) -> Option<Time> {
        self.in_flight.values().min().copied()
    }

    fn poll_transmit(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Transmit> {
        let number = self.next_number()?;
        self.in_flight.insert(number, now + self.timeout);
        payload.extend(number.to_be_bytes());
        Some(Transmit { size: self.datagram_bytes, ecn: Ecn::NotEct })
    }

    fn poll_event(&mut self) -> Option<EndpointEvent> {
        None
    }

    fn status(&self) -> EndpointStatus {
        let bytes = u64::from(self.datagram_bytes);
        EndpointStatus {
            cwnd_bytes: Some(self.window * bytes),
            in_flight_bytes: Some(self.in_flight.len() as u64 * bytes),
            lost_packets: Some(self.resent),
            ..EndpointStatus::default()
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("resent_datagrams", self.resent)]
    }
}

/// Acknowledges each datagram, and delivers in order.
#[derive(Debug, Default)]
struct Receiver {
    datagram_bytes: u64,
    end: Option<u64>,
    start: Time,
    /// Every number before this one has arrived.
    next: u64,
    /// Numbers beyond a hole.
    early: BTreeSet<u64>,
    answers: VecDeque<u64>,
    events: VecDeque<EndpointEvent>,
}

impl Endpoint for Receiver {
    fn start(&mut self, _: Time) {}

    fn handle_datagram(&mut self, _: Time, datagram: Datagram) {
        let Some(number) = number_of(&datagram.payload) else { return };
        self.answers.push_back(number);
        if number >= self.next {
            self.early.insert(number);
        }
        let before = self.next;
        while self.early.remove(&self.next) {
            self.next += 1;
        }
        if self.next > before {
            let bytes = (self.next - before) * self.datagram_bytes;
            self.events.push_back(EndpointEvent::Delivered { bytes });
            if self.end == Some(self.next) {
                let bytes = self.next * self.datagram_bytes;
                self.events.push_back(EndpointEvent::TransferDone { begun: self.start, bytes });
                self.events.push_back(EndpointEvent::Finished);
            }
        }
    }

    fn handle_timeout(&mut self, _: Time) {}

    fn poll_timeout(&mut self) -> Option<Time> {
        None
    }

    fn poll_transmit(&mut self, _: Time, payload: &mut Vec<u8>) -> Option<Transmit> {
        let number = self.answers.pop_front()?;
        payload.extend(number.to_be_bytes());
        Some(Transmit { size: NUMBER_BYTES, ecn: Ecn::NotEct })
    }

    fn poll_event(&mut self) -> Option<EndpointEvent> {
        self.events.pop_front()
    }
}

fn number_of(payload: &[u8]) -> Option<u64> {
    payload.get(..8)?.try_into().ok().map(u64::from_be_bytes)
}
