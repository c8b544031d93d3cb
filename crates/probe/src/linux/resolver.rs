//! Names, resolved by threads: the C library's resolver waits.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Names under way at once.
const THREADS: usize = 16;

/// Of a host, the addresses of a name with a port, or why there are none.
pub(super) type Answer = (usize, Result<Vec<SocketAddr>, String>);
type Question = (usize, String, u16);

/// Threads that end with the value, but for one that waits for a name.
pub(super) struct Resolver {
    questions: Sender<Question>,
    answers: Receiver<Answer>,
    /// Questions not answered.
    pub(super) open: usize,
}

impl Resolver {
    /// Starts the threads.
    pub(super) fn start() -> io::Result<Resolver> {
        let (questions, taken) = channel::<Question>();
        let (give, answers) = channel();
        let taken = Arc::new(Mutex::new(taken));
        for _ in 0..THREADS {
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

    /// Asks; an address is answered at once.
    pub(super) fn ask(&mut self, host: usize, name: String, port: u16) -> Option<Answer> {
        if let Ok(address) = name.parse::<IpAddr>() {
            return Some((host, Ok(vec![SocketAddr::new(address, port)])));
        }
        match self.questions.send((host, name, port)) {
            Ok(()) => self.open += 1,
            Err(error) => return Some((host, Err(error.to_string()))),
        }
        None
    }

    /// An answer that has come.
    pub(super) fn poll(&mut self) -> Option<Answer> {
        let answer = self.answers.try_recv().ok()?;
        self.open -= 1;
        Some(answer)
    }
}

fn resolve(name: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    let addresses = (name, port).to_socket_addrs();
    addresses.map(Iterator::collect).map_err(|error| error.to_string())
}
