//! One stream of a host.

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

    /// Queues a message. False if it was dropped, since too much waits already.
    ///
    /// # Errors
    ///
    /// The stream has failed and is to be closed.
    pub(super) fn send(&mut self, message: &[u8]) -> io::Result<bool> {
        let padded = message.len().next_multiple_of(4);
        let room = if is_data(message) { BACKLOG_MAX } else { 2 * BACKLOG_MAX };
        if self.queued + padded > room {
            return Ok(false);
        }
        self.queued += padded;
        if padded == message.len() {
            self.security.queue(message)?;
        } else {
            // At once: each call makes a record of TLS.
            let mut bytes = message.to_vec();
            bytes.resize(padded, 0);
            self.security.queue(&bytes)?;
        }
        Ok(true)
    }

    /// Writes what waits.
    ///
    /// # Errors
    ///
    /// The stream has failed and is to be closed.
    pub(super) fn write(&mut self) -> io::Result<()> {
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
