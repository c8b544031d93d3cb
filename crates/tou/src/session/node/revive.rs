//! Rendezvous servers that do not answer over UDP: their names are resolved again, and they are asked by
//! TLS.

use super::{Inner, Node};
use crate::session::rendezvous::RendezvousAddress;
use crate::session::server::Channel;
use crate::session::stream;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// The first and the longest time between two attempts to reach a silent rendezvous.
const REVIVAL_INTERVALS: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(30)];
/// How long a rendezvous at a new address may take to answer over UDP.
const MOVED_MAX: Duration = Duration::from_secs(2);

impl Node {
    /// Starts the thread that tries to reach a silent rendezvous. Resolving a name and connecting may
    /// take long.
    pub(super) fn revive(&self, server: usize) {
        let inner = Arc::downgrade(&self.0);
        let revive = move || keep_trying(&inner, server);
        let _ = thread::Builder::new().name("tou-revive".into()).spawn(revive);
    }

    fn answers(&self, server: usize) -> bool {
        self.change(|state, _, _| state.host.rendezvous_answers(server))
    }

    /// Tries to reach a silent rendezvous: at the address that its name has now, by TLS because UDP
    /// may be blocked, and at the next address of the name.
    fn try_again(&self, server: usize) {
        let Some(named) = self.0.rendezvous.get(server) else { return };
        let addresses = named.resolve(self.local_addr().is_ipv6()).unwrap_or_default();
        let used = self.change(|state, _, _| state.host.server_address(server));
        let at = addresses.iter().position(|address| *address == used);
        if at.is_none()
            && let Some(first) = addresses.first()
        {
            self.move_rendezvous(server, *first);
            if self.answers_within(server, MOVED_MAX) {
                return;
            }
        }
        // A rendezvous without TLS is asked over UDP again and again anyway.
        if self.open_stream(server, named).is_ok() {
            return;
        }
        self.change_and_wake(|state, endpoint, now, wakers| {
            state.host.stream_failed(now, server);
            state.take_events(now, endpoint, wakers);
        });
        if let Some(at) = at
            && addresses.len() > 1
        {
            self.move_rendezvous(server, addresses[(at + 1) % addresses.len()]);
        }
    }

    fn move_rendezvous(&self, server: usize, address: SocketAddr) {
        self.change_and_wake(|state, endpoint, now, wakers| {
            state.host.rendezvous_moved(now, server, address);
            state.take_events(now, endpoint, wakers);
        });
    }

    fn answers_within(&self, server: usize, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        while !self.answers(server) {
            if Instant::now() >= deadline {
                return false;
            }
            thread::sleep(limit / 40);
        }
        true
    }

    /// Connects to a rendezvous by TLS.
    fn open_stream(&self, server: usize, named: &RendezvousAddress) -> io::Result<()> {
        let (sender, stream) = stream::open(named)?;
        let id = self.change_and_wake(|state, endpoint, now, wakers| {
            let id = state.next_stream;
            state.next_stream += 1;
            state.streams.insert(id, sender);
            state.host.stream_opened(now, server, id);
            state.take_events(now, endpoint, wakers);
            id
        });
        let inner = Arc::downgrade(&self.0);
        let serve = move || serve_stream(&inner, server, id, stream);
        thread::Builder::new().name("tou-stream".into()).spawn(serve).map(drop)
    }
}

/// Tries to reach a silent rendezvous until it answers, or the node ends.
fn keep_trying(inner: &Weak<Inner>, server: usize) {
    let [mut pause, longest] = REVIVAL_INTERVALS;
    while let Some(inner) = inner.upgrade() {
        let node = Node(inner);
        if node.answers(server) {
            node.change(|state, _, _| state.reviving.remove(&server));
            return;
        }
        node.try_again(server);
        drop(node);
        thread::sleep(pause);
        pause = longest.min(pause * 2);
    }
}

/// Passes the messages of a stream to the node until either ends.
fn serve_stream(inner: &Weak<Inner>, server: usize, id: usize, stream: stream::Stream) {
    let ended = stream.run(|messages| {
        let Some(inner) = inner.upgrade() else { return };
        // At once, so that one ACK may answer several segments.
        Node(inner).change_and_wake(|state, endpoint, now, wakers| {
            let address = state.host.server_address(server);
            let channel = Channel::Stream(id);
            for message in messages {
                state.handle(now, endpoint, channel, (None, address), message, wakers);
            }
        });
    });
    if let Some(inner) = inner.upgrade() {
        Node(inner).change_and_wake(|state, endpoint, now, wakers| {
            state.streams.remove(&id);
            state.host.stream_closed(now, server, id);
            // Another end of the stream does not matter: the host tries UDP again.
            if let Some(stream::WrongKey(found)) = ended.as_ref().err().and_then(wrong_key) {
                state.host.wrong_key_found(now, server, *found);
            }
            state.take_events(now, endpoint, wakers);
        });
    }
}

fn wrong_key(error: &io::Error) -> Option<&stream::WrongKey> {
    error.get_ref()?.downcast_ref()
}
