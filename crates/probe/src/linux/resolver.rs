//! Resolves names in threads, because the C library's resolver blocks.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use windlass_base::Span;
use windlass_base::address::{Host, parse_host};

/// The index of a host, and its addresses or the reason why it has none.
pub(super) type Answer = (usize, Result<Vec<SocketAddr>, String>);
type Question = (usize, String, u16);

/// The resolver's threads. They end when the value is dropped, or after the name in progress.
pub(super) struct Resolver {
    questions: Sender<Question>,
    answers: Receiver<Answer>,
    /// Queries without an answer yet.
    pub(super) open: usize,
}

impl Resolver {
    /// Starts so many threads: as many names are resolved at the same time.
    pub(super) fn start(threads: usize) -> io::Result<Resolver> {
        let (questions, taken) = channel::<Question>();
        let (give, answers) = channel();
        let taken = Arc::new(Mutex::new(taken));
        for _ in 0..threads {
            let (taken, give) = (Arc::clone(&taken), give.clone());
            let next = move || taken.lock().unwrap_or_else(PoisonError::into_inner).recv();
            thread::Builder::new().name("resolver".to_owned()).spawn(move || {
                while let Ok((host, name, port)) = next() {
                    if give.send((host, resolve(&name, port))).is_err() {
                        return;
                    }
                }
            })?;
        }
        Ok(Resolver { questions, answers, open: 0 })
    }

    /// Starts a query. Returns the answer at once if `name` is an address.
    pub(super) fn ask(&mut self, host: usize, name: String, port: u16) -> Option<Answer> {
        if let Ok(Host::Address(address)) = parse_host(&name) {
            return Some((host, Ok(vec![SocketAddr::new(address, port)])));
        }
        match self.questions.send((host, name, port)) {
            Ok(()) => self.open += 1,
            Err(error) => return Some((host, Err(error.to_string()))),
        }
        None
    }

    /// The next answer, if one has arrived.
    pub(super) fn poll(&mut self) -> Option<Answer> {
        let answer = self.answers.try_recv().ok()?;
        self.open -= 1;
        Some(answer)
    }

    /// The same, after waiting for it no longer than `at_most`.
    pub(super) fn wait(&mut self, at_most: Span) -> Option<Answer> {
        let answer = self.answers.recv_timeout(Duration::from_nanos(at_most.as_nanos())).ok()?;
        self.open -= 1;
        Some(answer)
    }
}

/// The addresses of a name. The C library never sees a number that it could take for an address.
fn resolve(name: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    parse_host(name)?;
    let addresses = (name, port).to_socket_addrs();
    addresses.map(Iterator::collect).map_err(|error| error.to_string())
}
