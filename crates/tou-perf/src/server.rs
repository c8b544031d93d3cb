//! The server of tests: it accepts connections, joins those of a test by their id, and does its part
//! as `transfer` has it. One test runs at a time.

use crate::control::{Control, TIMEOUT};
use crate::error::Error;
use crate::message::{self, Direction, Message, StreamHead, Test};
use crate::open_streams::OpenStreams;
use crate::transfer::{Outcome, Run, TestStream};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use windlass_tou::{ControllerFactory, TouListener, TouStream};

/// The largest number of connections that have not sent their first line. The listener's backlog needs
/// no more.
pub const BACKLOG: usize = 256;
/// Time between the intervals of a test. The server reports none, so it is long.
const INTERVAL: Duration = Duration::from_secs(3600);

/// Makes the controller with a name.
type MakeController = dyn Fn(&str) -> io::Result<Arc<dyn ControllerFactory>> + Send + Sync;

type OnRefused = dyn Fn(SocketAddr, &str) + Send + Sync;

/// The congestion controllers from which clients choose.
pub struct Controllers {
    /// Their names.
    pub names: Vec<&'static str>,
    /// Makes the controller with a name.
    pub make: Box<MakeController>,
}

/// Serves the tests of clients, one at a time.
pub struct Server {
    controllers: Controllers,
    /// Gets the peer of each refused connection, and the reason.
    on_refused: Box<OnRefused>,
    current: Mutex<Option<Current>>,
    /// The number of connections that have not sent their first line.
    unidentified: AtomicUsize,
    open_streams: OpenStreams,
}

/// The running test, and the channel to the thread that waits for its connections.
struct Current {
    id: String,
    arrived: Sender<(u16, TouStream)>,
}

/// A test that is over.
pub struct FinishedTest {
    /// The client's address.
    pub peer: SocketAddr,
    /// The parameters of the test.
    pub test: Test,
    /// The figures of both ends, or why the test failed.
    pub result: Result<Outcome, Error>,
}

impl Server {
    /// A server that calls `on_refused` with the peer of each connection that it refuses, and with the
    /// reason.
    pub fn new(
        controllers: Controllers,
        on_refused: impl Fn(SocketAddr, &str) + Send + Sync + 'static,
    ) -> Server {
        Server {
            controllers,
            on_refused: Box::new(on_refused),
            current: Mutex::default(),
            unidentified: AtomicUsize::default(),
            open_streams: OpenStreams::default(),
        }
    }

    /// The connections of the running test.
    pub fn open_streams(&self) -> OpenStreams {
        self.open_streams.clone()
    }

    /// Serves the listener's connections in threads of its own. Returns the channel of the tests that
    /// are over. It ends with the listener.
    pub fn serve(self, listener: TouListener) -> Receiver<FinishedTest> {
        let (finished, tests) = channel();
        thread::spawn(move || Arc::new(self).accept(&listener, &finished));
        tests
    }

    fn accept(self: Arc<Server>, listener: &TouListener, finished: &Sender<FinishedTest>) {
        while let Ok((stream, peer)) = listener.accept() {
            if self.unidentified.fetch_add(1, Ordering::Relaxed) >= BACKLOG {
                self.unidentified.fetch_sub(1, Ordering::Relaxed);
                stream.abort();
                continue;
            }
            let (server, finished) = (Arc::clone(&self), finished.clone());
            thread::spawn(move || server.identify(stream, peer, &finished));
        }
    }

    /// Reads the first line of a connection, which says whether it asks for a test or belongs to one.
    fn identify(&self, mut stream: TouStream, peer: SocketAddr, finished: &Sender<FinishedTest>) {
        let first = stream
            .set_read_timeout(Some(TIMEOUT))
            .map_err(message::MessageError::Io)
            .and_then(|()| message::read(&mut stream));
        let _ = stream.set_read_timeout(None);
        self.unidentified.fetch_sub(1, Ordering::Relaxed);
        match first {
            Ok(Message::Test(test)) => match test.check_controller(&self.controllers.names) {
                Ok(()) => self.host(test, stream, peer, finished),
                Err(error) => self.refuse(&stream, peer, &error.to_string()),
            },
            Ok(Message::Stream(head)) => self.join(&head, stream),
            Ok(_) => self.refuse(&stream, peer, "expected a test"),
            Err(error) => self.refuse(&stream, peer, &error.to_string()),
        }
    }

    /// Passes a connection to the running test. Resets it if it belongs to another one.
    fn join(&self, head: &StreamHead, stream: TouStream) {
        let current = self.current();
        match &*current {
            Some(current) if current.id == head.id => {
                if let Err(unwanted) = current.arrived.send((head.index, stream)) {
                    unwanted.0.1.abort();
                }
            }
            _ => stream.abort(),
        }
    }

    fn host(
        &self,
        test: Test,
        control: TouStream,
        peer: SocketAddr,
        finished: &Sender<FinishedTest>,
    ) {
        let (arrived, arrivals) = channel();
        let mut current = self.current();
        if current.is_some() {
            drop(current);
            return self.refuse(&control, peer, "busy with another test");
        }
        *current = Some(Current { id: test.id.clone(), arrived });
        drop(current);
        self.open_streams.add(&control);
        let control = Control::new(control);
        let result = self.run(&test, &control, &arrivals);
        // The client has read the result, so it may start its next test at once.
        self.open_streams.clear();
        *self.current() = None;
        control.end();
        // The end of the server may come first.
        let _ = finished.send(FinishedTest { peer, test, result });
    }

    fn run(
        &self,
        test: &Test,
        control: &Control,
        arrivals: &Receiver<(u16, TouStream)>,
    ) -> Result<Outcome, Error> {
        control.send(&Message::Ready)?;
        let streams = match self.gather(test, arrivals) {
            Ok(streams) => streams,
            Err(why) => {
                control.send(&Message::Error(why.clone()))?;
                return Err(Error::new(why));
            }
        };
        control.send(&Message::Start)?;
        let sends = test.direction == Direction::Down;
        let run = Run { test, sends, control, streams: &streams, interval: INTERVAL };
        run.to_its_end(|_| Ok(()))
    }

    /// Waits for all connections of a test.
    fn gather(
        &self,
        test: &Test,
        arrivals: &Receiver<(u16, TouStream)>,
    ) -> Result<Vec<TestStream>, String> {
        let deadline = Instant::now() + TIMEOUT;
        let mut streams: Vec<Option<TestStream>> = (0..test.streams).map(|_| None).collect();
        while streams.iter().any(Option::is_none) {
            let left = deadline.saturating_duration_since(Instant::now());
            let arrived = arrivals.recv_timeout(left);
            let (index, stream) =
                arrived.map_err(|_| "not all connections of the test came".to_owned())?;
            match streams.get_mut(usize::from(index)) {
                Some(absent @ None) => {
                    self.open_streams.add(&stream);
                    self.prepare(&stream, test).map_err(|error| format!("{index}: {error}"))?;
                    *absent = Some(TestStream::new(stream, 0));
                }
                _ => stream.abort(),
            }
        }
        Ok(streams.into_iter().flatten().collect())
    }

    /// If the server sends, the client chooses the congestion controller.
    fn prepare(&self, stream: &TouStream, test: &Test) -> io::Result<()> {
        match test.direction {
            Direction::Down => stream.set_congestion((self.controllers.make)(&test.controller)?),
            Direction::Up => Ok(()),
        }
    }

    /// Reports the reason to the user and to the peer.
    fn refuse(&self, mut stream: &TouStream, peer: SocketAddr, why: &str) {
        (self.on_refused)(peer, why);
        // The peer may be gone, or may not be a client.
        if message::write(&mut stream, &Message::Error(why.to_owned())).is_ok() {
            let _ = stream.finish(Some(TIMEOUT));
        }
    }

    fn current(&self) -> MutexGuard<'_, Option<Current>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
