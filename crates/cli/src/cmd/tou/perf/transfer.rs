//! A test from its start to its end, at either end.

use super::cpu::CpuTime;
use super::figures::{Figures, Interval, Snapshot, StreamFigures};
use super::message::{self, Limit, Message, MessageError, Test, shown};
use crate::failure::Failure;
use std::cell::Cell;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use windlass_base::Span;
use windlass_tcp::config::KeepAlive;
use windlass_tou::TouStream;

/// Bytes written and read at a time.
const CHUNK: usize = 1 << 17;
/// How long to wait for the next message of the other end.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);
/// Keep-alives that detect a vanished peer within about a minute.
pub(super) const KEEP_ALIVE: KeepAlive =
    KeepAlive { idle: Span::from_secs(15), interval: Span::from_secs(15), probes: 4 };

/// An event that a test waits for.
pub(super) enum Event {
    /// A connection has come to its end.
    Ended(usize, io::Result<()>),
    /// The other end speaks, or is heard no more.
    Peer(Result<Message, MessageError>),
}

/// The control connection, and everything that happens meanwhile.
pub(super) struct Link {
    control: TouStream,
    events: Receiver<Event>,
    tell: Sender<Event>,
    /// The other end will say nothing more.
    over: Cell<bool>,
}

/// A connection of a test.
pub(super) struct Carrier {
    pub(super) stream: TouStream,
    /// Bytes at the beginning of this end's stream that are none of the test's.
    pub(super) head: u64,
    received: Arc<AtomicU64>,
}

/// How a test was at both ends.
pub(super) struct Outcome {
    pub(super) own: Figures,
    pub(super) peer: Figures,
}

impl Link {
    /// Listens to the control connection from now on.
    pub(super) fn new(control: TouStream) -> Link {
        let (tell, events) = channel();
        let (mut from, heard) = (control.clone(), tell.clone());
        thread::spawn(move || {
            loop {
                let message = message::read(&mut from);
                let ended = message.is_err();
                if heard.send(Event::Peer(message)).is_err() || ended {
                    return;
                }
            }
        });
        Link { control, events, tell, over: Cell::new(false) }
    }

    pub(super) fn say(&self, message: &Message) -> Result<(), Failure> {
        let Err(error) = message::write(&mut &self.control, message) else { return Ok(()) };
        let failure = Failure::io("the control connection", &error);
        // The connection returns its error once, and the listening thread has received it.
        let elsewhere = error.kind() == ErrorKind::BrokenPipe && !self.over.get();
        let cause = elsewhere.then(|| self.hear().err()).flatten();
        Err(cause.unwrap_or(failure))
    }

    /// The next message.
    pub(super) fn hear(&self) -> Result<Message, Failure> {
        match self.events.recv_timeout(PATIENCE) {
            Ok(Event::Peer(message)) => self.heard(message),
            Ok(Event::Ended(..)) => Err(unexpected("the end of a connection")),
            Err(_) => Err(Failure::Work("the other end does not answer".to_owned())),
        }
    }

    /// Ends the control connection: first this end, then the other, or not for a while.
    pub(super) fn end(&self) {
        // Everything has been said; what goes wrong now changes no result.
        let _ = self.control.finish(Some(PATIENCE));
        while !self.over.get() {
            match self.events.recv_timeout(PATIENCE) {
                Ok(Event::Peer(Ok(_)) | Event::Ended(..)) => {}
                Ok(Event::Peer(Err(_))) | Err(_) => self.over.set(true),
            }
        }
    }

    fn heard(&self, message: Result<Message, MessageError>) -> Result<Message, Failure> {
        match message {
            Ok(Message::Error(why)) => {
                Err(Failure::Work(format!("the other end: {}", shown(&why))))
            }
            Ok(message) => Ok(message),
            Err(fault) => {
                self.over.set(true);
                Err(Failure::Work(format!("the control connection: {fault}")))
            }
        }
    }
}

/// The other end has said something else than the protocol has here.
pub(super) fn unexpected(what: &str) -> Failure {
    Failure::Work(format!("the other end does not keep to the protocol: {what} came too soon"))
}

impl Carrier {
    pub(super) fn new(stream: TouStream, head: u64) -> Carrier {
        Carrier { stream, head, received: Arc::default() }
    }

    fn figures(&self, sends: bool) -> StreamFigures {
        match sends {
            true => StreamFigures::of_sender(&self.stream, self.head),
            false => {
                StreamFigures::of_receiver(&self.stream, self.received.load(Ordering::Relaxed))
            }
        }
    }

    fn begin(&self, index: usize, sends: bool, share: Option<u64>, tell: Sender<Event>) {
        let (stream, received) = (self.stream.clone(), Arc::clone(&self.received));
        thread::spawn(move || {
            let ended = if sends { send(&stream, share) } else { receive(&stream, &received) };
            let _ = tell.send(Event::Ended(index, ended));
        });
    }
}

fn send(mut stream: &TouStream, share: Option<u64>) -> io::Result<()> {
    let chunk = vec![0; CHUNK];
    let mut left = share.unwrap_or(u64::MAX);
    while left > 0 {
        let count = left.min(CHUNK as u64);
        stream.write_all(&chunk[..count as usize])?;
        if share.is_some() {
            left -= count;
        }
    }
    stream.finish(None)
}

fn receive(mut stream: &TouStream, received: &AtomicU64) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    loop {
        match stream.read(&mut chunk)? {
            0 => return stream.shutdown(Shutdown::Write),
            count => received.fetch_add(count as u64, Ordering::Relaxed),
        };
    }
}

/// One end's part of a test while it runs.
pub(super) struct Run<'a> {
    pub(super) test: &'a Test,
    pub(super) sends: bool,
    pub(super) link: &'a Link,
    pub(super) carriers: &'a [Carrier],
    pub(super) interval: Duration,
}

/// The state of a run.
struct Progress {
    start: Instant,
    last: Snapshot,
    /// The last look before what counts; `None` until then.
    counts_from: Option<Snapshot>,
    /// The sender's time is over.
    stopped: bool,
    peer: Option<Figures>,
}

impl Run<'_> {
    /// Runs the test to its end at both ends. On an error the connections are reset and the other
    /// end gets an error message.
    pub(super) fn to_its_end(
        &self,
        on_interval: impl FnMut(&Interval) -> Result<(), Failure>,
    ) -> Result<Outcome, Failure> {
        let result = self.transfer(on_interval);
        if let Err(failure) = &result {
            self.stop();
            let why = match failure {
                Failure::Work(why) | Failure::Input(why) => why.clone(),
                Failure::ReaderGone => "its output is closed".to_owned(),
            };
            // It may be gone already.
            let _ = self.link.say(&Message::Error(why));
        }
        result
    }

    fn transfer(
        &self,
        mut on_interval: impl FnMut(&Interval) -> Result<(), Failure>,
    ) -> Result<Outcome, Failure> {
        let start = Instant::now();
        let first = self.look_at(start);
        let omit = Duration::from_millis(self.test.omit_ms);
        let counts_from = omit.is_zero().then(|| first.clone());
        let mut progress = Progress { start, last: first, counts_from, stopped: false, peer: None };
        for (index, carrier) in self.carriers.iter().enumerate() {
            carrier.begin(index, self.sends, self.test.share(index), self.link.tell.clone());
        }
        let end = self.time_limit().filter(|_| self.sends).map(|limit| start + omit + limit);
        let mut next_look = start + self.interval;
        let mut open = self.carriers.len();
        while open > 0 {
            let look = match progress.counts_from {
                Some(_) => next_look,
                None => next_look.min(start + omit),
            };
            let wanted = end.filter(|_| !progress.stopped).map_or(look, |end| end.min(look));
            match self.link.events.recv_timeout(wanted.saturating_duration_since(Instant::now())) {
                Ok(Event::Ended(index, ended)) => {
                    open -= 1;
                    self.check_end(index, ended, &progress)?;
                }
                Ok(Event::Peer(message)) => {
                    self.take(self.link.heard(message)?, &mut progress)?;
                }
                Err(RecvTimeoutError::Timeout) if !progress.stopped && end == Some(wanted) => {
                    self.look(&mut progress, &mut on_interval)?;
                    progress.stopped = true;
                    self.stop();
                }
                Err(RecvTimeoutError::Timeout) => {
                    let omitted = progress.counts_from.is_none() && wanted == start + omit;
                    if omitted {
                        next_look = wanted;
                    }
                    next_look += self.interval;
                    if !progress.stopped {
                        self.look(&mut progress, &mut on_interval)?;
                    }
                    if omitted {
                        progress.counts_from = Some(progress.last.clone());
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(unexpected("silence")),
            }
        }
        if !progress.stopped {
            self.look(&mut progress, &mut on_interval)?;
        }
        self.check_bytes(progress.last.bytes())?;
        // A run that ended within the omitted time has figures of zero duration.
        let from = progress.counts_from.as_ref().unwrap_or(&progress.last);
        let counted = Snapshot { cpu: CpuTime::now(), ..progress.last.clone() };
        self.conclude(counted.since(from), progress.peer)
    }

    fn check_bytes(&self, came: u64) -> Result<(), Failure> {
        match self.test.limit {
            Limit::Bytes(bytes) if !self.sends && came != bytes => {
                Err(Failure::Work(format!("{came} bytes came, expected {bytes}")))
            }
            _ => Ok(()),
        }
    }

    /// Both ends tell each other how it was.
    fn conclude(&self, own: Figures, peer: Option<Figures>) -> Result<Outcome, Failure> {
        self.link.say(&Message::Result(own.clone()))?;
        let peer = match peer {
            Some(peer) => peer,
            None => match self.link.hear()? {
                Message::Result(peer) => peer,
                _ => return Err(unexpected("something that is no result")),
            },
        };
        Ok(Outcome { own, peer })
    }

    fn time_limit(&self) -> Option<Duration> {
        match self.test.limit {
            Limit::TimeMs(ms) => Some(Duration::from_millis(ms)),
            Limit::Bytes(_) => None,
        }
    }

    /// A connection of a timed test is reset when the time is over; whether that was too early, the
    /// other end says.
    fn check_end(
        &self,
        index: usize,
        ended: io::Result<()>,
        progress: &Progress,
    ) -> Result<(), Failure> {
        let Err(error) = ended else { return Ok(()) };
        // A call after the one that reported the reset finds no connection.
        let reset = matches!(
            error.kind(),
            ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::NotConnected
        );
        let is_the_end = match self.sends {
            true => progress.stopped,
            false => self.time_limit().is_some() && reset,
        };
        if is_the_end { Ok(()) } else { Err(Failure::io(format!("connection {index}"), &error)) }
    }

    /// The sender's result ends a timed test: a reset may have been lost. The receiver's may come
    /// before this end has noticed that all is acknowledged.
    fn take(&self, message: Message, progress: &mut Progress) -> Result<(), Failure> {
        match message {
            Message::Result(figures) if progress.peer.is_none() => {
                progress.peer = Some(figures);
                if !self.sends && self.time_limit().is_some() {
                    self.stop();
                }
                Ok(())
            }
            _ => Err(unexpected("a message")),
        }
    }

    fn figures(&self) -> Vec<StreamFigures> {
        self.carriers.iter().map(|carrier| carrier.figures(self.sends)).collect()
    }

    fn look(
        &self,
        progress: &mut Progress,
        on_interval: &mut impl FnMut(&Interval) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let now = self.look_at(progress.start);
        let omitted = progress.counts_from.is_none();
        let interval = Interval::between(&progress.last, &now, omitted);
        progress.last = now;
        on_interval(&interval)
    }

    fn look_at(&self, start: Instant) -> Snapshot {
        Snapshot {
            at_us: start.elapsed().as_micros() as u64,
            streams: self.figures(),
            cpu: CpuTime::now(),
        }
    }

    fn stop(&self) {
        self.carriers.iter().for_each(|carrier| carrier.stream.abort());
    }
}
