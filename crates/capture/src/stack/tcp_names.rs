//! The DNS forwarder's end of a TCP connection. Each message follows its length in two bytes (RFC 1035
//! section 4.2.2).

use crate::dns;
use std::collections::VecDeque;
use windlass_base::Time;
use windlass_tcp::stream::Stream;

/// Queries of one TCP connection without an answer, at most. Further ones stay in its buffer.
const PIPELINED_MAX: usize = 16;

/// The queries and answers of a connection.
#[derive(Debug, Default)]
pub(super) struct TcpNames {
    /// Queries without an answer.
    waiting: usize,
    /// Answers that found no room in the connection yet.
    unsent: VecDeque<u8>,
    closed: bool,
}

/// A message is no query: no later byte can be trusted to begin a message.
pub(super) struct OutOfStep;

impl TcpNames {
    /// Accepts the answer to one of the queries; [`TcpNames::send`] writes it.
    pub(super) fn answer(&mut self, answer: &[u8]) {
        self.waiting -= 1;
        if let Ok(len) = u16::try_from(answer.len()) {
            self.unsent.extend(len.to_be_bytes());
            self.unsent.extend(answer);
        }
    }

    /// Writes as many bytes of the answers as fit.
    pub(super) fn send(&mut self, stream: &mut Stream) {
        while !self.unsent.is_empty() {
            match stream.write(self.unsent.as_slices().0) {
                Ok(0) => return,
                Ok(taken) => drop(self.unsent.drain(..taken)),
                // The connection has ended.
                Err(_) => return self.unsent.clear(),
            }
        }
    }

    /// The next query, if it has arrived as a whole and not too many others wait.
    pub(super) fn take_query(&mut self, stream: &mut Stream) -> Result<Option<Vec<u8>>, OutOfStep> {
        if self.waiting >= PIPELINED_MAX {
            return Ok(None);
        }
        let Some(message) = take_message(stream) else { return Ok(None) };
        if !dns::is_query(&message) {
            return Err(OutOfStep);
        }
        self.waiting += 1;
        Ok(Some(message))
    }

    /// Closes the connection if the peer has closed it and every answer has been sent.
    pub(super) fn close_after_last(&mut self, now: Time, stream: &mut Stream) {
        let connection = stream.connection_mut();
        let ended = connection.peer_closed() && self.waiting == 0 && self.unsent.is_empty();
        if ended && !self.closed {
            self.closed = true;
            connection.close(now);
        }
    }
}

/// The next message of the stream, if it has arrived as a whole.
fn take_message(stream: &mut Stream) -> Option<Vec<u8>> {
    let [first, second] = stream.peek();
    let available = first.len() + second.len();
    let mut bytes = first.iter().chain(second).copied();
    let len = usize::from(u16::from_be_bytes([bytes.next()?, bytes.next()?]));
    if available < 2 + len {
        return None;
    }
    let message = bytes.take(len).collect();
    stream.consume(2 + len).ok()?;
    Some(message)
}
