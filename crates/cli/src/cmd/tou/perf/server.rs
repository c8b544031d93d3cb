//! `windlass tou perf server`.

use super::super::args::PerfServer;
use super::super::live::OpenStreams;
use super::super::{print::listening, settings};
use super::message::{self, Direction, Message, StreamHead, Test};
use super::print;
use super::transfer::{Carrier, KEEP_ALIVE, Link, Outcome, PATIENCE, Run};
use crate::failure::{self, Failure};
use crate::value::Local;
use crate::{interrupt, stdout};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use windlass_tcp::Profile;
use windlass_tou::{Options, TouListener, TouStream};

/// Connections that have not said yet what they are for.
const STRANGERS_MAX: usize = 256;
/// Time between the intervals of a test. The server prints none, so it is long.
const INTERVAL: Duration = Duration::from_secs(3600);

/// State that the threads of the server share.
struct Shared {
    profile: Profile,
    current: Mutex<Option<Current>>,
    strangers: AtomicUsize,
    live: OpenStreams,
}

/// The running test, and the channel to the thread that waits for its connections.
struct Current {
    id: String,
    arrived: Sender<(u16, TouStream)>,
}

/// A test that is over.
struct Done {
    peer: SocketAddr,
    test: Test,
    result: Result<Outcome, Failure>,
}

/// Serves until a signal comes, or one test.
pub(crate) fn main(args: &PerfServer) -> Result<(), Failure> {
    let options = Options {
        ecn: true,
        keep_alive: Some(KEEP_ALIVE),
        backlog: STRANGERS_MAX,
        ..settings::path_options(&args.path)?
    };
    let shared = Arc::new(Shared {
        profile: args.path.profile,
        current: Mutex::default(),
        strangers: AtomicUsize::default(),
        live: OpenStreams::default(),
    });
    let live = shared.live.clone();
    interrupt::end_with(move || {
        live.abort();
        0
    });
    let listener = Local { address: args.bind, port: args.port }.listen(args.family, &options)?;
    let local = listener.local_addr().map_err(|error| Failure::io("listen", &error))?;
    listening(local, args.json);
    let (tell, done) = channel();
    thread::spawn(move || accept(&listener, &shared, &tell));
    report_all(&done, args)
}

fn report_all(done: &Receiver<Done>, args: &PerfServer) -> Result<(), Failure> {
    for Done { peer, test, result } in done {
        let sends = test.direction == Direction::Down;
        match result {
            Ok(outcome) if args.json => {
                stdout::line(&print::json(&test, peer, sends, &[], &outcome))?;
            }
            Ok(outcome) => {
                stdout::line(&print::announcement(&test, peer))?;
                stdout::line(&print::summary(&outcome, sends))?;
            }
            Err(failure) if args.one_off => return Err(failure),
            Err(Failure::Work(why) | Failure::Input(why)) => {
                failure::error(format!("{peer}: {why}"))
            }
            Err(Failure::ReaderGone) => {}
        }
        if args.one_off {
            return Ok(());
        }
    }
    Err(Failure::Work("the port takes no connections any more".to_owned()))
}

fn accept(listener: &TouListener, shared: &Arc<Shared>, tell: &Sender<Done>) {
    while let Ok((stream, peer)) = listener.accept() {
        if shared.strangers.fetch_add(1, Ordering::Relaxed) >= STRANGERS_MAX {
            shared.strangers.fetch_sub(1, Ordering::Relaxed);
            stream.abort();
            continue;
        }
        let (shared, tell) = (Arc::clone(shared), tell.clone());
        thread::spawn(move || shared.greet(stream, peer, &tell));
    }
}

impl Shared {
    /// The first line says what a connection is for.
    fn greet(&self, mut stream: TouStream, peer: SocketAddr, tell: &Sender<Done>) {
        let first = stream
            .set_read_timeout(Some(PATIENCE))
            .map_err(message::MessageError::Io)
            .and_then(|()| message::read(&mut stream));
        let _ = stream.set_read_timeout(None);
        self.strangers.fetch_sub(1, Ordering::Relaxed);
        match first {
            Ok(Message::Test(test)) => self.host(test, stream, peer, tell),
            Ok(Message::Stream(head)) => self.hand_over(&head, stream),
            Ok(_) => refuse(&stream, peer, "expected a test"),
            Err(fault) => refuse(&stream, peer, &fault.to_string()),
        }
    }

    /// A connection of the test under way; of any other it is reset.
    fn hand_over(&self, head: &StreamHead, stream: TouStream) {
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

    fn host(&self, test: Test, control: TouStream, peer: SocketAddr, tell: &Sender<Done>) {
        let (arrived, arrivals) = channel();
        let mut current = self.current();
        if current.is_some() {
            drop(current);
            return refuse(&control, peer, "busy with another test");
        }
        *current = Some(Current { id: test.id.clone(), arrived });
        drop(current);
        self.live.add(&control);
        let link = Link::new(control);
        let result = self.run(&test, &link, &arrivals);
        // The client has read the result, so it may start its next test at once.
        self.live.clear();
        *self.current() = None;
        link.end();
        // The end of the server may come first.
        let _ = tell.send(Done { peer, test, result });
    }

    fn run(
        &self,
        test: &Test,
        link: &Link,
        arrivals: &Receiver<(u16, TouStream)>,
    ) -> Result<Outcome, Failure> {
        link.say(&Message::Ready)?;
        let carriers = match self.gather(test, arrivals) {
            Ok(carriers) => carriers,
            Err(why) => {
                link.say(&Message::Error(why.clone()))?;
                return Err(Failure::Work(why));
            }
        };
        link.say(&Message::Start)?;
        let sends = test.direction == Direction::Down;
        let run = Run { test, sends, link, carriers: &carriers, interval: INTERVAL };
        run.to_its_end(|_| Ok(()))
    }

    /// Waits for all connections of a test.
    fn gather(
        &self,
        test: &Test,
        arrivals: &Receiver<(u16, TouStream)>,
    ) -> Result<Vec<Carrier>, String> {
        let deadline = Instant::now() + PATIENCE;
        let mut places: Vec<Option<Carrier>> = (0..test.streams).map(|_| None).collect();
        while places.iter().any(Option::is_none) {
            let left = deadline.saturating_duration_since(Instant::now());
            let arrived = arrivals.recv_timeout(left);
            let (index, stream) =
                arrived.map_err(|_| "not all connections of the test came".to_owned())?;
            match places.get_mut(usize::from(index)) {
                Some(place @ None) => {
                    self.live.add(&stream);
                    prepare(&stream, test, self.profile)
                        .map_err(|error| format!("{index}: {error}"))?;
                    *place = Some(Carrier::new(stream, 0));
                }
                _ => stream.abort(),
            }
        }
        Ok(places.into_iter().flatten().collect())
    }

    fn current(&self) -> MutexGuard<'_, Option<Current>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the server sends, the client says by which controller.
fn prepare(stream: &TouStream, test: &Test, profile: Profile) -> io::Result<()> {
    match test.direction {
        Direction::Down => stream.set_congestion(settings::controller(profile, &test.controller)?),
        Direction::Up => Ok(()),
    }
}

/// Says why not, to both.
fn refuse(mut stream: &TouStream, peer: SocketAddr, why: &str) {
    failure::error(format!("{peer}: {why}"));
    // It may be gone, or something else than a client.
    if message::write(&mut stream, &Message::Error(why.to_owned())).is_ok() {
        let _ = stream.finish(Some(PATIENCE));
    }
}
