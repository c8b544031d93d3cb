//! A TCP engine without I/O.
//!
//! The engine has no socket, no thread, no clock and no global source of randomness. Segments, the
//! time and seeds are arguments; segments, deadlines and events are results. The same code runs over
//! UDP, over raw IP and in virtual time. A [`Connection`] counts payload bytes and stores none, which
//! suits a simulation; a [`stream::Stream`] adds buffers with the bytes.
//!
//! A carrier of a [`Connection`] works in three steps:
//!
//! 1. It changes the connection: [`Connection::handle_segment`], [`Connection::handle_timeout`],
//!    [`Connection::write`], [`Connection::read`], [`Connection::close`], ...
//! 2. It drains the connection: it calls [`Connection::poll_transmit`] until it returns `None`, and
//!    [`Connection::poll_event`] likewise.
//! 3. It calls [`Connection::handle_timeout`] no later than at [`Connection::poll_timeout`].
//!
//! Time never runs backwards between two calls.
//!
//! # Example
//!
//! A client sends 100 kB to a server. The path between them takes 10 ms in each direction and drops
//! every tenth packet. Time is virtual: the loop advances it to the next event.
//!
//! ```
//! use std::collections::VecDeque;
//! use windlass_tcp::stream::Stream;
//! use windlass_tcp::{Connection, Ecn, Error, Event, Profile, Segment, SeqNumber, Span, Time};
//!
//! /// One direction of the path.
//! #[derive(Default)]
//! struct Path {
//!     sent: u32,
//!     in_flight: VecDeque<(Time, Segment, Vec<u8>)>,
//! }
//!
//! impl Path {
//!     /// Takes every segment that `stream` wants to send now.
//!     fn take_from(&mut self, stream: &mut Stream, now: Time) {
//!         // A run is up to 16 segments of one size. `()` is an observer that ignores the trace.
//!         while let Some((run, payload)) = stream.poll_transmit(now, 16, &mut ()) {
//!             let payload = payload.concat();
//!             let mut rest = &payload[..];
//!             for segment in run.segments() {
//!                 let (bytes, later) = rest.split_at(segment.payload_len as usize);
//!                 rest = later;
//!                 self.sent += 1;
//!                 if self.sent % 10 != 0 {
//!                     let arrival = now + Span::from_millis(10);
//!                     self.in_flight.push_back((arrival, segment, bytes.to_vec()));
//!                 }
//!             }
//!         }
//!     }
//!
//!     fn next_arrival(&self) -> Option<Time> {
//!         self.in_flight.front().map(|(arrival, _, _)| *arrival)
//!     }
//!
//!     /// Delivers every segment that has arrived by `now`.
//!     fn deliver_to(&mut self, stream: &mut Stream, now: Time) {
//!         while self.next_arrival().is_some_and(|arrival| arrival <= now) {
//!             let (_, segment, payload) = self.in_flight.pop_front().expect("not empty");
//!             stream.handle_segment(now, &segment, &payload, Ecn::NotEct, &mut ());
//!         }
//!     }
//! }
//!
//! fn main() -> Result<(), Error> {
//!     let controller = Profile::Linux.controller("cubic").expect("a name in `cc::NAMES`");
//!     let config = Profile::Linux.config(1460, controller);
//!     let mut now = Time::ZERO;
//!     let mut client = Stream::new(Connection::connect(config.clone(), now, SeqNumber(1000)));
//!     let mut server = Stream::new(Connection::listen(config, SeqNumber(2000)));
//!     let (mut upstream, mut downstream) = (Path::default(), Path::default());
//!
//!     let data: Vec<u8> = (0..100_000).map(|i| (i % 251) as u8).collect();
//!     let (mut written, mut received) = (0, Vec::new());
//!     let mut end_of_stream = false;
//!     while !end_of_stream {
//!         // The applications.
//!         if written < data.len() {
//!             written += client.write(&data[written..])?;
//!             if written == data.len() {
//!                 client.connection_mut().close(now);
//!             }
//!         }
//!         let mut buffer = [0; 16_384];
//!         match server.read(&mut buffer) {
//!             Ok(len) => received.extend_from_slice(&buffer[..len]),
//!             Err(Error::Closed) => end_of_stream = true,
//!             Err(error) => return Err(error),
//!         }
//!
//!         // The carrier drains both ends ...
//!         upstream.take_from(&mut client, now);
//!         downstream.take_from(&mut server, now);
//!         for end in [&mut client, &mut server] {
//!             while let Some(event) = end.connection_mut().poll_event() {
//!                 if let Event::Failed(error) = event {
//!                     return Err(error);
//!                 }
//!             }
//!         }
//!
//!         // ... and waits for the next arrival or timer.
//!         let timers = [client.connection().poll_timeout(), server.connection().poll_timeout()];
//!         let arrivals = [upstream.next_arrival(), downstream.next_arrival()];
//!         let next = timers.into_iter().chain(arrivals).flatten().min();
//!         now = now.max(next.unwrap_or(now));
//!         for end in [&mut client, &mut server] {
//!             if end.connection().poll_timeout().is_some_and(|due| due <= now) {
//!                 end.connection_mut().handle_timeout(now, &mut ());
//!             }
//!         }
//!         upstream.deliver_to(&mut server, now);
//!         downstream.deliver_to(&mut client, now);
//!     }
//!
//!     assert!(received == data);
//!     assert!(client.connection().stats().retransmitted_segments > 0);
//!     Ok(())
//! }
//! ```

#![no_std]

extern crate alloc;

pub mod accecn;
pub mod cc;
pub mod config;
pub mod conn;
mod deadline;
mod ecn_echo;
pub mod observer;
mod range_set;
mod receiver;
mod recovery;
pub mod segment;
mod seq;
mod state;
pub mod stream;

pub use accecn::{AccurateEcn, EcnCounts};
pub use config::{Config, Profile};
pub use conn::{CongestionState, Connection, Error, Event, Run, State};
pub use observer::{Observer, TraceEvent};
pub use range_set::RangeSet;
pub use segment::{AccEcnOption, AccEcnOrder, Flags, Options, SackBlocks, Segment, Timestamps};
pub use seq::SeqNumber;
pub use windlass_base::{Ecn, Span, Time};
