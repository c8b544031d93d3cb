//! The application of a flow on one end of a QUIC connection.

use crate::session::{Direction, Event, Session, StreamId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use windlass_base::Time;
use windlass_sim::endpoint::{EndpointApp, EndpointEvent, EndpointParams, EndpointRequests, Side};

/// As much as a connection takes.
const ENDLESS: u64 = u64::MAX;

/// The application of one end.
#[derive(Debug)]
pub(crate) struct App {
    role: Role,
    start: Time,
    connected: bool,
    stopped: bool,
    finished: bool,
    /// Bytes that are still to be written to each stream, which then ends.
    writing: BTreeMap<StreamId, u64>,
    reading: BTreeSet<StreamId>,
    events: VecDeque<EndpointEvent>,
}

/// The part of an end.
#[derive(Debug)]
enum Role {
    /// Sends so many bytes on one stream.
    Sends { bytes: u64 },
    /// Receives a stream; `transfer`: which is a transfer of so many bytes.
    Receives { transfer: bool, bytes: u64 },
    /// Sends requests, and receives responses.
    Asks(Asks),
    /// Receives requests, and sends responses of so many bytes.
    Answers { response: u64 },
}

#[derive(Debug)]
struct Asks {
    requests: EndpointRequests,
    /// How many were sent.
    sent: u64,
    /// When the next one is due; `None` while one is under way.
    due: Option<Time>,
    begun: Time,
    received: u64,
}

impl App {
    pub(crate) fn new(params: &EndpointParams) -> App {
        let role = match (&params.app, params.side) {
            (EndpointApp::Bulk, Side::Sender) => Role::Sends { bytes: ENDLESS },
            (EndpointApp::Bulk, Side::Receiver) => Role::Receives { transfer: false, bytes: 0 },
            (EndpointApp::Transfer { bytes }, Side::Sender) => Role::Sends { bytes: *bytes },
            (EndpointApp::Transfer { .. }, Side::Receiver) => {
                Role::Receives { transfer: true, bytes: 0 }
            }
            (EndpointApp::Requests(requests), Side::Sender) => {
                Role::Answers { response: requests.response }
            }
            (EndpointApp::Requests(requests), Side::Receiver) => Role::Asks(Asks {
                requests: *requests,
                sent: 0,
                due: Some(params.start),
                begun: params.start,
                received: 0,
            }),
        };
        App {
            role,
            start: params.start,
            connected: false,
            stopped: false,
            finished: false,
            writing: BTreeMap::new(),
            reading: BTreeSet::new(),
            events: VecDeque::new(),
        }
    }

    /// Takes the events of the connection, and acts on them.
    pub(crate) fn run(&mut self, now: Time, session: &mut impl Session) {
        while let Some(event) = session.poll_event() {
            self.handle(now, event, session);
        }
        self.act(now, session);
    }

    fn handle(&mut self, now: Time, event: Event, session: &mut impl Session) {
        match event {
            Event::Connected => {
                self.connected = true;
                self.events.push_back(EndpointEvent::Connected);
            }
            Event::Opened(direction) => {
                while let Some(stream) = session.accept(direction) {
                    self.reading.insert(stream);
                    self.read(now, stream, session);
                }
            }
            Event::Readable(stream) => self.read(now, stream, session),
            Event::Writable(stream) => self.write(stream, session),
            Event::Available => {}
            Event::Lost(reason) if !self.finished => {
                self.events.push_back(EndpointEvent::Failed { reason });
            }
            Event::Lost(_) => {}
        }
    }

    /// Begins what is due.
    fn act(&mut self, now: Time, session: &mut impl Session) {
        if !self.connected {
            return;
        }
        match &mut self.role {
            Role::Sends { bytes } if *bytes > 0 && !self.stopped => {
                if let Some(stream) = session.open(Direction::One) {
                    self.writing.insert(stream, std::mem::take(bytes));
                    self.write(stream, session);
                }
            }
            Role::Asks(asks) if asks.due.is_some_and(|due| due <= now) => {
                if let Some(stream) = session.open(Direction::Both) {
                    asks.due = None;
                    asks.begun = now;
                    asks.received = 0;
                    asks.sent += 1;
                    self.writing.insert(stream, asks.requests.request);
                    self.reading.insert(stream);
                    self.write(stream, session);
                }
            }
            _ => {}
        }
    }

    fn write(&mut self, stream: StreamId, session: &mut impl Session) {
        let Some(left) = self.writing.get_mut(&stream) else { return };
        while *left > 0 {
            match session.write(stream, *left) {
                0 => return,
                _ if *left == ENDLESS => {}
                written => *left -= written,
            }
        }
        self.writing.remove(&stream);
        session.finish(stream);
    }

    fn read(&mut self, now: Time, stream: StreamId, session: &mut impl Session) {
        if !self.reading.contains(&stream) {
            return;
        }
        let read = session.read(stream);
        if read.bytes > 0 {
            self.events.push_back(EndpointEvent::Delivered { bytes: read.bytes });
        }
        match &mut self.role {
            Role::Receives { bytes, .. } => *bytes += read.bytes,
            Role::Asks(asks) => asks.received += read.bytes,
            Role::Sends { .. } | Role::Answers { .. } => {}
        }
        if read.finished {
            self.reading.remove(&stream);
            self.ended(now, stream, session);
        }
    }

    /// Everything that the other end sent on a stream has arrived.
    fn ended(&mut self, now: Time, stream: StreamId, session: &mut impl Session) {
        match &mut self.role {
            Role::Receives { transfer, bytes } => {
                if *transfer {
                    let (begun, bytes) = (self.start, *bytes);
                    self.events.push_back(EndpointEvent::TransferDone { begun, bytes });
                }
                self.finish();
            }
            Role::Asks(asks) => {
                let (begun, bytes) = (asks.begun, asks.received);
                self.events.push_back(EndpointEvent::TransferDone { begun, bytes });
                if asks.requests.count == Some(asks.sent) || self.stopped {
                    self.finish();
                } else {
                    asks.due = Some(now + asks.requests.think);
                }
            }
            Role::Answers { response } => {
                self.writing.insert(stream, *response);
                self.write(stream, session);
            }
            Role::Sends { .. } => {}
        }
    }

    fn finish(&mut self) {
        self.finished = true;
        self.events.push_back(EndpointEvent::Finished);
    }

    /// Ends the streams that are being written.
    pub(crate) fn stop(&mut self, session: &mut impl Session) {
        self.stopped = true;
        for (stream, _) in std::mem::take(&mut self.writing) {
            session.finish(stream);
        }
    }

    /// The connection cannot be opened.
    pub(crate) fn fail(&mut self, reason: String) {
        self.events.push_back(EndpointEvent::Failed { reason });
    }

    /// When it wants to act by itself.
    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        match &self.role {
            Role::Asks(asks) if self.connected => asks.due,
            _ => None,
        }
    }

    pub(crate) fn poll_event(&mut self) -> Option<EndpointEvent> {
        self.events.pop_front()
    }
}
