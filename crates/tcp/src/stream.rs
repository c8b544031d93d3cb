//! A connection with real bytes: send and receive buffers over a [`Connection`].

use crate::conn::{Accepted, Error, Run};
use crate::observer::Observer;
use crate::{Config, Connection, Ecn, Segment, Time};
use alloc::boxed::Box;
use core::ops::Range;

/// One end of a TCP connection that keeps the bytes of both directions.
///
/// Everything that carries no payload goes to the [`Connection`] inside.
#[derive(Debug)]
pub struct Stream {
    connection: Connection,
    outgoing: Ring,
    incoming: Ring,
}

impl Stream {
    /// Buffers for `connection`, of the sizes in its config.
    pub fn new(connection: Connection) -> Stream {
        let Config { send_buffer, receive_buffer, .. } = *connection.config();
        Stream { connection, outgoing: Ring::new(send_buffer), incoming: Ring::new(receive_buffer) }
    }

    /// The connection, for everything that carries no payload.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The connection, to change it: close, abort, timeouts, events. Reading and writing through
    /// it would lose bytes.
    pub fn connection_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Appends what fits of `bytes`; returns how many.
    ///
    /// # Errors
    /// As [`Connection::write`].
    pub fn write(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        let offset = self.connection.bytes_written();
        let taken = self.connection.write(bytes.len() as u64)? as usize;
        self.outgoing.store(offset, &bytes[..taken]);
        Ok(taken)
    }

    /// Takes up to `buffer.len()` bytes; returns how many, 0 when nothing is there now.
    ///
    /// # Errors
    /// As [`Connection::read`].
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        let offset = self.connection.bytes_read();
        let taken = self.connection.read(buffer.len() as u64)? as usize;
        self.incoming.load(offset, &mut buffer[..taken]);
        Ok(taken)
    }

    /// A segment arrived with `payload` (`segment.payload_len` bytes).
    pub fn handle_segment(
        &mut self,
        now: Time,
        segment: &Segment,
        payload: &[u8],
        ecn: Ecn,
        observer: &mut impl Observer,
    ) {
        debug_assert_eq!(payload.len(), segment.payload_len as usize);
        let Accepted { stream_offset, skip, len } =
            self.connection.handle_segment(now, segment, ecn, observer);
        if let Some(kept) = payload.get(skip as usize..skip as usize + len as usize) {
            self.incoming.store(stream_offset, kept);
        }
    }

    /// The next run of at most `max` segments, and its payload in two pieces (a ring wraps).
    pub fn poll_transmit(
        &mut self,
        now: Time,
        max: u32,
        observer: &mut impl Observer,
    ) -> Option<(Run, [&[u8]; 2])> {
        let run = self.connection.poll_transmit(now, max, observer)?;
        let len = u64::from(run.count) * u64::from(run.first.payload_len);
        Some((run, self.outgoing.slices(run.stream_offset, len)))
    }
}

/// A window of a stream in a buffer: the byte at offset `o` lies at `o` modulo its size.
#[derive(Debug)]
struct Ring(Box<[u8]>);

impl Ring {
    fn new(capacity: u64) -> Ring {
        Ring(alloc::vec![0; capacity as usize].into_boxed_slice())
    }

    fn index(&self, offset: u64) -> usize {
        (offset % self.0.len().max(1) as u64) as usize
    }

    /// The two pieces of `len` bytes at `offset`.
    fn ranges(&self, offset: u64, len: usize) -> [Range<usize>; 2] {
        let start = self.index(offset);
        let first = len.min(self.0.len() - start);
        [start..start + first, 0..len - first]
    }

    fn store(&mut self, offset: u64, bytes: &[u8]) {
        let [a, b] = self.ranges(offset, bytes.len());
        let (head, tail) = bytes.split_at(a.len());
        self.0[a].copy_from_slice(head);
        self.0[b].copy_from_slice(tail);
    }

    fn load(&self, offset: u64, bytes: &mut [u8]) {
        let [a, b] = self.ranges(offset, bytes.len());
        let (head, tail) = bytes.split_at_mut(a.len());
        head.copy_from_slice(&self.0[a]);
        tail.copy_from_slice(&self.0[b]);
    }

    fn slices(&self, offset: u64, len: u64) -> [&[u8]; 2] {
        self.ranges(offset, len as usize).map(|range| &self.0[range])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, SeqNumber, Span};
    use alloc::collections::VecDeque;
    use alloc::vec::Vec;

    type Wire = VecDeque<(Segment, Vec<u8>)>;

    fn pump(stream: &mut Stream, now: Time, wire: &mut Wire) {
        while let Some((run, payload)) = stream.poll_transmit(now, 4, &mut ()) {
            let payload = payload.concat();
            let mut rest = &payload[..];
            for segment in run.segments() {
                let (head, tail) = rest.split_at(segment.payload_len as usize);
                wire.push_back((segment, head.to_vec()));
                rest = tail;
            }
        }
    }

    #[test]
    fn bytes_arrive_as_they_were_written_through_rings_that_wrap() {
        let factory = crate::cc::by_name("cubic").expect("known");
        let config = Config {
            send_buffer: 3000,
            receive_buffer: 2500,
            ..Profile::Linux.config(700, factory)
        };
        let mut now = Time::ZERO;
        let mut a = Stream::new(Connection::connect(config.clone(), now, SeqNumber(5)));
        let mut b = Stream::new(Connection::listen(config, SeqNumber(9)));
        let data: Vec<u8> = (0..100_000u32).map(|i| (i * 7 % 251) as u8).collect();
        let (mut written, mut read) = (0, Vec::new());
        for _ in 0..20_000 {
            now += Span::from_millis(10);
            written += a.write(&data[written..]).expect("open");
            let mut wire = Wire::new();
            pump(&mut a, now, &mut wire);
            for (segment, payload) in wire.drain(..) {
                b.handle_segment(now, &segment, &payload, Ecn::NotEct, &mut ());
            }
            let mut chunk = [0; 333];
            let taken = b.read(&mut chunk).expect("open");
            read.extend_from_slice(&chunk[..taken]);
            pump(&mut b, now, &mut wire);
            for (segment, payload) in wire.drain(..) {
                a.handle_segment(now, &segment, &payload, Ecn::NotEct, &mut ());
            }
            for end in [&mut a, &mut b] {
                if end.connection().poll_timeout().is_some_and(|at| at <= now) {
                    end.connection_mut().handle_timeout(now, &mut ());
                }
            }
        }
        assert_eq!(read.len(), data.len());
        assert!(read == data);
    }
}
