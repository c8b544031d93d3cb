//! Closing a connection: by either end or both, in several conditions, orderly or by a reset. After
//! an orderly close, all data arrives in both directions, followed by the end. A reset must never
//! look like an orderly end.

use super::network::{Network, address, config, pattern};
use crate::endpoint::ConnectionId;
use windlass_base::{Rng, Span};
use windlass_tcp::{Error, State};

/// Size of each buffer in bytes. It is small, so that the window soon closes.
const BUFFER: usize = 32 << 10;
/// Bytes that fit into one buffer.
const SMALL: usize = 20_000;
/// Bytes that do not fit into the send buffer and the receive buffer together.
const LARGE: usize = 200_000;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Closer {
    Client,
    Server,
    Both,
}

impl Closer {
    const ALL: [Closer; 3] = [Closer::Client, Closer::Server, Closer::Both];

    fn has(self, host: u8) -> bool {
        self == Closer::Both || (self == Closer::Client) == (host == 1)
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Condition {
    /// The last data is in the send buffer or in flight.
    InFlight,
    /// The peer's window is closed, and there is more to send.
    WindowFull,
    /// The peer has room for all data, and does not read for ten minutes.
    NotReading,
    /// From the close on, one fifth of the datagrams is lost.
    Loss,
}

impl Condition {
    const ALL: [Condition; 4] =
        [Condition::InFlight, Condition::WindowFull, Condition::NotReading, Condition::Loss];
}

/// A connection, and the data that each end has written and read.
struct Session {
    network: Network,
    ends: [ConnectionId; 2],
    data: Vec<u8>,
    written: [usize; 2],
    read: [Vec<u8>; 2],
    /// Whether each end has closed or aborted.
    closed: [bool; 2],
    /// The error with which reading ended at each end.
    over: [Option<Error>; 2],
}

impl Session {
    fn begin() -> Session {
        let small = config().with(|c| {
            c.buffers.send = BUFFER as u64;
            c.buffers.receive = BUFFER as u64;
        });
        let mut network = Network::new(2);
        network.host(2).listen(small.clone(), 1).expect("free");
        let now = network.now;
        let client = network.host(1).connect(now, address(2), small).expect("new");
        network.run(Span::from_millis(100));
        let server = network.host(2).accept().expect("complete");
        Session {
            network,
            ends: [client, server],
            data: pattern(LARGE),
            written: [0; 2],
            read: [Vec::new(), Vec::new()],
            closed: [false; 2],
            over: [None; 2],
        }
    }

    fn lose_a_fifth(&mut self) {
        let mut dice = Rng::new(7);
        self.network.passes = Box::new(move |_| dice.below(5) > 0);
    }

    fn run_ms(&mut self, ms: u64) {
        self.network.run(Span::from_millis(ms));
    }

    /// Writes as much as the buffer accepts, up to `until` bytes in total.
    fn write(&mut self, host: u8, until: usize) {
        let end = usize::from(host) - 1;
        let rest = &self.data[self.written[end]..until.max(self.written[end])];
        if let Some(stream) = self.network.host(host).stream_mut(self.ends[end])
            && let Ok(taken) = stream.write(rest)
        {
            self.written[end] += taken;
        }
    }

    fn read(&mut self, host: u8) {
        let end = usize::from(host) - 1;
        if self.over[end].is_some() {
            return;
        }
        match self.network.read(host, self.ends[end]) {
            Ok(bytes) => self.read[end].extend(bytes),
            Err(error) => self.over[end] = Some(error),
        }
    }

    fn close(&mut self, host: u8) {
        let (end, now) = (usize::from(host) - 1, self.network.now);
        let stream = self.network.host(host).stream_mut(self.ends[end]).expect("there");
        stream.connection_mut().close(now);
        self.closed[end] = true;
    }

    fn abort(&mut self, host: u8) {
        let end = usize::from(host) - 1;
        let stream = self.network.host(host).stream_mut(self.ends[end]).expect("there");
        stream.connection_mut().abort();
        self.closed[end] = true;
    }

    /// Brings the connection into the condition. The closing ends have data to deliver.
    fn prepare(&mut self, closer: Closer, condition: Condition) {
        let enders = [1, 2].into_iter().filter(|host| closer.has(*host));
        match condition {
            Condition::InFlight | Condition::NotReading => {
                enders.for_each(|host| self.write(host, SMALL))
            }
            Condition::WindowFull => {
                for host in enders {
                    // Fills the buffers of both ends.
                    self.write(host, LARGE);
                    self.run_ms(2000);
                    self.write(host, LARGE);
                    assert!(self.written[usize::from(host) - 1] > BUFFER + SMALL);
                }
            }
            Condition::Loss => {
                self.lose_a_fifth();
                enders.for_each(|host| self.write(host, SMALL));
            }
        }
    }

    /// Both ends read. An end that is open writes up to `LARGE` bytes and closes.
    fn go_on(&mut self) {
        for _ in 0..40_000 {
            for host in [1, 2] {
                self.read(host);
                let end = usize::from(host) - 1;
                if !self.closed[end] {
                    self.write(host, LARGE);
                    if self.written[end] == LARGE {
                        self.close(host);
                    }
                }
            }
            if self.over.iter().all(Option::is_some) {
                return;
            }
            self.run_ms(10);
        }
        panic!("no end: {:?}, read {:?}", self.over, self.read.each_ref().map(Vec::len));
    }

    fn error(&mut self, host: u8) -> Option<Error> {
        let id = self.ends[usize::from(host) - 1];
        self.network.host(host).error(id)
    }
}

#[test]
fn after_a_close_in_any_condition_all_data_arrives_and_then_the_end() {
    for condition in Condition::ALL {
        for closer in Closer::ALL {
            let mut session = Session::begin();
            session.prepare(closer, condition);
            [1, 2]
                .into_iter()
                .filter(|host| closer.has(*host))
                .for_each(|host| session.close(host));
            if matches!(condition, Condition::WindowFull | Condition::NotReading) {
                session.run_ms(600_000);
            }
            session.go_on();
            let case = format!("{closer:?} closes, {condition:?}");
            for (end, other) in [(0, 1), (1, 0)] {
                assert_eq!(session.over[end], Some(Error::Closed), "{case}");
                assert_eq!(session.read[end].len(), session.written[other], "{case}");
                assert!(session.read[end] == session.data[..session.written[other]], "{case}");
            }
            // Delivers the last FIN and its ACK, if necessary from TIME-WAIT.
            session.network.passes = Box::new(|_| true);
            session.run_ms(20_000);
            for (host, id) in [(1, session.ends[0]), (2, session.ends[1])] {
                assert_eq!(session.error(host), None, "{case}");
                let state = session.network.state(host, id);
                assert!(matches!(state, State::TimeWait | State::Closed), "{case}: {state:?}");
            }
        }
    }
}

#[test]
fn after_a_reset_in_any_condition_both_ends_report_an_error() {
    for condition in Condition::ALL {
        for closer in Closer::ALL {
            let mut session = Session::begin();
            session.prepare(closer, condition);
            if condition == Condition::InFlight {
                // Some data is in flight before the reset, some is not sent.
                session.run_ms(5);
            }
            [1, 2]
                .into_iter()
                .filter(|host| closer.has(*host))
                .for_each(|host| session.abort(host));
            if matches!(condition, Condition::WindowFull | Condition::NotReading) {
                session.run_ms(600_000);
            }
            session.go_on();
            session.run_ms(1000);
            let case = format!("{closer:?} resets, {condition:?}");
            for host in [1, 2] {
                let own = if closer.has(host) { Error::Aborted } else { Error::Reset };
                assert_eq!(session.error(host), Some(own), "{case}");
                let (end, other) = (usize::from(host) - 1, 2 - usize::from(host));
                assert_ne!(session.over[end], None, "{case}");
                assert!(
                    session.data[..session.written[other]].starts_with(&session.read[end]),
                    "{case}"
                );
            }
        }
    }
}

/// The peer closes its direction first: one end is in CLOSE-WAIT, the other in FIN-WAIT-2.
#[test]
fn a_reset_of_a_half_closed_connection_is_an_error() {
    for resets in [1, 2] {
        let mut session = Session::begin();
        session.write(1, SMALL);
        session.close(1);
        session.run_ms(500);
        session.read(2);
        assert!(session.read[1] == session.data[..SMALL]);
        session.read(2);
        assert_eq!(session.over[1], Some(Error::Closed), "the end of one direction");
        session.write(2, SMALL);
        session.abort(resets);
        session.run_ms(500);
        let other = 3 - resets;
        assert_eq!(session.error(other), Some(Error::Reset), "{resets} resets");
    }
}
