//! A connection with real bytes: send and receive buffers over a [`Connection`].

use crate::conn::{Accepted, Error, Run};
use crate::observer::Observer;
use crate::{Connection, Ecn, Segment, Time};
use alloc::boxed::Box;
use core::ops::Range;

/// One end of a TCP connection with buffers for the bytes of both directions.
///
/// Events, timers and all other operations without payload are those of the [`Connection`] inside.
#[derive(Debug)]
pub struct Stream {
    connection: Connection,
    outgoing: Ring,
    incoming: Ring,
}

impl Stream {
    /// Adds buffers to `connection`, which grow up to the sizes in its config.
    pub fn new(connection: Connection) -> Stream {
        let buffers = connection.config().buffers;
        let (outgoing, incoming) = (Ring::new(buffers.send), Ring::new(buffers.receive));
        Stream { connection, outgoing, incoming }
    }

    /// The connection, for its state and counters.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The connection, for commands and polls without payload: close, abort, timeouts, events, ACKs. Do
    /// not read, write, handle segments or poll for segments through it: bytes would be lost.
    /// Exception: a carrier that can produce outgoing bytes at any position always writes and polls
    /// for segments through it. The stream then stores incoming bytes only.
    pub fn connection_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Appends to the outgoing stream as many of `bytes` as fit; returns how many.
    ///
    /// # Errors
    /// [`Error::Closed`] after the stream was closed, or when the connection is over.
    pub fn write(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        let offset = self.connection.bytes_written();
        let taken = self.connection.write(bytes.len() as u64)? as usize;
        let unacked = self.connection.bytes_acked();
        self.outgoing.store(unacked, offset, &bytes[..taken]);
        Ok(taken)
    }

    /// Appends to the outgoing stream what `fill` puts into the send buffer itself, without a copy.
    /// `fill` gets room for `most` bytes, or for as many as fit, in two pieces: the buffer is a ring.
    /// It returns how many bytes it has filled from the start. Returns that number.
    ///
    /// # Errors
    /// [`Error::Closed`] after the stream was closed, or when the connection is over.
    pub fn write_in_place(
        &mut self,
        most: usize,
        fill: impl FnOnce([&mut [u8]; 2]) -> usize,
    ) -> Result<usize, Error> {
        if !self.connection.can_write() {
            return Err(Error::Closed);
        }
        let offset = self.connection.bytes_written();
        let room = (most as u64).min(self.connection.writable()) as usize;
        let filled = fill(self.outgoing.reserve(self.connection.bytes_acked(), offset, room));
        let taken = self.connection.write(filled.min(room) as u64)?;
        self.outgoing.end = offset + taken;
        Ok(taken as usize)
    }

    /// Reads up to `buffer.len()` bytes; returns how many, 0 if none are readable now.
    ///
    /// # Errors
    /// [`Error::Closed`] at the end of the stream.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        let offset = self.connection.bytes_read();
        let taken = self.connection.read(buffer.len() as u64)? as usize;
        self.incoming.load(offset, &mut buffer[..taken]);
        Ok(taken)
    }

    /// The bytes that are readable now, in two pieces: the receive buffer is a ring. They stay until
    /// [`Stream::consume`].
    pub fn peek(&self) -> [&[u8]; 2] {
        self.incoming.slices(self.connection.bytes_read(), self.connection.readable())
    }

    /// Reads the first `bytes` of [`Stream::peek`], or as many as are readable, without a copy.
    /// Returns how many.
    ///
    /// # Errors
    /// [`Error::Closed`] at the end of the stream.
    pub fn consume(&mut self, bytes: usize) -> Result<usize, Error> {
        self.connection.read(bytes as u64).map(|taken| taken as usize)
    }

    /// Memory of the buffers in bytes, with the growth that the announced window may require.
    pub fn memory(&self) -> u64 {
        let incoming = self.incoming.size_for(self.connection.receive_promise());
        self.outgoing.bytes.len() as u64 + incoming
    }

    /// Frees the memory of empty buffers.
    pub fn release_buffers(&mut self) {
        let connection = &self.connection;
        if connection.bytes_acked() == connection.bytes_written() {
            self.outgoing = Ring::new(self.outgoing.capacity);
        }
        if connection.readable() == 0 && !connection.has_gap() {
            self.incoming = Ring::new(self.incoming.capacity);
        }
    }

    /// With `hold`, stops the growth of the buffers, except for data that the announced window
    /// already allows. Without, allows it again.
    pub fn hold_buffers(&mut self, hold: bool) {
        let most = |ring: &Ring| match hold {
            true => (ring.bytes.len() as u64).max(RING_BYTES_MIN),
            false => u64::MAX,
        };
        self.connection.limit_buffers(most(&self.outgoing), most(&self.incoming));
    }

    /// Handles a segment that arrived with `payload`, in a packet with the codepoint `ecn`.
    /// `payload` must have `segment.payload_len` bytes.
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
        // The engine has left out bytes that were stored before, and those outside of the window.
        if let Some(kept) = payload.get(skip as usize..skip as usize + len as usize) {
            self.incoming.store(self.connection.bytes_read(), stream_offset, kept);
        }
    }

    /// The next run to send, of at most `max` segments, and its payload in two pieces: the send
    /// buffer is a ring. To be called until it returns `None`.
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

/// A ring buffer with a section of a stream: the byte at offset `o` lies at `o` modulo the size.
/// The size grows with the data, as most streams need far less than their limit.
#[derive(Debug)]
struct Ring {
    bytes: Box<[u8]>,
    capacity: u64,
    /// The offset after the last byte stored.
    end: u64,
}

/// The size of a ring after its first byte.
const RING_BYTES_MIN: u64 = 4096;

impl Ring {
    fn new(capacity: u64) -> Ring {
        Ring { bytes: Box::default(), capacity, end: 0 }
    }

    fn index(&self, offset: u64) -> usize {
        (offset % self.bytes.len().max(1) as u64) as usize
    }

    /// The two pieces of `len` bytes at `offset`.
    fn ranges(&self, offset: u64, len: usize) -> [Range<usize>; 2] {
        let start = self.index(offset);
        let first = len.min(self.bytes.len() - start);
        [start..start + first, 0..len - first]
    }

    /// Stores `bytes` at `offset`. Bytes before `needed_from` may be overwritten.
    fn store(&mut self, needed_from: u64, offset: u64, bytes: &[u8]) {
        let end = offset + bytes.len() as u64;
        self.make_room(needed_from, end.max(self.end).saturating_sub(needed_from));
        self.end = self.end.max(end);
        self.put(offset, bytes);
    }

    /// Room for `len` bytes at `offset`, where nothing is stored yet, in two pieces. Bytes before
    /// `needed_from` may be overwritten.
    fn reserve(&mut self, needed_from: u64, offset: u64, len: usize) -> [&mut [u8]; 2] {
        self.make_room(needed_from, (offset + len as u64).saturating_sub(needed_from));
        let [a, b] = self.ranges(offset, len);
        // The second piece, where there is one, begins at the start of the ring.
        let (front, back) = self.bytes.split_at_mut(a.start);
        [&mut back[..a.len()], &mut front[b]]
    }

    /// The size of the ring when it has to hold `len` bytes.
    fn size_for(&self, len: u64) -> u64 {
        let size = self.bytes.len() as u64;
        if len <= size {
            return size;
        }
        // Doubling keeps the cost of copying in proportion to the data.
        len.next_power_of_two().max(RING_BYTES_MIN).min(self.capacity.max(len))
    }

    /// Grows the ring to hold `len` bytes from `needed_from` on.
    fn make_room(&mut self, needed_from: u64, len: u64) {
        if len <= self.bytes.len() as u64 {
            return;
        }
        let size = self.size_for(len);
        let mut larger = Ring {
            bytes: alloc::vec![0; size as usize].into_boxed_slice(),
            capacity: self.capacity,
            end: self.end,
        };
        // The application, or the peer, has the bytes before `needed_from`.
        let kept = self.end.saturating_sub(needed_from).min(self.bytes.len() as u64);
        let [a, b] = self.slices(needed_from, kept);
        larger.put(needed_from, a);
        larger.put(needed_from + a.len() as u64, b);
        *self = larger;
    }

    fn put(&mut self, offset: u64, bytes: &[u8]) {
        let [a, b] = self.ranges(offset, bytes.len());
        let (head, tail) = bytes.split_at(a.len());
        self.bytes[a].copy_from_slice(head);
        self.bytes[b].copy_from_slice(tail);
    }

    fn load(&self, offset: u64, bytes: &mut [u8]) {
        let [a, b] = self.ranges(offset, bytes.len());
        let (head, tail) = bytes.split_at_mut(a.len());
        head.copy_from_slice(&self.bytes[a]);
        tail.copy_from_slice(&self.bytes[b]);
    }

    fn slices(&self, offset: u64, len: u64) -> [&[u8]; 2] {
        self.ranges(offset, len as usize).map(|range| &self.bytes[range])
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
        let factory = Profile::Linux.controller("cubic").expect("known");
        let config = Profile::Linux.config(700, factory).with(|c| {
            c.buffers.send = 3000;
            c.buffers.receive = 2500;
        });
        let mut now = Time::ZERO;
        let mut a = Stream::new(Connection::connect(config.clone(), now, SeqNumber(5)));
        let mut b = Stream::new(Connection::listen(config, SeqNumber(9)));
        assert!(b.peek().concat().is_empty());
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
            // The rest is read in place, but for a few bytes.
            let rest = b.peek().concat();
            let taken = rest.len().saturating_sub(7);
            read.extend_from_slice(&rest[..taken]);
            assert_eq!(b.consume(taken), Ok(taken));
            assert_eq!(b.peek().concat(), rest[taken..]);
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

    #[test]
    fn bytes_written_in_place_are_those_of_ordinary_writes() {
        let factory = Profile::Linux.controller("cubic").expect("known");
        let config = Profile::Linux.config(700, factory).with(|c| c.buffers.send = 3000);
        let mut now = Time::ZERO;
        let mut a = Stream::new(Connection::connect(config.clone(), now, SeqNumber(5)));
        let mut b = Stream::new(Connection::listen(config, SeqNumber(9)));
        let data: Vec<u8> = (0..50_000u32).map(|i| (i * 7 % 251) as u8).collect();
        let (mut written, mut read, mut turns) = (0, Vec::new(), 0);
        while read.len() < data.len() && turns < 10_000 {
            (now, turns) = (now + Span::from_millis(10), turns + 1);
            let rest = &data[written..];
            // Sometimes less is filled than there is room, and every third write is an ordinary one.
            written += match turns % 3 {
                0 => a.write(&rest[..rest.len().min(99)]),
                _ => a.write_in_place(rest.len(), |[first, second]| {
                    let (x, y) = (first.len(), second.len() / (1 + turns % 2));
                    first.copy_from_slice(&rest[..x]);
                    second[..y].copy_from_slice(&rest[x..x + y]);
                    x + y
                }),
            }
            .expect("open");
            let mut wire = Wire::new();
            pump(&mut a, now, &mut wire);
            for (segment, payload) in wire.drain(..) {
                b.handle_segment(now, &segment, &payload, Ecn::NotEct, &mut ());
            }
            read.extend(b.peek().concat());
            b.consume(usize::MAX).expect("open");
            pump(&mut b, now, &mut wire);
            for (segment, payload) in wire.drain(..) {
                a.handle_segment(now, &segment, &payload, Ecn::NotEct, &mut ());
            }
        }
        assert!(read == data);
        a.connection_mut().close(now);
        assert_eq!(a.write_in_place(1, |_| 1), Err(Error::Closed));
    }

    #[test]
    fn a_ring_grows_around_what_it_holds_and_takes_no_more_than_is_stored() {
        let mut ring = Ring::new(1 << 20);
        let byte = |offset: u64| (offset % 251) as u8;
        let piece = |from: u64, to: u64| (from..to).map(byte).collect::<Vec<u8>>();
        ring.store(0, 0, &piece(0, 3000));
        ring.store(2900, 3000, &piece(3000, 6000));
        assert_eq!(ring.bytes.len() as u64, RING_BYTES_MIN, "100 bytes are still needed");
        ring.store(2900, 20_000, &piece(20_000, 20_100));
        ring.store(2900, 6000, &piece(6000, 20_000));
        assert_eq!(ring.bytes.len(), 32 << 10);
        let mut back = alloc::vec![0; 20_100 - 2900];
        ring.load(2900, &mut back);
        assert!(back == piece(2900, 20_100));
    }

    #[test]
    fn released_buffers_take_no_memory_until_data_arrives_beyond_a_gap() {
        let factory = Profile::Rfc5681.controller("newreno").expect("known");
        let now = Time::ZERO;
        let config =
            Profile::Rfc5681.config(700, factory).with(|c| c.extensions.timestamps = false);
        let mut a = Stream::new(Connection::connect(config.clone(), now, SeqNumber(5)));
        let mut b = Stream::new(Connection::listen(config, SeqNumber(9)));
        let mut wire = Wire::new();
        let mut deliver = |from: &mut Stream, to: &mut Stream, lost: usize| {
            pump(from, now, &mut wire);
            for (segment, payload) in wire.drain(..).skip(lost) {
                to.handle_segment(now, &segment, &payload, Ecn::NotEct, &mut ());
            }
        };
        deliver(&mut a, &mut b, 0);
        deliver(&mut b, &mut a, 0);
        deliver(&mut a, &mut b, 0);
        a.write(&[1; 1400]).expect("open");
        deliver(&mut a, &mut b, 0);
        assert_eq!(b.read(&mut [0; 2000]), Ok(1400));
        assert!(!b.incoming.bytes.is_empty());
        b.release_buffers();
        assert!(b.incoming.bytes.is_empty());
        deliver(&mut b, &mut a, 0);
        a.write(&[2; 1400]).expect("open");
        deliver(&mut a, &mut b, 1);
        b.release_buffers();
        assert!(!b.incoming.bytes.is_empty(), "700 bytes wait for those before them");
    }
}
