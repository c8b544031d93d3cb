//! One stream of a host, TCP or TLS: its messages in and out. `streams` has all of them.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use mio::net::TcpStream;
use windlass_base::{Span, Time};

use super::frames;
use super::tls::{Progress, Security};

/// How long a new stream may take to its first message, the handshake of TLS included.
const FIRST_MESSAGE: Span = Span::from_secs(15);
/// How long a stream may be silent: a relayed address is refreshed every ten minutes, a
/// registration every 25 seconds.
const SILENCE: Span = Span::from_secs(11 * 60);
/// Bytes that may wait for the socket. Beyond it datagrams of peers are dropped, as a full queue of a
/// link would do. Answers get twice as much room: over a stream requests are not repeated (RFC 8489
/// §6.2.2).
const BACKLOG_MAX: usize = 256 << 10;
/// Reads from one stream before the others get their turn.
const TURN: usize = 16;

pub(super) struct Stream {
    /// Never used again, as the number in the event loop may be.
    pub(super) id: u64,
    pub(super) address: SocketAddr,
    pub(super) socket: TcpStream,
    security: Security,
    inbox: Vec<u8>,
    /// Messages of this turn: several become one record of TLS and one call to the system.
    outbox: Vec<u8>,
    /// Bytes that wait for the socket, about: TLS adds some to what was queued.
    queued: usize,
    pub(super) last_heard: Time,
    deadline: Time,
}

impl Stream {
    pub(super) fn new(
        now: Time,
        id: u64,
        (socket, address): (TcpStream, SocketAddr),
        security: Security,
    ) -> Stream {
        Stream {
            id,
            address,
            socket,
            security,
            inbox: Vec::new(),
            outbox: Vec::new(),
            queued: 0,
            last_heard: now,
            deadline: now + FIRST_MESSAGE,
        }
    }

    /// Reads for a turn. Each message goes to `deliver`.
    ///
    /// # Errors
    ///
    /// The stream has failed and is to be closed.
    pub(super) fn receive(
        &mut self,
        now: Time,
        mut deliver: impl FnMut(&[u8]),
    ) -> io::Result<Progress> {
        for _ in 0..TURN {
            let progress = self.security.read(&mut self.socket, &mut self.inbox)?;
            let count = frames::take(&mut self.inbox, &mut deliver)
                .map_err(|_| io::Error::from(ErrorKind::InvalidData))?;
            // Only whole messages count: a slow trickle of bytes does not keep a stream open.
            if count > 0 {
                self.last_heard = now;
                self.deadline = now + SILENCE;
            }
            if progress != Progress::More {
                return Ok(progress);
            }
        }
        Ok(Progress::More)
    }

    /// Queues a message until the next [`Stream::write`]. False if it was dropped, since too much waits
    /// already.
    pub(super) fn send(&mut self, message: &[u8]) -> bool {
        // RFC 8656 §12.5: over a stream ChannelData is padded.
        let padded = message.len().next_multiple_of(4);
        let room = if is_data(message) { BACKLOG_MAX } else { 2 * BACKLOG_MAX };
        if self.queued + padded > room {
            return false;
        }
        self.queued += padded;
        self.outbox.extend_from_slice(message);
        self.outbox.resize(self.outbox.len() + padded - message.len(), 0);
        true
    }

    /// Writes what waits.
    ///
    /// # Errors
    ///
    /// The stream has failed and is to be closed.
    pub(super) fn write(&mut self) -> io::Result<()> {
        if !self.outbox.is_empty() {
            self.security.queue(&self.outbox)?;
            self.outbox.clear();
        }
        let (written, is_all) = self.security.write(&mut self.socket)?;
        self.queued = if is_all { 0 } else { self.queued.saturating_sub(written) };
        Ok(())
    }

    pub(super) fn is_overdue(&self, now: Time) -> bool {
        self.deadline <= now
    }

    pub(super) fn close(&mut self) {
        self.security.close(&mut self.socket);
    }
}

/// Whether a message carries a datagram of a peer: ChannelData, or a Data indication (RFC 8656 §12.4,
/// §11.3).
fn is_data(message: &[u8]) -> bool {
    message.first().is_some_and(|first| first >> 6 != 0) || message.starts_with(&[0, 0x17])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// Datagrams of peers arrive in runs. One record of TLS for each would cost a host, and the server,
    /// twice the time.
    #[test]
    fn messages_of_one_turn_are_written_at_once() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let mut host = std::net::TcpStream::connect(address).expect("it listens");
        let (socket, from) = listener.accept().expect("a connection");
        socket.set_nonblocking(true).expect("an option");
        let ends = (TcpStream::from_std(socket), from);
        let mut stream = Stream::new(Time::ZERO, 1, ends, Security::plain());
        for number in 0..3 {
            assert!(stream.send(&[0x40, 0, 0, 1, number]));
        }
        host.set_nonblocking(true).expect("an option");
        let mut bytes = [0; 64];
        let early = host.read(&mut bytes).expect_err("nothing yet");
        assert_eq!(early.kind(), ErrorKind::WouldBlock);
        stream.write().expect("an open stream");
        host.set_nonblocking(false).expect("an option");
        assert_eq!(host.read(&mut bytes).expect("the messages"), 24, "with padding");
        assert_eq!(stream.queued, 0);
    }
}
