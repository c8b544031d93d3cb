//! A test from its start to its end, at either end: `client` and `server` call it once the connections
//! are there.

use crate::control::{Control, Event};
use crate::cpu::CpuTime;
use crate::error::Error;
use crate::figures::{Figures, Interval, Snapshot, StreamFigures};
use crate::message::{Limit, Message, Test};
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};
use windlass_tou::TouStream;

/// Bytes per write and read.
const CHUNK: usize = 1 << 17;

/// A connection of a test.
pub struct TestStream {
    stream: TouStream,
    /// Bytes at the beginning of this end's stream that do not belong to the test.
    head_len: u64,
    received: Arc<AtomicU64>,
}

/// The figures of both ends.
pub struct Outcome {
    /// Those of this end.
    pub own: Figures,
    /// Those of the other end.
    pub peer: Figures,
}

impl TestStream {
    pub(crate) fn new(stream: TouStream, head_len: u64) -> TestStream {
        TestStream { stream, head_len, received: Arc::default() }
    }

    /// A function that takes the sender's figures of the connection at the time of each call.
    pub fn sampler(&self) -> impl Fn() -> StreamFigures + Send + 'static {
        let (stream, head_len) = (self.stream.clone(), self.head_len);
        move || StreamFigures::of_sender(&stream, head_len)
    }

    fn figures(&self, sends: bool) -> StreamFigures {
        match sends {
            true => StreamFigures::of_sender(&self.stream, self.head_len),
            false => {
                StreamFigures::of_receiver(&self.stream, self.received.load(Ordering::Relaxed))
            }
        }
    }

    fn begin(&self, index: usize, sends: bool, share: Option<u64>, events: Sender<Event>) {
        let (stream, received) = (self.stream.clone(), Arc::clone(&self.received));
        thread::spawn(move || {
            let ended = if sends { send(&stream, share) } else { receive(&stream, &received) };
            let _ = events.send(Event::Ended(index, ended));
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
pub(crate) struct Run<'a> {
    pub(crate) test: &'a Test,
    pub(crate) sends: bool,
    pub(crate) control: &'a Control,
    pub(crate) streams: &'a [TestStream],
    /// Time between two reports.
    pub(crate) interval: Duration,
}

/// The state of a run.
struct Progress {
    start: Instant,
    last: Snapshot,
    /// The snapshot at the end of the omitted time; `None` until then.
    counts_from: Option<Snapshot>,
    /// The time of the sending end is over.
    stopped: bool,
    peer: Option<Figures>,
}

impl Run<'_> {
    /// Runs the test to its end at both ends. On an error the connections are reset and the other
    /// end gets an error message.
    pub(crate) fn to_its_end(
        &self,
        on_interval: impl FnMut(&Interval) -> Result<(), Error>,
    ) -> Result<Outcome, Error> {
        let result = self.transfer(on_interval);
        if let Err(error) = &result {
            self.stop();
            // The peer may be gone already.
            let _ = self.control.send(&Message::Error(error.to_string()));
        }
        result
    }

    fn transfer(
        &self,
        mut on_interval: impl FnMut(&Interval) -> Result<(), Error>,
    ) -> Result<Outcome, Error> {
        let start = Instant::now();
        let first = self.snapshot(start);
        self.keep_rtt_samples();
        let omit = Duration::from_millis(self.test.omit_ms);
        let counts_from = omit.is_zero().then(|| first.clone());
        let mut progress = Progress { start, last: first, counts_from, stopped: false, peer: None };
        for (index, stream) in self.streams.iter().enumerate() {
            stream.begin(
                index,
                self.sends,
                self.test.share(index),
                self.control.event_sender.clone(),
            );
        }
        let end = self.time_limit().filter(|_| self.sends).map(|limit| start + omit + limit);
        let mut next_report = start + self.interval;
        let mut open = self.streams.len();
        while open > 0 {
            let report = match progress.counts_from {
                Some(_) => next_report,
                None => next_report.min(start + omit),
            };
            let wanted = end.filter(|_| !progress.stopped).map_or(report, |end| end.min(report));
            match self.control.events.recv_timeout(wanted.saturating_duration_since(Instant::now()))
            {
                Ok(Event::Ended(index, ended)) => {
                    open -= 1;
                    self.check_end(index, ended, &progress)?;
                }
                Ok(Event::Peer(message)) => {
                    self.take(self.control.accept(message)?, &mut progress)?;
                }
                Err(RecvTimeoutError::Timeout) if !progress.stopped && end == Some(wanted) => {
                    self.report(&mut progress, &mut on_interval)?;
                    progress.stopped = true;
                    self.stop();
                }
                Err(RecvTimeoutError::Timeout) => {
                    let omitted = progress.counts_from.is_none() && wanted == start + omit;
                    if omitted {
                        next_report = wanted;
                    }
                    next_report += self.interval;
                    if !progress.stopped {
                        self.report(&mut progress, &mut on_interval)?;
                    }
                    if omitted {
                        progress.counts_from = Some(progress.last.clone());
                        self.keep_rtt_samples();
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(Error::unexpected("silence")),
            }
        }
        if !progress.stopped {
            self.report(&mut progress, &mut on_interval)?;
        }
        self.check_bytes(progress.last.bytes())?;
        // A run that ended within the omitted time has figures of zero duration.
        let from = progress.counts_from.as_ref().unwrap_or(&progress.last);
        let counted = Snapshot { cpu: CpuTime::now(), ..progress.last.clone() };
        self.conclude(counted.since(from), progress.peer)
    }

    /// Counts the round-trip times of all connections from now on. One that has ended has no figures anyway.
    fn keep_rtt_samples(&self) {
        for stream in self.streams.iter().filter(|_| self.sends) {
            let _ = stream.stream.keep_rtt_samples();
        }
    }

    fn check_bytes(&self, received: u64) -> Result<(), Error> {
        match self.test.limit {
            Limit::Bytes(bytes) if !self.sends && received != bytes => {
                Err(Error::new(format!("{received} bytes came, expected {bytes}")))
            }
            _ => Ok(()),
        }
    }

    /// Exchanges the figures with the other end.
    fn conclude(&self, own: Figures, peer: Option<Figures>) -> Result<Outcome, Error> {
        self.control.send(&Message::Result(own.clone()))?;
        let peer = match peer {
            Some(peer) => peer,
            None => match self.control.receive()? {
                Message::Result(peer) => peer,
                _ => return Err(Error::unexpected("something that is no result")),
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

    /// A connection of a timed test is reset when the time is over. The figures of the other end show
    /// whether that was too early.
    fn check_end(
        &self,
        index: usize,
        ended: io::Result<()>,
        progress: &Progress,
    ) -> Result<(), Error> {
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
        if is_the_end { Ok(()) } else { Err(Error::io(format!("connection {index}"), &error)) }
    }

    /// The sender's result ends a timed test: a reset may have been lost. The receiver's may come
    /// before this end has noticed that all is acknowledged.
    fn take(&self, message: Message, progress: &mut Progress) -> Result<(), Error> {
        match message {
            Message::Result(figures) if progress.peer.is_none() => {
                progress.peer = Some(figures);
                if !self.sends && self.time_limit().is_some() {
                    self.stop();
                }
                Ok(())
            }
            _ => Err(Error::unexpected("a message")),
        }
    }

    fn figures(&self) -> Vec<StreamFigures> {
        self.streams.iter().map(|stream| stream.figures(self.sends)).collect()
    }

    fn report(
        &self,
        progress: &mut Progress,
        on_interval: &mut impl FnMut(&Interval) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let now = self.snapshot(progress.start);
        let omitted = progress.counts_from.is_none();
        let interval = Interval::between(&progress.last, &now, omitted);
        progress.last = now;
        on_interval(&interval)
    }

    fn snapshot(&self, start: Instant) -> Snapshot {
        Snapshot {
            at_us: start.elapsed().as_micros() as u64,
            streams: self.figures(),
            cpu: CpuTime::now(),
        }
    }

    fn stop(&self) {
        self.streams.iter().for_each(|stream| stream.stream.abort());
    }
}
